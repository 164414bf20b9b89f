"""Compositions: one run is a trace of every part, made once, in a folder of its own, judged by its specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import two_phase_simulator
from conftest import TwoPhase
from tidemark_conformance.audit.audit import counted
from tidemark_conformance.audit.options import Options
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry import protocols as registry
from tidemark_conformance.registry.protocols import compositions, protocols
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.simulate.generate import Generated, Output, generate_together
from tidemark_conformance.verify import clean

TABLE = """
[left]
spec = "two_phase/TwoPhase.tla"
config = "two_phase/TwoPhase.cfg"
simulator = "two_phase_simulator:factory"
[right]
spec = "two_phase/TwoPhase.tla"
config = "missing.cfg"
simulator = "two_phase_simulator:factory"
[both]
simulator = "two_phase_simulator:together"
[both.parts]
left = "two_phase/TwoPhase.cfg"
right = "two_phase/TwoPhase.cfg"
"""


@pytest.fixture(name="registered")
def _registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = tmp_path / "protocols.toml"
    table.write_text(
        TABLE.replace('"two_phase/TwoPhase.tla"', f'"{spec_root()}/two_phase/TwoPhase.tla"').replace(
            'config = "two_phase', f'config = "{spec_root()}/two_phase'
        )
    )
    monkeypatch.setattr(registry, "files", lambda: [table])
    return table


def _together(two_phase: TwoPhase, out: Path, session: Any = None) -> dict[str, Generated]:
    header = two_phase.schema.with_nodes(two_phase_simulator.NODES)
    simulator = two_phase_simulator.together({name: header.to_json() for name in ("left", "right")}, steps=20)
    outputs = {name: Output(out / name, header) for name in ("left", "right")}
    return generate_together(simulator, range(25), outputs, {"made": "here"}, session=session, seeds_per_part=10)


def _traces(run: Generated) -> list[str]:
    return [row["trace"] for part in run.parts for row in pq.read_table(part).to_pylist()]


def test_every_part_has_every_run(two_phase: TwoPhase, tmp_path: Path) -> None:
    made = _together(two_phase, tmp_path)
    assert [run.traces for run in made.values()] == [25, 25]
    assert _traces(made["left"]) == _traces(made["right"]) == [f"two-phase-{seed}" for seed in range(25)]
    assert [part.parent.name for run in made.values() for part in run.parts] == ["left"] * 3 + ["right"] * 3


def test_what_one_part_lacks_is_made_again_for_all(two_phase: TwoPhase, tmp_path: Path) -> None:
    made = _together(two_phase, tmp_path)
    before = [part.read_bytes() for run in made.values() for part in run.parts]
    made["right"].parts[1].unlink()
    again = _together(two_phase, tmp_path)
    assert [run.kept for run in again.values()] == [2, 2]
    assert [part.read_bytes() for run in again.values() for part in run.parts] == before


def test_spark_makes_the_same_parts(spark: Any, two_phase: TwoPhase, tmp_path: Path) -> None:
    here, there = _together(two_phase, tmp_path / "here"), _together(two_phase, tmp_path / "there", spark)
    for name in here:
        assert [part.read_bytes() for part in here[name].parts] == [part.read_bytes() for part in there[name].parts]


def test_a_composition_is_no_protocol(registered: Path) -> None:
    assert set(protocols()) == {"left", "right"}
    both = compositions()["both"]
    assert [part.config.name for part in both.parts.values()] == ["TwoPhase.cfg", "TwoPhase.cfg"]
    assert both.nodes("left") == two_phase_simulator.NODES
    registered.write_text(TABLE + 'elsewhere = "x.cfg"\n')
    with pytest.raises(Unusable, match="elsewhere"):
        compositions()


def test_parts_may_be_of_one_protocol(registered: Path) -> None:
    more = 'first = { protocol = "left", config = "two_phase/TwoPhaseForgets.cfg" }\n'
    registered.write_text(TABLE + more + 'second = { protocol = "left", config = "two_phase/TwoPhase.cfg" }\n')
    parts = compositions()["both"].parts
    assert [(name, part.name, part.config.name) for name, part in parts.items()] == [
        ("left", "left", "TwoPhase.cfg"),
        ("right", "right", "TwoPhase.cfg"),
        ("first", "left", "TwoPhaseForgets.cfg"),
        ("second", "left", "TwoPhase.cfg"),
    ]
    registered.write_text(TABLE + 'third = { config = "two_phase/TwoPhase.cfg" }\n')
    with pytest.raises(Unusable, match="protocol"):
        compositions()


def test_simulate_writes_a_folder_for_each_part(
    registered: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["simulate", "both", "--traces", "12", "--steps", "20", "-o", str(out)]) == 0
    assert sorted(one.name for one in out.iterdir()) == ["left", "right"]
    assert capsys.readouterr().out.count("12 traces") == 2
    assert main(["simulate", "both", "--traces", "12", "--flaw", "hasty", "-o", str(out)]) == 2
    assert "is a composition" in capsys.readouterr().err


def composed(spark: Any, oracle: int) -> list[clean.CleanRun]:
    """Twelve runs of the composition, each part with its facts."""
    with clean.replaying() as beside:
        begun = clean.composed_run(spark, compositions()["both"], 12, 20, oracle, beside)
    return [part.result() for part in begun]


@pytest.mark.deep
def test_a_composed_run_is_audited_part_by_part(
    registered: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean, "_folder", lambda name, *_: tmp_path / name)
    found = composed(spark, 0)
    assert [(one.protocol, one.result.traces, one.result.failed, one.complaints) for one in found] == [
        ("left", 12, 0, ()),
        ("right", 12, 0, ()),
    ]
    assert all(one.ok for one in found)
    again = composed(spark, 0)
    assert [one.run.kept for one in again] == [4, 4]


def test_what_is_amiss_in_one_part_is_told_of_it(
    registered: Path, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All traces pass: clients' findings, missing events and missing replays fail the run, each part's for itself."""
    registered.write_text(registered.read_text().replace(":together", ":amiss"))
    monkeypatch.setattr(clean, "_folder", lambda name, *_: tmp_path / name)
    monkeypatch.setattr(clean, "counted", lambda *given: counted(*given[:3], Options(oracle=0), given[4]))
    found = composed(spark, 2)
    unreplayed = "TLC replayed 0 traces of the 2 that it was asked for"
    assert [(one.protocol, one.result.failed, one.complaints) for one in found] == [
        ("left", 0, (unreplayed, "6 x losses")),
        ("right", 0, (unreplayed, "8 traces without answers", "no trace with fail-overs")),
    ]
    assert not any(one.ok for one in found)


