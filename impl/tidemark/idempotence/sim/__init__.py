"""The simulator of idempotent producers: partitions and their leaders, processes, connections, faults by profile,
traces in the terms of IdempotentProducer."""

from __future__ import annotations

from typing import Any

from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.profiles import MIXES, PROFILES
from tidemark.idempotence.sim.run import ProducerSimulator
from tidemark.simulator.shared import Prepared, SimResult

__all__ = ["MIXES", "PROFILES", "ProducerSimulator", "SimResult", "simulate"]

_simulators = Prepared(ProducerSimulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: Rules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). What can be prepared is kept for
    the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
