"""What every protocol's simulator is held to in test_simulators.py: one entry of `SIMULATED` each, and what they share.

A new protocol brings an entry; a protocol of the registry without one is a failure.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
import tidemark.classic_group.sim
import tidemark.classic_group.sim.recorder
import tidemark.classic_group.sim.run
import tidemark.consumer_group.sim
import tidemark.consumer_group.sim.recorder
import tidemark.consumer_group.sim.run
import tidemark.exactly_once.sim
import tidemark.exactly_once.sim.recorder
import tidemark.exactly_once.sim.run
import tidemark.idempotence.sim
import tidemark.idempotence.sim.recorder
import tidemark.idempotence.sim.run
import tidemark.offsets.sim
import tidemark.offsets.sim.recorder
import tidemark.offsets.sim.run
import tidemark.replication.sim.recorder
import tidemark.replication.sim.run
import tidemark.transactions.sim
import tidemark.transactions.sim.recorder
import tidemark.transactions.sim.run
from tidemark_conformance.registry import protocols
from tidemark_conformance.tla.kernels.stream import End, Record, records
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import Schema, schema_of
from tidemark_conformance.verify.clean import judging

sim = tidemark.replication.sim
SEEDS = range(16)

DIGEST = """
import hashlib, json, sys
from {module} import simulate
header = json.load(sys.stdin)
print(hashlib.sha256(b"".join(simulate(seed, table=header).stream for seed in {seeds})).hexdigest())
"""


@dataclass(frozen=True)
class Lost:
    """What a client finds lost, or twice, without these rules: in some of the first `seeds` runs of a profile."""

    without: frozenset[str]
    profile: str
    seeds: int


@dataclass(frozen=True)
class Simulated:
    """A protocol's simulator.

    `protocol`: its name in the registry; `package`: it has `simulate` and `PROFILES`; `make`, `run`, `recorder`: its
    classes; `writers`: the methods that write a record, `late`: those of them that are called when the handler has gone
    on, so that the state is the one of the record before. `touches`: what each action may change, if the recorder has
    such a table.

    How much is asked for: `deltas` seeds of each profile, `rests` seeds of which more than `healed` are healed, `taken`
    seeds in which every action is, `judged` seeds by the reference evaluator; without `flawed` the first 60 runs of a
    profile are other ones, and are no longer all right.
    """

    protocol: str
    package: Any
    make: type
    run: type
    recorder: type
    flawed: str
    flawed_profile: str
    lost: Sequence[Lost]
    writers: Sequence[str] = ("begin", "did", "blocked")
    late: Sequence[str] = ("blocked",)
    touches: Mapping[str, str] | None = None
    deltas: int = 25
    rests: int = 400
    healed: int = 120
    taken: int = 300
    judged: int = 40

    @cached_property
    def known(self) -> protocols.Protocol:
        """Its entry in the registry."""
        return protocols.protocol(self.protocol)

    @cached_property
    def adapter(self) -> Any:
        """What binds it to the registry."""
        return importlib.import_module(self.known.simulator.partition(":")[0]).ADAPTER

    @cached_property
    def specification(self) -> Specification:
        """What judges its traces, with the specification's `FlawActions`."""
        return judging(self.known)

    @property
    def rules(self) -> tuple[str, ...]:
        """The names of its rules."""
        return self.specification.module.rules

    @cached_property
    def schema(self) -> Schema:
        """The layout of its traces."""
        return schema_of(self.specification)

    @cached_property
    def head(self) -> Header:
        """The header of its traces."""
        return self.schema.with_nodes(self.known.nodes())

    @cached_property
    def header(self) -> dict[str, Any]:
        """The same as simulators get it."""
        return self.head.to_json()

    @cached_property
    def parameters(self) -> list[int]:
        """How many each action has."""
        return [len(action["params"]) for action in self.header["actions"]]

    @cached_property
    def cells(self) -> int:
        """Of a state, without history variables."""
        return sum(variable["cells"] for variable in self.header["variables"].values())


