"""The input of an audit as Spark sees it: which files, which form, which header; and reading it in whole traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

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
        files = sorted(plain(name) for name in listing.inputFiles())
    form = one_form(files, shown)
    with readable_errors(shown):
        header = _first_header(session, files[0], form)
    return Input(tuple(paths), tuple(files), form, header, shown)


def plain(path: str) -> str:
    """A path as its user would write it: without `file:`, and not as a URL."""
    path = unquote(path)
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


def files_with_header(session: SparkSession, source: Input) -> DataFrame:
    """The column path: the files whose header column, or first line, is there."""
    if source.form == NDJSON:
        return ndjson_lines(session, source).select("path")
    reader = session.read.schema(COLUMNS).option("recursiveFileLookup", "true")
    return reader.parquet(*source.paths).where("header is not null").selectExpr("_metadata.file_path as path")


def ndjson_lines(session: SparkSession, source: Input) -> DataFrame:
    """The columns value (a line) and path; a partition holds one file, its lines in order."""
    session.conf.set("spark.sql.files.maxPartitionBytes", WHOLE_FILE)
    session.conf.set("spark.sql.files.openCostInBytes", WHOLE_FILE)
    reader = session.read.option("lineSep", "\n").option("recursiveFileLookup", "true")
    return reader.text(list(source.paths)).selectExpr("value", "_metadata.file_path as path")
