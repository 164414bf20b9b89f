"""An instance that consumes, transforms and produces, each record exactly once (KIP-98, KIP-447): a consumer of a
group, and a transactional producer of its own.

The application's loop, a method each. A method returns its requests, for the caller to carry:

    send_result             a record of an owned partition is read, and its result sent; the first begins a transaction
    send_offsets            sendOffsetsToTransaction: how far it has read, and which member of which generation it is;
                            after more results once more, in the same transaction
    send_end                commitTransaction, or abortTransaction after an error
    commit_offsets          commitSync, outside a transaction
    revoke, join, sync      the group rebalances: what is open is ended first, then it gives up what it owns
    fetch_offset            it goes on where the group stands: at first, and with what an aborted transaction had read

How a consumer joins is membership.py's affair; here it is told its member id, its generation and its partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidemark.common.errors import Errors
from tidemark.exactly_once.messages import Commits, Request
from tidemark.exactly_once.rules import Rules
from tidemark.groups.messages import OffsetCommitRequest
from tidemark.groups.offset_records import ConsumerGroupMetadata
from tidemark.groups.partitions import NO_GENERATION, UNKNOWN_MEMBER_ID, MemberId, TopicPartition
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import CoordinatorResponse, EndTxnRequest
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer

OUTPUT = 0
"""The partition of the results."""
NO_POSITION = -1
"""It has to be fetched from the group."""
READS = (ProducerState.READY, ProducerState.IN_TRANSACTION)
"""The producer's states in which the application reads on."""


