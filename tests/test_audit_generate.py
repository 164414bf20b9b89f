"""Traces from seeds: the same parts wherever they are made, restartable, refused to be mixed; and the counts measured
on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import two_phase_simulator
from conftest import TwoPhase
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry import protocols as registry
from tidemark_conformance.registry.protocols import protocol, protocols
from tidemark_conformance.report import speed
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import MANIFEST, Generated, generate
from tidemark_conformance.tlc import oracle as tlc_oracle
from tidemark_conformance.verify import measure


@pytest.fixture(name="registered")
def _registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    table = tmp_path / "protocols.toml"
    table.write_text(
        f'[TwoPhase]\nspec = "{spec_root()}/two_phase/TwoPhase.tla"\nconfig = "{spec_root()}/two_phase/TwoPhase.cfg"\n'
        'simulator = "two_phase_simulator:factory"\n'
    )
    monkeypatch.setattr(registry, "files", lambda: [table])
    return table


def _generate(
    two_phase: TwoPhase, out: Path, seeds: range = range(25), session: Any = None, **settings: Any
) -> Generated:
    header = two_phase.schema.with_nodes(two_phase_simulator.NODES)
    simulator = two_phase_simulator.factory(header.to_json(), steps=20, flaw=None)
    return generate(simulator, seeds, out, header, settings, session=session, seeds_per_part=10)


def _rows(run: Generated) -> list[dict[str, Any]]:
    return [row for part in run.parts for row in pq.read_table(part).to_pylist()]


def test_a_run_in_parts(two_phase: TwoPhase, tmp_path: Path) -> None:
    run = _generate(two_phase, tmp_path / "run")
    assert [part.name for part in run.parts] == [
        "part-000000000000-000000000009.parquet",
        "part-000000000010-000000000019.parquet",
        "part-000000000020-000000000024.parquet",
    ]
    assert (run.traces, run.facts, run.kept) == (25, {"seeds": 25, "odd": 12}, 0)
    rows = _rows(run)
    assert run.steps == sum(row["steps"] for row in rows)
    assert [row["trace"] for row in rows] == [f"two-phase-{seed}" for seed in range(25)]
    assert sum(row["header"] is not None for row in rows) == 3


def test_spark_makes_the_same_parts(spark: Any, two_phase: TwoPhase, tmp_path: Path) -> None:
    here, there = _generate(two_phase, tmp_path / "here"), _generate(two_phase, tmp_path / "there", session=spark)
    assert [part.read_bytes() for part in here.parts] == [part.read_bytes() for part in there.parts]
    assert (here.traces, here.steps, here.facts) == (there.traces, there.steps, there.facts)


def test_a_killed_run_continues_with_the_missing_parts(two_phase: TwoPhase, tmp_path: Path) -> None:
    whole = _generate(two_phase, tmp_path / "whole")
    killed = _generate(two_phase, tmp_path / "killed")
    killed.parts[1].unlink()
    (tmp_path / "killed" / f".{killed.parts[1].name}.abc.tmp").write_bytes(b"half a part")
    before = killed.parts[0].stat().st_mtime_ns
    continued = _generate(two_phase, tmp_path / "killed")
    assert continued.kept == 2
    assert killed.parts[0].stat().st_mtime_ns == before
    assert _rows(continued) == _rows(whole)
    assert continued.facts == whole.facts
    assert sorted(one.name for one in (tmp_path / "killed").iterdir()) == sorted(
        [MANIFEST, *(part.name for part in whole.parts)]
    )


def test_a_simulator_that_fails_leaves_no_half_part(two_phase: TwoPhase, tmp_path: Path) -> None:
    header = two_phase.schema.with_nodes(two_phase_simulator.NODES)
    simulator = two_phase_simulator.factory(header.to_json(), steps=20, flaw=None)

    def failing(seed: int) -> Any:
        if seed == 15:
            raise RuntimeError("seed 15")
        return simulator(seed)

    with pytest.raises(RuntimeError, match="seed 15"):
        generate(failing, range(25), tmp_path / "run", header, {}, seeds_per_part=10)
    assert sorted(one.name for one in (tmp_path / "run").glob("*part*")) == ["part-000000000000-000000000009.parquet"]


@pytest.mark.parametrize("change", [{"flaw": "hasty"}, {"seeds": range(30)}])
def test_another_run_does_not_continue_it(change: dict[str, Any], two_phase: TwoPhase, tmp_path: Path) -> None:
    _generate(two_phase, tmp_path / "run", flaw=None)
    with pytest.raises(Unusable, match=r"holds a run with other (settings|seeds)"):
        _generate(two_phase, tmp_path / "run", **{"flaw": None, **change})


def test_a_folder_with_something_else_is_left_alone(two_phase: TwoPhase, tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(Unusable, match="holds no run"):
        _generate(two_phase, tmp_path)
    with pytest.raises(Unusable, match="at least 1"):
        _generate(two_phase, tmp_path / "none", seeds=range(0))


@pytest.mark.usefixtures("registered")
def test_generated_traces_pass_and_flawed_ones_do_not(spark: Any, two_phase: TwoPhase, tmp_path: Path) -> None:
    known = protocol("TwoPhase")
    header = two_phase.schema.with_nodes(known.nodes())
    for flaw in (None, "hasty"):
        simulator = simulators.simulator(known, header, steps=20, flaw=flaw)
        run = generate(simulator, range(40), tmp_path / str(flaw), header, {"flaw": flaw}, seeds_per_part=15)
        result = audit(spark, [str(tmp_path / str(flaw))], two_phase.specification)
        assert (result.traces, result.exit_code) == (run.traces, 0 if flaw is None else 1)
        if flaw is not None:
            assert {failure.signature for failure in result.failures} >= {"not a step of TMDecide"}


def test_a_registered_protocol_in_its_sizes(registered: Path) -> None:
    registered.write_text(registered.read_text() + f'sizes = {{ 5 = "{spec_root()}/two_phase/Other.cfg" }}\n')
    known = protocol("TwoPhase")
    assert known.sized(5).config == known.config.with_name("Other.cfg")
    with pytest.raises(Unusable, match=r"TwoPhase does not come in size 4; choose from 5"):
        known.sized(4)


def test_a_wrong_registry_is_one_sentence(registered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unusable, match="no protocol is called nothing"):
        protocol("nothing")
    registered.write_text('[x]\nspec = "a"\n')
    assert main(["bench"]) == 2
    assert "is no table of protocols" in capsys.readouterr().err
    registered.write_text('[x]\nspec = "a"\nconfig = "b"\nsimulator = "no_such_module:f"\n')
    with pytest.raises(Unusable, match="cannot be loaded"):
        protocol("x").nodes()


def test_two_protocols_of_one_name_are_refused(
    registered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several files no entry is read in place of another's; in one file TOML says it."""
    other = tmp_path / "other.toml"
    other.write_text(registered.read_text().replace("TwoPhase.cfg", "Other.cfg"))
    monkeypatch.setattr(registry, "files", lambda: [registered, other])
    with pytest.raises(Unusable, match=r"other\.toml names TwoPhase, as does another protocol\.toml"):
        protocols()
    other.write_text(registered.read_text().replace("[TwoPhase]", "[Other]"))
    assert list(protocols()) == ["Other", "TwoPhase"]
    registered.write_text(2 * registered.read_text())
    with pytest.raises(Unusable, match="is no table of protocols"):
        protocols()


