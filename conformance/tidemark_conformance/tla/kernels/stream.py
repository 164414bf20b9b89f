"""The delta stream of one trace: an encoder for converters and simulators, a decoder for explanations.

The format is in docs/reference/delta-stream.md. Nothing here needs numpy, llvmlite or pyspark.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import crc32c

STEP, BLOCKED, STUTTER, END = range(4)
"""The kinds of a record."""
QUIESCENT, CAPACITY = 1, 2
"""The flags of an end record: faults have stopped; a value did not fit its capacity, so the trace is cut there."""


class Malformed(Exception):
    """Bytes that are no delta stream; the message says where and why."""


def append_varint(out: bytearray, value: int) -> None:
    """Write a number that is not negative, seven bits a byte, the lowest first."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


class StreamWriter:
    """Builds one trace's stream, record by record; it keeps the current state and writes only changed cells.

    `cells` is the number of cells of the variables that traces carry. `parameters`: how many parameters each action
    has, in the order of Next. `observed`: the specification has Observed, so that every record ends with its
    observations (`told`: its entries as `trace.observing` encodes them).
    """

    def __init__(self, cells: int, parameters: Sequence[int], observed: bool = False) -> None:
        self._out = bytearray()
        self._state = [0] * cells
        self._parameters = parameters
        self._observed = observed
        self._records = 0

    @property
    def records(self) -> int:
        """How many records were written, the initial one included."""
        return self._records

    def initial(self, state: Sequence[int], told: bytes = b"") -> None:
        """The first record: the initial state's cells that traces carry; those behind them are not written."""
        if self._records:
            raise ValueError("the initial state is the first record of a stream")
        self._record(STUTTER, -1, (), 0)
        self._delta(self._changes(state))
        self._tell(told)

    def step(
        self,
        action: int,
        params: Sequence[int],
        node: int,
        changed: Iterable[tuple[int, int]] | Sequence[int],
        told: bytes = b"",
    ) -> None:
        """A step of an action (0-based in Next) with parameter indices, by node (0 none, else index + 1).

        `changed` is the next state's cells, or (cell, value) pairs; pairs that change nothing are dropped.
        """
        if len(params) != self._parameters[action]:
            raise ValueError(f"action {action} takes {self._parameters[action]} parameters, not {len(params)}")
        self._record(STEP, action, params, node)
        items = list(changed)
        pairs = [item for item in items if isinstance(item, tuple)]
        if len(pairs) < len(items):
            self._delta(self._changes([item for item in items if isinstance(item, int)]))
        else:
            self._delta(sorted(pair for pair in pairs if self._state[pair[0]] != pair[1]))
        self._tell(told)

    def blocked(self, action: int, params: Sequence[int], node: int, told: bytes = b"") -> None:
        """An attempt that a rule refused: nothing changes."""
        self._record(BLOCKED, action, params, node)
        self._delta([])
        self._tell(told)

    def stutter(self, node: int = 0, told: bytes = b"") -> None:
        """An event that changes no variable."""
        self._record(STUTTER, -1, (), node)
        self._delta([])
        self._tell(told)

    def end(self, quiescent: bool = False, capacity: bool = False) -> bytes:
        """Writes the end record and returns the whole stream."""
        append_varint(self._out, END)
        append_varint(self._out, QUIESCENT * quiescent + CAPACITY * capacity)
        append_varint(self._out, self._records)
        self._out += crc32c.crc32c(bytes(self._out)).to_bytes(4, "little")
        return bytes(self._out)

    def _record(self, kind: int, action: int, params: Sequence[int], node: int) -> None:
        self._records += 1
        append_varint(self._out, kind + 4 * (action + 1))
        append_varint(self._out, node)
        for index in params:
            append_varint(self._out, index)

    def _tell(self, told: bytes) -> None:
        if self._observed:
            append_varint(self._out, len(told))
            self._out += told
        elif told:
            raise ValueError("the specification has no Observed")

    def _changes(self, state: Sequence[int]) -> list[tuple[int, int]]:
        old = self._state
        return [(cell, state[cell]) for cell in range(len(old)) if state[cell] != old[cell]]

    def _delta(self, pairs: list[tuple[int, int]]) -> None:
        out = self._out
        append_varint(out, len(pairs))
        previous = -1
        for cell, value in pairs:
            append_varint(out, cell - previous - 1)
            append_varint(out, value * 2 if value >= 0 else -2 * value - 1)
            self._state[cell] = value
            previous = cell


@dataclass(frozen=True, slots=True)
class Record:
    """One record. `action` is -1 for a stutter and the initial state. `delta`: pairs of (cell, value), ascending.
    `told`: the entries of its observations (`trace.observing` reads them)."""

    kind: int
    action: int
    node: int
    params: tuple[int, ...]
    delta: tuple[tuple[int, int], ...]
    told: bytes = b""


@dataclass(frozen=True, slots=True)
class End:
    """The end record: its flags, its count of the records before it, and whether count and checksum are right."""

    quiescent: bool
    capacity: bool
    records: int
    count_right: bool
    checksum_right: bool


def records(stream: bytes, cells: int, parameters: Sequence[int], observed: bool = False) -> Iterator[Record | End]:
    """The records of a stream, the End last; `observed` as of `StreamWriter`.

    Raises Malformed where the bytes are no stream of this shape.
    """
    at, count = 0, 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(stream):
                raise Malformed(f"the stream ends inside record {count}")
            byte = stream[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
            shift += 7
            if shift > 63:
                break
        raise Malformed(f"record {count} has a number of more than 64 bits")

    while True:
        if at >= len(stream):
            raise Malformed(f"no end record after {count} records")
        head = varint()
        kind, action = head & 3, (head >> 2) - 1
        if kind == END:
            flags, claimed = varint(), varint()
            if head != END or flags > QUIESCENT + CAPACITY:
                raise Malformed(f"the end record has the kind {head} and the flags {flags}, of which some mean nothing")
            yield _end(stream, at, flags, claimed, count)
            return
        node = varint()
        if action >= len(parameters) or (action < 0) != (kind == STUTTER):
            raise Malformed(f"record {count} names action {action}, and there are {len(parameters)}")
        params = tuple(varint() for _ in range(parameters[action] if action >= 0 else 0))
        delta = []
        cell = -1
        for _ in range(varint()):
            cell += varint() + 1
            zig = varint()
            if cell >= cells:
                raise Malformed(f"record {count} changes cell {cell} of {cells}")
            delta.append((cell, zig >> 1 if zig & 1 == 0 else -(zig >> 1) - 1))
        told = b""
        if observed:
            length = varint()
            told = stream[at : at + length]
            at += length
        count += 1
        yield Record(kind, action, node, params, tuple(delta), told)


def _end(stream: bytes, at: int, flags: int, claimed: int, count: int) -> End:
    if len(stream) != at + 4:
        raise Malformed(f"{len(stream) - at} bytes after the end record's count, where 4 are expected")
    right = crc32c.crc32c(stream[:at]) == int.from_bytes(stream[at:], "little")
    return End(bool(flags & QUIESCENT), bool(flags & CAPACITY), claimed, claimed == count, right)
