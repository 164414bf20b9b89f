"""Shared by the tests of compositions: a composition of the registry with its headers, and the judges of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from tidemark.compositions.group_run import ComposedSimulator
from tidemark.compositions.replicated_log import ReplicatedLog
from tidemark.compositions.running import ComposedResult
from tidemark.log.storage import Payload
from tidemark_conformance.audit.locate import at_rest
from tidemark_conformance.registry.protocols import compositions
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.runtime import Kernels
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.schema import schema_of

UNDECIDED = "undecided"


class Composed:
    """A registered composition, each part judged by the cfg that it has there."""

    def __init__(self, name: str) -> None:
        self.composition = compositions()[name]
        self.parts = list(self.composition.parts)

    @cached_property
    def _specifications(self) -> dict[str, Specification]:
        made = {part.config: load(part.spec, part.config) for part in self.composition.parts.values()}
        return {name: made[part.config] for name, part in self.composition.parts.items()}

    @cached_property
    def headers(self) -> dict[str, dict[str, Any]]:
        """The header of every part, as `tidemark schema` prints it."""
        return {
            name: schema_of(specification).with_nodes(self.composition.nodes(name)).to_json()
            for name, specification in self._specifications.items()
        }

    @cached_property
    def judges(self) -> dict[str, Kernels]:
        """The compiled checks of every part."""
        made = {id(one): compile_kernels(one) for one in self._specifications.values()}
        return {name: made[id(one)] for name, one in self._specifications.items()}

    def verdicts(self, runs: Sequence[ComposedResult]) -> dict[str, list[set[str]]]:
        """Per part what each run's trace fails in; nothing if it passes. A trace that is cut at a capacity is a
        failure."""
        return {name: self.judge(name, [one.parts[name].stream for one in runs]) for name in self.parts}

    def judge(self, part: str, streams: Sequence[bytes]) -> list[set[str]]:
        """The checks that each of a part's traces fails in."""
        kernels = self.judges[part]
        ends = np.cumsum([0, *map(len, streams)], dtype=np.int64)
        result = kernels.check(np.frombuffer(b"".join(streams), dtype=np.uint8), ends)
        return [
            {kernels.checks[check] for check in np.nonzero(first >= 0)[0]} | ({UNDECIDED} if verdict == 2 else set())
            for verdict, first in zip(result.verdict, result.first, strict=True)
        ]


class CommitsAtOnce(ReplicatedLog[Any]):
    """A log that counts every appended record as committed, wherever the high watermark is."""

    __slots__ = ()

    def commit(self) -> Payload | None:
        pending = self.pending[self.leader]
        if not pending:
            return None
        payload, _ = pending.popleft()
        self.committed.append(payload)
        return payload


def simulator(headers: dict[str, dict[str, Any]], profile: str = "mixed") -> ComposedSimulator:
    """Of a group over its log."""
    return ComposedSimulator(headers["replication"], headers["classic-group"], profile=profile)


def rests(stream: bytes) -> bool:
    """Whether a trace claims that faults have stopped, so that quiescence is judged."""
    ends = np.array([0, len(stream)], np.int64)
    return bool(at_rest(np.frombuffer(stream, np.uint8), ends)[0])


def assert_right(composed: Composed, above: str, runs: Sequence[ComposedResult]) -> None:
    """All parts conform. Every healed run claims rest and has come to it. Clients find everything they were told, and
    more than half of the runs heal."""
    assert composed.verdicts(runs) == {name: [set()] * len(runs) for name in composed.parts}
    for one in runs:
        assert {name for name, part in one.parts.items() if rests(part.stream)} == {
            name for name, part in one.parts.items() if part.healed
        }
    assert all(part.converged for one in runs for part in one.parts.values() if part.healed)
    assert not any(part.lost for one in runs for part in one.parts.values())
    healed = [one.parts[above] for one in runs if one.parts[above].healed]
    assert all(one.acked for one in healed)
    assert len(healed) > len(runs) // 2


def totals(runs: Sequence[ComposedResult]) -> Mapping[str, int]:
    """Counts over the logs of all runs: fail-overs, and records kept, dropped and orphaned."""
    return {what: sum(getattr(one, what) for one in runs) for what in ("fail_overs", "kept", "dropped", "orphaned")}
