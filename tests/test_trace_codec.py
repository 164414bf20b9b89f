"""Values as JSON: written values are read back, and wrong values are told apart from too large ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.tla.types import (
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    encode,
    enumerate_type,
    size,
    slots,
)
from tidemark_conformance.tla.values import Fn, ModelValue
from tidemark_conformance.trace.codec import (
    GREATEST,
    LEAST,
    LONGEST,
    Exceeds,
    WrongKind,
    reader,
    type_json,
    unit_reader,
    value_json,
    writer,
)

NODES = TAtom((ModelValue("a"), ModelValue("b"), ModelValue("c")))
SMALL = TInt(-2, 3)
RECORD = TRec((("flag", TBool()), ("n", SMALL)))
MESSAGE = TUnion(((("ack", "nack"), (("to", NODES),)), (("data",), (("n", SMALL), ("to", NODES)))))


def _all(kind: Type) -> tuple[Any, ...]:
    values = enumerate_type(kind)
    assert values is not None
    return tuple(values)


PAIRS = TTuple((NODES, NODES))
KINDS: list[Type] = [
    SMALL,
    TBool(),
    NODES,
    RECORD,
    MESSAGE,
    TSet(RECORD, _all(RECORD)),
    TSet(MESSAGE, _all(MESSAGE)),
    TSeq(MESSAGE, 3),
    TSeq(TSeq(SMALL, 2), 2),
    TFun(NODES.members, NODES, TSeq(RECORD, 2)),
    TFun((0, 1, 2), TInt(0, 2), MESSAGE),
    TFun(_all(PAIRS), PAIRS, SMALL),
    TTuple((NODES, SMALL, TSet(NODES, NODES.members))),
]


def _cells(kind: Type) -> st.SearchStrategy[list[int]]:
    """Cell vectors of values of a type."""

    def joined(parts: list[st.SearchStrategy[list[int]]]) -> st.SearchStrategy[list[int]]:
        return st.tuples(*parts).map(lambda rows: [cell for row in rows for cell in row])

    match kind:
        case TInt(lo, hi):
            return st.integers(lo, hi).map(lambda n: [n])
        case TBool():
            return st.integers(0, 1).map(lambda n: [n])
        case TAtom(members):
            return st.integers(0, len(members) - 1).map(lambda n: [n])
        case TSet(_, members):
            return st.integers(0, (1 << len(members)) - 1).map(lambda n: [n])
        case TSeq(elem, cap):
            return st.lists(_cells(elem), max_size=cap).map(
                lambda rows: [len(rows), *(c for row in rows for c in row), *([0] * ((cap - len(rows)) * size(elem)))]
            )
        case TFun(domain, _, target):
            return joined([_cells(target)] * len(domain))
        case TRec(fields):
            return joined([_cells(field) for _, field in fields])
        case TTuple(parts):
            return joined([_cells(part) for part in parts])
        case TUnion():
            return st.integers(0, len(kind.tags.members) - 1).flatmap(
                lambda tag: joined(
                    [st.just([tag])]
                    + [_cells(s.type) if tag in s.tags else st.just([0] * size(s.type)) for s in slots(kind)]
                )
            )
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@given(data=st.data())
def test_json_of_cells_is_read_back_as_the_same_cells(kind: Type, data: st.DataObject) -> None:
    cells = data.draw(_cells(kind))
    text = json.dumps(writer(kind)(cells, 0))
    out: list[int] = []
    reader(kind)(json.loads(text), out)
    assert out == cells


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_a_type_is_json(kind: Type) -> None:
    assert json.loads(json.dumps(type_json(kind))) == type_json(kind)


def test_values_look_as_documented() -> None:
    a, b = ModelValue("a"), ModelValue("b")
    nodes = TSet(NODES, NODES.members)
    assert value_json(nodes, frozenset({b, a})) == ["a", "b"]
    ones = Fn(dict.fromkeys(NODES.members, 1))
    assert value_json(TFun(NODES.members, NODES, SMALL), ones) == {"a": 1, "b": 1, "c": 1}
    assert value_json(TFun((0, 1), TInt(0, 1), SMALL), Fn({0: 2, 1: 3})) == [[0, 2], [1, 3]]
    assert value_json(MESSAGE, Fn({"type": "ack", "to": a})) == {"type": "ack", "to": "a"}
    assert value_json(PAIRS, (a, b)) == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SMALL, "1"),
        (SMALL, True),
        (SMALL, 1.0),
        (TBool(), 1),
        (NODES, "d"),
        (NODES, ["a"]),
        (RECORD, {"flag": True}),
        (RECORD, {"flag": True, "n": 1, "m": 1}),
        (MESSAGE, {"type": "other"}),
        (MESSAGE, {"type": ["ack"], "to": "a"}),
        (MESSAGE, {"type": "ack", "to": "a", "n": 1}),
        (TSet(NODES, NODES.members), ["a", "a"]),
        (TSet(NODES, NODES.members), "a"),
        (TSeq(SMALL, 2), {"1": 1}),
        (TFun(NODES.members, NODES, SMALL), {"a": 1, "b": 1}),
        (TFun(NODES.members, NODES, SMALL), [["a", 1], ["b", 1], ["c", 1]]),
        (TFun((0, 1), TInt(0, 1), SMALL), [[0, 1], [0, 1]]),
        (PAIRS, ["a"]),
    ],
)
def test_a_value_of_another_kind_is_refused(kind: Type, value: Any) -> None:
    with pytest.raises(WrongKind):
        reader(kind)(value, [])


@pytest.mark.parametrize(
    ("kind", "value", "cells"),
    [
        (SMALL, 4, [4]),
        (SMALL, -3, [-3]),
        (SMALL, 1 << 70, [GREATEST]),
        (SMALL, -(1 << 70), [LEAST]),
        (TSeq(SMALL, 2), [1, 1, 2], [3, 1, 1]),
        (TSet(SMALL, tuple(range(-2, 4))), [9, 3], [0b1100000]),
    ],
)
def test_a_value_beyond_a_limit_has_cells_that_are_beyond_it(kind: Type, value: Any, cells: list[int]) -> None:
    """The check sees that there is one, and by its limit what that means."""
    found: list[int] = []
    reader(kind)(value, found)
    assert found == cells


def test_an_argument_beyond_its_limits_has_no_cell() -> None:
    with pytest.raises(Exceeds, match="9 is not among the arguments"):
        unit_reader(TFun((0, 1), TInt(0, 1), SMALL))([[9, 0]])


def test_a_delta_of_a_function_names_only_some_arguments() -> None:
    kind = TFun(NODES.members, NODES, RECORD)
    assert unit_reader(kind)({"c": {"flag": True, "n": 2}, "a": {"n": 0, "flag": False}}) == [(2, [1, 2]), (0, [0, 0])]
    with pytest.raises(WrongKind, match="not among the arguments"):
        unit_reader(TFun((ModelValue("a"),), NODES, SMALL))({"b": 1})


def test_writing_refuses_cells_that_are_no_value() -> None:
    for kind, cells in (
        (NODES, [3]),
        (TSet(NODES, NODES.members), [16]),
        (TSeq(SMALL, 2), [-1, 0, 0]),
        (TSeq(SMALL, 2), [LONGEST, 0, 0]),
        (MESSAGE, [9, 0, 0]),
    ):
        with pytest.raises(WrongKind):
            writer(kind)(cells, 0)
    assert encode(RECORD, Fn({"flag": True, "n": 2})) == [1, 2]


def test_cells_beyond_a_limit_are_written_and_read_again() -> None:
    for kind, cells in ((SMALL, [40]), (TSet(NODES, NODES.members), [9]), (TSeq(SMALL, 2), [3, 1, 2])):
        found: list[int] = []
        reader(kind)(writer(kind)(cells, 0), found)
        assert found == cells


def test_a_function_on_numbers_that_is_written_as_a_list_is_told_what_to_write() -> None:
    kind = TFun((1, 2), TInt(1, 2), SMALL)
    with pytest.raises(WrongKind, match=r"a function \(a list of pairs such as \[\[1, \.\.\.\]\]\) is expected"):
        reader(kind)([0, 0], [])
