"""Transactions over really replicated logs: the coordinators' over a partition of __transaction_state, and every data
partition.

    a coordinator appends   its broker produces the record with acks=all to its replica; an ISR that is too small
                            refuses it (FailAppend)
    CommitRecord            the high watermark of the elected broker passes the record
    BecomeCoordinator,      its broker leads, and the high watermark has reached the end of its log
    LoadTransactions
    Resign                  its process has ended, or its replica follows, and another serves
    AppendBatch,            the elected broker of the data partition produces the entry with acks=all
    AppendMarker
    AdvanceHighWatermark    its high watermark has passed them
    DelayFetch, StartRead,  it is up, and has come to where its predecessors' high watermark was
    AnswerFetch
    ElectPartitionLeader    another broker leads the partition, or the same one anew, and knows its own replica

Records are lost with the suffix that a replica truncates, or loses in a crash (replicated_log.py). A record, a batch
or a marker is one record of a replicated log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidemark.common.errors import BrokenInvariant
from tidemark.compositions.replicated_log import ReplicatedLog
from tidemark.idempotence.messages import ProduceRequest
from tidemark.idempotence.producer_state import NO_TIMESTAMP
from tidemark.replication.sim.cluster import Cluster
from tidemark.transactions.messages import LogEntry, Partition, TransactionLogValue, WriteTxnMarkersRequest
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.cluster import TransactionCluster
from tidemark.transactions.sim.network import Broker, TransactionStateLog
from tidemark.transactions.sim.reader import amiss, by_markers


class ReplicatedStateLog(TransactionStateLog):
    """The coordinators' log where it is really replicated: `found` is what the replica holds that leads."""

    def __init__(self, brokers: int, leader: Broker) -> None:
        super().__init__(brokers, leader)
        self.found: Sequence[TransactionLogValue] = ()

    def last(self, broker: Broker) -> TransactionLogValue:
        """The last record of the log that a new leader has found, whatever that is."""
        return self.found[-1] if self.found else TransactionLogValue()


class TimedEntry(NamedTuple):
    """An entry of a data partition, and when its leader has appended it."""

    entry: LogEntry
    timestamp: int


class ReplicatedPartition(TransactionalPartition):
    """A data partition whose log is `replica`'s: its leader's writes are produced there."""

    __slots__ = ("replica",)

    def __init__(self, rules: Rules, transaction_version: int, replica: ReplicatedLog[TimedEntry]) -> None:
        super().__init__(rules, transaction_version=transaction_version)
        self.replica = replica

    def append_batch(self, request: ProduceRequest, now: int = NO_TIMESTAMP) -> int:
        """Write a batch."""
        return self._produced(super().append_batch(request, now))

    def append_marker(self, request: WriteTxnMarkersRequest, now: int = NO_TIMESTAMP) -> int:
        """Write a marker."""
        return self._produced(super().append_marker(request, now))

    def _produced(self, offset: int) -> int:
        replica = self.replica
        if not replica.append(replica.leader, TimedEntry(self.log[offset], self.timestamps[offset])):
            raise BrokenInvariant("a leader wrote an entry that the ISR is too small for")
        return offset


