"""Folds: over the elements of a sequence in order, or of a set in an order that must not matter."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import z3

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.prove import recursive
from tidemark_conformance.prove.binding import Binding
from tidemark_conformance.prove.equality import choice, elements, same
from tidemark_conformance.prove.operators import as_array
from tidemark_conformance.prove.terms import (
    Arr,
    Coded,
    Env,
    Meaning,
    Range,
    Symbolic,
    Term,
    UnlistedError,
    as_bool,
    conj,
    fresh,
    implies,
    kind,
    numbers,
    within,
)
from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Expr, Fold, If, Local, Op, TupleLit
from tidemark_conformance.tla.typeok import strip

MOST_ORDERED = 4
"""The most elements of a set that are folded in every order."""
RESOURCES = 400_000
"""The solver's resource limit of the question whether a fold's elements may change places."""


class Folds(Binding):
    """The part of the evaluator that folds."""

    orders: bool
    recording: bool
    branch: Callable[[Term], None]
    lengths: set[str]

    def folded(self, expr: Fold, env: Env) -> Meaning:
        collection, ok = self.value(expr.collection, env)
        result, good = self.value(expr.start, env)
        goods: list[Term] = [ok, good]

        def step(item: Symbolic, sofar: Symbolic) -> Meaning:
            return self.value(expr.body, {**env, expr.element: item, expr.accumulator: sofar})

        if expr.kind == "set":
            items = elements(collection)
        else:
            collection = as_array(collection)
            listed = numbers(
                Range(1, collection.last, self.most_elements if collection.cap is None else collection.cap)
            )
            if listed is None:
                value, fine = self.long(expr, collection, result, step, env)
                return value, conj(*goods, fine)
            items = [(conj(*within(i, Range(1, collection.last))), collection.get(i)) for i in listed]
            goods.append(same(collection.low, 1))
        start = result
        for guard, item in items:
            with self.assuming(guard):
                value, good = step(item, result)
            if expr.kind == "seq" and guard is not True:
                self.branch(guard)
            result = choice(guard, value, result)
            goods.append(implies(guard, good))
        if expr.kind == "set" and self.orders and len(items) > 1:
            working = [(guard, item) for guard, item in items if not self.idle(guard, item, step)]
            if len(working) > 1:
                goods.append(self.orderless(start, result, working, step))
        return result, conj(*goods)

    def long(
        self,
        expr: Fold,
        items: Arr,
        start: Symbolic,
        step: Callable[[Symbolic, Symbolic], Meaning],
        env: Env,
    ) -> Meaning:
        """A fold of a sequence of any length: SelectSeq, or by recursion."""
        before, self.recording = self.recording, False
        try:
            test = selection(expr)
            if test is not None:

                def holds(index: Term) -> tuple[Term, Term]:
                    return self.truth(test, {**env, expr.element: items.get(index)})

                found, ok, name = recursive.selected(self.defining, holds, items, self.boundaries, self.side, self.kept)
                self.lengths.add(f"{name}.len")
                return found, ok
            return recursive.folded(self.defining, step, start, items, self.boundaries, self.side, self.kept)
        finally:
            self.recording = before

    def idle(self, guard: Term, item: Symbolic, step: Callable[[Symbolic, Symbolic], Meaning]) -> bool:
        """Whether an element of a fold leaves every accumulator as it is, without looking at it."""
        before, self.recording = self.recording, False
        any_ = object()
        try:
            with self.assuming(guard):
                return step(item, any_)[0] is any_
        except (UnlistedError, Unsupported, AttributeError, TypeError, z3.Z3Exception):
            return False
        finally:
            self.recording = before

    def orderless(
        self,
        start: Symbolic,
        result: Symbolic,
        items: list[tuple[Term, Symbolic]],
        step: Callable[[Symbolic, Symbolic], Meaning],
    ) -> Term:
        """The condition under which a fold of a set gives `result` in every order of the elements that do something.

        An operator on scalars whose elements commute needs no condition. Else all orders of few elements are compared.
        """
        before, self.recording = self.recording, False
        try:
            if kind(start) in ("number", "boolean", "atom") and self.commute(start, items, step):
                return True
            if len(items) > MOST_ORDERED:
                raise self.refuse(
                    f"a fold of {len(items)} elements whose order may matter", "fold by an operator that commutes"
                )
            found: list[Term] = []
            for order in itertools.islice(itertools.permutations(items), 1, None):
                other = start
                for guard, item in order:
                    with self.assuming(guard):
                        value, good = step(item, other)
                    found.append(implies(guard, good))
                    other = choice(guard, value, other)
                found.append(same(other, result))
            return conj(*found)
        finally:
            self.recording = before

    def commute(
        self,
        start: Symbolic,
        items: list[tuple[Term, Symbolic]],
        step: Callable[[Symbolic, Symbolic], Meaning],
    ) -> bool:
        """Whether the solver shows at once that any two elements may change places, for any accumulator."""
        any_: Symbolic = fresh("any")
        if kind(start) == "boolean":
            any_ = any_ > 0
        elif kind(start) == "atom":
            any_ = Coded(any_)

        def after(first: tuple[Term, Symbolic], second: tuple[Term, Symbolic]) -> Meaning:
            found, goods = any_, []
            for guard, item in (first, second):
                with self.assuming(guard):
                    value, good = step(item, found)
                goods.append(implies(guard, good))
                found = choice(guard, value, found)
            return found, conj(*goods)

        wanted: list[Term] = []
        for one, other in itertools.combinations(items, 2):
            (a, good_a), (b, good_b) = after(one, other), after(other, one)
            wanted += [good_a, good_b, same(a, b)]
        solver = z3.Solver()
        solver.set("rlimit", RESOURCES)
        solver.add(z3.Not(as_bool(conj(*wanted))))
        return bool(solver.check() == z3.unsat)


def selection(expr: Fold) -> Expr | None:
    """The test of a fold that is SelectSeq, None for another one."""
    body, start = strip(expr.body), strip(expr.start)
    if expr.kind != "seq" or start != TupleLit(()) or not isinstance(body, If):
        return None
    kept = strip(body.then)
    if not isinstance(kept, Op) or kept.name != "append":
        return None
    before, whole, item = map(strip, (body.orelse, *kept.args))
    named = [one.uid if isinstance(one, Local) else None for one in (before, whole, item)]
    if named != [expr.accumulator, expr.accumulator, expr.element]:
        return None
    mentions = any(isinstance(node, Local) and node.uid == expr.accumulator for node in walk.walk(body.condition))
    return None if mentions else body.condition
