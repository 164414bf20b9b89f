"""The manifest, cached verdicts, coverage, and `tidemark check`."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ledger import FLAWED, LEDGER, SOUND
from tidemark_conformance import cache
from tidemark_conformance.cli import main
from tidemark_conformance.commands import check as command
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg
from tidemark_conformance.tlc import manifest, probes, runner, verify

HOLDS = {
    "name": "Holds",
    "module": "Ledger.tla",
    "cfg": "Holds.cfg",
    "kind": "safety",
    "expected": "holds",
    "distinct": 210,
    "depth": 15,
    "scope": "one order",
    "covers": "ledger",
}
FALLS = {
    "name": "Falls",
    "module": "Ledger.tla",
    "cfg": "Falls.cfg",
    "kind": "zoo",
    "expected": "violates",
    "property": "ThroughNobody",
    "depth": 3,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the models and an empty cache; `write` puts a manifest there."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "Ledger.tla").write_text(LEDGER.read_text())
    holds = SOUND.read_text()
    (tmp_path / "Holds.cfg").write_text(holds.replace("NothingFromNothing", ""))
    falls = FLAWED.read_text()
    (tmp_path / "Falls.cfg").write_text(falls.replace("NothingFromNothing", ""))
    return tmp_path


def write(folder: Path, *models: dict[str, Any], **more: Any) -> Path:
    target = folder / "manifest.json"
    target.write_text(json.dumps({"schema": manifest.SCHEMA, "models": list(models), **more}))
    return target


def check(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    target = folder / "check.json"
    code = main(["check", "--manifest", str(folder / "manifest.json"), "--json", str(target), *arguments])
    return code, json.loads(target.read_text())


@pytest.mark.deep
def test_verdicts_coverage_cache_and_what_makes_it_stale(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, HOLDS, FALLS)
    code, document = check(folder)
    assert (code, document["ok"], document["schema"]) == (0, True, "tidemark.check/1")
    holds, falls = document["models"]
    assert (holds["verdict"], holds["distinct"], holds["expected_distinct"], holds["depth"]) == ("holds", 210, 210, 15)
    assert (holds["property"], holds["scope"], holds["cached"]) == (None, "one order", False)
    assert (falls["verdict"], falls["property"], falls["expected_distinct"]) == ("violates", "ThroughNobody", None)
    assert document["unreached"] == {"ledger": []}
    out = capsys.readouterr().out
    assert "holds (one order)" in out
    assert "ThroughNobody falls" in out

    code, document = check(folder)
    assert [model["cached"] for model in document["models"]] == [True, True]
    assert (code, [model["depth"] for model in document["models"]]) == (0, [15, 3])
    assert "0 run, 2 cached" in capsys.readouterr().out

    # The manifest is no part of the key: an expectation that changed is compared with the cached verdict.
    write(folder, {**HOLDS, "distinct": 209}, FALLS)
    code, document = check(folder)
    assert (code, document["models"][0]["cached"]) == (1, True)
    assert document["models"][0]["problems"] == ["210 distinct states, expected 209"]
    write(folder, {**HOLDS, "depth": 14}, {**FALLS, "depth": 2})
    code, document = check(folder)
    assert (code, [model["cached"] for model in document["models"]]) == (1, [True, True])
    problems = [model["problems"] for model in document["models"]]
    assert problems == [["depth 15, expected 14"], ["depth 3, expected 2"]]

    # A comment in the module is another module.
    write(folder, HOLDS, FALLS)
    text = (folder / "Ledger.tla").read_text()
    (folder / "Ledger.tla").write_text(text.replace("\\* Who has", "\\* WHO has").replace("the lock\n", "the lock!\n"))
    code, document = check(folder, "Falls")
    assert (code, [model["cached"] for model in document["models"]]) == (0, [False])
    code, document = check(folder, "Falls", "--no-cache")
    assert document["models"][0]["cached"] is False


@pytest.mark.parametrize("verdict", ["stopped", "error"])
def test_what_was_not_decided_is_asked_again(verdict: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = manifest.load(write(folder, HOLDS))
    runs: list[Path] = []

    def run(module: Path, *_: Any, **__: Any) -> runner.TlcResult:
        runs.append(module)
        return runner.TlcResult(verdict, reason="a test")

    monkeypatch.setattr(runner, "run", run)
    for _ in range(2):
        (outcome,) = verify.verify(found.models)
        assert (outcome.ok, outcome.cached, outcome.result.verdict) == (False, False, verdict)
    assert len(runs) == 2
    assert not [*(folder / "cache" / "tlc").glob("*")]


def test_a_cached_counterexample_is_the_counterexample(folder: Path) -> None:
    found = manifest.load(write(folder, FALLS))
    fresh, known = (verify.verify(found.models)[0] for _ in range(2))
    assert (fresh.cached, known.cached) == (False, True)
    assert fresh.result.trace == known.result.trace
    assert [step.action for step in known.result.trace] == [None, "Lock", "Lock"]


def test_a_dead_action_and_a_missing_side_fail_the_check(folder: Path) -> None:
    text = (folder / "Ledger.tla").read_text()
    text = text.replace("    /\\ holder = c /\\ c # d\n", "    /\\ holder = c /\\ c # c\n")
    (folder / "Ledger.tla").write_text(text)
    write(folder, {**HOLDS, "distinct": 36, "depth": 11})
    code, document = check(folder)
    assert (code, document["ok"]) == (1, False)
    assert all(model["ok"] for model in document["models"]), document
    assert document["unreached"]["ledger"] == [
        "action AskMove is never reached",
        "rule RefuseEmpty false is never reached",
        "rule RefuseEmpty true is never reached",
    ]
    excuses = {"actions": {"AskMove": "a test"}, "rules": {"RefuseEmpty": {"true": "a test", "false": "a test"}}}
    write(folder, {**HOLDS, "distinct": 36, "depth": 11}, unreached={"ledger": excuses})
    assert check(folder)[0] == 0
    excuses["actions"]["Lock"] = "not so"
    write(folder, {**HOLDS, "distinct": 36, "depth": 11}, unreached={"ledger": excuses})
    code, document = check(folder)
    assert (code, document["unreached"]["ledger"]) == (1, ["action Lock is excused in the manifest but reached"])


def test_probes_of_actions_say_what_tlc_counts(folder: Path) -> None:
    """Behind a SPECIFICATION TLC counts, behind a NEXT probes do, and a dead action is seen by either."""
    text = (folder / "Ledger.tla").read_text()
    (folder / "Ledger.tla").write_text(text.replace("    /\\ holder = c /\\ c # d\n", "    /\\ holder = c /\\ c # c\n"))
    holds = (folder / "Holds.cfg").read_text()
    (folder / "Probed.cfg").write_text(holds.replace("SPECIFICATION Spec", "INIT Init\nNEXT Next"))
    entry = {**HOLDS, "distinct": 36, "depth": 11}
    found = manifest.load(write(folder, entry, {**entry, "name": "Probed", "cfg": "Probed.cfg"}))
    assert [verify.prepare(model).options.coverage for model in found.models] == [True, False]
    counted, probed = verify.verify(found.models)
    assert (counted.ok, probed.ok, counted.result.generated) == (True, True, probed.result.generated)
    assert counted.taken == probed.taken
    assert {action for action, was in probed.taken.items() if not was} == {"AskMove"}
    assert counted.sides == probed.sides
    (again,) = verify.verify(found.models[1:])
    assert (again.cached, again.taken, again.sides) == (True, probed.taken, probed.sides)


def test_an_action_constraint_leaves_actions_to_tlc(folder: Path) -> None:
    cfg = "INIT Init\nNEXT Next\nCONSTANTS Without = {}\n"
    assert probes.probe(folder / "Ledger.tla", cfg).actions  # type: ignore[union-attr]
    assert not probes.probe(folder / "Ledger.tla", cfg + "ACTION_CONSTRAINT Hurry\n").actions  # type: ignore[union-attr]


def test_another_verdict_property_or_an_undecided_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {**FALLS, "property": "TypeOK"})
    code, document = check(folder)
    assert (code, document["models"][0]["problems"]) == (1, ["ThroughNobody fell, expected TypeOK"])
    write(folder, {**FALLS, "kind": "safety", "expected": "holds", "property": None, "distinct": 1, "depth": None})
    code, document = check(folder)
    assert document["models"][0]["problems"] == ["violates (action-property ThroughNobody), expected holds"]
    assert code == 1
    write(folder, {**HOLDS, "budget_s": 0.2})
    code, document = check(folder)
    assert (code, document["ok"]) == (3, False)
    assert "budget" in document["models"][0]["problems"][0]
    assert "not decided" in capsys.readouterr().out


def test_the_temporal_property_that_falls_is_named(folder: Path) -> None:
    (folder / "Turn.tla").write_text(
        "---- MODULE Turn ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\nNext == x' = 1 - x\n"
        "Spec == Init /\\ [][Next]_x /\\ WF_x(Next)\nOften == []<>(x = 1)\nRests == <>[](x = 1)\n====\n"
    )
    (folder / "Turn.cfg").write_text("SPECIFICATION Spec\nPROPERTIES Often Rests\n")
    entry = {"name": "Turn", "module": "Turn.tla", "cfg": "Turn.cfg", "kind": "liveness", "scope": "liveness"}
    write(folder, {**entry, "expected": "violates", "property": "Rests"})
    code, document = check(folder)
    assert (code, document["models"][0]["property"]) == (0, "Rests")


def test_only_a_whole_group_is_judged(folder: Path) -> None:
    result = runner.TlcResult("holds", coverage={"A": (1, 1), "B": (0, 0)})
    found = manifest.load(write(folder, HOLDS, {**HOLDS, "name": "Other"}))
    one = verify.Outcome(found.models[0], result, False, (), {"A": True, "B": False}, {"R": frozenset({True})})
    other = verify.Outcome(found.models[1], result, False, (), {"A": True, "B": True}, {"R": frozenset({False})})
    assert verify.uncovered(found, [one]) == {}
    assert verify.uncovered(found, [one, other]) == {"ledger": []}
    other_less = verify.Outcome(found.models[1], result, False, (), {}, {})
    assert verify.uncovered(found, [one, other_less])["ledger"] == [
        "action B is never reached",
        "rule R false is never reached",
    ]


def test_successors_that_an_action_constraint_forbids_do_not_count() -> None:
    coverage = {"A": (3, 9), "B": (0, 5), "C": (0, 0)}
    assert probes.taken(coverage, "INIT Init") == {"A": True, "B": True, "C": False}
    assert probes.taken(coverage, "INIT Init ACTION_CONSTRAINT Hurry") == {"A": True, "B": False, "C": False}


def test_rules_are_found_with_their_operators(tmp_path: Path) -> None:
    assert probes.rules_of(LEDGER) == {"LockIsFree": ("Ledger", 0), "RefuseEmpty": ("Ledger", 1)}
    (tmp_path / "M.tla").write_text('---- MODULE M ----\nA == Has("Lost") => TRUE \\* Has("Comment")\n====\n')
    with pytest.raises(Unusable, match="the rule Lost but no operator Lost"):
        probes.rules_of(tmp_path / "M.tla")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "other"}, "kind 'other'"),
        ({"expected": "maybe"}, "expected 'maybe'"),
        ({"tier": "later"}, "tier 'later'"),
        ({"distinct": None}, "no 'distinct'"),
        ({"distinct": True}, "'distinct' = True"),
        ({"property": "TypeOK"}, "a 'property' though it holds"),
        ({"kind": "zoo"}, "must fall"),
        ({"kind": "liveness", "workers": 2}, "unsoundly"),
        ({"module": "No.tla"}, r"No\.tla, which does not exist"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"workers": 0}, "no worker"),
        ({"expected": "violates", "distinct": None, "property": "TypeOK"}, "'covers' though it falls"),
        ({"expected": "violates", "distinct": None, "covers": None}, "or none though it falls"),
        (
            {"expected": "violates", "distinct": None, "property": "TypeOK", "covers": None, "workers": 2},
            "several workers and an expected violation",
        ),
    ],
)
def test_a_wrong_manifest_is_refused(folder: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(Unusable, match=message):
        manifest.load(write(folder, {**HOLDS, **change}))


def test_more_wrong_manifests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Unusable, match="twice"):
        manifest.load(write(folder, HOLDS, HOLDS))
    with pytest.raises(Unusable, match="has no 'kind'"):
        manifest.load(write(folder, {key: value for key, value in HOLDS.items() if key != "kind"}))
    with pytest.raises(Unusable, match="without a reason"):
        manifest.load(write(folder, HOLDS, unreached={"ledger": {"actions": {"Lock": ""}}}))
    with pytest.raises(Unusable, match="excuses side 'maybe' of rule LockIsFree"):
        manifest.load(write(folder, HOLDS, unreached={"ledger": {"rules": {"LockIsFree": {"maybe": "a test"}}}}))
    write(folder, HOLDS)
    assert main(["check", "Nobody", "--manifest", str(folder / "manifest.json")]) == 2
    assert "has a model Nobody: choose from Holds" in capsys.readouterr().err
    assert main(["check", "--manifest", str(folder / "no.json")]) == 2
    (folder / "manifest.json").write_text("{")
    assert main(["check", "--manifest", str(folder / "manifest.json")]) == 2
    assert "is not JSON" in capsys.readouterr().err


def test_the_manifest_of_the_tree_is_sound() -> None:
    found = manifest.load()
    assert {"TwoPhase", "TwoPhaseFlawed"} <= {model.name for model in found.models}
    for model in found.models:
        if model.covers:
            assert probes.rules_of(model.module)


def test_a_models_limits_reach_tlc(folder: Path) -> None:
    entry = {**HOLDS, "covers": None, "heap_mib": 77, "workers": 2, "deadlock": True, "budget_s": 5}
    (model,) = manifest.load(write(folder, entry)).models
    options = verify.prepare(model).options
    assert (options.heap_mib, options.workers, options.deadlock, options.budget_s) == (77, 2, True, 5.0)


def test_what_a_verdict_depends_on_is_in_its_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way in which a run may be another one; a mere bound on it is none."""
    (model,) = manifest.load(write(folder, {**HOLDS, "covers": None})).models
    other = folder / "Other.cfg"
    other.write_text(model.cfg.read_text().replace("Max = 1", "Max = 0"))
    keys = [verify.prepare(model).key]
    for change in ({"workers": 2}, {"deadlock": True}, {"covers": "ledger"}, {"cfg": other}):
        keys.append(verify.prepare(replace(model, **change)).key)  # type: ignore[arg-type]
    for change in ({"budget_s": 1.0}, {"heap_mib": 99}, {"name": "Other"}):
        assert verify.prepare(replace(model, **change)).key == keys[0]  # type: ignore[arg-type]
    monkeypatch.setattr(verify.toolchain, "jar_digest", lambda _: "another jar")
    keys.append(verify.prepare(model).key)
    assert len(set(keys)) == len(keys)


