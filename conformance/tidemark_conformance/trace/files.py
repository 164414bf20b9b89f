"""Trace files on this machine: which form a path has, reading whole traces of either form, and writing them.

(The audit reads through Spark instead; see `check`.)
"""

from __future__ import annotations

import contextlib
import gzip
import os
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, cast

from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.extras import needs
from tidemark_conformance.paths import spec_root
from tidemark_conformance.trace.header import Header, parse_header
from tidemark_conformance.trace.lines import RawTrace, split_traces
from tidemark_conformance.trace.ndjson import LineReader, LineWriter
from tidemark_conformance.trace.schema import Schema

LONGEST_LINE = 16 << 20
"""The most bytes of a line of NDJSON: parsed, it takes some twenty times as much memory."""
NDJSON, PARQUET = "ndjson", "parquet"
SUFFIXES = {
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".ndjson.gz": NDJSON,
    ".jsonl.gz": NDJSON,
    ".parquet": PARQUET,
}


def form_of(name: str) -> str | None:
    """The form that a file's name says, NDJSON or PARQUET; None for a name that says neither."""
    return next((form for suffix, form in SUFFIXES.items() if name.lower().endswith(suffix)), None)


def stem_of(name: str) -> str:
    """A trace file's name without the suffix that says its form."""
    suffix = max((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), key=len, default="")
    return name[: len(name) - len(suffix)]


def one_form(names: Iterable[str], where: str) -> str:
    """The form that all these files have; hidden ones (`.` or `_` in front) must have been left out.

    Raises Unusable for no file, a name that says no form, or both forms together.
    """
    first: dict[str, str] = {}
    for name in names:
        form = form_of(name)
        if form is None:
            raise Unusable(f"{name} is no trace file by its name; {_instead_of(name)}")
        first.setdefault(form, name)
    if not first:
        raise Unusable(f"{where} holds no trace file; give a .ndjson or .parquet file, or a folder of either")
    if len(first) > 1:
        raise Unusable(
            f"{where} mixes forms ({first[NDJSON]} and {first[PARQUET]}); convert one with `tidemark convert` or "
            "give them one after the other"
        )
    return next(iter(first))


def _instead_of(name: str) -> str:
    """The advice for a file whose name is no trace file's. A golden scenario of this installation gets advice of its
    own."""
    path = Path(name)
    golden = spec_root().parent / "traces" / "golden"
    if path.suffix == ".txt" and path.is_file() and path.resolve().parent.parent == golden:
        return f"it is a golden scenario: `tidemark rule {path.stem}` leads to the step where it is flagged"
    return "name it .ndjson or .parquet, or move it away"


