"""Quantifiers: over the elements of a set, one of which may decide."""

from __future__ import annotations

from collections.abc import Callable

from tidemark_conformance.tla.ir import Binder, Expr, Local, Op, Quant, RecordSet
from tidemark_conformance.tla.kernels import bindings, eager, increments, iteration, membership, sets, values
from tidemark_conformance.tla.kernels.context import Context, Env, conjunction, negated
from tidemark_conformance.tla.kernels.symbols import (
    Atom,
    Bool,
    Choice,
    Enum,
    Filter,
    Flat,
    Image,
    Int,
    Join,
    Mask,
    Range,
    Symbol,
)
from tidemark_conformance.tla.typeok import strip
from tidemark_conformance.tla.walk import free_locals, mentioned, walk

_TOTAL = frozenset(
    {"and", "or", "implies", "iff", "not", "eq", "ne", "in", "notin", "subseteq", "union", "cardinality"}
)
"""Operators that have a value for all operands of their kinds."""


def quantifier(c: Context, expr: Quant, env: Env) -> Symbol:
    wanted = expr.kind == "exists"
    if wanted:
        single = _one_point(c, expr, env)
        if single is not None:
            return single
    domains(c, expr.binders[1:], env)
    return Bool(quantified(c, expr.binders, expr.body, env, wanted))


def domains(c: Context, binders: tuple[Binder, ...], env: Env) -> None:
    """Of several binders TLC evaluates all domains first."""
    for binder in binders:
        eager.asked(c, lambda binder=binder: c.evaluate(binder.domain, env))  # type: ignore[misc]


def quantified(
    c: Context, binders: tuple[Binder, ...], body: Expr, env: Env, wanted: bool, domain: Symbol | None = None
) -> str:
    """`domain`: that of the first binder, if it is known already."""
    if not binders:
        return bindings.predicate(c, body, env)
    binder, rest = binders[0], binders[1:]
    mirrored = not wanted and domain is None and increments.one_of_two(binders, body)
    if domain is None:
        domain = c.evaluate(binder.domain, env)
    bindings.force(c, body, env)
    for inner in rest:
        bindings.force(c, inner.domain, env)
    if isinstance(domain, Filter | Join | Choice | Mask):
        domain = values.keep(c, domain)
    if isinstance(domain, Enum | Image | Join | Flat):
        domain = _in_order(c, domain, binder, rest, body, env)

    first, then = (None, body) if wanted else _apart(rest, body)

    def of(element: Symbol) -> str:
        following = _on_from(element, domain) if mirrored else None
        inner = {**env, binder.uid: element}
        if first is None:
            return quantified(c, rest, then, inner, wanted, following)
        skipped = [
            lambda: negated(bindings.predicate(c, first, inner)),
            lambda: quantified(c, rest, then, inner, wanted, following),
        ]
        return conjunction(c, skipped, "or")

    return iteration.exists(c, domain, of, wanted)


def _in_order(c: Context, domain: Symbol, binder: Binder, rest: tuple[Binder, ...], body: Expr, env: Env) -> Symbol:
    """A set whose elements are looked at until one decides, in TLC's order where an element may raise an error."""

    holds = Quant("forall", rest, body) if rest else body

    def asked(element: Symbol) -> None:
        bindings.predicate(c, holds, {**env, binder.uid: element})

    def each() -> None:
        iteration.iterate(c, domain, asked, None)

    if not eager.may_err(c, each):
        return domain
    mask = sets.as_mask(c, domain)
    return domain if mask is None else values.keep(c, mask)


def _apart(rest: tuple[Binder, ...], body: Expr) -> tuple[Expr | None, Expr]:
    r"""Of `\A x : \A y \in S : P(x) /\ Q(x, y) => R` what need not be asked again for each y: P(x); and the rest."""
    uids = {binder.uid for binder in rest}
    domains = [binder.domain for binder in rest]
    fixed = all(own.closed and (own.constants or own.rules) for own in map(mentioned, domains))
    match strip(body):
        case Op("implies", (condition, conclusion)) if uids and fixed:
            whole = strip(condition)
            parts = whole.args if isinstance(whole, Op) and whole.name == "and" else (whole,)
            count = next((at for at, part in enumerate(parts) if uids & free_locals(part)), len(parts))
            if 0 < count < len(parts):
                return Op("and", parts[:count]), Op("implies", (Op("and", parts[count:]), conclusion))
    return None, body


def _on_from(element: Symbol, domain: Symbol) -> Symbol | None:
    """The members of a set from one of them on, if that is easily said."""
    match element, domain:
        case Atom(index, members), Mask(code, kind) if members == kind.members:
            return Mask(f"({code} & (-1 << {index}))", kind)
        case Int(), Range(_, hi):
            return Range(element, hi)
    return None


def _one_point(c: Context, expr: Quant, env: Env) -> Symbol | None:
    r"""\E x \in S : x = e /\ P, where S is better not enumerated."""
    if len(expr.binders) != 1:
        return None
    binder = expr.binders[0]
    domain = strip(binder.domain)
    if not isinstance(domain, Op | RecordSet) or (
        isinstance(domain, Op)
        and domain.name not in ("powerset", "function_set", "product", "nat", "int", "seq", "union")
    ):
        return None
    body = strip(expr.body)
    parts = body.args if isinstance(body, Op) and body.name == "and" else (body,)
    for at, part in enumerate(parts):
        match strip(part):
            case Op("eq", (Local(uid, _), value)) | Op("eq", (value, Local(uid, _))) if uid == binder.uid:
                if binder.uid in free_locals(value):
                    continue
                chosen = c.evaluate(value, env)
                inner = {**env, binder.uid: chosen}
                if any(_may_err(c, part, binder.uid, inner) for part in parts[:at]):
                    continue
                return Bool(_at_point(c, binder.domain, env, chosen, [*parts[:at], *parts[at + 1 :]], inner))
    return None


def _may_err(c: Context, part: Expr, uid: int, env: Env) -> bool:
    """Whether a part before `x = e` may raise an error for some x, of which `env` has only one."""
    if uid not in free_locals(part):
        return eager.may_err(c, lambda: bindings.predicate(c, part, env))
    return any(isinstance(one, Op) and one.name not in _TOTAL for one in walk(part))


def _at_point(c: Context, domain: Expr, env: Env, chosen: Symbol, rest: list[Expr], inner: Env) -> str:
    checks: list[Callable[[], str]] = [lambda: membership.member(c, chosen, c.evaluate(domain, env))]
    checks += [lambda part=part: bindings.predicate(c, part, inner) for part in rest]  # type: ignore[misc]
    return conjunction(c, checks)