def test_who_reads_tlcs_output_is_part_of_every_key() -> None:
    ours, _ = cache.closure([verify.__name__], {"tidemark_conformance": Path(verify.__file__).parent.parent})
    readers = {"runner", "messages", "values", "probes", "definitions", "verify"}
    assert {f"tidemark_conformance.tlc.{name}" for name in readers} <= set(ours)
    assert "tidemark_conformance.java.modules" in ours


def test_which_models_are_run(folder: Path) -> None:
    deep = {**HOLDS, "name": "Deep", "tier": "deep"}
    found = manifest.load(write(folder, deep, HOLDS))
    assert [model.name for model in found.select()] == ["Holds"]
    assert [model.name for model in found.select(deep=True)] == ["Deep", "Holds"]
    assert [model.name for model in found.select(["Deep", "Deep"])] == ["Deep"]
    assert [model.budget_s for model in found.models] == [7200.0, 600.0]
    assert manifest.load(write(folder, {**deep, "budget_s": 9})).models[0].budget_s == 9.0


class Running:
    """Stands for TLC: how many workers run at once, at most."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> None:
        self.now = self.most = self.done = self.stopped = 0
        self.lock = threading.Lock()
        self.fails = fails
        monkeypatch.setattr(verify, "_run", self.run)
        monkeypatch.setattr(verify.runner, "stop_all", self.stop)

    def run(self, job: verify.Job, *_: Any) -> verify.Outcome:
        with self.lock:
            self.now += job.options.workers
            self.most = max(self.most, self.now)
        time.sleep(0.05)
        with self.lock:
            self.now -= job.options.workers
            self.done += 1
        if job.model.name == self.fails:
            raise Unusable("no such model")
        return verify.Outcome(job.model, runner.TlcResult("holds"), False, ())

    def stop(self) -> None:
        self.stopped += 1


def several(folder: Path, *workers: int) -> list[manifest.Model]:
    entries = [{**HOLDS, "covers": None, "name": f"M{at}", "workers": one} for at, one in enumerate(workers)]
    return list(manifest.load(write(folder, *entries)).models)


@pytest.mark.parametrize(("workers", "most"), [((1, 1, 1, 1), 2), ((2, 1, 2, 1), 2), ((2, 2), 2), ((5, 1), 5)])
def test_as_many_run_as_their_workers_fit(
    workers: tuple[int, ...], most: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On two cores; one that has more workers than there are cores has them all to itself."""
    running, models = Running(monkeypatch), several(folder, *workers)
    found = verify.verify(models, cores=2, use_cache=False)
    assert [outcome.model.name for outcome in found] == [model.name for model in models]
    assert (running.most, running.done, running.stopped) == (most, len(workers), 0)


