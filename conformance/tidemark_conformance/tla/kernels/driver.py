"""The replay of delta streams, and batches of explicit states: text in the subset of Python that `lower` translates.

It is the same for every specification. The functions that `program` generates (`act`, `ghosts`, `invariants`, ...) and
the constants in capitals (offsets into the memory, numbers of things) differ.
"""

from __future__ import annotations

from collections.abc import Sequence

PASS, FAIL, UNDECIDED = 0, 1, 2
"""Verdicts of a stream."""

REASONS = (
    "",
    "no end record",
    "bad checksum",
    "missing steps",
    "malformed stream",
    "capacity exceeded",
    "not from Init",
    "unknown action",
    "parameter out of its domain",
    "unknown node",
    "hidden variables have no value",
)
"""Why a stream is undecided, by number. (The last one never stands alone: the step is none, which is a failure.)"""
CAPACITY, MALFORMED, WRONG = REASONS.index("capacity exceeded"), REASONS.index("malformed stream"), len(REASONS)
"""What a value beyond a limit means: the limit is a capacity; no value has such a cell; the limit means something."""
OVERFLOWS = 32
"""From here on: a computed value exceeds the capacity of the variable with the number that is left."""


def reason(code: int, variables: Sequence[str]) -> str:
    """Why a stream is undecided, by number; `variables`: their names in the order of the layout."""
    return f"capacity exceeded by the computed {variables[code - OVERFLOWS]}" if code >= OVERFLOWS else REASONS[code]


