"""Parquet, the form for scale: one row per trace.

| column   | type            | meaning                                                              |
|----------|-----------------|----------------------------------------------------------------------|
| `trace`  | string          | the trace's id, unique over everything that is audited together      |
| `steps`  | int32           | records after the initial one (a convenience; the stream decides)    |
| `stream` | binary          | the delta stream (docs/trace-format.md), its own CRC32C at its end   |
| `header` | string, or null | the file's header, as one line of JSON, in its first row only        |

The header stands in a column because Spark hands no file metadata to a job; every reader of ours takes it from there.
It is repeated in the file's key-value metadata under `tidemark` for other readers. Files are written under a
temporary name and renamed when they are whole.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.trace.header import Header, parse_header

SCHEMA = pa.schema(
    [
        pa.field("trace", pa.string(), nullable=False),
        pa.field("steps", pa.int32(), nullable=False),
        pa.field("stream", pa.binary(), nullable=False),
        pa.field("header", pa.string()),
    ]
)
METADATA_KEY = b"tidemark"
HEADER_TYPES = (pa.string(), pa.large_string())
ROW_TYPES = {
    "trace": (pa.string(), pa.large_string()),
    "steps": (pa.int32(),),
    "stream": (pa.binary(), pa.large_binary()),
}
"""The columns of a trace, and as which types they are read."""
NO_HEADER = "is a Parquet file without a trace header; write it with `tidemark convert` or `simulate`"
ROWS_PER_GROUP = 8192
BYTES_PER_GROUP = 8 << 20
"""A row group is written when either is reached."""


class PartWriter:
    """Writes one Parquet file; it appears under its name only when `close` has succeeded.

    As a context manager it closes on success and removes the unfinished file on an exception.
    """

    def __init__(self, path: Path, header: Header, metadata: dict[str, str] | None = None) -> None:
        """`metadata`: further key-value pairs for the file's footer."""
        self.path = path
        self.traces = 0
        self.steps = 0
        self._header: str | None = header.text()
        self._metadata = {METADATA_KEY: header.text().encode()}
        self._metadata |= {key.encode(): value.encode() for key, value in (metadata or {}).items()}
        self._temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[tuple[str, int, bytes]] = []
        self._bytes = 0

    def add(self, trace: str, steps: int, stream: bytes) -> None:
        """Append one trace: its id, its number of steps (the initial state not counted), its delta stream as it is."""
        self._rows.append((trace, steps, stream))
        self._bytes += len(stream)
        self.traces += 1
        self.steps += steps
        if len(self._rows) >= ROWS_PER_GROUP or self._bytes >= BYTES_PER_GROUP:
            self._flush()

    def annotate(self, key: str, value: str) -> None:
        """Add a key-value pair to the file's footer before it is closed."""
        self._metadata[key.encode()] = value.encode()

    def _flush(self) -> None:
        if self._writer is None:
            with writable(self.path):
                self._writer = pq.ParquetWriter(
                    self._temporary,
                    SCHEMA,
                    compression="zstd",
                    compression_level=1,
                    use_dictionary=["header"],
                    write_statistics=["steps", "header"],
                    write_page_checksum=True,
                )
        if not self._rows:
            return
        traces, steps, streams = zip(*self._rows, strict=True)
        headers = [self._header] + [None] * (len(traces) - 1)
        self._header = None
        columns = [pa.array(traces, pa.string()), pa.array(steps, pa.int32()), pa.array(streams, pa.binary())]
        batch = pa.record_batch([*columns, pa.array(headers, pa.string())], schema=SCHEMA)
        self._writer.write_batch(batch)
        self._rows.clear()
        self._bytes = 0

    def close(self) -> None:
        """Write the buffered rows and give the file its name. A file without a trace is not written at all."""
        if self.traces == 0:
            return
        self._flush()
        with writable(self.path):
            if self._writer is not None:
                self._writer.add_key_value_metadata(self._metadata)
                self._writer.close()
            os.replace(self._temporary, self.path)

    def abandon(self) -> None:
        """Remove the unfinished file."""
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


def read_header(path: Path) -> Header:
    """The header of one Parquet file on this machine.

    Raises Unusable for a file that cannot be read, or is no trace file of ours.
    """
    with _opened(path, {"header": HEADER_TYPES}) as file:
        for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, columns=["header"]):
            found = batch.column("header").drop_null()
            if len(found):
                return parse_header(found[0].as_py(), str(path))
    raise Unusable(f"{path} {NO_HEADER}")


def read_rows(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """The rows of one Parquet file on this machine, in order: id, steps, delta stream. Errors as `read_header`."""
    columns = list(ROW_TYPES)
    with _opened(path, ROW_TYPES) as file:
        for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, columns=columns):
            if any(batch.column(name).null_count for name in columns):
                raise Unusable(f"{path} has a row without trace id, steps or stream; write it with `tidemark convert`")
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


def row_groups(path: Path) -> int:
    """How many row groups a Parquet file has. Errors as `read_header`."""
    with _opened(path, {"header": HEADER_TYPES, **ROW_TYPES}) as file:
        return int(file.num_row_groups)


def group_columns(path: Path, group: int) -> Iterator[tuple[pa.Array, pa.Array, pa.Array, pa.Array]]:
    """The columns trace, steps, stream and header of a row group, some thousand rows at a time. Errors as
    `read_header`."""
    names = [*ROW_TYPES, "header"]
    with _opened(path, {"header": HEADER_TYPES, **ROW_TYPES}) as file:
        for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, row_groups=[group], columns=names):
            trace, steps, stream, header = (batch.column(name) for name in names)
            try:
                trace.validate(full=True)
            except pa.ArrowInvalid as problem:
                raise Unusable(f"{path} has a trace whose id is no UTF-8; write it again") from problem
            yield trace, steps, stream, header


@contextlib.contextmanager
def _opened(path: Path, columns: Mapping[str, Container[pa.DataType]]) -> Iterator[pq.ParquetFile]:
    """The file, which has these columns, each of one of its types."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            for name, types in columns.items():
                if schema.names.count(name) != 1 or schema.field(name).type not in types:
                    raise Unusable(f"{path} {NO_HEADER}" if name == "header" else f"{path} has no column {name!r}")
            yield file
    except FileNotFoundError as problem:
        raise Unusable(f"{path} does not exist; give a trace file or a folder of them") from problem
    except (pa.ArrowException, OSError) as problem:
        reason = str(problem).splitlines()[0].split(". ")[0][:200].rstrip(".")
        raise Unusable(f"{path} cannot be read as Parquet ({reason}); write it again") from problem
