"""Parquet, the form for scale: one row per trace.

| column   | type            | meaning                                                              |
|----------|-----------------|----------------------------------------------------------------------|
| `trace`  | string          | the trace's id, unique over everything that is audited together      |
| `steps`  | int32           | records after the initial one (a convenience; the stream decides)    |
| `stream` | binary          | the delta stream (docs/trace-format.md), its own CRC32C at its end   |
| `header` | string, or null | the file's header, as one line of JSON, in its first row only        |

The header stands in a column because Spark hands no file metadata to a job; it is repeated in the file's key-value
metadata under `tidemark` for other readers. Files are written under a temporary name and renamed when they are whole.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from tidemark_conformance.errors import Unusable
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
        """Write what is left and give the file its name. A file without a trace is not written at all."""
        if self.traces == 0:
            return
        self._flush()
        if self._writer is not None:
            self._writer.add_key_value_metadata(self._metadata)
            self._writer.close()
        os.replace(self._temporary, self.path)

    def abandon(self) -> None:
        """Remove the unfinished file."""
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
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
    with _opened(path) as file:
        text = (file.metadata.metadata or {}).get(METADATA_KEY)
    if text is None:
        raise Unusable(
            f"{path} is a Parquet file without a trace header; write it with `tidemark convert` or `simulate`"
        )
    return parse_header(text, str(path))


def read_traces(path: Path) -> Iterator[tuple[str, bytes]]:
    """The traces of one Parquet file on this machine, in order: id and delta stream. Errors as `read_header`."""
    for trace, _, stream in read_rows(path):
        yield trace, stream


def read_rows(path: Path) -> Iterator[tuple[str, int, bytes]]:
    """The rows of one Parquet file on this machine, in order: id, steps, delta stream. Errors as `read_header`."""
    columns = ["trace", "steps", "stream"]
    with _opened(path) as file:
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            raise Unusable(f"{path} has no column {missing[0]!r}; it is no trace file")
        for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, columns=columns):
            yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except FileNotFoundError as problem:
        raise Unusable(f"{path} does not exist; give a trace file or a folder of them") from problem
    except (pa.ArrowException, OSError) as problem:
        reason = str(problem).splitlines()[0][:200]
        raise Unusable(f"{path} cannot be read as Parquet ({reason}); write it again") from problem
