"""The replay of whole streams, line after line, to a verdict."""

from __future__ import annotations

REPLAYING = '''
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
'''
"""Text for `lower`."""
