"""Every event that can happen to the offsets of a group under simulation: the coordinators', the producers', the log's.

Which event comes next is somebody else's choice (run.py). A method says whether something happened; what happened is an
action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from typing import Any

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import (
    OffsetOutcome,
    StableOffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.offsets.abstraction import TICK_MS, OffsetsTable
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.flaws import added_partition, handled_marker, records_that_load, verified_on_arrival
from tidemark.offsets.group import LoggedGroup
from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.network import Broker, CompactedLog, OffsetExchange
from tidemark.offsets.sim.reader import Reader
from tidemark.offsets.transaction import Transaction
from tidemark.trace.recording import Recorder

Commit = OffsetExchange[TxnOffsetCommitRequest]
Marker = OffsetExchange[WriteTxnMarkerRequest]


class OffsetsCluster:
    """Brokers and producers, both numbered from 0. `recorder` must be set before the first event."""

    recorder: Recorder

    def __init__(self, table: OffsetsTable, first: Broker, rules: OffsetRules) -> None:
        producers = range(len(table.producers))
        self.now = 0
        self.rules = rules
        self.partitions = table.partitions
        self.log = CompactedLog(len(table.brokers), first)
        self.coordinators = [OffsetCoordinator(rules, table.retention_ms, LoggedGroup(rules)) for _ in table.brokers]
        self.coordinators[first].become_coordinator(1, 0, (), {})
        self.transactions = [Transaction(rules, number) for number in producers]
        self.commits: list[Commit | None] = [None for _ in producers]
        self.late: list[Commit | None] = [None for _ in producers]
        self.markers: list[Marker | None] = [None for _ in producers]
        self.late_markers: list[Marker | None] = [None for _ in producers]
        self.fetched: tuple[Broker, bool, StableOffsetFetchResponse] | None = None
        """The last answer to an OffsetFetch: who gave it, whether it is of stable offsets."""
        self.fetching: Broker | None = None
        """The coordinator that holds an OffsetFetch."""
        self._stable = False
        self.reader = Reader()
        self._tokens = 0
        self._waiting: dict[object, Commit | Marker] = {}

    def _settle(self, broker: Broker, outcome: OffsetOutcome) -> None:
        """Carries out a handler's outcome: its record is appended, its replies are sent."""
        if outcome.record is not None:
            self.log.appended[broker].append(outcome.record)
            self.reader.written(outcome.record)
        for reply in outcome.replies:
            if isinstance(reply.response, StableOffsetFetchResponse):
                self.fetched = (broker, self._stable, reply.response)
                self.fetching = None
                continue
            exchange = self._waiting.pop(reply.token, None)
            if exchange is not None:
                exchange.response = reply.response

    def _token(self) -> int:
        self._tokens += 1
        return self._tokens

    # --- time, the group, plain commits, expiry, deletion -------------------------------------------------------

    def tick(self) -> bool:
        """Time goes on."""
        self.now += TICK_MS
        self.recorder.did("Tick")
        return True

    def rebalance(self, broker: Broker, subscribed: tuple[TopicPartition, ...], mask: int) -> bool:
        """The group's members change."""
        coordinator = self.coordinators[broker]
        if not subscribed and not coordinator.written.group.subscribed:
            return False
        return self._wrote(coordinator.rebalance(subscribed, self.now), "Rebalance", broker, mask)

    def _wrote(self, outcome: OffsetOutcome | None, action: str, broker: Broker, *others: int) -> bool:
        """A handler has run: the action that it is, and its parameters' values. Whether it has written anything."""
        if outcome is None or outcome.record is None:
            return False
        self._settle(broker, outcome)
        self.recorder.did(action, broker, *others)
        return True

    def commit_offset(self, broker: Broker, number: int, offset: int) -> bool:
        """A consumer commits."""
        outcome = self.coordinators[broker].commit_offset(self.partitions[number], offset, self.now)
        return self._wrote(outcome, "CommitOffset", broker, number, offset)

    def expire_offsets(self, broker: Broker) -> bool:
        """The sweep comes."""
        return self._wrote(self.coordinators[broker].expire_offsets(self.now), "ExpireOffsets", broker)

    def delete_offset(self, broker: Broker, number: int) -> bool:
        """An operator deletes an offset, or is refused."""
        coordinator, partition = self.coordinators[broker], self.partitions[number]
        outcome = coordinator.delete_offset(partition)
        if outcome.error is Errors.GROUP_SUBSCRIBED_TO_TOPIC and coordinator.written.has_offset(partition):
            self.recorder.blocked("DeleteOffset", broker, number)
        return self._wrote(outcome, "DeleteOffset", broker, number)

    def delete_group(self, broker: Broker) -> bool:
        """An operator deletes the group, or is refused."""
        outcome = self.coordinators[broker].delete_group()
        if outcome.error is Errors.NON_EMPTY_GROUP:
            self.recorder.blocked("DeleteGroup", broker)
        return self._wrote(outcome, "DeleteGroup", broker)

    def drop_topic(self, broker: Broker, number: int) -> bool:
        """A topic is deleted."""
        outcome = self.coordinators[broker].drop_topic(self.partitions[number])
        return self._wrote(outcome, "DropTopic", broker, number)

    # --- producers ----------------------------------------------------------------------------------------------

    def begin_transaction(self, producer: int) -> bool:
        """A producer begins a transaction."""
        if not self.transactions[producer].begin():
            return False
        self.recorder.did("BeginTransaction", producer)
        return True

    def send_txn_offset_commit(self, producer: int, broker: Broker, generation: int, number: int, offset: int) -> bool:
        """A producer commits an offset within its transaction."""
        transaction = self.transactions[producer]
        if transaction.phase != "ongoing" or self.commits[producer] is not None:
            return False
        request = TxnOffsetCommitRequest(producer, transaction.epoch, generation, self.partitions[number], offset)
        self.commits[producer] = OffsetExchange(broker, request, self._token())
        self.recorder.did("SendTxnOffsetCommit", producer, broker, generation, number, offset)
        return True

    def deliver_txn_offset_commit(self, producer: int, is_late: bool) -> bool:
        """A TxnOffsetCommit moves on at its broker: it is verified, or, once it is, staged."""
        exchange = (self.late if is_late else self.commits)[producer]
        if exchange is None or exchange.arrived or exchange.response is not None:
            return False
        coordinator = self.coordinators[exchange.broker]
        if exchange.verified:
            outcome = coordinator.handle_txn_offset_commit(exchange.request, exchange.token, self.now)
        else:
            error = self._verify(producer, exchange)
            if error is Errors.NONE:
                exchange.verified = True
                self.recorder.did("VerifyTxnOffsetCommit", exchange.broker, producer, is_late)
                return True
            outcome = coordinator.reject_txn_offset_commit(exchange.token, error)
        exchange.arrived = outcome.record is not None
        if is_late:
            self.late[producer] = None
        else:
            self._waiting[exchange.token] = exchange
        self._settle(exchange.broker, outcome)
        action = "HandleTxnOffsetCommit" if exchange.arrived else "RejectTxnOffsetCommit"
        self.recorder.did(action, exchange.broker, producer, is_late)
        return True

    def _verify(self, producer: int, exchange: Commit) -> Errors:
        """A coordinator asks the transaction coordinator, if it must."""
        coordinator, request = self.coordinators[exchange.broker], exchange.request
        error = verified_on_arrival(self.rules, coordinator, request)
        if error is not Errors.NONE or coordinator.open_here(request):
            return error
        return added_partition(self.transactions[producer], request)

    def receive_txn_reply(self, producer: int) -> bool:
        """A producer hears of its TxnOffsetCommit."""
        exchange = self.commits[producer]
        if exchange is None or not isinstance(exchange.response, TxnOffsetCommitResponse):
            return False
        self.transactions[producer].receive_txn_offset_commit(exchange.response.error)
        self.commits[producer] = None
        self.recorder.did("ReceiveTxnReply", producer)
        return True

    def give_up_txn_offset_commit(self, producer: int) -> bool:
        """A producer waits no longer; the request may go on without it."""
        exchange = self.commits[producer]
        if exchange is None:
            return False
        self.commits[producer] = None
        if self.late[producer] is None and not exchange.arrived and exchange.response is None:
            self.late[producer] = exchange
        self.transactions[producer].receive_txn_offset_commit(Errors.REQUEST_TIMED_OUT)
        self.recorder.did("GiveUpTxnOffsetCommit", producer)
        return True

    # --- the transaction coordinator ----------------------------------------------------------------------------

    def end_transaction(self, producer: int, commit: bool) -> bool:
        """The outcome of a transaction is decided."""
        if self.commits[producer] is not None or not self.transactions[producer].end(commit):
            return False
        self.recorder.did("EndTransaction", producer, int(commit))
        return True

    def send_marker(self, producer: int, broker: Broker) -> bool:
        """A marker is sent."""
        request = self.transactions[producer].send_marker()
        if request is None or self.markers[producer] is not None:
            return False
        self.markers[producer] = OffsetExchange(broker, request, self._token())
        self.recorder.did("SendMarker", producer, broker)
        return True

    def deliver_marker(self, producer: int, is_late: bool) -> bool:
        """A marker arrives."""
        exchange = (self.late_markers if is_late else self.markers)[producer]
        if exchange is None or exchange.arrived or exchange.response is not None:
            return False
        if is_late:
            self.late_markers[producer] = None
        else:
            self._waiting[exchange.token] = exchange
        coordinator = self.coordinators[exchange.broker]
        outcome = handled_marker(self.rules, coordinator, exchange.request, exchange.token)
        exchange.arrived = outcome.record is not None
        self._settle(exchange.broker, outcome)
        self.recorder.did("HandleMarker" if exchange.arrived else "RejectMarker", exchange.broker, producer, is_late)
        return True

    def receive_marker_reply(self, producer: int) -> bool:
        """The transaction coordinator hears of a marker."""
        exchange = self.markers[producer]
        if exchange is None or not isinstance(exchange.response, WriteTxnMarkerResponse):
            return False
        self.transactions[producer].receive_marker_reply(exchange.response.error)
        self.markers[producer] = None
        self.recorder.did("ReceiveMarkerReply", producer)
        return True

    # --- OffsetFetch --------------------------------------------------------------------------------------------

    def fetch_offsets(self, broker: Broker, stable: bool) -> bool:
        """Somebody asks for the offsets."""
        if self.fetching is not None:
            return False
        coordinator = self.coordinators[broker]
        self._stable = stable
        outcome = coordinator.fetch_offsets(self.partitions, stable, self._token())
        if not outcome.replies:
            self.fetching = broker
        self._settle(broker, outcome)
        self.recorder.did("FetchOffsets", broker, stable)
        return True

    # --- the log ------------------------------------------------------------------------------------------------

    def commit_entry(self) -> bool:
        """The leader's oldest record is replicated."""
        log = self.log
        if not log.appended[log.leader]:
            return False
        record = log.commit()
        self.reader.committed(record)
        self._settle(log.leader, self.coordinators[log.leader].commit_entry())
        self.recorder.did("CommitEntry", log.leader)
        return True

    def compact(self, count: int, horizon: bool) -> bool:
        """The cleaner goes over the log."""
        if not 0 < count <= len(self.log.records):
            return False
        if not self.log.may_compact(count, self.rules):
            self.recorder.blocked("Compact", count, horizon)
            return False
        self.log.compact(count, horizon, self.rules)
        self.recorder.did("Compact", count, horizon)
        return True

    def become_coordinator(self, broker: Broker, keep: int) -> bool:
        """The partition gets another leader, which has the first `keep` of the old one's records."""
        log, coordinator = self.log, self.coordinators[broker]
        if coordinator.serving or keep > len(log.appended[log.leader]):
            return False
        for record in log.elect(broker, keep):
            self.reader.written(record)
        records = records_that_load(self.rules, log.records)
        coordinator.become_coordinator(log.epoch, log.end, records, log.producers)
        self.recorder.did("BecomeCoordinator", broker, keep)
        return True

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator hears of it."""
        coordinator = self.coordinators[broker]
        if not coordinator.serving or broker == self.log.leader:
            return False
        self._settle(broker, coordinator.resign())
        self.log.appended[broker].clear()
        self.recorder.did("Resign", broker)
        return True

    # --- the network --------------------------------------------------------------------------------------------

    def repeat_marker(self, producer: int) -> bool:
        """A marker will arrive twice."""
        exchange = self.markers[producer]
        if exchange is None or exchange.arrived or exchange.response is not None:
            return False
        if self.late_markers[producer] is not None:
            return False
        self.late_markers[producer] = OffsetExchange(exchange.broker, exchange.request, self._token())
        self.recorder.did("RepeatMarker", producer)
        return True

    def lose_marker(self, producer: int) -> bool:
        """A marker or its reply is lost."""
        return self._lose(self.markers, "LoseMarker", producer)

    def lose_late(self, producer: int) -> bool:
        """A late TxnOffsetCommit is lost."""
        return self._lose(self.late, "LoseLate", producer)

    def lose_late_marker(self, producer: int) -> bool:
        """A late marker is lost."""
        return self._lose(self.late_markers, "LoseLateMarker", producer)

    def _lose(self, exchanges: list[Any], action: str, producer: int) -> bool:
        if exchanges[producer] is None:
            return False
        exchanges[producer] = None
        self.recorder.did(action, producer)
        return True
