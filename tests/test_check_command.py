"""The manifest, cached verdicts, coverage, and `tidemark check`."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ledger import FLAWED, LEDGER, SOUND
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tlc import manifest, probes, runner, verify

pytestmark = pytest.mark.usefixtures("quick_java")

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
    assert code == 1
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
    with pytest.raises(Unusable, match='Has\\("Lost"\\) but no operator Lost'):
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
    write(folder, HOLDS)
    assert main(["check", "Nobody", "--manifest", str(folder / "manifest.json")]) == 2
    assert "has no model Nobody: choose from Holds" in capsys.readouterr().err
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


def test_a_group_of_which_no_action_is_known_is_not_covered() -> None:
    nothing: Any = SimpleNamespace(taken={}, sides={}, model=SimpleNamespace(tier="check"))
    assert verify._unreached([nothing], {}) == ["TLC reported no action"]
