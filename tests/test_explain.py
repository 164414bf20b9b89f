"""Explanations of two-phase commit's traces: their text (snapshots), and that text, page and document say the same.

TIDEMARK_SNAPSHOTS=write rewrites tests/snapshots/; read the diff before it is committed.
"""

from __future__ import annotations

import html as html_text
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import trace_lines
from tidemark_conformance import cli
from tidemark_conformance.explain import load, search
from tidemark_conformance.explain.record import Explanation, Reason, Shown
from tidemark_conformance.tla import spec as specifications
from tidemark_conformance.trace.schema import schema_of

SNAPSHOTS = Path(__file__).parent / "snapshots"
START = {
    "rmState": {"r1": "working", "r2": "working", "r3": "working"},
    "tmState": "init",
    "tmPrepared": [],
    "messages": [],
}
PREPARED = [{"type": "prepared", "rm": f"r{n}"} for n in (1, 2, 3)]


def decision(outcome: str) -> dict[str, str]:
    return {"type": "decision", "outcome": outcome}


def step(node: str, action: str, delta: dict[str, Any] | None = None, **params: str) -> dict[str, Any]:
    """One step of a trace; its number and its trace are filled in later."""
    return {"node": node, "action": action, "params": params, "delta": delta or {}}


def prepares(n: int, sent: int) -> dict[str, Any]:
    """The n-th resource manager prepares, as the `sent`-th message."""
    return step(f"r{n}", "RMPrepare", {"rmState": {f"r{n}": "prepared"}, "messages": PREPARED[:sent]}, r=f"r{n}")


COMMITS_EARLY = [
    prepares(1, 1),
    step("tm", "TMReceivePrepared", {"tmPrepared": ["r1"]}, r="r1"),
    {**step("r1", "RMAbort", r="r1"), "blocked": True},
    step(
        "tm",
        "TMDecide",
        {"tmState": "committed", "messages": [PREPARED[0], decision("committed")]},
        outcome="committed",
    ),
    step("r2", "RMAbort", {"rmState": {"r2": "aborted"}}, r="r2"),
    step("r1", "RMReceiveDecision", {"rmState": {"r1": "committed"}}, r="r1", outcome="committed"),
]

SCENARIOS: dict[str, list[dict[str, Any]]] = {
    "commits_early": COMMITS_EARLY,
    "wrong_effect": [step("r1", "RMPrepare", {"rmState": {"r2": "prepared"}, "messages": PREPARED[:1]}, r="r1")],
    "forgets_to_send": [step("r1", "RMPrepare", {"rmState": {"r1": "prepared"}}, r="r1")],
    "wrong_name": [
        step("tm", "TMDecide", {"tmState": "aborted", "messages": [decision("aborted")]}, outcome="aborted"),
        step("r3", "RMReceiveDecision", {"rmState": {"r3": "aborted"}}, r="r3", outcome="committed"),
    ],
    "changes_another": [step("tm", "TMRestart", {"messages": PREPARED[:2]})],
    "silent_change": [prepares(1, 1), {"node": "r2", "delta": {"rmState": {"r2": "aborted"}}}],
    "refused_by_nobody": [prepares(1, 1), {**step("r2", "RMPrepare", r="r2"), "blocked": True}],
    "breaks_its_word": [
        step("r1", "RMAbort", {"rmState": {"r1": "aborted"}}, r="r1"),
        step("r1", "RMPrepare", {"rmState": {"r1": "committed"}, "messages": PREPARED[:1]}, r="r1"),
    ],
    "never_done": [
        step("tm", "TMDecide", {"tmState": "aborted", "messages": [decision("aborted")]}, outcome="aborted"),
        step("r1", "RMReceiveDecision", {"rmState": {"r1": "aborted"}}, r="r1", outcome="aborted"),
    ],
}


def written(folder: Path, header: Path, steps: list[dict[str, Any]], name: str = "t", **end: bool) -> Path:
    """A file with one trace of these steps."""
    events: list[dict[str, Any]] = [{"trace": name, "step": 0, "state": START}]
    events += [{"trace": name, "step": number, **event} for number, event in enumerate(steps, 1)]
    events.append({"trace": name, "end": {"steps": len(steps), "quiescent": False, "capacity": False, **end}})
    return trace_lines.write(folder / "trace.ndjson", json.loads(header.read_text()), [trace_lines.signed(events)])


