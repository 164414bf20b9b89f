"""The content of a file of a log directory, one row a batch, record or entry, in the order of the file.

A row is a JSON object: `file`, `at` (the byte), `kind`, then the fields by Kafka's names. What cannot be read is a row,
too: of kind `problem`, with `problem` and `remedy`. Keys, values and other bytes are text where they are printable
UTF-8, else `{"base64": ...}`; a null is null.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tidemark.log.formats import batch, compression, control, indexes, internal, producer_snapshot, records, texts
from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.layout import Layout
from tidemark.log.formats.names import Kind

from tidemark_conformance import extras
from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.files import Foreign, LogFile, Opened

Row = dict[str, Any]
PROBLEM = "problem"
CHECKPOINT_BYTES, SNAPSHOT_BYTES = 1 << 26, 1 << 30
"""A file of text, and one of producers, are read whole; these sizes are beyond all that a broker writes."""
_AT = "at"


@dataclass(frozen=True)
class Selection:
    """The rows that are wanted. `first`, `last`: of the offsets that a row must touch. `records`: also those, not only
    their batches."""

    first: int = 0
    last: int = 2**63 - 1
    records: bool = False

    def has(self, first: int, last: int) -> bool:
        """Whether a row of these offsets is wanted."""
        return first <= self.last and last >= self.first


def rows(one: LogFile | Foreign, wanted: Selection) -> Iterator[Row]:
    """The rows of a file. Raises Unusable where it cannot be opened, or where a library is missing."""
    if isinstance(one, Foreign):
        remedy = "leave it out of the directory, or give the files alone"
        yield {_AT: 0, "kind": PROBLEM, "problem": one.problem, "remedy": remedy}
        return
    try:
        with one.path.open("rb") as file:
            yield from _read(one, Opened(file), wanted)
    except Malformed as problem:
        yield problem_row(problem)
    except OSError as problem:
        said = problem.strerror or problem
        raise Unusable(f"{one.shown} cannot be read ({said}); give a file that can") from problem


def problem_row(problem: Malformed) -> Row:
    """The row of what cannot be read."""
    return {_AT: problem.position, "kind": PROBLEM, "problem": problem.problem, "remedy": problem.remedy}


def _read(one: LogFile, file: Opened, wanted: Selection) -> Iterator[Row]:
    kind, base = one.name.kind, one.name.number or 0
    if kind in (Kind.SEGMENT, Kind.METADATA_SNAPSHOT):
        yield from _batches(one, file, wanted)
    elif kind in _INDEXES:
        layout, made = _INDEXES[kind]
        for at, entry in indexes.entries(file, layout):
            row, first, last = made(entry, base)
            if wanted.has(first, last):
                yield {_AT: at, "kind": kind.value, **row}
    elif kind is Kind.PRODUCER_SNAPSHOT:
        yield from _producers(file, wanted)
    elif kind is not Kind.LOCK:
        for row in _TEXTS[kind](file.whole(CHECKPOINT_BYTES)):
            yield {_AT: 0, "kind": kind.value, **row}


def _batches(one: LogFile, file: Opened, wanted: Selection) -> Iterator[Row]:
    for found in batch.batches(file):
        header = found.header
        inside = wanted.has(header.base_offset, header.last_offset)
        if inside:
            yield of_batch(found.position, header)
        try:
            found.check()
        except Malformed as problem:
            yield problem_row(problem)
            continue
        if inside and (wanted.records or header.control):
            yield from _contents(one, found, wanted)


def of_batch(position: int, header: batch.BatchHeader) -> Row:
    """The row of a batch. Names and meanings are those of Kafka's DumpLogSegments; `crc` is the header's."""
    codec = compression.NAMES[header.codec] if header.codec < len(compression.NAMES) else str(header.codec)
    return {
        _AT: position,
        "kind": "batch",
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "size": header.size,
        "partitionLeaderEpoch": header.leader_epoch,
        "compressType": codec,
        "timestampType": "LogAppendTime" if header.log_append_time else "CreateTime",
        "baseTimestamp": header.base_timestamp,
        "maxTimestamp": header.max_timestamp,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "lastSequence": header.last_sequence,
        "isTransactional": header.transactional,
        "isControl": header.control,
        "deleteHorizonMs": header.base_timestamp if header.has_delete_horizon else None,
        "crc": header.crc,
    }


def _contents(one: LogFile, found: batch.Batch, wanted: Selection) -> Iterator[Row]:
    """The records of a batch that are wanted; or why they cannot be read."""
    try:
        inner = records.records(found)
    except Malformed as problem:
        yield problem_row(problem)
        return
    except compression.LibraryAbsent:
        codec = compression.NAMES[found.header.codec]
        what = f"{one.shown}: the batch at byte {found.position:,} is compressed with {codec}, and its records"
        raise Unusable(f"{what} need {extras.missing(compression.LIBRARY)}") from None
    for record in inner:
        if wanted.has(record.offset, record.offset):
            yield from _record(one, found, record)


def _record(one: LogFile, found: batch.Batch, record: records.Record) -> Iterator[Row]:
    row: Row = {
        _AT: found.position,
        "kind": "record",
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": shown(record.key),
        "value": shown(record.value),
        "headers": [{"key": header.key, "value": shown(header.value)} for header in record.headers],
    }
    try:
        if found.header.control:
            marker = control.read(record)
            row["control"] = {"type": marker.type.name, "version": marker.version, **_plain(marker.values)}
        elif one.topic is not None and (message := internal.read(one.topic, record)):
            row["message"] = _message(message)
    except Malformed as problem:
        yield row
        yield problem_row(problem.moved(found.position, f"the record at offset {record.offset:,}"))
        return
    yield row


def _message(message: internal.Message) -> Row:
    value = message.value
    if message.name == "GroupMetadata" and value and value["protocolType"] == "consumer":
        value = {**value, "members": [_member(member) for member in value["members"]]}
    return {"name": message.name, "version": message.version, "key": _plain(message.key), "value": _plain(value)}


def _member(member: Row) -> Row:
    """A member with its subscription and assignment read, where they are those of Kafka's consumer."""
    return {
        **member,
        "subscription": _embedded("ConsumerProtocolSubscription", member["subscription"]),
        "assignment": _embedded("ConsumerProtocolAssignment", member["assignment"]),
    }


