"""`tidemark logs audit` of several brokers: a real cluster passes, and what replication never leaves is found."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited_logs import Capture, audit
from crafted_logs import NAME, REAL, data, directory, rewritten
from crc32c import crc32c
from tidemark.log.formats import batch, compression, records, texts
from tidemark.log.formats.texts import OffsetEntry
from tidemark_conformance.cli import main


def judged(told: dict[str, Any], specification: str) -> tuple[int, int]:
    """Traces and steps."""
    (found,) = [one for one in told["judged"] if one["specification"] == specification]
    return found["traces"], found["steps"]


def checks(told: dict[str, Any]) -> list[str]:
    return [one["check"] for one in told["findings"]]


def test_a_running_cluster_has_no_finding(capsys: Capture) -> None:
    """Three brokers, one with two directories, copied while they ran: kills, a reassignment, compaction, deletion."""
    code, told, sentences = audit(capsys, *sorted(REAL.iterdir()))
    assert (code, told["ok"], told["findings"], told["not_judged"], sentences) == (0, True, [], [], [])
    assert judged(told, "ReplicaLogs") == (19, 554)
    assert audit(capsys, REAL)[1]["judged"] == told["judged"]  # one folder with all directories is the same


def damaged(folder: Path, change: Callable[[bytearray], None], name: str = "orders-0") -> Path:
    """A copy of the cluster; a log of its second broker is changed."""
    shutil.copytree(REAL, folder)
    log = folder / "broker2" / name / NAME
    content = bytearray(log.read_bytes())
    change(content)
    log.write_bytes(content)
    return log


def places() -> list[int]:
    """The bytes at which the batches of orders-0 begin."""
    content = (REAL / "broker2" / "orders-0" / NAME).read_bytes()
    return [one.position for one in batch.batches(batch.Stored(content))]


def other_value(content: bytearray) -> None:
    content[:] = rewritten(bytes(content), 4, lambda found: [one._replace(value=b"forged") for one in found])


def taken_out(content: bytearray) -> None:
    del content[places()[4] : places()[5]]


def newer_epoch(content: bytearray) -> None:
    """The epoch of the last batch; it stands outside the CRC."""
    content[places()[-1] + 15] += 1


REAL_DAMAGE = [
    ("SameEpochSameBatch", other_value, 4),
    ("NoBatchIsMissing", taken_out, 4),
    ("CommittedBatchesAgree", newer_epoch, -1),
]


@pytest.mark.parametrize(("check", "change", "number"), REAL_DAMAGE, ids=[check for check, *_ in REAL_DAMAGE])
def test_damage_of_one_replica_is_found_beside_the_others(
    capsys: Capture, tmp_path: Path, check: str, change: Callable[[bytearray], None], number: int
) -> None:
    """Broker 2 differs from both others: each of these two pairs is found."""
    log = damaged(tmp_path / "cluster", change)
    code, told, _ = audit(capsys, tmp_path / "cluster")
    found = [one for one in told["findings"] if one["check"] == f"ReplicaLogs.{check}"]
    assert (code, checks(told)) == (1, [f"ReplicaLogs.{check}"] * 2)
    assert sorted(sorted(one["brokers"]) for one in found) == [["broker 1", "broker 2"], ["broker 2", "broker 3"]]
    assert (found[0]["traces"], found[0]["at"]) == (2, places()[number])
    beside = found[0]["beside"][0]
    assert (beside["broker"], beside["file"], beside["at"]) == ("broker 2", str(log), places()[number])
    assert found[0]["should"].startswith("The other replica")


def test_a_missing_committed_tail_is_found_where_the_broker_has_stopped(capsys: Capture, tmp_path: Path) -> None:
    """A running broker's log may have been copied before its checkpoint is."""
    log = damaged(tmp_path / "cluster", lambda content: content.__delitem__(slice(places()[-1], None)))
    assert audit(capsys, tmp_path / "cluster")[:2][0] == 0
    (tmp_path / "cluster" / "broker2" / ".kafka_cleanshutdown").write_bytes(b"")
    code, told, _ = audit(capsys, tmp_path / "cluster")
    assert (code, checks(told)) == (1, ["ReplicaLogs.NoBatchIsMissing"] * 2)
    missing = told["findings"][0]["beside"][0]
    assert (missing["kind"], missing["file"], missing["at"]) == ("none", str(log), places()[-1])


