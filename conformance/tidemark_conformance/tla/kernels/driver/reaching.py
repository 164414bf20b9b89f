"""The features that a stream reaches first, for `tidemark hunt`: pairs of actions, changes, sides of rules, shapes."""

from __future__ import annotations

REACHING = '''
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
'''
"""Text for `lower`."""
