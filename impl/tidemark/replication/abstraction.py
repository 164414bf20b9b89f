"""The abstraction function: the specification's variables, read off the implementation's state.

| variable | in the implementation |
|---|---|
| `metadata` | the partition's changes in the metadata log; other records are left out |
| `registered` | the controller's registrations; `since` counts the changes up to the registration's offset |
| `status` | "running" for a registered process; else how the last one ended |
| `brokerEpoch` | the process's epoch; of a broker that is down, the one it last registered with |
| `view` | the partition's leader, epochs and committed ISR; nothing before any metadata |
| `asked` | the process wants to stop |
| `stalled` | whether the thread that fetches has died |
| `log` | the batches on disk, record by record; a payload's value is its rank among the appended |
| `flushed`, `checkpoint` | the storage's recovery point, the high-watermark checkpoint |
| `epochCache` | the cache; of a broker that is down, its checkpoint as recovery will trim it |
| `highWatermark` | the log's; of a broker that is down, the checkpoint's within the log |
| `epochStart` | the leader's epoch start offset; 0 on a follower |
| `remoteLeo`, `remoteEpoch` | the leader's remote replicas; -1 for its own, and on a follower in any case |
| `pendingIsr` | the undecided proposal |
| `produced` | how many payloads any leader has appended |
| `waiting` | the required offsets of the delayed produces, by value |
| `lastFetchedEpoch` | the follower's fetch state; -1 on a leader |
| `fetch` | the exchange between a follower and a source: the request, the records that are not counted, the bytes |
| | being read, or the answer, with the epoch and offset that the follower asked for |
| `alter` | the exchange between a broker and the controller |
| `consumer` | the exchange of a consumer with the broker that it takes for the leader, and its position |

A *unit* is read and compared at once: one broker's part of a variable, one exchange. Here is the *key* of each: plain
values that mirror the variable's type, records' fields by name, sets as masks. trace/shapes.py makes cells of them.
READS has the reader of each variable, TOUCHES the variables that each action may change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from tidemark.common.errors import NONE
from tidemark.log.storage import EpochEntry, Payload, RecordBatch, Storage
from tidemark.replication.broker import STARTING, STOPPING, Broker
from tidemark.replication.controller.records import MetadataLog, PartitionChangeRecord
from tidemark.replication.controller.replication_control import ReplicationControl
from tidemark.replication.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerId,
    FetchRequest,
    FetchResponse,
    MemberState,
    PendingRead,
    ReadRequest,
    ReadResponse,
)
from tidemark.replication.partition import UncountedFetch
from tidemark.trace.cells import Abstract, CapacityExceeded, Cells, SequenceKeys

Key = Any
IDLE: Key = ("idle",)


class Host(Protocol):
    """A machine: its disk, its process if one runs, whether that fetches no more, and how the last one ended
    ("stopped", "crashed", "lossy")."""

    id: BrokerId
    broker: Broker | None
    down: str
    stalled: bool

    @property
    def storage(self) -> Storage:
        """The disk."""


class FetchExchange(Protocol):
    """A follower's one outstanding fetch at a source: asked, perhaps being read, perhaps answered. `checked`: the
    follower has found a diverging answer to be its fetch's, and has not truncated yet. `uncounted`: the source has
    read, and has not counted yet."""

    request: FetchRequest | None
    uncounted: UncountedFetch | None
    read: PendingRead | None
    response: FetchResponse | None
    checked: bool


class AlterExchange(Protocol):
    """A broker's one outstanding AlterPartition: asked or answered, never both."""

    request: AlterPartitionRequest | None
    response: AlterPartitionResponse | None


class ReadExchange(Protocol):
    """A consumer's position, and its one outstanding fetch at a broker that it takes for the leader."""

    position: int
    source: BrokerId
    request: ReadRequest | None
    response: ReadResponse | None


class Network(Protocol):
    """The exchanges: `fetches` by follower and source, `alters` by broker, `reads` by consumer."""

    @property
    def fetches(self) -> Sequence[Sequence[FetchExchange]]:
        """See above."""

    @property
    def alters(self) -> Sequence[AlterExchange]:
        """See above."""

    @property
    def reads(self) -> Sequence[ReadExchange]:
        """See above."""


