"""TLC's `-tool` output as messages.

A message stands between `@!@!@STARTMSG code:severity @!@!@` and `@!@!@ENDMSG code @!@!@`, and one may stand inside
another. Text outside (SANY's lines, the output of `PrintT`) has code 0. Everything that reads TLC decides by the codes;
the prose is only shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

OUTSIDE = 0
"""Code of a line outside every message."""
PARSE_FAILED = 3002
CONFIG_ERRORS = range(5001, 5100)
"""The cfg's syntax."""
CONFIGURATION = frozenset({*range(2222, 2238), 2241, 2242, 2243, 2280, 2281})
"""The cfg's names and values against the modules."""
GENERAL = 1000
NESTED_EXPRESSIONS = 2103
DEADLOCK = 2114
INVARIANT_INITIAL = 2107
INVARIANT = 2110
INVARIANT_ERROR = 2111
ACTION_PROPERTY_INITIAL = 2108
ACTION_PROPERTY = 2112
ACTION_PROPERTY_ERROR = 2113
TEMPORAL = 2116
COMPUTING_INITIAL = 2189
SUCCESS = 2193
DEPTH = 2194
STATISTICS = 2199
PROGRESS = 2200
BEHAVIOR = 2121
COUNTEREXAMPLE = 2264
FRAMES = frozenset({BEHAVIOR, COUNTEREXAMPLE})
"""Headings of a counterexample: sent as errors, with nothing of their own to say."""
STATE = 2217
SANY_END = 2219
STUTTERING = 2218
BACK_TO_STATE = 2122
ACTION_COVERAGE = 2772
FINISHED = 2186
VERSION = 2262

_START = re.compile(r"@!@!@STARTMSG (\d+)(?::(\d+))? @!@!@")
_END = re.compile(r"@!@!@ENDMSG (\d+) @!@!@")


@dataclass(frozen=True, slots=True)
class Message:
    """One message (or one line outside: code 0): its code, severity (0 none, 1 error, 3 warning, 4 state), and text.

    `inner`: it stood inside another message (the cause of an exception).
    """

    code: int
    severity: int
    text: str
    inner: bool = False


def read(lines: Iterable[str]) -> Iterator[Message]:
    """The messages of the lines, inner ones before the one around them; a message cut short at the end is dropped.

    Blank lines outside are kept: they part what SANY says.
    """
    stack: list[tuple[int, int, list[str]]] = []
    for raw in lines:
        line = raw.rstrip("\n")
        start = _START.search(line)
        if start:
            if start.start() and stack:
                stack[-1][2].append(line[: start.start()])
            stack.append((int(start[1]), int(start[2] or 0), []))
            continue
        end = _END.search(line)
        if end and stack:
            code, severity, collected = stack.pop()
            yield Message(code, severity, "\n".join(collected), inner=bool(stack))
        elif stack:
            stack[-1][2].append(line)
        else:
            yield Message(OUTSIDE, 0, line)
