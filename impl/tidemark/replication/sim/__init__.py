"""The deterministic simulator: a cluster, faults by profile, traces in the specification's terms."""

from __future__ import annotations

from typing import Any

from tidemark.replication.rules import Rules
from tidemark.replication.sim.profiles import MIXES, PROFILES
from tidemark.replication.sim.run import Simulator
from tidemark.simulator.shared import Prepared, SimResult

__all__ = ["MIXES", "PROFILES", "SimResult", "Simulator", "simulate"]

_simulators = Prepared(Simulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: Rules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict); its constants say how many brokers
    there are. What can be prepared is kept for the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
