"""Helper functions that generated code calls; in the subset of Python that `lower` translates."""

from __future__ import annotations

PRELUDE = """
def err(p: "I64"):
    p[0] = 1
    return 0

def ix(p: "I64", i, n):
    if i < 0 or i >= n:
        p[0] = 1
        return 0
    return i

def need(p: "I64", good) -> bool:
    if good == 0:
        p[0] = 1
    return good != 0

def eqrun(p: "I64", a, b, n) -> bool:
    i = 0
    while i < n:
        if p[a + i] != p[b + i]:
            return False
        i += 1
    return True

def eqexcept(p: "I64", a, b, n, width, k) -> bool:
    i = 0
    while i < n:
        if i != k and not eqrun(p, a + i * width, b + i * width, width):
            return False
        i += 1
    return True

def copyrun(p: "I64", to, source, n):
    i = 0
    while i < n:
        p[to + i] = p[source + i]
        i += 1
    return 0

def copyseq(p: "I64", to, source, width, n):
    used = 1 + p[source] * width
    i = 0
    while i < used:
        p[to + i] = p[source + i]
        i += 1
    while i < n:
        p[to + i] = 0
        i += 1
    return 0

def zero(p: "I64", to, n):
    i = 0
    while i < n:
        p[to + i] = 0
        i += 1
    return 0

def bit(m, i) -> bool:
    return i >= 0 and i < 62 and (m >> i) & 1 != 0

def shl1(i):
    if i < 0 or i > 61:
        return 1 << 62
    return 1 << i

def lookup(p: "I64", table, i, n):
    if i < 0 or i >= n:
        return -1
    return p[table + i]

def remap(p: "I64", m, table):
    r = 0
    while m != 0:
        i = ctz(m)
        m = m & (m - 1)
        if i > 61:
            r = r | 1 << 62
        else:
            r = r | shl1(p[table + i])
    return r

def rangemask(lo, hi, n):
    if hi < lo:
        return 0
    r = 0
    if lo < 0:
        r = 1 << 62
        lo = 0
    if hi >= n:
        r = 1 << 62
        hi = n - 1
    if hi >= lo:
        r = r | ((1 << (hi + 1)) - (1 << lo))
    return r

def plus(p: "I64", a, b):
    r = a + b
    if (a ^ r) & (b ^ r) < 0:
        p[0] = 1
        return 0
    return r

def minus(p: "I64", a, b):
    r = a - b
    if (a ^ b) & (a ^ r) < 0:
        p[0] = 1
        return 0
    return r

def times(p: "I64", a, b):
    if b == 0 or a == 0:
        return 0
    if b == -1:
        return minus(p, 0, a)
    r = a * b
    if r // b != a:
        p[0] = 1
        return 0
    return r

def floordiv(p: "I64", a, b):
    if b == 0:
        p[0] = 1
        return 0
    if b == -1:
        return minus(p, 0, a)
    return a // b

def modulo(p: "I64", a, b):
    if b <= 0:
        p[0] = 1
        return 0
    return a % b

def fit(p: "I64", v, lo, hi):
    if v < lo or v > hi:
        p[1] = 1
        return lo
    return v
"""

PRELUDE += """
def mark(p: "I64", old, new, low, high, width, dirty, flag):
    u = low
    while u < high:
        if not eqrun(p, old + u * width, new + u * width, width):
            p[dirty] |= 1 << u
            p[3] |= flag
        u += 1
    return 0

def nonzero(p: "I64", at, end) -> bool:
    while at < end:
        if p[at] != 0:
            return True
        at += 1
    return False
"""
