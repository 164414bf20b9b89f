"""The abstraction function: what the variables of ExactlyOnce are, read off instances, coordinators and the output.

| variable | what it is here |
|---|---|
| `input` | how many records each input partition has |
| `txn` | a TransactionCoordinator's `value`: one per transactional id |
| `group`, `issued` | the TransactionalGroup's generation, members and owners; how many member ids it has issued |
| `committed`, `staged`, `known` | what the group's log comes to (offsets/metadata.py), and the epoch that its
partition has of each producer |
| `output`, `entry` | the log of the results; epoch and sequence of a producer's last batch, where its open transaction
begins |
| `read`, `returned` | a consumer of the results: how far it is, what it has got |
| `instance` | the MessageProcessor with its TransactionalProducer |
| `rpc`, `late`, `lateMarker` | what is under way |

Here are keys, plain values that mirror the variables' types (records' fields by name, sets as masks), from which cells
are made by trace/shapes.py. A member id is its number, 0 none; an instance's number is that of its producer id - 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from tidemark.common.errors import Errors
from tidemark.exactly_once.group import TransactionalGroup
from tidemark.exactly_once.message_processor import OUTPUT, MessageProcessor
from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.groups.partitions import MemberId
from tidemark.idempotence.messages import NO_EPOCH, NO_SEQUENCE, ProduceRequest
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.messages import CoordinatorResponse, EndTxnRequest, LogEntry, WriteTxnMarkersRequest
from tidemark.transactions.partition import TransactionalPartition
from tidemark.transactions.transactional_producer import ProducerState

Key = Any
IDLE: Key = ("idle",)
NONE = -1
TARGETS = {frozenset(): 0, frozenset({OUTPUT}): 2, frozenset({OUTPUT + 1}): 1, frozenset({OUTPUT, OUTPUT + 1}): 3}
"""Masks over the sorted names of the two partitions of a transaction, offsets and output."""


class InFlight(Protocol):
    """A request, or its reply: the transaction coordinator's `end`, or an error."""

    @property
    def request(self) -> ProduceRequest | tuple[TxnOffsetCommitRequest, ...] | EndTxnRequest:
        """The request."""

    @property
    def error(self) -> Errors | None:
        """What it is answered."""

    @property
    def end(self) -> CoordinatorResponse | None:
        """What EndTxn is answered."""


class Table:
    """What the abstraction needs of a trace header: names and capacities."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.instances: tuple[str, ...] = tuple(sorted(constants["Instances"]))
        self.static = tuple(one in constants["Static"] for one in self.instances)
        self.partitions: tuple[int, ...] = tuple(sorted(constants["Partitions"]))
        self.max_offset: int = constants["MaxOffset"]
        self.max_output: int = constants["MaxOutput"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_member: int = constants["MaxMember"]
        self.max_generation: int = constants["MaxGeneration"]


class Abstraction:
    """The abstraction function of one run. Raises CapacityExceeded for what the table cannot hold."""

    __slots__ = ("_partitions", "_statics")

    def __init__(self, statics: Sequence[str | None], partitions: int) -> None:
        self._statics = statics
        self._partitions = partitions

    # --- coordinators -----------------------------------------------------------------------------------------------

    def transaction(self, coordinator: TransactionCoordinator) -> Key:
        """The transaction of a transactional id."""
        value = coordinator.value
        return value.producer_epoch, TARGETS[value.partitions], value.state

    def group(self, group: TransactionalGroup) -> Key:
        """The group."""
        instances = tuple([0 if one is None else _number(group.instances.get(one, "")) for one in self._statics])
        return (
            group.generation,
            instances,
            _members(group.joined),
            _members(group.members),
            tuple(map(_number, group.owner)),
        )

    def committed(self, group: TransactionalGroup) -> Key:
        """The committed offset of every partition, 0 without one."""
        offsets = group.committed.offsets
        return tuple([offsets[one].offset if one in offsets else 0 for one in group.partitions])

    def staged(self, group: TransactionalGroup, number: int) -> Key:
        """What the transaction of an instance has staged."""
        staged = group.committed.pending.get(number + 1)
        if staged is None:
            return (NONE,) * self._partitions
        return tuple([staged[one].offset if one in staged else NONE for one in group.partitions])

    def known(self, group: TransactionalGroup, number: int) -> Key:
        """The producer epoch that the group's partition knows."""
        known = group.producers.get(number + 1)
        return NO_EPOCH if known is None else known.epoch

    # --- the output -------------------------------------------------------------------------------------------------

    def record(self, entry: LogEntry) -> Key:
        """A record of the output."""
        number = entry.producer_id - 1
        if isinstance(entry, ProduceRequest):
            offset, partition = divmod(entry.payload, self._partitions)
            return "data", entry.producer_epoch, number, offset, partition, entry.sequence
        return "marker", entry.producer_epoch, number, int(entry.committed)

    def entry(self, output: TransactionalPartition, number: int) -> Key:
        """What the output's leader knows of an instance's producer."""
        producer_id = number + 1
        entry = output.producers.entries.get(producer_id)
        first = output.transactions.first_offsets.get(producer_id, NONE)
        if entry is None:
            return NO_EPOCH, first, NO_SEQUENCE
        return entry.epoch, first, entry.batches[-1].sequence if entry.batches else NO_SEQUENCE

    def returned(self, payload: int) -> Key:
        """A result that the reader has got."""
        return divmod(payload, self._partitions)

    # --- instances --------------------------------------------------------------------------------------------------

    def instance(self, process: MessageProcessor) -> Key:
        """A process."""
        producer = process.producer
        state = producer.state
        return (
            producer.epoch,
            process.generation,
            _number(process.member_id),
            producer.sequences[OUTPUT],
            _mask(process.owned),
            tuple(process.positions),
            _mask(process.processed),
            process.sent,
            "UNINITIALIZED" if state is ProducerState.INITIALIZING else state,
        )

    def exchange(self, exchange: InFlight | None) -> Key:
        """What an instance has under way."""
        if exchange is None:
            return IDLE
        request, error = exchange.request, exchange.error
        if error is not None:
            end = exchange.end
            kind = "produce" if isinstance(request, ProduceRequest) else "commit" if end is None else "end"
            return "reply", NO_EPOCH if end is None else end.producer_epoch, error, kind
        if isinstance(request, ProduceRequest):
            offset, partition = divmod(request.payload, self._partitions)
            return "produce", request.producer_epoch, offset, partition, request.sequence
        if isinstance(request, EndTxnRequest):
            return "end", request.producer_epoch, int(request.committed)
        first = request[0]
        offsets = [NONE] * self._partitions
        for one in request:
            offsets[one.partition.partition] = one.offset
        return "commit", first.producer_epoch, first.generation_id, _number(first.member_id), tuple(offsets)

    def late_marker(self, late: tuple[int, WriteTxnMarkersRequest] | None) -> Key:
        """A copy of a marker."""
        if late is None:
            return IDLE
        target, request = late
        return "marker", request.producer_epoch, int(request.committed), 1 - target


def _number(member_id: MemberId) -> int:
    return int(member_id) if member_id else 0


def _members(members: Iterable[MemberId]) -> int:
    mask = 0
    for one in members:
        mask |= 1 << int(one) - 1
    return mask


def _mask(places: Iterable[int]) -> int:
    mask = 0
    for place in places:
        mask |= 1 << place
    return mask
