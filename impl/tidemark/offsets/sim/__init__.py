"""The simulator of a group's committed offsets: brokers, producers, the log, faults by profile, traces in the terms of
Offsets."""

from __future__ import annotations

from typing import Any

from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.profiles import MIXES, PROFILES
from tidemark.offsets.sim.run import OffsetsSimulator
from tidemark.simulator.shared import Prepared, SimResult

__all__ = ["MIXES", "PROFILES", "OffsetsSimulator", "SimResult", "simulate"]

_simulators = Prepared(OffsetsSimulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: OffsetRules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). What can be prepared is kept for
    the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