SIMULATED = [
    Simulated(
        "replication",
        sim,
        sim.run.Simulator,
        sim.run.Run,
        sim.recorder.Recorder,
        "AckAllOnlyBelowHw",
        "chaos",
        [Lost(frozenset({"AckAllOnlyBelowHw"}), "chaos", 120)],
        writers=("begin", "step", "moved", "read", "ends", "blocked"),
        late=(),
        deltas=12,
        rests=160,
        healed=40,
        judged=12,
    ),
    Simulated(
        "classic-group",
        sim.group,
        sim.group.run.GroupSimulator,
        sim.group.run.GroupRun,
        sim.group.recorder.GroupRecorder,
        "RequireKnownMemberId",
        "mixed",
        [],
        touches=sim.group.recorder.TOUCHES,
        judged=60,
    ),
    Simulated(
        "consumer-group",
        sim.modern,
        sim.modern.run.ModernSimulator,
        sim.modern.run.ModernRun,
        sim.modern.recorder.ModernRecorder,
        "AwaitRevocation",
        "mixed",
        [],
        touches=sim.modern.recorder.TOUCHES,
    ),
    Simulated(
        "offsets",
        sim.offsets,
        sim.offsets.run.OffsetsSimulator,
        sim.offsets.run.OffsetsRun,
        sim.offsets.recorder.OffsetsRecorder,
        "LoadReplaces",
        "fail-overs",
        [Lost(frozenset({"LoadReplaces"}), "fail-overs", 400)],
        late=(),
        touches=sim.offsets.recorder.TOUCHES,
    ),
    Simulated(
        "idempotence",
        sim.idempotence,
        sim.idempotence.run.ProducerSimulator,
        sim.idempotence.run.ProducerRun,
        sim.idempotence.recorder.ProducerRecorder,
        "FirstSequenceIsZero",
        "gaps",
        [
            Lost(frozenset({"RecognizeDuplicate", "InSequence"}), "gaps", 60),  # twice in the log
            Lost(frozenset({"ExpiredKeepsSequence"}), "gaps", 200),  # acknowledged, and not there
        ],
        touches=sim.idempotence.recorder.TOUCHES,
        deltas=12,
        taken=150,
        judged=12,
    ),
    Simulated(
        "transactions",
        sim.transaction,
        sim.transaction.run.TransactionSimulator,
        sim.transaction.run.TransactionRun,
        sim.transaction.recorder.TransactionRecorder,
        "CompleteAfterMarkers",
        "chaos",
        [
            Lost(frozenset({"FenceRequestEpoch"}), "fail-overs", 60),  # told to be committed, and aborted
            Lost(frozenset({"CompleteAfterMarkers"}), "late", 120),  # told to be aborted, and read
        ],
        touches=sim.transaction.recorder.TOUCHES,
        deltas=12,
        taken=600,
        judged=12,
    ),
    Simulated(
        "exactly-once",
        sim.exactly_once,
        sim.exactly_once.run.ExactlyOnceSimulator,
        sim.exactly_once.run.ExactlyOnceRun,
        sim.exactly_once.recorder.ExactlyOnceRecorder,
        "RefuseStaged",
        "chaos",
        [
            Lost(frozenset({"RefuseStaged"}), "chaos", 200),  # processed by two
            Lost(frozenset({"RewindAfterAbort"}), "chaos", 60),  # processed by nobody
            Lost(frozenset({"RecognizeDuplicate", "InSequence"}), "late", 60),  # written twice
        ],
        touches=sim.exactly_once.recorder.TOUCHES,
        deltas=12,
        taken=800,
        judged=12,
    ),
]


def noting(
    recorder: type, writers: Sequence[str], late: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> list[list[int]]:
    """The full abstraction after every record of the trace that is written next, as far as it is written."""
    states: list[list[int]] = []

    def noted(writer: str) -> None:
        write = getattr(recorder, writer)

        def and_note(self: Any, *what: Any) -> Any:
            found = write(self, *what)
            if writer == "begin":
                states.clear()
            if self.records > len(states):  # otherwise one writer has called another, which has noted it
                states.append(states[-1] if writer in late else self.full_state())
            return found

        monkeypatch.setattr(recorder, writer, and_note)

    for writer in writers:
        noted(writer)
    return states


def assert_deltas_are_all_that_changed(
    stream: bytes, states: Sequence[list[int]], parameters: Sequence[int], where: str
) -> None:
    """`states`: the full abstraction after every record; `parameters`: how many each action has."""
    *found, end = records(stream, len(states[0]), parameters)
    assert isinstance(end, End)
    assert end.count_right
    assert end.checksum_right
    cells = [0] * len(states[0])
    for number, (record, state) in enumerate(zip(found, states, strict=True)):
        assert isinstance(record, Record)
        for cell, value in record.delta:
            assert cells[cell] != value, f"{where}, record {number}: cell {cell} is written and has not changed"
            cells[cell] = value
        assert cells == state, f"{where}, record {number}"
    assert len(found) > 1


def assert_one_seed_is_one_trace(package: Any, header: dict[str, Any]) -> None:
    """The package's `simulate` makes the same bytes here and in processes of three hash seeds."""
    program = DIGEST.format(module=package.__name__, seeds=SEEDS)
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(header),
            text=True,
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "4711")
    }
    streams = [package.simulate(seed, table=header).stream for seed in SEEDS]
    assert digests == {hashlib.sha256(b"".join(streams)).hexdigest() + "\n"}
    assert len(set(streams)) == len(streams)
