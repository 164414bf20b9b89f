"""The state of transactions under simulation: processes, coordinators and their log, partitions, exchanges."""

from __future__ import annotations

from typing import NamedTuple

from tidemark.common.rule_kinds import is_rule
from tidemark.idempotence.messages import ProduceRequest
from tidemark.idempotence.producer_ids import ProducerIdManager
from tidemark.trace.recording import Recorder
from tidemark.transactions.coordinator import PendingCompleteTxn, TransactionCoordinator
from tidemark.transactions.fetcher import Fetcher
from tidemark.transactions.messages import TRANSACTION_VERSION, IsolationLevel, Partition
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import PartitionLeader
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.network import (
    Broker,
    FetchExchange,
    MarkerExchange,
    ProduceExchange,
    RpcExchange,
    TransactionStateLog,
)
from tidemark.transactions.transactional_producer import TransactionalProducer


class Acknowledged(NamedTuple):
    """A batch of which its process was told that it is written."""

    partition: int
    request: ProduceRequest


def transaction_version_of(rules: Rules) -> int:
    """The transaction.version of a cluster with these rules: without `EpochPerTransaction` it is 1."""
    return TRANSACTION_VERSION if is_rule(rules.epoch_per_transaction) else 1


class TransactionState:
    """The parts, without the events: see `TransactionCluster`. `recorder` must be set before the first event.

    `now`: the time in milliseconds, by the clocks of all brokers;
    `leaders`: who leads each partition, and `partitions`: what that broker has of it;
    `earlier_timestamp`: by broker, whether the time of its pending transition is before that of its last one;
    `pending_complete_txn`: by broker, the completion that a second thread has found, too;
    `offsets`: the partition of __consumer_offsets, if there is one; `told`: transaction -> whether its application was
    told that it committed; `acked`: the batches that processes were told to be written; `returned`: the batches that
    applications got from consumers, with their offsets, by isolation level and partition.
    """

    recorder: Recorder

    def __init__(
        self,
        clients: int,
        brokers: int,
        partitions: int,
        first: Broker,
        last_epoch: int,
        rules: Rules,
        offsets: Partition | None = None,
    ) -> None:
        self.rules = rules
        self.transaction_version = transaction_version_of(rules)
        self.producer_ids = ProducerIdManager(1)
        self.begun = 0
        self.now = 0
        self.offsets = offsets
        self.leaders = [PartitionLeader(one, self.new_partition(one)) for one in range(partitions)]
        self.partitions = [one.partition for one in self.leaders]
        self.clients = [self.new_process() for _ in range(clients)]
        self.log = TransactionStateLog(brokers, first)
        self.coordinators = [
            TransactionCoordinator(rules, last_epoch, self.producer_ids, self.transaction_version)
            for _ in range(brokers)
        ]
        self.coordinators[first].load_transactions(1, self.log.stored, 0)
        self.earlier_timestamp = [False] * brokers
        self.pending_complete_txn: list[PendingCompleteTxn | None] = [None] * brokers
        self.rpc: list[RpcExchange | None] = [None] * clients
        self.late_rpc: list[RpcExchange | None] = [None] * clients
        self.produce: list[list[ProduceExchange | None]] = [[None] * partitions for _ in range(clients)]
        self.late_produce: list[list[ProduceExchange | None]] = [[None] * partitions for _ in range(clients)]
        self.marker: list[list[MarkerExchange | None]] = [[None] * partitions for _ in range(brokers)]
        self.late_marker: list[list[MarkerExchange | None]] = [[None] * partitions for _ in range(brokers)]
        levels = sorted(IsolationLevel)
        self.consumers = [[Fetcher(level) for _ in range(partitions)] for level in levels]
        self.fetch: list[list[FetchExchange | None]] = [[None] * partitions for _ in levels]
        self.returned: list[list[list[tuple[int, ProduceRequest]]]] = [[[] for _ in range(partitions)] for _ in levels]
        self.told: dict[int, bool] = {}
        self.acked: list[Acknowledged] = []

    def new_partition(self, partition: Partition) -> TransactionalPartition:
        """A partition at a broker that has nothing of it yet."""
        return TransactionalPartition(
            self.rules, None, partition == self.offsets, transaction_version=self.transaction_version
        )

    def new_process(self) -> TransactionalProducer:
        """A process that has just started."""
        return TransactionalProducer(
            len(self.partitions),
            self.rules,
            offsets_partition=self.offsets,
            transaction_version=self.transaction_version,
        )
