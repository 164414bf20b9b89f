"""Lines of a delta stream: varints, the checksum, parameters, deltas, observations."""

from __future__ import annotations

READING = '''
def number(p: "I64", d: "U8", at, end):
    """The varint at `at`; p[POSITION] is then behind it, or -1 if the stream or its 64 bits end before it does."""
    value = 0
    shift = 0
    while at < end and shift < 63:
        b = d[at]
        at += 1
        value |= (b & 127) << shift
        if b < 128:
            p[POSITION] = at
            return value
        shift += 7
    if at < end and d[at] < 2:
        p[POSITION] = at + 1
        return value | d[at] << 63
    p[POSITION] = -1
    return 0

def checksum(p: "I64", d: "U8", at, end):
    """CRC32C of d[at:end], eight bytes at a time."""
    c = 4294967295
    while at + 8 <= end:
        low = c ^ (d[at] | d[at + 1] << 8 | d[at + 2] << 16 | d[at + 3] << 24)
        c = p[CRC + 1792 + (low & 255)] ^ p[CRC + 1536 + (low >> 8 & 255)]
        c = c ^ (p[CRC + 1280 + (low >> 16 & 255)] ^ p[CRC + 1024 + (low >> 24 & 255)])
        c = c ^ (p[CRC + 768 + d[at + 4]] ^ p[CRC + 512 + d[at + 5]]) ^ (p[CRC + 256 + d[at + 6]] ^ p[CRC + d[at + 7]])
        at += 8
    while at < end:
        c = c >> 8 ^ p[CRC + ((c ^ d[at]) & 255)]
        at += 1
    return c ^ 4294967295

def passed(p: "I64", d: "U8", at, end, action):
    """Pass over a record behind its head; 0, or 1 where the bytes are none. p[POSITION] is then behind it."""
    skip = 1
    if action >= 0:
        skip += p[ACTION_TABLE + action * ACTION_ROW]
    while skip > 0:
        number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 1
        skip -= 1
    skip = 2 * number(p, d, at, end)
    at = p[POSITION]
    if at < 0 or skip < 0 or skip > end:
        return 1
    while skip > 0:
        number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 1
        skip -= 1
    if OBSERVABLES > 0:
        skip = number(p, d, at, end)
        at = p[POSITION]
        if at < 0 or skip < 0 or skip > end - at:
            return 1
        p[POSITION] = at + skip
    return 0

def whole(p: "I64", d: "U8", at, end):
    """Whether the bytes end with an end record: 2 (bad checksum) if they do, 1 (no end record) if they do not."""
    while at < end:
        head = number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 1
        if head & 3 == 3:
            number(p, d, at, end)
            at = p[POSITION]
            if at < 0:
                return 1
            number(p, d, at, end)
            if p[POSITION] >= 0 and p[POSITION] + 4 == end:
                return 2
            return 1
        if head >> 2 > ACTIONS or passed(p, d, at, end, (head >> 2) - 1) != 0:
            return 1
        at = p[POSITION]
    return 1

def told(p: "I64", d: "U8", at, end, row):
    """Read an observed value's cells; 0, or the reason why they are none. p[POSITION] is then behind them."""
    cell = 0
    limits = LIMIT_TABLE + p[row + 3]
    while cell < p[row + 2]:
        zig = number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 4
        value = (zig >> 1 & 9223372036854775807) ^ -(zig & 1)
        if value < p[limits] or value > p[limits + 1]:
            return 4
        p[OBSERVED + cell] = value
        limits += 2
        cell += 1
    p[POSITION] = at
    return 0

def observe(p: "I64", d: "U8", at, end, high, number_):
    """Compare what was observed with the current state, up to entry number `high`; 0, or the reason why the stream
    cannot be decided. p[POSITION] is then where it ended."""
    while at < end:
        code = number(p, d, at, end)
        if p[POSITION] < 0 or code <= p[LAST] or code >= 4 * OBSERVABLES:
            return 4
        if code >= high:
            break
        p[LAST] = code
        at = p[POSITION]
        row = code >> 1
        if row >= OBSERVABLES:
            row -= OBSERVABLES
        row = OBSERVABLE_TABLE + 4 * row
        which = p[row]
        same = 0
        if code & 1 != 0:
            n = number(p, d, at, end)
            at = p[POSITION]
            if at < 0 or n < 0 or n > end - at:
                return 4
            at += n
        else:
            why = told(p, d, at, end, row)
            if why != 0:
                return why
            at = p[POSITION]
            p[OBSERVER] = p[row + 1]
            p[0] = 0
            if field(p, which) and p[0] == 0:
                same = 1
        p[0] = 0
        p[SEEN] += 1
        if p[LAST_TOLD + which] != number_:
            p[LAST_TOLD + which] = number_
            p[TOLD + which] += 1
        if same == 0 and p[FIRSTS + FIRST_FIELD + which] < 0:
            p[FIRSTS + FIRST_FIELD + which] = number_
    p[POSITION] = at
    return 0

def parameters(p: "I64", d: "U8", at, end, action):
    """Decode an action's parameters; 0, or the reason why that is impossible. p[POSITION] is then behind them.

    Two indices behind a domain's last stand for values that it has not: any, and an integer above its greatest.
    """
    row = ACTION_TABLE + action * ACTION_ROW + 1
    n = p[row - 1]
    j = 0
    beyond = 0
    while j < n:
        index = number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 4
        if index < 0 or index > p[row] + 1:
            return 8
        if index >= p[row]:
            if beyond != WRONG:
                beyond = p[row + 3 + index - p[row]]
        elif p[row + 2] == 0:
            p[PARAMETERS + j] = p[TABLES + p[row + 1] + index]
        else:
            p[PARAMETERS + j] = TABLES + p[row + 1] + index * p[row + 2]
        row += PARAMETER_ROW
        j += 1
    p[POSITION] = at
    return beyond

def delta(p: "I64", d: "U8", at, end):
    """Apply a delta to the next state, mark what really changed, keep the cells in a list; 0, or the reason.

    Of several values beyond their limits one that no value of its type has counts first, then one that is wrong.
    """
    beyond = 0
    p[LISTED] = 0
    n = number(p, d, at, end)
    at = p[POSITION]
    if at < 0 or n < 0:
        return 4
    cell = -1
    listed = 0
    while n > 0:
        if at >= end:
            return 4
        gap = d[at]
        at += 1
        if gap > 127:
            gap = number(p, d, at - 1, end)
            at = p[POSITION]
            if at < 0 or gap < 0:
                return 4
        if at >= end:
            return 4
        zig = d[at]
        at += 1
        if zig > 127:
            zig = number(p, d, at - 1, end)
            at = p[POSITION]
            if at < 0:
                return 4
        cell += gap + 1
        if cell < 0 or cell >= BASE_CELLS:
            return 4
        value = (zig >> 1 & 9223372036854775807) ^ -(zig & 1)
        row = CELL_TABLE + CELL_ROW * cell
        if value < p[row] or value > p[row + 1]:
            why = p[row + 4] if value < p[row] else p[row + 5]
            if why == 4:
                return 4
            if beyond != WRONG:
                beyond = why
        elif value != p[NEXT + cell]:
            p[NEXT + cell] = value
            variable = p[row + 2]
            p[DIRTY + variable] |= 1 << p[row + 3]
            p[CHANGED] |= 1 << (variable if variable < 61 else 61)
            p[LIST + listed] = cell
            listed += 1
        n -= 1
    p[LISTED] = listed
    p[POSITION] = at
    return beyond
'''
"""Text for `lower`."""


def crc_tables() -> list[int]:
    """The eight tables of CRC32C, one behind the other."""
    first = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        first.append(value)
    tables = [first]
    for _ in range(7):
        tables.append([first[entry & 255] ^ entry >> 8 for entry in tables[-1]])
    return [entry for table in tables for entry in table]
