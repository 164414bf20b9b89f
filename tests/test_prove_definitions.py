"""The axioms of CHOOSE over numbers, SelectSeq and FoldSeq on known sequences: they fit the value, and no other."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import Any

import pytest

z3 = pytest.importorskip("z3")

from tidemark_conformance.prove import recursive  # noqa: E402
from tidemark_conformance.prove.defined import Piece, define, symbol  # noqa: E402
from tidemark_conformance.prove.equality import same  # noqa: E402
from tidemark_conformance.prove.sorts import sequence  # noqa: E402
from tidemark_conformance.prove.terms import (  # noqa: E402
    Arr,
    as_bool,
    at_most,
    below,
    conj,
    fresh,
    implies,
    neg,
    settled,
)

SEQUENCES = [values for length in range(4) for values in itertools.product((0, 1, 2), repeat=length)]


def known(values: tuple[int, ...]) -> tuple[Arr, list[Any]]:
    """A sequence of symbols, and the facts that give it these values."""
    length, at = z3.Int("s.len"), z3.Function("s", z3.IntSort(), z3.IntSort())
    facts = [length == len(values), *(at(i) == value for i, value in enumerate(values, 1))]
    return Arr(1, length, lambda i: at(z3.IntVal(i) if isinstance(i, int) else i), ordered=True), facts


def implied(facts: list[Any], claim: Any) -> None:
    """The facts and the claim contradict each other in no way that the solver finds, nor do they leave it open."""
    one = z3.Solver()
    one.set("rlimit", 300_000)
    one.add(*facts)
    for side, contrary in ((as_bool(claim), z3.unsat), (z3.Not(as_bool(claim)), z3.sat)):
        one.push()
        one.add(side)
        assert one.check() != contrary
        one.pop()


@pytest.mark.parametrize("values", SEQUENCES)
def test_what_is_selected(values: tuple[int, ...]) -> None:
    items, facts = known(values)
    side: list[Any] = []
    found, ok, _ = recursive.selected(
        contextlib.nullcontext, lambda i: (at_most(1, items.get(i)), True), items, {}, side, []
    )
    wanted = [value for value in values if value >= 1]
    implied([*facts, *side], conj(ok, same(found, sequence(list(wanted)))))


@pytest.mark.parametrize("values", SEQUENCES)
def test_what_a_fold_has_at_the_end(values: tuple[int, ...]) -> None:
    items, facts = known(values)
    side: list[Any] = []
    found, ok = recursive.folded(contextlib.nullcontext, lambda v, a: (2 * a + v, True), 0, items, {}, side, [])
    wanted = 0
    for value in values:
        wanted = 2 * wanted + value
    marks = [recursive.unfolded(at) for at in range(1, len(values) + 1)]
    implied([*facts, *side, *marks], conj(ok, same(found, wanted)))


def least(holds: Callable[[Any], Any], low: Any, known_: dict[Any, Any], side: list[Any]) -> tuple[Any, str]:
    """The least number from `low` on with a property."""

    def build(name: str, args: tuple[Any, ...]) -> tuple[Any, list[Piece]]:
        one, x = symbol(name, args), fresh("x")
        inside: Callable[[Any], Any] = lambda k: conj(at_most(low, k), holds(k))  # noqa: E731
        return one, [Piece((x,), implies(inside(x), conj(inside(one), at_most(one, x))))]

    return define(build, "least", known_, side, [])


def test_equal_texts_share_a_definition_and_others_do_not() -> None:
    integers = z3.IntSort()
    first, second = z3.Function("first", integers, integers), z3.Function("second", integers, integers)
    known_: dict[Any, Any] = {}
    side: list[Any] = []
    a, b = z3.Ints("a b")
    one, name = least(lambda k: first(k) == a, 0, known_, side)
    again, same_name = least(lambda k: first(k) == b, 0, known_, side)
    _, other = least(lambda k: second(k) == a, 0, known_, side)
    assert name == same_name != other
    assert len(side) == 2
    assert [str(arg) for arg in (*one.children(), *again.children())] == ["a", "b"]


def test_an_argument_is_no_sum() -> None:
    known_: dict[Any, Any] = {}
    side: list[Any] = []
    a = z3.Int("a")
    found, _ = least(lambda k: below(k, a + 3), a + 1, known_, side)
    assert [str(arg) for arg in found.children()] == ["a"]
    implied([*side], conj(at_most(found, a + 1), neg(below(found, a + 1))))


def test_a_term_does_not_depend_on_what_was_made_before() -> None:
    """The solver's answers depend on the order of a term's parts, so that order has to be the text's."""
    context = z3.Context()
    x, y, z = z3.Ints("x y z", context)
    early = z3.Not(y == z)
    assert (
        str(settled(z3.If(z3.Or(x == 7, early), z3.IntVal(1, context), x + 0))) == "If(Or(x == 7, Not(y == z)), 1, x)"
    )
