"""Every property can fall: a state or a step in which exactly that is wrong is false by every judge, by that name only.

An edit of the compiler or of the text may make a property true everywhere. That is noticed here, whether or not any
flaw of the zoo reaches the property. A new protocol brings a table; the rest is the same.
"""

from __future__ import annotations

import numpy as np
import pytest
from falls import Fall, Table, edited, tables
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.tla.values import Fn, ModelValue

TABLES = tables()
CASES = [(table, fall) for table in TABLES for fall in table.falls]


def test_every_protocol_has_a_table() -> None:
    assert protocols().keys() <= {table.protocol for table in TABLES}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec.stem)
def test_every_property_is_in_the_table(table: Table) -> None:
    asked = {name for names in table.judges.families.values() for name in names}
    assert {fall.name for fall in table.falls} == asked - {"TypeOK"}


@pytest.mark.parametrize(
    ("table", "fall"), CASES, ids=[f"{table.spec.stem} {fall.name}: {fall.why}" for table, fall in CASES]
)
def test_exactly_what_is_wrong_falls(table: Table, fall: Fall) -> None:
    judges, kind = table.judges, table.kind(fall)
    history = set(judges.kernels.history)
    for pair, expected in ((judges.good(fall, kind), set()), (judges.wrong(fall, kind), {fall.name})):
        assert judges.python_falls(kind, *pair) == expected
        assert judges.kernels_fall(kind, *pair) == expected
        assert judges.traces_fall(kind, *pair) == expected - history
    if kind == "invariant":
        good, wrong = (make(fall, kind)[1] for make in (judges.good, judges.wrong))
        assert judges.kernels_fall_after(good, wrong) == {fall.name}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.spec.stem)
def test_a_value_beyond_its_type_is_never_judged_as_sound(table: Table) -> None:
    """TypeOK decides the layout, so a value outside it has no cells to be judged in: the replay is undecided."""
    judges, one = table.judges, table.falls[0]
    kernels = judges.kernels
    state, _ = judges.good(one, table.kind(one))
    first = kernels.layout.variables[0].name
    assert judges.python.invariant("TypeOK", state)
    assert not judges.python.invariant("TypeOK", {**state, first: ModelValue("nonsense")})
    cells = np.array([kernels.layout.encode(state)], np.int64)
    assert kernels.invariants_batch("TypeOK", cells)[0]
    assert not kernels.layout.fits({**state, first: ModelValue("nonsense")})
    for cell in range(kernels.layout.base_cells):
        writer = kernels.writer()
        beyond = list(cells[0, : kernels.layout.base_cells])
        beyond[cell] = kernels.layout.highs[cell] + 1
        writer.initial(beyond)
        stream = writer.end()
        found = kernels.check(np.frombuffer(stream, np.uint8), np.array([0, len(stream)]), snapshot=True)
        assert found.verdict[0] == 2, cell


def test_an_edit_changes_one_place() -> None:
    b1, b2 = ModelValue("b1"), ModelValue("b2")
    state = {"log": Fn({b1: (Fn({"epoch": 0}),), b2: ()}), "count": 1}
    assert edited(state, {"log[b1][1].epoch": "2"}) == {"log": Fn({b1: (Fn({"epoch": 2}),), b2: ()}), "count": 1}
    assert edited(state, {"count": "3"})["count"] == 3
    with pytest.raises(KeyError):
        edited(state, {"log[b1][2].epoch": "2"})
