"""Makes traces/emitters/vectors: the lines that any emitter must write, by the auditor's own reader and writer of
lines.

    python tests/emitter_vectors.py        writes the files again

The steps are told as whole states. The auditor's reader (naive lines to a delta stream) and writer (the stream to
canonical lines) work their lines out. No emitter has a part in that. An emitter writes a value beyond a limit as it
would with wider limits: so the lines are worked out by `Kinds.tla` with greater constants.
"""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from crc32c import crc32c
from tidemark_conformance.registry.specifications import load_for
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import Type, bounds
from tidemark_conformance.trace.codec import GREATEST, Exceeds, WrongKind, reader, type_json, writer
from tidemark_conformance.trace.header import dumps
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from tidemark_conformance.trace.schema import Schema, schema_of

FOLDER = Path(__file__).parent.parent / "traces" / "emitters" / "vectors"
NODES = ["a", "b"]
WIDER = {"Least": 99, "Most": 99, "MaxDigit": 19, "MaxList": 9, "MaxSeen": 9}
"""The constants by which a value beyond a limit of Kinds.cfg has its text."""

FIRST: dict[str, Any] = {
    "count": 0,
    "flag": False,
    "owner": "None",
    "word": "plain",
    "some": [],
    "digits": [],
    "list": [],
    "named": {"a": 0, "b": 0},
    "numbered": [[1, False], [2, False], [3, False]],
    "paired": [[["a", 0], []], [["a", 1], []], [["b", 0], []], [["b", 1], []]],
    "record": {"zone": "plain", "age": 0, "inner": {"a": 0, "b": 0}},
    "pair": [0, False],
    "messages": [],
}
PONG = {"type": "pong", "from": "b", "seen": 2}
COUNT: dict[str, Any] = {"do": "step", "node": "a", "action": "Count", "params": {"to": 2}, "state": {"count": 2}}
RAISED: dict[str, Any] = {**COUNT, "state": {"count": 2, "flag": True}}
APPENDED: dict[str, Any] = {
    "list": [{"by": "b", "at": 0}],
    "named": {"b": 1, "a": 0},
    "numbered": [[3, False], [2, True], [1, False]],
    "paired": [[["b", 1], ["b"]], [["a", 0], []], [["a", 1], []], [["b", 0], []]],
}
LATE = {"type": "pong", "from": "b", "seen": 7}
PING = {"from": "a", "type": "ping"}
SAID: dict[str, Any] = {
    "do": "step",
    "action": "Say",
    "params": {"m": LATE},
    "state": {
        "messages": [LATE],
        "record": {"zone": "plain", "age": 7, "inner": {"b": 1, "a": 0}},
        "pair": [3, True],
    },
}
END: dict[str, Any] = {"do": "end", "quiescent": True}


def extended(times: int) -> dict[str, Any]:
    """The step that appends to the list for the so-many-th time, all by node b."""
    state = {"list": [{"by": "b", "at": at} for at in range(times)], "named": {"a": 0, "b": times}}
    return {"do": "step", "action": "Extend", "params": {"n": "b"}, "state": {**APPENDED, **state}}


