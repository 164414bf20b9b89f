"""A log directory that Kafka 4.3.1 wrote. `tidemark logs dump` says of it what Kafka's DumpLogSegments says, and it is
written anew byte for byte.

`tests/real_logs/README.md` says how the directory and Kafka's words came about.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tidemark.log.formats import (
    batch,
    compression,
    control,
    indexes,
    internal,
    names,
    producer_snapshot,
    records,
    texts,
)
from tidemark.log.formats.layout import Layout
from tidemark.log.formats.names import Kind
from tidemark_conformance.logs.files import LogFile, found
from tidemark_conformance.logs.rows import Row, Selection, rows

HERE = Path(__file__).parent / "real_logs"
BROKER = HERE / "broker"
FILES = [one for one in found([BROKER]) if isinstance(one, LogFile)]
SEGMENTS = [one for one in FILES if one.name.kind in (Kind.SEGMENT, Kind.METADATA_SNAPSHOT)]
EMBEDDED = ("subscription", "assignment")


def of(one: LogFile) -> str:
    """The file's name below the broker's directory."""
    return str(one.path.relative_to(BROKER))


def kafkas_words() -> dict[str, list[str]]:
    """DumpLogSegments' lines by file."""
    text = (HERE / "DumpLogSegments.txt").read_text(encoding="utf-8")
    parts = [part.splitlines() for part in re.split(r"^Dumping ", text, flags=re.MULTILINE)[1:]]
    about = re.compile(r"Log starting|Snapshot end|KRaft bootstrap")
    return {name: [line for line in lines if not about.match(line)] for name, *lines in parts}


KAFKA = kafkas_words()


def size_of(shown: Any) -> int:
    """Bytes of a key or a value; -1 of null."""
    if shown is None:
        return -1
    return len(base64.b64decode(shown["base64"])) if isinstance(shown, dict) else len(shown.encode())


def optional(number: int | None) -> str:
    """As Java prints an OptionalLong."""
    return "OptionalLong.empty" if number in (None, -1) else f"OptionalLong[{number}]"


def said(value: object) -> str:
    """As Java prints a truth value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def batch_line(row: Row) -> str:
    """A batch as DumpLogSegments prints it."""
    kafka = ("baseOffset", "lastOffset", "count", "baseSequence", "lastSequence", "producerId", "producerEpoch")
    flags = ("partitionLeaderEpoch", "isTransactional", "isControl")
    words = [f"{name}: {said(row[name])}" for name in (*kafka, *flags)]
    words += [f"deleteHorizonMs: {optional(row['deleteHorizonMs'])}", f"position: {row['at']}"]
    words += [f"{row['timestampType']}: {row['maxTimestamp']}", f"size: {row['size']}", "magic: 2"]
    return " ".join([*words, f"compresscodec: {row['compressType']}", f"crc: {row['crc']}", "isvalid: true"])


def record_line(row: Row, around: Row) -> str:
    """A record as DumpLogSegments prints it, up to its contents."""
    number = -1 if around["baseSequence"] == -1 else around["baseSequence"] + row["offset"] - around["baseOffset"]
    keys = ",".join(header["key"] for header in row["headers"])
    words = [f"| offset: {row['offset']} {around['timestampType']}: {row['timestamp']}"]
    words += [f"keySize: {size_of(row['key'])} valueSize: {size_of(row['value'])}", f"sequence: {number}"]
    return " ".join([*words, f"headerKeys: [{keys}]"])


def contents_agree(row: Row, rest: str) -> None:
    """What DumpLogSegments says of a record's contents is so. It leaves out tagged fields that have their default."""
    if "control" in row:
        marker, words = row["control"], rest.split(" ", 1)
        if words[0] == "endTxnMarker:":
            assert rest == f"endTxnMarker: {marker['type']} coordinatorEpoch: {marker['coordinatorEpoch']}"
            return
        assert words[0].rstrip(":").lower() == marker["type"].replace("_", "").lower()
        agree(json.loads(words[1]), marker)
        return
    read = re.fullmatch(r"(?:key: (?P<key>.*?) ?)?(?:payload: (?P<value>.*))?", rest)
    assert read is not None, rest
    if "message" not in row:
        assert (read["key"], read["value"]) == (row["key"], row["value"])
        return
    message = row["message"]
    if read["key"]:
        agree(json.loads(read["key"])["data"], message["key"])
    if read["value"] and read["value"] != "<DELETE>":
        value = json.loads(read["value"])
        assert value["version"] in (message["version"], str(message["version"]))
        agree(value["data"], message["value"])
    else:
        assert message["value"] is None


