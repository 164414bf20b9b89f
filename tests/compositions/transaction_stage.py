"""Transactions over replicated logs for tests: the simulator of seeds, and a run that a test drives by hand."""

from __future__ import annotations

from composing import Composed
from tidemark.compositions import transaction_run as composed_run
from tidemark.compositions.transaction_run import STATE, ReplicatedTransactionsSimulator
from tidemark.transactions.protocol import PROTOCOL
from tidemark.transactions.sim.network import Broker

TRANSACTIONS = "transactions"
B1, B2, B3 = range(3)
C1 = 0
P1, P2 = range(2)
UNCOMMITTED = 1
"""The number of that isolation level."""


def simulator(
    composed: Composed, profile: str = "mixed", without: frozenset[str] = frozenset()
) -> ReplicatedTransactionsSimulator:
    headers = composed.headers
    rules = PROTOCOL.rules_without(tuple(without))
    return ReplicatedTransactionsSimulator(headers[STATE], headers[TRANSACTIONS], profile=profile, rules=rules)


class Stage:
    """A run that a test drives by hand: b1 coordinates and leads everything; `without`: rules that are removed."""

    def __init__(self, composed: Composed, without: frozenset[str] = frozenset()) -> None:
        made = simulator(composed, "calm", without)
        runs = (composed_run.ReplicatedTransactionsRun(made, seed) for seed in range(400))
        self.run = next(one for one in runs if all(log.leader == B1 for log in one.logs))
        self.cluster = self.run.cluster
        for log in self.run.logs:
            log.room = log.payloads = 20
        for one in (*self.run.partitions.values(), self.run.above):
            one.recorder.begin()

    def fetch(self, part: int, *followers: Broker) -> None:
        """Followers of a partition fetch once each."""
        partition = self.run.logs[part].replicated
        for follower in followers:
            source = partition.hosts[follower].broker.partition.leader_id  # type: ignore[union-attr]
            assert source is not None
            connection = partition.network.fetches[follower][source]
            assert partition.send_fetch(follower)
            assert partition.receive_fetch(connection, 3)
            assert partition.receive_response(connection)
            self.run.observe(part)

    def commit(self, part: int) -> None:
        """Both followers fetch until all the leader's records are committed, and the serving broker hears of it."""
        for _ in range(3):
            self.fetch(part, B2, B3)
        self.run.hears(part)

    def elect(self, part: int, broker: Broker, *others: Broker) -> None:
        """A broker is elected; it and the others hear of it."""
        partition = self.run.logs[part].replicated
        assert partition.elect_leader(broker)
        for one in (broker, *others):
            assert partition.apply_metadata(one)
        self.run.observe(part)

    def write(self, *partitions: int) -> None:
        """A process takes the id over, begins a transaction, and writes a batch to each of these partitions."""
        cluster = self.cluster
        assert cluster.send_init_producer_id(C1, B1)
        assert cluster.handle_rpc(C1, False)
        self.commit(0)
        assert cluster.receive_rpc(C1)
        assert cluster.begin_transaction(C1)
        for partition in partitions:
            assert cluster.send_produce(C1, partition)
            assert cluster.handle_produce(C1, partition, False)
            assert cluster.verify_partition(B1, C1, partition, False)
            self.commit(0)
            assert cluster.handle_produce(C1, partition, False)

    def ends(self, composed: Composed) -> dict[str, set[str]]:
        """The checks that the traces so far fail in, by part; parts that fail in nothing are left out."""
        runs = {TRANSACTIONS: self.run.above, **self.run.partitions}
        found = {name: composed.judge(name, [run.recorder.end(False, False)])[0] for name, run in runs.items()}
        return {name: one for name, one in found.items() if one}