CASES: list[tuple[str, list[dict[str, Any]]]] = [
    ("the first state and the end", [{**END, "quiescent": False}]),
    ("a step that changes two variables", [{**COUNT, "state": {"flag": True, "count": 2}}, END]),
    ("what is given and has not changed is not written", [{**COUNT, "state": {**FIRST, "count": 2}}, END]),
    ("a step that changes nothing has no delta", [{**COUNT, "params": {"to": 0}, "state": FIRST}, END]),
    ("a blocked attempt", [{"do": "step", "node": "b", "action": "Count", "params": {"to": 9}, "blocked": True}, END]),
    ("a stutter, at a node and nowhere", [{"do": "stutter", "node": "b"}, {"do": "stutter"}, END]),
    (
        "sets are sorted, and texts are escaped as little as JSON allows",
        [
            {
                "do": "step",
                "action": "Own",
                "params": {"w": 'quote " and \\', "n": "b"},
                "state": {"owner": "b", "word": 'quote " and \\', "some": ["b", "a"], "digits": [5, 1]},
            },
            END,
        ],
    ),
    (
        "of a function only the cells that changed",
        [
            {"do": "step", "node": "b", "action": "Extend", "params": {"n": "b"}, "state": APPENDED},
            {"do": "step", "action": "Extend", "params": {"n": "a"}, "state": {"named": {"a": 1, "b": 1}}},
            END,
        ],
    ),
    (
        "records are sorted by field, a union's type comes first",
        [
            {
                "do": "step",
                "action": "Say",
                "params": {"m": {"seen": 2, "from": "b", "type": "pong"}},
                "state": {
                    "messages": [PONG, {"from": "a", "type": "ping"}],
                    "record": {"inner": {"b": 1, "a": 0}, "zone": "two words", "age": 7},
                    "pair": [3, True],
                },
            },
            END,
        ],
    ),
    (
        "observations follow the delta, observers and fields in the header's order",
        [
            {
                **COUNT,
                "before": {"b": {"list": [], "word": "plain", "total": 0}},
                "after": {"b": {"mine": 0}, "a": {"word": "two words", "total": 1}},
            },
            {**COUNT, "blocked": True, "state": {}, "after": {"a": {}}},
            {"do": "stutter", "node": "b", "after": {"b": {"total": 1}}},
            END,
        ],
    ),
    (
        "an observation that no state can have is written: the auditor finds it",
        [{**COUNT, "after": {"a": {"total": -7, "word": "unknown", "list": [{"at": 9, "by": "c"}] * 3}}}, END],
    ),
    ("an observation of another kind", [{**COUNT, "after": {"a": {"total": "7"}}, "error": "kind"}]),
    ("an observer that is none", [{**COUNT, "after": {"c": {"total": 7}}, "error": "kind"}]),
    ("an observed field that is none", [{**COUNT, "before": {"a": {"totals": 7}}, "error": "kind"}]),
    ("an integer above its bounds is written", [RAISED, {**COUNT, "state": {"count": 10}}, {"do": "stutter"}, END]),
    ("an integer below its bounds is written", [{**COUNT, "state": {"count": -4}}, END]),
    ("a sequence beyond its capacity is written", [*map(extended, (1, 2, 3, 4)), END]),
    (
        "elements that a set cannot hold follow its members",
        [
            {
                "do": "step",
                "action": "Own",
                "params": {"n": "a", "w": "plain"},
                "state": {"owner": "a", "some": ["a"], "digits": [11, 7, 1, 5]},
            },
            END,
        ],
    ),
    (
        "a parameter above its domain is written, and one below",
        [
            {"do": "step", "action": "Count", "params": {"to": 10}, "state": {"count": 10, "flag": True}},
            {"do": "step", "action": "Count", "params": {"to": -12}, "blocked": True},
            END,
        ],
    ),
    ("an integer in a record that is a parameter is written", [SAID, END]),
    (
        "what has no place in the trace ends it by its own word",
        [COUNT, {"do": "exceeded"}],
    ),
    ("beyond its bounds in the first state", [{**END, "quiescent": False}]),
    ("another kind: the trace has no end", [COUNT, {**COUNT, "state": {"count": "2"}, "error": "kind"}]),
    ("a variable that is none", [COUNT, {**COUNT, "state": {"kount": 2}, "error": "kind"}]),
    ("an action that is none", [{**COUNT, "action": "Recount", "error": "kind"}]),
    ("a parameter of another kind", [{**COUNT, "params": {"to": "2"}, "error": "kind"}]),
    ("a parameter that is none of the names", [{**extended(1), "params": {"n": "c"}, "error": "kind"}]),
    ("a parameter too few", [{**COUNT, "params": {}, "error": "kind"}]),
    ("a node that is none", [{**COUNT, "node": "c", "error": "kind"}]),
    ("a blocked attempt that changes something", [{**COUNT, "blocked": True, "error": "kind"}]),
    ("a trace that is never ended", [COUNT, {"do": "abandon"}]),
]
"""Per case its calls after `begin`. A call with `error` fails in that way and is the last; no line tells of it."""

FIRSTS = {"beyond its bounds in the first state": {**FIRST, "count": 12}}
"""The first states of cases that begin in another than FIRST."""

VALUES: list[tuple[str, Any]] = [
    ("count", -3),
    ("count", 10),
    ("count", -4),
    ("count", 1.5),
    ("count", True),
    ("count", None),
    ("count", 123456789012345678901234567890),
    ("flag", True),
    ("flag", 1),
    ("flag", "true"),
    ("owner", "None"),
    ("owner", "c"),
    ("owner", None),
    ("word", 'quote " and \\'),
    ("some", ["b", "a"]),
    ("some", ["a", "a"]),
    ("some", {"a": True}),
    ("digits", [5, 3, 1]),
    ("digits", [2]),
    ("digits", [7]),
    ("digits", [11, 1, 9, 5]),
    ("digits", [4, 7]),
    ("list", [{"by": "a", "at": 3}]),
    ("list", [{"by": "a", "at": 14}]),
    ("list", [{"by": "a", "at": 0}, {"by": "b", "at": 14}, {"by": "a", "at": 2}]),
    ("list", [{"by": "c", "at": 14}]),
    ("list", [{"by": "a"}]),
    ("list", [{"by": "a", "at": 0, "more": 1}]),
    ("list", {}),
    ("named", {"b": 2, "a": 1}),
    ("named", {"b": 2}),
    ("named", {"b": 2, "a": 1, "c": 0}),
    ("named", [["a", 1], ["b", 2]]),
    ("numbered", [[3, True], [1, False], [2, True]]),
    ("numbered", [[1, False], [1, False], [2, True]]),
    ("numbered", [[4, False], [3, False], [1, False], [2, True]]),
    ("numbered", {"1": True, "2": True, "3": True}),
    ("paired", APPENDED["paired"]),
    ("record", {"zone": "plain", "inner": {"b": 0, "a": 1}, "age": 9}),
    ("record", {"zone": "plain", "inner": {"b": 0, "a": 1}, "age": 10}),
    ("pair", [9, True]),
    ("pair", [10, False]),
    ("pair", [9]),
    ("messages", [PONG, PING]),
    ("messages", [LATE, PING]),
    ("messages", [{"from": "a", "type": "pang"}]),
    ("messages", [{"from": "a", "type": "ping", "seen": 1}]),
]
SUMS = ["", "a", "123456789", "\n", '{"trace":"tx-0"}\n', "ümläut → ∀", "x" * 1000]


