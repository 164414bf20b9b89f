"""Beyond a capacity a trace is undecided; beyond a limit that means something it fails. Both are named."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tidemark_conformance.audit.audit import Options, result_of
from tidemark_conformance.audit.judge import batch_of, judge_for
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.files import file_traces
from tidemark_conformance.trace.lint import BOUNDS, CAPACITY, LIMIT, lint
from tidemark_conformance.trace.schema import Schema, schema_of
from trace_lines import signed, write

TEXT = r"""---- MODULE Sender ----
EXTENDS Integers, Sequences, Bounded
CONSTANTS Node, Window, MaxLog, MaxEpoch
VARIABLES log, window, slot, seen, low, met, hist
Capacities == {"MaxLog", "MaxEpoch"}
Ghosts == <<hist>>
Epochs == 0..MaxEpoch
Slot == [type : {"idle"}] \cup [type : {"reply"}, epoch : 1..MaxEpoch, count : 1..2, code : {"OK", "NONE"}]
TypeOK ==
    /\ log \in [Node -> BoundedSeq(0..9, MaxLog)]
    /\ window \in [Node -> BoundedSeq(0..9, Window)]
    /\ slot \in Slot
    /\ seen \in SUBSET Epochs
    /\ low \in -1..2
    /\ met \in SUBSET Node
    /\ hist \in 0..MaxLog
Init ==
    /\ log = [n \in Node |-> <<>>] /\ window = [n \in Node |-> <<>>] /\ slot = [type |-> "idle"]
    /\ seen = {} /\ low = 0 /\ met = {} /\ hist = 0
Send(n, v) ==
    /\ log' = [log EXCEPT ![n] = Append(@, v)]
    /\ window' = [window EXCEPT ![n] = Append(@, v)]
    /\ UNCHANGED <<slot, seen, low, met>>
    /\ hist' = hist + 1
Reply(e, error) ==
    /\ slot' = [type |-> "reply", epoch |-> e, count |-> 1, code |-> "OK"]
    /\ seen' = seen \cup {e}
    /\ UNCHANGED <<log, window, low, met>>
    /\ hist' = hist
Lower ==
    /\ low' = low - 1
    /\ UNCHANGED <<log, window, slot, seen, met>>
    /\ hist' = hist + 1
Next == \/ \E n \in Node, v \in 0..9 : Send(n, v)
        \/ \E e \in Epochs, error \in {"REFUSED"} : Reply(e, error)
        \/ Lower
