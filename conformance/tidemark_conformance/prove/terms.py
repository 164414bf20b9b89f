"""Symbolic TLA+ values: Z3 terms in Python shapes, with constants folded as they are built.

A scalar is a Python `bool` or `int`, a Z3 term, an `Atom` (a string or model value with its code), or a `Coded`
(unknown). The other shapes are `Rec`, `Fun`, `Arr` and the sets. A sequence is an `Arr` from 1 to its length.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import z3

from tidemark_conformance.tla.values import Value


def _bare(call: Callable[..., Any]) -> Callable[..., Any]:
    """The C function under a function of z3's Python, which asks after each call whether it failed.

    That takes longer than a call that looks at a term, and looking cannot fail. Where z3's Python is of another form:
    its function.
    """
    inner: Callable[..., Any] = getattr((call.__defaults__ or (None,))[0], "f", call)
    return inner


is_app, ast_kind, ast_id = map(_bare, (z3.Z3_is_app, z3.Z3_get_ast_kind, z3.Z3_get_ast_id))
app_decl, app_args, app_arg = map(_bare, (z3.Z3_get_app_decl, z3.Z3_get_app_num_args, z3.Z3_get_app_arg))
decl_kind = _bare(z3.Z3_get_decl_kind)

Term = Any
"""`bool`, `int`, or a Z3 expression."""
Symbolic = Any
"""Any symbolic value of this module."""

Meaning = tuple[Symbolic, Term]
"""A value, and the condition under which the expression has one."""
Env = Mapping[int, Any]
"""The meanings of locals, by their uids."""


class UnlistedError(Exception):
    """A shape that an operation has no term for; the message says which, the caller adds the place."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A known string or model value; `code` is the integer that stands for it in terms."""

    value: Value
    code: int


@dataclass(frozen=True, slots=True)
class Coded:
    """An unknown string or model value; `term` is its code."""

    term: Any


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A lifted capacity: an unknown integer. Where a text's range ends in it, the range may be without end."""

    term: Any


@dataclass(frozen=True, slots=True)
class Rec:
    """A record: field -> (value, whether the record has the field)."""

    fields: dict[str, tuple[Symbolic, Term]]


@dataclass(frozen=True, slots=True)
class Fun:
    """A function over listed keys (TLA+ values, with their symbolic forms)."""

    keys: tuple[Value, ...]
    forms: tuple[Symbolic, ...]
    images: tuple[Symbolic, ...]


@dataclass(frozen=True, slots=True)
class Arr:
    """A function over low..high (`high` None: without end); a sequence if `low` is 1.

    `get` maps an index to the value there, and to anything outside, once for each. `cap`: the most elements, None if
    unknown. `end`: where there is no `high`, the lifted capacity in its place. `ordered`: `high` is no less than
    low - 1.
    """

    low: Term
    high: Term
    get: Callable[[Term], Symbolic]
    cap: int | None = None
    end: Term = None
    ordered: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "get", _once(self.get))

    @property
    def last(self) -> Term:
        """The last index, by the capacity where that is lifted."""
        return self.end if self.high is None else self.high

    @property
    def domain(self) -> Range:
        """The indices."""
        return Range(self.low, self.high, self.cap if self.low == 1 else None, self.end)


@dataclass(frozen=True, slots=True)
class Listed:
    """A finite set: (condition, element) pairs; an element belongs to it if one of its conditions holds."""

    items: tuple[tuple[Term, Symbolic], ...]


@dataclass(frozen=True, slots=True)
class Range:
    """low..high; `high` None: without end; `cap`: the greatest value that `high` can have, None if unknown.

    `end`: where there is no `high`, the lifted capacity in its place.
    """

    low: Term
    high: Term
    cap: int | None = None
    end: Term = None

    @property
    def exact(self) -> Range:
        """The range up to the capacity, where that is lifted."""
        return self if self.high is not None else Range(self.low, self.end)


@dataclass(frozen=True, slots=True)
class Filtered:
    """The members k of a range with `holds(k)`, which gives (true, has a value)."""

    base: Range
    holds: Callable[[Term], tuple[Term, Term]]


