"""`tidemark logs dump`: what it says of files that are whole, and of files that are not."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.logs import lines

ROOT = Path(__file__).parents[1]
BROKER = ROOT / "tests" / "real_logs" / "broker"
NAME = "00000000000000000000.log"
SEGMENT = BROKER / "orders-0" / NAME
Capture = pytest.CaptureFixture[str]


def dump(capsys: Capture, *arguments: object) -> tuple[int, list[str], list[str]]:
    """The exit code, and the lines of both outputs."""
    code = main(["logs", "dump", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err.splitlines()


def rows(capsys: Capture, *arguments: object) -> list[dict[str, Any]]:
    code, out, err = dump(capsys, *arguments, "--json", "-")
    assert (code, err) == (0, [])
    return [json.loads(line) for line in out]


@pytest.fixture(name="damaged")
def _damaged(tmp_path: Path) -> Path:
    """A copy of a segment, in a partition's folder."""
    (tmp_path / "orders-0").mkdir()
    return Path(shutil.copy(SEGMENT, tmp_path / "orders-0" / NAME))


def test_a_whole_log_directory_is_read(capsys: Capture) -> None:
    code, out, err = dump(capsys, BROKER, "--records")
    assert (code, err) == (0, [])
    headings = [line for line in out if not line.startswith(" ")]
    assert len(headings) == sum(len(files) for _, _, files in os.walk(BROKER))
    assert f"{BROKER}/.kafka_cleanshutdown: json" in headings


