"""Folds of sequences of any length, by axioms: what is selected, and what a fold has after each element.

A fold of a sequence is a function of the number of elements, defined by recursion. The solver unfolds it at a number
only where `unfolded` is said of that. So a property of it is shown by induction, as a corollary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import z3

from tidemark_conformance.prove.defined import Piece, define, symbol
from tidemark_conformance.prove.equality import choice, same
from tidemark_conformance.prove.sorts import SAtom, SBool, SInt, Sort, SRec, SSeq
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Atom,
    Coded,
    Meaning,
    Rec,
    Symbolic,
    Term,
    UnlistedError,
    at_most,
    below,
    conj,
    fresh,
    implies,
    kind,
    known,
    over,
    settled,
    within,
)

Step = Callable[[Symbolic, Symbolic], Meaning]
"""(an element, what is found so far) -> what is found with it."""


Defining = Callable[[], AbstractContextManager[None]]
"""Within it the evaluator gives the values of total functions."""


def unfolded(number: Term) -> Any:
    """The mark that lets the solver unfold folds at this number of elements."""
    return symbol("unfolded?", (z3.IntVal(number) if known(number) else number,), z3.BoolSort())


def selected(
    defining: Defining,
    holds: Callable[[Term], tuple[Term, Term]],
    items: Arr,
    definitions: Any,
    side: list[Term],
    kept: list[Any],
) -> tuple[Arr, Term, str]:
    """The elements of a sequence at the indices where `holds`, in their order; the condition that it has a value.

    Symbols say for each place where it comes from, and for each index that is selected where it goes.
    """

    def build(name: str, args: tuple[Term, ...]) -> tuple[Symbolic, list[Piece]]:
        length = symbol(f"{name}.len", args)

        def source(place: Term) -> Term:
            return symbol(f"{name}.from", (*args, _term(place)))

        def goal(index: Term) -> Term:
            return symbol(f"{name}.to", (*args, _term(index)))

        i, j, k = fresh("i"), fresh("j"), fresh("k")
        with defining():
            there, here = holds(source(i))[0], holds(k)[0]
        there = conj(at_most(1, source(i)), at_most(source(i), items.last), there)
        pieces = [
            Piece((), conj(at_most(0, length), at_most(length, choice(at_most(0, items.last), items.last, 0)))),
            Piece(
                (i,),
                implies(
                    conj(at_most(1, i), at_most(i, length)),
                    conj(there, same(goal(source(i)), i), at_most(i, source(i))),
                ),
                (source(i),),
            ),
            Piece(
                (i, j),
                implies(conj(at_most(1, i), below(i, j), at_most(j, length)), below(source(i), source(j))),
                (source(i), source(j)),
            ),
            Piece(
                (k,),
                implies(
                    conj(at_most(1, k), at_most(k, items.last), here),
                    conj(at_most(1, goal(k)), at_most(goal(k), length), same(source(goal(k)), k)),
                ),
            ),
        ]
        return Arr(1, length, lambda place: items.get(source(place)), items.cap, ordered=True), pieces

    found, name = define(build, "selected", definitions, side, kept)
    fine = over(items.domain if items.high is not None else items.domain.exact, lambda k: holds(k)[1])
    return found, conj(same(items.low, 1), fine), name


def folded(
    defining: Defining, step: Step, start: Symbolic, items: Arr, definitions: Any, side: list[Term], kept: list[Any]
) -> tuple[Symbolic, Term]:
    """The fold of a sequence of any length, and the condition that it has a value. Raises UnlistedError for a result
    that is no number, truth value, string, model value, or sequence or record of these."""
    shape = _shape(step, start, items)

    def build(name: str, args: tuple[Term, ...]) -> tuple[Symbolic, list[Piece]]:
        n = fresh("n")
        with defining():
            value, _ = step(items.get(n), _made(shape, name, (*args, settled(n - 1))))
        pieces = list(_equal(_made(shape, name, (*args, 0)), start, (), ()))
        pieces += _equal(_made(shape, name, (*args, n)), value, (n,), (at_most(1, n),), unfolded(n))
        return lambda at: _made(shape, name, (*args, at)), pieces

    after, _ = define(build, "fold", definitions, side, kept)

    def fine(n: Term) -> Term:
        return step(items.get(n), after(settled(n - 1)))[1]

    return after(items.last), conj(same(items.low, 1), over(items.domain.exact, fine))


def _shape(step: Step, start: Symbolic, items: Arr) -> Sort:
    """The sort of a fold's results: that of the start, and of what each step makes of it."""
    found = _sort(start)
    for _ in range(4):
        n = fresh("n")
        value, _ = step(items.get(n), _made(found, "shape?", (n,)))
        more = _joined(found, _sort(value))
        if more is None:
            raise UnlistedError("a fold whose results are of unlike kinds")
        if more == found:
            return found
        found = more
    raise UnlistedError("a fold whose results nest deeper at each step")


