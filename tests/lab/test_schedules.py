"""Schedules are read whole or refused in one sentence, and the control of each is another schedule."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_root
from tidemark_conformance.lab import releases
from tidemark_conformance.lab.schedule import Call, Condition, Mute, Pause, Signal, Start, files, read, schedule
from tidemark_conformance.registry import zoo

GOOD = """
find = "F"
title = "a record is gone"
shown = ["4.3.1"]
seconds = 10
[cluster]
brokers = ["A", "B"]
proxied = true
settings = { "min.insync.replicas" = 2 }
features = { "transaction.version" = 1 }
topics = [{ name = "t", replicas = ["A,B", "B"] }]
clients = [{ name = "p", kind = "producer", settings = { acks = "all" } }]
[control]
text = "A is not stopped"
settings = { "min.insync.replicas" = 1 }
clients = { p = { acks = 1 } }
[[step]]
text = "begin"
do = ["STOP A", "start B", "pause 0.5 so that A stands", "mute A", "speak A"]
until = ["ready A", "exited B", "says A 'Elected as'", "log t-0 A,B ends r s"]
[[step]]
text = "go on"
decisive = true
do = ["p send t-0 'a b' later as one", "p commit fails TimeoutException", "p abort either"]
until = ["answer one known", "admin describe t as there has leader=B settled"]
watch = ["answer one fails TimeoutException"]
within = 5
[[step]]
text = "it is well"
instead = true
until = ["answer one ok"]
[[evidence]]
text = "r is gone"
holds = "log t-0 A lacks r"
"""


def written(folder: Path, text: str = GOOD) -> Path:
    """A schedule's file."""
    file = folder / "replication" / "F.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def test_a_schedule_is_read(tmp_path: Path) -> None:
    found = read(written(tmp_path))
    assert (found.find, found.protocol, found.title, found.shown) == (
        "F",
        "replication",
        "a record is gone",
        ("4.3.1",),
    )
    assert found.cluster.brokers == {"A": 1, "B": 2}
    assert found.cluster.clients["p"].settings == {"acks": "all"}
    assert found.cluster.topics[0].replicas == ("A,B", "B")
    first, second = found.steps
    assert [line.means for line in first.do] == [
        Signal("STOP", "A"),
        Start("B"),
        Pause(0.5),
        Mute("A", True),
        Mute("A", False),
    ]
    assert [line.means for line in first.until] == [
        Condition("ready", ("A",)),
        Condition("exited", ("B",)),
        Condition("says", ("A",), words=("Elected as",)),
        Condition("log", ("A", "B"), "ends", ("r", "s"), "t-0"),
    ]
    assert [line.means for line in second.do] == [
        Call("p", "send", ("t-0", "a b"), later=True, known_as="one"),
        Call("p", "commit", (), "fails", "TimeoutException", known_as="commit"),
        Call("p", "abort", (), "either", known_as="abort"),
    ]
    described = Call("admin", "describe", ("t",), "either", known_as="there")
    assert second.until[1].means == Condition("call", ("admin",), "has", ("leader=B", "settled"), call=described)
    assert [line.means for line in second.watch] == [Condition("answer", ("one",), "fails", ("TimeoutException",))]
    assert (first.within, second.within) == (30, 5)


def test_a_number_is_the_id_of_a_broker(tmp_path: Path) -> None:
    text = GOOD.replace('["A", "B"]', '["A", 7]').replace("B'", "7'").replace('"A,B", "B"', '"A,7"')
    text = text.replace("start B", "start 7").replace("exited B", "exited 7").replace("A,B ends", "A,7 ends")
    assert read(written(tmp_path, text)).cluster.brokers == {"A": 1, "7": 7}


