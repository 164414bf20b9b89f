"""The requirements on every protocol's simulator in test_simulators.py: one entry of `SIMULATED` each, and their shared
parts.

A protocol brings a `simulated.toml` in its folder here; a protocol of the registry without one is a failure.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from tidemark.simulator.running import RunBase
from tidemark.trace.cells import Abstract
from tidemark.trace.recorder import Recorder
from tidemark_conformance.registry import protocols
from tidemark_conformance.tla.kernels.stream import End, Record, records
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import Schema, schema_of
from tidemark_conformance.verify.clean import judging

SEEDS = range(16)

DIGEST = """
import hashlib, json, sys
from {module} import PROTOCOL
header = json.load(sys.stdin)
print(hashlib.sha256(b"".join(PROTOCOL.simulate(seed, table=header).stream for seed in {seeds})).hexdigest())
"""


@dataclass(frozen=True)
class Lost:
    """Records that a client finds lost or twice without these rules, in some of the first `seeds` runs of a profile."""

    without: frozenset[str]
    profile: str
    seeds: int


@dataclass(frozen=True)
class Explained:
    """Traces of a protocol without a rule: how they are made, and their explanation.

    `action`: the step that is none, by the operator and arguments `because`; it is shrunk to `most` steps or fewer.
    `seeds`: the first, and the one behind the last.
    """

    rule: str
    action: str
    because: str
    seeds: tuple[int, int]
    steps: int
    most: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Simulated:
    """A protocol's simulator.

    `protocol`: its name in the registry. `late`: the recorder's methods that are called when the handler has gone on.
    The state is then the one of the record before.

    How much is asked for: `deltas` seeds of each profile; `rests` seeds of which more than `healed` are healed. `taken`
    seeds in which every action is; `judged` seeds by the reference evaluator. Without `flawed` the first 60 runs of a
    profile are other ones, and are no longer all right.
    """

    protocol: str
    flawed: str
    flawed_profile: str
    lost: Sequence[Lost]
    explained: Explained
    late: Sequence[str] = ("blocked",)
    deltas: int = 25
    rests: int = 400
    healed: int = 120
    taken: int = 300
    judged: int = 40

    @property
    def touches(self) -> Mapping[str, str]:
        """The variables that each of its actions may change."""
        touches: Mapping[str, str] = self.module.TOUCHES
        return touches

    @cached_property
    def known(self) -> protocols.Protocol:
        """Its entry in the registry."""
        return protocols.protocol(self.protocol)

    @cached_property
    def descriptor(self) -> Any:
        """Its implementation's descriptor: it has `simulate` and `rules_without`."""
        return self.known.descriptor()

    @property
    def make(self) -> type:
        """The class of its simulators."""
        return self.descriptor.simulators

    @cached_property
    def run(self) -> type:
        """The class of a run."""
        module = importlib.import_module(self.make.__module__)
        (found,) = (
            one
            for one in vars(module).values()
            if isinstance(one, type) and issubclass(one, RunBase) and one.__module__ == module.__name__
        )
        return found

    @cached_property
    def module(self) -> Any:
        """The module of its abstraction function."""
        return importlib.import_module(f"{self.known.package}.abstraction")

    @cached_property
    def abstraction(self) -> type:
        """The class of its abstraction function."""
        return next(one for one in vars(self.module).values() if self._own(one) and issubclass(one, Abstract))

    @property
    def profiles(self) -> Mapping[str, Any]:
        """Its nemesis profiles by name, without mixes of them."""
        return importlib.import_module(f"{self.known.package}.sim.profiles").PROFILES

    def _own(self, one: Any) -> bool:
        return isinstance(one, type) and one.__module__ == self.module.__name__

    @cached_property
    def specification(self) -> Specification:
        """The specification that judges its traces, with the specification's `FlawActions`."""
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


def simulated(protocol: str) -> Simulated:
    """The entry of a protocol: the demands of its folder's `simulated.toml`."""
    file = Path(__file__).parent / protocol.replace("-", "_") / "simulated.toml"
    asked = tomllib.loads(file.read_text(encoding="utf-8"))
    lost = [Lost(frozenset(one["without"]), one["profile"], one["seeds"]) for one in asked.pop("lost", [])]
    explained = asked.pop("explained")
    explained["seeds"] = tuple(explained["seeds"])
    return Simulated(protocol, lost=lost, explained=Explained(**explained), **asked)


SIMULATED = [simulated(protocol) for protocol in protocols.protocols()]


def noting(one: Simulated, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The full abstraction after every record of the protocol's trace that is written next, as far as it is written."""
    states: list[list[int]] = []

    def noted(writer: str) -> None:
        write = getattr(Recorder, writer)

        def and_note(self: Any, *what: Any) -> Any:
            found = write(self, *what)
            if type(self._see) is not one.abstraction:
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


def assert_one_seed_is_one_trace(one: Simulated) -> None:
    """Its `simulate` makes the same bytes here and in processes of three hash seeds."""
    header = one.header
    program = DIGEST.format(module=f"{one.known.package}.protocol", seeds=SEEDS)
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
    streams = [one.descriptor.simulate(seed, table=header).stream for seed in SEEDS]
    assert digests == {hashlib.sha256(b"".join(streams)).hexdigest() + "\n"}
    assert len(set(streams)) == len(streams)
