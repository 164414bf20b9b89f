"""`tidemark logs audit`: a real broker's logs pass, and logs that no leader writes are found, each by its name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from audited_logs import Capture, audit
from crafted_logs import NAME, data, marker, transactional
from tidemark.log.formats import batch, records
from tidemark_conformance.cli import main

ROOT = Path(__file__).parents[1]
BROKER = ROOT / "tests" / "real_logs" / "broker"


def test_a_real_broker_has_no_finding(capsys: Capture) -> None:
    code, told, sentences = audit(capsys, BROKER)
    assert (code, told["ok"], told["findings"], told["not_judged"], sentences) == (0, True, [], [], [])
    assert told["partitions"] == 8
    partitions, producers, _ = told["judged"]
    assert (partitions["specification"], partitions["traces"], partitions["steps"]) == ("PartitionLog", 8, 106)
    assert (producers["specification"], producers["traces"], producers["steps"]) == ("ProducerLog", 12, 34)


WRONG: list[tuple[str, Sequence[bytes], int]] = [
    ("PartitionLog.OffsetsIncrease", [data(0, 0), data(0, 1)], 1),
    ("ProducerLog.SequencesInOrderAndOnce", [data(0, 0), data(1, 1), data(2, 1)], 2),
    ("PartitionLog.OffsetsIncrease", [data(5, 0, 3), data(7, 3)], 1),
    ("PartitionLog.LeaderEpochsNeverFall", [data(0, 0, leader=4), data(1, 1, leader=3)], 1),
    ("ProducerLog.ProducerEpochsNeverFall", [data(0, 0, epoch=2), data(1, 1, epoch=1)], 1),
    ("ProducerLog.SequencesInOrderAndOnce", [data(0, 4, 2), data(2, 4, 2)], 1),
    ("ProducerLog.SequencesInOrderAndOnce", [data(0, 0), data(1, 2)], 1),
    ("ProducerLog.SequencesInOrderAndOnce", [transactional(0, 0), marker(1), transactional(2, 0)], 2),
    ("ProducerLog.NewEpochsBeginWithZero", [data(0, 5), data(1, 6, epoch=1)], 1),
    ("ProducerLog.OpenTransactionsHaveAllBatches", [transactional(0, 0), data(1, 1)], 1),
    ("ProducerLog.MarkersEndTransactions", [transactional(0, 0), transactional(1, 0, epoch=1)], 1),
    ("ProducerLog.CoordinatorEpochsNeverFall", [transactional(0, 0), marker(1), marker(2, coordinator=2)], 2),
]


@pytest.mark.parametrize(("check", "parts", "at"), WRONG, ids=[check for check, *_ in WRONG])
def test_what_no_leader_writes_is_found_where_it_stands(
    capsys: Capture, tmp_path: Path, check: str, parts: Sequence[bytes], at: int
) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(parts))
    code, told, _ = audit(capsys, folder)
    assert code == 1
    (finding,) = told["findings"]
    assert (finding["check"], finding["traces"]) == (check, 1)
    assert (finding["file"], finding["at"]) == (str(folder / NAME), len(b"".join(parts[:at])))
    (wrong,) = batch.batches(batch.Stored(parts[at]))
    assert (finding["baseOffset"], finding["crc"]) == (wrong.header.base_offset, wrong.header.crc)


RIGHT: list[tuple[str, Sequence[bytes]]] = [
    ("a log that begins in the middle", [transactional(70, 9), marker(71)]),
    ("a wrapped sequence", [data(0, 2**31 - 2, 2), data(2, 0)]),
    ("a sequence that wraps within a batch", [data(0, 2**31 - 1, 2), data(2, 1)]),
    ("a hole", [data(0, 0), data(5, 9)]),
    ("a marker of the next epoch", [transactional(0, 0), marker(1, epoch=1), transactional(2, 0, epoch=1)]),
    ("a marker of the same epoch", [transactional(0, 0), marker(1), transactional(2, 1)]),
    ("a marker that is sent again", [transactional(0, 0), marker(1), marker(2)]),
    ("a later epoch of the leader", [data(0, 0, leader=1), data(1, 1, leader=5)]),
    ("a transaction without an end", [transactional(0, 0), transactional(1, 1)]),
]


@pytest.mark.parametrize(("what", "parts"), RIGHT, ids=[what for what, _ in RIGHT])
def test_what_leaders_write_is_no_finding(capsys: Capture, tmp_path: Path, what: str, parts: Sequence[bytes]) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(parts))
    code, told, _ = audit(capsys, folder)
    assert (code, told["findings"]) == (0, []), what


def test_a_marker_that_compaction_emptied_says_nothing_of_its_coordinator(capsys: Capture, tmp_path: Path) -> None:
    header = records.batch_header(2, 2, 0, attributes=48, producer_id=7, producer_epoch=0, max_timestamp=1002)
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(transactional(0, 0) + marker(1) + records.batch_of(header, []) + marker(3))
    assert audit(capsys, folder)[0] == 0


def test_a_marker_that_is_none_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    header = records.batch_header(1, 1, 0, attributes=48, producer_id=7, producer_epoch=0)
    folder = tmp_path / "orders-0"
    folder.mkdir()
    wrong = records.batch_of(header, [records.Record(1, 5, b"\0\0\0\x63", b"")])
    (folder / NAME).write_bytes(data(0, 0) + wrong)
    code, told, (sentence,) = audit(capsys, folder)
    assert (code, told["judged"][0]["steps"]) == (2, 1)
    assert f"at byte {len(data(0, 0))} the marker is malformed: the control record's type 99 is not known" in sentence


def test_a_group_coordinators_transactions_all_begin_at_zero(capsys: Capture, tmp_path: Path) -> None:
    for topic, expected in (("__consumer_offsets-0", 0), ("orders-0", 1)):
        (tmp_path / topic).mkdir()
        (tmp_path / topic / NAME).write_bytes(transactional(0, 0) + transactional(1, 0))
        assert audit(capsys, tmp_path / topic)[0] == expected


def test_a_number_beyond_the_constants_leaves_its_trace_undecided(capsys: Capture, tmp_path: Path) -> None:
    """The trace is told, and so is what other traces show."""
    header = records.batch_header(0, 0, 0, producer_id=7, producer_epoch=0, base_sequence=0)
    late = records.batch_of(header, [records.Record(0, 2**63 - 1, None, b"v")])
    far = (2**63 - 2).to_bytes(8, "big") + data(0, 1)[8:]
    for name, parts, specification, value in (
        ("late-0", [late, data(1, 1)], "ProducerLog", f"batch.time is {2**63 - 1}"),
        ("far-0", [data(0, 0), far], "PartitionLog", f"batch.first is {2**63 - 2}"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / NAME).write_bytes(b"".join(parts))
        code, told, sentences = audit(capsys, folder)
        assert (code, told["ok"], told["findings"], sentences) == (3, False, [], [])
        (left,) = told["not_judged"]
        assert left["what"].startswith(f"{specification}: {folder}")
        assert left["problem"].startswith(f"is undecided: capacity exceeded (step {1 + (name == 'far-0')}: {value}; ")
        (judged,) = [one for one in told["judged"] if one["specification"] == specification]
        assert judged["traces"] == 0
    (tmp_path / "far-0" / NAME).write_bytes(data(0, 0) + data(1, 5) + far)
    code, told, _ = audit(capsys, tmp_path)
    assert (code, [one["check"] for one in told["findings"]]) == (1, ["ProducerLog.SequencesInOrderAndOnce"])
    assert len(told["not_judged"]) == 2


def test_segments_are_one_log(capsys: Capture, tmp_path: Path) -> None:
    """A step is found in its own file."""
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(data(0, 0))
    second = folder / "00000000000000000001.log"
    second.write_bytes(data(1, 1) + data(2, 1))
    (folder / "00000000000000000000.log.deleted").write_bytes(data(0, 0))
    code, told, _ = audit(capsys, tmp_path)
    assert (code, told["findings"][0]["file"], told["findings"][0]["at"]) == (1, str(second), len(data(1, 1)))


def damage(change: Callable[[bytearray], None], copy: Path) -> Path:
    shutil.copytree(BROKER / "orders-0", copy)
    content = bytearray((copy / NAME).read_bytes())
    change(content)
    (copy / NAME).write_bytes(content)
    return copy


def test_a_torn_tail_is_no_finding_and_is_told(capsys: Capture, tmp_path: Path) -> None:
    folder = damage(lambda content: content.__delitem__(slice(-5, None)), tmp_path / "orders-0")
    code, told, sentences = audit(capsys, folder)
    (fault,) = told["not_judged"]
    assert (code, told["findings"], sentences, fault["tail"]) == (0, [], [], True)
    assert (
        told["judged"][0]["steps"]
        == len(list(batch.batches(batch.Stored((BROKER / "orders-0" / NAME).read_bytes())))) - 1
    )


def test_bytes_that_cannot_be_read_are_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    """What stands before them is judged."""
    folder = damage(lambda content: content.__setitem__(250, content[250] ^ 1), tmp_path / "orders-0")
    code, told, (sentence,) = audit(capsys, folder)
    assert (code, told["ok"], told["judged"][0]["steps"]) == (2, False, 2)
    assert f"{folder / NAME}: at byte 188 the batch's CRC is " in sentence


def test_lines_for_people_name_check_file_and_batch(capsys: Capture, tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / NAME).write_bytes(data(0, 0) + data(1, 0))
    assert main(["logs", "audit", str(folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[:3] == [
        f"1 partition read, {len(data(0, 0)) * 2} bytes of batches",
        "PartitionLog: 1 partition, 2 steps judged",
        "ProducerLog: 1 producer, 2 steps judged",
    ]
    assert out[3] == f"FINDING ProducerLog.SequencesInOrderAndOnce: {folder / NAME}"
    assert "producer 7 epoch 0 sequence 0" in out[4]
    assert main(["logs", "audit", str(tmp_path / "none")]) == 2


@pytest.mark.deep
@pytest.mark.parametrize("name", ["PartitionLog", "ProducerLog", "ReplicaLogs", "TransactionLog"])
def test_the_properties_hold_in_a_small_model(name: str, capsys: Capture) -> None:
    logs = ROOT / "spec" / "logs"
    arguments = ["check", "--spec", str(logs / f"{name}.tla"), "--config", str(logs / f"{name}Small.cfg")]
    assert main([*arguments, "--no-deadlock"]) == 0
    assert "holds" in capsys.readouterr().out