def agree(kafka: Any, ours: Any) -> None:
    """Each field of Kafka's is ours; bytes are base64 there."""
    if isinstance(kafka, dict):
        for name, value in kafka.items():
            if name not in EMBEDDED:
                agree(value, ours[name])
    elif isinstance(kafka, list):
        assert len(kafka) == len(ours)
        for one, other in zip(kafka, ours, strict=True):
            agree(one, other)
    else:
        assert kafka == ours


@pytest.mark.parametrize("one", SEGMENTS, ids=of)
def test_every_batch_and_record_is_as_kafka_says(one: LogFile) -> None:
    words, around = iter(KAFKA[of(one)]), {}
    for row in rows(one, Selection(records=True)):
        line = next(words)
        if row["kind"] == "batch":
            around = row
            assert line == batch_line(row)
        else:
            head = record_line(row, around)
            assert line.startswith(head)
            contents_agree(row, line[len(head) :].removeprefix(" "))
    assert next(words, None) is None


def test_kafka_says_something_of_every_kind_of_thing() -> None:
    """So the comparison is one: each compression, both markers, a horizon, messages of each internal topic."""
    text = (HERE / "DumpLogSegments.txt").read_text(encoding="utf-8")
    words = [f"compresscodec: {codec}" for codec in compression.NAMES]
    words += ["endTxnMarker: COMMIT", "endTxnMarker: ABORT", "deleteHorizonMs: OptionalLong[", "LogAppendTime"]
    words += [f'{{"type":"{number}","data":{{"group' for number in range(1, 9) if number != 4]
    words += ['"transactionStatus":5', "PARTITION_RECORD", "LeaderChange", "SnapshotHeader", "SnapshotFooter"]
    assert [word for word in words if word not in text] == []
    assert set(KAFKA) >= {of(one) for one in SEGMENTS}


@pytest.mark.parametrize("one", [one for one in FILES if one.name.kind is Kind.PRODUCER_SNAPSHOT], ids=of)
def test_every_producer_is_as_kafka_says(one: LogFile) -> None:
    lines = []
    for row in rows(one, Selection()):
        words = [f"producerId: {row['producerId']} producerEpoch: {row['producerEpoch']}"]
        words += [f"coordinatorEpoch: {row['coordinatorEpoch']}"]
        words += [f"currentTxnFirstOffset: {optional(row['currentTxnFirstOffset'])}"]
        words += [f"lastTimestamp: {row['timestamp']}"]
        if row["lastOffset"] != -1:
            first = row["lastSequence"] - row["offsetDelta"]
            words += [f"firstSequence: {first} lastSequence: {row['lastSequence']} lastOffset: {row['lastOffset']}"]
            words += [f"offsetDelta: {row['offsetDelta']} timestamp: {row['timestamp']}"]
        lines.append(" ".join(words))
    assert lines == [line.strip() for line in KAFKA[of(one)]]


@pytest.mark.parametrize("one", [one for one in FILES if one.name.kind is Kind.TRANSACTION_INDEX], ids=of)
def test_every_aborted_transaction_is_as_kafka_says(one: LogFile) -> None:
    names_of = ("version", "producerId", "firstOffset", "lastOffset", "lastStableOffset")
    lines = [" ".join(f"{name}: {row[name]}" for name in names_of) for row in rows(one, Selection())]
    assert lines == KAFKA[of(one)]


