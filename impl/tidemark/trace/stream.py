"""The delta stream of docs/trace-format.md, as recorders of all protocols write it."""

from __future__ import annotations

from collections.abc import Sequence

import crc32c

from tidemark.trace.cells import Cells

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
"""The difference between two tuples of cells: the number of differing cells, the first, the bytes from its value on,
and the cell behind the last. The comparison defines where the numbers of cells begin."""


def finished(out: bytearray, records: int, quiescent: bool, capacity: bool) -> bytes:
    """The whole stream: `out`, which holds `records` records, with the end record behind them."""
    out.append(END)
    out.append(QUIESCENT * quiescent + CAPACITY * capacity)
    out += VARINT[records]
    out += crc32c.crc32c(bytes(out)).to_bytes(4, "little")
    return bytes(out)


def outside(domain: Sequence[object], value: object) -> int:
    """The number that stands for a parameter's value which its sorted `domain` has not: the auditor judges it."""
    most = domain[-1]
    return len(domain) + (isinstance(value, int) and isinstance(most, int) and value > most)


def difference(old: Cells, new: Cells, place: int) -> Difference:
    """Compare two tuples of cells, of which the first is number `place`. Raises ValueError if one has more cells."""
    if len(old) != len(new):
        raise ValueError(f"{len(new)} cells cannot follow {len(old)}")
    count = first = behind = 0
    out = b""
    for index, cell in enumerate(new):
        if cell == old[index]:
            continue
        if count:
            out += VARINT[index - behind] + ZIGZAG[cell]
        else:
            first, out = index, ZIGZAG[cell]
        count += 1
        behind = index + 1
    return (count, place + first, out, place + behind) if count else (0, 0, b"", 0)
