"""Verdicts from what runs leave: recorded folders, answers, segments, and a `java` that plays Kafka."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import fake_kafka
import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_root
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab import play, segments
from tidemark_conformance.lab.play import NOT, OCCURRED, TRIES, VOID
from tidemark_conformance.lab.recorded import Recorded, entries_are, judged, seen_answer
from tidemark_conformance.lab.schedule import Schedule, read, schedule

RECORDED = Path(__file__).parent / "recorded" / "CAND-2"
"""The folder of a run of CAND-2 on Kafka 4.3.1: two logs, a few lines of a broker, the clients' answers."""

SIMPLE = """
find = "F"
title = "a record is gone"
shown = []
seconds = 1
[cluster]
brokers = ["A"]
topics = [{ name = "t", replicas = ["A"] }]
clients = [{ name = "p", kind = "producer" }]
[control]
text = "nothing is done"
[[step]]
text = "a record is written, and read"
decisive = true
do = ["p send t-0 r", "admin read t read_committed"]
until = ["ready A", "says A 'no such line'"]
within = 0.2
[[evidence]]
text = "it is gone"
holds = "answer read lacks r"
"""


def simple(folder: Path, old: str = ", \"says A 'no such line'\"", new: str = "") -> Schedule:
    """The simple schedule, changed."""
    assert old in SIMPLE
    file = folder / "F.toml"
    file.write_text(SIMPLE.replace(old, new))
    return read(file)


def holding(folder: Path) -> list[bool]:
    """Which facts of CAND-2's evidence hold."""
    return [seen.holds for _, seen in judged(schedule("CAND-2").evidence, folder)]


def test_segments_of_kafka_are_read() -> None:
    written = segments.log(RECORDED / "nodes/B/data/x-0")
    assert [(one.offset, one.text, one.producer_epoch, one.sequence) for one in written] == [
        (0, "r", 0, 0),
        (1, "ABORT", 1, -1),
        (2, "COMMIT", 1, -1),
    ]
    decided = segments.log(RECORDED / "nodes/C/data/__transaction_state-0")
    assert [one.text for one in decided][:3] == ["Empty e0", "Ongoing e0", "Ongoing e0"]
    assert decided[-1].text.startswith("CompleteCommit")
    assert segments.log(RECORDED / "nodes/B/data/y-0") == []


def test_a_torn_or_foreign_segment_ends_where_it_is_torn(tmp_path: Path) -> None:
    content = (RECORDED / "nodes/B/data/x-0/00000000000000000000.log").read_bytes()
    for length in range(len(content) + 1):
        (tmp_path / "0.log").write_bytes(content[:length])
        texts = [one.text for one in segments.log(tmp_path)]
        assert texts == ["r", "ABORT", "COMMIT"][: len(texts)]
    assert len(texts) == 3
    (tmp_path / "0.log").write_bytes(content[:16] + b"\1" + content[17:])  # a batch of magic 1
    assert segments.log(tmp_path) == []


def test_the_recorded_run_is_judged_as_it_was() -> None:
    assert holding(RECORDED) == [True] * 4


@pytest.mark.parametrize(
    ("name", "answer", "expected"),
    [
        ("commit", {"error": "ProducerFencedException", "message": "..."}, [False, True, True, True]),
        ("y", {"ok": []}, [True, False, True, True]),
        ("x", {"ok": ["r"]}, [True, True, False, True]),
        ("x", {"error": "TimeoutException", "message": "..."}, [True, True, False, True]),
    ],
)
def test_another_answer_is_another_verdict(
    tmp_path: Path, name: str, answer: dict[str, object], expected: list[bool]
) -> None:
    shutil.copytree(RECORDED, tmp_path / "run")
    Recorded(tmp_path / "run").answered(name, answer)
    assert holding(tmp_path / "run") == expected


def test_nothing_is_evidence_of_nothing(tmp_path: Path) -> None:
    assert holding(tmp_path) == [False] * 4


