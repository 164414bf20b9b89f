"""Every event that can happen to transactions under simulation: the coordinators' and the partitions', beside those of
the processes (processes.py) and of consumers (fetching.py).

Which event comes next is somebody else's choice (run.py). A method says whether something happened; what happened is an
action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.transactions.coordinator import InitVerdict, Replies
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TransactionLogValue,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.sim.network import Broker, MarkerExchange, ProduceExchange, ProduceStage, RpcExchange
from tidemark.transactions.sim.processes import Processes

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
        response = coordinator.answer_rpc(request)
        if response is not None:
            exchange.response = response
            self.recorder.did("AnswerRpc", broker, client, late)
            return True
        new_id = self.issued + 1
        if isinstance(request, InitProducerIdRequest):
            if coordinator.init_verdict(request) is InitVerdict.FENCE:
                exchange.parked, action = "fence", "FenceProducer"
                record = coordinator.fence_producer(token, new_id)
            else:
                exchange.parked, action = "init", "AppendInitProducerId"
                record = coordinator.append_init_producer_id(request, token, new_id)
        elif isinstance(request, EndTxnRequest):
            exchange.parked, action = "end", "AppendEndTxn"
            record = coordinator.append_end_txn(request, token, new_id)
        else:
            exchange.parked, action = "add", "AppendAddPartitions"
            record = coordinator.append_add_partitions(request, token)
        self._append(broker, record)
        self.recorder.did(action, broker, client, late)
        return True

    def _append(self, broker: Broker, record: TransactionLogValue) -> None:
        """A coordinator's record is in its own log; a producer id that it names is given out."""
        self.log.unreplicated[broker].append(record)
        self.issued = max(self.issued, record.producer_id, record.next_producer_id)

    def _settle(self, replies: Replies, added: bool) -> None:
        """Replies go to the waiting clients. A batch whose partition was `added` goes on."""
        for reply in replies:
            exchange = reply.token
            if isinstance(exchange, RpcExchange):
                exchange.response = reply.response
            elif isinstance(exchange, ProduceExchange) and exchange.stage is ProduceStage.ADDING:
                if added:
                    exchange.stage = ProduceStage.VERIFIED
                else:
                    self._answer(exchange, reply.response.error)

    def _answer(self, exchange: ProduceExchange, error: Errors) -> None:
        """A batch is answered; if nobody waits for it, it is gone."""
        exchange.stage, exchange.error = ProduceStage.REPLY, error
        for late in self.late_produce:
            for partition, one in enumerate(late):
                if one is exchange:
                    late[partition] = None

    def verify_partition(self, broker: Broker, client: int, partition: int, late: bool) -> bool:
        """A coordinator is asked for a batch's partition: it belongs to the transaction, or is added (TV2), or not."""
        exchange = self._batch(client, partition, late)
        if exchange is None or exchange.stage is not ProduceStage.VERIFYING:
            return False
        batch, coordinator = exchange.request, self.coordinators[broker]
        request = AddPartitionsToTxnRequest(batch.producer_id, batch.producer_epoch, partition)
        error = coordinator.verify_partition(request)
        if error is None:
            exchange.stage, exchange.broker = ProduceStage.ADDING, broker
            self._append(broker, coordinator.append_add_partitions(request, exchange))
            self.recorder.did("AppendVerified", broker, client, partition, late)
        elif error is Errors.NONE:
            exchange.stage = ProduceStage.VERIFIED
            self.recorder.did("VerifyPartition", broker, client, partition, late)
        else:
            self._answer(exchange, Errors.INVALID_PRODUCER_EPOCH if error is Errors.PRODUCER_FENCED else error)
            self.recorder.did("RefuseVerification", broker, client, partition, late)
        return True

    def abort_timed_out_transaction(self, broker: Broker) -> bool:
        """transaction.timeout.ms is over."""
        record = self.coordinators[broker].abort_timed_out_transaction(self.issued + 1)
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
        """The time of a coordinator's written record is before that of its last transition."""
        coordinator = self.coordinators[broker]
        if not self._is_written(broker) or not coordinator.clock_goes_back(coordinator.timestamp_ms - 1):
            return False
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
            self._settle(coordinator.commit_record(record), True)
        self.recorder.did("CommitRecord", broker)
        return True

    def fail_append(self, broker: Broker) -> bool:
        """Too few replicas are in sync for the record of a coordinator."""
        coordinator = self.coordinators[broker]
        if coordinator.pending is None or not self._is_written(broker):
            return False
        record = self.log.unreplicated[broker].pop()
        self._settle(coordinator.fail_append(record), False)
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
        if not coordinator.serving or (self.log.leader == broker and coordinator.epoch == self.log.epoch):
            return False
        self.log.unreplicated[broker] = []
        self._settle(coordinator.resign(), False)
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
        may = self.coordinators[broker].may_complete(self._is_written(broker))
        if may is None:
            return False
        if not may:
            self.recorder.blocked("CompleteTransaction", broker)
            return False
        self._append(broker, self.coordinators[broker].complete_transaction())
        self.recorder.did("CompleteTransaction", broker)
        return True

    def find_completion(self, broker: Broker) -> bool:
        """Two threads of a coordinator find that a transaction is complete."""
        if not self.coordinators[broker].find_completion():
            return False
        self.recorder.did("FindCompletion", broker)
        return True

    def complete_again(self, broker: Broker) -> bool:
        """The second of them goes on."""
        coordinator = self.coordinators[broker]
        if not coordinator.may_complete_again():
            return False
        record = coordinator.complete_again()
        if record is not None:
            self._append(broker, record)
        self.recorder.did("CompleteAgain", broker)
        return True

    def handle_marker(self, broker: Broker, partition: int, late: bool) -> bool:
        """A partition's leader gets a marker, and writes it or refuses it."""
        slots = (self.late_marker if late else self.marker)[broker]
        exchange, log = slots[partition], self.partitions[partition]
        if exchange is None or not exchange.under_way:
            return False
        if late:
            slots[partition] = None
        request = exchange.request
        error = log.marker_error(request)
        if error is Errors.NONE:
            exchange.offset = log.append_marker(request)
            self.recorder.did("AppendMarker", broker, partition, late)
        else:
            exchange.response = WriteTxnMarkersResponse(request.coordinator_epoch, error)
            self.recorder.did("RejectMarker", broker, partition, late)
        return True

    # --- partitions -------------------------------------------------------------------------------------------------

    def _batch(self, client: int, partition: int, late: bool) -> ProduceExchange | None:
        return (self.late_produce if late else self.produce)[client][partition]

    def handle_produce(self, client: int, partition: int, late: bool) -> bool:
        """A partition's leader goes on with a batch: it asks for its verification, or writes, or answers."""
        exchange, log = self._batch(client, partition, late), self.partitions[partition]
        if exchange is None or exchange.stage not in (ProduceStage.REQUEST, ProduceStage.VERIFIED):
            return False
        request = exchange.request
        verified = exchange.stage is ProduceStage.VERIFIED
        if not verified and log.must_verify(request):
            exchange.stage, exchange.guard = ProduceStage.VERIFYING, log.start_verification(request)
            self.recorder.did("StartVerification", client, partition, late)
            return True
        old = log.duplicate_of(request)
        if old is not None:
            self._written(exchange, old)
            if late or old < log.high_watermark:
                self._answer(exchange, Errors.NONE)
            self.recorder.did("AnswerDuplicate", client, partition, late)
            return True
        error = log.append_error(request, exchange.guard if verified else None)
        if error is not Errors.NONE:
            self._answer(exchange, error)
            self.recorder.did("RejectBatch", client, partition, late)
            return True
        self._written(exchange, log.append_batch(request))
        if late:
            self._answer(exchange, Errors.NONE)
        self.recorder.did("AppendBatch", client, partition, late)
        return True

    def refuse_offsets(self, client: int, partition: int, late: bool, error: Errors) -> bool:
        """A group refuses a TxnOffsetCommit that the transaction coordinator has let through."""
        exchange, log = self._batch(client, partition, late), self.partitions[partition]
        if not log.is_offsets or exchange is None:
            return False
        request, stage = exchange.request, exchange.stage
        asked = stage is ProduceStage.REQUEST and not log.is_stale(request) and not log.must_verify(request)
        if not asked and stage is not ProduceStage.VERIFIED:
            return False
        self._answer(exchange, error)
        self.recorder.did("RefuseOffsets", client, partition, late, GROUP_ERRORS.index(error))
        return True

    @staticmethod
    def _written(exchange: ProduceExchange, offset: int) -> None:
        exchange.stage, exchange.offset = ProduceStage.WAITING, offset

    def advance_high_watermark(self, partition: int, offset: int) -> bool:
        """The replicas have everything below an offset: the requests that wait for it are answered."""
        if not self.partitions[partition].advance_high_watermark(offset):
            return False
        for slots in self.produce:
            batch = slots[partition]
            if batch is not None and batch.stage is ProduceStage.WAITING and batch.offset < offset:
                self._answer(batch, Errors.NONE)
        for markers in self.marker:
            marker = markers[partition]
            if marker is not None and marker.offset is not None and marker.response is None and marker.offset < offset:
                marker.response = WriteTxnMarkersResponse(marker.request.coordinator_epoch, Errors.NONE)
        self.recorder.did("AdvanceHighWatermark", partition, offset)
        return True

    def expire_producer(self, partition: int, producer_id: int) -> bool:
        """A partition's leader forgets a producer that was silent for long, or may not, as something of it is under
        way."""
        log, leader = self.partitions[partition], self.log
        if not log.may_expire(producer_id):
            return False
        deposed = any(
            one.serving and not (leader.leader == broker and one.epoch == leader.epoch)
            for broker, one in enumerate(self.coordinators)
        )
        markers = [slots[partition] for slots in (*self.marker, *self.late_marker)]
        batches = [slots[partition] for slots in (*self.produce, *self.late_produce)]
        under_way = any(
            one is not None and one.under_way and one.request.producer_id == producer_id for one in markers
        ) or any(one is not None and one.outlives and one.request.producer_id == producer_id for one in batches)
        if not self.rules.track_marker_time(deposed or under_way):
            self.recorder.blocked("ExpireProducer", partition, producer_id)
            return False
        log.expire_producer(producer_id)
        self.recorder.did("ExpireProducer", partition, producer_id)
        return True

    def elect_partition_leader(self, partition: int, keep: int) -> bool:
        """Another broker leads a partition, with `keep` of its entries: waiting requests are refused."""
        log = self.partitions[partition]
        if not log.high_watermark <= keep <= len(log.log):
            return False
        log.elect_partition_leader(keep)
        gone = Errors.NOT_COORDINATOR if log.is_offsets else Errors.NOT_LEADER_OR_FOLLOWER
        for slots in (*self.produce, *self.late_produce):
            batch = slots[partition]
            if batch is not None and batch.stage not in (ProduceStage.REQUEST, ProduceStage.REPLY):
                self._answer(batch, gone)
        for markers in self.marker:
            marker = markers[partition]
            if marker is not None and marker.offset is not None and marker.response is None:
                error = Errors.NOT_LEADER_OR_FOLLOWER
                marker.response = WriteTxnMarkersResponse(marker.request.coordinator_epoch, error)
        for fetches in self.fetch:
            fetch = fetches[partition]
            if fetch is not None and fetch.waits:
                fetches[partition] = None
        self.recorder.did("ElectPartitionLeader", partition, keep)
        return True

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
