"""A simulated run of a KIP-848 group once more, with some of its events left out (again.py)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tidemark.sim.modern.run import ModernRun, ModernSimulator

from tidemark_conformance.adapters.again import Again, Replayed, rules_of
from tidemark_conformance.adapters.consumer_group import DEFAULT_PROFILE, removed


class ReplayedRun(Replayed, ModernRun):
    """A run whose words are given."""

    TICK = 100


def resimulation(header: Mapping[str, Any], trace: str, settings: Mapping[str, Any]) -> Again:
    """The repetition of the trace `seed-<n>` of a run with these settings. ValueError for another id."""
    seed = int(trace.removeprefix("seed-"))
    profile = settings.get("profile") or DEFAULT_PROFILE
    rules = removed(rules_of(settings))
    simulator = ModernSimulator(dict(header), steps=settings["steps"], profile=profile, rules=rules)
    return Again(partial(ModernRun, simulator, seed), partial(ReplayedRun, simulator, seed))
