"""Parts of NDJSON files that can be read apart from each other: byte ranges that begin and end between two traces.

A range ends behind an end record, where every reader has finished the trace before and knows of none. So the traces of
the ranges are those of the file, damaged ones included. A packed file is one range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.files import file_header, open_lines, packed
from tidemark_conformance.trace.header import Header, parse_header
from tidemark_conformance.trace.lines import RawTrace, ends_trace, split_traces

RANGE_BYTES = 8 << 20
"""About as many bytes are a range: less than a second's work of one core."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Range:
    """The lines of a file that begin at `start` or behind it and before `end` (None: the file's end). They include the
    header's if `start` is 0."""

    path: str
    start: int = 0
    end: int | None = None

    @cached_property
    def lines_before(self) -> int:
        """How many lines of the file stand before the range: it is read up to there for a message, once."""
        count, left = 0, self.start
        with open(self.path, "rb") as file:
            while left > 0 and (block := file.read(min(left, _BLOCK))):
                count += block.count(b"\n")
                left -= len(block)
        return count

    def number(self, line: int) -> int:
        """The number in the file of a line that has this number in the range."""
        return line + self.lines_before if self.start else line

    def traces(self) -> tuple[Header, Iterator[RawTrace]]:
        """The file's header and the range's traces, their lines numbered in the range.

        Raises Unusable for a file that cannot be read or has no header; while traces are read for a line too long.
        """
        if self.start:
            return file_header(Path(self.path)), self._traces(headed=False)
        with open_lines(Path(self.path)) as lines:
            header = parse_header(next(lines, b""), self.path)
        return header, self._traces(headed=True)

    def _traces(self, headed: bool) -> Iterator[RawTrace]:
        with open_lines(Path(self.path), self.start, self.end) as lines:
            if headed:
                next(lines, None)
            yield from split_traces(lines, 1 + headed, self.path, self.number)


def ranges(paths: Iterable[str], size: int | None = None) -> list[Range]:
    """The files as ranges of about `size` bytes (None: RANGE_BYTES), in order. Raises Unusable for a file that cannot
    be read."""
    return [one for path in paths for one in _ranges(path, size or RANGE_BYTES)]


def _ranges(path: str, size: int) -> Iterator[Range]:
    try:
        whole = Path(path).stat().st_size
    except OSError as problem:
        raise Unusable(f"{path} cannot be read ({problem.strerror}); give a file that can") from problem
    start = 0
    if not packed(Path(path)):
        while start + size < whole:
            cut = _cut(path, start + size)
            if cut is None or cut >= whole:
                break
            yield Range(path, start, cut)
            start = cut
    yield Range(path, start)


def _cut(path: str, behind: int) -> int | None:
    """The first place at `behind` or after it where a line that ends a trace has just ended; None if there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(behind - 1)
            while byte := file.readline(_BLOCK):  # the rest of a line that began before
                if byte.endswith(b"\n"):
                    break
            at = file.tell()
    except OSError as problem:
        raise Unusable(f"{path} cannot be read ({problem.strerror}); give a file that can") from problem
    with open_lines(Path(path), at) as lines:
        for line in lines:
            at += len(line) + 1
            if ends_trace(line):
                return at
    return None
