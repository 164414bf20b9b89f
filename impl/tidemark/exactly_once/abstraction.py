"""The abstraction function: the variables of ExactlyOnce, read off instances, coordinators and the output.

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

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from tidemark.common.errors import Errors
from tidemark.exactly_once.group import TransactionalGroup
from tidemark.exactly_once.message_processor import OUTPUT, MessageProcessor
from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.groups.partitions import MemberId
from tidemark.idempotence.messages import NO_EPOCH, NO_SEQUENCE, ProduceRequest
from tidemark.trace.cells import Abstract, SequenceKeys
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
        """The error that the request is answered with."""

    @property
    def end(self) -> CoordinatorResponse | None:
        """The reply to EndTxn."""


class Reader(Protocol):
    """A consumer of the results."""

    position: int
    returned: list[int]


class State(Protocol):
    """The state that the abstraction reads. `statics`: each instance's group.instance.id, if it has one."""

    inputs: tuple[int, ...]
    statics: list[str | None]
    group: TransactionalGroup

    @property
    def outputs(self) -> Sequence[TransactionalPartition]:
        """The partitions of the results; there is one."""

    @property
    def readers(self) -> Sequence[Reader]:
        """The reader of each output partition."""

    @property
    def coordinators(self) -> Sequence[TransactionCoordinator]:
        """One per transactional id."""

    @property
    def instances(self) -> Sequence[MessageProcessor]:
        """The processes."""

    @property
    def rpc(self) -> Sequence[InFlight | None]:
        """Of every instance what it waits for."""

    @property
    def late(self) -> Sequence[InFlight | None]:
        """The exchanges that the instance has given up on."""

    @property
    def late_marker(self) -> Sequence[tuple[int, WriteTxnMarkersRequest] | None]:
        """A copy of its transaction's marker."""


class Table:
    """The names and capacities that the abstraction takes from a trace header."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.instances: tuple[str, ...] = tuple(sorted(constants["Instances"]))
        self.static = tuple(one in constants["Static"] for one in self.instances)
        self.partitions: tuple[int, ...] = tuple(sorted(constants["Partitions"]))
        self.parties = {"i": self.instances}
        self.max_offset: int = constants["MaxOffset"]
        self.max_output: int = constants["MaxOutput"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_member: int = constants["MaxMember"]
        self.max_generation: int = constants["MaxGeneration"]


class Abstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit; of some it is given the instance's
    number."""

    __slots__ = ("_group", "_log", "_output", "_partitions", "_reader", "_returned", "_state", "_statics")

    def __init__(self, state: State) -> None:
        self._state = state
        self._group = state.group
        self._output = state.outputs[OUTPUT]
        self._reader = state.readers[OUTPUT]
        self._statics = state.statics
        self._partitions = len(state.inputs)
        self._log = SequenceKeys(partial(_record, self._partitions))
        self._returned = SequenceKeys(partial(_result, self._partitions))

    def forget(self) -> None:
        """All written and returned records are read again."""
        self._log.forget()
        self._returned.forget()

    def input(self) -> Key:
        """How many records each input partition has."""
        return self._state.inputs

    # --- coordinators -----------------------------------------------------------------------------------------------

    def txn(self, i: int) -> Key:
        """The transaction of a transactional id."""
        value = self._state.coordinators[i].value
        return value.producer_epoch, TARGETS[value.partitions], value.state

    def group(self) -> Key:
        """The group."""
        group = self._group
        instances = tuple([0 if one is None else _number(group.instances.get(one, "")) for one in self._statics])
        return (
            group.generation,
            instances,
            _members(group.joined),
            _members(group.members),
            tuple(map(_number, group.owner)),
        )

    def issued(self) -> Key:
        """How many member ids were issued."""
        return self._group.issued

    def committed(self) -> Key:
        """The committed offset of every partition, 0 without one."""
        offsets = self._group.offsets.committed.offsets
        return tuple([offsets[one].offset if one in offsets else 0 for one in self._group.partitions])

    def staged(self, i: int) -> Key:
        """The offsets that an instance's transaction has pending in the group."""
        staged = self._group.offsets.committed.pending.get(i + 1)
        if staged is None:
            return (NONE,) * self._partitions
        return tuple([staged[one].offset if one in staged else NONE for one in self._group.partitions])

    def known(self, i: int) -> Key:
        """The producer epoch that the group's partition knows."""
        known = self._group.offsets.producers.get(i + 1)
        return NO_EPOCH if known is None else known.epoch

    # --- the output -------------------------------------------------------------------------------------------------

    def output(self) -> Key:
        """The log of the results."""
        return self._log(self._output.log)

    def entry(self, i: int) -> Key:
        """The producer state that the output's leader keeps of an instance's producer."""
        output, producer_id = self._output, i + 1
        entry = output.producers.entries.get(producer_id)
        first = output.transactions.first_offsets.get(producer_id, NONE)
        if entry is None:
            return NO_EPOCH, first, NO_SEQUENCE
        return entry.epoch, first, entry.batches[-1].sequence if entry.batches else NO_SEQUENCE

    def read(self) -> Key:
        """How far a consumer of the results is."""
        return self._reader.position

    def returned(self) -> Key:
        """The results that it has got."""
        return self._returned(self._reader.returned)

    # --- instances --------------------------------------------------------------------------------------------------

    def instance(self, i: int) -> Key:
        """A process."""
        process = self._state.instances[i]
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
            process.resent,
            process.sent,
            "UNINITIALIZED" if state is ProducerState.INITIALIZING else state,
        )

    def rpc(self, i: int) -> Key:
        """The exchange that an instance waits for."""
        return self._exchange(self._state.rpc[i])

    def late(self, i: int) -> Key:
        """The exchange that an instance has given up on."""
        return self._exchange(self._state.late[i])

    def _exchange(self, exchange: InFlight | None) -> Key:
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

    def late_marker(self, i: int) -> Key:
        """A copy of a marker."""
        late = self._state.late_marker[i]
        if late is None:
            return IDLE
        target, request = late
        return "marker", request.producer_epoch, int(request.committed), 1 - target


