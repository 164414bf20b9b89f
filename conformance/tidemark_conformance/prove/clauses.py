r"""A lemma as clauses: its meaning for known elements of sets, over integers that are bound or taken as any.

The truth of `\A`, `/\` and `=>` is split at the top of a formula. The rest is a clause: if `given` holds for the
`bound` integers, `then` is true. A clause is a hypothesis, quantified and with patterns, or a goal, whose integers are
fresh.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import z3

from tidemark_conformance.prove.equality import elements, same
from tidemark_conformance.prove.evaluate import Evaluator
from tidemark_conformance.prove.operators import same_domain
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Atom,
    Env,
    Filtered,
    Fun,
    Listed,
    Range,
    Rec,
    Symbolic,
    Term,
    as_bool,
    at_most,
    conj,
    fresh,
    implies,
    neg,
    numbered,
    numbers,
    operator,
    reset,
    within,
)
from tidemark_conformance.prove.triggers import quantified
from tidemark_conformance.tla import ir
from tidemark_conformance.tla.typeok import bounded_sequences, unfolded


@dataclass(frozen=True)
class Clause:
    """If all of `given` hold for the integers `bound`, then `then`. `path`: the known elements that it is about."""

    path: tuple[str, ...]
    bound: tuple[Any, ...]
    given: tuple[Term, ...]
    then: Term

    @cached_property
    def body(self) -> Term:
        """The clause for its own integers; kept, so that its id is not given to another term."""
        return implies(conj(*self.given), self.then)

    def hypothesis(self) -> Any:
        """The clause for all integers, with patterns that say when it is tried."""
        used, given = list(self.bound), list(self.given)
        for one in self.bound:
            ends = None if _mentions(self.then, one) else _ends(given, one)
            if ends is not None:
                # No term of the clause could be a pattern for it. It says no more than that its range is not empty.
                used.remove(one)
                given = [part for part in given if not _mentions(part, one)] + ends
        body = self.body if len(used) == len(self.bound) else implies(conj(*given), self.then)
        return quantified(tuple(used), as_bool(body)) if used else as_bool(body)


def _mentions(term: Term, one: Any) -> bool:
    return z3.is_expr(term) and any(node.eq(one) for node in _subterms(term))


def _subterms(term: Any) -> Iterator[Any]:
    """Each once."""
    waiting, seen = [term], set[int]()
    while waiting:
        node = waiting.pop()
        if node.get_id() not in seen:
            seen.add(node.get_id())
            yield node
            waiting += [node.body()] if z3.is_quantifier(node) else node.children()


def _ends(given: list[Term], one: Any) -> list[Term] | None:
    """That the range of an integer is not empty, where the conditions say no more of it than its ends; else None."""
    low: list[Any] = []
    high: list[Any] = []
    for part in given:
        if not _mentions(part, one):
            continue
        kind = operator(part)
        if kind not in (z3.Z3_OP_GE, z3.Z3_OP_LE) or not part.arg(0).eq(one) or _mentions(part.arg(1), one):
            return None
        (low if kind == z3.Z3_OP_GE else high).append(part.arg(1))
    return [at_most(a, b) for a in low for b in high]


def clauses(run: Evaluator, expr: ir.Expr) -> list[Clause]:
    """The clauses of a proposition in the evaluator's state. Equal states give equal terms."""
    reset()
    return [one for one in _Splitter(run).split(expr, {}, (), (), ()) if one.body is not True]


