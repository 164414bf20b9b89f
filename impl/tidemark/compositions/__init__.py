"""Simulators of protocols over really replicated logs: one run is a trace of the protocol and one of every log, each in
the terms of its own specification. `simulate` is of a group, `simulate_transactions` of transactions."""

from __future__ import annotations

from typing import Any

from tidemark.classic_group.rules import Rules as GroupRules
from tidemark.compositions.group_run import MIXES, PROFILES, ComposedSimulator
from tidemark.compositions.running import ComposedResult
from tidemark.compositions.transaction_run import ReplicatedTransactionsSimulator
from tidemark.simulator.shared import Prepared
from tidemark.transactions.rules import Rules

__all__ = [
    "MIXES",
    "PROFILES",
    "ComposedResult",
    "ComposedSimulator",
    "ReplicatedTransactionsSimulator",
    "simulate",
    "simulate_transactions",
]


_groups = Prepared(ComposedSimulator)
_transactions = Prepared(ReplicatedTransactionsSimulator)


def simulate(
    seed: int,
    replication: dict[str, Any],
    group: dict[str, Any],
    *,
    steps: int = 50,
    profile: str = "mixed",
    rules: GroupRules | None = None,
) -> ComposedResult:
    """Both traces of a seed. `replication`, `group`: trace headers as `tidemark schema` prints them (dicts), with the
    same brokers; `rules`: the group's, all if None. What can be prepared is kept for the next call with the same
    arguments.

    Raises ValueError for headers of other specifications or brokers, or a profile that there is not.
    """
    return _groups(replication, group, steps=steps, profile=profile, rules=rules).run(seed)


def simulate_transactions(
    seed: int,
    replication: dict[str, Any],
    transactions: dict[str, Any],
    *,
    steps: int = 50,
    profile: str = "mixed",
    rules: Rules | None = None,
) -> ComposedResult:
    """The traces of a seed: of transactions, of the partition of __transaction_state ("transaction-state"), and of
    every data partition by its name. `replication`: the header of the latter; `rules`: transactions', all if None;
    everything else as of `simulate`.

    Raises as `simulate` does.
    """
    return _transactions(replication, transactions, steps=steps, profile=profile, rules=rules).run(seed)
