"""Types out of TypeOK, their cells, and refused types."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.layout import layout_of
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.typeok import canonical, join, type_of_value, type_of_values
from tidemark_conformance.tla.types import (
    Misfit,
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
    bounds,
    decode,
    encode,
    enumerate_type,
    size,
)
from tidemark_conformance.tla.values import Fn, ModelValue, Value, function

NODES = tuple(ModelValue(name) for name in "abc")
SMALL = TInt(-1, 2)
RECORD = TRec((("epoch", SMALL), ("who", TAtom(NODES))))


def _types() -> st.SearchStrategy[Type]:
    leaves = st.one_of(
        st.tuples(st.integers(-3, 0), st.integers(0, 3)).map(lambda pair: TInt(*pair)),
        st.just(TBool()),
        st.just(TAtom(NODES)),
        st.just(TSet(TAtom(NODES), NODES)),
        st.just(TSet(TInt(0, 3), (0, 1, 2, 3))),
    )

    def compound(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
        return st.one_of(
            st.tuples(inner, st.integers(0, 3)).map(lambda pair: TSeq(*pair)),
            inner.map(lambda target: TFun(NODES, TAtom(NODES), target)),
            inner.map(lambda target: TFun((1, 2), TInt(1, 2), target)),
            st.tuples(inner, inner).map(lambda pair: TRec((("f", pair[0]), ("g", pair[1])))),
            st.tuples(inner, inner).map(TTuple),
            st.tuples(inner, inner).map(
                lambda pair: TUnion(((("p",), (("x", pair[0]),)), (("q", "r"), (("x", pair[1]), ("y", pair[0])))))
            ),
        )

    return st.recursive(leaves, compound, max_leaves=4)


def _values(kind: Type) -> st.SearchStrategy[Value]:
    match kind:
        case TInt(lo, hi):
            return st.integers(lo, hi)
        case TBool():
            return st.booleans()
        case TAtom(members):
            return st.sampled_from(members)
        case TSet(_, members):
            return st.frozensets(st.sampled_from(members))
        case TSeq(elem, cap):
            return st.lists(_values(elem), max_size=cap).map(tuple)
        case TFun(domain, _, target):
            return st.tuples(*[_values(target)] * len(domain)).map(
                lambda row: function(dict(zip(domain, row, strict=True)))
            )
        case TRec(fields):
            return st.fixed_dictionaries({name: _values(part) for name, part in fields}).map(Fn)
        case TTuple(parts):
            return st.tuples(*map(_values, parts))
        case TUnion(variants):
            return st.one_of(
                [
                    st.fixed_dictionaries(
                        {"type": st.sampled_from(tags), **{name: _values(part) for name, part in fields}}
                    ).map(Fn)
                    for tags, fields in variants
                ]
            )


@pytest.mark.deep
@given(st.data())
def test_cells_and_values_are_inverse(data: st.DataObject) -> None:
    """Every value has cells within the bounds, and they give it back; equal cells are equal values."""
    kind = data.draw(_types())
    one, other = data.draw(_values(kind)), data.draw(_values(kind))
    cells = encode(kind, one)
    assert len(cells) == size(kind) == len(bounds(kind))
    assert all(lo <= cell <= hi for cell, (lo, hi) in zip(cells, bounds(kind), strict=True))
    assert decode(kind, cells) == one
    assert (encode(kind, other) == cells) == (other == one)


@given(st.data())
def test_enumeration_is_complete_and_in_order(data: st.DataObject) -> None:
    """enumerate_type lists every value once, in canonical order."""
    kind = data.draw(_types())
    listed = enumerate_type(kind, limit=200)
    if listed is None:
        return
    assert data.draw(_values(kind)) in listed
    assert len({tuple(encode(kind, value)) for value in listed}) == len(listed)
    if not isinstance(kind, TSeq | TFun | TTuple | TRec) or size(kind) == 1:
        assert tuple(listed) == canonical(listed)[0]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (SMALL, 3),
        (SMALL, True),
        (TBool(), 1),
        (TAtom(NODES), "a"),
        (TAtom(NODES), ModelValue("z")),
        (TSet(TAtom(NODES), NODES), frozenset({"a"})),
        (TSeq(SMALL, 1), (0, 0)),
        (TFun(NODES, TAtom(NODES), SMALL), (0, 0, 0)),
        (RECORD, Fn({"epoch": 0})),
        (RECORD, Fn({"epoch": 0, "other": NODES[0]})),
        (TUnion(((("p",), (("x", SMALL),)),)), Fn({"type": "q", "x": 0})),
        (TUnion(((("p",), (("x", SMALL),)),)), Fn({"type": "p"})),
        (TTuple((SMALL, SMALL)), (0,)),
    ],
)
def test_a_value_of_another_type_has_no_cells(kind: Type, value: Value) -> None:
    """Capacities exceeded and values of other kinds raise, they are never squeezed in."""
    with pytest.raises(Misfit):
        encode(kind, value)


def test_joins() -> None:
    """Joins of like kinds are least upper bounds, those of unlike kinds are refused."""
    assert join(TInt(0, 2), TInt(1, 5)) == TInt(0, 5)
    assert join(TAtom(("x",)), TAtom(("y",))) == TAtom(("x", "y"))
    assert join(TSeq(TBool(), 0), TSeq(SMALL, 3)) == TSeq(SMALL, 3)
    tagged = [type_of_value(Fn({"type": tag, tag: 1})) for tag in ("p", "q")]
    assert join(*tagged) == TUnion(((("p",), (("p", TInt(1, 1)),)), (("q",), (("q", TInt(1, 1)),))))
    assert join(TTuple((SMALL,)), TTuple((SMALL, SMALL))) == TSeq(SMALL, 2)
    for a, b in [
        (SMALL, RECORD),
        (TBool(), SMALL),
        (TTuple((SMALL,)), TTuple((SMALL, TBool()))),
        (TSet(SMALL, (0,)), SMALL),
        (RECORD, TRec((("z", SMALL),))),
    ]:
        with pytest.raises(Unsupported, match="unlike kinds"):
            join(a, b)


def test_the_type_of_values_does_not_depend_on_their_order() -> None:
    """Tuples of different lengths are sequences, also where the shortest or the empty one comes last, or in a field."""
    sequences: list[Value] = [(1, 2), (1,), ()]
    for values in permutations(sequences):
        assert canonical(values) == (((), (1,), (1, 2)), TSeq(TInt(1, 2), 2))
        tagged = [Fn({"type": "q", "x": value}) for value in values]
        assert canonical([Fn({"type": "p", "y": 0}), *tagged])[1] == TUnion(
            ((("p",), (("y", TInt(0, 0)),)), (("q",), (("x", TSeq(TInt(1, 2), 2)),)))
        )
    records = [Fn({"type": "p", "y": 0}), Fn({"type": "q", "x": 0}), Fn({"type": "r", "x": 0})]
    assert len({type_of_values(values) for values in permutations(records)}) == 1


def _layout(tmp_path: Path, type_ok: str) -> object:
    text = f"""---- MODULE Tiny ----