def explain(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and standard output of `tidemark explain`."""
    code = cli.main(["explain", *arguments])
    return code, capsys.readouterr().out


def compare(name: str, text: str) -> None:
    """Compare with a snapshot, or write it."""
    file = SNAPSHOTS / f"explain_{name}.txt"
    if os.environ.get("TIDEMARK_SNAPSHOTS") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; TIDEMARK_SNAPSHOTS=write rewrites it"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File names in messages are short, and lines are as wide as where the output is no terminal."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_failing_trace_is_explained(
    name: str, two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, two_phase.header, SCENARIOS[name], quiescent=name == "never_done")
    code, text = explain(capsys, "trace.ndjson")
    assert code == 1
    said, drawn = re.split(r"\n(?:what happened|the steps that it depends on)\n", text)
    assert max(map(len, said.splitlines())) <= 100
    assert "…" not in drawn, "in a pipe a diagram is whole"
    assert not [line for line in text.splitlines() if line != line.rstrip()]
    compare(name, text)


def test_the_same_trace_without_the_rule_shows_the_harm(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, two_phase.header, COMMITS_EARLY)
    code, text = explain(capsys, "trace.ndjson", "--without", "CommitOnlyIfAllPrepared")
    assert code == 1
    compare("commits_early_without_the_rule", text)


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    _, text = explain(capsys, *arguments, "--json", "-")
    return json.loads(text)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, part in value.items() for text in strings(part)]
    if isinstance(value, list):
        return [text for part in value for text in strings(part)]
    return [value] if isinstance(value, str) else []


def test_text_page_and_document_say_the_same(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, two_phase.header, COMMITS_EARLY)
    _, text = explain(capsys, "trace.ndjson", "-o", "page.html")
    page = html_text.unescape(re.sub(r"<[^>]+>", "", (tmp_path / "page.html").read_text()))
    said = document(capsys, "trace.ndjson")
    assert said["schema"] == "tidemark.explain/1"
    assert not said["ok"]
    flat = re.sub(r"\s+", " ", text)
    parts = {
        key: said[key] for key in ("findings", "state", "enabled", "allowed", "allowed_without", "folded", "trace")
    }
    for finding in parts["findings"]:
        del finding["kind"], finding["place"]  # told in other words
    for wanted in strings(parts):
        for outcome in ("false", "true"):
            wanted = wanted.upper() if wanted == outcome else wanted
        assert wanted in page, wanted
        assert wanted in flat, wanted
    assert page.count("TMDecide") >= 3
    arrows = (tmp_path / "page.html").read_text().count('class="arrow"')
    assert arrows == len(said["diagram"]["arrows"]) == flat.count("←") - 1


def test_arrows_are_what_one_node_learns_from_another(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, two_phase.header, COMMITS_EARLY)
    arrows = document(capsys, "trace.ndjson", "--all")["diagram"]["arrows"]
    assert [(arrow["node"], arrow["source"], arrow["target"]) for arrow in arrows] == [("r1", 1, 2), ("tm", 4, 6)]
    assert arrows[0]["units"] == ['messages \\ni [rm |-> r1, type |-> "prepared"]']


def test_a_step_that_only_replaces_a_value_learns_nothing(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Node r2 empties what tm has read, and never looks at it; tm looks then."""
    emptied = step("r2", "TMRestart", {"tmPrepared": []})
    written(tmp_path, two_phase.header, [*COMMITS_EARLY[:2], emptied, *COMMITS_EARLY[3:]])
    arrows = document(capsys, "trace.ndjson", "--all")["diagram"]["arrows"]
    assert [(arrow["node"], arrow["source"], arrow["target"]) for arrow in arrows] == [
        ("r1", 1, 2),
        ("r2", 3, 4),
        ("tm", 4, 6),
    ]


def test_a_record_without_a_node_has_a_column_where_it_is_drawn(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Records behind the failure are not drawn, and make no column."""
    nameless = {"action": "TMRestart", "params": {}, "delta": {"messages": PREPARED[:2]}}
    written(tmp_path, two_phase.header, [*COMMITS_EARLY, nameless])
    assert document(capsys, "trace.ndjson")["diagram"]["columns"] == ["tm", "r1", "r2"]
    assert document(capsys, "trace.ndjson", "--all")["diagram"]["columns"] == ["", "tm", "r1", "r2"]


def test_the_first_failing_trace_is_chosen(two_phase: Any, capsys: pytest.CaptureFixture[str]) -> None:
    said = document(capsys, str(two_phase.hasty))
    named = document(capsys, str(two_phase.hasty), "--trace", said["trace"])
    assert said == named
    assert said["verdict"] == "fail"
    assert said["findings"][0]["kind"] == "not-a-step"
    assert said["allowed_without"] == [["CommitOnlyIfAllPrepared"]]


def test_among_many_traces_the_kernels_search(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good, hasty = (trace_lines.traces_of(path) for path in (two_phase.good, two_phase.hasty))
    named = [[{**event, "trace": f"h-{event['trace']}"} for event in trace] for trace in hasty]
    trace_lines.write(
        tmp_path / "many.ndjson", trace_lines.header_of(two_phase.good), [*good, *map(trace_lines.signed, named)]
    )
    alone = document(capsys, "many.ndjson")
    monkeypatch.setattr(search, "FEW", 2)
    monkeypatch.setattr(search, "BATCH", 7)
    asked = []
    monkeypatch.setattr(search, "decoded", lambda trace, schema: asked.append(trace.id) or load.decoded(trace, schema))
    assert document(capsys, "many.ndjson") == alone
    assert asked == [alone["trace"]]


@pytest.mark.deep
def test_audit_and_explain_choose_a_trace_in_which_a_property_falls(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not an earlier one with a wrong step alone, and of several the first by number, wherever they stand; with kernels
    and without."""
    hasty = {trace[0]["trace"]: trace for trace in trace_lines.traces_of(two_phase.hasty)}
    kinds: dict[str, set[str]] = {}
    for name in hasty:
        found = document(capsys, str(two_phase.hasty), "--trace", name, "--no-shrink")
        kinds[name] = {finding["kind"] for finding in found["findings"]}
    harmless = next(name for name, some in kinds.items() if some == {"not-a-step"})
    harmful = [name for name, some in kinds.items() if "invariant" in some][:2]
    named = dict(zip(["t-2", "t-10", "t-9"], [harmless, *harmful], strict=True))
    traces = [trace_lines.signed([{**event, "trace": new} for event in hasty[old]]) for new, old in named.items()]
    trace_lines.write(tmp_path / "few.ndjson", trace_lines.header_of(two_phase.hasty), traces)
    for few in (search.FEW, 1):
        monkeypatch.setattr(search, "FEW", few)
        assert document(capsys, "few.ndjson")["trace"] == "t-9"
    first = min(named, key=lambda new: search.telling(search.shows(kinds[named[new]]), new))
    assert first == "t-9", "what the audit recommends by"


def test_a_passing_trace_says_so(two_phase: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = explain(capsys, str(two_phase.good), "--trace", "tx-3")
    assert code == 0
    assert "PASS" in text
    assert "nothing to explain" in text
    assert explain(capsys, str(two_phase.good))[0] == 0


def test_a_trace_from_a_snapshot(two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It need not start in Init; a step that is none is found all the same, and history is not asked for."""
    state = {"rmState": {"r1": "committed", "r2": "prepared", "r3": "prepared"}, "tmState": "committed"}
    state |= {"tmPrepared": ["r1", "r2", "r3"], "messages": [*PREPARED, decision("committed")]}
    learns = step("r2", "RMReceiveDecision", {"rmState": {"r2": "committed"}}, r="r2", outcome="committed")
    flips = step("r1", "RMAbort", {"rmState": {"r1": "aborted"}}, r="r1")
    for steps, expected in (([learns], 0), ([learns, flips], 1)):
        path = written(tmp_path, two_phase.header, steps)
        (trace,) = trace_lines.traces_of(path)
        trace[0]["state"] = state
        trace_lines.write(path, trace_lines.header_of(path), [trace_lines.signed(trace)])
        assert explain(capsys, "trace.ndjson")[0] == 3
        code, text = explain(capsys, "trace.ndjson", "--from-snapshot")
        assert code == expected
        assert "DecidedOnce" not in text
    assert "FAIL at step 2" in text


def test_what_failed_before_a_capacity_counts(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in the audit: FAIL if something failed before the emitter gave up, else UNDECIDED; no quiescence then."""
    written(tmp_path, two_phase.header, COMMITS_EARLY, capacity=True)
    code, text = explain(capsys, "trace.ndjson")
    assert (code, "FAIL at step 4" in text) == (1, True)
    written(tmp_path, two_phase.header, SCENARIOS["never_done"], capacity=True, quiescent=True)
    assert explain(capsys, "trace.ndjson")[0] == 3


def test_a_trace_that_does_not_start_in_init_is_undecided(
    two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, two_phase.header, [step("tm", "TMRestart")])
    (trace,) = trace_lines.traces_of(path)
    trace[0]["state"] = {**START, "tmPrepared": ["r2"]}
    trace_lines.write(path, trace_lines.header_of(path), [trace_lines.signed(trace)])
    code, text = explain(capsys, "trace.ndjson")
    assert code == 3
    compare("not_initial", text)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("cut", "no end record"),
        ("flipped", "bad checksum (the lines have the sum '{sum}', the end record says '00000000')"),
        ("unsummed", "bad checksum (the end record has no crc32c)"),
        ("missing", "missing steps"),
        ("capacity", "a value exceeds a capacity of the layout."),
    ],
)
def test_damaged_traces_are_undecided(
    damage: str, reason: str, two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = SCENARIOS["never_done"] if damage == "capacity" else COMMITS_EARLY
    path = written(tmp_path, two_phase.header, steps, capacity=damage == "capacity")
    (trace,) = trace_lines.traces_of(path)
    if damage == "cut":
        trace = trace[:-1]
    elif damage == "flipped":
        reason = reason.replace("{sum}", trace[-1]["crc32c"])
        trace[-1]["crc32c"] = "00000000"
    elif damage == "unsummed":
        del trace[-1]["crc32c"]
    elif damage == "missing":
        trace = trace_lines.signed(trace[:2] + trace[3:])
    trace_lines.write(path, trace_lines.header_of(path), [trace])
    code, text = explain(capsys, "trace.ndjson")
    assert code == 3
    assert "UNDECIDED" in text
    assert reason in " ".join(text.split())


def test_the_value_that_exceeds_a_capacity_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], two_phase: Any
) -> None:
    (tmp_path / "Count.tla").write_text(
        "---- MODULE Count ----\nEXTENDS Integers\nCONSTANT Most\nVARIABLE token\n"
        "TypeOK == token \\in 0..Most\nInit == token = 0\n"
        "Take == token' = token + 1\nNext == Take\n====\n"
    )
    (tmp_path / "Count.cfg").write_text("CONSTANT Most = 5\nINIT Init\nNEXT Next\nINVARIANT TypeOK\n")
    schema = schema_of(specifications.load(Path("Count.tla"), Path("Count.cfg")))
    later = [{"trace": "t", "step": at, "action": "Take", "delta": {"token": value}} for at, value in ((1, 1), (2, 9))]
    events = [{"trace": "t", "step": 0, "state": {"token": 0}}, *later, {"trace": "t", "end": {"steps": 2}}]
    trace_lines.write(tmp_path / "trace.ndjson", schema.header.to_json(), [trace_lines.signed(events)])
    code, text = explain(capsys, "trace.ndjson", "--spec", "Count.tla")
    assert code == 3
    assert "(step 2: token is 9; the capacity Most allows 5 (Count.tla:5))" in " ".join(text.split())


def test_where_nothing_fails_that_comes_first(two_phase: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = explain(capsys, str(two_phase.good))
    assert code == 0
    assert text.startswith("none of the 30 traces fails; this is the first:\ntrace tx-0 (")
    assert "none of the" not in explain(capsys, str(two_phase.good), "--trace", "tx-3")[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.ndjson"], "does not exist"),
        (["trace.ndjson", "--trace", "other"], "holds no trace 'other'"),
        (["trace.ndjson", "--without", "NoRule"], "NoRule is no rule of TwoPhase"),
        (["trace.ndjson", "-o", "no/such/folder/page.html"], "cannot be written"),
        (["."], "mixes forms"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: list[str], said: str, two_phase: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, two_phase.header, COMMITS_EARLY)
    (tmp_path / "other.parquet").touch()
    assert cli.main(["explain", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_record_is_complete_without_anything_to_say() -> None:
    bare = Explanation("S", "t", "f", "pass", "", 0, ())
    assert bare.document()["ok"]
    assert Reason("x", "true", values=(Shown("a", "1"),)).because == ()