def test_a_torn_tail_of_one_replica_is_no_finding(capsys: Capture, tmp_path: Path) -> None:
    damaged(tmp_path / "cluster", lambda content: content.__delitem__(slice(-5, None)))
    code, told, sentences = audit(capsys, tmp_path / "cluster")
    assert (code, told["findings"], sentences, [one["tail"] for one in told["not_judged"]]) == (0, [], [], [True])


def two(tmp_path: Path, one: list[bytes], other: list[bytes], name: str = "orders-0", **more: object) -> list[Path]:
    """The directories of two brokers."""
    return [directory(tmp_path / f"b{node}", node, {name: log}, **more) for node, log in ((1, one), (2, other))]


A, B = data(0, 0), data(1, 1)
PARTED = data(0, 0, leader=1), data(0, 0, leader=2)


def test_logs_that_part_below_both_high_watermarks_are_found(capsys: Capture, tmp_path: Path) -> None:
    """So a lost acknowledged record shows, as of CAND-1. Above a high watermark logs may part."""
    paths = two(tmp_path, [A, data(1, 1, leader=1)], [A, data(1, 1, leader=2)], high_watermark=2)
    code, told, _ = audit(capsys, *paths)
    assert (code, checks(told), told["findings"][0]["at"]) == (1, ["ReplicaLogs.CommittedBatchesAgree"], len(A))
    (paths[1] / "replication-offset-checkpoint").write_bytes(texts.write_offsets([OffsetEntry("orders", 0, 1)]))
    assert audit(capsys, *paths)[0] == 0
    (paths[1] / "replication-offset-checkpoint").unlink()
    assert audit(capsys, *paths)[0] == 0


def test_logs_that_have_parted_stay_parted(capsys: Capture, tmp_path: Path) -> None:
    behind = data(1, 1, leader=3)
    code, told, _ = audit(capsys, *two(tmp_path, [PARTED[0], behind], [PARTED[1], behind]))
    assert (code, checks(told)) == (1, ["ReplicaLogs.PartedLogsStayParted"])


def test_batches_that_begin_elsewhere_in_the_same_epoch_are_found(capsys: Capture, tmp_path: Path) -> None:
    code, told, _ = audit(capsys, *two(tmp_path, [data(0, 0, 2)], [A, B]))
    assert (code, checks(told)) == (1, ["ReplicaLogs.SameEpochSameBatch"])


RIGHT: list[tuple[str, list[bytes], list[bytes], dict[str, object]]] = [
    ("one is behind", [A, B], [A], {"high_watermark": 2}),
    ("one begins later", [A, B], [B], {"high_watermark": 2, "start": 1}),
    ("parted tails of unlike batches", [A, data(1, 1, 3, leader=1)], [A, data(1, 1, leader=2)], {"high_watermark": 1}),
    ("batches before leader epochs", [data(0, 0, leader=-1)], [data(0, 0, value=b"w", leader=-1)], {}),
    ("a hole in a compacted log", [A, B, data(2, 2)], [A, data(2, 2)], {"cleaned": 3, "high_watermark": 3}),
    ("nothing yet", [A], [], {"high_watermark": 0}),
]


@pytest.mark.parametrize(("what", "one", "other", "more"), RIGHT, ids=[what for what, *_ in RIGHT])
def test_what_replication_leaves_is_no_finding(
    capsys: Capture, tmp_path: Path, what: str, one: list[bytes], other: list[bytes], more: dict[str, object]
) -> None:
    code, told, _ = audit(capsys, *two(tmp_path, one, other, **more))
    assert (code, told["findings"]) == (0, []), what
    assert judged(told, "ReplicaLogs")[0] == 1


