"""TLC's printed values and states, and values as TLA+ text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.tla.values import Fn, ModelValue, Value, function, in_order, show
from tidemark_conformance.tlc.values import (
    MODEL_VALUE,
    StateParser,
    UnreadableValue,
    declarations,
    model_values,
    parse_state,
    parse_value,
    to_tla,
)

R1, R2 = ModelValue("r1"), ModelValue("r2")

SCALARS = st.one_of(
    st.integers(-5, 300),
    st.booleans(),
    st.text(alphabet='abz_"\\ \n\tA9', max_size=4),
    st.sampled_from([R1, R2, ModelValue("None")]),
)


def _compound(values: st.SearchStrategy) -> st.SearchStrategy:
    return st.one_of(
        st.lists(values, max_size=3).map(tuple),
        st.frozensets(values, max_size=3),
        st.dictionaries(st.sampled_from(["type", "epoch", "IF", "a"]), values, min_size=1, max_size=3).map(Fn),
        st.dictionaries(st.sampled_from([R1, R2]), values, min_size=1, max_size=2).map(function),
        st.dictionaries(st.integers(0, 3), values, max_size=3).map(function),
    )


VALUES = st.recursive(SCALARS, _compound, max_leaves=12)


@given(VALUES)
def test_text_of_a_value_reads_back(value: object) -> None:
    assert parse_value(to_tla(value)) == value
    assert to_tla(parse_value(to_tla(value))) == to_tla(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('(r1 :> "working" @@ r2 :> "x")', Fn({R1: "working", R2: "x"})),
        ("(1 :> r1 @@ 2 :> r2)", (R1, R2)),
        ("(0 :> TRUE @@ 1 :> FALSE)", Fn({0: True, 1: False})),
        ('[type |-> "a", n |-> -1]', Fn({"type": "a", "n": -1})),
        ("<< >>", ()),
        ("{<<1, r1>>, <<>>}", frozenset({(1, R1), ()})),
        ("2..4", frozenset({2, 3, 4})),
        ("{{}, {r1}}", frozenset({frozenset(), frozenset({R1})})),
        ("(<<r1, r2>> :> 3)", Fn({(R1, R2): 3})),
        ('"a\\"b\\\\"', 'a"b\\'),
        ("[2pc |-> 2, a |-> {2a, 2}]", Fn({"2pc": 2, "a": frozenset({ModelValue("2a"), 2})})),
        ("<<\n   1,\n   2 >>", (1, 2)),
    ],
)
def test_what_tlc_prints(text: str, value: object) -> None:
    assert to_tla(parse_value(text)) == to_tla(value)


@pytest.mark.parametrize("text", ["", "{1", "<<1, >>", "[a |-> ]", "1 2", "(r1 :> 1 @@ )", "$", "[1 |-> 2]"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(UnreadableValue):
        parse_value(text)


def test_states() -> None:
    text = '/\\ log = << [epoch |-> 1],\n          [epoch |-> 2] >>\n/\\ x = "/\\\\ y = 1"\n/\\ z = {}\n'
    state = parse_state(text)
    assert state == {"log": (Fn({"epoch": 1}), Fn({"epoch": 2})), "x": "/\\ y = 1", "z": frozenset()}
    assert parse_state("x = 1\n") == {"x": 1}
    assert parse_state("/\\ 2pc = 1\n/\\ _3_x = 2\n") == {"2pc": 1, "_3_x": 2}  # TLA+ allows digits in front
    with pytest.raises(UnreadableValue):
        parse_state("Stuttering")


def test_equal_texts_are_one_object() -> None:
    parser = StateParser()
    one, two = parser.parse("/\\ x = {1, 2}\n/\\ y = 1"), parser.parse("/\\ x = {1, 2}\n/\\ y = 2")
    assert one["x"] is two["x"]


def test_booleans_and_integers_stay_apart() -> None:
    assert to_tla((True, 1)) == "<<TRUE, 1>>"
    assert parse_value("<<TRUE>>")[0] is True


def test_model_values_get_names_of_their_own() -> None:
    values = [(R1, frozenset({R2})), Fn({"a": 1})]
    assert model_values(values) == {"r1", "r2"}
    module, cfg = declarations(values)
    assert module == f"CONSTANTS {MODEL_VALUE}r1, {MODEL_VALUE}r2"
    assert f"{MODEL_VALUE}r2 = r2" in cfg
    assert to_tla(values[0], MODEL_VALUE) == f"<<{MODEL_VALUE}r1, {{{MODEL_VALUE}r2}}>>"
    assert declarations([1, "a"]) == ("", "")


@given(VALUES)
def test_shown_values_are_tla_text(value: Value) -> None:
    assert parse_value(show(value)) == value


@given(st.lists(st.frozensets(st.integers(0, 6)), unique=True))
def test_sets_are_ordered_as_their_bit_masks(sets: list[frozenset[int]]) -> None:
    assert in_order(sets) == sorted(sets, key=lambda items: sum(1 << item for item in items))
