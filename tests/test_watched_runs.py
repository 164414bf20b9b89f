"""Runs that compare their whole state with the written cells, after every step: an undeclared change ends them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tidemark.classic_group.abstraction
import tidemark.compositions.running
import tidemark.simulator.running
from simulated import SIMULATED, Simulated
from tidemark.classic_group.protocol import PROTOCOL as CLASSIC_GROUP
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.common.errors import UndeclaredChange
from tidemark.compositions.protocol import COMPOSED
from tidemark.consumer_group.coordinator import ConsumerGroupCoordinator, Written
from tidemark.groups.consumer_group_messages import GroupEpochRecord
from tidemark.groups.messages import OffsetCommitRecord
from tidemark.trace.recording import watched
from tidemark_conformance.cli import main
from tidemark_conformance.errors import DefectError
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.registry import protocols
from tidemark_conformance.simulate import simulators
from tidemark_conformance.spark.session import readable_errors
from tidemark_conformance.tla.kernels.stream import Record, records
from tidemark_conformance.trace.schema import schema_of
from tidemark_conformance.verify.clean import judging

SEEDS = 200
each = pytest.mark.parametrize("one", SIMULATED, ids=lambda one: one.protocol)


def watch(which: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs from now on, or none."""
    monkeypatch.setattr(tidemark.simulator.running, "watched", lambda _: which)
    monkeypatch.setattr(tidemark.compositions.running, "watched", lambda _: which)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is watched."""
    watch(True, monkeypatch)


def run_all(simulator: Any) -> None:
    """The runs of the first seeds."""
    for seed in range(SEEDS):
        simulator.run(seed)


def test_one_run_in_fifty_is_watched_whatever_its_profile() -> None:
    chosen = [seed for seed in range(100_000) if watched(seed)]
    assert chosen[0] == 0
    assert 1_990 < len(chosen) < 2_010
    assert max(late - early for early, late in pairwise(chosen)) < 100
    for profiles in range(1, 16):
        assert {seed % profiles for seed in chosen[: 20 * profiles]} == set(range(profiles))


def changed(one: Simulated, simulator: Any) -> dict[tuple[str, str], list[int]]:
    """By action and variable the seeds in which a step of that action has changed the variable."""
    names = [action["name"] for action in one.header["actions"]]
    of_cell = [name for name, entry in _in_order(one) for _ in range(entry["cells"])]
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for seed in range(SEEDS):
        for record in records(simulator.run(seed).stream, one.cells, one.parameters):
            if isinstance(record, Record) and record.action >= 0:
                for variable in {of_cell[cell] for cell, _ in record.delta}:
                    seeds = found[names[record.action], variable]
                    if seed not in seeds[-1:]:
                        seeds.append(seed)
    return found


def _in_order(one: Simulated) -> list[tuple[str, Any]]:
    return sorted(one.header["variables"].items(), key=lambda item: item[1]["offset"])


@pytest.mark.deep
@each
def test_a_change_that_an_action_does_not_declare_ends_the_run(one: Simulated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every declaration that some run needs is left out, one by one. Unwatched nothing notices: the stream is another
    one."""
    watch(False, monkeypatch)
    simulator = one.make(one.header)
    plan = simulator.plan
    needed = changed(one, simulator)
    caught = same = 0
    for action, declared in sorted(plan._touching.items()):
        for number, (_, variable, _) in enumerate(declared):
            seeds = needed.get((action, variable), [])[:2]
            streams = [simulator.run(seed).stream for seed in seeds]
            monkeypatch.setitem(plan._touching, action, [*declared[:number], *declared[number + 1 :]])
            plan.known.clear()
            for seed, stream in zip(seeds, streams, strict=True):
                if simulator.run(seed).stream == stream:
                    same += 1
                    continue
                watch(True, monkeypatch)
                with pytest.raises(UndeclaredChange, match=rf"^seed {seed}, step \d+: {variable}.* with {action},"):
                    simulator.run(seed)
                watch(False, monkeypatch)
                caught += 1
            monkeypatch.setitem(plan._touching, action, declared)
            plan.known.clear()
    assert caught > 1.2 * len(plan._touching)
    assert same <= caught // 20


