"""The layout of states in cells, and the parameters' domains."""

from __future__ import annotations

import subprocess
import sys

import pytest
from kernel_reference import alphabet, two_phase
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.layout import MAX_UNITS, Layout
from tidemark_conformance.tla.types import TFun, TInt, TSeq
from tidemark_conformance.tla.values import Fn, ModelValue


@pytest.mark.deep
@pytest.mark.parametrize("make", [alphabet, two_phase])
def test_states_and_cells_are_inverse(make) -> None:  # type: ignore[no-untyped-def]
    """Random states come back, within the bounds; the ghosts are the last cells."""
    subject = make()
    layout = subject.kernels.layout
    for state in subject.random_states(50, seed=1):
        cells = layout.encode(state)
        assert len(cells) == layout.cells
        assert all(lo <= cell <= hi for lo, cell, hi in zip(layout.lows, cells, layout.highs, strict=True))
        assert layout.decode(cells) == state
        assert layout.encode(state, ghosts=False) == cells[: layout.base_cells]


def test_order_and_units() -> None:
    """Variables stand in declared order, ghosts last; a unit is one element of the outermost function."""
    layout = two_phase().kernels.layout
    names = [v.name for v in layout.variables]
    assert names == ["rmState", "tmState", "tmPrepared", "messages", "decided"]
    assert [v.ghost for v in layout.variables] == [False, False, False, False, True]
    assert layout.units("rmState") == tuple(ModelValue(name) for name in ("r1", "r2", "r3"))
    assert layout.units("tmState") is None
    assert layout.variable_of == [0, 0, 0, 1, 2, 3, 4, 4, 4]
    assert layout.unit_of == [0, 1, 2, 0, 0, 0, 0, 1, 2]
    assert [entry["name"] for entry in layout.table()] == names[:-1]


def test_many_units_share_one_bit() -> None:
    """A function on more elements than a mask has bits is one unit for the dirty mask."""
    wide = TFun(tuple(range(MAX_UNITS + 1)), TInt(0, MAX_UNITS), TSeq(TInt(0, 1), 1))
    layout = Layout({"v": wide}, ["v"], [])
    assert set(layout.unit_of) == {0}
    assert layout.variables[0].bits == 1
    assert layout.variables[0].units == MAX_UNITS + 1


def test_wrong_states_are_refused() -> None:
    """A missing variable and a value beyond the capacities, in one sentence with the variable's name."""
    layout = two_phase().kernels.layout
    state = two_phase().random_states(1, seed=2)[0]
    with pytest.raises(Unusable, match="no variable tmState"):
        layout.encode({name: value for name, value in state.items() if name != "tmState"})
    with pytest.raises(Unusable, match="variable rmState does not fit TypeOK"):
        layout.encode({**state, "rmState": Fn({})})
    assert not layout.fits({**state, "tmState": "maybe"})
    with pytest.raises(Unusable, match="no state"):
        layout.decode([9] * layout.cells)


def test_parameter_indices() -> None:
    """Parameters are indices into their sorted domains; another value is refused with the parameter's name."""
    parameters = two_phase().kernels.parameters["RMReceiveDecision"]
    assert parameters.names == ("r", "outcome")
    assert parameters.domains[1] == ("aborted", "committed")
    assert parameters.indices("RMReceiveDecision", (ModelValue("r2"), "committed")) == [1, 1]
    with pytest.raises(Unusable, match="parameter outcome = 'later' is outside its domain"):
        parameters.indices("RMReceiveDecision", (ModelValue("r2"), "later"))
    with pytest.raises(Unusable, match="takes 2 parameters, not 1"):
        parameters.indices("RMReceiveDecision", ("committed",))


def test_the_encoder_needs_no_numerical_packages() -> None:
    """Converters and simulators import layout and stream without llvmlite, numpy or pyspark."""
    program = (
        "import sys, tidemark_conformance.tla.layout, tidemark_conformance.tla.kernels.stream\n"
        "print(*(name for name in ('numpy', 'llvmlite', 'pyspark', 'pyarrow') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