def test_a_record_that_compaction_has_left_is_the_same_on_both(capsys: Capture, tmp_path: Path) -> None:
    """Of a batch that the cleaner has rewritten on one broker each remaining record is compared."""
    whole = data(0, 0, 3)
    fewer = rewritten(whole, 0, lambda found: [found[0], found[2]])
    (tmp_path / "right").mkdir()
    assert audit(capsys, *two(tmp_path / "right", [whole], [fewer]))[0] == 0
    forged = rewritten(whole, 0, lambda found: [found[0], found[2]._replace(value=b"forged")])
    code, told, _ = audit(capsys, *two(tmp_path, [whole], [forged]))
    assert (code, checks(told)) == (1, ["ReplicaLogs.SameEpochSameBatch"])


GARBAGE = [
    ("a record's length", 61, b"\xff" * 6),
    ("more records than bytes", 57, (2**31 - 1).to_bytes(4, "big")),
    ("a codec that is none", 22, b"\6"),
]


@pytest.mark.parametrize(("what", "at", "new"), GARBAGE, ids=[what for what, *_ in GARBAGE])
def test_records_that_cannot_be_read_are_told_and_not_compared(
    capsys: Capture, tmp_path: Path, what: str, at: int, new: bytes
) -> None:
    """In a compacted topic, under a right CRC. The batch behind them is compared."""
    wrong = bytearray(A)
    wrong[at : at + len(new)] = new
    wrong[17:21] = crc32c(bytes(wrong[21:])).to_bytes(4, "big")
    for name, more, expected in (("alone", [], (1, 0)), ("more", [B], (1, 1))):
        (tmp_path / name).mkdir()
        paths = two(tmp_path / name, [A, *more], [bytes(wrong), *more], cleaned=1)
        code, told, (said,) = audit(capsys, *paths)
        assert (code, told["ok"], checks(told), judged(told, "ReplicaLogs")) == (2, False, [], expected)
        assert f"{paths[1] / 'orders-0' / NAME}: at byte 0 a record of the batch is malformed: " in said
        (left,) = told["not_judged"]
        assert (left["file"], left["at"]) == (str(paths[1] / "orders-0" / NAME), 0)