====
"""
CFG = "CONSTANTS Node = {a, b} Window = 2 MaxLog = 3 MaxEpoch = 4\nINIT Init\nNEXT Next\nINVARIANT TypeOK\n"


@pytest.fixture(name="specification", scope="module")
def _specification(tmp_path_factory: pytest.TempPathFactory) -> Specification:
    folder = tmp_path_factory.mktemp("sender")
    (folder / "Sender.tla").write_text(TEXT)
    (folder / "Sender.cfg").write_text(CFG)
    bounded = Path(__file__).parent.parent / "spec" / "lib" / "Bounded.tla"
    (folder / "Bounded.tla").write_text(bounded.read_text())
    return load(folder / "Sender.tla", folder / "Sender.cfg")


Step = dict[str, Any]
FIRST = {
    "log": {"a": [], "b": []},
    "window": {"a": [], "b": []},
    "slot": {"type": "idle"},
    "seen": [],
    "low": 0,
    "met": [],
}


def step(action: str, delta: dict[str, Any], **params: Any) -> Step:
    return {"action": action, "params": params, "delta": delta}


def lower(value: int) -> Step:
    return step("Lower", {"low": value})


def send(log: list[int], window: list[int], node: str = "a") -> Step:
    return step("Send", {"log": {node: log}, "window": {node: window}}, n=node, v=5)


def said(epoch: int, count: int = 1, code: str = "OK") -> dict[str, Any]:
    return {"type": "reply", "epoch": epoch, "count": count, "code": code}


def reply(epoch: Any = 1, error: Any = "REFUSED", slot: Any = None, seen: Any = None) -> Step:
    return step(
        "Reply",
        {"slot": said(epoch) if slot is None else slot, "seen": [epoch] if seen is None else seen},
        e=epoch,
        error=error,
    )


def file_of(specification: Specification, steps: list[Step], end: dict[str, Any] | None = None) -> Path:
    lines = [{"trace": "t", "step": 0, "state": FIRST}]
    lines += [{"trace": "t", "step": number, **one} for number, one in enumerate(steps, 1)]
    trace = signed([*lines, {"trace": "t", "end": {"steps": len(steps), **(end or {})}}])
    header = schema_of(specification).header.to_json()
    return write(specification.path.parent / "trace.ndjson", header, [trace])


def audited(specification: Specification, steps: list[Step], end: dict[str, Any] | None = None) -> AuditResult:
    schema = schema_of(specification)
    stored = list(file_traces(file_of(specification, steps, end), schema))
    judge = judge_for(specification)
    tally = judge.tally()
    judge.add(tally, batch_of([one.id for one in stored], [one.stream for one in stored]), 0)
    return result_of(tally, judge, Options(), 1.0)


ALONE = [lower(-1)]

BOTH = [send([5] * count, [5] * count, node) for node in ("a", "b") for count in (1, 2)]

UNDECIDED: list[tuple[str, list[Step], str]] = [
    ("a log", [send([5], [5]), send([5, 5], [5, 5]), send([5] * 4, [5, 5])], r"step 3: log\[a\] has 4 elements; the "
     r"capacity MaxLog allows 3 \(Sender.tla:10\)"),
    ("an epoch", [reply(1, slot=said(7))], r"slot.epoch is 7; the capacity MaxEpoch "
     r"allows 4 \(Sender.tla:8\)"),
    ("a set's element", [reply(1, seen=[1, 6])], r"seen holds an element that is not possible; the capacity MaxEpoch"),
    ("a parameter", [step("Reply", {}, e=6, error="REFUSED")], r"the parameter e of Reply is outside its domain, "
     r"above 4; the capacity MaxEpoch allows no more"),
    ("a history", BOTH, r"step 4: the history variable hist exceeds its limit"),
]  # fmt: skip

WRONG: list[tuple[str, list[Step], str, str]] = [
    ("a window", [send([5, 5], [5, 5, 5])], "invariant TypeOK", r"window\[a\] has 3 elements; TypeOK allows 2"),
    ("below", [*ALONE, lower(-2)], "invariant TypeOK", r"low is -2; TypeOK allows -1 \(Sender.tla:14\)"),
    ("above", [lower(3)], "invariant TypeOK", "low is 3; TypeOK allows 2"),
    ("past 64 bits", [lower(1 << 80)], "invariant TypeOK", "low is 9223372036854775807; TypeOK allows 2"),
    ("an element", [send([17], [5])], "invariant TypeOK", r"log\[a\]\[1\] is 17; TypeOK allows 9"),
    ("a field", [reply(1, slot=said(1, 3))], "invariant TypeOK", "slot.count is 3"),
    ("a field behind a step", [reply(1), reply(1, slot=said(1, 3))], "invariant TypeOK",
     "slot.count is 3; TypeOK allows 2"),
    ("a field's least", [reply(1, slot=said(0, 1))], "invariant TypeOK",
     "slot.epoch is 0; TypeOK allows 1"),
    ("a code", [reply(1, slot=said(1, 1, "GONE"))], "invariant TypeOK",
     'slot.code is none of "NONE", "OK"; TypeOK allows no other'),
    ("beside a capacity", [step("Reply", {"slot": said(9, 9)}, e=1, error="REFUSED")],
     "invariant TypeOK", "slot.count is 9"),
    ("an error code", [reply(1, error="NONE")], "not a step of Reply", "the parameter error of Reply is outside its "
     "domain; the action has no such parameter"),
    ("no element", [step("Lower", {"low": -1, "met": ["a", None]})], "invariant TypeOK",
     "met holds an element that is not possible; TypeOK allows no other"),
    ("a negative parameter", [reply(-1, slot=FIRST["slot"], seen=[])], "not a step of Reply", "parameter e of Reply"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "detail"), [one[1:] for one in UNDECIDED], ids=[one[0] for one in UNDECIDED])
def test_beyond_a_capacity_is_undecided_and_named(specification: Specification, steps: list[Step], detail: str) -> None:
    result = audited(specification, steps)
    assert (result.exit_code, [group.reason for group in result.undecided]) == (3, ["capacity exceeded"])
    _matches(detail, result.undecided[0].detail)
    _matches(detail, result.document()["undecided"][0]["detail"])


@pytest.mark.parametrize(("steps", "signature", "detail"), [one[1:] for one in WRONG], ids=[one[0] for one in WRONG])
@pytest.mark.parametrize("after", [[], [reply(2)], [lower(99)]], ids=["last", "then a step", "then another"])
def test_beyond_what_means_something_fails_and_is_named(
    specification: Specification, steps: list[Step], signature: str, detail: str, after: list[Step]
) -> None:
    """The steps that follow are read, and not judged."""
    result = audited(specification, steps + after)
    assert result.exit_code == 1
    wrong = [failure for failure in result.failures if failure.detail]
    assert [(one.signature, one.examples[0][1]) for one in wrong] == [(signature, len(steps))]
    _matches(detail, wrong[0].detail)
    assert result.steps == len(steps) + len(after)


@pytest.mark.parametrize(
    ("end", "reason"),
    [({"steps": 5}, "missing steps"), ({"capacity": True}, None)],
)
def test_what_is_not_judged_is_read_all_the_same(
    specification: Specification, end: dict[str, Any], reason: str | None
) -> None:
    """Damage behind a wrong value counts before it, a capacity behind it does not."""
    result = audited(specification, [lower(3), reply(2)], end)
    if reason is None:
        assert result.exit_code == 1
    else:
        assert [group.reason for group in result.undecided] == [reason]


def test_the_explanation_shows_the_value(specification: Specification, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(specification, [lower(-1), lower(-2), reply(2)])
    code = main(["explain", str(path), "--spec", str(specification.path), "--config", str(specification.cfg)])
    said = " ".join(capsys.readouterr().out.split())
    assert code == 1
    assert "at step 2" in said
    assert "low is -2; TypeOK allows -1 (Sender.tla:14)" in said


def test_without_the_operator_every_constant_is_a_capacity(tmp_path: Path, specification: Specification) -> None:
    for file in specification.path.parent.glob("*.tla"):
        (tmp_path / file.name).write_text(file.read_text().replace('Capacities == {"MaxLog", "MaxEpoch"}\n', ""))
    (tmp_path / "Sender.cfg").write_text(CFG)
    undeclared = load(tmp_path / "Sender.tla", tmp_path / "Sender.cfg")
    assert undeclared.hash == specification.hash
    assert audited(undeclared, [send([5, 5], [5, 5, 5])]).exit_code == 3
    assert audited(undeclared, [lower(3)]).exit_code == 1


@pytest.mark.parametrize(
    ("capacities", "said"),
    [('{"Maxlog"}', "names Maxlog, which is no constant"), ("{1}", "is no set of strings")],
)
def test_a_capacity_that_is_no_constant_is_refused(
    tmp_path: Path, specification: Specification, capacities: str, said: str
) -> None:
    for file in specification.path.parent.glob("*.tla"):
        (tmp_path / file.name).write_text(file.read_text().replace('{"MaxLog", "MaxEpoch"}', capacities))
    (tmp_path / "Sender.cfg").write_text(CFG)
    with pytest.raises(Unusable, match=said):
        load(tmp_path / "Sender.tla", tmp_path / "Sender.cfg")


def linted(path: Path, schema: Schema | None) -> tuple[str, str]:
    """Lint's reason for a trace, and its detail; "unusable" where it refuses the file, "" for a clean one."""
    found = lint([path], str(path), schema)
    if found.unusable:
        return "unusable", str(found.unusable)
    ((reason, (count, first)),) = found.undecided.items() or (("", (1, None)),)
    assert count == 1
    return reason, first.detail if first is not None else ""


