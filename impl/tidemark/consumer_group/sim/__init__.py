"""The simulator of a KIP-848 group: brokers, consumers, the log, faults by profile, traces in ConsumerGroup848's
terms."""

from __future__ import annotations

from typing import Any

from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.sim.profiles import MIXES, PROFILES
from tidemark.consumer_group.sim.run import ModernSimulator
from tidemark.simulator.shared import Prepared, SimResult

__all__ = ["MIXES", "PROFILES", "ModernSimulator", "SimResult", "simulate"]

_simulators = Prepared(ModernSimulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: Rules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). What can be prepared is kept for
    the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