DRIVER = '''
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

def settle(p: "I64"):
    """The next state becomes the current one."""
    i = 0
    while i < p[LISTED]:
        cell = p[LIST + i]
        p[CURRENT + cell] = p[NEXT + cell]
        i += 1
    v = CARRIED
    while v < VARIABLES:
        if p[DIRTY + v] != 0:
            row = VARIABLE_TABLE + 2 * v
            copyrun(p, CURRENT + p[row], NEXT + p[row], p[row + 1])
        v += 1
    return 0

def clean(p: "I64"):
    """Nothing is dirty."""
    v = 0
    while v < VARIABLES:
        p[DIRTY + v] = 0
        v += 1
    p[CHANGED] = 0
    return 0

def everything(p: "I64"):
    """All is dirty."""
    v = 0
    while v < VARIABLES:
        p[DIRTY + v] = -1
        v += 1
    p[CHANGED] = -1
    return 0

def start(p: "I64", snapshot):
    """Check the initial state and give the ghosts their first values; 0, or the reason."""
    if snapshot == 0:
        settle(p)
        p[0] = 0
        if HIDDEN_VARIABLES > 0:
            initial_hidden(p)
            if p[1] != 0:
                return 32 + p[OVERFLOWING]
            if p[0] != 0:
                return 6
        if not initial(p) or p[0] != 0:
            return 6
        initial_ghosts(p)
        if p[1] != 0:
            return 5
        if p[0] != 0:
            return 6
    settle(p)
    everything(p)
    invariants(p, 0, snapshot)
    clean(p)
    return 0

def record(p: "I64", kind, action, number_, snapshot):
    """Check one record whose delta is applied; 0, or the reason why the stream cannot be decided."""
    p[0] = 0
    if kind == 0:
        p[TAKEN + 2 * action] += 1
        p[HIDDEN] = 0
        if not act(p, action) or p[0] != 0:
            if p[FIRSTS] < 0:
                p[FIRSTS] = number_
        if HIDDEN_VARIABLES > 0:
            if p[HIDDEN] == 0:
                p[0] = 0
                p[1] = 0
                hidden(p, action)
            if p[HIDDEN] == 2:
                return 10
            if p[1] != 0:
                return 32 + p[OVERFLOWING]
        if GHOSTS > 0 and snapshot == 0:
            p[0] = 0
            ghosts(p, action)
            if p[1] != 0:
                return 5
            if p[0] != 0 and p[FIRSTS] < 0:
                p[FIRSTS] = number_
    else:
        if p[CHANGED] != 0 and p[FIRSTS] < 0:
            p[FIRSTS] = number_
        if kind == 1 and p[CHANGED] == 0:
            p[BLOCKED] = 1
            if act(p, action) and p[0] == 0 and p[FIRSTS] < 0 and refuses(p, action):
                p[FIRSTS] = number_
            p[BLOCKED] = 0
            p[0] = 0
        if kind == 1:
            p[TAKEN + 2 * action + 1] += 1
    if p[CHANGED] != 0:
        properties(p, number_, snapshot)
        settle(p)
        invariants(p, number_, snapshot)
        clean(p)
    return 0

def mixed(x):
    """The bits of a number below 2 ** 32, mixed."""
    x = (x ^ x >> 15) * 668265263 & 4294967295
    return x ^ x >> 13

def shape(cell, low, high, value):
    """A number for what a cell shows of a state's shape: its value, or of many values whether it is 0."""
    if high > low + 3:
        value = 1 if value != 0 else 0
    return mixed(cell * 2654435761 + (value & 1023) * 40503 + 12345 & 4294967295)

def reached(e: "I64", base, words, x):
    """Note the feature x in a bitmap of `words` cells (a power of 2) with 32 bits each; 1 if it is new."""
    x = mixed(x & 4294967295) & words * 32 - 1
    one = 1 << (x & 31)
    if e[base + (x >> 5)] & one != 0:
        return 0
    e[base + (x >> 5)] |= one
    return 1

def looks(p: "I64"):
    """Before a record is judged: the shape of the next state, and which variables change."""
    i = 0
    while i < p[LISTED]:
        cell = p[LIST + i]
        low = p[CELL_TABLE + CELL_ROW * cell]
        high = p[CELL_TABLE + CELL_ROW * cell + 1]
        now = shape(cell, low, high, p[NEXT + cell]) - shape(cell, low, high, p[CURRENT + cell])
        p[REACHED] = p[REACHED] + now & 4294967295
        i += 1
    p[REACHED + 1] = (p[CHANGED] ^ p[CHANGED] >> 31) & 4294967295
    return 0

def news(p: "I64", e: "I64", words, row, happened, number_):
    """After a record: is something new? e[row:row + 4]: how many pairs of actions in a row, changes and sides of rules
    a stream has reached first, and the last record that did; the same of shapes of states."""
    before = p[REACHED + 2]
    found = reached(e, 0, words, before * 4099 + happened)
    found += reached(e, 0, words, mixed(before * 4099 + happened) + p[REACHED + 1])
    i = 0
    while i < 2 * RULES:
        if p[COVERAGE + i] != p[REACHED + 3 + i]:
            p[REACHED + 3 + i] = p[COVERAGE + i]
            found += reached(e, 0, words, 1073741824 + happened * 4099 + i)
        i += 1
    if found > 0:
        e[row] += found
        e[row + 1] = number_
    if reached(e, words, 4 * words, p[REACHED]) != 0:
        e[row + 2] += 1
        e[row + 3] = number_
    p[REACHED + 2] = happened
    return 0

def unread(p: "I64", d: "U8", at, end):
    """Read a delta without applying it; 0, or the reason."""
    n = number(p, d, at, end)
    at = p[POSITION]
    if at < 0 or n < 0:
        return 4
    cell = -1
    while n > 0:
        gap = number(p, d, at, end)
        at = p[POSITION]
        if at < 0 or gap < 0:
            return 4
        number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 4
        cell += gap + 1
        if cell < 0 or cell >= BASE_CELLS:
            return 4
        n -= 1
    return 0

def replay(p: "I64", d: "U8", at, end, out: "I64", row, nodes, snapshot, e: "I64", words, place):
    """Replay one stream; returns 0, or the reason why it is undecided. out[row + 2]: its records of kind 0. `e`,
    `words`, `place`: as `news` has them, if `words` is not 0.

    A value that is wrong by its limits has no cells: the step has made TypeOK false. A parameter outside its domain is
    no parameter of the action: the record is no step. In both cases the rest is read, not judged.
    """
    judged = 1
    if end - at < 7 or end - at > 1 << 40:
        return 1
    p[0] = 0
    crc = checksum(p, d, at, end - 4)
    if crc != d[end - 4] | d[end - 3] << 8 | d[end - 2] << 16 | d[end - 1] << 24:
        return whole(p, d, at, end)
    end -= 4
    zero(p, CURRENT, 2 * CELLS + VARIABLES)
    p[CHANGED] = 0
    p[1] = 0
    p[SEEN] = 0
    p[REACHED] = 0
    p[REACHED + 2] = 0
    stop = 0
    while stop < FIELDS:
        p[LAST_TOLD + stop] = -1
        stop += 1
    count = 0
    while True:
        head = number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 1
        kind = head & 3
        if kind == 3:
            break
        action = (head >> 2) - 1
        node = number(p, d, at, end)
        at = p[POSITION]
        if at < 0:
            return 4
        if node < 0 or node > nodes:
            return 9
        if kind == 2:
            if action != -1:
                return 4
        else:
            if action < 0 or count == 0:
                return 4
            if action >= ACTIONS:
                return 7
            why = parameters(p, d, at, end, action)
            if why == WRONG:
                if judged != 0 and p[FIRSTS] < 0:
                    p[FIRSTS] = count
                judged = 0
            elif why != 0 and (judged != 0 or why != 5):
                return why
            at = p[POSITION]
        if kind == 0:
            out[row + 2] += 1
        before = at
        if judged != 0:
            why = delta(p, d, at, end)
            at = p[POSITION]
            if why == 0:
                why = canonical(p)
            if why == WRONG:
                if count == 0:
                    return 6
                if p[FIRSTS + TYPE_OK] < 0:
                    p[FIRSTS + TYPE_OK] = count
                judged = 0
            elif why != 0:
                return why
        if judged == 0:
            why = unread(p, d, before, end)
            if why != 0:
                return why
            at = p[POSITION]
        if OBSERVABLES > 0:
            stop = number(p, d, at, end)
            at = p[POSITION]
            if at < 0 or stop < 0 or stop > end - at:
                return 4
            stop += at
            p[LAST] = 2 * OBSERVABLES - 1
            if count > 0 and judged != 0:
                p[LAST] = -1
                why = observe(p, d, at, stop, 2 * OBSERVABLES, count)
                if why != 0:
                    return why
                at = p[POSITION]
            p[TOLD + FIELDS] += 1
        if judged != 0:
            if words > 0:
                looks(p)
            if count == 0:
                why = start(p, snapshot)
            else:
                why = record(p, kind, action, count, snapshot)
            if why != 0:
                return why
            if words > 0:
                news(p, e, words, place, head, count)
        if OBSERVABLES > 0:
            if judged != 0:
                why = observe(p, d, at, stop, 4 * OBSERVABLES, count)
                if why != 0:
                    return why
            at = stop
        count += 1
    if HIDDEN_VARIABLES > 0 and BASE_CELLS == 0 and p[SEEN] == 0:
        p[TOLD + FIELDS + 1] += 1
    if head != 3:
        return 4
    flags = number(p, d, at, end)
    at = p[POSITION]
    if at < 0:
        return 1
    claimed = number(p, d, at, end)
    at = p[POSITION]
    if at < 0:
        return 1
    if at != end:
        return 4
    if flags < 0 or flags > 3:
        return 4
    if claimed != count or count == 0:
        return 3
    if flags & 2 != 0:
        return 5
    if flags & 1 != 0 and judged != 0:
        quiescence(p, count - 1, snapshot)
    return 0

def check_streams(
    p: "I64", d: "U8", offsets: "I64", out: "I64", firsts: "I64", e: "I64", words, low, high, nodes, snapshot
):
    """Replay streams low..high-1; three cells of `out` per stream: verdict, reason, steps. `e`: bitmaps of 5 * words
    cells for what streams reach, then four cells per stream (see `news`); `words` 0: nobody asks."""
    i = low
    while i < high:
        j = 0
        while j < CHECKS:
            p[FIRSTS + j] = -1
            j += 1
        out[3 * i + 2] = 0
        why = replay(p, d, offsets[i], offsets[i + 1], out, 3 * i, nodes, snapshot, e, words, 5 * words + 4 * i)
        failed = 0
        j = 0
        while j < CHECKS:
            firsts[i * CHECKS + j] = p[FIRSTS + j]
            if p[FIRSTS + j] >= 0:
                failed = 1
            j += 1
        if why != 0 and why != 5 and why != 10 and why < 32:
            out[3 * i] = 2
        elif failed != 0:
            out[3 * i] = 1
        else:
            out[3 * i] = 2 if why != 0 else 0
        out[3 * i + 1] = why if out[3 * i] == 2 else 0
        i += 1
    return 0

def claimed_action(p: "I64", d: "U8", at, end, record_):
    """The action that a record of a stream claims to be; -1 where it names none, or where the stream is none so far."""
    while at < end:
        head = number(p, d, at, end)
        at = p[POSITION]
        action = (head >> 2) - 1
        if at < 0 or head & 3 == 3 or action >= ACTIONS:
            return -1
        if record_ == 0:
            return action
        record_ -= 1
        if passed(p, d, at, end, action) != 0:
            return -1
        at = p[POSITION]
    return -1

def claimed_actions(p: "I64", d: "U8", offsets: "I64", steps: "I64", out: "I64", high):
    """Of streams 0..high-1 the action that record steps[i] claims to be; stream i: d[offsets[2i]:offsets[2i + 1]]."""
    i = 0
    while i < high:
        out[i] = claimed_action(p, d, offsets[2 * i], offsets[2 * i + 1], steps[i])
        i += 1
    return 0

def differences(p: "I64"):
    """Mark what differs between the two states."""
    clean(p)
    cell = 0
    while cell < CELLS:
        if p[CURRENT + cell] != p[NEXT + cell]:
            row = CELL_TABLE + CELL_ROW * cell
            variable = p[row + 2]
            p[DIRTY + variable] |= 1 << p[row + 3]
            p[CHANGED] |= 1 << (variable if variable < 61 else 61)
        cell += 1
    return 0

def check_batch(p: "I64", what, index, states: "I64", nexts: "I64", params: "I64", out: "I64", count):
    """Evaluate one check on explicit states, `count` rows of CELLS cells; params: PARAMETER_COUNT indices a row.

    what: 0 Init, 1 invariant, 2 property, 3 action, 4 its guards alone, 5 ghosts after the action (written to `nexts`),
    6 the ghosts' first values (written to `states`), 7 quiescence, 8 an invariant of `nexts` that held of `states`,
    9 the hidden variables after the action (written to `nexts`), 10 their first values (written to `states`).
    """
    i = 0
    while i < count:
        copyrows(p, CURRENT, states, i * CELLS, CELLS)
        if 2 <= what and what <= 5 or what == 8 or what == 9:
            copyrows(p, NEXT, nexts, i * CELLS, CELLS)
        else:
            copyrows(p, NEXT, states, i * CELLS, CELLS)
        if what == 3 or what == 9:
            copyrun(p, NEXT + BASE_CELLS, CURRENT + BASE_CELLS, FIRST_GHOST - BASE_CELLS)
        differences(p)
        if 3 <= what and what <= 5 or what == 9:
            row = ACTION_TABLE + index * ACTION_ROW + 1
            n = p[row - 1]
            j = 0
            while j < n:
                k = params[i * PARAMETER_COUNT + j]
                if p[row + 2] == 0:
                    p[PARAMETERS + j] = p[TABLES + p[row + 1] + k]
                else:
                    p[PARAMETERS + j] = TABLES + p[row + 1] + k * p[row + 2]
                row += PARAMETER_ROW
                j += 1
        p[0] = 0
        p[1] = 0
        good = 1
        if what == 0:
            initial_hidden(p)
            good = 1 if initial(p) and samerows(p, CURRENT, states, i * CELLS) else 0
        elif what == 1:
            everything(p)
            good = 1 if invariant(p, index) else 0
        elif what == 2:
            good = 1 if p[CHANGED] == 0 or property(p, index) else 0
        elif what == 3:
            p[HIDDEN] = 0
            good = 1 if act(p, index) and samerows(p, NEXT, nexts, i * CELLS) else 0
        elif what == 4:
            p[BLOCKED] = 1
            good = 1 if act(p, index) else 0
            p[BLOCKED] = 0
        elif what == 5:
            copyrun(p, NEXT + FIRST_GHOST, CURRENT + FIRST_GHOST, CELLS - FIRST_GHOST)
            differences(p)
            ghosts(p, index)
            saverows(p, NEXT + FIRST_GHOST, nexts, i * CELLS + FIRST_GHOST, CELLS - FIRST_GHOST)
        elif what == 6:
            initial_ghosts(p)
            saverows(p, NEXT + FIRST_GHOST, states, i * CELLS + FIRST_GHOST, CELLS - FIRST_GHOST)
        elif what == 9:
            hidden(p, index)
            saverows(p, NEXT + BASE_CELLS, nexts, i * CELLS + BASE_CELLS, FIRST_GHOST - BASE_CELLS)
        elif what == 10:
            initial_hidden(p)
            saverows(p, NEXT + BASE_CELLS, states, i * CELLS + BASE_CELLS, FIRST_GHOST - BASE_CELLS)
        elif what == 8:
            copyrun(p, CURRENT, NEXT, CELLS)
            good = 1 if p[CHANGED] == 0 or invariant(p, index) else 0
        else:
            good = 1 if quiescent(p, index) else 0
        if p[0] != 0:
            good = 0
        if p[1] != 0:
            good = -1
        out[i] = good
        i += 1
    clean(p)
    return 0

def samerows(p: "I64", ours, rows: "I64", at) -> bool:
    """Whether the hidden variables of a state are those of a row."""
    i = BASE_CELLS
    while i < FIRST_GHOST:
        if p[ours + i] != rows[at + i]:
            return False
        i += 1
    return True

def copyrows(p: "I64", to, rows: "I64", at, n):
    i = 0
    while i < n:
        p[to + i] = rows[at + i]
        i += 1
    return 0

def saverows(p: "I64", source, rows: "I64", at, n):
    i = 0
    while i < n:
        rows[at + i] = p[source + i]
        i += 1
    return 0

def main(p: "I64", d: "U8", a: "I64", b: "I64", c: "I64", e: "I64", what, index, low, high, nodes, snapshot):
    """The one entry point: what -1 replays streams, -2 asks for the actions of some records, otherwise a batch."""
    if what == -1:
        return check_streams(p, d, a, b, c, e, index, low, high, nodes, snapshot)
    if what == -2:
        return claimed_actions(p, d, a, b, c, high)
    return check_batch(p, what, index, a, b, c, e, high)
'''


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