@cache
def specification(**constants: int) -> Specification:
    """Kinds.tla with Kinds.cfg, some of its constants given anew."""
    text = (FOLDER / "Kinds.cfg").read_text(encoding="utf-8")
    for name, value in constants.items():
        text, found = re.subn(rf"\b{name} = \d+", f"{name} = {value}", text)
        assert found == 1, name
    with tempfile.TemporaryDirectory() as folder:
        cfg = Path(folder) / "Kinds.cfg"
        cfg.write_text(text, encoding="utf-8")
        return load_for(None, FOLDER / "Kinds.tla", cfg)[0]


def schema(**constants: int) -> Schema:
    """The schema of Kinds.tla."""
    return schema_of(specification(**constants))


def vectors() -> dict[str, str]:
    """The files' texts by name."""
    one = schema()
    header = one.with_nodes(NODES)
    traces = [_case(one, f"case-{number}", name, calls) for number, (name, calls) in enumerate(CASES)]
    values = [_value(one, name, value) for name, value in VALUES]
    sums = [{"text": text, "crc32c": format(crc32c(text.encode()), "08x")} for text in SUMS]
    return {
        "header.json": header.text() + "\n",
        "traces.json": _pretty(traces),
        "values.json": _pretty(values),
        "crc32c.json": _pretty(sums),
    }


def _pretty(rows: list[dict[str, Any]]) -> str:
    """One row a line, so that a change is a line."""
    return "[\n" + ",\n".join(dumps(row) for row in rows) + "\n]\n"


def _case(one: Schema, trace: str, name: str, calls: list[dict[str, Any]]) -> dict[str, Any]:
    first = FIRSTS.get(name, FIRST)
    naive: list[dict[str, Any]] = [{"trace": trace, "step": 0, "state": first}]
    ended: dict[str, Any] | None = None
    for call in calls:
        if call["do"] in ("end", "exceeded"):
            exceeded = call["do"] == "exceeded"
            ended = {"steps": len(naive) - 1, "quiescent": call.get("quiescent", False), "capacity": exceeded}
        elif call["do"] != "abandon" and "error" not in call:
            keys = ("node", "action", "params", "blocked", "before", "after")
            event = {"trace": trace, "step": len(naive), **{key: call[key] for key in keys if key in call}}
            naive.append({**event, "delta": call.get("state", {})})
    lines = [dumps(event).encode() for event in naive]
    if ended:
        crc = 0
        for line in lines:
            crc = crc32c(line + b"\n", crc)
        lines.append(dumps({"trace": trace, "end": ended, "crc32c": format(crc, "08x")}).encode())
    wide = schema(**WIDER)
    written = LineWriter(wide, NODES).lines(trace, _stream(wide, lines))
    assert _stream(one, written) == _stream(one, lines), name
    begin = {"do": "begin", "trace": trace, "state": first}
    return {"name": name, "calls": [begin, *calls], "lines": [line.decode() for line in written]}


def _stream(one: Schema, lines: list[bytes]) -> bytes:
    (raw,) = split_traces(lines)
    return LineReader(one, NODES, "vectors").stream(raw)[1]


def type_of(one: Schema, name: str) -> Type:
    """The type of a variable."""
    return next(variable.type for variable in one.layout.variables if variable.name == name)


def _value(one: Schema, name: str, value: Any) -> dict[str, Any]:
    kind = type_of(one, name)
    row = {"type": type_json(kind), "value": value}
    cells: list[int] = []
    try:
        reader(kind)(json.loads(json.dumps(value)), cells)
        if all(least <= cell <= most for cell, (least, most) in zip(cells, bounds(kind), strict=True)):
            return {**row, "json": dumps(writer(kind)(cells, 0))}
    except WrongKind:
        return {**row, "error": "kind"}
    except Exceeds:
        pass  # an argument for which the layout has no place, which ends the judging and is named
    return {**row, "json": _beyond(name, value)}


def _beyond(name: str, value: Any) -> str:
    """The text of a value beyond a limit, by wider limits; of an integer that no cell holds it is its own."""
    if type(value) is int and abs(value) > GREATEST:
        return dumps(value)
    kind = type_of(schema(**WIDER, MaxNumber=4), name)
    cells: list[int] = []
    reader(kind)(value, cells)
    return dumps(writer(kind)(cells, 0))


if __name__ == "__main__":
    for file, text in vectors().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
