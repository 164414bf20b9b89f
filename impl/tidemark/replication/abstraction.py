"""The abstraction function: what the specification's variables are, read off the implementation's state.

| variable | what it is here |
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
| `remoteLeo`, `remoteEpoch` | the leader's remote replicas; -1 for its own and on a follower, whatever it remembers |
| `pendingIsr` | the undecided proposal |
| `produced` | how many payloads any leader has appended |
| `waiting` | the required offsets of the delayed produces, by value |
| `lastFetchedEpoch` | the follower's fetch state; -1 on a leader |
| `fetch` | the exchange between a follower and a source: what was asked, what is being read, or the |
| | answer, with the epoch and offset that the follower asked for |
| `alter` | the exchange between a broker and the controller |
| `consumer` | the exchange of a consumer with whom it takes for the leader, and its position |

A *unit* is what is computed and compared at once: one broker's part of a variable, one exchange. Its cells come as the
layout of ARCHITECTURE.md wants them: fields in name order, sets as masks, unused cells 0. An exchange has many cells of
which few say anything: it has a *key*, a tuple of what they depend on, and a function from the key to the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Protocol

from tidemark.common.errors import NONE
from tidemark.log.storage import Payload, RecordBatch, Storage
from tidemark.replication.broker import STARTING, STOPPING, Broker
from tidemark.replication.controller.records import MetadataLog, PartitionChangeRecord
from tidemark.replication.controller.replication_control import ReplicationControl
from tidemark.replication.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerId,
    FetchRequest,
    FetchResponse,
    PendingRead,
    ReadRequest,
    ReadResponse,
)
from tidemark.replication.purgatory import DelayedProduce
from tidemark.trace.cells import CapacityExceeded, Cells

LOG_END_OFFSET, BROKER_EPOCH = attrgetter("log_end_offset"), attrgetter("broker_epoch")


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
    """A follower's one outstanding fetch at a source: asked, perhaps being read, perhaps answered."""

    request: FetchRequest | None
    read: PendingRead | None
    response: FetchResponse | None


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


class Masks(dict[frozenset[BrokerId], int]):
    """Sets of brokers as bit masks over their sorted names, made once each."""

    def __missing__(self, brokers: frozenset[BrokerId]) -> int:
        mask = self[brokers] = sum(1 << broker for broker in brokers)
        return mask


class FetchTags(NamedTuple):
    """The tags of a fetch exchange as numbers."""

    idle: int
    request: int
    reading: int
    records: int
    diverging: int
    error: int


FETCH_FIELDS: dict[str, tuple[str, ...]] = {
    "idle": (),
    "request": ("epoch", "offset", "lastEpoch", "brokerEpoch"),
    "reading": ("epoch", "offset", "hw", "count"),
    "records": ("epoch", "offset", "hw", "batch"),
    "diverging": ("epoch", "offset", "hw", "divergingEpoch", "endOffset"),
    "error": ("epoch", "offset", "error", "endOffset"),
}
"""What follows the tag in the key of an exchange; the batch comes as the cells of its records."""

NOTHING: dict[Payload, DelayedProduce] = {}
"""What waits at a broker that is down."""


