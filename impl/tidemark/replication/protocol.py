"""The descriptor of replication: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from tidemark.replication.flaws import VARIANTS
from tidemark.replication.rules import Rules
from tidemark.replication.sim.profiles import MIXES, PROFILES
from tidemark.replication.sim.run import Simulator
from tidemark.replication.sim.scenario import run_scenario
from tidemark.simulator.protocol import Protocol


def nodes_for(size: int) -> tuple[str, ...]:
    """The nodes of a cluster of `size` brokers."""
    return (*(f"b{number}" for number in range(1, size + 1)), "controller")


NODES = nodes_for(3)
"""Steps happen at brokers and the controller; the network's steps happen nowhere."""

PROTOCOL = Protocol(
    "replication",
    nodes=NODES,
    simulators=Simulator,
    rules=Rules,
    variants=VARIANTS,
    profiles=(*PROFILES, *MIXES),
    scenario=run_scenario,
    lost="records",
    healed="clusters",
    faults=("pause", "resume", "cut", "lag", "mend", "slow_disk", "crowd", "skew", "apply", "heartbeat"),
    sized=nodes_for,
)
