"""The descriptors of the compositions: protocols over really replicated logs.

One run is a trace of the protocol and one of every log, each in the terms of its own specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidemark.classic_group.protocol import PROTOCOL as CLASSIC_GROUP
from tidemark.compositions.group_run import MIXES, PROFILES, ComposedSimulator
from tidemark.compositions.running import ComposedResult
from tidemark.compositions.transaction_run import MIXES as TRANSACTION_MIXES
from tidemark.compositions.transaction_run import PROFILES as TRANSACTION_PROFILES
from tidemark.compositions.transaction_run import STATE, ReplicatedTransactionsSimulator
from tidemark.replication.protocol import PROTOCOL as REPLICATION
from tidemark.simulator.protocol import DEFAULT_PROFILE, Protocol
from tidemark.simulator.shared import Prepared
from tidemark.simulator.worlds import ANY_WORLD, is_world
from tidemark.transactions.protocol import PROTOCOL as TRANSACTIONS


class Composition:
    """A protocol over replicated logs.

    `protocol`: the one above. `part`, `log`: the parts that are its traces, and those of its first log. `simulators`:
    the class of simulators. `profiles`: the names of nemesis schedules and mixes. `entries`: the word for the contents
    of its logs. `logs`: the names of all logs, from the constants of the protocol's header (None: `log` alone).
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        part: str,
        log: str,
        simulators: Callable[..., Any],
        profiles: Iterable[str],
        entries: str,
        logs: Callable[[Mapping[str, Any]], frozenset[str]] | None = None,
    ) -> None:
        self.protocol, self.part, self.log, self.entries = protocol, part, log, entries
        self.logs = logs or (lambda _: frozenset({log}))
        self.profiles = frozenset(profiles)
        self._prepared: Prepared[Any] = Prepared(simulators)

    def simulate(
        self,
        seed: int,
        log: dict[str, Any],
        table: dict[str, Any],
        *,
        steps: int = 50,
        profile: str = DEFAULT_PROFILE,
        rules: Any = None,
    ) -> ComposedResult:
        """All traces of a seed. `log`, `table`: the trace headers of the logs and of the protocol above, with the same
        brokers; `rules`: the protocol's, all if None. The simulator is kept for the next call with the same arguments,
        and serves all swarm worlds.

        Raises ValueError for headers of other specifications or brokers, or an unknown profile.
        """
        world = is_world(profile)
        simulator = self._prepared(log, table, steps=steps, profile=ANY_WORLD if world else profile, rules=rules)
        if world:
            simulator.enter(profile)
        found: ComposedResult = simulator.run(seed)
        return found

    def nodes(self, part: str) -> tuple[str, ...]:
        """The nodes in a part's traces. All parts have the same brokers."""
        brokers = tuple(node for node in REPLICATION.nodes if node.startswith("b"))
        others = self.protocol.nodes if part == self.part else REPLICATION.nodes
        return (*brokers, *(node for node in others if not node.startswith("b")))


def _logs_of_transactions(constants: Mapping[str, Any]) -> frozenset[str]:
    return frozenset({STATE, *constants["Partitions"]})


COMPOSED = Composition(
    CLASSIC_GROUP,
    part="classic-group",
    log="replication",
    simulators=ComposedSimulator,
    profiles=(*PROFILES, *MIXES),
    entries="batches",
)
COMPOSED_TRANSACTIONS = Composition(
    TRANSACTIONS,
    part="transactions",
    log=STATE,
    simulators=ReplicatedTransactionsSimulator,
    profiles=(*TRANSACTION_PROFILES, *TRANSACTION_MIXES),
    entries="records",
    logs=_logs_of_transactions,
)
