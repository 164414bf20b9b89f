"""The formats of a log directory: what is written is read back, and bytes that are wrong are noticed where they are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark.log.formats import batch, compression, control, indexes, names, producer_snapshot, records, texts
from tidemark.log.formats.errors import Malformed, Torn, Unwritable
from tidemark.log.formats.layout import Layout
from tidemark.log.storage import EpochEntry

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(0, 2**41)
SOME_BYTES = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.builds(records.RecordHeader, st.text(max_size=5), SOME_BYTES), max_size=3).map(tuple)
RECORDS = st.lists(st.builds(records.Record, st.integers(0, 1000), TIMES, SOME_BYTES, SOME_BYTES, HEADERS), max_size=8)
CODECS = st.sampled_from(range(len(compression.NAMES)))


def attempt(reader: Callable[[Any], Any], data: Any) -> tuple[Any, Malformed | None]:
    """What a reader makes of this, or how it refuses it."""
    try:
        return reader(data), None
    except Malformed as problem:
        return None, problem


def one_batch(data: bytes) -> batch.Batch:
    (found,) = batch.batches(batch.Stored(data))
    return found


@given(st.integers(0, 2**62), RECORDS, CODECS, st.integers(0, 2**31 - 1), st.sampled_from([0, 16]))
def test_a_batch_is_read_as_it_was_written(
    base: int, contents: list[records.Record], codec: int, epoch: int, attributes: int
) -> None:
    contents = [one._replace(offset=base + one.offset) for one in contents]
    fields = records.batch_header(
        base, base + 1000, epoch, codec=codec, attributes=attributes, producer_id=7, producer_epoch=2, base_sequence=5
    )
    data = records.batch_of(fields, contents)
    found = one_batch(data)
    found.check()
    header = found.header
    assert records.records(found) == contents
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (base, base + 1000, epoch)
    assert (header.size, header.record_count, header.codec) == (len(data), len(contents), codec)
    assert (header.transactional, header.control) == (attributes == 16, False)
    assert records.batch_of(header, contents) == data


def test_a_sequence_wraps() -> None:
    header = records.batch_header(0, 3, 0, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert header.last_sequence == 1
    assert records.batch_header(0, 3, 0).last_sequence == -1


def test_records_of_append_time_have_the_leaders_time() -> None:
    fields = records.batch_header(0, 0, 0, attributes=8, base_timestamp=5, max_timestamp=900)
    found = one_batch(records.batch_of(fields, [records.Record(0, 7, None, b"v")]))
    assert [one.timestamp for one in records.records(found)] == [900]


def test_a_batch_that_compaction_emptied_has_no_records() -> None:
    fields = records.batch_header(4, 9, 1, producer_id=3, producer_epoch=0, base_sequence=2, max_timestamp=77)
    found = one_batch(records.batch_of(fields, []))
    assert (records.records(found), found.header.base_timestamp, found.header.max_timestamp) == ([], -1, 77)


SMALL = [
    records.batch_of(
        records.batch_header(at, at + 1, 3, codec=codec, producer_id=1, producer_epoch=0, base_sequence=at),
        [
            records.Record(at, 1000, b"key", b"value" * 5, (records.RecordHeader("h", None),)),
            records.Record(at + 1, 1001, None, None),
        ],
    )
    for at, codec in ((0, compression.NONE), (2, compression.GZIP))
]


def test_every_flipped_bit_is_noticed_where_the_crc_covers_it() -> None:
    """Base offset and leader epoch lie outside: a broker sets them."""
    (data, _), unseen = SMALL, set()
    for at in range(len(data)):
        for bit in range(8):
            damaged = data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]
            try:
                one_batch(damaged).check()
            except Malformed:
                continue
            unseen.add(at)
    assert unseen == {*range(8), *range(12, 16)}


def test_every_truncation_of_a_segment_is_torn_but_at_a_batchs_end() -> None:
    whole = b"".join(SMALL)
    ends = {0: 0, len(SMALL[0]): 1, len(whole): 2}
    for size in range(len(whole) + 1):
        read: list[batch.Batch] = []
        if size in ends:
            assert len(list(batch.batches(batch.Stored(whole[:size])))) == ends[size]
            continue
        with pytest.raises(Torn) as problem:
            read.extend(batch.batches(batch.Stored(whole[:size])))
        assert problem.value.position == (0 if size < len(SMALL[0]) else len(SMALL[0]))


class Counting(batch.Stored):
    """Bytes that say how many of them were asked for at once."""

    most = 0

    def read(self, at: int, count: int) -> bytes:
        self.most = max(self.most, min(count, self.size))
        return super().read(at, count)


@pytest.mark.parametrize("length", [2**31 - 1, 2**30, 48, 0, -1, -(2**31)])
def test_a_length_that_the_file_cannot_hold_allocates_nothing(length: int) -> None:
    data = SMALL[0] + SMALL[1][:8] + length.to_bytes(4, signed=True) + SMALL[1][12:]
    file = Counting(data)
    with pytest.raises(Malformed, match=r"batch"):
        list(batch.batches(file))
    assert file.most <= len(data)


def test_batches_larger_than_a_window_are_read_whole() -> None:
    big = records.batch_of(records.batch_header(0, 0, 0), [records.Record(0, 1, None, bytes(batch.WINDOW * 2))])
    found = list(batch.batches(batch.Stored(SMALL[0] + big + SMALL[1])))
    assert [one.header.size for one in found] == [len(SMALL[0]), len(big), len(SMALL[1])]
    for one in found:
        one.check()
        assert len(records.records(one)) == one.header.record_count


@pytest.mark.parametrize(
    ("data", "position", "said", "torn"),
    [
        (bytes(3), 0, "zeros begin", True),
        (bytes(5000), 0, "zeros begin", True),
        (SMALL[0] + bytes(500), len(SMALL[0]), "zeros begin", True),
        (b"\xff" * 100, 16, "magic byte is -1", False),
        (bytes(7) + b"\5" + bytes(8) + b"\1" + bytes(90), 0, "messages of magic 1", False),
        (bytes(7) + b"\5" + bytes(8) + b"\0" + b"\7" * 90, 0, "messages of magic 0", False),
        (SMALL[0][:57] + b"\xff" * 4 + SMALL[0][61:], 57, "has -1 records", False),
    ],
)
def test_bytes_that_are_no_batch(data: bytes, position: int, said: str, torn: bool) -> None:
    with pytest.raises(Malformed, match=said) as problem:
        list(batch.batches(batch.Stored(data)))
    assert (problem.value.position, isinstance(problem.value, Torn)) == (position, torn)


def with_body(codec: int, count: int, body: bytes) -> batch.Batch:
    """A batch whose records are these bytes, with the CRC that they have."""
    header = records.batch_header(0, 0, 0, codec=codec, base_timestamp=1)
    header = header._replace(length=batch.HEADER.size - batch.PREFIX + len(body), record_count=count)
    data = memoryview(batch.HEADER.write(header) + body)
    return one_batch(batch.HEADER.write(header._replace(crc=batch.Batch(0, header, data).crc_is())) + body)


@pytest.mark.parametrize("codec", range(len(compression.NAMES)), ids=compression.NAMES)
@given(body=st.binary(max_size=80), count=st.integers(1, 2**31 - 1) | st.integers(1, 5))
def test_records_of_any_bytes_are_read_or_refused(codec: int, body: bytes, count: int) -> None:
    found = with_body(codec, count, body)
    read, problem = attempt(records.records, found)
    assert len(read) == count if problem is None else 0 <= problem.position <= found.header.size


@pytest.mark.parametrize(
    ("codec", "body", "said"),
    [
        (compression.NONE, b"\x0e" + bytes(3), "cannot be in 4 bytes"),
        (compression.NONE, b"\xfe\xff\xff\xff\x0f" + bytes(9), "a record has 2,147,483,647 bytes"),
        (compression.NONE, b"\x0c\0\0\0\x09" + bytes(9), "length -5"),
        (compression.NONE, b"\x0c\1" + bytes(9), "attributes are not 0"),
        (compression.GZIP, compression.compress(1, bytes(40))[:-9], "does not end"),
        (compression.SNAPPY, compression.compress(2, b"")[:16] + b"\x7f\xff\xff\xff" + bytes(9), "2147483647 bytes"),
        (compression.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(9), "claims to become"),
        (compression.LZ4, b"no frame", "lz4 cannot"),
        (compression.ZSTD, compression.compress(4, bytes(40))[:-3], "zstd cannot"),
        (6, bytes(40), "no compression type 6"),
    ],
)
def test_records_that_cannot_be(codec: int, body: bytes, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        records.records(with_body(codec, 1, body))


@given(st.binary(max_size=200_000), CODECS)
def test_what_is_compressed_comes_back(data: bytes, codec: int) -> None:
    assert bytes(compression.decompress(codec, compression.compress(codec, data))) == data


def test_snappy_without_a_frame_is_read() -> None:
    raw = bytes(cramjam.snappy.compress_raw(b"text" * 99))
    assert compression.decompress(compression.SNAPPY, raw) == b"text" * 99


def test_without_the_library_only_its_types_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert compression.decompress(compression.GZIP, compression.compress(compression.GZIP, b"x")) == b"x"
    with pytest.raises(Malformed, match="gzip cannot"):
        compression.decompress(compression.GZIP, b"no gzip at all")
    for codec in (compression.SNAPPY, compression.LZ4, compression.ZSTD):
        with pytest.raises(compression.LibraryAbsent):
            compression.decompress(codec, b"\x82SNAPPY\0" + bytes(11) + b"\1x")


def test_numbers_without_room_are_not_written() -> None:
    for record in (records.Record(2**31, 0, None, None), records.Record(0, 2**63, None, None)):
        with pytest.raises(Unwritable):
            records.batch_of(records.batch_header(0, 0, 0, base_timestamp=0), [record])
    with pytest.raises(Unwritable):
        records.batch_of(records.batch_header(2**63, 2**63, 0), [])


CONTROLS = [
    control.Control(control.ControlType.ABORT, 0, {"coordinatorEpoch": 4}),
    control.Control(control.ControlType.COMMIT, 0, {"coordinatorEpoch": 2**31 - 1}),
    control.Control(
        control.ControlType.LEADER_CHANGE,
        1,
        {
            "version": 1,
            "leaderId": 3,
            "voters": [{"voterId": 3, "voterDirectoryId": "AAAAAAAAAAAAAAAAAAAAAQ"}],
            "grantingVoters": [],
        },
    ),
    control.Control(control.ControlType.SNAPSHOT_HEADER, 0, {"version": 0, "lastContainedLogTimestamp": 17}),
    control.Control(control.ControlType.SNAPSHOT_FOOTER, 0, {"version": 0}),
    control.Control(control.ControlType.KRAFT_VERSION, 0, {"version": 0, "kRaftVersion": 1}),
    control.Control(control.ControlType.KRAFT_VOTERS, 0, {"version": 0, "voters": []}),
]


@pytest.mark.parametrize("one", CONTROLS, ids=lambda one: one.type.name)
def test_a_control_record_is_read_as_it_was_written(one: control.Control) -> None:
    key, value = control.write(one)
    assert control.read(records.Record(0, 0, key, value)) == one
    for size in range(len(value)):
        with pytest.raises(Malformed):
            control.read(records.Record(0, 0, key, value[:size]))


def test_unknown_control_records_are_refused() -> None:
    key, value = control.write(CONTROLS[0])
    for damaged in (records.Record(0, 0, key[:2] + b"\0\x63", value), records.Record(0, 0, key, b"\0\x63" + value[2:])):
        with pytest.raises(Malformed, match=r"99.*Tidemark that knows"):
            control.read(damaged)


INT32 = st.integers(-(2**31), 2**31 - 1)
ENTRIES: list[tuple[Layout[Any], st.SearchStrategy[Any]]] = [
    (indexes.OFFSET_INDEX, st.builds(indexes.OffsetEntry, INT32, INT32)),
    (indexes.TIME_INDEX, st.builds(indexes.TimeEntry, INT64, INT32)),
    (indexes.TRANSACTION_INDEX, st.builds(indexes.AbortedTransaction, st.just(0), INT64, INT64, INT64, INT64)),
]


@pytest.mark.parametrize(("layout", "entry"), ENTRIES, ids=["offset", "time", "transaction"])
@given(data=st.data(), zeros=st.integers(0, 300))
def test_an_index_is_read_as_it_was_written(
    layout: Layout[Any], entry: st.SearchStrategy[Any], data: st.DataObject, zeros: int
) -> None:
    """With the zeros of an active segment behind it."""
    values = data.draw(st.lists(entry.filter(any), max_size=5))
    stored = indexes.written(values, layout)
    file = batch.Stored(stored + bytes(zeros))
    assert list(indexes.entries(file, layout)) == [(at * layout.size, one) for at, one in enumerate(values)]
    with pytest.raises(Torn):
        list(indexes.entries(batch.Stored(stored + b"\1"), layout))


def test_zeros_between_entries_are_entries() -> None:
    values = [indexes.OffsetEntry(1, 2), indexes.OffsetEntry(0, 0), indexes.OffsetEntry(3, 4)]
    stored = indexes.written(values, indexes.OFFSET_INDEX) + bytes(8 * 9000)
    assert [one for _, one in indexes.entries(batch.Stored(stored), indexes.OFFSET_INDEX)] == values


PRODUCERS = st.lists(
    st.builds(
        producer_snapshot.ProducerEntry, INT64, st.integers(-1, 2**15 - 1), INT32, INT64, INT32, INT64, INT32, INT64
    ),
    max_size=4,
)


@given(PRODUCERS)
def test_a_snapshot_is_read_as_it_was_written(producers: list[producer_snapshot.ProducerEntry]) -> None:
    data = producer_snapshot.write(producers)
    assert producer_snapshot.read(data) == tuple(producers)
    for size in range(len(data)):
        with pytest.raises(Malformed):
            producer_snapshot.read(data[:size])
    for at in range(len(data)):
        with pytest.raises(Malformed):
            producer_snapshot.read(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])


def truncations(data: bytes) -> Iterator[bytes]:
    return (data[:size] for size in range(1, len(data) - 1))  # without its last newline it is whole


TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,9}", fullmatch=True)
NATURAL = st.integers(0, 2**63 - 1)


@given(st.lists(st.builds(texts.OffsetEntry, TOPICS, st.integers(0, 10**6), NATURAL), max_size=4))
def test_a_checkpoint_of_offsets_is_read_as_it_was_written(entries: list[texts.OffsetEntry]) -> None:
    assert texts.read_offsets(texts.write_offsets(entries)) == tuple(entries)


@given(st.lists(st.builds(EpochEntry, NATURAL, NATURAL), max_size=4))
def test_a_checkpoint_of_epochs_is_read_as_it_was_written(entries: list[EpochEntry]) -> None:
    assert texts.read_epochs(texts.write_epochs(entries)) == tuple(entries)


def test_a_checkpoint_without_bytes_has_no_entries() -> None:
    assert texts.read_offsets(b"") == texts.read_epochs(b"") == ()


def test_every_truncation_of_a_checkpoint_is_noticed_but_within_the_last_number() -> None:
    """A file of text does not say how long its last number is; Kafka renames whole files, so that none is cut."""
    data = texts.write_offsets([texts.OffsetEntry("a-b.c", 3, 77), texts.OffsetEntry("d", 0, 1234)])
    unnoticed = []
    for cut in truncations(data):
        try:
            unnoticed.append(texts.read_offsets(cut)[-1].offset)
        except Malformed:
            continue
    assert unnoticed == [1, 12, 123]


@pytest.mark.parametrize(
    ("data", "position", "said"),
    [
        (b"1\n0\n", 0, "version is '1'"),
        (b"0\n", 2, "number of entries is missing"),
        (b"0", 1, "number of entries is missing"),
        (b"0\n2\na 0 1\n", 2, "'2' entries should follow, and 1 do"),
        (b"0\n1\na zero 1\n", 4, "no entry"),
        (b"0\n1\n\xff 0 1\n", 4, "no text"),
        (b"9" * 5000, 0, "version is"),
    ],
)
def test_a_checkpoint_that_is_none(data: bytes, position: int, said: str) -> None:
    with pytest.raises(Malformed, match=said) as problem:
        texts.read_offsets(data)
    assert problem.value.position == position


@given(
    st.dictionaries(
        st.text("abc.=: #!", min_size=1).filter(str.strip), st.text("xyz\\=: é0", max_size=5).map(str.strip)
    )
)
def test_properties_are_read_as_they_were_written(properties: dict[str, str]) -> None:
    properties = {key.strip(): value for key, value in properties.items()}
    assert texts.read_properties(texts.write_properties(properties)) == properties


def test_properties_as_brokers_write_them() -> None:
    written = b"#\n#Sun Nov 29 15:11:20 UTC 2026\ncluster.id=4L6g3nShT-eMCtK--X86sw\nversion=1\nnode.id=1\n"
    assert texts.read_properties(written) == {"cluster.id": "4L6g3nShT-eMCtK--X86sw", "version": "1", "node.id": "1"}
    metadata = texts.write_partition_metadata("AAAAAAAAAAAAAAAAAAAAAQ")
    assert texts.read_properties(metadata) == {"version": "0", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}


@pytest.mark.parametrize("data", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_json_that_is_none(data: bytes) -> None:
    with pytest.raises(Malformed):
        texts.read_json(data)


def test_json_files_are_read_as_they_were_written() -> None:
    assert texts.read_json(texts.write_json({"version": 0, "brokerEpoch": 17})) == {"version": 0, "brokerEpoch": 17}
    assert texts.read_json(b"") == {}


@pytest.mark.parametrize("status", [one for one in names.Status if one is not names.Status.TEMPORARY])
@pytest.mark.parametrize("kind", names.SUFFIX)
@given(number=st.integers(0, 10**19))
def test_a_numbered_name_is_read_as_it_was_written(kind: names.Kind, status: names.Status, number: int) -> None:
    name = names.write_file_name(kind, number, status)
    assert names.file_name(name) == names.FileName(kind, number, None, status)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("orders-0", names.PartitionName("orders", 0)),
        ("a-b-12", names.PartitionName("a-b", 12)),
        (f"a-b-12.{'0f' * 16}-delete", names.PartitionName("a-b", 12, "delete")),
        (f"a.b-1.{'0f' * 16}-future", names.PartitionName("a.b", 1, "future")),
        (f"a-1.{'0f' * 16}-stray", names.PartitionName("a", 1, "stray")),
        ("orders", None),
        ("orders-x", None),
    ],
)
def test_names_of_partitions(name: str, found: names.PartitionName | None) -> None:
    assert names.partition_name(name) == (None if found is None else found._replace(status=found.status))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("00000000000000000012-0000000003.checkpoint", names.Kind.METADATA_SNAPSHOT),
        ("00000000000000000012-0000000003.checkpoint.part", names.Kind.METADATA_SNAPSHOT),
        ("leader-epoch-checkpoint.tmp", names.Kind.EPOCH_CHECKPOINT),
        (".kafka_cleanshutdown", names.Kind.JSON),
        ("12.log", None),
        ("0000000000000000012a.log", None),
        ("readme.txt", None),
    ],
)
def test_names_of_files(name: str, kind: names.Kind | None) -> None:
    found = names.file_name(name)
    assert (found and found.kind) == kind


READERS: list[Callable[[bytes], Any]] = [
    lambda data: list(batch.batches(batch.Stored(data))),
    lambda data: list(indexes.entries(batch.Stored(data), indexes.TRANSACTION_INDEX)),
    producer_snapshot.read,
    texts.read_offsets,
    texts.read_epochs,
    texts.read_properties,
    texts.read_json,
]


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(reader: Callable[[bytes], Any], data: bytes) -> None:
    _, problem = attempt(reader, data)
    assert problem is None or 0 <= problem.position <= len(data)


def test_a_frame_of_lz4_has_independent_blocks() -> None:
    """Kafka's reader refuses others: the bytes after the magic number are those that its own writer writes."""
    incompressible = bytes(range(256)) + b"x"
    frame = compression.compress(compression.LZ4, bytes(3 << 16) + incompressible)
    assert frame[:7].hex() == "04224d18604082"
    at, blocks = 7, []
    while size := int.from_bytes(frame[at : at + 4], "little"):
        blocks.append(size)
        at += 4 + (size & 0x7FFFFFFF)
    assert (len(blocks), blocks[-1], at + 4) == (4, 1 << 31 | len(incompressible), len(frame))
