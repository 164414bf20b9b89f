"""Protocols over really replicated logs, as `spec/protocols.toml` wants them: one run, a trace of each part.

`simulator` is the classic group's; `transactions_simulator` that of transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tidemark.compositions import MIXES, PROFILES, ComposedResult, simulate, simulate_transactions
from tidemark.compositions.transaction_run import MIXES as TRANSACTION_MIXES
from tidemark.compositions.transaction_run import PROFILES as TRANSACTION_PROFILES
from tidemark.compositions.transaction_run import STATE

from tidemark_conformance.errors import Unusable
from tidemark_conformance.simulate import classic_group, replication, transactions
from tidemark_conformance.simulate.generate import GOOD, SOME, Composed, Simulated
from tidemark_conformance.simulate.shared import DEFAULT_PROFILE, Adapter, defects_named, require_options, simulated

REPLICATION, GROUP, TRANSACTIONS = "replication", "classic-group", "transactions"
"""The parts, as the registry calls them; those of transactions are also STATE and the data partitions' names."""
NODES = {GROUP: classic_group.NODES, TRANSACTIONS: transactions.NODES}
"""Where steps of the protocols above happen when they have brokers of their own."""


@dataclass(frozen=True, slots=True)
class Above:
    """A protocol over replicated logs. `part`: the name of its traces; `simulate`: what runs a seed of all; `entries`:
    what its logs hold."""

    part: str
    adapter: Adapter
    simulate: Callable[..., ComposedResult]
    profiles: frozenset[str]
    entries: str

    def simulator(
        self,
        log: Mapping[str, Any],
        header: Mapping[str, Any],
        steps: int,
        profile: str,
        without: Collection[str],
        others: Mapping[str, Any],
    ) -> Composed:
        """All traces of simulated runs. `log`: the header of the logs' traces; `header`: that of the protocol's own.

        Raises Unusable for an unknown profile, rule or option.
        """
        require_options("the composition", profile, self.profiles, others)
        removed = tuple(sorted(without))
        self.adapter.removed(removed)
        return partial(self.run, dict(log), dict(header), steps, profile, removed)

    def run(
        self, log: dict[str, Any], header: dict[str, Any], steps: int, profile: str, without: tuple[str, ...], seed: int
    ) -> dict[str, Simulated]:
        """All traces of one seed. What clients found after healing, and what the logs went through, is among the facts
        of the protocol above."""
        adapter = self.adapter
        with defects_named(f"the composition of {adapter.owner} and its logs"):
            result = self.simulate(seed, log, header, steps=steps, profile=profile, rules=adapter.removed(without))
        facts = {
            f"{SOME}fail-overs": result.fail_overs,
            f"{SOME}{self.entries} that were not committed and that a successor had": result.kept,
            f"{SOME}{self.entries} that were not committed and that no successor had": result.dropped,
            f"{SOME}{self.entries} that a deposed coordinator appended": result.orphaned,
            "runs that ended where lost records came back": int(result.returned),
        }
        highest = simulated(seed, result.parts[self.part], adapter.lost, adapter.healed)
        parts = {self.part: replace(highest, facts={**highest.facts, **facts})}
        for name, one in result.parts.items():
            if name != self.part:  # what is acknowledged after healing is asked of the protocol: not every log needs it
                log_part = simulated(seed, one, "records", "clusters")
                kept = {fact: n for fact, n in log_part.facts.items() if not fact.startswith(GOOD)}
                parts[name] = replace(log_part, facts=kept)
        return parts


ABOVE_LOG = Above(GROUP, classic_group.ADAPTER, simulate, frozenset({*PROFILES, *MIXES}), "batches")
ABOVE_LOGS = Above(
    TRANSACTIONS,
    transactions.ADAPTER,
    simulate_transactions,
    frozenset({*TRANSACTION_PROFILES, *TRANSACTION_MIXES}),
    "records",
)


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
    return ABOVE_LOG.simulator(headers[REPLICATION], headers[GROUP], steps, profile, without, others)


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
    above = headers[TRANSACTIONS]
    logs = {name: header for name, header in headers.items() if name != TRANSACTIONS}
    names = {STATE, *above["constants"]["Partitions"]}
    if logs.keys() != names or any(one != logs[STATE] for one in logs.values()):
        raise Unusable(
            f"transactions over replicated logs have the parts {TRANSACTIONS}, {', '.join(sorted(names))}, all but the "
            "first with the same cfg; correct spec/protocols.toml"
        )
    return ABOVE_LOGS.simulator(logs[STATE], above, steps, profile, without, others)


def nodes_of(part: str) -> tuple[str, ...]:
    """Where steps happen in a part's traces: on the same brokers."""
    brokers = tuple(node for node in replication.NODES if node.startswith("b"))
    others = NODES.get(part, replication.NODES)
    return (*brokers, *(node for node in others if not node.startswith("b")))
