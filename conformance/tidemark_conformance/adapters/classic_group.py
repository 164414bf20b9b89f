"""The classic group's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, partial
from typing import Any

from tidemark.group.flaws import rules_without
from tidemark.group.rules import Rules
from tidemark.sim.group import MIXES, PROFILES, simulate

from tidemark_conformance.check import zoo
from tidemark_conformance.check.generate import Simulated, Simulator
from tidemark_conformance.errors import Unusable

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Where steps happen: brokers and consumers; what the network does happens nowhere."""

DEFAULT_PROFILE = "mixed"


def simulator(
    header: Mapping[str, Any], *, steps: int, flaw: str | None = None, profile: str = DEFAULT_PROFILE, **others: Any
) -> Simulator:
    """Traces of a simulated group. `flaw`: a row of the zoo, by id or number, whose rules are removed.

    Raises Unusable for an unknown flaw, profile or option.
    """
    if others:
        raise Unusable(f"the classic group's simulator has no option {sorted(others)[0]}; it takes profile")
    if profile not in PROFILES and profile not in MIXES:
        known = ", ".join(sorted([*PROFILES, *MIXES]))
        raise Unusable(f"the classic group's simulator has no profile {profile}; choose from {known}")
    rules = tuple(sorted(zoo.select([flaw])[0].rules)) if flaw else ()
    removed(rules)
    return partial(run, dict(header), steps, profile, rules)


def removed(names: Collection[str]) -> Rules:
    """The implementation's rules without some, made once. Raises Unusable for a name that is no rule."""
    return _removed(tuple(sorted(names)))


@cache
def _removed(names: tuple[str, ...]) -> Rules:
    try:
        return rules_without(names)
    except ValueError as problem:
        raise Unusable(f"{problem}; correct the rules of that row in spec/zoo.toml") from problem


def run(header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int) -> Simulated:
    """The trace of one seed, with what a client found after healing among its facts."""
    result = simulate(seed, table=header, steps=steps, profile=profile, rules=removed(without))
    facts = {
        "changing": result.changing,
        "healed": int(result.healed),
        "acknowledged": result.acked,
        "traces with lost offsets": int(result.lost > 0),
        "bad.lost offsets": result.lost,
        "bad.healed groups that did not come to rest": int(result.healed and not result.converged),
        "good.an acknowledgement after healing": int(not result.healed or result.acked > 0),
    }
    return Simulated(f"seed-{seed}", result.stream, result.steps, facts)
