"""The delta stream of docs/trace-format.md, as recorders write it: what they share, whatever the protocol.

What a recorder compares from step to step is a *unit*: some cells that are computed together, from a key. A key that
was seen is kept as a `Node`, with the bytes that lead from it to others.
"""

from __future__ import annotations

import crc32c

from tidemark.cells import Cells

STEP, BLOCKED, STUTTER, END = range(4)
QUIESCENT, CAPACITY = 1, 2


class Varints(dict[int, bytes]):
    """Unsigned numbers in LEB128, each made once."""

    def __missing__(self, number: int) -> bytes:
        out = bytearray()
        rest = number
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
        found = self[number] = bytes(out)
        return found


class Zigzags(dict[int, bytes]):
    """Signed numbers as zigzag varints, each made once."""

    def __missing__(self, number: int) -> bytes:
        found = self[number] = VARINT[2 * number if number >= 0 else -2 * number - 1]
        return found


VARINT = Varints()
ZIGZAG = Zigzags()


Difference = tuple[int, int, bytes, int]
"""What leads from one tuple of cells to another: how many differ, the first that does, the bytes from its value on, and
the cell behind the last one. Cells are numbered in the whole state."""


NO_DIFFERENCE: Difference = (0, 0, b"", 0)


def finished(out: bytearray, records: int, quiescent: bool, capacity: bool) -> bytes:
    """The whole stream: `out`, which holds `records` records, with the end record behind them."""
    out.append(END)
    out.append(QUIESCENT * quiescent + CAPACITY * capacity)
    out += VARINT[records]
    out += crc32c.crc32c(bytes(out)).to_bytes(4, "little")
    return bytes(out)


def difference(old: Cells, new: Cells, place: int) -> Difference:
    """Compare two tuples of cells, of which the first is number `place`."""
    count, first, behind = 0, 0, 0
    out = bytearray()
    for index, (a, b) in enumerate(zip(old, new, strict=True), place):
        if a != b:
            if count:
                out += VARINT[index - behind]
            else:
                first = index
            out += ZIGZAG[b]
            count += 1
            behind = index + 1
    return count, first, bytes(out), behind


class Node:
    """A key that was seen in an exchange: its cells, and the edges to keys that followed it."""

    __slots__ = ("cells", "edges")

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.edges: dict[Cells, Edge] = {}


class Edge:
    """A step from a node: to which; the difference; all that is written when nothing else changes; and the difference
    without the tag, for when records come or go between the tag and the rest."""

    __slots__ = ("alone", "node", "rest", "whole")

    def __init__(self, node: Node, whole: Difference, rest: Difference) -> None:
        self.node = node
        self.whole = whole
        self.rest = rest
        count, first, ending, _ = whole
        self.alone = VARINT[count] + VARINT[first] + ending if count else b"\0"
