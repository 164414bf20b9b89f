"""The simulator of a group over a replicated log: two traces of one run, each in the terms of its own specification."""

from __future__ import annotations

from typing import Any

from tidemark.sim.composed.run import MIXES, PROFILES, ComposedResult, ComposedSimulator
from tidemark.sim.shared import Prepared

__all__ = ["MIXES", "PROFILES", "ComposedResult", "ComposedSimulator", "simulate"]


_simulators = Prepared(ComposedSimulator)


def simulate(
    seed: int, *, replication: dict[str, Any], group: dict[str, Any], steps: int = 50, profile: str = "mixed"
) -> ComposedResult:
    """Both traces of a seed. `replication`, `group`: trace headers as `tidemark schema` prints them (dicts), with the
    same brokers. What can be prepared is kept for the next call with the same arguments.

    Raises ValueError for headers of other specifications or brokers, or a profile that there is not.
    """
    return _simulators(replication, group, steps=steps, profile=profile).run(seed)