def test_lines_are_those_since_a_step_began() -> None:
    recorded = Recorded(RECORDED)
    (condition,) = [line.means for step in schedule("CAND-2").steps for line in step.until if "Resigned" in line.said]
    assert recorded.see(condition).holds
    assert not recorded.see(condition, {"B": recorded.size("B")}).holds
    assert recorded.see(condition, {"A": recorded.size("B")}).holds


@pytest.mark.parametrize(
    ("entries", "how", "words", "holds"),
    [
        (["r", "s t"], "has", ["t"], True),
        (["r", "s t"], "has", ["r", "t"], False),
        (["r", "s t"], "lacks", ["r"], False),
        (["rs"], "lacks", ["r"], True),
        (["r", "s t"], "ends", ["s"], True),
        (["r", "s t"], "ends", ["r"], False),
        ([], "ends", [], False),
        (["r", "s", "r"], "twice", ["r"], True),
        (["r", "s"], "twice", ["r"], False),
        ([], "empty", [], True),
        (["r"], "empty", [], False),
    ],
)
def test_words_of_entries(entries: list[str], how: str, words: list[str], holds: bool) -> None:
    assert entries_are(entries, how, words) is holds


def test_an_answer_that_is_none_or_an_error_proves_nothing() -> None:
    for how in ("has", "lacks", "empty", "ok", "known"):
        assert not seen_answer(None, how, ["r"]).holds
    failed = {"error": "TimeoutException", "message": "late"}
    assert [how for how in ("has", "lacks", "empty", "ok", "known") if seen_answer(failed, how, ["r"]).holds] == [
        "known"
    ]
    assert seen_answer(failed, "fails", ["TimeoutException"]).holds
    assert not seen_answer(failed, "fails", ["ProducerFencedException"]).holds
    assert not seen_answer({"ok": ["r"]}, "fails", ["TimeoutException"]).holds


# A `java` that plays Kafka


@pytest.mark.parametrize(("found", "verdict"), [([], OCCURRED), (["r"], NOT)])
def test_a_run_is_judged_by_its_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: list[str], verdict: str
) -> None:
    told: list[str] = []
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, read={"ok": found})
    run = play.play(simple(tmp_path), kafka, tmp_path / "run", lambda _, line, __: told.append(line))
    assert (run.verdict, run.void) == (verdict, "")
    assert [text for _, text, _ in run.steps] == ["a record is written, and read"]
    assert "p send t-0 r  ->  done" in told
    kept = [json.loads(line) for line in (tmp_path / "run" / "answers.ndjson").read_text().splitlines()]
    assert [one["as"] for one in kept] == ["send", "read"]


@pytest.mark.parametrize(
    ("old", "new", "answers", "why"),
    [
        ("t-0 r", "t-0 r", {}, "step 1: not in 0.2 s: says A 'no such line' (A has not logged 'no such line')"),
        ("t-0 r", "t-0 r", {"send": {"error": "TimeoutException", "message": "late"}}, "step 1: p send: TimeoutEx"),
        ("t-0 r", "t-0 r fails TimeoutException", {}, "step 1: p send: done"),
        ("t-0 r", "t-0 r", {"create": {"error": "InvalidReplicationFactorException"}}, "the topic t was not created"),
        ('do = ["', 'do = ["KILL p", "', {}, "step 1: p does not run, and cannot be sent SIGKILL"),
        ('do = ["', 'do = ["start p", "KILL p", "', {}, "step 1: the client p has ended before its call send"),
    ],
)  # fmt: skip
def test_a_schedule_that_does_not_come_together_is_void(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, answers: dict[str, object], why: str
) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, **answers)
    run = play.play(simple(tmp_path, old, new), kafka, tmp_path / "run", lambda *_: None)
    assert run.verdict == VOID
    assert run.void.startswith(why)
    assert run.evidence == []