class MessageProcessor:
    """One process. `instance`: its group.instance.id, if it is static; `owned`, `positions`: input partitions by
    number, and the next offset of each; `processed`: the partitions whose records are in the transaction;
    `resent`: its offsets were sent again, and a copy of them may be under way; `sent`: the group has the offsets of all
    its results."""

    __slots__ = (
        "_rules",
        "_topics",
        "generation",
        "instance",
        "member_id",
        "owned",
        "positions",
        "processed",
        "producer",
        "resent",
        "sent",
    )

    def __init__(
        self, topics: Sequence[TopicPartition], instance: str | None, rules: Rules, producer: TransactionalProducer
    ) -> None:
        self._topics = topics
        self._rules = rules
        self.instance = instance
        self.member_id: MemberId = UNKNOWN_MEMBER_ID
        self.generation = NO_GENERATION
        self.owned: frozenset[int] = frozenset()
        self.positions = [NO_POSITION] * len(topics)
        self.producer = producer
        self.processed: set[int] = set()
        self.resent = False
        self.sent = False

    @property
    def is_new(self) -> bool:
        """Whether it has done nothing yet."""
        starting = self.producer.state in (ProducerState.UNINITIALIZED, ProducerState.INITIALIZING)
        return starting and self.member_id == UNKNOWN_MEMBER_ID

    # --- consume, transform, produce --------------------------------------------------------------------------------

    def send_result(self, partition: int, payload: int) -> ProduceRequest | None:
        """The result of the partition's next record, of which there must be one; None if it may not send."""
        return self.producer.send_produce(OUTPUT, payload) if self.take_record(partition) else None

    def take_record(self, partition: int) -> bool:
        """The partition's next record is in the transaction; False if its result may not be sent."""
        producer, position = self.producer, self.positions[partition]
        if position < 0 or partition not in self.owned:
            return False
        if producer.state is not ProducerState.IN_TRANSACTION and not producer.begin_transaction(1):
            return False
        self.positions[partition] = position + 1
        self.processed.add(partition)
        self.sent = False
        return True

    @property
    def has_offsets(self) -> bool:
        """Whether the transaction has processed records whose offsets the group does not have."""
        return self.producer.state is ProducerState.IN_TRANSACTION and not self.sent and bool(self.processed)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Its member id, generation and instance (Consumer.groupMetadata)."""
        return ConsumerGroupMetadata(self.member_id, self.generation, self.instance)

    def send_offsets(self, group: ConsumerGroupMetadata) -> Commits | None:
        """The offsets of all that the transaction has processed, as `group` says; () if there are none to send, None
        if they may not be sent so."""
        if not self._rules.send_group_metadata(group) or not self._rules.resent_offsets_are_last(self.resent):
            return None
        if not self.has_offsets:
            return ()
        send, topics, positions = self.producer.send_txn_offset_commit, self._topics, self.positions
        requests = [send(topics[one], positions[one], group) for one in sorted(self.processed)]
        return tuple([request for request in requests if request is not None])

    def send_end(self, committed: bool) -> EndTxnRequest | None:
        """Commit, when the group has the offsets, or abort; None if it may not."""
        state = self.producer.state
        if committed and state is ProducerState.IN_TRANSACTION and not self.sent:
            return None
        if committed and not self._rules.commit_without_error(state):
            return None
        return self.producer.send_end_txn(committed)

    def receive_reply(self, request: Request, error: Errors, end: CoordinatorResponse | None = None) -> None:
        """The reply to a result, to offsets, or (`end`) to EndTxn."""
        if isinstance(request, EndTxnRequest):
            self._receive_end(request.committed, end or CoordinatorResponse(error))
        elif isinstance(request, ProduceRequest):
            self.producer.receive_produce(error)
        else:
            self.producer.receive_txn_offset_commit(error)
            self.sent = self.sent or error is Errors.NONE

    def _receive_end(self, committed: bool, response: CoordinatorResponse) -> None:
        """After an abort, the records of the transaction are processed again."""
        if not self.producer.receive_end_txn(response):
            return
        if not committed:
            for partition in range(len(self.positions)):
                if self._rules.rewind_after_abort(partition in self.processed):
                    self.positions[partition] = NO_POSITION
        self.processed.clear()
        self.resent = False
        self.sent = False

    def repeat_request(self, request: Request) -> None:
        """The connection is lost, and the request is sent again: a copy of it may be under way."""
        self.resent = self.resent or not isinstance(request, (ProduceRequest, EndTxnRequest))

    def give_up_request(self) -> None:
        """It waits no more (delivery.timeout.ms): whether the request arrives is open."""
        self.producer.give_up_produce()

    # --- the group --------------------------------------------------------------------------------------------------

    @property
    def has_positions(self) -> bool:
        """Whether the application reads, and has a position in an owned partition."""
        return self.producer.state in READS and any(self.positions[one] >= 0 for one in self.owned)

    def commit_offsets(self) -> OffsetCommitRequest | None:
        """commitSync: its positions in the owned partitions; None if it may not commit them now."""
        if not self._rules.commit_outside_transaction(self.producer.state):
            return None
        topics, positions = self._topics, self.positions
        offsets = {topics[one]: positions[one] for one in sorted(self.owned) if positions[one] >= 0}
        return OffsetCommitRequest(self.member_id, self.generation, offsets, self.instance)

    def revoke(self) -> bool:
        """onPartitionsRevoked: it owns nothing any more, and is where it was in nothing but what is in its transaction.
        False if it may not give its partitions up now."""
        if not self._rules.revoke_outside_transaction(self.producer.state):
            return False
        self.owned = frozenset()
        for partition in range(len(self.positions)):
            if partition not in self.processed:
                self.positions[partition] = NO_POSITION
        return True

    def join(self, member_id: MemberId) -> None:
        """It has this member id, and waits for its generation."""
        self.member_id = member_id
        self.generation = NO_GENERATION

    def sync(self, generation: int, assigned: Iterable[int]) -> None:
        """It is in this generation, and owns this."""
        self.generation = generation
        self.owned = frozenset(assigned)

    def fetch_offset(self, partition: int, offset: int) -> None:
        """It goes on from the group's committed offset."""
        self.positions[partition] = offset
