"""A step whose two states are in the memory: its action, the ghosts, the checks that may have changed."""

from __future__ import annotations

JUDGING = '''
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
'''
"""Text for `lower`."""
