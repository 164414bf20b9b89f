"""Expressions that bind a variable over a symbolic set: quantifiers, CHOOSE, and sets by a filter or a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from tidemark_conformance.prove.defined import Piece, define, symbol
from tidemark_conformance.prove.equality import choice, elements, merged, same
from tidemark_conformance.prove.operators import Operators
from tidemark_conformance.prove.terms import (
    NOTHING,
    Env,
    Filtered,
    Listed,
    Meaning,
    Range,
    Symbolic,
    Term,
    at_most,
    conj,
    disj,
    fresh,
    implies,
    neg,
    numbers,
    total,
    within,
)
from tidemark_conformance.tla.ir import Choose, Expr, Local, Op, Quant, SetFilter
from tidemark_conformance.tla.typeok import strip


class Binding(Operators):
    """The part of the evaluator that goes over the elements of sets, or over integers where they cannot be listed."""

    later: Callable[[Callable[..., Any]], Callable[..., Any]]

    def quantified(self, expr: Quant, env: Env) -> tuple[Term, Term]:
        """\\A and \\E in canonical order: expanded over listable elements, else over an integer."""

        def inner(at: int, env: Env) -> tuple[Term, Term]:
            if at == len(expr.binders):
                return self.truth(expr.body, env)
            binder = expr.binders[at]
            domain, ok = self.domain(binder.domain, self.may_lift(expr.kind), env)
            true, good = self.each(expr.kind, domain, binder.name, lambda x: inner(at + 1, {**env, binder.uid: x}))
            return conj(ok, true), conj(ok, good)

        return inner(0, env)

    def domain(self, expr: Expr, lift: bool, env: Env) -> Meaning:
        """The set that a variable is bound over; a range is without end up to a lifted capacity if `lift` says so."""
        inner = strip(expr)
        with self.sensed(0):
            if lift and isinstance(inner, Op) and inner.name == "range":
                return self.range(inner.args[0], inner.args[1], True, env)
            return self.value(expr, env)

    def each(
        self, kind: str, domain: Symbolic, name: str, holds: Callable[[Symbolic], tuple[Term, Term]]
    ) -> tuple[Term, Term]:
        """The proposition of one bound variable over a symbolic set."""
        forall = kind == "forall"
        base = domain.base if isinstance(domain, Filtered) else domain
        if not isinstance(base, Range) or numbers(base) is not None:
            parts = [self.guarded(forall, guard, item, holds) for guard, item in elements(domain)]
            return self.conjunction(parts) if forall else self.disjunction(parts)
        k = fresh(name)
        ranged = conj(*within(k, base))
        self.bound.append(k)
        try:
            with self.assuming(ranged):
                guard, good = domain.holds(k) if isinstance(domain, Filtered) else (True, True)
                with self.assuming(guard):
                    true, ok = holds(k)
        finally:
            self.bound.pop()
        ok = conj(good, implies(guard, ok))
        inside = conj(ranged, guard)
        if forall:
            body = implies(inside, true)
            result: Term = body if isinstance(body, bool) else z3.ForAll([k], body)
        else:
            body = conj(inside, true)
            result = body if isinstance(body, bool) else z3.Exists([k], body)
        if ok is True:
            return result, True
        earlier = fresh(name)
        before = self.moved(conj(ranged, good, implies(guard, conj(ok, true if forall else neg(true)))), k, earlier)
        unless = z3.ForAll([earlier], implies(conj(self.moved(ranged, k, earlier), earlier < k), before))
        decisive = conj(inside, ok, neg(true) if forall else true, unless)
        stops = z3.Exists([k], decisive) if not isinstance(decisive, bool) else decisive
        if forall:
            everywhere = z3.ForAll([k], implies(ranged, conj(ok, implies(guard, true))))
            return everywhere, disj(everywhere, stops)
        nowhere = z3.ForAll([k], implies(ranged, conj(ok, implies(guard, neg(true)))))
        return stops, disj(stops, nowhere)

    @staticmethod
    def moved(term: Term, old: Any, new: Any) -> Term:
        return term if isinstance(term, bool) else z3.substitute(term, (old, new))

    def guarded(
        self, forall: bool, guard: Term, item: Symbolic, holds: Callable[[Symbolic], tuple[Term, Term]]
    ) -> Callable[[], tuple[Term, Term]]:
        def part() -> tuple[Term, Term]:
            if guard is False:
                return forall, True
            with self.assuming(guard):
                true, ok = holds(item)
            if forall:
                return disj(neg(guard), true), implies(guard, ok)
            return conj(guard, true), implies(guard, ok)

        return part

    def chosen(self, expr: Choose, env: Env) -> Meaning:
        """CHOOSE: its one witness; it has no value where there is none, or more than one."""
        domain, ok = self.value(expr.binder.domain, env)

        def holds(x: Symbolic) -> tuple[Term, Term]:
            return self.truth(expr.body, {**env, expr.binder.uid: x})

        base = domain.base if isinstance(domain, Filtered) else domain
        if isinstance(base, Range) and base.high is not None and self.most_elements is not None:
            base = Range(base.low, base.high, self.most_elements if base.cap is None else base.cap)
            domain = Filtered(base, domain.holds) if isinstance(domain, Filtered) else base
        if isinstance(base, Range) and numbers(base) is None:
            value, good = self.chosen_number(expr, domain, base, holds)
            return value, conj(ok, good)
        items = elements(domain)
        if not items:
            return NOTHING, False
        judged: list[tuple[Term, Symbolic]] = []
        goods: list[Term] = [ok]
        for guard, item in items:
            with self.assuming(guard):
                true, good = holds(item)
            judged.append((conj(guard, true), item))
            goods.append(implies(guard, good))
        found = judged[-1][1]
        for condition, item in reversed(judged[:-1]):
            found = choice(condition, item, found)
        only = same(total(condition for condition, _ in judged), 1)
        return found, conj(*goods, only)

    def chosen_number(
        self, expr: Choose, domain: Range | Filtered, base: Range, holds: Callable[[Symbolic], tuple[Term, Term]]
    ) -> Meaning:
        """CHOOSE over numbers that cannot be listed: a symbol that is a witness if there is any.

        A set of integers that has an element has a least one where the range has a start, and a greatest one where it
        has an end. Where the text asks for these, an axiom says so.
        """
        extreme = extreme_of(expr)
        if extreme == "greatest" and base.high is None:
            extreme = ""

        def inside(x: Term) -> Term:
            return conj(*within(x, base), domain.holds(x)[0] if isinstance(domain, Filtered) else True)

        def witness(x: Term) -> Term:
            return inside(x) if extreme else conj(inside(x), holds(x)[0])

        def build(name: str, args: tuple[Term, ...]) -> tuple[Symbolic, list[Piece]]:
            one, x = symbol(name, args), fresh(expr.binder.name)
            with self.defining():
                some, this = witness(x), witness(one)
            order = {"least": at_most(one, x), "greatest": at_most(x, one)}.get(extreme, True)
            return one, [Piece((x,), implies(some, conj(this, order)))]

        found, _ = define(build, "chosen", self.boundaries, self.side, self.kept)
        if extreme:
            return found, inside(found)
        x = fresh(expr.binder.name)
        only = implies(witness(x), same(x, found))
        fine, _ = self.each("forall", domain, expr.binder.name, lambda x: (holds(x)[1], True))
        return found, conj(fine, witness(found), only if isinstance(only, bool) else z3.ForAll([x], only))

    def filtered(self, expr: SetFilter, env: Env) -> Meaning:
        domain, ok = self.value(expr.binder.domain, env)

        def holds(x: Symbolic) -> tuple[Term, Term]:
            return self.truth(expr.body, {**env, expr.binder.uid: x})

        base = domain.base if isinstance(domain, Filtered) else domain
        if isinstance(base, Range) and numbers(base) is None:
            inside = self.later(holds)
            fine, _ = self.each("forall", domain, expr.binder.name, lambda x: (self.has_value(holds, x), True))
            if isinstance(domain, Filtered):
                inside = both(domain.holds, inside)
            return Filtered(base, inside), conj(ok, fine)
        items: list[tuple[Term, Symbolic]] = []
        goods: list[Term] = [ok]
        for guard, item in elements(domain):
            with self.assuming(guard):
                true, good = holds(item)
            items.append((conj(guard, true), item))
            goods.append(implies(guard, good))
        return Listed(tuple((guard, item) for guard, item in items if guard is not False)), conj(*goods)

    @staticmethod
    def has_value(holds: Callable[[Symbolic], tuple[Term, Term]], x: Symbolic) -> Term:
        return holds(x)[1]

    def mapped(self, binders: list[Any], body: Expr, env: Env) -> Meaning:
        if not binders:
            value, ok = self.value(body, env)
            return Listed(((True, value),)), ok
        domain, ok = self.value(binders[0].domain, env)
        items: list[tuple[Term, Symbolic]] = []
        goods: list[Term] = [ok]
        for guard, item in elements(domain):
            with self.assuming(guard):
                inner, good = self.mapped(binders[1:], body, {**env, binders[0].uid: item})
            items += [(conj(guard, own), value) for own, value in inner.items]
            goods.append(implies(guard, good))
        return merged(items), conj(*goods)


def both(
    first: Callable[[Term], tuple[Term, Term]], second: Callable[[Term], tuple[Term, Term]]
) -> Callable[[Term], tuple[Term, Term]]:
    """The filter of a filter: the second is asked of the members of the first."""

    def holds(x: Term) -> tuple[Term, Term]:
        (true, ok), (then, good) = first(x), second(x)
        return conj(true, then), conj(ok, implies(true, good))

    return holds


def extreme_of(expr: Choose) -> str:
    r"""Whether CHOOSE asks for the "least" or the "greatest" of a set S: `CHOOSE i \in S : \A j \in S : i <= j`."""
    body, domain = strip(expr.body), strip(expr.binder.domain)
    if not isinstance(body, Quant) or body.kind != "forall" or len(body.binders) != 1 or not isinstance(domain, Local):
        return ""
    other, compared = body.binders[0], strip(body.body)
    if strip(other.domain) != domain or not isinstance(compared, Op) or compared.name not in ("le", "ge"):
        return ""
    sides = [strip(side) for side in compared.args]
    names = [side.uid if isinstance(side, Local) else None for side in sides]
    if compared.name == "ge":
        names.reverse()
    if names == [expr.binder.uid, other.uid]:
        return "least"
    return "greatest" if names == [other.uid, expr.binder.uid] else ""
