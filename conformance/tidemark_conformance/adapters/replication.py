"""Replication's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from tidemark.replication.flaws import rules_without
from tidemark.sim import MIXES, PROFILES, simulate
from tidemark.sim.scenario import ScenarioError, run_scenario

from tidemark_conformance.adapters.shared import out_of_force, removing, require_options, simulated
from tidemark_conformance.check.generate import Simulated, Simulator
from tidemark_conformance.errors import Unusable

NODES = ("b1", "b2", "b3", "controller")
"""Where steps happen; what the network does happens nowhere."""

DEFAULT_PROFILE = "mixed"


def simulator(
    header: Mapping[str, Any],
    *,
    steps: int,
    flaw: str | None = None,
    profile: str = DEFAULT_PROFILE,
    without: Collection[str] = (),
    **others: Any,
) -> Simulator:
    """Traces of the simulated cluster. `flaw`: a row of the zoo, by id or number, whose rules are removed, as are those
    of `without`.

    Raises Unusable for an unknown flaw, rule, profile or option.
    """
    require_options("replication", profile, {*PROFILES, *MIXES}, others)
    rules = out_of_force(flaw, without)
    removed(rules)
    return partial(run, dict(header), steps, profile, rules)


removed = removing(rules_without)
"""The implementation's rules without some, made once. Raises Unusable for a name that is no rule."""


def run(header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int) -> Simulated:
    """The trace of one seed, with what the client found after healing among its facts."""
    result = simulate(seed, table=header, steps=steps, profile=profile, rules=removed(without))
    return simulated(seed, result, "records", "clusters")


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
        result = run_scenario(dict(header), text, removed(without) if without else None)
    except ScenarioError as problem:
        raise Unusable(f"a golden scenario does not run as it says: {problem}") from problem
    return result.stream, result.transcript
