"""The cells of IdempotentProducer's variables in a trace, by its header: from the keys that abstraction.py reads.

Cells come as the layout of ARCHITECTURE.md wants them: fields in name order, unused cells 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.classic_group.layout import Union, atoms
from tidemark.idempotence.partition import Parked
from tidemark.trace.cells import CapacityExceeded, Cells

Key = Any
"""Numbers, and tuples of them; None where there is nothing."""

VARIABLES = ("leader", "log", "highWatermark", "entry", "issued", "producer", "sender", "wire", "late")


class Table:
    """What the abstraction needs of a trace header: first cells, names as numbers, capacities.

    Raises ValueError if the header is not for the specification that this file is written for.
    """

    def __init__(self, header: Mapping[str, Any]) -> None:
        self.variables: dict[str, Any] = header["variables"]
        if set(self.variables) != set(VARIABLES):
            raise ValueError("the header has other variables than idempotent producers")
        constants = header["constants"]
        self.brokers: tuple[str, ...] = tuple(sorted(constants["Brokers"]))
        self.producers: tuple[str, ...] = tuple(sorted(constants["Producers"]))
        self.partitions: tuple[str, ...] = tuple(sorted(constants["Partitions"]))
        self.window: int = constants["Window"]
        self.max_in_flight: int = constants["MaxInFlight"]
        self.max_sequence: int = constants["MaxSequence"]
        self.max_pid: int = constants["MaxPid"]
        self.max_epoch: int = constants["MaxEpoch"]
        self.max_log: int = constants["MaxLog"]
        self.max_number: int = constants["MaxNumber"]
        self.max_wire: int = constants["MaxWire"]
        self.max_late: int = constants["MaxLate"]
        self.item = Union(self._each("wire")["function"]["sequence"])
        self.errors = atoms(self.item.field("reply", "error"))
        self._fields(self._each("log")["sequence"]["record"], "epoch number pid sequence")
        self._fields(self._each("entry")["function"]["record"], "batches epoch")
        sender = self._each("sender")["function"]["record"]
        self._fields(sender, "batches created epoch lastAcked next rewrite unresolved")
        self._fields(sender["batches"]["sequence"]["record"], "doubt epoch number sent sequence")
        self._fields(self._each("late")["function"]["sequence"]["record"], "broker epoch number pid sequence")

    def offset(self, variable: str) -> int:
        """The first cell of a variable."""
        return int(self.variables[variable]["offset"])

    def cells(self, variable: str) -> int:
        """How many cells a variable has."""
        return int(self.variables[variable]["cells"])

    def _each(self, variable: str) -> Any:
        return self.variables[variable]["type"]["function"]

    @staticmethod
    def _fields(record: Mapping[str, Any], names: str) -> None:
        if list(record) != names.split():
            raise ValueError(f"a record of the header has the fields {', '.join(record)}, not {names}")


class Layout:
    """From keys to cells, for one table."""

    ITEM = 8
    """The cells of an item on the wire: its tag, and seven fields."""
    REQUEST = 5
    """Those of a late request."""
    RECORD = 4
    """Those of a batch in the log."""
    BATCH = 5
    """Those of a batch in flight."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def record(self, key: Key) -> Cells:
        """A batch of the log."""
        if key is None:
            return (0,) * self.RECORD
        pid, epoch, sequence, number = key
        return self._epoch(epoch), self._number(number), pid, sequence

    def entry(self, key: Key) -> Cells:
        """What a leader remembers of a producer."""
        window = self.table.window
        if key is None:
            return (0,) * (1 + 2 * window) + (-1,)
        epoch, batches = key
        flat = [cell for sequence, offset in batches[:window] for cell in (offset, sequence)]
        return (len(batches), *flat, *[0] * (2 * window - len(flat)), self._epoch(epoch))

    def issued(self, key: Key) -> Cells:
        """How many producer ids were issued."""
        if key > self.table.max_pid:
            raise CapacityExceeded("producer ids")
        return (key,)

    def producer(self, key: Key) -> Cells:
        """A producer's epoch and id."""
        epoch, pid = key
        return self._epoch(epoch), pid

    def in_flight(self, key: Key) -> Cells:
        """How many batches are in flight, also if they are more than have cells: the auditor fails such a trace."""
        return (key,)

    def sender_batch(self, key: Key) -> Cells:
        """A batch in flight."""
        if key is None:
            return (0,) * self.BATCH
        doubt, epoch, number, sent, sequence = key
        return doubt, self._epoch(epoch), self._number(number), sent, sequence

    def sender_tail(self, key: Key) -> Cells:
        """The rest of a sender."""
        created, epoch, last_acked, following, rewrite, unresolved = key
        if created > self.table.max_number:
            raise CapacityExceeded("batches")
        return created, self._epoch(epoch), last_acked, following, rewrite, unresolved

    def wire_item(self, key: Key) -> Cells:
        """A request or a reply on the way."""
        if key is None:
            return (0,) * self.ITEM
        make = self.table.item.cells
        broker, (pid, epoch, sequence, number), state = key
        fields = {"broker": broker, "epoch": self._epoch(epoch), "number": self._number(number), "sequence": sequence}
        if state is None:
            return make(self.ITEM, "request", **fields, pid=pid)
        if isinstance(state, Parked):
            return make(self.ITEM, "waiting", **fields, offset=state.offset)
        return make(self.ITEM, "reply", **fields, offset=state.offset, error=self.table.errors[state.error])

    def late_request(self, key: Key) -> Cells:
        """A request that outlived its connection."""
        if key is None:
            return (0,) * self.REQUEST
        broker, (pid, epoch, sequence, number) = key
        return broker, self._epoch(epoch), self._number(number), pid, sequence

    def _epoch(self, epoch: int) -> int:
        if epoch > self.table.max_epoch:
            raise CapacityExceeded("producer epochs")
        return epoch

    def _number(self, number: int) -> int:
        if number > self.table.max_number:
            raise CapacityExceeded("batches")
        return number