def local_files(paths: Sequence[Path]) -> list[Path]:
    """The trace files under these paths, folders searched to any depth, hidden files and folders left out, sorted.

    A name that begins with `.` or `_` is hidden, as it is to Spark. Raises Unusable for a path that does not exist, and
    for a hidden file.
    """
    found: list[Path] = []
    for path in paths:
        if os.path.isdir(path):  # unlike the path's own methods it takes any text
            inside = (one for one in path.rglob("*") if one.is_file())
            found += [one for one in inside if not any(part[0] in "._" for part in one.relative_to(path).parts)]
        elif os.path.exists(path):
            if path.name[0] in "._":
                raise Unusable(f"{path} is hidden by its name, and hidden files are left out; rename it")
            found.append(path)
        else:
            raise Unusable(f"{path} does not exist; give a trace file or a folder of them")
    return sorted(set(found))


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace as it was read, of either form: its steps after the initial one, its delta stream, where it stands.

    `detail`: the reason why its sum is bad or a value exceeds a capacity, where the form can say it.
    """

    id: str
    steps: int
    stream: bytes
    where: str
    detail: str = ""


def packed(path: Path) -> bool:
    """Whether a file is packed, by its name."""
    return path.name.lower().endswith(".gz")


@contextlib.contextmanager
def open_lines(path: Path, start: int = 0, end: int | None = None) -> Iterator[Iterator[bytes]]:
    """The lines of a file without their line feeds, unpacked if its name ends in `.gz`.

    `start`, `end`: bytes of a file that is not packed, both at the beginning of a line (`end` None: the file's).
    Raises Unusable, while the lines are read, for one that is longer than LONGEST_LINE.
    """

    def lines(file: BinaryIO) -> Iterator[bytes]:
        at = start
        try:
            while (end is None or at < end) and (read := file.readline(LONGEST_LINE + 2)):
                line = read.removesuffix(b"\n")
                if len(line) > LONGEST_LINE:
                    raise Unusable(
                        f"{path} has a line of more than {LONGEST_LINE:,} bytes, which begins at byte {at:,}; "
                        "write one record to a line"
                    )
                at += len(read)
                yield line
        except (OSError, EOFError, zlib.error) as problem:
            raise Unusable(f"{path} cannot be read ({problem}); write it again") from problem

    try:
        with gzip.open(path) if packed(path) else path.open("rb") as file:
            if start:
                file.seek(start)
            yield lines(cast(BinaryIO, file))
    except FileNotFoundError as problem:
        raise Unusable(f"{path} does not exist; give a trace file or a folder of them") from problem
    except OSError as problem:
        raise Unusable(f"{path} cannot be read ({problem.strerror}); give a file that can") from problem


def file_header(path: Path) -> Header:
    """The header of one trace file. Raises Unusable for a file that is none."""
    if one_form([path.name], str(path)) == PARQUET:
        needs("pyarrow", what=f"{path} is Parquet, which")
        from tidemark_conformance.trace.parquet import read_header

        return read_header(path)
    with open_lines(path) as lines:
        return parse_header(next(lines, b""), str(path))


def file_traces(path: Path, schema: Schema, only: str | None = None) -> Iterator[StoredTrace]:
    """The traces of one file, or only that with the id `only`, as delta streams whose damage is the file's.

    Raises Unusable for a file that is no trace file or was written for something else than `schema`.
    """
    header = file_header(path)
    header.require(schema.header, str(path))
    if form_of(path.name) == PARQUET:
        from tidemark_conformance.trace.parquet import read_rows

        for trace, steps, stream in read_rows(path):
            if only in (None, trace):
                yield StoredTrace(trace, steps, stream, str(path))
        return
    reader = LineReader(schema, header.nodes, str(path))
    for raw in raw_traces(path):
        if only in (None, raw.id):
            steps, stream = reader.stream(raw)
            yield StoredTrace(raw.id, steps, stream, f"{path}:{raw.first_line}", reader.detail)


def raw_traces(path: Path) -> Iterator[RawTrace]:
    """The traces of one NDJSON file as lines; its header is skipped."""
    with open_lines(path) as lines:
        next(lines, None)
        yield from split_traces(lines, where=str(path))


class TraceWriter(Protocol):
    """Writes one trace file that appears under its name when the block ends well."""

    def add(self, trace: str, steps: int, stream: bytes) -> None:
        """Append a trace; damage stays as it is. Raises Unusable for a whole stream that means nothing."""

    def __enter__(self) -> TraceWriter: ...

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NdjsonWriter:
    """Writes one NDJSON file (packed if its name ends in `.gz`) under a temporary name until it is whole."""

    def __init__(self, path: Path, header: Header, schema: Schema) -> None:
        self._path = path
        self._temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        self._lines = LineWriter(schema, header.nodes)
        opened = gzip.open(self._temporary, "wb") if packed(path) else open(self._temporary, "wb")  # noqa: SIM115
        self._file = cast(BinaryIO, opened)
        self._file.write(header.text().encode() + b"\n")

    def add(self, trace: str, steps: int, stream: bytes) -> None:
        """Append a trace's lines; damage stays as it is. Raises Unusable for a whole stream that means nothing."""
        self._file.write(b"".join(line + b"\n" for line in self._lines.lines(trace, stream)))

    def __enter__(self) -> NdjsonWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None:
            with writable(self._path):
                os.replace(self._temporary, self._path)
        else:
            self._temporary.unlink(missing_ok=True)


def open_writer(path: Path, header: Header, schema: Schema) -> TraceWriter:
    """A writer for the form that the file's name says. Raises Unusable for a name that says none."""
    if path.is_dir():
        raise Unusable(f"{path} is a folder, and by its name it is to be a file; choose another name")
    if path.parent.exists() and not path.parent.is_dir():
        raise Unusable(f"{path} cannot be written ({path.parent} is no folder); choose another place")
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if one_form([path.name], str(path)) == NDJSON:
            return NdjsonWriter(path, header, schema)
    from tidemark_conformance.trace.parquet import PartWriter

    return PartWriter(path, header)
