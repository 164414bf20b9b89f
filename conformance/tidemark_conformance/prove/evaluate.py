"""Expressions of the IR as symbolic values.

An expression has a value and the condition under which it has one: where TLC reports an error, that condition is false.
A proposition is given as the condition under which it is *true*, which implies that it has a value. The facts that the
text has established on the way to an expression (`facts`) decide conditions that they imply syntactically.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import z3

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.prove.equality import choice, member, merged, same
from tidemark_conformance.prove.functions import Functions
from tidemark_conformance.prove.sorts import refused, sequence
from tidemark_conformance.prove.terms import (
    NOTHING,
    Atom,
    Env,
    Meaning,
    Rec,
    Symbolic,
    Term,
    Unbounded,
    UnlistedError,
    conj,
    disj,
    known,
    neg,
    operator,
    parts_of,
)
from tidemark_conformance.tla.ir import (
    Case,
    Choose,
    Const,
    Except,
    Expr,
    Fold,
    FunctionLit,
    HasRule,
    If,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    Quant,
    RecordLit,
    RuleGuard,
    SetEnum,
    SetFilter,
    SetMap,
    TupleLit,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.typeok import strip

_LOGICAL = frozenset("and or not implies iff eq ne lt le gt ge in notin subseteq isfiniteset".split())  # noqa: SIM905

_KEEPING = frozenset(["and", "or", "not", "implies", "in", "notin"])
"""The operators that see to the sense of their arguments themselves."""


class Lazy:
    """A LET definition: evaluated at its first use, with the facts known where it stands.

    One that is not `kept` is evaluated at each use: it reads next values, which the sides of an IF give differently, or
    it is used in a definition, for which errors do not count.
    """

    def __init__(self, compute: Callable[[], Meaning], kept: Callable[[], bool] = lambda: True) -> None:
        self._compute, self._kept = compute, kept
        self._found: Meaning | None = None

    def __call__(self) -> Meaning:
        if not self._kept():
            return self._compute()
        if self._found is None:
            self._found = self._compute()
        return self._found


class Evaluator(Functions):
    """Evaluates in a symbolic state. `primed`: the next values that are known; `side`: the axioms of fresh terms."""

    def __init__(
        self,
        state: Mapping[str, Symbolic],
        constants: Mapping[str, Symbolic],
        without: frozenset[str],
        caps: dict[int, int],
        atom: Callable[[Any], Atom],
        boundaries: dict[tuple[Any, ...], tuple[Term, Term]],
        kept: list[Any],
        lengths: set[str] | None = None,
        reading: str = "free",
    ) -> None:
        self.state, self.constants, self.without, self.caps, self.atom = state, constants, without, caps, atom
        self.primed: Mapping[str, Symbolic] = {}
        self.side: list[Term] = []
        self.facts: frozenset[int] = frozenset()
        self.bound: list[Any] = []
        self.loc: Loc | None = None
        self.kept, self.boundaries = kept, boundaries
        self.lengths = set[str]() if lengths is None else lengths
        self.branches: list[Term] = []
        self.recording = False
        self.total = False
        self.most_elements: int | None = None
        """How many elements a sequence without a known end may have, where that is so: for comparisons with TLC."""
        self.orders = True
        """Whether folds of sets must not depend on the order: in proofs, where model values are exchanged."""
        self.reading = reading
        self.sense = 1

    # Known facts

    def may_lift(self, kind: str) -> bool:
        """Whether a range that ends in a lifted capacity may be without end, as the domain of `kind` here.

        The condition of an action may only become weaker by that, and a property only stronger. Lemmas are free.
        """
        if self.reading == "free":
            return True
        return self.sense != 0 and (kind == "exists") == ((self.reading == "guard") == (self.sense > 0))

    @contextlib.contextmanager
    def sensed(self, factor: int) -> Iterator[None]:
        """Within it the truth of a formula counts so: -1 the other way round, 0 in no known way."""
        before = self.sense
        self.sense *= factor
        try:
            yield
        finally:
            self.sense = before

    def decision(self, expr: Expr, env: Env) -> tuple[Term, Term]:
        """The truth of what an IF or CASE asks."""
        with self.sensed(0):
            return self.truth(expr, env)

    @contextlib.contextmanager
    def assuming(self, *terms: Term) -> Iterator[None]:
        """Within it these terms hold."""
        before = self.facts
        self.facts = before.union(*(self._ids(term) for term in terms))
        try:
            yield
        finally:
            self.facts = before

    def _ids(self, term: Term) -> set[int]:
        if isinstance(term, bool):
            return set()
        self.kept.append(term)
        found = {term.get_id()}
        if operator(term) == z3.Z3_OP_AND:
            return found.union(*(self._ids(part) for part in parts_of(term)))
        if operator(term) == z3.Z3_OP_NOT and operator(parts_of(term)[0]) == z3.Z3_OP_OR:
            return found.union(*(self._ids(neg(part)) for part in parts_of(parts_of(term)[0])))
        return found

    @contextlib.contextmanager
    def defining(self) -> Iterator[None]:
        """Within it values are those of total functions: what TLC reports as an error is no matter.

        For the axioms of symbols, whose texts are then the same wherever a sequence ends. They mean the specification's
        values where these exist, and the condition for that is made outside.
        """
        before, self.total = self.total, True
        try:
            yield
        finally:
            self.total = before

    def decided(self, term: Term) -> Term:
        """A condition without which there is no value, or True where the facts imply it syntactically."""
        return True if self.total else self.implied(term)

    def implied(self, term: Term) -> Term:
        """A condition, or True where the facts imply it syntactically. A part that it shares is looked at once."""
        seen: dict[int, Term] = {}

        def rest(part: Term) -> Term:
            if isinstance(part, bool):
                return part
            number = part.get_id()
            if number in self.facts:
                return True
            if number not in seen:
                seen[number] = part
                if operator(part) == z3.Z3_OP_AND:
                    seen[number] = conj(*map(rest, parts_of(part)))
                elif operator(part) == z3.Z3_OP_OR and any(rest(one) is True for one in parts_of(part)):
                    seen[number] = True
            return seen[number]

        return rest(term)

    def refuse(self, what: str, cure: str = "write it by the conventions' other forms") -> Unsupported:
        """The error for a construct that has no terms, with the line reached last."""
        return refused(what, self.loc, cure)

    @contextlib.contextmanager
    def at(self, loc: Loc) -> Iterator[None]:
        """Within it errors are placed there."""
        before, self.loc = self.loc, loc
        try:
            yield
        except UnlistedError as problem:
            raise self.refuse(str(problem)) from None
        finally:
            self.loc = before

    # Expressions

    def value(self, expr: Expr, env: Env) -> Meaning:
        """The value of an expression and its condition."""
        if self.sense and not (
            isinstance(expr, Mark | Let | Quant | RuleGuard | If | Case)
            or (isinstance(expr, Op) and expr.name in _KEEPING)
        ):
            with self.sensed(0):
                return self.form(expr, env)
        return self.form(expr, env)

    def form(self, expr: Expr, env: Env) -> Meaning:
        """The same, by the form of the expression."""
        match expr:
            case Mark(_, loc, body):
                with self.at(loc):
                    return self.value(body, env)
            case Lit(value, kind):
                return (self.atom(value) if kind == "str" else value), True
            case Const(name):
                value = self.constants[name]
                return (value.term if isinstance(value, Unbounded) else value), True
            case Var(name, primed):
                return self.variable(name, primed), True
            case Local(uid, _):
                found = env[uid]
                if isinstance(found, Lazy):
                    value, ok = found()
                    return value, self.decided(ok)
                return found, True
            case Let(uid, _, definition, body):
                return self.value(body, {**env, uid: self.lazily(lambda: self.value(definition, env))})
            case HasRule(rule):
                return rule not in self.without, True
            case RuleGuard(rule, connective, predicate):
                if rule in self.without:
                    return connective == "implies", True
                return self.truth(predicate, env)
            case If(condition, then, orelse):
                return self.conditional(condition, lambda: self.value(then, env), lambda: self.value(orelse, env), env)
            case Case(arms, other):
                return self.cases(list(arms), other, env)
            case Quant():
                return self.quantified(expr, env)
            case Choose():
                return self.chosen(expr, env)
            case SetEnum(items):
                values = [self.value(item, env) for item in items]
                return merged((True, value) for value, _ in values), conj(*(ok for _, ok in values))
            case SetFilter():
                return self.filtered(expr, env)
            case SetMap(binders, body):
                return self.mapped(list(binders), body, env)
            case TupleLit(items):
                values = [self.value(item, env) for item in items]
                return sequence([value for value, _ in values]), conj(*(ok for _, ok in values))
            case RecordLit(fields):
                found = [(name, *self.value(part, env)) for name, part in fields]
                return Rec({name: (value, True) for name, value, _ in found}), conj(*(ok for _, _, ok in found))
            case FunctionLit():
                return self.function(expr, env)
            case Except(base, path, at, value):
                return self.updated(base, path, at, value, env)
            case Fold():
                return self.folded(expr, env)
            case Unchanged(names):
                return conj(*(same(self.variable(name, True), self.variable(name, False)) for name in names)), True
            case Op("range", (low, high)):
                return self.range(low, high, self.reading == "free", env)
            case Op("apply", (mapping, argument)):
                return self.applied(mapping, argument, env)
            case Op(name, args):
                return self.operator(name, args, env)
        raise self.refuse(f"a {type(expr).__name__}")

    def ends_in_capacity(self, expr: Expr) -> bool:
        """Whether the text is a lifted capacity, or that and more or less."""
        match strip(expr):
            case Const(name):
                return isinstance(self.constants[name], Unbounded)
            case Op("add" | "sub", (left, _)):
                return self.ends_in_capacity(left)
        return False

    def begins_in_capacity(self, expr: Expr) -> bool:
        """Whether the text is a lifted capacity below 0, as in -Max..Max."""
        match strip(expr):
            case Op("neg", (capacity,)):
                return self.ends_in_capacity(capacity)
        return False

    def lazily(self, compute: Callable[[], Meaning], kept: bool = True) -> Lazy:
        """A definition that is evaluated later, with the facts of now."""
        facts, bound, loc = self.facts, list(self.bound), self.loc

        def run() -> Meaning:
            before = self.facts, self.bound, self.loc
            self.facts, self.bound, self.loc = facts, bound, loc
            try:
                with self.sensed(0):
                    return compute()
            finally:
                self.facts, self.bound, self.loc = before

        return Lazy(run, lambda: kept and not self.total)

    def later(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        """The same for a function of indices."""
        facts, loc = self.facts, self.loc

        def run(*arguments: Any) -> Any:
            before = self.facts, self.loc, self.recording
            self.facts, self.loc, self.recording = facts, loc, False
            try:
                with self.sensed(0):
                    return compute(*arguments)
            finally:
                self.facts, self.loc, self.recording = before

        return run

    def variable(self, name: str, primed: bool) -> Symbolic:
        """A variable's value, in the next state where `primed`."""
        if not primed:
            if name not in self.state:
                raise self.refuse(f"{name} before it is known", f"put the conjunct of {name} before its use")
            return self.state[name]
        if name not in self.primed:
            raise self.refuse(f"{name}' before it is known", f"put the conjunct of {name}' before its use")
        return self.primed[name]

    def truth(self, expr: Expr, env: Env) -> tuple[Term, Term]:
        """The condition under which a proposition is true, and the one under which it has a value."""
        value, ok = self.value(expr, env)
        inner = strip(expr)
        if isinstance(inner, Quant) or (isinstance(inner, Op) and inner.name in _LOGICAL):
            return value, ok
        return conj(ok, value), ok

    @staticmethod
    def falsity(meaning: tuple[Term, Term]) -> Term:
        """The condition under which a proposition is false."""
        return conj(meaning[1], neg(meaning[0]))

    def conjunction(self, parts: list[Callable[[], tuple[Term, Term]]]) -> tuple[Term, Term]:
        """Propositions in order: after the first that is false none is evaluated."""
        true: Term = True
        found: list[tuple[Term, tuple[Term, Term]]] = []
        with contextlib.ExitStack() as stack:
            for part in parts:
                one = part()
                found.append((true, one))
                true = conj(true, one[0])
                if true is False:
                    break
                stack.enter_context(self.assuming(one[0]))
        if all(one[1] is True for _, one in found):
            return true, True
        false: Term = False
        for before, one in found:
            false = disj(false, conj(before, self.falsity(one)))
        return true, disj(true, false)

    def disjunction(self, parts: list[Callable[[], tuple[Term, Term]]]) -> tuple[Term, Term]:
        """Propositions in order: after the first that is true none is evaluated."""
        true: Term = False
        false: Term = True
        strict = False
        found: list[tuple[Term, Term]] = []
        with contextlib.ExitStack() as stack:
            for part in parts:
                one = part()
                true = disj(true, conj(false, one[0]) if strict else one[0])
                strict = strict or one[1] is not True
                found.append(one)
                while strict and found:
                    false = conj(false, self.falsity(found.pop(0)))
                if true is True:
                    break
                stack.enter_context(self.assuming(neg(one[0])))
        return true, (disj(true, false) if strict else True)

    def conditional(
        self, condition: Expr, then: Callable[[], Meaning], orelse: Callable[[], Meaning], env: Env
    ) -> Meaning:
        true, ok = self.decision(condition, env)
        true = self.settle_by_facts(true)
        if true is True:
            return then()
        if true is False:
            value, good = orelse()
            return value, conj(ok, good)
        self.branch(true)
        with self.assuming(true):
            a, good_a = then()
        with self.assuming(neg(true)):
            b, good_b = orelse()
        return choice(true, a, b), conj(ok, choice(true, good_a, good_b))

    def branch(self, true: Term) -> None:
        """Remembers the condition of an IF or CASE of an action, outside functions and quantifiers."""
        if self.recording and not self.bound and not any(true.eq(one) for one in self.branches):
            self.branches.append(true)

    def settle_by_facts(self, term: Term) -> Term:
        """A proposition, decided where a fact is it or its negation."""
        if isinstance(term, bool):
            return term
        if term.get_id() in self.facts:
            return True
        opposite = neg(term)
        return False if not isinstance(opposite, bool) and opposite.get_id() in self.facts else term

    def cases(self, arms: list[tuple[Expr, Expr]], other: Expr | None, env: Env) -> Meaning:
        if not arms:
            return self.value(other, env) if other is not None else (NOTHING, False)
        (condition, then), rest = arms[0], arms[1:]
        if not rest and other is None:
            true, _ = self.decision(condition, env)
            with self.assuming(true):
                value, good = self.value(then, env)
            return value, conj(true, good)
        return self.conditional(condition, lambda: self.value(then, env), lambda: self.cases(rest, other, env), env)

    def in_set(self, item: Symbolic, domain: Symbolic) -> Term:
        """item \\in domain."""
        return member(item, domain)

    def counted(self, term: Term, most: int) -> Term:
        """Remembers the greatest value of a term."""
        if z3.is_expr(term):
            self.kept.append(term)
            self.caps[term.get_id()] = most
        return term

    def most(self, term: Term) -> int | None:
        """The greatest value of a term, None if unknown."""
        if known(term):
            return int(term)
        if operator(term) == z3.Z3_OP_MUL and z3.is_int_value(term.arg(0)) and term.arg(0).as_long() > 0:
            of = self.most(term.arg(1)) if term.num_args() == 2 else None
            return None if of is None else term.arg(0).as_long() * of
        return self.caps.get(term.get_id()) if z3.is_expr(term) else None
