"""Every event that can happen to transactions under simulation: the coordinators' and the partitions', beside those of
the processes (processes.py) and of consumers (fetching.py).

Which event comes next is somebody else's choice (run.py). A method says whether something happened; what happened is an
action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceResponse
from tidemark.transactions.coordinator import InitVerdict, PendingCompleteTxn, Replies
from tidemark.transactions.flaws import committed_record
from tidemark.transactions.messages import (
    EndTxnRequest,
    InitProducerIdRequest,
    TransactionLogValue,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.partition_leader import PartitionLeader, ProduceStage
from tidemark.transactions.purgatory import Replies as PartitionReplies
from tidemark.transactions.sim.network import Broker, MarkerExchange, ProduceExchange, RpcExchange
from tidemark.transactions.sim.processes import Processes
from tidemark.transactions.states import TransactionState as State

GROUP_ERRORS = (Errors.FENCED_INSTANCE_ID, Errors.ILLEGAL_GENERATION, Errors.UNKNOWN_MEMBER_ID)
"""A group's errors for a client that is not a member, or not any more, in the specification's order."""


class TransactionCluster(Processes):
    """Processes, brokers and partitions, each numbered from 0."""

    # --- coordinators -----------------------------------------------------------------------------------------------

    def handle_rpc(self, client: int, late: bool) -> bool:
        """A coordinator handles a process's request: it writes it down, or answers at once."""
        exchange = (self.late_rpc if late else self.rpc)[client]
        if exchange is None or not exchange.under_way:
            return False
        broker, request = exchange.broker, exchange.request
        coordinator, token = self.coordinators[broker], None if late else exchange
        if late:
            self.late_rpc[client] = None
        response = coordinator.answer_rpc(request, self._acting(broker))
        if response is not None:
            exchange.response = response
            self.recorder.did("AnswerRpc", broker, client, late)
            return True
        if isinstance(request, InitProducerIdRequest):
            if coordinator.init_verdict(request) is InitVerdict.FENCE:
                exchange.parked, action = "fence", "FenceProducer"
                record = coordinator.fence_producer(token)
            else:
                exchange.parked, action = "init", "AppendInitProducerId"
                record = coordinator.append_init_producer_id(request, token)
        elif isinstance(request, EndTxnRequest):
            exchange.parked, action = "end", "AppendEndTxn"
            record = coordinator.append_end_txn(request, token)
        else:
            exchange.parked, action = "add", "AppendAddPartitions"
            record = coordinator.append_add_partitions(request, token)
        self._append(broker, record)
        self.recorder.did(action, broker, client, late)
        return True

    def _acting(self, broker: Broker) -> bool:
        """Whether what a broker appends may commit."""
        return self.log.leader == broker and self.coordinators[broker].epoch == self.log.epoch

    def _append(self, broker: Broker, record: TransactionLogValue) -> None:
        """A coordinator's record is in its own log."""
        self.log.unreplicated[broker].append(record)

    def _settle(self, replies: Replies) -> None:
        """A coordinator's replies go to the waiting clients, and to the leaders that have asked for a partition."""
        for reply in replies:
            exchange = reply.token
            if isinstance(exchange, RpcExchange):
                exchange.response = reply.response
            elif isinstance(exchange, ProduceExchange):
                self._verify(exchange, reply.response.error)

    def _verify(self, exchange: ProduceExchange, error: Errors) -> None:
        """A partition's leader hears what the coordinator says of a batch."""
        response = self.leaders[exchange.partition].receive_verification(exchange, error)
        if response is not None:
            self._answer(exchange, response)

    def _answer(self, exchange: ProduceExchange, response: ProduceResponse) -> None:
        """A batch is answered; if nobody waits for it, it is gone."""
        exchange.response = response
        for late in self.late_produce:
            if late[exchange.partition] is exchange:
                late[exchange.partition] = None

    def verify_partition(self, broker: Broker, client: int, partition: int, late: bool) -> bool:
        """A coordinator is asked for a batch's partition: it belongs to the transaction, or is added (TV2), or not."""
        exchange, leader = self._batch(client, partition, late), self.leaders[partition]
        if exchange is None or exchange.broker is not None or not exchange.is_at(ProduceStage.VERIFYING):
            return False
        request = leader.verification_of(exchange)
        coordinator = self.coordinators[broker]
        error = coordinator.verify_partition(request, self._acting(broker))
        if error is None:
            exchange.broker = broker
            self._append(broker, coordinator.append_add_partitions(request, exchange))
            self.recorder.did("AppendVerified", broker, client, partition, late)
            return True
        self._verify(exchange, error)
        action = "VerifyPartition" if error is Errors.NONE else "RefuseVerification"
        self.recorder.did(action, broker, client, partition, late)
        return True

    def abort_timed_out_transaction(self, broker: Broker) -> bool:
        """transaction.timeout.ms is over."""
        record = self.coordinators[broker].abort_timed_out_transaction()
        if record is None:
            return False
        self._append(broker, record)
        self.recorder.did("AbortTimedOutTransaction", broker)
        return True

    def _is_written(self, broker: Broker) -> bool:
        """Whether the record of a coordinator's pending transition is in its log."""
        own, pending = self.log.unreplicated[broker], self.coordinators[broker].pending
        return bool(own) and own[-1].state is pending

    def clock_goes_back(self, broker: Broker) -> bool:
        """A coordinator's clock was behind the time of its last transition when it wrote its record."""
        if not self._is_written(broker) or self.earlier_timestamp[broker]:
            return False
        self.earlier_timestamp[broker] = True
        self.recorder.did("ClockGoesBack", broker)
        return True

    def commit_record(self) -> bool:
        """The oldest record of the log is replicated."""
        broker = self.log.leader
        own = self.log.unreplicated[broker]
        if not own:
            return False
        coordinator = self.coordinators[broker]
        mine = coordinator.pending is not None and self._is_written(broker) and len(own) == 1
        record = self.log.stored = own.pop(0)
        if mine:
            self._commit(broker, record)
        self.recorder.did("CommitRecord", broker)
        return True

    def _commit(self, broker: Broker, record: TransactionLogValue) -> None:
        """A coordinator's record counts. The last transaction's second thread is too late for the next decision."""
        coordinator = self.coordinators[broker]
        time = coordinator.timestamp_ms - 1 if self.earlier_timestamp[broker] else self.now
        self._settle(committed_record(self.rules, coordinator, record, time))
        if coordinator.pending is not None:
            return
        self.earlier_timestamp[broker] = False
        if record.state.decided or record.state is State.EMPTY:
            self.pending_complete_txn[broker] = None

    def fail_append(self, broker: Broker) -> bool:
        """Too few replicas are in sync for the record of a coordinator."""
        coordinator = self.coordinators[broker]
        if coordinator.pending is None or not self._is_written(broker):
            return False
        record = self.log.unreplicated[broker].pop()
        self.earlier_timestamp[broker] = False
        self._settle(coordinator.fail_append(record))
        self.recorder.did("FailAppend", broker)
        return True

    def become_coordinator(self, broker: Broker, keep: int) -> bool:
        """Another broker is elected, which has the first `keep` of the records that are not committed."""
        log, old = self.log, self.log.leader
        if broker == old or self.coordinators[broker].serving or keep > len(log.unreplicated[old]):
            return False
        log.unreplicated[broker] = log.unreplicated[old][:keep]
        if not self.coordinators[old].serving:
            log.unreplicated[old] = []
        log.leader, log.epoch = broker, log.epoch + 1
        self.recorder.did("BecomeCoordinator", broker, keep)
        return True

    def load_transactions(self) -> bool:
        """The elected broker loads its log, or waits for it to be committed."""
        log, broker = self.log, self.log.leader
        coordinator = self.coordinators[broker]
        if coordinator.serving:
            return False
        if not coordinator.load_transactions(log.epoch, log.last(broker), len(log.unreplicated[broker])):
            self.recorder.blocked("LoadTransactions", broker)
            return False
        self.recorder.did("LoadTransactions", broker)
        return True

    def resign(self, broker: Broker) -> bool:
        """A coordinator hears that it was deposed."""
        coordinator = self.coordinators[broker]
        if not coordinator.serving or self._acting(broker):
            return False
        self.log.unreplicated[broker] = []
        self.earlier_timestamp[broker], self.pending_complete_txn[broker] = False, None
        self._settle(coordinator.resign())
        self.recorder.did("Resign", broker)
        return True

    # --- markers ----------------------------------------------------------------------------------------------------

    def send_marker(self, broker: Broker, partition: int) -> bool:
        """A coordinator tells a partition the outcome."""
        request = self.coordinators[broker].send_marker(partition)
        if request is None or self.marker[broker][partition] is not None:
            return False
        self.marker[broker][partition] = MarkerExchange(request)
        self.recorder.did("SendMarker", broker, partition)
        return True

    def receive_marker_reply(self, broker: Broker, partition: int) -> bool:
        """The reply to a marker arrives."""
        exchange = self.marker[broker][partition]
        if exchange is None or exchange.response is None:
            return False
        self.marker[broker][partition] = None
        self.coordinators[broker].receive_marker_reply(partition, exchange.response)
        self.recorder.did("ReceiveMarkerReply", broker, partition)
        return True

    def complete_transaction(self, broker: Broker) -> bool:
        """All partitions have the marker, or not yet."""
        coordinator = self.coordinators[broker]
        may = coordinator.may_complete()
        if may is None:
            return False
        if not may:
            self.recorder.blocked("CompleteTransaction", broker)
            return False
        completion = coordinator.completion()
        if completion is None:
            return False
        self._complete(broker, completion)
        self.recorder.did("CompleteTransaction", broker)
        return True

    def _complete(self, broker: Broker, completion: PendingCompleteTxn) -> None:
        """A thread of a coordinator completes what it has found, if it is not too late."""
        record = self.coordinators[broker].complete_transaction(completion)
        if record is not None:
            self._append(broker, record)

    def find_completion(self, broker: Broker) -> bool:
        """Two threads of a coordinator read the last replies, and both find that no marker is missing."""
        coordinator = self.coordinators[broker]
        value, entry = coordinator.value, coordinator.pending_markers
        if entry is None or not value.state.decided or value.partitions or coordinator.pending is not None:
            return False
        if self.pending_complete_txn[broker] is not None:
            return False
        self.pending_complete_txn[broker] = entry
        self.recorder.did("FindCompletion", broker)
        return True

    def complete_again(self, broker: Broker) -> bool:
        """The second of them goes on, when the first has written the completion."""
        coordinator, completion = self.coordinators[broker], self.pending_complete_txn[broker]
        if completion is None or coordinator.pending is not None or coordinator.value.state.decided:
            return False
        self.pending_complete_txn[broker] = None
        self._complete(broker, completion)
        self.recorder.did("CompleteAgain", broker)
        return True

    def handle_marker(self, broker: Broker, partition: int, late: bool) -> bool:
        """A partition's leader gets a marker, and writes it or refuses it."""
        slots = (self.late_marker if late else self.marker)[broker]
        exchange = slots[partition]
        if exchange is None or not exchange.under_way:
            return False
        if late:
            slots[partition] = None
        outcome = self.leaders[partition].handle_marker(exchange.request, exchange, self.now)
        if isinstance(outcome, WriteTxnMarkersResponse):
            exchange.response = outcome
            self.recorder.did("RejectMarker", broker, partition, late)
        else:
            exchange.offset = outcome
            self.recorder.did("AppendMarker", broker, partition, late)
        return True

    # --- partitions -------------------------------------------------------------------------------------------------

    def _batch(self, client: int, partition: int, late: bool) -> ProduceExchange | None:
        return (self.late_produce if late else self.produce)[client][partition]

    def handle_produce(self, client: int, partition: int, late: bool) -> bool:
        """A partition's leader goes on with a batch: it asks for its verification, or writes, or answers."""
        exchange, leader = self._batch(client, partition, late), self.leaders[partition]
        if exchange is None or exchange.response is not None:
            return False
        pending = exchange.pending
        if pending is None:
            outcome = leader.handle_produce(exchange.request, exchange, self.now)
        elif pending.stage is ProduceStage.VERIFIED:
            outcome = leader.handle_verified(exchange, self.now)
        else:
            return False
        if isinstance(outcome, ProduceResponse):
            self._answer(exchange, outcome)
            action = "RejectBatch" if outcome.error is not Errors.NONE else "AnswerDuplicate"
        else:
            exchange.pending = outcome
            if outcome.stage is ProduceStage.VERIFYING:
                action = "StartVerification"
            else:
                action = "AnswerDuplicate" if outcome.duplicate else "AppendBatch"
                if late:
                    self.late_produce[client][partition] = None
        self.recorder.did(action, client, partition, late)
        return True

    def refuse_offsets(self, client: int, partition: int, late: bool, error: Errors) -> bool:
        """A group refuses a TxnOffsetCommit that the transaction coordinator has let through."""
        exchange, leader = self._batch(client, partition, late), self.leaders[partition]
        if partition != self.offsets or exchange is None or exchange.response is not None:
            return False
        response = leader.refuse_offsets(exchange.request, exchange, error)
        if response is None:
            return False
        self._answer(exchange, response)
        self.recorder.did("RefuseOffsets", client, partition, late, GROUP_ERRORS.index(error))
        return True

    def _deliver(self, replies: PartitionReplies) -> None:
        """A leader's replies go to the processes and coordinators that wait for them."""
        for token, response in replies:
            if isinstance(token, MarkerExchange) and isinstance(response, WriteTxnMarkersResponse):
                token.response = response
            elif isinstance(token, ProduceExchange) and isinstance(response, ProduceResponse):
                self._answer(token, response)

    def advance_high_watermark(self, partition: int, offset: int) -> bool:
        """The replicas have everything below an offset: the requests that wait for it are answered."""
        replies = self.leaders[partition].advance_high_watermark(offset)
        if replies is None:
            return False
        self._deliver(replies)
        self.recorder.did("AdvanceHighWatermark", partition, offset)
        return True

    def expire_producer(self, partition: int, producer_id: int) -> bool:
        """A partition's leader looks whether a producer has expired. The specification has no clock: it refuses that
        while something may outlive the expiration, and only then a refusal is told."""
        log = self.partitions[partition]
        if log.expire_producer(producer_id, self.now):
            self.recorder.did("ExpireProducer", partition, producer_id)
            return True
        if log.expires_at(producer_id) is not None and self._may_outlive(partition, producer_id):
            self.recorder.blocked("ExpireProducer", partition, producer_id)
        return False

    def let_expire(self, partition: int, producer_id: int) -> bool:
        """Time goes on until a leader may forget a producer: then the leader looks. Nothing outlives the expiration
        (`EnvironmentNothingOutlivesExpiration`): while something may, time does not go on for so long, and no leader
        looks that would forget."""
        expires_at = self.partitions[partition].expires_at(producer_id)
        if expires_at is None:
            return False
        if not self._may_outlive(partition, producer_id):
            self.now = max(self.now, expires_at)
        elif self.now >= expires_at:
            return False
        return self.expire_producer(partition, producer_id)

    def _may_outlive(self, partition: int, producer_id: int) -> bool:
        """Whether a deposed coordinator has not heard of that, or a batch or marker of a producer is under way to a
        partition, or is being verified there."""
        if any(one.serving and not self._acting(broker) for broker, one in enumerate(self.coordinators)):
            return True
        markers = [slots[partition] for slots in (*self.marker, *self.late_marker)]
        if any(one is not None and one.under_way and one.request.producer_id == producer_id for one in markers):
            return True
        batches = [slots[partition] for slots in (*self.produce, *self.late_produce)]
        return any(one is not None and one.outlives and one.request.producer_id == producer_id for one in batches)

    def elect_partition_leader(self, partition: int, keep: int) -> bool:
        """Another broker leads a partition. It has copied the log, and loses what is not among the first `keep`
        entries."""
        leader = self.partitions[partition]
        if not leader.high_watermark <= keep <= len(leader.log):
            return False
        successor = self.new_partition(partition)
        successor.append_as_follower(leader.log, leader.timestamps)
        successor.truncate_to(keep)
        successor.advance_high_watermark(leader.high_watermark)
        self._lead(partition, successor)
        return True

    def _lead(self, partition: int, successor: TransactionalPartition) -> None:
        """Another broker leads a partition, and has this of it. The old leader refuses the requests that wait there."""
        old = self.leaders[partition]
        self.leaders[partition] = PartitionLeader(partition, successor)
        self.partitions[partition] = successor
        self._deliver(old.resign())
        for fetches in self.fetch:
            fetch = fetches[partition]
            if fetch is not None and fetch.waits:
                fetches[partition] = None
        self.recorder.did("ElectPartitionLeader", partition, len(successor.log))

    # --- the network ------------------------------------------------------------------------------------------------

    def lose_marker(self, broker: Broker, partition: int, keep: bool) -> bool:
        """A marker or its reply is lost; the partition may still read it."""
        exchange = self.marker[broker][partition]
        if exchange is None:
            return False
        keep = keep and exchange.under_way and self.late_marker[broker][partition] is None
        self.marker[broker][partition] = None
        if keep:
            self.late_marker[broker][partition] = exchange
        self.recorder.did("LoseMarker", broker, partition, keep)
        return True

    def repeat_marker(self, broker: Broker, partition: int) -> bool:
        """A marker is there twice."""
        exchange = self.marker[broker][partition]
        if exchange is None or not exchange.under_way or self.late_marker[broker][partition] is not None:
            return False
        self.late_marker[broker][partition] = MarkerExchange(exchange.request)
        self.recorder.did("RepeatMarker", broker, partition)
        return True

    def drop_late_rpc(self, client: int) -> bool:
        """A late request to a coordinator never arrives."""
        if self.late_rpc[client] is None:
            return False
        self.late_rpc[client] = None
        self.recorder.did("DropLateRpc", client)
        return True

    def drop_late_produce(self, client: int, partition: int) -> bool:
        """A late batch never arrives."""
        if self.late_produce[client][partition] is None:
            return False
        self.late_produce[client][partition] = None
        self.recorder.did("DropLateProduce", client, partition)
        return True

    def drop_late_marker(self, broker: Broker, partition: int) -> bool:
        """A late marker never arrives."""
        if self.late_marker[broker][partition] is None:
            return False
        self.late_marker[broker][partition] = None
        self.recorder.did("DropLateMarker", broker, partition)
        return True