@pytest.mark.parametrize("form", ["ndjson", "parquet"])
@pytest.mark.parametrize(
    ("steps", "reason", "detail"),
    [(steps, CAPACITY, detail) for name, steps, detail in UNDECIDED if name != "a history"]
    + [(steps, LIMIT, detail) for _, steps, _, detail in WRONG],
    ids=[one[0] for one in (*UNDECIDED, *WRONG) if one[0] != "a history"],
)
def test_lint_names_the_value_and_the_limit(
    specification: Specification, steps: list[Step], reason: str, detail: str, form: str
) -> None:
    """Of a header alone nobody knows which limit it is, nor whether a value of a parameter is of the right kind."""
    schema = schema_of(specification)
    path = file_of(specification, steps)
    if form == "parquet":
        made = path.with_suffix(".parquet")
        made.unlink(missing_ok=True)
        convert([path], made, schema)
        path = made
    said, which = linted(path, schema)
    assert said == reason
    _matches(detail, which)
    alone, which = linted(path, None)
    if form == "ndjson" and "the parameter" in f"the {detail}":
        assert alone == "unusable"
    else:
        assert alone == BOUNDS
        assert "TypeOK" not in which
        assert "capacity" not in which


LENGTHS = st.lists(st.integers(-1, 11), max_size=4)
STEPS = st.one_of(
    st.integers(-3, 4).map(lower),
    st.builds(send, LENGTHS, LENGTHS, st.sampled_from(["a", "b"])),
    st.builds(
        reply,
        st.integers(-1, 6),
        st.sampled_from(["REFUSED", "NONE"]),
        st.builds(said, st.integers(-1, 6), st.integers(0, 3), st.sampled_from(["OK", "GONE"])),
        st.lists(st.integers(-1, 6), max_size=3, unique=True),
    ),
)