@pytest.mark.deep
@pytest.mark.usefixtures("spark", "registered")
def test_bench_measures_everything_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "CORE_SECONDS", 0.2)
    monkeypatch.setattr(measure, "ROUNDS", 1)
    monkeypatch.setattr(measure, "ORACLE_TRACES", 3)
    record = tmp_path / "kept.json"
    speed.record(
        [speed.Measure("Other.audit.steps", 7.0, "steps"), speed.Measure("TwoPhase.old", 1.0, "steps")], record
    )
    monkeypatch.setattr(speed, "RECORD", record)
    arguments = ["bench", "TwoPhase", "--steps", "2000", "--record", "--json", str(tmp_path / "bench.json")]
    assert main(arguments) == 0
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["schema"] == "tidemark.bench/1"
    assert document["missing"] == {}
    values = {measure["name"]: measure["value"] for measure in document["measures"]}
    promised = (
        "audit.full.steps_per_s audit.invariants.steps_per_s scan.steps_per_s audit.full_over_scan audit.over_tlc "
        "audit.peak_rss_mib audit.peak_rss_half_mib audit.steps audit.half_steps simulate.steps_per_s_per_core"
    )
    assert all(values[f"TwoPhase.{name}"] > 0 for name in promised.split())
    assert values["TwoPhase.audit.steps"] >= 2000
    printed = capsys.readouterr()
    assert "TwoPhase.audit.full_over_scan" in printed.out
    said = "tidemark bench: 1 protocol, 2,000 steps each; a small run is `tidemark bench idempotence --steps 20000`\n"
    assert said in printed.err
    kept = {one.name: one.value for one in speed.read(record)}
    assert kept == {"Other.audit.steps": 7.0, **values}


@pytest.mark.deep
@pytest.mark.usefixtures("spark", "registered")
def test_bench_loses_nothing_where_tlc_cannot_be_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def replay(*_: Any, **__: Any) -> Any:
        raise Unusable("TLC cannot start on TidemarkReplay (exit 255): Java ran out of memory")

    monkeypatch.setattr(measure, "CORE_SECONDS", 0.05)
    monkeypatch.setattr(measure, "ROUNDS", 1)
    monkeypatch.setattr(tlc_oracle, "replay", replay)
    monkeypatch.setattr(speed, "RECORD", tmp_path / "kept.json")
    arguments = ["bench", "TwoPhase", "--steps", "500", "--record", "--json", str(tmp_path / "bench.json")]
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert "TwoPhase.audit.full.steps_per_s" in printed.out
    assert "bench: TwoPhase is not measured in full: TLC cannot start on TidemarkReplay (exit 255)" in printed.err
    document = json.loads((tmp_path / "bench.json").read_text())
    assert document["missing"]["TwoPhase"].endswith("Java ran out of memory")
    names = {measure["name"] for measure in document["measures"]}
    assert "TwoPhase.audit.full_over_scan" in names
    assert "TwoPhase.audit.over_tlc" not in names
    assert not (tmp_path / "kept.json").exists()


def test_bench_says_at_once_that_its_record_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kept.json").write_text('{"schema": "tidemark.verify/1"}')
    monkeypatch.setattr(speed, "RECORD", tmp_path / "kept.json")
    assert main(["bench", "replication", "--record"]) == 2
    assert "is no document of tidemark bench" in capsys.readouterr().err
