"""The other entries: the action that a record claims, and batches of explicit states; `main` is the one entry point."""

from __future__ import annotations

ASKING = '''
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
"""Text for `lower`."""