@pytest.mark.usefixtures("always")
def test_what_changes_in_place_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers' delays are kept by the dict that holds them, which is another one after every change, should be."""
    send = GroupCluster.send_heartbeat

    def and_change(self: GroupCluster, *what: Any) -> bool:
        happened = send(self, *what)
        for one in self.coordinators if happened else ():
            for timer in list(one.delays):
                one.delays[timer] = max(one.delays.values())
        return happened

    monkeypatch.setattr(GroupCluster, "send_heartbeat", and_change)
    one = next(one for one in SIMULATED if one.protocol == "classic-group")
    simulator = one.make(one.header)
    with pytest.raises(UndeclaredChange, match=r"group\[b\d\] has changed with \w+, or since"):
        run_all(simulator)


# --- the commands ---------------------------------------------------------------------------------------------------


@pytest.fixture
def undeclared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder of the classic group that does not look at what a heartbeat's sending changes."""
    touches = tidemark.classic_group.abstraction.TOUCHES
    monkeypatch.setitem(touches, "SendHeartbeat", "position.c")
    for prepared in (CLASSIC_GROUP._prepared, COMPOSED._prepared):
        monkeypatch.setattr(prepared, "_kept", [])


@pytest.mark.parametrize(
    ("command", "owner", "seeds"),
    [("classic-group", "the classic group", 3), ("composed", "the composition of the classic group and its logs", 1)],
)
@pytest.mark.usefixtures("undeclared")
def test_simulate_fails_and_says_where(
    command: str, owner: str, seeds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", command, "--traces", str(seeds), "-o", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert f"tidemark simulate: {owner}'s simulator, seed 0, step " in said
    assert "] has changed with SendHeartbeat, or since the step before it" in said
    assert "Traceback" not in said
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_worker_s_defect_is_the_run_s(spark: Any) -> None:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from tidemark_conformance.errors import DefectError

        list(batches)
        raise DefectError("seed 51, step 3: group[b1] has changed")
        yield

    frame = spark.range(0, 1, 1, 1).mapInArrow(work, "id long")
    with pytest.raises(DefectError, match=r"^seed 51, step 3: group\[b1\] has changed$"), readable_errors("seeds"):
        frame.collect()


# --- a batch is read off its records ----------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.usefixtures("always")
def test_a_record_that_a_coordinator_forgot_to_append_is_missed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has changed its memory as if it had appended it. The blame is the step's that appends, not the commit's."""

    def write(self: ConsumerGroupCoordinator, given: Any, member_id: str = "") -> None:
        batch = tuple(given)
        for record in batch:
            if not isinstance(record, OffsetCommitRecord):
                self.replay(record)
        kept = tuple(record for record in batch if not isinstance(record, GroupEpochRecord))
        if kept:
            self.delayed.append(Written(kept, member_id))

    monkeypatch.setattr(ConsumerGroupCoordinator, "_write", write)
    known = protocols.protocol("consumer-group")
    specification = judging(known)
    schema = schema_of(specification)
    head = schema.with_nodes(known.nodes())
    explainer, simulate = Explainer(specification), simulators.simulator(known, head, steps=50)
    blamed = set()
    for seed in range(8):
        trace = decoded(Stored(f"seed-{seed}", simulate(seed).stream, Path("none"), head), schema)
        judgement = explainer.judge(trace)
        assert judgement.verdict == "fail", seed
        step = min(judgement.first.values())
        blamed.add(trace.events[step].action)
    assert blamed <= {"HandleHeartbeat", "AssignOnHeartbeat", "HandleLeave", "ExpireSession", "ExpireRevocation"}