def test_a_log_needs_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule without brokers starts no node: one process with the log's classes, in a folder of the run."""
    monkeypatch.setenv("JAVA_HOME", str(fake_kafka.jdk(tmp_path / "of")))
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    toolchain._find_java.cache_clear()
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, look={"ok": ["end=6", "segment 0..4"]})
    text = (golden_root() / "log" / "CAND-25.toml").read_text(encoding="utf-8")
    file = tmp_path / "F.toml"
    file.write_text(text.replace('"CAND-25"', '"F"').replace('"log append 1 2 as copied"', '"log look as copied"'))
    told: list[str] = []
    run = play.play(read(file), kafka, tmp_path / "run", lambda _, line, __: told.append(line))
    assert (run.verdict, run.void) == (NOT, "")
    assert not any("controller" in line or "serve" in line for line in told)
    assert [path.name for path in (tmp_path / "run").iterdir() if path.is_dir()] == ["clients"]
    assert [seen.holds for _, seen in run.evidence] == [False, True, False]


def test_a_call_that_is_not_answered_is_void(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(play, "CALL_S", 0.3)
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, send=None)
    run = play.play(simple(tmp_path), kafka, tmp_path / "run", lambda *_: None)
    assert run.void == "step 1: p has no answer to its call send in 0.3 s"


def test_a_watched_condition_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, read={"ok": []}, describe={"ok": ["t-0 leader=none"]})
    watched = simple(tmp_path, ", \"says A 'no such line'\"]", ']\nwatch = ["admin describe t has leader=A"]')
    run = play.play(watched, kafka, tmp_path / "run", lambda *_: None)
    assert run.verdict == OCCURRED
    assert Recorded(tmp_path / "run").answer("describe") == {"as": "describe", "ok": ["t-0 leader=none"]}


def test_void_runs_are_repeated_so_often_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch)
    void = simple(tmp_path, "t-0 r", "t-0 r")
    tried = play.runs(void, kafka, lambda number: tmp_path / str(number), lambda _: lambda *_: None)
    assert [run.verdict for run in tried] == [VOID] * TRIES
    assert sorted(one.name for one in tmp_path.glob("[0-9]")) == ["1", "2", "3"]


def test_the_first_run_that_is_not_void_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, read={"ok": ["r"]})
    results = iter([play.Run(void="step 1: late"), play.play(simple(tmp_path), kafka, tmp_path / "x", lambda *_: None)])
    monkeypatch.setattr(play, "play", lambda *_: next(results))
    tried = play.runs(simple(tmp_path), kafka, lambda number: tmp_path / str(number), lambda _: lambda *_: None)
    assert [run.verdict for run in tried] == [VOID, NOT]


@pytest.mark.parametrize("what", ["kafka.Kafka", '" format "'])
def test_a_node_that_does_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    kafka = fake_kafka.runtime(tmp_path, monkeypatch)
    refusing = f'case "$*" in\n  *{what}*) echo ERROR: no memory; exit 1;;'
    kafka.java.write_text(kafka.java.read_text().replace('case "$*" in', refusing))
    if what == "kafka.Kafka":
        run = play.play(simple(tmp_path), kafka, tmp_path / "run", lambda *_: None)
        assert run.void == "controller ended as it started: ERROR: no memory"
    else:
        with pytest.raises(Unusable, match="Kafka does not format the folders of its nodes: ERROR: no memory"):
            play.play(simple(tmp_path), kafka, tmp_path / "run", lambda *_: None)


def test_processes_are_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = str(time.monotonic_ns())
    monkeypatch.setenv("MARK", mark)
    kafka = fake_kafka.runtime(tmp_path, monkeypatch, read={"ok": []})
    stopped = simple(tmp_path, '"admin read t read_committed"]', '"admin read t read_committed", "STOP A", "STOP p"]')
    counted: list[int] = []
    play.play(stopped, kafka, tmp_path / "run", lambda *_: counted.append(len(fake_kafka.marked(mark))))
    assert max(counted) >= 4, "controller, broker, admin client, producer"
    assert fake_kafka.marked(mark) == []