class ReplicatedTransactions(TransactionCluster):
    """`state`: the partition of __transaction_state; `data`: the data partitions. All have the same brokers.

    `refused`: the coordinator whose record the log has just refused.
    """

    def __init__(
        self, state: Cluster, data: Sequence[Cluster], clients: int, first: Broker, last_epoch: int, rules: Rules
    ) -> None:
        self.data: list[ReplicatedLog[TimedEntry]] = [ReplicatedLog(one, _leader(one)) for one in data]
        super().__init__(clients, state.count, len(data), first, last_epoch, rules)
        self.log = self.found = ReplicatedStateLog(state.count, first)
        self.state: ReplicatedLog[TransactionLogValue] = ReplicatedLog(state, first)
        self.refused: Broker | None = None

    def new_partition(self, partition: Partition) -> TransactionalPartition:
        """A data partition at a broker, whose replica has the log."""
        return ReplicatedPartition(self.rules, self.transaction_version, self.data[partition])

    # --- coordinators -----------------------------------------------------------------------------------------------

    def takes(self, broker: Broker) -> bool:
        """Whether a broker acts as coordinator, or answers that it is none: it is up, and has not forgotten its
        role."""
        if self.state.replicated.hosts[broker].up is None:
            return False
        return not self.coordinators[broker].serving or self.state.handles(broker)

    def _append(self, broker: Broker, record: TransactionLogValue) -> None:
        """A coordinator's record is produced with acks=all."""
        super()._append(broker, record)
        if not self.state.append(broker, record):
            self.refused = broker

    def _told(self, happened: bool) -> bool:
        """A handler has run: its coordinator hears at once that the log has refused the record."""
        broker, self.refused = self.refused, None
        if broker is not None:
            self.fail_append(broker)
        return happened

    def handle_rpc(self, client: int, late: bool) -> bool:
        """A coordinator handles a process's request."""
        exchange = (self.late_rpc if late else self.rpc)[client]
        if exchange is None or not self.takes(exchange.broker):
            return False
        return self._told(super().handle_rpc(client, late))

    def verify_partition(self, broker: Broker, client: int, partition: int, late: bool) -> bool:
        """A coordinator is asked for a batch's partition."""
        return self.takes(broker) and self._told(super().verify_partition(broker, client, partition, late))

    def abort_timed_out_transaction(self, broker: Broker) -> bool:
        """transaction.timeout.ms is over."""
        return self.takes(broker) and self._told(super().abort_timed_out_transaction(broker))

    def complete_transaction(self, broker: Broker) -> bool:
        """All partitions have the marker, or not yet."""
        return self.takes(broker) and self._told(super().complete_transaction(broker))

    def clock_goes_back(self, broker: Broker) -> bool:
        """A coordinator's clock goes back."""
        return self.takes(broker) and super().clock_goes_back(broker)

    def find_completion(self, broker: Broker) -> bool:
        """Two threads of a coordinator find that a transaction is complete."""
        return self.takes(broker) and super().find_completion(broker)

    def complete_again(self, broker: Broker) -> bool:
        """The second of them goes on."""
        return self.takes(broker) and self._told(super().complete_again(broker))

    def send_marker(self, broker: Broker, partition: int) -> bool:
        """A coordinator tells a partition the outcome."""
        return self.takes(broker) and super().send_marker(broker, partition)

    def receive_marker_reply(self, broker: Broker, partition: int) -> bool:
        """The reply to a marker arrives."""
        return self.takes(broker) and super().receive_marker_reply(broker, partition)

    def commit_record(self) -> bool:
        """The high watermark has passed the oldest record of the current coordinator."""
        payload = self.state.commit()
        if payload is None:
            return False
        super().commit_record()
        self.state.acknowledge(payload)
        return True

    def load(self, broker: Broker) -> bool:
        """A broker that leads takes what its replica holds for its log, and serves. If the log has lost entries that
        were seen to commit, a recorded step says so; the specification has no such step. Raises
        LostRecordsReturnedError."""
        state = self.state
        if self.coordinators[broker].serving or not state.leads_anew(broker):
            return False
        if not self.coordinators[broker].may_load(state.uncommitted(broker)):
            return False
        self.become_coordinator(broker, state.become_leader(broker))
        self.found.found = state.found()
        while self.commit_record():
            pass
        return super().load_transactions()

    def load_transactions(self) -> bool:
        """The leader loads the transactions and becomes the coordinator."""
        return not self.state.knows_leader and any(map(self.load, self.state.replicated.replicas))

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator has heard of it, and another serves."""
        if self.state.serves[broker] is not None or not super().resign(broker):
            return False
        self.state.pending[broker].clear()
        return True

    # --- data partitions --------------------------------------------------------------------------------------------

    def _writes(self, partition: int) -> bool:
        """Whether the leader of a partition acts: it is up, and its log has room for its appends."""
        log = self.data[partition]
        return log.handles(log.leader) and log.in_sync(log.leader)

    def handle_produce(self, client: int, partition: int, late: bool) -> bool:
        """A partition's leader goes on with a batch."""
        return self._writes(partition) and super().handle_produce(client, partition, late)

    def handle_marker(self, broker: Broker, partition: int, late: bool) -> bool:
        """A partition's leader gets a marker."""
        return self._writes(partition) and super().handle_marker(broker, partition, late)

    def _serves_consumers(self, partition: int) -> bool:
        """Whether the leader of a partition is up, and its high watermark has come to where its predecessors' was."""
        log = self.data[partition]
        process = log.replicated.hosts[log.leader].up
        return (
            process is not None
            and log.serves[log.leader] is not None
            and process.log.high_watermark >= self.partitions[partition].high_watermark
        )

    def handle_fetch(self, level: int, partition: int) -> bool:
        """A leader gets a fetch."""
        return self._serves_consumers(partition) and super().handle_fetch(level, partition)

    def complete_delayed_fetch(self, level: int, partition: int, timed_out: bool) -> bool:
        """A leader goes on with a fetch that waits."""
        return self._serves_consumers(partition) and super().complete_delayed_fetch(level, partition, timed_out)

    def answer_fetch(self, level: int, partition: int, most: int) -> bool:
        """A leader reads records for a response."""
        return self._serves_consumers(partition) and super().answer_fetch(level, partition, most)

    def advance_high_watermark(self, partition: int, offset: int) -> bool:
        """The high watermark of a partition's leader has passed entries, as far as it has: requests that wait for them
        are answered. (Where it would be on a logical log, `offset`, is of no interest.)"""
        log = self.data[partition]
        passed = list(iter(log.commit, None))
        if not passed:
            return False
        super().advance_high_watermark(partition, len(log.committed))
        for payload in passed:
            log.acknowledge(payload)
        return True

    def observe_partition(self, partition: int) -> None:
        """After an event of replication: the new leader of a partition takes its replica for the log. If that lacks
        entries that were seen to commit, a recorded step says so; the specification has no such step. Raises
        LostRecordsReturnedError."""
        log, known = self.data[partition], self.partitions[partition]
        log.observe()
        if log.knows_leader:
            return
        for broker in log.replicated.replicas:
            if log.leads_anew(broker):
                log.become_leader(broker)
                successor = self.new_partition(partition)
                found = log.found()
                successor.append_as_follower([one.entry for one in found], [one.timestamp for one in found])
                successor.advance_high_watermark(min(known.high_watermark, len(successor.log)))
                self._lead(partition, successor)

    # --- reading back -----------------------------------------------------------------------------------------------

    def lost(self) -> int:
        """How many promises to applications are broken. It reads below the leaders' high watermarks, by markers.
        It asks neither the elected brokers nor last stable offsets."""
        logs = [[one.entry for one in log.read_back()] for log in self.data]
        return amiss([by_markers(log) for log in logs], logs, self.told, self.acked)


def _leader(cluster: Cluster) -> Broker:
    leader = cluster.control.partition.leader
    if leader is None:
        raise BrokenInvariant("a partition begins with a leader")
    return leader