class _Nothing:
    """The value of an expression that has none: its condition is false, so that nothing depends on it."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING = _Nothing()


def _once(get: Callable[[Term], Symbolic]) -> Callable[[Term], Symbolic]:
    """A function of indices that is computed once for each. An index is kept, so that no other term has its id."""
    found: dict[tuple[bool, int], tuple[Term, Symbolic]] = {}

    def value(index: Term) -> Symbolic:
        key = (True, index) if known(index) else (False, index.get_id())
        if key not in found:
            found[key] = index, get(index)
        return found[key][1]

    return value


# Propositions


def known(term: Term) -> bool:
    """Whether a scalar is a Python value."""
    return isinstance(term, bool | int)


def conj(*parts: Term) -> Term:
    """The conjunction."""
    found: list[Term] = []
    for part in parts:
        if part is True:
            continue
        if part is False:
            return False
        if operator(part) == z3.Z3_OP_AND:
            found += parts_of(part)
        else:
            found.append(part)
    if not found:
        return True
    return found[0] if len(found) == 1 else _joined(z3.Z3_mk_and, found)


def operator(term: Any) -> int:
    """The operator of a term by the solver's number, -1 where there is none. Asked once of each Python object."""
    if not z3.is_expr(term):
        return -1
    found: int | None = term.__dict__.get("operator")
    if found is None:
        context, ast = term.ctx.ref(), term.as_ast()
        applied = is_app(context, ast)
        found = decl_kind(context, app_decl(context, ast)) if applied else -1
        term.operator = found
    return found


def parts_of(term: Any) -> list[Any]:
    """The parts of a conjunction, a disjunction or a negation, looked up once for each Python object."""
    found: list[Any] | None = term.__dict__.get("parts")
    if found is None:
        context, ast = term.ctx.ref(), term.as_ast()
        count = app_args(context, ast)
        found = [_proposition(app_arg(context, ast, at), term.ctx) for at in range(count)]
        term.parts = found
    return found


def _proposition(ast: Any, context: Any) -> z3.BoolRef:
    quantified = ast_kind(context.ref(), ast) == z3.Z3_QUANTIFIER_AST
    return z3.QuantifierRef(ast, context) if quantified else z3.BoolRef(ast, context)


def _joined(make: Any, parts: list[Any]) -> z3.BoolRef:
    """The term of several propositions, past the checks of z3's Python, which take longer than all else here."""
    context = parts[0].ctx
    given = (z3.Ast * len(parts))(*[part.as_ast() for part in parts])
    return z3.BoolRef(make(context.ref(), len(parts), given), context)


def disj(*parts: Term) -> Term:
    """The disjunction."""
    found: list[Term] = []
    for part in parts:
        if part is False:
            continue
        if part is True:
            return True
        found.append(part)
    if not found:
        return False
    return found[0] if len(found) == 1 else _joined(z3.Z3_mk_or, found)


def neg(term: Term) -> Term:
    """The negation."""
    if isinstance(term, bool):
        return not term
    if operator(term) == z3.Z3_OP_NOT:
        return parts_of(term)[0]
    return z3.BoolRef(z3.Z3_mk_not(term.ctx.ref(), term.as_ast()), term.ctx)


def implies(a: Term, b: Term) -> Term:
    """The implication."""
    if a is True:
        return b
    if a is False or b is True:
        return True
    if b is False:
        return neg(a)
    return compared(z3.Z3_mk_implies, a, b)


def as_bool(term: Term) -> z3.BoolRef:
    """A proposition as a Z3 term."""
    return z3.BoolVal(term) if isinstance(term, bool) else term


def as_int(term: Term) -> Term:
    """A number as a Python integer or a Z3 term. Raises UnlistedError for a value of another kind."""
    if type(term) is int or isinstance(term, z3.ArithRef):
        return term
    if term is NOTHING:
        return 0
    raise UnlistedError(f"{KINDS[kind(term)]} where a number is needed")


def as_code(term: Atom | Coded) -> Term:
    """The code of a string or model value."""
    return term.code if isinstance(term, Atom) else term.term


KINDS = {
    "atom": "a string or model value",
    "boolean": "a truth value",
    "number": "a number",
    "set": "a set",
    "function": "a function, record or sequence",
}


def kind(value: Symbolic) -> str:
    """The kind of a value: only values of one kind are compared."""
    if isinstance(value, Atom | Coded):
        return "atom"
    if isinstance(value, bool) or (z3.is_expr(value) and z3.is_bool(value)):
        return "boolean"
    if isinstance(value, Rec | Fun | Arr):
        return "function"
    if is_set(value):
        return "set"
    if type(value) is int or z3.is_expr(value):
        return "number"
    raise UnlistedError("a value of no known kind")