def test_the_first_that_cannot_run_ends_the_others(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running, models = Running(monkeypatch, fails="M0"), several(folder, 1, 1, 1, 1)
    with pytest.raises(Unusable, match="no such model"):
        verify.verify(models, cores=1, use_cache=False)
    assert (running.done, running.stopped) == (1, 1)


@pytest.mark.parametrize(("falls", "named"), [("Often", "Often"), ("Rests", "Rests"), ("", None)])
def test_a_temporal_property_is_asked_alone_of_the_same_behaviours(
    falls: str, named: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model,) = manifest.load(write(folder, {**HOLDS, "covers": None})).models
    behaviour = "SPECIFICATION Spec\nCONSTANTS Max = 1 Client <- Two\nCONSTRAINT Small\nACTION_CONSTRAINT Hurry\n"
    job = replace(verify.prepare(model), cfg=behaviour + "INVARIANT TypeOK\nPROPERTIES Often Rests\n")
    asked: list[tuple[str, ...]] = []

    def run(_module: Path, text: str, *_: Any, **__: Any) -> runner.TlcResult:
        parsed = cfg.parse(text)
        assert (parsed.specification, parsed.constants, parsed.substitutions) == ("Spec", {"Max": 1}, {"Client": "Two"})
        assert (list(parsed.constraints), list(parsed.action_constraints)) == (["Small"], ["Hurry"])
        assert not parsed.invariants
        asked.append(tuple(parsed.properties))
        return runner.TlcResult("violates", kind="temporal" if falls in parsed.properties else "deadlock")

    monkeypatch.setattr(verify.runner, "run", run)
    assert verify._temporal_property(job) == named
    assert asked == [("Often",), ("Rests",)][: 1 if falls == "Often" else 2]


def judged(verdict: str, *problems: str, scope: str = "full") -> Any:
    model = SimpleNamespace(scope=scope)
    return SimpleNamespace(model=model, result=runner.TlcResult(verdict), problems=problems, ok=not problems)


@pytest.mark.parametrize(
    ("outcomes", "missing", "code"),
    [
        ([judged("holds")], {}, 0),
        ([judged("holds"), judged("violates")], {"a": []}, 0),
        ([judged("holds"), judged("violates", "expected holds")], {}, 1),
        ([judged("holds")], {"a": [], "b": ["action A is never reached"]}, 1),
        ([judged("stopped", "not decided"), judged("holds")], {"a": []}, 3),
        ([judged("stopped", "not decided"), judged("holds", "depth 3, expected 2")], {}, 1),
        ([judged("stopped", "not decided")], {"a": ["action A is never reached"]}, 1),
        ([judged("error", "could not be evaluated"), judged("stopped", "not decided")], {}, 1),
    ],
)
def test_the_exit_code_is_the_worst_of_all(outcomes: list[Any], missing: dict[str, list[str]], code: int) -> None:
    assert command.exit_code(outcomes, missing) == code


def test_a_run_that_was_not_decided_is_no_verdict_whatever_was_expected(folder: Path) -> None:
    """And the property that falls must be the expected one, holding or not."""
    holds, falls = manifest.load(write(folder, HOLDS, FALLS)).models

    def problems(model: manifest.Model, *what: Any, **more: Any) -> list[str]:
        return list(verify._differences(model, runner.TlcResult(*what, **more)))

    right = {"distinct": 210, "depth": 15}
    assert problems(holds, "holds", **right) == []
    assert problems(holds, "stopped", reason="TLC ran out of memory", **right) == ["not decided: TLC ran out of memory"]
    assert problems(holds, "error", reason="no such element", **right) == ["could not be evaluated: no such element"]
    for verdict in ("stopped", "error"):
        assert problems(falls, verdict, kind="invariant", property="ThroughNobody", depth=3)
    assert problems(falls, "violates", kind="action-property", property="ThroughNobody", depth=3) == []
    assert problems(falls, "violates", kind="deadlock", depth=3) == ["deadlock fell, expected ThroughNobody"]
    assert problems(falls, "holds", depth=3) == ["holds, expected violates"]


def test_a_part_of_a_graph_and_a_deep_model_say_nothing_of_a_group(folder: Path) -> None:
    deep = {**HOLDS, "name": "Deep", "tier": "deep"}
    found = manifest.load(write(folder, HOLDS, deep))
    known, other = found.models
    all_of_it = verify.Outcome(known, runner.TlcResult("holds"), False, (), {"A": True}, {})
    assert verify.uncovered(found, [all_of_it]) == {"ledger": []}
    for verdict in ("stopped", "violates"):
        assert verify.uncovered(found, [replace(all_of_it, result=runner.TlcResult(verdict))]) == {}
    excused = replace(found, unreached={"ledger": {"action B": "only deep"}})
    more = verify.Outcome(other, runner.TlcResult("holds"), False, (), {"A": True, "B": True}, {})
    less = replace(all_of_it, taken={"A": True, "B": False})
    assert verify.uncovered(excused, [less, more]) == {"ledger": []}
    excused = replace(found, unreached={"ledger": {"action C": "unknown"}})
    assert verify.uncovered(excused, [all_of_it]) == {"ledger": ["action C is excused in the manifest but unknown"]}


def test_a_cached_temporal_counterexample_returns_to_where_it_did(folder: Path) -> None:
    (model,) = manifest.load(write(folder, {**FALLS, "kind": "liveness"})).models
    job = verify.prepare(model)
    state = {"x": 1}
    result = runner.TlcResult(
        "violates",
        "temporal",
        "Rests",
        distinct=3,
        generated=7,
        depth=2,
        loop=1,
        seconds=0.5,
        trace=(runner.Step(None, state), runner.Step("Next", {"x": 2})),
    )
    verify._remember(job, result, ["action Next"])
    known = verify._recall(job)
    assert known is not None
    assert known.result == result


def test_a_group_of_which_no_action_is_known_is_not_covered() -> None:
    nothing: Any = SimpleNamespace(taken={}, sides={}, model=SimpleNamespace(tier="check"))
    assert verify._unreached([nothing], {}) == ["TLC reported no action"]