@pytest.mark.deep
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, min_size=1, max_size=3))
def test_lint_calls_nothing_clean_that_is_beyond_a_limit(specification: Specification, steps: list[Step]) -> None:
    result = audited(specification, steps)
    beyond = [failure.detail for failure in result.failures if failure.detail]
    beyond += [group.detail for group in result.undecided if "the history variable" not in group.detail]
    path = file_of(specification, steps)
    reason, _ = linted(path, schema_of(specification))
    alone, _ = linted(path, None)
    assert not beyond or (reason and alone), beyond
    assert not reason or result.exit_code in (1, 3)


def _matches(pattern: str, text: str) -> None:
    assert re.search(pattern, text), text


def test_other_capacities_are_judged_by_other_checks(specification: Specification) -> None:
    """Of the same text and constants: neither a kept program nor a kept judge is taken for another's."""
    too_long, epochs = UNDECIDED[0][1], frozenset({"MaxEpoch"})
    for capacities, code in ((specification.capacities, 3), (epochs, 1), (specification.capacities, 3)):
        assert audited(dataclasses.replace(specification, capacities=capacities), too_long).exit_code == code


@pytest.mark.deep
def test_a_quiescence_of_the_same_name_is_judged_by_its_text(tmp_path: Path) -> None:
    """Of a text that changes while a process lives, as in an editor or a notebook."""
    (tmp_path / "Sender.cfg").write_text(CFG)
    bounded = Path(__file__).parent.parent / "spec" / "lib" / "Bounded.tla"
    (tmp_path / "Bounded.tla").write_text(bounded.read_text())
    for least, code in ((0, 1), (-1, 0), (0, 1)):
        (tmp_path / "Sender.tla").write_text(TEXT.replace("====", f"QuiescentLow == low = {least}\n===="))
        changed = load(tmp_path / "Sender.tla", tmp_path / "Sender.cfg")
        assert [one.name for one in changed.quiescence] == ["QuiescentLow"]
        assert audited(changed, [lower(-1)], {"quiescent": True, "capacity": False}).exit_code == code