@pytest.mark.parametrize("one", SEGMENTS, ids=of)
def test_a_segment_written_anew_is_what_kafka_wrote(one: LogFile) -> None:
    """Compressed records may take other bytes, and those of append time have a time that no reader sees; then they must
    be the same records."""
    data = one.path.read_bytes()
    for batch_ in batch.batches(batch.Stored(data)):
        contents = records.records(batch_)
        anew = records.batch_of(batch_.header, contents)
        if batch_.header.codec == compression.NONE and not batch_.header.log_append_time:
            assert anew == bytes(batch_.data)
            continue
        (again,) = batch.batches(batch.Stored(anew))
        assert records.records(again) == contents
        changed = {"length": 0, "crc": 0}
        assert again.header._replace(**changed) == batch_.header._replace(**changed)


@pytest.mark.parametrize("one", SEGMENTS, ids=of)
def test_messages_written_anew_are_what_kafka_wrote(one: LogFile) -> None:
    for batch_ in batch.batches(batch.Stored(one.path.read_bytes())):
        for record in records.records(batch_):
            if batch_.header.control:
                assert control.write(control.read(record)) == (record.key, record.value)
            elif one.topic and (message := internal.read(one.topic, record)):
                assert internal.write(one.topic, message) == (record.key, record.value)


INDEXES: dict[Kind, Layout[Any]] = {
    Kind.OFFSET_INDEX: indexes.OFFSET_INDEX,
    Kind.TIME_INDEX: indexes.TIME_INDEX,
    Kind.TRANSACTION_INDEX: indexes.TRANSACTION_INDEX,
}


def rewritten(one: LogFile, data: bytes) -> bytes | None:
    """The bytes of a file as our writers make them of what our readers read; None of files that brokers comment."""
    file = batch.Stored(data)
    match one.name.kind:
        case Kind.OFFSET_INDEX | Kind.TIME_INDEX | Kind.TRANSACTION_INDEX as kind:
            layout = INDEXES[kind]
            return indexes.written([entry for _, entry in indexes.entries(file, layout)], layout)
        case Kind.PRODUCER_SNAPSHOT:
            return producer_snapshot.write(producer_snapshot.read(data))
        case Kind.EPOCH_CHECKPOINT:
            return texts.write_epochs(texts.read_epochs(data))
        case Kind.OFFSET_CHECKPOINT:
            return texts.write_offsets(texts.read_offsets(data))
        case Kind.JSON:
            return texts.write_json(texts.read_json(data))
        case Kind.PROPERTIES if one.path.name == "partition.metadata":
            return texts.write_partition_metadata(texts.read_properties(data)["topic_id"])
    return None


@pytest.mark.parametrize("one", [one for one in FILES if one not in SEGMENTS], ids=of)
def test_other_files_written_anew_are_what_kafka_wrote(one: LogFile) -> None:
    data = one.path.read_bytes()
    anew = rewritten(one, data)
    if anew is None:
        assert one.path.name == "meta.properties"
        assert texts.read_properties(texts.write_properties(texts.read_properties(data))) == texts.read_properties(data)
    else:
        assert anew == data


def test_every_kind_of_file_is_there() -> None:
    assert {one.name.kind for one in FILES} == {*names.Kind} - {Kind.LOCK}


def test_a_classic_members_subscription_is_read() -> None:
    def members() -> Iterator[Row]:
        (one,) = (one for one in SEGMENTS if of(one).startswith("__consumer_offsets"))
        for row in rows(one, Selection(records=True)):
            if row.get("message", {}).get("name") == "GroupMetadata" and row["message"]["value"]:
                yield from row["message"]["value"]["members"]

    found_ = list(members())
    parts = [part for member in found_ for part in member["assignment"]["assignedPartitions"]]
    assert {topic for member in found_ for topic in member["subscription"]["topics"]} == {"orders", "codecs"}
    assert {part["topic"] for part in parts} == {
        "orders",
        "codecs",
    }
