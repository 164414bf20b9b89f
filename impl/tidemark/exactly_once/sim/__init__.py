"""The simulator of consume-transform-produce: instances of a group, their transactions, the group's coordinator, a
reader of the results, and faults by profile; traces in the terms of ExactlyOnce."""

from __future__ import annotations

from typing import Any

from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.profiles import MIXES, PROFILES
from tidemark.exactly_once.sim.run import ExactlyOnceSimulator
from tidemark.simulator.shared import Prepared, SimResult

__all__ = ["MIXES", "PROFILES", "ExactlyOnceSimulator", "SimResult", "simulate"]


_simulators = Prepared(ExactlyOnceSimulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: Rules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). What can be prepared is kept for
    the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