def test_the_page_shows_what_is_printed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block of docs/logs.md that begins with a command; dots stand for lines that it leaves out."""
    monkeypatch.chdir(BROKER)
    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    shown = re.findall(r"^    \$ tidemark logs (.*)\n((?:    .*\n)+)", page, re.MULTILINE)
    assert len(shown) >= 4
    for arguments, block in shown:
        main(["logs", *arguments.split()])
        said = iter(capsys.readouterr().out.splitlines())
        for line in block.splitlines():
            wanted = line.removeprefix("    ")
            assert wanted == "..." or wanted in said, (arguments, wanted)


def test_a_row_says_what_its_line_says(capsys: Capture) -> None:
    first, *_ = rows(capsys, SEGMENT)
    assert first == {
        "file": str(SEGMENT),
        "at": 0,
        "kind": "batch",
        "baseOffset": 0,
        "lastOffset": 1,
        "count": 2,
        "size": 110,
        "partitionLeaderEpoch": 0,
        "compressType": "lz4",
        "timestampType": "CreateTime",
        "baseTimestamp": 1795965400082,
        "maxTimestamp": 1795965400083,
        "producerId": 5,
        "producerEpoch": 0,
        "baseSequence": 0,
        "lastSequence": 1,
        "isTransactional": True,
        "isControl": False,
        "deleteHorizonMs": None,
        "crc": 1332632265,
    }


def test_json_goes_to_a_file_and_lines_are_printed_as_well(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "rows.ndjson"
    code, out, _ = dump(capsys, SEGMENT, "--json", target)
    stored = [json.loads(line) for line in target.read_text().splitlines()]
    assert code == 0
    assert len(stored) == len(out) - 1
    assert stored == rows(capsys, SEGMENT)
    assert os.listdir(tmp_path) == ["rows.ndjson"]


@pytest.mark.parametrize(
    ("given", "first", "last"), [("4", 4, 4), ("4-6", 4, 6), ("9-", 9, 13), ("-2", 0, 2), ("20-30", None, None)]
)
def test_offsets_choose_batches_and_records(capsys: Capture, given: str, first: int | None, last: int) -> None:
    chosen = rows(capsys, SEGMENT, "--records", "--offsets", given)
    offsets = [row["offset"] for row in chosen if row["kind"] == "record"]
    assert offsets == ([] if first is None else list(range(first, last + 1)))
    batches = [row for row in chosen if row["kind"] == "batch"]
    assert all(row["baseOffset"] <= last and row["lastOffset"] >= (first or 0) for row in batches)
    assert bool(batches) == bool(offsets)


def test_offsets_choose_entries(capsys: Capture) -> None:
    (row,) = rows(capsys, BROKER / "orders-0" / "00000000000000000000.txnindex", "--offsets", "4")
    assert (row["firstOffset"], row["lastOffset"]) == (3, 5)


@pytest.mark.parametrize("given", ["", "-", "a", "5-3", "1-2-3"])
def test_what_is_no_range_is_refused(capsys: Capture, given: str) -> None:
    with pytest.raises(SystemExit) as ended:
        dump(capsys, SEGMENT, f"--offsets={given}")
    assert ended.value.code == 2
    assert "give" in capsys.readouterr().err


def test_a_topic_is_named_where_no_folder_says_it(capsys: Capture, tmp_path: Path) -> None:
    copy = shutil.copy(BROKER / "__transaction_state-0" / NAME, tmp_path / NAME)
    assert [row for row in rows(capsys, copy, "--records") if "message" in row] == []
    named = rows(capsys, copy, "--records", "--topic", "__transaction_state", "--offsets", "0")
    assert named[1]["message"]["key"] == {"transactionalId": "shop"}


def test_a_torn_tail_is_one_sentence_after_all_that_is_whole(capsys: Capture, damaged: Path) -> None:
    size = damaged.stat().st_size
    os.truncate(damaged, size - 10)
    code, out, err = dump(capsys, damaged)
    _, whole, _ = dump(capsys, SEGMENT)
    assert code == 2
    assert [line.replace(str(SEGMENT), str(damaged)) for line in whole[: len(out)]] == out
    assert len(whole) == len(out) + 2
    (sentence,) = err
    assert re.fullmatch(
        rf"tidemark logs: {damaged}: at byte {size - 78:,} the batch has 78 bytes, and the file ends after 68 of them; "
        "if the log's last batch is still being written, copy the file again; else take another replica's",
        sentence,
    )


def test_a_batch_with_a_wrong_byte_is_named_and_the_next_ones_are_read(capsys: Capture, damaged: Path) -> None:
    data = bytearray(damaged.read_bytes())
    data[188 + 30] ^= 1
    damaged.write_bytes(data)
    code, out, err = dump(capsys, damaged, "--records", "--offsets", "7-")
    assert code == 2
    assert re.fullmatch(rf"tidemark logs: {damaged}: at byte 188 the batch's CRC is 0x\w+, and that .*", *err)
    assert "    | 13  COMMIT  coordinatorEpoch 0" in out
    code, out, err = dump(capsys, damaged, "--json", "-")
    (problem,) = (row for row in map(json.loads, out) if row["kind"] == "problem")
    assert (problem["at"], len(err)) == (188, 1)


def with_tail(tail: bytes) -> bytes:
    return SEGMENT.read_bytes() + tail


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (with_tail(bytes(4096)), "at byte 907 zeros begin where a batch should"),
        (with_tail(b"\xee" * 200), "at byte 923 the magic byte is -18, so no batch begins at 907; the file's last 200"),
        (with_tail(bytes(8) + b"\x7f\xff\xff\xff" + bytes(4) + b"\2" + bytes(90)), "the batch has 2,147,483,659 bytes"),
        (with_tail(bytes(11) + b"\x20" + bytes(4) + b"\1" + bytes(90)), "messages of magic 1 begin"),
        (bytes(11) + b"\x20" + b"\7" * 4 + b"\0" + bytes(90), "at byte 0 messages of magic 0 begin"),
        (b"%PDF-1.7 not a log at all", "the file ends after 25 bytes of a batch's header"),
    ],
)
def test_bytes_that_are_no_batch_are_one_sentence(capsys: Capture, damaged: Path, content: bytes, said: str) -> None:
    damaged.write_bytes(content)
    code, _, (sentence,) = dump(capsys, damaged)
    assert code == 2
    assert sentence.startswith(f"tidemark logs: {damaged}: ")
    assert said in sentence
    assert "; " in sentence.partition(said)[2]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("00000000000000000000.index", b"\0\0\0\1\0\0\0\2\1", "at byte 8 an entry has 8 bytes"),
        ("00000000000000000000.timeindex", b"\1" * 13, "at byte 12 an entry has 12 bytes"),
        ("00000000000000000000.txnindex", b"\1" * 33, "at byte 0 an entry has 34 bytes"),
        ("00000000000000000005.snapshot", b"\0\1" + bytes(4) + b"\x7f\xff\xff\xff", "2,147,483,647 producers need"),
        ("00000000000000000005.snapshot", b"\0\2" + bytes(8), "the snapshot's version is 2"),
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n", "at byte 2 '2' entries should follow, and 1 do"),
        ("replication-offset-checkpoint", b"\0\0", "at byte 0 the checkpoint's version is "),
        ("meta.properties", b"=x\n", "at byte 0 a line is no property"),
        ("quorum-state", b'{"leaderId":', "it is no JSON"),
    ],
)
def test_other_files_that_are_wrong(capsys: Capture, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    code, _, (sentence,) = dump(capsys, tmp_path)
    assert code == 2
    assert sentence.startswith(f"tidemark logs: {tmp_path / name}: at byte ")
    assert said in sentence


def test_a_message_of_an_unknown_version_is_named_by_its_offset(capsys: Capture, tmp_path: Path) -> None:
    """The record is shown as bytes, and those after it are read."""
    (tmp_path / "__transaction_state-0").mkdir()
    copy = shutil.copy(BROKER / "orders-0" / NAME, tmp_path / "__transaction_state-0" / NAME)
    code, out, err = dump(capsys, copy, "--records", "--offsets", "0-2")
    assert code == 2
    assert [re.sub(r"^.*?the record", "the record", line)[:36] for line in err] == [
        "the record at offset 0 is malformed:",
        "the record at offset 1 is malformed:",
    ]
    assert [line.split()[1] for line in out if line.startswith("    |")] == ["0", "1", "2"]


def test_foreign_things_are_named_and_the_rest_is_read(capsys: Capture, damaged: Path) -> None:
    folder = damaged.parent
    (folder / "notes.txt").write_text("foreign")
    (folder / "elsewhere").symlink_to(BROKER)
    os.mkfifo(folder / "00000000000000000007.log")
    (folder / "00000000000000000009.log.deleted").write_bytes(SEGMENT.read_bytes())
    code, out, err = dump(capsys, folder)
    assert code == 2
    assert [line.removeprefix(f"tidemark logs: {folder}/").partition(";")[0] for line in err] == [
        "00000000000000000007.log is no regular file",
        "elsewhere is a link to a folder",
        "notes.txt has no name of a file in a log directory",
    ]
    assert f"{folder}/00000000000000000009.log.deleted: segment, deleted" in out


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "has no file of a log directory"),
        (lambda path: path.write_text("x"), "has no name of a file in a log directory"),
        (os.mkfifo, "is no regular file"),
    ],
)
def test_a_path_that_cannot_be_dumped_is_one_sentence(capsys: Capture, tmp_path: Path, make: Any, said: str) -> None:
    path = tmp_path / "given"
    make(path)
    code, out, (sentence,) = dump(capsys, path)
    assert (code, out) == (2, [])
    assert sentence.startswith(f"tidemark logs: {path} {said}; give ")


def test_nothing_is_left_where_the_dump_is_refused(capsys: Capture, tmp_path: Path) -> None:
    code, _, _ = dump(capsys, BROKER / "orders-0", tmp_path / "none", "--json", tmp_path / "rows")
    assert (code, os.listdir(tmp_path)) == (2, [])


def test_without_its_library_compressed_records_are_refused(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their batches are not: a CRC needs no library."""
    monkeypatch.setitem(sys.modules, "cramjam", None)
    codecs = BROKER / "codecs-0" / NAME
    assert dump(capsys, codecs)[0] == 0
    assert dump(capsys, codecs, "--records", "--offsets", "0-11")[0] == 0
    code, _, (sentence,) = dump(capsys, codecs, "--records")
    assert code == 2
    assert sentence.endswith("run `pip install 'tidemark[logs]'`")
    assert f"{codecs}: the batch at byte 1,388 is compressed with snappy" in sentence


def test_a_name_that_is_no_text_is_printed(capsys: Capture, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"odd\xff-0")
    folder.mkdir()
    shutil.copy(SEGMENT, folder / NAME)
    code, out, _ = dump(capsys, folder)
    assert code == 0
    assert out[0] == f"{tmp_path}/odd\N{REPLACEMENT CHARACTER}-0/{NAME}: segment"


@pytest.mark.parametrize(("given", "said"), [(0, "1970-01-01T00:00:00.000Z"), (2**63 - 1, str(2**63 - 1)), (-1, "-1")])
def test_times_are_read_by_people(given: int, said: str) -> None:
    assert lines.time(given) == said


def test_a_value_moves_no_cursor() -> None:
    row = {"kind": "record", "offset": 1, "timestamp": 0, "key": "\x1b[2J", "value": None, "headers": []}
    assert "\x1b" not in lines.line(row)
