"""Every event that can happen to consume-transform-produce: instances', coordinators', the group's, the reader's.

Which event comes next is somebody else's choice (run.py, demonstration.py). A method says whether something happened.
The event is an action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.exactly_once.flaws import heeded
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.messages import Commits
from tidemark.exactly_once.results_partition import ResultsPartition
from tidemark.exactly_once.sim.network import Exchange, LateMarker
from tidemark.exactly_once.sim.state import ExactlyOnceState
from tidemark.groups.offset_records import ConsumerGroupMetadata, WriteTxnMarkerRequest
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.coordinator import InitVerdict
from tidemark.transactions.messages import (
    AddPartitionsToTxnRequest,
    CoordinatorResponse,
    EndTxnRequest,
    InitProducerIdRequest,
    TransactionLogValue,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidemark.transactions.transactional_producer import ProducerState


class ExactlyOnceCluster(ExactlyOnceState):
    """Instances and input partitions are numbered from 0; `target` is an output's number or `offsets`."""

    # --- transactions -----------------------------------------------------------------------------------------------

    def init_producer_id(self, i: int) -> bool:
        """initTransactions: the process gets the next epoch, or its predecessor's open transaction is aborted first."""
        producer, coordinator = self.instances[i].producer, self.coordinators[i]
        if producer.send_init_producer_id() is None:
            return False
        request = InitProducerIdRequest()
        verdict = coordinator.init_verdict(request)
        if isinstance(verdict, Errors):
            return False
        if verdict is InitVerdict.FENCE:
            self._written(i, coordinator.fence_producer(None))
            self.recorder.did("FenceProducer", i)
            return True
        response = self._written(i, coordinator.append_init_producer_id(request, i))
        if response is not None:
            producer.receive_init_producer_id(response)
        self.recorder.did("InitProducerId", i)
        return True

    def _written(self, i: int, record: TransactionLogValue) -> CoordinatorResponse | None:
        """A coordinator's record commits; returns the answer to the instance that waits for it."""
        replies = self.coordinators[i].commit_record(record)
        return replies[0].response if replies else None

    def abort_timed_out_transaction(self, i: int) -> bool:
        """transaction.timeout.ms is over."""
        record = self.coordinators[i].abort_timed_out_transaction()
        if record is None:
            return False
        self._written(i, record)
        self.recorder.did("AbortTimedOutTransaction", i)
        return True

    def write_marker(self, i: int, target: int, copy: bool) -> bool:
        """A partition learns how a transaction has ended; with `copy` it will hear of it again."""
        coordinator = self.coordinators[i]
        request = coordinator.send_marker(target)
        if request is None or (copy and self.late_marker[i] is not None):
            return False
        if self._write_marker(target, request) is not Errors.NONE:
            return False
        coordinator.receive_marker_reply(target, WriteTxnMarkersResponse(request.coordinator_epoch, Errors.NONE))
        if copy:
            self.late_marker[i] = LateMarker(target, request)
        self.recorder.did("WriteMarker", i, self.offsets - target, copy)
        return True

    def _write_marker(self, target: int, request: WriteTxnMarkersRequest) -> Errors:
        if target != self.offsets:
            return self.outputs[target].end_transaction(request)
        return self.group.end_transaction(
            WriteTxnMarkerRequest(request.producer_id, request.producer_epoch, request.committed)
        )

    def handle_late_marker(self, i: int) -> bool:
        """A copy of a marker arrives."""
        late = self.late_marker[i]
        if late is None:
            return False
        self.late_marker[i] = None
        if self._write_marker(late.target, late.request) is Errors.NONE:
            self.recorder.did("WriteLateMarker", i)
        else:
            self.recorder.did("RejectLateMarker", i)
        return True

    def lose_late_marker(self, i: int) -> bool:
        """A copy of a marker never arrives."""
        if self.late_marker[i] is None:
            return False
        self.late_marker[i] = None
        self.recorder.did("LoseLateMarker", i)
        return True

    def complete_transaction(self, i: int) -> bool:
        """All partitions have the marker."""
        coordinator = self.coordinators[i]
        if not coordinator.value.state.decided or coordinator.value.partitions:
            return False
        completion = coordinator.completion()
        record = None if completion is None else coordinator.complete_transaction(completion)
        if record is None:
            return False
        self._written(i, record)
        self.recorder.did("CompleteTransaction", i)
        return True

    # --- the instances ----------------------------------------------------------------------------------------------

    def send_result(self, i: int, p: int) -> bool:
        """An instance processes the next record of a partition."""
        if self.rpc[i] is not None:
            return False
        position = self.instances[i].positions[p]
        if not 0 <= position < self.inputs[p] or not self._send(i, p, self.payload(p, position)):
            return False
        self.recorder.did("SendResult", i, p)
        return True

    def _send(self, i: int, p: int, payload: int) -> bool:
        request = self.instances[i].send_result(p, payload)
        if request is None:
            return False
        self.rpc[i] = Exchange(request)
        return True

    def send_offsets(self, i: int) -> bool:
        """An instance commits how far it has read, or aborts its transaction if it has sent other offsets again."""
        instance = self.instances[i]
        return self.send_txn_offset_commit(i, True) or (
            instance.resent and instance.has_offsets and self.send_end_txn(i, False)
        )

    def send_txn_offset_commit(self, i: int, named: bool) -> bool:
        """An instance commits how far it has read; `named`: with its group metadata, and not by group id alone."""
        instance = self.instances[i]
        if self.rpc[i] is not None or not instance.has_offsets:
            return False
        requests = instance.send_offsets(instance.group_metadata() if named else ConsumerGroupMetadata())
        if requests is None:
            self.recorder.blocked("SendTxnOffsetCommit", i, named)
            return False
        if not requests:
            return False
        self.rpc[i] = Exchange(requests)
        self.recorder.did("SendTxnOffsetCommit", i, named)
        return True

    def send_end_txn(self, i: int, committed: bool) -> bool:
        """An instance ends its transaction."""
        if self.rpc[i] is not None:
            return False
        request = self.instances[i].send_end(committed)
        if request is None:
            if committed and self.instances[i].producer.state is ProducerState.ABORTABLE_ERROR:
                self.recorder.blocked("SendEndTxn", i, int(committed))
            return False
        self.rpc[i] = Exchange(request)
        self.recorder.did("SendEndTxn", i, int(committed))
        return True

    def receive_reply(self, i: int) -> bool:
        """A reply arrives."""
        exchange, instance = self.rpc[i], self.instances[i]
        if exchange is None or exchange.error is None:
            return False
        self.rpc[i] = None
        instance.receive_reply(exchange.request, exchange.error, exchange.end)
        self.recorder.did("ReceiveReply", i)
        return True

    def give_up_request(self, i: int) -> bool:
        """delivery.timeout.ms is over for a result, or request.timeout.ms for offsets: whether they arrive is open."""
        exchange = self.rpc[i]
        if exchange is None or isinstance(exchange.request, EndTxnRequest):
            return False
        self._leave(i, exchange)
        self.instances[i].give_up_request()
        self.recorder.did("GiveUpRequest", i)
        return True

    def _leave(self, i: int, exchange: Exchange | None) -> None:
        """Nobody waits any more for what an instance has under way; a request may still arrive."""
        self.rpc[i] = None
        if exchange is not None and not exchange.answered and self.late[i] is None:
            self.late[i] = exchange

    def repeat_request(self, i: int) -> bool:
        """A request is sent again: which of the two arrives first is open."""
        exchange = self.rpc[i]
        if exchange is None or exchange.answered or self.late[i] is not None:
            return False
        self.late[i] = Exchange(exchange.request)
        self.instances[i].repeat_request(exchange.request)
        self.recorder.did("RepeatRequest", i)
        return True

    def lose_late(self, i: int) -> bool:
        """A late request never arrives."""
        if self.late[i] is None:
            return False
        self.late[i] = None
        self.recorder.did("LoseLate", i)
        return True

    def crash(self, i: int) -> bool:
        """A process ends, and another takes its place. Nobody else hears of it."""
        if self.instances[i].is_new:
            return False
        self.instances[i] = self.new_process(i)
        self._leave(i, self.rpc[i])
        self.recorder.did("Crash", i)
        return True

    def commit_offset(self, i: int) -> bool:
        """A plain OffsetCommit of where an instance is."""
        instance, group = self.instances[i], self.group
        if not instance.has_positions or self.rpc[i] is not None:
            return False
        error = group.offset_commit_error(instance.member_id, instance.instance, instance.generation)
        if error is not Errors.NONE:
            return False  # a commit that the group refuses is no step of the specification
        request = instance.commit_offsets()
        if request is None:
            self.recorder.blocked("CommitOffset", i)
            return False
        group.commit_offsets(request)
        self.recorder.did("CommitOffset", i)
        return True

    # --- partitions and coordinators --------------------------------------------------------------------------------

    def handle(self, i: int, is_late: bool) -> bool:
        """A request of an instance arrives, or, late, is handled and answered to nobody."""
        exchange = (self.late if is_late else self.rpc)[i]
        if exchange is None or exchange.answered:
            return False
        request = exchange.request
        if isinstance(request, ProduceRequest):
            return self._handle_result(i, exchange, request, is_late)
        if isinstance(request, EndTxnRequest):
            return self._handle_end(i, exchange, request, is_late)
        return self._handle_offsets(i, exchange, request, is_late)

    def _answer(self, i: int, exchange: Exchange, error: Errors, is_late: bool) -> None:
        exchange.error = error
        if is_late:
            self.late[i] = None

    def _verified(self, i: int, question: AddPartitionsToTxnRequest | None) -> Errors:
        """The transaction coordinator's answer to a partition's leader, if that asks."""
        if question is None:
            return Errors.NONE
        coordinator = self.coordinators[i]
        error = coordinator.verify_partition(question, True)
        if error is not None:
            return heeded(self.rules, error)
        self._written(i, coordinator.append_add_partitions(question, None))
        return Errors.NONE

    def _handle_result(self, i: int, exchange: Exchange, request: ProduceRequest, is_late: bool) -> bool:
        action, error = self._append_result(i, self.outputs[OUTPUT], request)
        if error is Errors.CONCURRENT_TRANSACTIONS:
            return False
        self._answer(i, exchange, error, is_late)
        self.recorder.did(action, i, is_late)
        return True

    def _append_result(self, i: int, output: ResultsPartition, request: ProduceRequest) -> tuple[str, Errors]:
        """The action that a batch for an output leads to, and the error it is answered with."""
        end = len(output.log)
        error = output.append_result(request, self._verified(i, output.verify_result(request)))
        if error is not Errors.NONE:
            return "RejectResult", error
        return "AppendResult" if len(output.log) > end else "AnswerDuplicate", error

    def _handle_offsets(self, i: int, exchange: Exchange, requests: Commits, is_late: bool) -> bool:
        group = self.group
        answer = self._verified(i, group.verify_transactional_offsets(requests, self.offsets))
        error = group.commit_transactional_offsets(requests, answer)
        if error is Errors.CONCURRENT_TRANSACTIONS:
            return False
        self._answer(i, exchange, error, is_late)
        action = "HandleTxnOffsetCommit" if error is Errors.NONE else "RejectTxnOffsetCommit"
        self.recorder.did(action, i, is_late)
        return True

    def _handle_end(self, i: int, exchange: Exchange, request: EndTxnRequest, is_late: bool) -> bool:
        coordinator = self.coordinators[i]
        response = coordinator.end_txn_answer(request)
        if response is None:
            action = "HandleEndTxn"
            response = self._written(i, coordinator.append_end_txn(request, i))
        elif response.error is Errors.CONCURRENT_TRANSACTIONS:
            return False
        else:
            action = "AnswerEndTxn"
        if response is not None:
            exchange.end = response
            self._answer(i, exchange, response.error, is_late)
        self.recorder.did(action, i, is_late)
        return True

    # --- the group --------------------------------------------------------------------------------------------------

    def must_rejoin(self, i: int) -> bool:
        """Whether an instance is out, or hears that the group rebalances, or has given up what it was assigned."""
        instance, group = self.instances[i], self.group
        if group.is_rebalancing(instance.member_id, instance.generation):
            return True
        return not instance.owned and instance.member_id in group.owner

    def revoke_partitions(self, i: int) -> bool:
        """An instance hears that the group rebalances, and gives up what it owns."""
        instance = self.instances[i]
        if not instance.owned or self.rpc[i] is not None:
            return False
        if not instance.revoke():
            self.recorder.blocked("RevokePartitions", i)
            return False
        self.recorder.did("RevokePartitions", i)
        return True

    def join_group(self, i: int) -> bool:
        """An instance that owns nothing joins the next generation. If the group does not know its member id, it joins
        again at once without one."""
        instance, group = self.instances[i], self.group
        if instance.owned or self.rpc[i] is not None or instance.member_id in group.joined:
            return False
        if instance.producer.state is ProducerState.FATAL_ERROR:
            return False
        joined = group.join_group(instance.member_id, instance.instance)
        if joined is Errors.UNKNOWN_MEMBER_ID:
            joined = group.join_group(UNKNOWN_MEMBER_ID, instance.instance)
        if isinstance(joined, Errors):
            return False
        instance.join(joined)
        self.recorder.did("JoinGroup", i)
        return True

    def replace_member(self, i: int) -> bool:
        """A new process of a static instance takes the old one's place."""
        instance = self.instances[i]
        if instance.instance is None or instance.member_id:
            return False
        member_id = self.group.replace_member(instance.instance)
        if member_id is None:
            return False
        instance.member_id = member_id
        instance.sync(self.group.generation, self.group.assignment(member_id))
        self.recorder.did("ReplaceMember", i)
        return True

    def complete_join(self) -> bool:
        """The next generation begins."""
        if not self.group.complete_join():
            return False
        self.recorder.did("CompleteJoin")
        return True

    def sync_group(self, i: int) -> bool:
        """An instance learns what the generation has assigned to it."""
        instance = self.instances[i]
        if instance.generation != NO_GENERATION or instance.owned or self.rpc[i] is not None:
            return False
        assigned = self.group.sync_group(instance.member_id)
        if assigned is None:
            return False
        instance.sync(*assigned)
        self.recorder.did("SyncGroup", i)
        return True

    def remove_member(self, member_id: str) -> bool:
        """A member was not heard of for its session time-out."""
        if member_id not in self.group.members:
            return False
        self.group.remove_member(member_id)
        self.recorder.did("RemoveMember", int(member_id))
        return True

    def fetch_offset(self, i: int, p: int) -> bool:
        """An instance asks where the group stands."""
        instance = self.instances[i]
        if p not in instance.owned or instance.positions[p] >= 0 or self.rpc[i] is not None:
            return False
        offset = self.group.stable_offset(self.topics[p])
        if offset is None:
            self.recorder.blocked("FetchOffset", i, p)
            return False
        instance.fetch_offset(p, offset)
        self.recorder.did("FetchOffset", i, p)
        return True

    # --- the readers ------------------------------------------------------------------------------------------------

    def read_output(self, number: int) -> bool:
        """A consumer of the results reads on."""
        reader = self.readers[number]
        if reader.at_end:
            return False
        if not reader.read():
            self.recorder.blocked("ReadOutput")
            return False
        self.recorder.did("ReadOutput")
        return True