def test_traces_of_another_size_find_their_cfg(two_phase: TwoPhase) -> None:
    constants = two_phase.schema.header.constants
    by_header, _ = load_for("TwoPhase", None, None, constants=constants)
    assert by_header.constants == two_phase.specification.constants
    five, _ = load_for("Replication", None, None, constants=_five_brokers())
    assert len(five.constants["Brokers"]) == 5
    three, _ = load_for("Replication", None, None)
    assert len(three.constants["Brokers"]) == 3
    unknown, _ = load_for("Replication", None, None, constants={"Brokers": ["b1"]})
    assert unknown.constants == three.constants


def test_a_cfg_of_the_right_size_that_asks_for_less_is_not_taken() -> None:
    name = "TwoPhaseForgets.cfg"  # two resource managers, and a rule removed
    assert "RM = {r1, r2}" in (spec_root() / "two_phase" / name).read_text()
    found, _ = load_for("TwoPhase", None, None, constants={"RM": ["r1", "r2"]})
    assert found.without == frozenset()
    assert len(found.constants["RM"]) == 3


def _five_brokers() -> dict[str, Any]:
    """The constants in the header of a run with five brokers."""
    from tidemark_conformance.tla.spec import load
    from tidemark_conformance.trace.schema import schema_of

    folder = spec_root() / "replication"
    found = load(folder / "ReplicationProperties.tla", folder / "ReplicationFiveBrokers.cfg")
    return schema_of(found).header.constants