def test_records_that_need_a_library_are_one_sentence(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = records.batch_header(0, 1, 0, codec=3)
    both = [records.Record(one, 1, b"k", b"v") for one in range(2)]
    paths = two(tmp_path, [records.batch_of(header, both)], [records.batch_of(header, both[1:])], cleaned=1)
    assert audit(capsys, *paths)[0] == 0
    monkeypatch.setitem(sys.modules, compression.LIBRARY, None)
    said = sentence(capsys, *paths)
    assert f"{paths[0] / 'orders-0' / NAME}: the batch at byte 0 is compressed, and its records need cramjam" in said


def test_directories_of_one_broker_are_no_replicas(capsys: Capture, tmp_path: Path) -> None:
    first = directory(tmp_path / "disk1", 1, {"orders-0": [A]})
    second = directory(tmp_path / "disk2", 1, {"orders-1": [data(0, 5)]})
    code, told, _ = audit(capsys, first, second)
    assert (code, [one["specification"] for one in told["judged"]]) == (0, ["PartitionLog", "ProducerLog"])


def test_what_cannot_be_compared_is_told(capsys: Capture, tmp_path: Path) -> None:
    first = directory(tmp_path / "disk1", 1, {"orders-0": [A]}, topic_id="one")
    code, told, _ = audit(capsys, first, directory(tmp_path / "disk2", 1, {"orders-0": [data(0, 5)]}))
    assert (code, told["not_judged"][0]["what"]) == (0, "orders-0")
    assert "two directories of one broker" in told["not_judged"][0]["problem"]
    anew = directory(tmp_path / "disk3", 3, {"orders-0": [data(0, 5)]}, topic_id="other")
    code, told, _ = audit(capsys, first, anew)
    assert (code, "topic ids one, other" in told["not_judged"][0]["problem"]) == (0, True)


def test_directories_without_a_broker_are_brokers_by_their_paths(capsys: Capture, tmp_path: Path) -> None:
    paths = [directory(tmp_path / name, None, {"orders-0": [log]}) for name, log in (("a", A), ("b", data(0, 5)))]
    code, told, _ = audit(capsys, *(path / "orders-0" for path in paths))
    assert (code, told["findings"][0]["brokers"]) == (1, [str(path) for path in paths])


@pytest.mark.parametrize("node", [1, None], ids=["named", "without meta.properties"])
def test_what_is_given_twice_is_read_once(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, node: int | None
) -> None:
    """Nested, by a relative path, and by a link."""
    home = directory(tmp_path / "b1", node, {"orders-0": [A, B], "orders-1": [A]}, high_watermark=2)
    (home / "unknown").write_text("foreign")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.chdir(tmp_path)
    once = audit(capsys, home)[:2]
    assert (once[0], once[1]["partitions"], once[1]["findings"]) == (0, 2, [])
    log = Path("b1", "orders-0", NAME)
    for more in (home, home / "orders-0", log, "b1", "link", Path("link", "orders-0")):
        assert audit(capsys, home, more)[:2] == once, more
    assert audit(capsys, log.parent, home / "orders-1")[1]["judged"] == once[1]["judged"]
    assert audit(capsys, log, home)[1]["judged"] == once[1]["judged"]


def sentence(capsys: Capture, *paths: object) -> str:
    assert main(["logs", "audit", *map(str, paths)]) == 2
    return capsys.readouterr().err


def test_directories_that_do_not_belong_together_are_refused(capsys: Capture, tmp_path: Path) -> None:
    here = directory(tmp_path / "here", 1, {"orders-0": [A]})
    there = directory(tmp_path / "there", 2, {"orders-0": [A]}, cluster="other")
    assert "is of cluster 4L6g3nShT-eMCtK--X86sw, and " in sentence(capsys, here, there)
    again = directory(tmp_path / "again", 1, {"orders-0": [A]}, identity="directory-of-here")
    assert "are copies of the same log directory (directory-of-here); give one of them" in sentence(capsys, here, again)


def test_a_checkpoint_that_cannot_be_read_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    """The rest is judged, without its high watermarks."""
    paths = two(tmp_path, [A], [data(0, 5)], high_watermark=1)
    (paths[0] / "replication-offset-checkpoint").write_text("0\n2\norders 0 1\n")
    code, told, (said,) = audit(capsys, *paths)
    assert (code, checks(told), told["not_judged"][0]["tail"]) == (1, ["ReplicaLogs.SameEpochSameBatch"], False)
    assert f"{paths[0] / 'replication-offset-checkpoint'}: at byte 2 '2' entries should follow, and 1 do" in said


@pytest.mark.parametrize("name", ["replication-offset-checkpoint", "log-start-offset-checkpoint"])
def test_a_checkpoint_beyond_the_constants_leaves_its_replicas_undecided(
    capsys: Capture, tmp_path: Path, name: str
) -> None:
    paths = two(tmp_path, [A], [data(0, 5)])
    (paths[0] / name).write_bytes(texts.write_offsets([OffsetEntry("orders", 0, 2**62 + 9)]))
    code, told, _ = audit(capsys, *paths)
    (left,) = told["not_judged"]
    assert (code, told["ok"], left["what"]) == (3, False, "ReplicaLogs: orders-0 of broker 1 and broker 2")
    assert f"is {2**62 + 9}; the capacity MaxOffset allows" in left["problem"]
    for number in (str(2**63), "9" * 5000):
        (paths[0] / name).write_text(f"0\n1\norders 0 {number}\n")
        code, told, (said,) = audit(capsys, *paths)
        assert (code, checks(told)) == (1, ["ReplicaLogs.SameEpochSameBatch"])
        assert f"{paths[0] / name}: at byte 4 the number '{number[:20]}" in said
        assert "of the line is beyond 64 bits; copy the file again" in said


def test_lines_for_people_name_both_replicas(capsys: Capture, tmp_path: Path) -> None:
    paths = two(tmp_path, [A, B, data(2, 2)], [A, data(2, 2)])
    assert main(["logs", "audit", *map(str, paths)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[3] == "ReplicaLogs: 1 pair of replicas, 3 steps judged"
    assert out[4] == f"FINDING ReplicaLogs.NoBatchIsMissing: {paths[0] / 'orders-0' / NAME}"
    assert out[5].startswith(f"  1  at {len(A)}  epoch 0")
    assert out[6].startswith("  should be: The other replica has a batch here")
    assert out[7:9] == [f"  broker 2: {paths[1] / 'orders-0' / NAME}", f"  none at {len(A)}"]
