"""`tidemark logs audit` of `__transaction_state`: real coordinators pass, and what none writes is found by its name."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from audited_logs import Capture, audit
from crafted_logs import NAME, data, directory, marker, rewritten, transactional
from tidemark.log.formats import batch, control, internal, records
from tidemark_conformance.cli import main

BROKER = Path(__file__).parent / "real_logs" / "broker"
LOG = "__transaction_state-0"
State = tuple[int, int, int, list[int]]
"""Status, producer id, producer epoch, and the partitions of `orders`."""
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)


def of_transactions(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in told["findings"] if one["check"].startswith("TransactionLog.")]


def test_real_coordinators_have_no_finding(capsys: Capture) -> None:
    """A broker's, and a cluster's: 98 steps are 64 records, 32 markers, and two that a coordinator sent again."""
    for path, expected in ((BROKER, (4, 54)), (BROKER.parent / "cluster", (3, 98))):
        code, told, _ = audit(capsys, path)
        (judged,) = [one for one in told["judged"] if one["specification"] == "TransactionLog"]
        assert (code, (judged["traces"], judged["steps"]), told["not_judged"]) == (0, expected, [])


def copied(folder: Path, turn: bool) -> tuple[Path, int]:
    """A copy of the broker in which the first marker of orders-0 is turned round, or taken out; and its byte."""
    shutil.copytree(BROKER, folder)
    log = folder / "orders-0" / NAME
    content = log.read_bytes()
    every = list(batch.batches(batch.Stored(content)))
    number, first = next((number, one) for number, one in enumerate(every) if one.header.control)
    if turn:
        found = control.read(records.records(first)[0])
        key, value = control.write(found._replace(type=control.ControlType(1 - found.type)))
        log.write_bytes(rewritten(content, number, lambda one: [one[0]._replace(key=key, value=value)]))
    else:
        log.write_bytes(content[: first.position] + content[first.position + first.header.size :])
    return log, first.position if turn else every[number - 1].position


@pytest.mark.parametrize("turn", [True, False], ids=["turned round", "taken out"])
def test_a_marker_that_is_not_as_decided_is_found(capsys: Capture, tmp_path: Path, turn: bool) -> None:
    """The decision stands beside it. Of a marker that is missing the records are shown."""
    log, at = copied(tmp_path / "broker", turn)
    code, told, _ = audit(capsys, tmp_path / "broker")
    (finding,) = of_transactions(told)
    assert (code, finding["check"]) == (1, "TransactionLog.OneOutcomeInEachPartition")
    assert (finding["file"], finding["at"]) == (str(log), at)
    decision = finding["beside"][0]
    assert (Path(decision["file"]).parent.name, decision["offset"]) == (LOG, 2)
    assert finding["should"].startswith("The marker has the outcome that the transaction log has decided")


def record(offset: int, state: State | None, name: str = "shop") -> bytes:
    """A batch with the record of a state; None: the id is deleted."""
    value = None
    if state is not None:
        status, pid, epoch, partitions = state
        topics = [{"topic": "orders", "partitionIds": partitions}] if partitions else []
        value = {
            "producerId": pid,
            "producerEpoch": epoch,
            "transactionTimeoutMs": 60_000,
            "transactionStatus": status,
            "transactionPartitions": topics,
            "transactionLastUpdateTimestampMs": 1000 + offset,
            "transactionStartTimestampMs": 1000,
        }
    message = internal.Message("TransactionLog", {"transactionalId": name}, None if value is None else 0, value)
    key, body = internal.write(internal.TRANSACTIONS, message)
    return records.batch_of(records.batch_header(offset, offset, 0), [records.Record(offset, 1000 + offset, key, body)])


def log_of(*states: State | None) -> list[bytes]:
    return [record(offset, state) for offset, state in enumerate(states)]


OPEN: list[State] = [(EMPTY, 7, 0, []), (ONGOING, 7, 0, [0])]
COMMITTED: list[State] = [*OPEN, (PREPARE_COMMIT, 7, 1, [0]), (COMPLETE_COMMIT, 7, 1, [])]
WRONG: list[tuple[str, list[State | None], int]] = [
    ("StatesFollowInTurn", [*COMMITTED[:3], (PREPARE_ABORT, 7, 1, [0])], 3),
    ("StatesFollowInTurn", [*COMMITTED[:3], (COMPLETE_ABORT, 7, 1, [])], 3),
    ("StatesFollowInTurn", [*OPEN, (COMPLETE_COMMIT, 7, 1, [])], 2),
    ("StatesFollowInTurn", [*OPEN, None], 2),
    ("StatesFollowInTurn", [*OPEN, (EMPTY, 7, 1, [])], 2),
    ("ProducerEpochsNeverFall", [*COMMITTED, (ONGOING, 7, 0, [0])], 4),
    ("TransactionsKeepTheirProducer", [*OPEN, (PREPARE_COMMIT, 8, 1, [0])], 2),
    ("TransactionsKeepTheirProducer", [*COMMITTED[:3], (COMPLETE_COMMIT, 8, 1, [])], 3),
    ("TransactionsKeepPartitions", [OPEN[0], (ONGOING, 7, 0, [0, 1]), (PREPARE_COMMIT, 7, 1, [0])], 2),
]


@pytest.mark.parametrize(
    ("check", "states", "at"), WRONG, ids=[f"{check}-{number}" for number, (check, *_) in enumerate(WRONG)]
)
def test_what_no_coordinator_writes_is_found(
    capsys: Capture, tmp_path: Path, check: str, states: list[State | None], at: int
) -> None:
    parts = log_of(*states)
    folder = directory(tmp_path / "b1", 1, {LOG: parts})
    code, told, _ = audit(capsys, folder)
    (finding,) = of_transactions(told)
    assert (code, finding["check"], finding["offset"]) == (1, f"TransactionLog.{check}", at)
    assert (finding["at"], finding["beside"][0]["offset"]) == (len(b"".join(parts[:at])), at - 1)


RIGHT: list[tuple[str, list[State | None]]] = [
    ("a record that is written again", [*OPEN, OPEN[1], COMMITTED[2], COMMITTED[2], COMMITTED[3], COMMITTED[3]]),
    ("a log that begins in the middle", COMMITTED[3:]),
    ("an id that is deleted", [*COMMITTED, None, (EMPTY, 9, 0, [])]),
    ("epochs that are used up", [*OPEN, (PREPARE_ABORT, 7, 32767, [0]), (COMPLETE_ABORT, 8, 0, [])]),
    ("one epoch for all transactions", [*OPEN, (PREPARE_COMMIT, 7, 0, [0]), (COMPLETE_COMMIT, 7, 0, []), OPEN[1]]),
    ("an abort of nothing", [OPEN[0], (PREPARE_ABORT, 7, 1, []), (COMPLETE_ABORT, 7, 1, [])]),
    ("a transaction that is in flight", COMMITTED[:3]),
]


@pytest.mark.parametrize(("what", "states"), RIGHT, ids=[what for what, _ in RIGHT])
def test_what_coordinators_write_is_no_finding(
    capsys: Capture, tmp_path: Path, what: str, states: list[State | None]
) -> None:
    code, told, _ = audit(capsys, directory(tmp_path / "b1", 1, {LOG: log_of(*states)}))
    assert (code, told["findings"]) == (0, []), what


def test_what_compaction_has_removed_is_adopted(capsys: Capture, tmp_path: Path) -> None:
    parts = [record(0, OPEN[0]), record(5, COMMITTED[3])]
    assert audit(capsys, directory(tmp_path / "b1", 1, {LOG: parts}))[0] == 0


def outcome(
    capsys: Capture, folder: Path, parts: Sequence[bytes], states: Sequence[State], **more: object
) -> list[str]:
    """The checks that find something in a transaction log beside orders-0."""
    _, told, _ = audit(capsys, directory(folder, 1, {LOG: log_of(*states), "orders-0": parts}, **more))
    assert [one["what"] for one in told["not_judged"]] in ([], ["outcomes of transactions in partitions: 1"])
    return [one["check"] for one in of_transactions(told)]


def test_a_missing_marker_counts_only_where_the_log_goes_on(capsys: Capture, tmp_path: Path) -> None:
    """A running broker's partition may have been copied before its marker was written."""
    opened = [transactional(0, 0)]
    found = "TransactionLog.OneOutcomeInEachPartition"
    assert outcome(capsys, tmp_path / "live", opened, COMMITTED) == []
    assert outcome(capsys, tmp_path / "stopped", opened, COMMITTED, stopped=True) == [found]
    assert outcome(capsys, tmp_path / "later", [*opened, transactional(1, 0, 1)], COMMITTED) == [found]
    assert outcome(capsys, tmp_path / "flight", opened, COMMITTED[:3], stopped=True) == []
    assert outcome(capsys, tmp_path / "nothing", [data(0, 0)], COMMITTED, stopped=True) == []
    assert outcome(capsys, tmp_path / "right", [*opened, marker(1, 1)], COMMITTED, stopped=True) == []
    aborted: list[State] = [*OPEN, (PREPARE_ABORT, 7, 1, [0]), (COMPLETE_ABORT, 7, 1, [])]
    assert outcome(capsys, tmp_path / "turned", [*opened, marker(1, 1)], aborted) == [found]


