"""One simulated run of transactions over replicated logs: chaos in the partition of __transaction_state, in the data
partitions and in transactions, then perhaps healing of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidemark.compositions.running import ComposedRunBase, ComposedSimulatorBase, PartitionRun
from tidemark.compositions.transaction_cluster import ReplicatedTransactions
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.healing import heal
from tidemark.transactions.sim.network import Broker
from tidemark.transactions.sim.profiles import CALM
from tidemark.transactions.sim.run import ROOM, TransactionRun, TransactionSimulator

PROFILES = {
    "calm": ("calm", "calm"),
    "chaos": ("chaos", "chaos"),
    "elections": ("elections", "fail-overs"),
    "restarts": ("restarts", "chaos"),
    "late": ("elections", "late"),
    "takeovers": ("chaos", "takeovers"),
    "time-outs": ("elections", "lost"),
    "consumers": ("elections", "consumers"),
    "exhausted": ("chaos", "exhausted"),
    "threads": ("elections", "threads"),
}
"""Name -> the profile of replication, and that of transactions."""

MIXES = {
    "mixed": (
        "chaos",
        "elections",
        "late",
        "consumers",
        "restarts",
        "takeovers",
        "elections",
        "time-outs",
        "exhausted",
        "threads",
    )
}
"""Names of several profiles under one: they take turns, seed by seed."""

STATE = "transaction-state"
"""The part that is the partition of __transaction_state; the data partitions are parts by their own names."""
RESERVE = 11
DATA_RESERVE = 7
"""Records that the coordinators' log, and a data partition, must still have room for when healing begins."""
MACHINE = frozenset({"pause", "resume", "slow_disk"})
"""Events of a machine, which befall all the replicas that it has; so does a crash."""


class ReplicatedTransactionsSimulator(ComposedSimulatorBase[TransactionSimulator]):
    """Transactions over replicated logs. `replication`: the header of the logs' traces, `transactions`: that of the
    others; `rules`: transactions'."""

    def __init__(
        self,
        replication: Mapping[str, Any],
        transactions: Mapping[str, Any],
        *,
        steps: int = 50,
        profile: str = "mixed",
        rules: Rules | None = None,
    ) -> None:
        super().__init__(
            ReplicatedTransactionsRun,
            TransactionSimulator,
            PROFILES,
            MIXES,
            replication,
            transactions,
            steps=steps,
            profile=profile,
            rules=rules,
        )


class OverReplication(TransactionRun):
    """A run of transactions whose coordinators and partitions are those of replication's runs: `state`, `data`."""

    def __init__(
        self, simulator: TransactionSimulator, seed: int, state: PartitionRun, data: Sequence[PartitionRun]
    ) -> None:
        self.state, self.data = state, data
        super().__init__(simulator, seed)

    def _make_cluster(self, first: Broker) -> ReplicatedTransactions:
        state = self.state.cluster
        leader = state.control.partition.leader
        self.over = ReplicatedTransactions(
            state,
            [one.cluster for one in self.data],
            self._clients,
            first if leader is None else leader,
            self.table.max_epoch,
            self.simulator.rules,
        )
        return self.over

    def _coordinator_for(self, word: int) -> Broker:
        """Whom somebody takes for the coordinator: now and then the partition's leader, which may not serve yet."""
        leader = self.state.cluster.control.partition.leader
        return super()._coordinator_for(word) if leader is None or word >> 16 & 3 else leader

    # --- what replication decides -----------------------------------------------------------------------------------

    def elect(self, word: int) -> bool:
        """The leader of the coordinators' log loads."""
        return self.over.log.epoch <= self.table.max_coordinator_epoch - ROOM and self.over.load_transactions()

    def log(self, word: int) -> bool:
        """The current coordinator learns its high watermark, or another broker loads."""
        return self.cluster.commit_record() or self.elect(word)

    def fail(self, word: int) -> bool:
        """A record is refused when the ISR is too small for it, not by chance."""
        return False

    def depose(self, word: int) -> bool:
        """Another broker leads a data partition when replication says so."""
        return False


class ReplicatedTransactionsRun(ComposedRunBase):
    """The state of one run: the runs of the logs and of transactions, and the work still to do."""

    ABOVE = "transactions"
    CALM = frozenset({*CALM, "fetch", "elect", "resign"})
    LONGEST = 1.6, 3.2

    def __init__(self, simulator: ReplicatedTransactionsSimulator, seed: int) -> None:
        super().__init__("composed transactions", simulator, seed)
        first = simulator.first_seed(seed)
        ours, theirs = simulator.of_seed(seed)
        names = theirs.table.partitions
        state = PartitionRun(ours, 3 * first, RESERVE)
        data = [PartitionRun(ours, 3 * first + 1 + place, DATA_RESERVE) for place in range(len(names))]
        self.partitions = {STATE: state, **dict(zip(names, data, strict=True))}
        self._runs = [state, *data]
        self.above = self.transactions = OverReplication(theirs, first, state, data)
        self.cluster = cluster = self.transactions.over
        self.logs = [cluster.state, *cluster.data]
        for run, log in zip(self._runs, self.logs, strict=True):
            run.limit(log)

    def replicate(self, part: int, run: PartitionRun, kind: str, word: int) -> bool:
        """An event of replication; an event of a machine happens in all partitions."""
        if kind == "crash":
            self._crash(word)
        elif kind in MACHINE:
            for one in self._runs:
                getattr(one, kind)(word)
        else:
            return super().replicate(part, run, kind, word)
        return False

    def _crash(self, word: int) -> None:
        """A machine fails: every replica on it keeps some of its unflushed records."""
        broker = word % self.cluster.state.replicated.count
        if all(one.may_crash(broker) for one in self._runs if one.runs(broker)):
            for part, one in enumerate(self._runs):
                if one.crash(word):
                    self.observe(part)

    def heal_above(self) -> bool:
        """Transactions heal."""
        return heal(self.cluster)

    def load(self, broker: Broker) -> bool:
        """A broker that leads the coordinators' log loads it, and serves."""
        return self.cluster.load(broker)

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator has heard of it."""
        return self.cluster.resign(broker)

    def lost(self) -> int:
        """How many promises to applications are broken, by the records that consumers have returned, and by the records
        that are there."""
        return self.transactions.lost() + self.cluster.lost()

    def observe(self, part: int) -> None:
        """Coordinators forget; the next one to load, and the time of its load, are events of their own. A new leader of
        a data partition loads at once."""
        if part:
            self.cluster.observe_partition(part - 1)
        else:
            self.cluster.state.observe()

    def hears(self, part: int) -> None:
        """The leader of a log learns that its high watermark has advanced."""
        if part:
            self.cluster.advance_high_watermark(part - 1, 0)
        else:
            self.cluster.commit_record()
