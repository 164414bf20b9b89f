"""The simulator of idempotent producers as `spec/protocols.toml` wants it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from tidemark.idempotence.flaws import rules_without
from tidemark.sim.idempotence import MIXES, PROFILES, simulate

from tidemark_conformance.adapters.shared import out_of_force, removing, require_options, simulated
from tidemark_conformance.check.generate import Simulated, Simulator

NODES = ("b1", "b2", "c1", "c2")
"""Where steps happen: brokers and producers; what the network does happens nowhere."""

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
    """Traces of simulated producers. `flaw`: a row of the zoo, by id or number, whose rules are removed, as are those
    of `without`.

    Raises Unusable for an unknown flaw, rule, profile or option.
    """
    require_options("idempotence", profile, {*PROFILES, *MIXES}, others)
    rules = out_of_force(flaw, without)
    removed(rules)
    return partial(run, dict(header), steps, profile, rules)


removed = removing(rules_without)
"""The implementation's rules without some, made once. Raises Unusable for a name that is no rule."""


def run(header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int) -> Simulated:
    """The trace of one seed, with what a reader found after healing among its facts."""
    result = simulate(seed, table=header, steps=steps, profile=profile, rules=removed(without))
    return simulated(seed, result, "or doubled batches", "producers")