def test_markers_without_their_decision_are_counted(capsys: Capture, tmp_path: Path) -> None:
    """No record of the log says how they should be. Without a transaction log nothing is said of them."""
    marked = [transactional(0, 0), marker(1, 1), transactional(2, 0, 1), marker(3, 5)]
    for name, states, expected in (("one", COMMITTED, 1), ("all", OPEN, 2), ("id", OPEN[:1], 2)):
        folder = directory(tmp_path / name, 1, {LOG: log_of(*states), "orders-0": marked})
        code, told, _ = audit(capsys, folder)
        why = "whose decisions the transaction log does not show"
        left = {"what": f"markers of transactions: {expected}", "problem": why}
        assert (code, told["ok"], told["not_judged"]) == (0, True, [left]), name
    assert audit(capsys, tmp_path / "one" / "orders-0")[1]["not_judged"] == []


def test_a_record_that_is_none_is_one_sentence(capsys: Capture, tmp_path: Path) -> None:
    """The partition is judged all the same, and so are the records before it."""
    parts = [*log_of(*OPEN), record(2, (9, 7, 0, [0]))]
    folder = directory(tmp_path / "b1", 1, {LOG: parts})
    code, told, (said,) = audit(capsys, folder)
    assert (code, told["ok"], [one["steps"] for one in told["judged"]]) == (2, False, [3, 2])
    assert f"at byte {len(b''.join(parts[:2]))} a record of the batch is malformed: the transaction's status 9" in said


def test_lines_for_people_name_the_record(capsys: Capture, tmp_path: Path) -> None:
    folder = directory(tmp_path / "b1", 1, {LOG: log_of(*OPEN, (COMPLETE_COMMIT, 7, 1, []))})
    assert main(["logs", "audit", str(folder)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[2] == "TransactionLog: 1 transactional id, 3 steps judged"
    assert out[3] == f"FINDING TransactionLog.StatesFollowInTurn: {folder / LOG / NAME}"
    assert out[5] == "    | 2"
    assert out[6].startswith("  should be: The state follows the one before it")
