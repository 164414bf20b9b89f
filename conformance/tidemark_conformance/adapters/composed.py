"""The classic group over a replicated log, as `spec/protocols.toml` wants it: one run, a trace of each protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tidemark.sim.composed import MIXES, PROFILES, simulate

from tidemark_conformance.adapters import classic_group, replication
from tidemark_conformance.adapters.shared import DEFAULT_PROFILE, require_options, simulated
from tidemark_conformance.check.generate import SOME, Composed, Simulated

REPLICATION, GROUP = "replication", "classic-group"
"""The parts, as the registry calls them."""


def simulator(
    headers: Mapping[str, Mapping[str, Any]], *, steps: int, profile: str = DEFAULT_PROFILE, **others: Any
) -> Composed:
    """Both traces of simulated runs. Raises Unusable for an unknown profile or option."""
    require_options("the composition", profile, {*PROFILES, *MIXES}, others)
    return partial(run, dict(headers[REPLICATION]), dict(headers[GROUP]), steps, profile)


def nodes_of(part: str) -> tuple[str, ...]:
    """Where steps happen in a part's traces: on the same brokers."""
    brokers = tuple(node for node in replication.NODES if node.startswith("b"))
    others = classic_group.NODES if part == GROUP else replication.NODES
    return (*brokers, *(node for node in others if not node.startswith("b")))


def run(partition: dict[str, Any], group: dict[str, Any], steps: int, profile: str, seed: int) -> dict[str, Simulated]:
    """Both traces of one seed, with what clients found after healing, and what the coordinators' log went through,
    among their facts."""
    result = simulate(seed, replication=partition, group=group, steps=steps, profile=profile)
    log = simulated(seed, result.replication, "records", "clusters")
    members = simulated(seed, result.group, "offsets", "groups")
    facts = {
        f"{SOME}fail-overs": result.fail_overs,
        f"{SOME}batches that were not committed and that a successor had": result.kept,
        f"{SOME}batches that were not committed and that no successor had": result.dropped,
        f"{SOME}batches that a deposed coordinator appended": result.orphaned,
        "runs that ended where lost records came back": int(result.returned),
    }
    return {REPLICATION: log, GROUP: replace(members, facts={**members.facts, **facts})}
