"""NDJSON, first half: from lines to whole traces, with their damage found; no specification is needed here.

Every reader judges damage in the same way. A trace is *damaged* if its raw lines do not have the sum of its end
record, or if it has no end record. It is then read only as far as it can be believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from crc32c import crc32c

from tidemark_conformance.trace.header import Json, RepeatedKey, encodable, loads

NO_END = "no end record"
BAD_SUM = "bad checksum"
MISSING_STEPS = "missing steps"
LAST_KEYS = {"trace", "end", "crc32c"}
END_KEYS = {"steps", "quiescent", "capacity"}


@dataclass(slots=True)
class RawTrace:
    """The lines of one trace.

    `events`: the parsed lines before the end record. `numbers`: their line numbers (1-based, in the file or partition).
    `end`: the end record's `end` object, None when there is none or it cannot be believed. `damage`: None, NO_END,
    BAD_SUM or MISSING_STEPS. With BAD_SUM, and with unreadable lines, `events` holds the readable lines. `wrong`: a
    line number, and a sentence's beginning that says why. It is the first line that can be read in two ways, or an end
    record with a meaningless key. It matters where nothing is damaged. `detail`: why a sum is bad, in a few words.
    """

    id: str
    first_line: int
    events: list[dict[str, Json]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    end: dict[str, Json] | None = None
    damage: str | None = None
    crc: int = 0
    unreadable: int = 0
    wrong: tuple[int, str] | None = None
    detail: str = ""

    def add(self, line: bytes, number: int, event: dict[str, Json] | None) -> None:
        """Append a line (without its line feed); `event` is None when it is no JSON object."""
        self.crc = crc32c(line + b"\n", self.crc)
        if event is None:
            self.unreadable += 1
        else:
            self.events.append(event)
            self.numbers.append(number)

    def finish(self, event: dict[str, Json]) -> None:
        """Take the end record and compare it with the lines read."""
        end = event.get("end")
        if not _is_end(end) or event.get("crc32c") != format(self.crc, "08x") or self.unreadable:
            self.damage = BAD_SUM
            self.detail = self._bad_sum(event)
            return
        self.end = end
        numbers = [event.get("step") for event in self.events]
        # A number that is no integer is no step's: to Python 1, 1.0 and True are equal.
        if len(numbers) != end["steps"] + 1 or any(
            type(number) is not int or number != place for place, number in enumerate(numbers)
        ):
            self.damage = MISSING_STEPS

    def _bad_sum(self, event: dict[str, Json]) -> str:
        """The error in the end record: of all that make the sum bad, the first that applies."""
        if self.unreadable:
            return f"{self.unreadable} of its lines cannot be read"
        if not _is_end(event.get("end")):
            return "`end` is not as docs/trace-format.md has it"
        if "crc32c" not in event:
            return "the end record has no crc32c"
        said = event["crc32c"]
        shown = ascii(said)[:40] if isinstance(said, str) else "what is no text"
        return f"the lines have the sum '{self.crc:08x}', the end record says {shown}"


def _is_end(end: Any) -> TypeGuard[dict[str, Any]]:
    return (
        isinstance(end, dict)
        and type(end.get("steps")) is int
        and end["steps"] >= 0
        and type(end.get("quiescent", False)) is bool
        and type(end.get("capacity", False)) is bool
    )


def _unknown_key(event: dict[str, Json]) -> str:
    """The error in the keys of an end record. A misspelt `quiescent` would leave the quiescence properties unjudged."""
    if "end" not in event:
        return ""
    end = event["end"]
    unknown = sorted({*(event.keys() - LAST_KEYS), *(end.keys() - END_KEYS if isinstance(end, dict) else ())})
    return f"an end record has no key {unknown[0][:60]!r}" if unknown else ""


def ends_trace(line: bytes) -> bool:
    """Whether a line ends the trace that it belongs to, so that any line after it belongs to another."""
    if b'"end"' not in line:  # quicker; a file that spells it with escapes only has fewer places to part it at
        return False
    event, _ = _event(line)
    return event is not None and "end" in event


def split_traces(
    lines: Iterable[bytes], first: int = 2, where: str = "", place: Callable[[int], int] = int
) -> Iterator[RawTrace]:
    """Group the lines after the header (bytes without line feeds) into traces. `first` numbers the first of them, and
    `place` makes such a number that of a line in the file `where`.

    A line that cannot be read belongs to the trace before it. Outside any trace it makes a damaged trace of its own,
    named after its line, so that it is counted. A trace whose lines are interrupted by another trace's comes out as two
    traces with one id, which the audit refuses as a duplicate.
    """
    current: RawTrace | None = None
    for number, line in enumerate(lines, first):
        event, wrong = _event(line)
        if event is None:
            if current is None:
                current = RawTrace(f"(unreadable: {where}:{place(number)})", number)
            current.add(line, number, None)
            continue
        name = event["trace"]
        if current is not None and current.id != name:
            current.damage = NO_END
            yield current
            current = None
        if current is None:
            current = RawTrace(name, number)
        wrong = wrong or _unknown_key(event)
        if wrong and current.wrong is None:
            current.wrong = number, wrong
        if "end" in event:
            current.finish(event)
            yield current
            current = None
        else:
            current.add(line, number, event)
    if current is not None:
        current.damage = NO_END
        yield current


def _event(line: bytes) -> tuple[dict[str, Json] | None, str]:
    """The line as an event with its trace's id, None when it is nothing of the kind; and its fault."""
    wrong = ""
    try:
        event = loads(line)
    except RepeatedKey as problem:
        wrong = f"the key {str(problem)[:60]} stands twice in one object"
        try:
            event = loads(line, strict=False)
        except ValueError:
            return None, ""
    except ValueError:
        return None, ""
    if not isinstance(event, dict) or not isinstance(event.get("trace"), str):
        return None, ""
    if not encodable(event["trace"]):
        wrong = "the trace's id has one half of a surrogate pair"
        event["trace"] = event["trace"].encode("utf-8", "backslashreplace").decode()
    return event, wrong