def _record(partitions: int, entry: LogEntry) -> Key:
    number = entry.producer_id - 1
    if isinstance(entry, ProduceRequest):
        offset, partition = divmod(entry.payload, partitions)
        return "data", entry.producer_epoch, number, offset, partition, entry.sequence
    return "marker", entry.producer_epoch, number, int(entry.committed)


def _result(partitions: int, payload: int) -> Key:
    return divmod(payload, partitions)


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


READS: dict[str, Callable[..., Key]] = {
    "input": Abstraction.input,
    "txn": Abstraction.txn,
    "group": Abstraction.group,
    "issued": Abstraction.issued,
    "committed": Abstraction.committed,
    "staged": Abstraction.staged,
    "known": Abstraction.known,
    "output": Abstraction.output,
    "entry": Abstraction.entry,
    "read": Abstraction.read,
    "returned": Abstraction.returned,
    "instance": Abstraction.instance,
    "rpc": Abstraction.rpc,
    "late": Abstraction.late,
    "lateMarker": Abstraction.late_marker,
}
"""Variable -> what reads the key of its unit."""

_MARKED = "output entry.i committed staged.i known.i"

TOUCHES = {
    "InitProducerId": "txn.i instance.i",
    "FenceProducer": "txn.i",
    "SendResult": "instance.i rpc.i",
    "SendTxnOffsetCommit": "instance.i rpc.i",
    "SendEndTxn": "instance.i rpc.i",
    "ReceiveReply": "instance.i rpc.i",
    "GiveUpRequest": "instance.i rpc.i late.i",
    "RepeatRequest": "instance.i late.i",
    "LoseLate": "late.i",
    "Crash": "instance.i rpc.i late.i",
    "AppendResult": "txn.i output entry.i rpc.i late.i",
    "AnswerDuplicate": "rpc.i late.i",
    "RejectResult": "txn.i rpc.i late.i",
    "HandleTxnOffsetCommit": "txn.i staged.i known.i rpc.i late.i",
    "RejectTxnOffsetCommit": "txn.i rpc.i late.i",
    "CommitOffset": "committed",
    "HandleEndTxn": "txn.i rpc.i late.i",
    "AnswerEndTxn": "rpc.i late.i",
    "AbortTimedOutTransaction": "txn.i",
    "WriteMarker": f"txn.i {_MARKED} lateMarker.i",
    "WriteLateMarker": f"{_MARKED} lateMarker.i",
    "RejectLateMarker": "lateMarker.i",
    "LoseLateMarker": "lateMarker.i",
    "CompleteTransaction": "txn.i",
    "RevokePartitions": "instance.i",
    "JoinGroup": "group issued instance.i",
    "ReplaceMember": "group issued instance.i",
    "CompleteJoin": "group",
    "SyncGroup": "instance.i",
    "RemoveMember": "group",
    "FetchOffset": "instance.i",
    "ReadOutput": "read returned",
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the instance `i`. A test
compares this table with a full comparison of the state."""

WHOLE = ("returned",)
"""It takes few values."""
NOWHERE = ("Repeat", "Lose")
"""Actions of the network begin so: they happen at no instance."""
