"""The input of an audit as Spark sees it: its files, its form, its header, and how it is read in whole traces."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tidemark_conformance.errors import Unusable
from tidemark_conformance.spark.session import SESSION_SETTINGS, readable_errors
from tidemark_conformance.trace.files import NDJSON, file_header, local_files, one_form
from tidemark_conformance.trace.header import Header, parse_header
from tidemark_conformance.trace.ndjson import LineReader
from tidemark_conformance.trace.ranges import Range
from tidemark_conformance.trace.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "trace string, steps int, stream binary, header string"
WHOLE_FILE = str(1 << 50)
"""A split size that no file reaches, and an opening cost that puts every file into a partition of its own."""


@dataclass(frozen=True, slots=True)
class Input:
    """Trace files of one form; `header` is that of the first of them, `shown` names the input in messages.

    `paths` are as Spark takes them (see `escaped`), `files` as their user would write them.
    """

    paths: tuple[str, ...]
    files: tuple[str, ...]
    form: str
    header: Header
    shown: str


def open_input(session: SparkSession, paths: Sequence[str]) -> Input:
    """List the files under `paths` (anything that Spark can read, globs included) and read the first header.

    Raises Unusable for paths that are not there, no trace file, names that say no form, mixed forms, or no header.
    """
    shown = " ".join(paths)
    taken = [escaped(path) if is_here(path) else path for path in paths]
    with readable_errors(shown):
        listing = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(taken)
        files = sorted(plain(name) for name in listing.inputFiles())
    form = one_form(files, shown)
    for file in files:
        if file.startswith("/") and ":" in Path(file).name:
            raise Unusable(f"{file} has a colon in its name, with which Spark cannot read a local file; rename it")
    with readable_errors(shown):
        header = _first_header(session, files[0], form)
    return Input(tuple(taken), tuple(files), form, header, shown)


def open_here(paths: Sequence[str], elsewhere: bool = False) -> Input | None:
    """An input that lies on this machine, without Spark. None if part of it may lie elsewhere: a URL, a pattern, and
    with `elsewhere` any path that is not here.

    Raises Unusable as `open_input` does, half a minute earlier.
    """
    missing = [path for path in paths if not is_here(path)]
    if any(elsewhere or _ELSEWHERE.search(path) for path in missing):
        return None
    if missing:
        raise Unusable(f"{missing[0]} does not exist; give a trace file or a folder of them")
    shown = " ".join(paths)
    files = [Path(os.path.abspath(file)) for file in local_files([Path(path) for path in paths])]
    form = one_form(map(str, files), shown)
    return Input(tuple(paths), tuple(map(str, files)), form, file_header(files[0]), shown)


_ELSEWHERE = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:|[*?\[\]{}]")


def is_here(path: str) -> bool:
    """Whether a path is that of a file or a folder of this machine."""
    return os.path.exists(path)


def require_headers(source: Input, expected: Header) -> None:
    """Refuse an input of this machine of which a file has no header, or that of another specification than `expected`.

    Raises Unusable as the audit does, before it begins.
    """
    source.header.require(expected, source.files[0])
    for file in source.files[1:]:
        file_header(Path(file)).require(expected, file)


def require_first_trace(source: Input, schema: Schema) -> None:
    """Refuse NDJSON of this machine whose first trace has a line that the audit would refuse, in the same words."""
    if source.form != NDJSON:
        return
    header, traces = Range(source.files[0]).traces()
    first = next(traces, None)
    if first is not None:
        LineReader(schema, header.nodes, source.files[0]).stream(first)


def escaped(path: str) -> str:
    """The path as a glob that matches it alone: Spark takes every path for a glob."""
    return "".join("\\" + letter if letter in "*?[]{}\\" else letter for letter in path)


def plain(path: str) -> str:
    """A path as its user would write it: without `file:`, and not as a URL."""
    path = unquote(path)
    return path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")


def _first_header(session: SparkSession, file: str, form: str) -> Header:
    place = escaped(file)
    if form == NDJSON:
        rows = session.read.option("lineSep", "\n").text(place).limit(1).collect()
    else:
        headers = session.read.schema(COLUMNS).parquet(place).select("header").where("header is not null")
        rows = headers.limit(1).collect()
        if not rows:
            raise Unusable(f"{file} is a Parquet file without a trace header; write it with `tidemark convert`")
    return parse_header(rows[0][0] if rows else b"", file)


def parquet_rows(session: SparkSession, source: Input) -> DataFrame:
    """The columns trace, steps, stream, header, `id` (64 bits of the trace's id), and where a header stands `path`.

    Split anywhere between traces.
    """
    for key in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
        session.conf.set(key, SESSION_SETTINGS[key])
    reader = session.read.schema(COLUMNS).option("parquet.page.verify-checksum.enabled", "true")
    frame = reader.option("recursiveFileLookup", "true").parquet(*source.paths)
    path = "if(header is null, null, _metadata.file_path) as path"
    return frame.selectExpr("trace", "steps", "stream", "header", "xxhash64(trace) as id", path)


def ndjson_lines(session: SparkSession, source: Input) -> DataFrame:
    """The columns value (a line) and path; a partition holds one file, its lines in order."""
    session.conf.set("spark.sql.files.maxPartitionBytes", WHOLE_FILE)
    session.conf.set("spark.sql.files.openCostInBytes", WHOLE_FILE)
    reader = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    return reader.text(list(source.paths)).selectExpr("value", "_metadata.file_path as path")
