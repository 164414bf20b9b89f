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
import tidemark.classic_group.abstraction
import tidemark.classic_group.sim
import tidemark.classic_group.sim.run
import tidemark.consumer_group.abstraction
import tidemark.consumer_group.sim
import tidemark.consumer_group.sim.run
import tidemark.exactly_once.abstraction
import tidemark.exactly_once.sim
import tidemark.exactly_once.sim.run
import tidemark.idempotence.abstraction
import tidemark.idempotence.sim
import tidemark.idempotence.sim.run
import tidemark.offsets.abstraction
import tidemark.offsets.sim
import tidemark.offsets.sim.run
import tidemark.replication.abstraction
import tidemark.replication.sim.run
import tidemark.transactions.abstraction
import tidemark.transactions.sim
import tidemark.transactions.sim.run
from tidemark.trace.recorder import Recorder
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

    `protocol`: its name in the registry; `package`: it has `simulate` and `PROFILES`; `make`, `run`: its classes;
    `module`: that of its abstraction function, `abstraction`: its class. `late`: the recorder's methods that are called
    when the handler has gone on, so that the state is the one of the record before.

    How much is asked for: `deltas` seeds of each profile, `rests` seeds of which more than `healed` are healed, `taken`
    seeds in which every action is, `judged` seeds by the reference evaluator; without `flawed` the first 60 runs of a
    profile are other ones, and are no longer all right.
    """

    protocol: str
    package: Any
    make: type
    run: type
    module: Any
    flawed: str
    flawed_profile: str
    lost: Sequence[Lost]
    late: Sequence[str] = ("blocked",)
    abstraction: str = "Abstraction"
    deltas: int = 25
    rests: int = 400
    healed: int = 120
    taken: int = 300
    judged: int = 40

    @property
    def touches(self) -> Mapping[str, str]:
        """What each of its actions may change."""
        touches: Mapping[str, str] = self.module.TOUCHES
        return touches

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
        tidemark.replication.abstraction,
        "AckAllOnlyBelowHw",
        "chaos",
        [Lost(frozenset({"AckAllOnlyBelowHw"}), "chaos", 120)],
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
        tidemark.classic_group.abstraction,
        "RequireKnownMemberId",
        "mixed",
        [],
        judged=60,
    ),
    Simulated(
        "consumer-group",
        sim.modern,
        sim.modern.run.ModernSimulator,
        sim.modern.run.ModernRun,
        tidemark.consumer_group.abstraction,
        "AwaitRevocation",
        "mixed",
        [],
    ),
    Simulated(
        "offsets",
        sim.offsets,
        sim.offsets.run.OffsetsSimulator,
        sim.offsets.run.OffsetsRun,
        tidemark.offsets.abstraction,
        "LoadReplaces",
        "fail-overs",
        [Lost(frozenset({"LoadReplaces"}), "fail-overs", 400)],
        abstraction="OffsetsAbstraction",
        late=(),
    ),
    Simulated(
        "idempotence",
        sim.idempotence,
        sim.idempotence.run.ProducerSimulator,
        sim.idempotence.run.ProducerRun,
        tidemark.idempotence.abstraction,
        "FirstSequenceIsZero",
        "gaps",
        [
            Lost(frozenset({"RecognizeDuplicate", "InSequence"}), "gaps", 60),  # twice in the log
            Lost(frozenset({"ExpiredKeepsSequence"}), "gaps", 200),  # acknowledged, and not there
        ],
        deltas=12,
        taken=150,
        judged=12,
    ),
    Simulated(
        "transactions",
        sim.transaction,
        sim.transaction.run.TransactionSimulator,
        sim.transaction.run.TransactionRun,
        tidemark.transactions.abstraction,
        "CompleteAfterMarkers",
        "chaos",
        [
            Lost(frozenset({"FenceRequestEpoch"}), "fail-overs", 60),  # told to be committed, and aborted
            Lost(frozenset({"CompleteAfterMarkers"}), "late", 120),  # told to be aborted, and read
        ],
        deltas=12,
        taken=600,
        judged=12,
    ),
    Simulated(
        "exactly-once",
        sim.exactly_once,
        sim.exactly_once.run.ExactlyOnceSimulator,
        sim.exactly_once.run.ExactlyOnceRun,
        tidemark.exactly_once.abstraction,
        "RefuseStaged",
        "chaos",
        [
            Lost(frozenset({"RefuseStaged"}), "chaos", 200),  # processed by two
            Lost(frozenset({"RewindAfterAbort"}), "chaos", 60),  # processed by nobody
            Lost(frozenset({"RecognizeDuplicate", "InSequence"}), "late", 60),  # written twice
        ],
        deltas=12,
        taken=800,
        judged=12,
    ),
]


def noting(one: Simulated, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The full abstraction after every record of the protocol's trace that is written next, as far as it is written."""
    states: list[list[int]] = []
    abstraction = getattr(one.module, one.abstraction)

    def noted(writer: str) -> None:
        write = getattr(Recorder, writer)

        def and_note(self: Any, *what: Any) -> Any:
            found = write(self, *what)
            if type(self._see) is not abstraction:
                return found
            if writer == "begin":
                states.clear()
            states.append(states[-1] if writer in one.late else self.full_state())
            return found

        monkeypatch.setattr(Recorder, writer, and_note)

    for writer in ("begin", "did", "blocked"):
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