def settled(term: Term) -> Term:
    """A term with its constant parts computed: a Python value where all of it is."""
    if not z3.is_expr(term):
        return term
    kind = operator(term)
    if kind == z3.Z3_OP_ANUM:
        return term.as_long()
    if kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
        return kind == z3.Z3_OP_TRUE
    if z3.is_bool(term) or not _composed(term):
        return term
    term = z3.simplify(term, sort_disjunctions=False)
    return term.as_long() if operator(term) == z3.Z3_OP_ANUM else term


def at_most(a: Term, b: Term) -> Term:
    """The proposition a <= b, decided where both are constants or their difference is."""
    a, b = as_int(a), as_int(b)
    if known(a) and known(b):
        return bool(a <= b)
    if z3.is_expr(a) and z3.is_expr(b) and a.eq(b):
        return True
    if _composed(a) or _composed(b):
        difference = settled(a - b)
        if isinstance(difference, int):
            return difference <= 0
    return compared(z3.Z3_mk_ge, b, a) if known(a) else compared(z3.Z3_mk_le, a, b)


def compared(make: Any, a: Term, b: Term) -> z3.BoolRef:
    """A relation of two scalars of one sort, past the checks of z3's Python."""
    a, b = as_term(a), as_term(b)
    return z3.BoolRef(make(a.ctx.ref(), a.as_ast(), b.as_ast()), a.ctx)


def _composed(term: Term) -> bool:
    """Whether a number is a term of others."""
    return z3.is_expr(term) and operator(term) >= 0 and z3.Z3_get_app_num_args(term.ctx_ref(), term.as_ast()) > 0


def below(a: Term, b: Term) -> Term:
    """The proposition a < b, in the same normal form."""
    if known(as_int(a)):
        return at_most(as_int(a) + 1, b)
    return at_most(a, as_int(b) - 1) if known(as_int(b)) else neg(at_most(b, a))


_bound = 0


def fresh(name: str) -> z3.ArithRef:
    """A bound integer variable, or a constant, that nothing else has."""
    global _bound
    _bound += 1
    return z3.Int(f"{name}!{_bound}")


def is_fresh(term: Any) -> bool:
    """Whether `fresh` has made it."""
    return z3.is_const(term) and z3.is_app(term) and re.search(r"!\d+$", term.decl().name()) is not None


def numbered(again: int | None = None) -> int:
    """The number of bound variables so far; `again`: go back to that number, where none of the later ones is used."""
    global _bound
    if again is not None:
        _bound = again
    return _bound


def reset() -> None:
    """Begin the names of bound variables anew, so that equal work gives equal terms."""
    global _bound
    _bound = 0


def numbers(base: Range) -> range | None:
    """The integers that a range can hold, if they are known and few."""
    high = base.high if type(base.high) is int else base.cap
    if type(base.low) is int and high is not None and high - base.low < 256:
        return range(base.low, high + 1)
    return None


def within(k: Term, base: Range) -> list[Term]:
    """The conditions of k in low..high."""
    return [at_most(base.low, k), *([] if base.high is None else [at_most(k, base.high)])]


def over(base: Range, holds: Callable[[Term], Term]) -> Term:
    """For all k of a range."""
    listed = numbers(base)
    if listed is not None:
        return conj(*(implies(conj(*within(k, base)), holds(k)) for k in listed))
    k = fresh("k")
    body = implies(conj(*within(k, base)), holds(k))
    return body if isinstance(body, bool) else z3.ForAll([k], body)


def as_term(number: Term) -> Any:
    """A scalar as a Z3 term."""
    return _number(int(number)) if known(number) else number


@functools.cache
def _number(number: int) -> Any:
    return z3.IntVal(number)


def is_set(value: Symbolic) -> bool:
    """Whether a value is a set."""
    return isinstance(value, Listed | Range | Filtered)


def total(conditions: Iterable[Term]) -> Term:
    """How many of the conditions hold."""
    fixed, terms = 0, []
    for condition in conditions:
        if isinstance(condition, bool):
            fixed += condition
        else:
            terms.append(z3.If(condition, z3.IntVal(1), z3.IntVal(0)))
    if not terms:
        return fixed
    found = terms[0] if len(terms) == 1 else z3.Sum(terms)
    return found + fixed if fixed else found
