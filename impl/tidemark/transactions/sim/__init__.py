"""The simulator of transactions: processes that share a transactional id, coordinators and their log, partitions, and
faults by profile; traces in the terms of Transactions."""

from __future__ import annotations

from typing import Any

from tidemark.simulator.shared import Prepared, SimResult
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.profiles import MIXES, PROFILES
from tidemark.transactions.sim.run import TransactionSimulator

__all__ = ["MIXES", "PROFILES", "SimResult", "TransactionSimulator", "simulate"]


_simulators = Prepared(TransactionSimulator)


def simulate(
    seed: int, *, table: dict[str, Any], steps: int = 50, profile: str = "mixed", rules: Rules | None = None
) -> SimResult:
    """One trace. `table` is a trace header as `tidemark schema` prints it (a dict). What can be prepared is kept for
    the next call with the same arguments.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """
    return _simulators(table, steps=steps, profile=profile, rules=rules).run(seed)
