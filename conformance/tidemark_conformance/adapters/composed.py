"""Protocols over really replicated logs, as `spec/protocols.toml` wants them: one run, a trace of each part.

`simulator` is the classic group's; `transactions_simulator` that of transactions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tidemark.sim.composed import MIXES, PROFILES, ComposedResult, simulate, simulate_transactions
from tidemark.sim.composed.transaction_run import MIXES as TRANSACTION_MIXES
from tidemark.sim.composed.transaction_run import PROFILES as TRANSACTION_PROFILES
from tidemark.sim.composed.transaction_run import STATE

from tidemark_conformance.adapters import classic_group, replication, transactions
from tidemark_conformance.adapters.shared import DEFAULT_PROFILE, require_options, simulated
from tidemark_conformance.check.generate import GOOD, SOME, Composed, Simulated
from tidemark_conformance.errors import Unusable

REPLICATION, GROUP, TRANSACTIONS = "replication", "classic-group", "transactions"
"""The parts, as the registry calls them; those of transactions are also STATE and the data partitions' names."""
NODES = {GROUP: classic_group.NODES, TRANSACTIONS: transactions.NODES}
"""Where steps of the protocols above happen when they have brokers of their own."""


def simulator(
    headers: Mapping[str, Mapping[str, Any]],
    *,
    steps: int,
    profile: str = DEFAULT_PROFILE,
    without: Collection[str] = (),
    **others: Any,
) -> Composed:
    """Both traces of simulated runs of a group, `without` some of its rules. Raises Unusable for an unknown profile,
    rule or option."""
    require_options("the composition", profile, {*PROFILES, *MIXES}, others)
    removed = tuple(sorted(without))
    classic_group.ADAPTER.removed(removed)
    return partial(run, dict(headers[REPLICATION]), dict(headers[GROUP]), steps, profile, removed)


def transactions_simulator(
    headers: Mapping[str, Mapping[str, Any]],
    *,
    steps: int,
    profile: str = DEFAULT_PROFILE,
    without: Collection[str] = (),
    **others: Any,
) -> Composed:
    """The traces of simulated runs of transactions, `without` some of transactions' rules. Raises Unusable for an
    unknown profile, rule or option, and for parts that are not all of a run, or logs that do not have the same
    capacities."""
    require_options("the composition", profile, {*TRANSACTION_PROFILES, *TRANSACTION_MIXES}, others)
    above = dict(headers[TRANSACTIONS])
    logs = {name: dict(header) for name, header in headers.items() if name != TRANSACTIONS}
    names = {STATE, *above["constants"]["Partitions"]}
    if logs.keys() != names or any(one != logs[STATE] for one in logs.values()):
        raise Unusable(
            f"transactions over replicated logs have the parts {TRANSACTIONS}, {', '.join(sorted(names))}, all but the "
            "first with the same cfg; correct spec/protocols.toml"
        )
    removed = tuple(sorted(without))
    transactions.ADAPTER.removed(removed)
    return partial(run_transactions, logs[STATE], above, steps, profile, removed)


def nodes_of(part: str) -> tuple[str, ...]:
    """Where steps happen in a part's traces: on the same brokers."""
    brokers = tuple(node for node in replication.NODES if node.startswith("b"))
    others = NODES.get(part, replication.NODES)
    return (*brokers, *(node for node in others if not node.startswith("b")))


def run(
    partition: dict[str, Any], group: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int
) -> dict[str, Simulated]:
    """Both traces of one seed."""
    rules = classic_group.ADAPTER.removed(without)
    result = simulate(seed, replication=partition, group=group, steps=steps, profile=profile, rules=rules)
    return _parts(seed, result, GROUP, "offsets", "groups", "batches")


def run_transactions(
    partition: dict[str, Any], above: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int
) -> dict[str, Simulated]:
    """All traces of one seed."""
    rules = transactions.ADAPTER.removed(without)
    result = simulate_transactions(
        seed, replication=partition, transactions=above, steps=steps, profile=profile, rules=rules
    )
    return _parts(seed, result, TRANSACTIONS, "or torn transactions", "transactions", "records")


def _parts(seed: int, result: ComposedResult, above: str, lost: str, healed: str, entries: str) -> dict[str, Simulated]:
    """The traces of a run, with what clients found after healing, and what the logs went through, among the facts of
    the protocol above. `lost`, `healed`: what its clients lose, and what is healed; `entries`: what its logs hold."""
    facts = {
        f"{SOME}fail-overs": result.fail_overs,
        f"{SOME}{entries} that were not committed and that a successor had": result.kept,
        f"{SOME}{entries} that were not committed and that no successor had": result.dropped,
        f"{SOME}{entries} that a deposed coordinator appended": result.orphaned,
        "runs that ended where lost records came back": int(result.returned),
    }
    highest = simulated(seed, result.parts[above], lost, healed)
    parts = {above: replace(highest, facts={**highest.facts, **facts})}
    for name, one in result.parts.items():
        if name != above:  # what is acknowledged after healing is asked of the protocol: it may not need every log
            log = simulated(seed, one, "records", "clusters")
            parts[name] = replace(log, facts={fact: n for fact, n in log.facts.items() if not fact.startswith(GOOD)})
    return parts