EXTENDS Integers, Sequences, FiniteSets
CONSTANT Node
VARIABLES x, y
TypeOK ==
  /\\ x \\in 0..1
{type_ok}
Init == x = 0
Step == x' = 1 - x /\\ UNCHANGED y
Next == Step
====
"""
    (tmp_path / "Tiny.tla").write_text(text)
    (tmp_path / "Tiny.cfg").write_text("INIT Init\nNEXT Next\nCONSTANT Node = {a, b}\n")
    spec = load(tmp_path / "Tiny.tla", tmp_path / "Tiny.cfg")
    return layout_of(spec.module, compile_python(spec).constant)


MIXED = r"Tiny\.tla:7: values of unlike kinds meet in %s \(the string \"\w+\" and the model value \w\)"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("type_ok", "message"),
    [
        ("  /\\ TRUE", r"no conjunct `y \\in <set>`"),
        ("  /\\ y \\in Nat", r"Tiny\.tla:7: .*infinite set"),
        ("  /\\ y \\in Seq(0..1)", r"Tiny\.tla:7: .*infinite set"),
        ("  /\\ y \\in SUBSET (1..70)", r"Tiny\.tla:7: SUBSET of a set of more than 62 elements"),
        ("  /\\ y \\in {1, <<1>>}", r"Tiny\.tla:7: .*unlike kinds"),
        ('  /\\ y \\in Node \\cup {"a"}', MIXED % "y"),
        ('  /\\ y \\in Node \\cup {"none"}', MIXED % "y"),
        ('  /\\ y \\in SUBSET (Node \\cup {"none"})', MIXED % "y"),
        ('  /\\ y \\in [f : 0..1, g : [Node \\cup {"none"} -> 0..1]]', MIXED % "y"),
        ('  /\\ y \\in {<<"none">>} \\cup {<<n>> : n \\in Node}', MIXED % "y"),
        ('  /\\ y \\in [type : {"b"}, f : 0..1] \\cup [type : Node, g : 0..1]', MIXED % "the field `type`"),
        ("  /\\ y \\in UNION {{1..m} : m \\in 0..2}", r"Tiny\.tla:7: a UNION in TypeOK"),
        ("  /\\ y \\in 0..1\n  /\\ y \\in 0..2", r"Tiny\.tla:8: TypeOK has two conjuncts for y"),
        ("  /\\ y \\in [a : 0..1] \\cup [b : 0..1]", r"Tiny\.tla:7: records of unlike kinds"),
        (
            '  /\\ y \\in [type : {"p"}, f : 0..1] \\cup [type : {"q"}, g : 0..1] \\cup [type : {"p"}, f : 4..5]',
            r"Tiny\.tla:7: two sets of records with the `type` p are united; write one set for each tag",
        ),
    ],
)
def test_a_typeok_outside_the_conventions_is_refused(tmp_path: Path, type_ok: str, message: str) -> None:
    """With the line, in one sentence."""
    with pytest.raises(Unsupported, match=message):
        _layout(tmp_path, type_ok)