class State(Protocol):
    """The state that the abstraction reads. `values`: each appended payload's rank among all that leaders have
    appended."""

    control: ReplicationControl
    metadata: MetadataLog
    values: dict[Payload, int]

    @property
    def hosts(self) -> Sequence[Host]:
        """The machines, by broker."""

    @property
    def network(self) -> Network:
        """The exchanges."""


class Masks(dict[frozenset[BrokerId], int]):
    """Sets of brokers as bit masks over their sorted names, made once each."""

    def __missing__(self, brokers: frozenset[BrokerId]) -> int:
        mask = self[brokers] = sum(1 << broker for broker in brokers)
        return mask


class Table:
    """The names and capacities that simulator and abstraction take from a trace header.

    Raises ValueError if the header is not for the specification that this file is written for.
    """

    def __init__(self, header: dict[str, Any]) -> None:
        variables, constants = header["variables"], header["constants"]
        if set(variables) != set(READS):
            raise ValueError("the header has other variables than the replication specification")
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.consumers: tuple[str, ...] = tuple(sorted(constants["Consumers"]))
        self.count = len(self.brokers)
        self.parties = {"b": self.brokers, "f": self.brokers, "l": self.brokers, "c": self.consumers}
        self.min_isr: int = constants["MinIsr"]
        self.max_log: int = constants["MaxLog"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_metadata: int = constants["MaxMetadata"]
        self.max_broker_epoch: int = constants["MaxBrokerEpoch"]
        self.max_value: int = constants["MaxValue"]
        self.max_fetch: int = constants["MaxFetch"]
        leaders = variables["view"]["type"]["function"]["record"]["leader"]["atom"]
        self.leader_number: dict[BrokerId | None, int] = {None: leaders.index(constants["None"])}
        self.leader_number |= {index: leaders.index(name) for index, name in enumerate(self.brokers)}
        self.masks = Masks()
        self.no_view = (True, 0, self.leader_number[None], -1, 0)


class Abstraction(Abstract):
    """The abstraction function over one cluster, unit by unit. Every method reads the key of one unit, and is given the
    numbers of its brokers or consumers. Raises CapacityExceeded for a state beyond the table's capacities."""

    __slots__ = (
        "_caches",
        "_changes",
        "_control",
        "_fetches",
        "_hosts",
        "_leaders",
        "_logs",
        "_masks",
        "_metadata",
        "_no_pending",
        "_no_remote",
        "_state",
        "_values",
        "table",
    )

    def __init__(self, table: Table, state: State) -> None:
        self.table = table
        self._state = state
        self._control = state.control
        self._metadata = state.metadata
        self._values = state.values
        self._hosts = state.hosts
        self._fetches = state.network.fetches
        self._no_remote: Cells = (-1,) * table.count
        self._no_pending = (False, 0, self._no_remote)
        self._leaders = table.leader_number
        self._masks = table.masks
        self._changes = SequenceKeys(partial(_change, table))
        self._logs = [SequenceKeys(partial(_record, state.values)) for _ in self._hosts]
        self._caches: list[tuple[tuple[EpochEntry, ...], Key]] = [((), ())] * table.count

    def forget(self) -> None:
        """Logs are read again."""
        for one in (self._changes, *self._logs):
            one.forget()
        self._caches = [((), ())] * self.table.count

    # --- controller -----------------------------------------------------------------------------------------------

    def metadata(self) -> Key:
        """The partition's changes."""
        changes = self._metadata.partition_changes
        if len(changes) > self.table.max_metadata or changes[-1].leader_epoch > self.table.max_epoch:
            raise CapacityExceeded("partition changes")
        return self._changes(changes)

    def registered(self, broker: BrokerId) -> Key:
        """A registration, and the number of changes up to it."""
        registration = self._control.registrations[broker]
        if registration.broker_epoch > self.table.max_broker_epoch:
            raise CapacityExceeded("incarnations of a broker")
        state = "fenced" if registration.fenced else "stopping" if registration.in_controlled_shutdown else "active"
        return registration.broker_epoch, self._metadata.changes_before(registration.offset), state

    # --- process --------------------------------------------------------------------------------------------------

    def status(self, broker: BrokerId) -> Key:
        """How the broker is."""
        host = self._hosts[broker]
        process = host.broker
        return host.down if process is None or process.state == STARTING else "running"

    def broker_epoch(self, broker: BrokerId) -> Key:
        """The epoch of the incarnation, running or last."""
        process = self._hosts[broker].broker
        if process is None or process.state == STARTING:
            return self._control.registrations[broker].broker_epoch
        return process.epoch

    def view(self, broker: BrokerId) -> Key:
        """The partition as the broker knows it. Not applied: that epoch came by an AlterPartition reply, whose metadata
        is still to come."""
        process = self._hosts[broker].broker
        if process is None:
            return self.table.no_view
        partition = process.partition
        return (
            self._metadata.changes_before(process.published_offset) >= partition.partition_epoch,
            self._masks[partition.isr],
            self._leaders[partition.leader_id],
            partition.leader_epoch,
            partition.partition_epoch,
        )

    def asked(self, broker: BrokerId) -> Key:
        """Whether the process wants to stop."""
        process = self._hosts[broker].broker
        return process is not None and process.state == STOPPING

    def stalled(self, broker: BrokerId) -> Key:
        """Whether it fetches no more."""
        return self._hosts[broker].stalled

    # --- disk -----------------------------------------------------------------------------------------------------

    def log(self, broker: BrokerId) -> Key:
        """The records of a log."""
        storage = self._hosts[broker].storage
        batches = storage.batches
        if storage.end_offset > self.table.max_log:
            raise CapacityExceeded("records in a log")
        if storage.end_offset == len(batches):  # mostly a batch has one record
            return self._logs[broker](batches)
        return self._records(batches)

    def _records(self, batches: Sequence[RecordBatch]) -> Key:
        values = self._values
        return tuple([(batch.leader_epoch, values[payload]) for batch in batches for payload in batch.records])

    def flushed(self, broker: BrokerId) -> Key:
        """The recovery point."""
        return self._hosts[broker].storage.flushed_offset

    def epoch_cache(self, broker: BrokerId) -> Key:
        """The entries of the leader-epoch cache."""
        host = self._hosts[broker]
        storage = host.storage
        epochs = storage.epochs
        if host.broker is None:
            end = storage.end_offset
            return tuple([(one.epoch, one.start_offset) for one in epochs if one.start_offset < end])
        seen, key = self._caches[broker]
        if seen is not epochs:
            key = tuple([(one.epoch, one.start_offset) for one in epochs])
            self._caches[broker] = epochs, key
        return key

    def high_watermark(self, broker: BrokerId) -> Key:
        """Of a broker that is down: the state it will start with."""
        host = self._hosts[broker]
        process = host.broker
        if process is None:
            return min(host.storage.high_watermark, host.storage.end_offset)
        return process.log.high_watermark

    def checkpoint(self, broker: BrokerId) -> Key:
        """The high-watermark checkpoint."""
        return self._hosts[broker].storage.high_watermark

    # --- the leader's memory --------------------------------------------------------------------------------------

    def epoch_start(self, broker: BrokerId) -> Key:
        """The start of the leader's epoch."""
        process = self._hosts[broker].broker
        return process.partition.epoch_start_offset if process is not None and process.partition.is_leader else 0

    def remote_leo(self, broker: BrokerId) -> Key:
        """Per broker: its log end by its last counted fetch."""
        process = self._hosts[broker].broker
        if process is None or not process.partition.is_leader:
            return self._no_remote
        cells = [replica.log_end_offset for replica in process.partition.remote.values()]
        cells.insert(broker, -1)
        return tuple(cells)

    def remote_epoch(self, broker: BrokerId) -> Key:
        """Per broker: its broker epoch by that fetch."""
        process = self._hosts[broker].broker
        if process is None or not process.partition.is_leader:
            return self._no_remote
        cells = [replica.broker_epoch for replica in process.partition.remote.values()]
        cells.insert(broker, -1)
        return tuple(cells)

    def pending_isr(self, broker: BrokerId) -> Key:
        """The undecided proposal, with the epochs that it names."""
        process = self._hosts[broker].broker
        pending = None if process is None else process.partition.pending
        if pending is None:
            return self._no_pending
        return True, self._masks[pending.isr], self._epochs(pending.members)

    def _epochs(self, members: Sequence[MemberState]) -> Key:
        """Per broker the epoch that a proposal names, -1 for others."""
        epochs = list(self._no_remote)
        for member in members:
            epochs[member.broker_id] = member.broker_epoch
        return tuple(epochs)

    def waiting(self, broker: BrokerId) -> Key:
        """Per value the offset that a delayed produce waits for, 0 where none does; below 0: it is to wait later."""
        process, values = self._hosts[broker].broker, self._values
        cells = [0] * self.table.max_value
        if process is not None:
            for payload, delayed in process.purgatory.waiting.items():
                cells[values[payload] - 1] = delayed.required_offset
            for payload, delayed in process.purgatory.created.items():
                cells[values[payload] - 1] = -delayed.required_offset
        return tuple(cells)

    def produced(self) -> Key:
        """How many payloads were appended."""
        count = len(self._values)
        if count > self.table.max_value:
            raise CapacityExceeded("produce attempts")
        return count

    # --- the follower's memory ------------------------------------------------------------------------------------

    def last_fetched_epoch(self, broker: BrokerId) -> Key:
        """The last fetched epoch that a follower's next fetch sends."""
        process = self._hosts[broker].broker
        return -1 if process is None or process.partition.is_leader else process.partition.last_fetched_epoch

    # --- the network ----------------------------------------------------------------------------------------------

    def fetch(self, follower: BrokerId, source: BrokerId) -> Key:
        """An exchange between a follower and a source."""
        exchange = self._fetches[follower][source]
        request = exchange.request
        if request is None:
            return IDLE
        epoch, offset = request.current_leader_epoch, request.fetch_offset
        response = exchange.response
        if response is not None:
            if response.error is not NONE:
                return "error", response.log_end_offset, epoch, response.error, offset
            diverging = response.diverging
            if diverging is None:
                records = response.records
                return "records", self._records(records) if records else (), epoch, response.high_watermark, offset
            tag = "checked" if exchange.checked else "diverging"
            return tag, diverging.epoch, diverging.end_offset, epoch, response.high_watermark, offset
        uncounted = exchange.uncounted
        if uncounted is not None:
            batches, high_watermark = uncounted.response.records, uncounted.response.high_watermark
            return "uncounted", self._records(batches), request.broker_epoch, epoch, high_watermark, offset
        read = exchange.read
        if read is not None:
            return "truncated" if read.truncated else "reading", read.limit, epoch, read.high_watermark, offset
        return "request", request.broker_epoch, epoch, request.last_fetched_epoch, offset

    def alter(self, broker: BrokerId) -> Key:
        """The exchange between a broker and the controller."""
        exchange = self._state.network.alters[broker]
        request, response = exchange.request, exchange.response
        if response is not None:
            return "reply", response.error, response.leader_epoch, response.partition_epoch
        if request is None:
            return IDLE
        return (
            "request",
            request.broker_epoch,
            self._masks[request.isr],
            request.leader_epoch,
            self._epochs(request.members),
            request.partition_epoch,
        )

    def consumer(self, consumer: int) -> Key:
        """The exchange of a consumer with whom it takes for the leader."""
        exchange = self._state.network.reads[consumer]
        request, response = exchange.request, exchange.response
        if response is not None:
            if response.error is not NONE:
                return "error", response.error, exchange.position
            return "records", self._records(response.records), exchange.position
        if request is None:
            return "idle", exchange.position
        return "request", exchange.source, request.current_leader_epoch, request.fetch_offset


def _change(table: Table, change: PartitionChangeRecord) -> Key:
    masks = table.masks
    return masks[change.elr], masks[change.isr], table.leader_number[change.leader], change.leader_epoch


def _record(values: Mapping[Payload, int], batch: RecordBatch) -> Key:
    return batch.leader_epoch, values[batch.records[0]]


READS: dict[str, Callable[..., Key]] = {
    "metadata": Abstraction.metadata,
    "registered": Abstraction.registered,
    "status": Abstraction.status,
    "brokerEpoch": Abstraction.broker_epoch,
    "view": Abstraction.view,
    "asked": Abstraction.asked,
    "stalled": Abstraction.stalled,
    "log": Abstraction.log,
    "flushed": Abstraction.flushed,
    "epochCache": Abstraction.epoch_cache,
    "highWatermark": Abstraction.high_watermark,
    "checkpoint": Abstraction.checkpoint,
    "epochStart": Abstraction.epoch_start,
    "remoteLeo": Abstraction.remote_leo,
    "remoteEpoch": Abstraction.remote_epoch,
    "pendingIsr": Abstraction.pending_isr,
    "produced": Abstraction.produced,
    "waiting": Abstraction.waiting,
    "lastFetchedEpoch": Abstraction.last_fetched_epoch,
    "fetch": Abstraction.fetch,
    "alter": Abstraction.alter,
    "consumer": Abstraction.consumer,
}
"""Variable -> what reads the key of its unit of a broker, a follower and its source, or a consumer."""

_COUNTED = "highWatermark.l remoteLeo.l remoteEpoch.l fetch.fl"
_TRUNCATED = "log.f flushed.f epochCache.f highWatermark.f lastFetchedEpoch.f fetch.fl fetch.*f"
_MEMORY = "view.b epochStart.b remoteLeo.b remoteEpoch.b pendingIsr.b lastFetchedEpoch.b"
_DISK = "log.b flushed.b epochCache.b highWatermark.b"
_PROCESS = f"status.b brokerEpoch.b asked.b stalled.b checkpoint.b waiting.b {_DISK} {_MEMORY}"
_ENDS = f"{_PROCESS} fetch.b* fetch.*b alter.b consumer.*"

TOUCHES = {
    "ElectLeader": "metadata",
    "FenceBroker": "metadata registered.b",
    "UnfenceBroker": "metadata registered.b",
    "RegisterBroker": f"metadata registered.b {_PROCESS}",
    "AskToStop": "asked.b",
    "ControlledShutdown": "metadata registered.b",
    "HandleAlterPartition": "metadata alter.b",
    "ApplyMetadata": f"{_DISK} {_MEMORY} fetch.*b",
    "AppendRecord": "log.b epochCache.b highWatermark.b produced waiting.b",
    "AppendRecordsToLeader": "log.b epochCache.b highWatermark.b produced waiting.b",
    "AddDelayedProduce": "waiting.b",
    "CompleteProduce": "waiting.b",
    "FailProduce": "waiting.b",
    "SendFetch": "fetch.fl",
    "HandleFetch": _COUNTED,
    "FetchRecords": "fetch.fl",
    "UpdateFollowerFetchState": _COUNTED,
    "ValidateFetch": _COUNTED,
    "ReadFetch": "fetch.fl",
    "AnswerDiverging": _COUNTED,
    "RejectFetch": "fetch.fl",
    "FollowerAppend": "log.f epochCache.f highWatermark.f lastFetchedEpoch.f fetch.fl",
    "CheckDiverging": "fetch.fl",
    "FollowerTruncate": _TRUNCATED,
    "FollowerAdoptHw": "highWatermark.f",
    "FollowerOutOfRange": _TRUNCATED,
    "DropFetchResponse": "fetch.fl",
    "LoseFetch": "fetch.fl",
    "StallFetcher": "stalled.f",
    "SendRead": "consumer.c",
    "AnswerRead": "consumer.c",
    "RejectRead": "consumer.c",
    "TakeRead": "consumer.c",
    "LoseRead": "consumer.c",
    "ShrinkIsr": "highWatermark.b pendingIsr.b alter.b",
    "ExpandIsr": "highWatermark.b pendingIsr.b alter.b",
    "ResendAlterPartition": "pendingIsr.b alter.b",
    "HandleAlterPartitionReply": "highWatermark.b view.b pendingIsr.b alter.b",
    "LoseAlterPartition": "alter.b",
    "FlushLog": "flushed.b",
    "CheckpointHighWatermark": "checkpoint.b",
    "StopBroker": _ENDS,
    "CrashBroker": _ENDS,
}
"""For each action, the variables that its handler may change. A suffix narrows a variable to the broker `b`, the
follower `f`, the leader `l` or the consumer `c`; `*` means every one. A test compares this table with a full comparison
of the state."""

CONTROLLER = ("ElectLeader", "FenceBroker", "UnfenceBroker", "ControlledShutdown", "HandleAlterPartition")
"""Actions that happen at the controller."""
NOWHERE = ("LoseFetch", "LoseAlterPartition", "SendRead", "TakeRead", "LoseRead")
"""Actions that happen at no broker; all others happen at the broker that is their first parameter."""