def _embedded(name: str, data: bytes) -> Any:
    try:
        return internal.read_embedded(name, data)
    except Malformed:  # the client's own bytes: no fault of the file
        return data


def _plain(value: Any) -> Any:
    """A message's value as JSON."""
    if isinstance(value, bytes):
        return shown(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def shown(data: bytes | None) -> str | dict[str, str] | None:
    """Bytes as JSON: text where they are printable UTF-8."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return text if text.isprintable() else {"base64": b64encode(data).decode()}


def _producers(file: Opened, wanted: Selection) -> Iterator[Row]:
    for number, entry in enumerate(producer_snapshot.read(file.whole(SNAPSHOT_BYTES))):
        if wanted.has(entry.last_offset - entry.offset_delta, max(entry.last_offset, 0)):
            fields = (_camel(name) for name in entry._fields)
            at = producer_snapshot.FIRST + number * producer_snapshot.ENTRY.size
            yield {_AT: at, "kind": "producer", **dict(zip(fields, entry, strict=True))}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


Made = tuple[Row, int, int]
"""A row of an index, and the offsets that it is about, the first and the last one."""


def _offset_entry(entry: indexes.OffsetEntry, base: int) -> Made:
    offset = base + entry.relative_offset
    return {"offset": offset, "position": entry.position}, offset, offset


def _time_entry(entry: indexes.TimeEntry, base: int) -> Made:
    offset = base + entry.relative_offset
    return {"timestamp": entry.timestamp, "offset": offset}, offset, offset


def _aborted(entry: indexes.AbortedTransaction, _: int) -> Made:
    row = {_camel(name): value for name, value in entry._asdict().items()}
    return row, entry.first_offset, entry.last_offset


_INDEXES: dict[Kind, tuple[Layout[Any], Callable[[Any, int], Made]]] = {
    Kind.OFFSET_INDEX: (indexes.OFFSET_INDEX, _offset_entry),
    Kind.TIME_INDEX: (indexes.TIME_INDEX, _time_entry),
    Kind.TRANSACTION_INDEX: (indexes.TRANSACTION_INDEX, _aborted),
}
_TEXTS: dict[Kind, Callable[[bytes], list[Row]]] = {
    Kind.EPOCH_CHECKPOINT: lambda data: [
        {"epoch": one.epoch, "startOffset": one.start_offset} for one in texts.read_epochs(data)
    ],
    Kind.OFFSET_CHECKPOINT: lambda data: [one._asdict() for one in texts.read_offsets(data)],
    Kind.PROPERTIES: lambda data: [{"properties": texts.read_properties(data)}],
    Kind.JSON: lambda data: [{"json": texts.read_json(data)}],
}