UNKNOWN = SSeq(SInt(), 0)
"""Stands for the sort of the elements of `<<>>`."""


def _sort(value: Symbolic) -> Sort:
    if isinstance(value, Atom | Coded):
        return SAtom(())
    if isinstance(value, Rec):
        if any(has is not True for _, has in value.fields.values()):
            raise UnlistedError("a fold of records with fields of some only")
        return SRec(tuple((name, _sort(part), None) for name, (part, _) in sorted(value.fields.items())))
    if isinstance(value, Arr):
        if not (known(value.low) and value.low == 1) or value.high is None:
            raise UnlistedError("a fold whose results are functions")
        if known(value.high) and value.high == 0:
            return SSeq(UNKNOWN, None)
        element = value.get(fresh("i"))
        return SSeq(UNKNOWN if element is NOTHING else _sort(element), None)
    if value is not NOTHING and kind(value) == "boolean":
        return SBool()
    if value is not NOTHING and kind(value) == "number":
        return SInt()
    raise UnlistedError("a fold whose results are of another kind than numbers, strings, sequences and records")


def _joined(a: Sort, b: Sort) -> Sort | None:
    """The sort of both, None where they are of unlike kinds."""
    if a == b or b == UNKNOWN:
        return a
    if a == UNKNOWN:
        return b
    if isinstance(a, SSeq) and isinstance(b, SSeq):
        part = _joined(a.elem, b.elem)
        return None if part is None else SSeq(part, None)
    if isinstance(a, SRec) and isinstance(b, SRec) and [n for n, _, _ in a.fields] == [n for n, _, _ in b.fields]:
        parts = [_joined(x, y) for (_, x, _), (_, y, _) in zip(a.fields, b.fields, strict=True)]
        if any(part is None for part in parts):
            return None
        return SRec(tuple((n, part, None) for (n, _, _), part in zip(a.fields, parts, strict=True)))  # type: ignore[misc]
    return None


def _made(shape: Sort, name: str, index: tuple[Term, ...]) -> Symbolic:
    """The symbols of a fold's result."""
    index = tuple(_term(one) for one in index)
    if shape == UNKNOWN:
        return NOTHING
    match shape:
        case SInt():
            return symbol(name, index)
        case SBool():
            return symbol(name, index, z3.BoolSort())
        case SAtom():
            return Coded(symbol(name, index))
        case SSeq(elem, _):
            length = symbol(f"{name}.len", index)
            return Arr(1, length, lambda i: _made(elem, f"{name}.at", (*index, i)), ordered=True)
        case SRec(fields):
            return Rec({one: (_made(part, f"{name}.{one}", index), True) for one, part, _ in fields})
    raise UnlistedError("a fold of values of this kind")


def _equal(
    own: Symbolic, value: Symbolic, bound: tuple[Any, ...], given: tuple[Term, ...], *marks: Any
) -> Iterator[Piece]:
    """The definition of a result's symbols by a value, symbol by symbol."""
    if value is NOTHING or own is NOTHING:
        return
    if isinstance(own, Rec):
        for name, (part, _) in own.fields.items():
            yield from _equal(part, value.fields[name][0], bound, given, *marks)
    elif isinstance(own, Arr):
        yield from _equal(own.high, settled(value.high), bound, given, *marks)
        if known(value.high) and value.high == 0:
            return
        i = fresh("i")
        inside = within(i, own.domain)
        yield from _equal(own.get(i), value.get(i), (*bound, i), (*given, *inside), *marks)
    else:
        term = own.term if isinstance(own, Coded) else own
        yield Piece(bound, implies(conj(*given), same(own, value)), (term, *marks))


def _term(number: Term) -> Any:
    return z3.IntVal(number) if known(number) else number