class Table:
    """What the abstraction needs of a trace header: offsets of variables, tags and atoms as numbers, capacities.

    Raises ValueError if the header is not for the specification that this file is written for.
    """

    def __init__(self, header: dict[str, Any]) -> None:
        self.variables: dict[str, Any] = header["variables"]
        constants = header["constants"]
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.count = len(self.brokers)
        self.min_isr: int = constants["MinIsr"]
        self.max_log: int = constants["MaxLog"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_metadata: int = constants["MaxMetadata"]
        self.max_broker_epoch: int = constants["MaxBrokerEpoch"]
        self.max_value: int = constants["MaxValue"]
        self.max_fetch: int = constants["MaxFetch"]
        self.cells = sum(variable["cells"] for variable in self.variables.values())
        change = self._record(self._type("metadata")["sequence"], ("elr", "isr", "leader", "leaderEpoch"), "metadata")
        self.leaders = {name: index for index, name in enumerate(change["leader"]["atom"])}
        self.no_leader: int = self.leaders[constants["None"]]
        self.leader_number: dict[BrokerId | None, int] = {None: self.no_leader}
        self.leader_number |= {index: self.leaders[name] for index, name in enumerate(self.brokers)}
        self.masks = Masks()
        self.no_view: Cells = (1, 0, self.no_leader, -1, 0)
        self.registration_state = self._atoms(
            self._record(self._each("registered"), ("epoch", "since", "state"), "registered")["state"]
        )
        self.registered_cells: int = self.variables["registered"]["cells"] // self.count
        self.status = self._atoms(self._each("status"))
        self._record(self._each("view"), ("applied", "isr", "leader", "leaderEpoch", "partitionEpoch"), "view")
        self._record(self._each("pendingIsr"), ("active", "isr", "memberEpochs"), "pendingIsr")
        self._record(self._each("log")["sequence"], ("epoch", "value"), "log")
        self._record(self._each("epochCache")["sequence"], ("epoch", "start"), "epochCache")
        fetch = self._each("fetch")["function"]
        tags, slot = self._union(fetch, "fetch")
        self.fetch_tags = FetchTags(**tags)
        self.fetch_error = self._atoms(self._field(fetch, "error", "error"))
        self.fetch_cells: int = self.variables["fetch"]["cells"] // self.count**2
        self.idle: Cells = (tags["idle"],)
        self.fetch_places = {tags[tag]: (0, *[slot[name] for name in names]) for tag, names in FETCH_FIELDS.items()}
        self.at_batch = slot["batch"]
        alter = self._each("alter")
        self.alter_tag, self.alter_slot = self._union(alter, "alter")
        self.alter_error = self._atoms(self._field(alter, "reply", "error"))
        self.alter_cells: int = self.variables["alter"]["cells"] // self.count
        self._union(self._each("consumer"), "consumer")
        self.consumer_cells: int = self.variables["consumer"]["cells"] // len(constants["Consumers"])
        self.alter_idle: Cells = (self.alter_tag["idle"],) + (0,) * (self.alter_cells - 1)

    def offset(self, variable: str) -> int:
        """The first cell of a variable."""
        return int(self.variables[variable]["offset"])

    def cells_of_fetch(self, key: tuple[Any, ...]) -> Cells:
        """The cells of an exchange's key: the tag, and the union's fields at their places."""
        cells = [0] * self.fetch_cells
        for place, cell in zip(self.fetch_places[key[0]], key, strict=True):
            if place == self.at_batch:
                cells[place : place + 1 + len(cell)] = (len(cell) // 2, *cell)
            else:
                cells[place] = cell
        return tuple(cells)

    def _type(self, variable: str) -> Any:
        if variable not in self.variables:
            raise ValueError(f"the header has no variable {variable}: it is not that of the replication specification")
        return self.variables[variable]["type"]

    def _each(self, variable: str) -> Any:
        return self._type(variable)["function"]

    @staticmethod
    def _record(kind: Any, names: tuple[str, ...], variable: str) -> Any:
        if tuple(kind["record"]) != names:
            raise ValueError(f"variable {variable} has the fields {', '.join(kind['record'])}, not {', '.join(names)}")
        return kind["record"]

    @staticmethod
    def _atoms(kind: Any) -> dict[str, int]:
        return {name: index for index, name in enumerate(kind["atom"])}

    @staticmethod
    def _union(kind: Any, variable: str) -> tuple[dict[str, int], dict[str, int]]:
        tags = sorted(tag for variant in kind["union"] for tag in variant["tags"])
        slots = {name: offset for name, offset, _ in kind["slots"]}
        if len(slots) != len(kind["slots"]):
            raise ValueError(f"variable {variable} keeps one field at two places")
        return {tag: index for index, tag in enumerate(tags)}, slots

    @staticmethod
    def _field(kind: Any, tag: str, name: str) -> Any:
        return next(variant["fields"][name] for variant in kind["union"] if tag in variant["tags"])


class Abstraction:
    """The abstraction function over one cluster, unit by unit.

    Every method takes a part of the implementation and returns the cells of one unit: a number where that is one cell,
    or a tuple. For the sequences that grow (log, leader-epoch cache, metadata) there are the elements, and their cells.
    `values` numbers the payloads in the order in which leaders appended them. Raises CapacityExceeded for a state
    beyond the table's capacities.
    """

    __slots__ = (
        "_alter_idle",
        "_control",
        "_leaders",
        "_masks",
        "_metadata",
        "_no_pending",
        "_no_remote",
        "_running",
        "_status",
        "table",
        "values",
    )

    def __init__(self, table: Table, control: ReplicationControl, metadata: MetadataLog) -> None:
        self.table = table
        self.values: dict[Payload, int] = {}
        self._control = control
        self._metadata = metadata
        self._no_remote: Cells = (-1,) * table.count
        self._no_pending: Cells = (0, 0, *self._no_remote)
        self._status = table.status
        self._running = table.status["running"]
        self._leaders = table.leader_number
        self._masks = table.masks
        self._alter_idle = table.alter_idle

    # --- controller -----------------------------------------------------------------------------------------------

    def metadata(self) -> Sequence[PartitionChangeRecord]:
        """The partition's changes."""
        changes = self._metadata.partition_changes
        if len(changes) > self.table.max_metadata or changes[-1].leader_epoch > self.table.max_epoch:
            raise CapacityExceeded("partition changes")
        return changes

    def change_cells(self, changes: Sequence[PartitionChangeRecord]) -> Cells:
        """Per change ELR, ISR, leader, leader epoch."""
        masks, leaders = self._masks, self._leaders
        cells: Cells = ()
        for change in changes:
            cells += masks[change.elr], masks[change.isr], leaders[change.leader], change.leader_epoch
        return cells

    def registered(self, host: Host) -> Cells:
        """Broker epoch, number of changes up to the registration, state."""
        registration = self._control.registrations[host.id]
        if registration.broker_epoch > self.table.max_broker_epoch:
            raise CapacityExceeded("incarnations of a broker")
        state = "fenced" if registration.fenced else "stopping" if registration.in_controlled_shutdown else "active"
        since = self._metadata.changes_before(registration.offset)
        return registration.broker_epoch, since, self.table.registration_state[state]

    # --- process --------------------------------------------------------------------------------------------------

    def status(self, host: Host) -> int:
        """How the broker is."""
        broker = host.broker
        if broker is None or broker.state == STARTING:
            return self._status[host.down]
        return self._running

    def broker_epoch(self, host: Host) -> int:
        """The epoch of the incarnation, running or last."""
        broker = host.broker
        if broker is None or broker.state == STARTING:
            return self._control.registrations[host.id].broker_epoch
        return broker.epoch

    def view(self, host: Host) -> Cells:
        """Applied, ISR, leader, leader epoch, partition epoch. Not applied: that epoch came by an AlterPartition
        reply, whose metadata is still to come."""
        broker = host.broker
        if broker is None:
            return self.table.no_view
        partition = broker.partition
        return (
            int(self._metadata.changes_before(broker.published_offset) >= partition.partition_epoch),
            self._masks[partition.isr],
            self._leaders[partition.leader_id],
            partition.leader_epoch,
            partition.partition_epoch,
        )

    def asked(self, host: Host) -> int:
        """Whether the process wants to stop."""
        return int(host.broker is not None and host.broker.state == STOPPING)

    def stalled(self, host: Host) -> int:
        """Whether it fetches no more."""
        return int(host.stalled)

    # --- disk -----------------------------------------------------------------------------------------------------

    def log(self, host: Host) -> Sequence[RecordBatch]:
        """The batches of one log."""
        storage = host.storage
        if storage.end_offset > self.table.max_log:
            raise CapacityExceeded("records in a log")
        return storage.batches

    def batch_cells(self, batches: Sequence[RecordBatch]) -> Cells:
        """Per record epoch and value."""
        values = self.values
        if len(batches) == 1:  # mostly, and with one record
            batch = batches[0]
            if len(batch.records) == 1:
                payload = batch.records[0]
                return batch.leader_epoch, values.get(payload) or self.value(payload)
        cells: Cells = ()
        for batch in batches:
            for payload in batch.records:
                cells += batch.leader_epoch, values.get(payload) or self.value(payload)
        return cells

    def value(self, payload: Payload) -> int:
        """A payload's rank among the appended; one that was never seen was appended just now."""
        number = self.values.get(payload)
        if number is None:
            number = self.values[payload] = len(self.values) + 1
            if number > self.table.max_value:
                raise CapacityExceeded("produce attempts")
        return number

    def flushed(self, host: Host) -> int:
        """The recovery point."""
        return host.storage.flushed_offset

    def epoch_cache(self, host: Host) -> Cells:
        """Per entry of the leader-epoch cache epoch and start offset."""
        end, down = host.storage.end_offset, host.broker is None
        cells: Cells = ()
        for entry in host.storage.epochs:
            if not down or entry.start_offset < end:
                cells += entry.epoch, entry.start_offset
        return cells

    def high_watermark(self, host: Host) -> int:
        """Of a broker that is down: what it will start with."""
        if host.broker is None:
            return min(host.storage.high_watermark, host.storage.end_offset)
        return host.broker.log.high_watermark

    def checkpoint(self, host: Host) -> int:
        """The high-watermark checkpoint."""
        return host.storage.high_watermark

    # --- the leader's memory --------------------------------------------------------------------------------------

    def epoch_start(self, host: Host) -> int:
        """The start of the leader's epoch."""
        broker = host.broker
        return broker.partition.epoch_start_offset if broker is not None and broker.partition.is_leader else 0

    def remote_leo(self, host: Host) -> Cells:
        """Per broker: its log end by its last counted fetch."""
        broker = host.broker
        if broker is None or not broker.partition.is_leader:
            return self._no_remote
        cells = [*map(LOG_END_OFFSET, broker.partition.remote.values())]
        cells.insert(broker.id, -1)
        return tuple(cells)

    def remote_epoch(self, host: Host) -> Cells:
        """Per broker: its broker epoch by that fetch."""
        broker = host.broker
        if broker is None or not broker.partition.is_leader:
            return self._no_remote
        cells = [*map(BROKER_EPOCH, broker.partition.remote.values())]
        cells.insert(broker.id, -1)
        return tuple(cells)

    def pending_isr(self, host: Host) -> Cells:
        """Active, ISR, per broker the epoch that the proposal names (-1 for others)."""
        broker = host.broker
        pending = None if broker is None else broker.partition.pending
        if pending is None:
            return self._no_pending
        epochs = list(self._no_remote)
        for member in pending.members:
            epochs[member.broker_id] = member.broker_epoch
        return (1, self._masks[pending.isr], *epochs)

    def waiting(self, host: Host) -> Cells:
        """Per delayed produce value and required offset."""
        broker, values = host.broker, self.values
        cells: Cells = ()
        if broker is not None:
            for payload, delayed in broker.purgatory.waiting.items():
                cells += values[payload], delayed.required_offset
        return cells

    def produced(self, _: object) -> int:
        """How many payloads were appended."""
        return len(self.values)

    # --- the follower's memory ------------------------------------------------------------------------------------

    def last_fetched_epoch(self, host: Host) -> int:
        """What the next fetch says of the tail."""
        broker = host.broker
        return -1 if broker is None or broker.partition.is_leader else broker.partition.last_fetched_epoch

    # --- the network ----------------------------------------------------------------------------------------------

    def fetch(self, exchange: FetchExchange) -> tuple[Any, ...]:
        """The key of an exchange: a tag, then what `Table.cells_of_fetch` places."""
        request = exchange.request
        if request is None:
            return self.table.idle
        response, tag = exchange.response, self.table.fetch_tags
        if response is not None:
            if response.error is not NONE:
                error = self.table.fetch_error[response.error]
                return tag.error, request.current_leader_epoch, request.fetch_offset, error, response.log_end_offset
            diverging = response.diverging
            if diverging is None:
                records = self.batch_cells(response.records) if response.records else ()
                return tag.records, request.current_leader_epoch, request.fetch_offset, response.high_watermark, records
            return (
                tag.diverging,
                request.current_leader_epoch,
                request.fetch_offset,
                response.high_watermark,
                diverging.epoch,
                diverging.end_offset,
            )
        read = exchange.read
        if read is not None:
            return tag.reading, request.current_leader_epoch, request.fetch_offset, read.high_watermark, read.limit
        return (
            tag.request,
            request.current_leader_epoch,
            request.fetch_offset,
            request.last_fetched_epoch,
            request.broker_epoch,
        )

    def alter(self, exchange: AlterExchange) -> Cells:
        """A tag and the union's fields at their places."""
        table = self.table
        tag, at = table.alter_tag, table.alter_slot
        request, response = exchange.request, exchange.response
        cells = [0] * table.alter_cells
        if response is not None:
            cells[0] = tag["reply"]
            cells[at["error"]] = table.alter_error[response.error]
            cells[at["leaderEpoch"]] = response.leader_epoch
            cells[at["partitionEpoch"]] = response.partition_epoch
        elif request is None:
            return self._alter_idle
        else:
            cells[0] = tag["request"]
            cells[at["brokerEpoch"]] = request.broker_epoch
            cells[at["isr"]] = self._masks[request.isr]
            cells[at["leaderEpoch"]] = request.leader_epoch
            cells[at["partitionEpoch"]] = request.partition_epoch
            first = at["memberEpochs"]
            cells[first : first + table.count] = self._no_remote
            for member in request.members:
                cells[first + member.broker_id] = member.broker_epoch
        return tuple(cells)

    def consumer(self, exchange: ReadExchange) -> tuple[Any, ...]:
        """A tag and its fields by name, as trace/shapes.py wants keys."""
        request, response = exchange.request, exchange.response
        if response is not None:
            if response.error is not NONE:
                return "error", response.error, exchange.position
            cells = self.batch_cells(response.records)
            return "records", tuple(zip(cells[::2], cells[1::2], strict=True)), exchange.position
        if request is None:
            return "idle", exchange.position
        return "request", exchange.source, request.current_leader_epoch, request.fetch_offset
