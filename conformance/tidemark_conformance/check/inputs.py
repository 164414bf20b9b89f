"""The input of an audit as Spark sees it: which files, which form, which header; and reading it in whole traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidemark_conformance.check.session import SESSION_SETTINGS, readable_errors
from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace.files import NDJSON, one_form
from tidemark_conformance.trace.header import Header, parse_header

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "trace string, steps int, stream binary, header string"
WHOLE_FILE = str(1 << 50)
"""A split size that no file reaches, and an opening cost that puts every file into a partition of its own."""


@dataclass(frozen=True, slots=True)
class Input:
    """Trace files of one form; `header` is that of the first of them, `shown` names the input in messages."""

    paths: tuple[str, ...]
    files: tuple[str, ...]
    size: int
    form: str
    header: Header
    shown: str


def open_input(session: SparkSession, paths: Sequence[str]) -> Input:
    """List the files under `paths` (anything that Spark can read) and read the first header.

    Raises Unusable for paths that are not there, no trace file, names that say no form, mixed forms, or no header.
    """
    shown = " ".join(paths)
    with readable_errors(shown):
        listing = session.read.format("binaryFile").option("recursiveFileLookup", "true").load(list(paths))
        rows = listing.select("path", "length").collect()
    files = sorted((_plain(row.path), int(row.length)) for row in rows)
    form = one_form([name for name, _ in files], shown)
    with readable_errors(shown):
        header = _first_header(session, files[0][0], form)
    names = tuple(name for name, _ in files)
    return Input(tuple(paths), names, sum(size for _, size in files), form, header, shown)


def _plain(path: str) -> str:
    """A path as its user would write it."""
    return path.removeprefix("file://") if path.startswith("file:///") else path.removeprefix("file:")


def _first_header(session: SparkSession, file: str, form: str) -> Header:
    if form == NDJSON:
        rows = session.read.option("lineSep", "\n").text(file).limit(1).collect()
    else:
        rows = (
            session.read.schema(COLUMNS).parquet(file).select("header").where("header is not null").limit(1).collect()
        )
        if not rows:
            raise Unusable(f"{file} is a Parquet file without a trace header; write it with `tidemark convert`")
    return parse_header(rows[0][0] if rows else b"", file)


def parquet_rows(session: SparkSession, source: Input) -> DataFrame:
    """The columns trace, stream, header and `id` (64 bits of the trace's id), split anywhere between traces."""
    for key in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
        session.conf.set(key, SESSION_SETTINGS[key])
    reader = session.read.schema(COLUMNS).option("parquet.page.verify-checksum.enabled", "true")
    frame = reader.option("recursiveFileLookup", "true").parquet(*source.paths)
    return frame.selectExpr("trace", "stream", "header", "xxhash64(trace) as id")


def ndjson_lines(session: SparkSession, source: Input) -> DataFrame:
    """The columns value (a line) and path; a partition holds one file, its lines in order."""
    session.conf.set("spark.sql.files.maxPartitionBytes", WHOLE_FILE)
    session.conf.set("spark.sql.files.openCostInBytes", WHOLE_FILE)
    reader = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    return reader.text(list(source.paths)).selectExpr("value", "_metadata.file_path as path")
