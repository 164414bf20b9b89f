"""Replication's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tidemark.replication.flaws import rules_without
from tidemark.sim import MIXES, PROFILES, Simulator, simulate
from tidemark.sim.run import Run
from tidemark.sim.scenario import ScenarioError, run_scenario

from tidemark_conformance.adapters.again import Replayed
from tidemark_conformance.adapters.shared import Adapter
from tidemark_conformance.errors import Unusable

NODES = ("b1", "b2", "b3", "controller")
"""Where steps happen; what the network does happens nowhere."""

ADAPTER = Adapter("replication", simulate, rules_without, frozenset({*PROFILES, *MIXES}), "records", "clusters")

simulator = ADAPTER.simulator


class ReplayedRun(Replayed, Run):
    """A run whose words are given (again.py)."""

    FAULTS = frozenset({"pause", "resume", "cut", "lag", "mend", "slow_disk", "skew", "stop"})


resimulation = ADAPTER.resimulation(Simulator, Run, ReplayedRun)


def nodes_for(size: int) -> tuple[str, ...]:
    """Where steps happen in a cluster of `size` brokers."""
    return (*(f"b{number}" for number in range(1, size + 1)), "controller")


def golden(header: Mapping[str, Any], text: str, without: Collection[str]) -> bytes:
    """The delta stream of a scenario (impl/tidemark/sim/scenario.py) with some rules removed.

    Raises Unusable for a text that is no scenario, or whose expectations do not hold.
    """
    return transcript(header, text, without)[0]


def transcript(header: Mapping[str, Any], text: str, without: Collection[str]) -> tuple[bytes, str]:
    """The delta stream of a scenario, and its transcript. Raises Unusable as `golden` does."""
    try:
        result = run_scenario(dict(header), text, ADAPTER.removed(without) if without else None)
    except ScenarioError as problem:
        raise Unusable(f"a golden scenario does not run as it says: {problem}") from problem
    return result.stream, result.transcript