class _Splitter:
    def __init__(self, run: Evaluator) -> None:
        self.run = run

    def split(
        self, expr: ir.Expr, env: Env, path: tuple[str, ...], bound: tuple[Any, ...], given: tuple[Term, ...]
    ) -> Iterator[Clause]:
        run = self.run
        match expr:
            case ir.Mark(_, loc, body):
                with run.at(loc):
                    yield from self.split(body, env, path, bound, given)
            case ir.Let(uid, _, value, body):
                lazy = run.lazily(lambda: run.value(value, env))
                yield from self.split(body, {**env, uid: lazy}, path, bound, given)
            case ir.Op("and", parts):
                facts, number = run.facts, numbered()
                for part in parts:
                    numbered(number)
                    found = list(self.split(part, env, path, bound, given))
                    yield from found
                    for one in found:
                        if one.bound == bound and one.given == given:
                            run.facts = run.facts.union(run._ids(one.then))
                run.facts = facts
            case ir.Op("implies", (left, right)):
                with run.sensed(-1):
                    true, ok = run.truth(left, env)
                if ok is not True:
                    yield Clause(path, bound, given, ok)
                if true is not False:
                    with run.assuming(true):
                        yield from self.split(right, env, path, bound, (*given, *_parts(true)))
            case ir.If(condition, then, orelse):
                true, ok = run.decision(condition, env)
                if ok is not True:
                    yield Clause(path, bound, given, ok)
                for side, branch in ((true, then), (neg(true), orelse)):
                    if side is not False:
                        with run.assuming(side):
                            yield from self.split(branch, env, path, bound, (*given, *_parts(side)))
            case ir.Quant("forall", binders, body):
                yield from self.bind(list(binders), body, env, path, bound, given)
            case ir.Op("in", (item, domain)):
                with run.sensed(0):
                    value, ok = run.value(item, env)
                if ok is not True:
                    yield Clause(path, bound, given, ok)
                yield from self.belongs(value, domain, env, path, bound, given)
            case _:
                yield Clause(path, bound, given, run.truth(expr, env)[0])

    def bind(
        self,
        binders: list[ir.Binder],
        body: ir.Expr,
        env: Env,
        path: tuple[str, ...],
        bound: tuple[Any, ...],
        given: tuple[Term, ...],
    ) -> Iterator[Clause]:
        if not binders:
            yield from self.split(body, env, path, bound, given)
            return
        run, binder = self.run, binders[0]
        domain, ok = run.domain(binder.domain, run.may_lift("forall"), env)
        if ok is not True:
            yield Clause(path, bound, given, ok)
        base = domain.base if isinstance(domain, Filtered) else domain
        if isinstance(base, Range) and numbers(base) is None:
            k = fresh(binder.name)
            ranged = within(k, base)
            run.bound.append(k)
            with run.assuming(*ranged):
                guards = list(ranged)
                if isinstance(domain, Filtered):
                    true, good = domain.holds(k)
                    if good is not True:
                        yield Clause(path, (*bound, k), (*given, *ranged), good)
                    guards += _parts(true)
                with run.assuming(*guards):
                    inner = {**env, binder.uid: k}
                    yield from self.bind(binders[1:], body, inner, path, (*bound, k), (*given, *guards))
            run.bound.pop()
            return
        number = numbered()
        for guard, item in elements(domain):
            if guard is False:
                continue
            numbered(number)
            with run.assuming(guard):
                inner = {**env, binder.uid: item}
                named = (*path, label(item))
                yield from self.bind(binders[1:], body, inner, named, bound, (*given, *_parts(guard)))

    def belongs(
        self,
        item: Symbolic,
        domain: ir.Expr,
        env: Env,
        path: tuple[str, ...],
        bound: tuple[Any, ...],
        given: tuple[Term, ...],
    ) -> Iterator[Clause]:
        """`item \\in domain`, split as the set is built."""
        run, expr = self.run, domain
        while isinstance(expr, ir.Mark | ir.Let):
            expr = expr.body if isinstance(expr, ir.Mark) else unfolded(expr)
        match expr, item:
            case ir.Op("function_set", (keys, target)), Fun():
                whole, ok = run.value(keys, env)
                yield Clause(path, bound, given, conj(ok, same(Listed(tuple((True, f) for f in item.forms)), whole)))
                number = numbered()
                for form, image in zip(item.forms, item.images, strict=True):
                    numbered(number)
                    yield from self.belongs(image, target, env, (*path, label(form)), bound, given)
            case ir.Op("function_set", (keys, target)), Arr():
                whole, ok = run.value(keys, env)
                yield Clause(path, bound, given, conj(ok, same_domain(item, whole)))
                yield from self.elements(item, target, env, path, bound, given)
            case ir.SetFilter(), Arr() if (found := bounded_sequences(expr)) is not None:
                most, ok = run.value(found[1], env)
                ends = at_most(0, item.last)
                if not (run.may_lift("exists") and run.ends_in_capacity(found[1])):
                    ends = conj(ends, at_most(item.last, most))
                yield Clause(path, bound, given, conj(ok, same(item.low, 1), ends))
                yield from self.elements(item, found[0], env, path, bound, given)
            case ir.RecordSet(fields), Rec():
                names = {name for name, _ in fields}
                yield Clause(path, bound, given, conj(*(neg(h) for n, (_, h) in item.fields.items() if n not in names)))
                number = numbered()
                for name, part in fields:
                    numbered(number)
                    value, has = item.fields.get(name, (NOTHING, False))
                    yield Clause(path, bound, given, has)
                    if has is not False:
                        yield from self.belongs(value, part, env, path, bound, given)
            case _:
                true, ok = run.belongs(item, expr, env)
                yield Clause(path, bound, given, conj(ok, true))

    def elements(
        self,
        item: Arr,
        target: ir.Expr,
        env: Env,
        path: tuple[str, ...],
        bound: tuple[Any, ...],
        given: tuple[Term, ...],
    ) -> Iterator[Clause]:
        run = self.run
        base = Range(item.low, item.high if run.reading == "free" else item.last, item.cap)
        listed = numbers(base)
        if listed is not None:
            for k in listed:
                yield from self.belongs(item.get(k), target, env, path, bound, (*given, *_true(within(k, base))))
            return
        k_ = fresh("i")
        yield from self.belongs(item.get(k_), target, env, path, (*bound, k_), (*given, *_true(within(k_, base))))


def _true(parts: list[Term]) -> list[Term]:
    return [part for part in parts if part is not True]


def _parts(term: Term) -> tuple[Term, ...]:
    return () if term is True else (term,)


def label(item: Symbolic) -> str:
    """A text for a known element."""
    if isinstance(item, Atom):
        return str(item.value)
    return str(item)[:40]
