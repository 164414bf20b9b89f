"""Cells by a header's types: every kind of type, its bounds, and what None stands for."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tidemark.trace.shapes import encoder, kind_of, width_of
from tidemark.trace.stream import outside
from tidemark.trace.units import Leaf, Parts

SMALL = {"int": [-1, 5]}
PAIR = {"record": {"b": "boolean", "a": SMALL}}
UNION = {
    "union": [
        {"tags": ["idle"], "fields": {}},
        {"tags": ["asked"], "fields": {"of": SMALL, "who": {"atom": ["x", "y"]}}},
    ],
    "slots": [["of", 1, ["asked"]], ["who", 2, ["asked"]]],
}


@pytest.mark.parametrize(
    ("what", "key", "cells"),
    [
        ("boolean", True, (1,)),
        (SMALL, -1, (-1,)),
        ({"atom": ["x", "y"]}, "y", (1,)),
        ({"atom": ["x", "y"]}, 1, (1,)),
        ({"set": {"atom": ["x", "y"]}, "members": ["x", "y"]}, 3, (3,)),
        (PAIR, (4, False), (4, 0)),
        ({"function": PAIR, "domain": [1, 2]}, ((4, False), (5, True)), (4, 0, 5, 1)),
        ({"sequence": SMALL, "capacity": 3}, (4, 5), (2, 4, 5, 0)),
        (UNION, ("idle",), (1, 0, 0)),
        (UNION, ("asked", 3, "y"), (0, 3, 1)),
    ],
)
def test_cells_of_a_key(what: object, key: object, cells: tuple[int, ...]) -> None:
    assert width_of(what) == len(cells)
    assert encoder(what)(key) == cells
    assert encoder(what)(None) == (0,) * len(cells)


@pytest.mark.parametrize("number", [-2, 6])
def test_a_number_outside_its_bounds_is_written_as_it_is(number: int) -> None:
    assert encoder(SMALL)(number) == (number,)


@pytest.mark.parametrize("item", [SMALL, {"function": SMALL, "domain": list(range(30))}], ids=["narrow", "wide"])
def test_a_sequence_that_is_too_long_has_its_length_and_the_items_that_have_cells(item: Any) -> None:
    """As from the beginning, so step by step, there and back."""
    what = {"sequence": item, "capacity": 2}
    one: Any = 3 if item == SMALL else (3,) * 30
    lengths = (0, 3, 2, 4, 1, 3, 0)
    for length in lengths:
        cells = encoder(what)((one,) * length)
        assert kind_of(what).all_cells((one,) * length) == cells
        assert (len(cells), cells[0]) == (width_of(what), length)
        assert sum(cells[1:]) == 3 * width_of(item) * min(length, 2)
    standing: Any = kind_of(what).at(())
    for was, length in itertools.pairwise(lengths):
        move = standing[(one,) * length]
        changed = (min(was, 2) - min(length, 2)) * width_of(item)
        assert move[0] == 1 + abs(changed), (was, length)
        standing = move[4]


def test_wide_values_are_looked_at_part_by_part() -> None:
    wide = {"record": {"many": {"function": PAIR, "domain": list(range(20))}, "one": SMALL}}
    kind = kind_of(wide)
    assert isinstance(kind, Parts)
    key = (tuple((number % 6, False) for number in range(20)), 5)
    assert kind.all_cells(key) == encoder(wide)(key)
    assert isinstance(kind_of(PAIR), Leaf)
    sequence = {"sequence": {"function": SMALL, "domain": list(range(30))}, "capacity": 2}
    item = tuple(number % 6 for number in range(30))
    assert kind_of(sequence).all_cells((item,)) == encoder(sequence)((item,)) == (1, *item, *[0] * 30)


def test_a_wide_union_is_looked_at_field_by_field() -> None:
    many = {"function": SMALL, "domain": list(range(30))}
    what = {
        "union": [
            {"tags": ["idle"], "fields": {}},
            {"tags": ["asked"], "fields": {"of": many, "who": {"atom": ["x", "y"]}}},
            {"tags": ["told"], "fields": {"who": {"atom": ["x", "y"]}}},
        ],
        "slots": [["of", 1, ["asked"]], ["who", 31, ["asked", "told"]]],
    }
    kind = kind_of(what)
    assert isinstance(kind, Parts)
    keys: list[Any] = [
        ("idle",),
        ("asked", (3,) * 30, "y"),
        ("told", "y"),
        ("told", "x"),
        None,
        ("asked", (1,) * 30, "x"),
    ]
    assert [kind.all_cells(key) for key in keys] == [encoder(what)(key) for key in keys]
    standing: Any = kind.at(keys[0])
    for was, key in itertools.pairwise(map(encoder(what), keys)):
        move = standing[keys[[encoder(what)(one) for one in keys].index(key)]]
        assert move[0] == sum(one != other for one, other in zip(was, key, strict=True))
        standing = move[4]


@pytest.mark.parametrize(
    ("domain", "value", "number"),
    [((1, 2, 5), 6, 4), ((1, 2, 5), 4, 3), ((1, 2, 5), -7, 3), (("a", "b"), "c", 2), ((1, 2, 5), "c", 3)],
)
def test_a_parameter_outside_its_domain_is_behind_it_and_one_above_it_further(
    domain: tuple[object, ...], value: object, number: int
) -> None:
    assert outside(domain, value) == number