def test_the_control_leaves_the_decisive_step_out_and_replaces_settings(tmp_path: Path) -> None:
    control = read(written(tmp_path), control=True)
    assert [step.number for step in control.steps] == [1, 3]
    assert [step.number for step in read(written(tmp_path)).steps] == [1, 2]
    assert control.cluster.settings == {"min.insync.replicas": 1}
    assert control.cluster.clients["p"].settings == {"acks": 1}
    assert control.cluster.features == {"transaction.version": 1}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("STOP A", "STOP C", "step 1: 'C' is no broker and no client"),
        ("STOP A", "HALT A", "step 1: 'HALT A' is no action"),
        ("mute A", "mute p", "step 1: 'p' is no broker"),
        ("proxied = true", "proxied = false", "step 1: 'mute A' is no action"),
        ("pause 0.5 so that A stands", "pause 0.5", "step 1: 'pause 0.5' is no action"),
        ("p send t-0 'a b'", "p send t-0", "step 2: 'p send t-0 later as one' is no call"),
        ("p abort either", "p abrot", "did you mean abort"),
        ("ends r s", "end r s", "is no condition"),
        ("'Elected as'", "'Elected ('", "step 1: 'Elected (' is no pattern"),
        ("exited B", "exited 'B", "step 1: No closing quotation"),
        ('kind = "producer"', 'kind = "reader"', "the client 'p' needs a kind of producer or consumer"),
        ('name = "p"', 'name = "A"', "the client 'A' needs"),
        ('["A,B", "B"]', '["A,C"]', "a topic has its replica on 'C'"),
        ('holds = "log t-0 A lacks r"', 'holds = "admin describe t has r"', "is no evidence"),
        ('text = "r is gone"', 'said = "r is gone"', "it lacks 'text'"),
        ('find = "F"', 'find = "G"', "its find is 'G'"),
        ("seconds = 10", "seconds = 10\nhours = 1", "it has 'hours', which means nothing"),
        ("within = 5", "patience = 5", "step 2 has 'patience', which means nothing"),
        ("[cluster]", "[cluster", "F.toml is no schedule"),
    ],
)
def test_a_bad_schedule_is_refused_in_one_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(Unusable) as refused:
        read(written(tmp_path, GOOD.replace(old, new, 1)))
    assert said in str(refused.value)
    assert "F.toml" in str(refused.value)
    assert "\n" not in str(refused.value).removesuffix("\n")


def test_without_a_decisive_step_there_is_no_control(tmp_path: Path) -> None:
    text = GOOD.replace("decisive = true\n", "")
    read(written(tmp_path, text))
    text = text.replace("instead = true\n", "")
    read(written(tmp_path, text))
    for line in ('settings = { "min.insync.replicas" = 1 }\n', "clients = { p = { acks = 1 } }\n"):
        text = text.replace(line, "")
    with pytest.raises(Unusable, match="the control is the same: no step is decisive"):
        read(written(tmp_path / "other", text) if (tmp_path / "other").mkdir() is None else Path())


@pytest.mark.parametrize("find", files())
def test_every_schedule_of_the_tree_has_another_one_as_its_control(find: str) -> None:
    right, control = schedule(find), schedule(find, control=True)
    assert replace(control, steps=right.steps, cluster=right.cluster) == right
    assert (control.steps, control.cluster) != (right.steps, right.cluster)
    assert right.control
    assert set(right.shown) <= set(releases.known())
    names = {line.means.known_as for step in control.steps for line in step.do if isinstance(line.means, Call)}
    for step in control.steps:
        names |= {line.means.call.known_as for line in (*step.until, *step.watch) if _of_call(line.means)}
    asked = {fact.holds.means.of[0] for fact in right.evidence if fact.holds.means.kind == "answer"}
    assert asked <= names, "evidence asks for an answer that the control does not have, so that it could not occur"


def _of_call(means: object) -> bool:
    return isinstance(means, Condition) and means.call is not None


def test_schedules_lie_beside_the_golden_scenarios_and_finds_md_names_them() -> None:
    page = (golden_root().parents[1] / "docs" / "finds.md").read_text(encoding="utf-8")
    rows = {row.id: row for row in zoo.rows()}
    for find, file in files().items():
        assert f"tidemark reproduce {find}" in page
        if find in rows:
            assert file.with_suffix(".txt").is_file(), "the golden scenario of the find"
        assert tomllib.loads(file.read_text(encoding="utf-8"))["find"] == find
