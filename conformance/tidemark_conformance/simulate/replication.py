"""Replication's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from tidemark.replication.flaws import VARIANTS
from tidemark.replication.rules import Rules
from tidemark.replication.sim import MIXES, PROFILES, Simulator, simulate
from tidemark.replication.sim.scenario import run_scenario

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "b3", "controller")
"""Where steps happen; what the network does happens nowhere."""

ADAPTER = Adapter("replication", simulate, Rules, frozenset({*PROFILES, *MIXES}), "records", "clusters", VARIANTS)

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(
    Simulator, frozenset({"pause", "resume", "cut", "lag", "mend", "slow_disk", "skew", "load"})
)

transcript = ADAPTER.transcript(run_scenario)


def nodes_for(size: int) -> tuple[str, ...]:
    """Where steps happen in a cluster of `size` brokers."""
    return (*(f"b{number}" for number in range(1, size + 1)), "controller")
