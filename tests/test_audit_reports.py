"""Reports for a CI: failing traces beside the lines of the specification that refuse them, in three forms."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from conftest import TwoPhase
from pyspark.sql import SparkSession
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.tally import EXAMPLES
from tidemark_conformance.cli import main
from tidemark_conformance.explain.located import Place, located
from tidemark_conformance.paths import spec_root
from tidemark_conformance.report import ci
from tidemark_conformance.trace.files import file_header
from trace_lines import header_of, signed, traces_of, write

SPEC = spec_root() / "two_phase" / "TwoPhase.tla"
Trace = list[dict[str, Any]]


def line_of(text: str, after: str = "TMDecide(outcome) ==") -> int:
    """The number of the first line that has this text behind a definition."""
    lines = SPEC.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(after))
    return next(number for number, line in enumerate(lines, 1) if number > first and text in line)


def _named(trace: Trace, name: str) -> Trace:
    return signed([{**event, "trace": name} for event in deepcopy(trace)])


@pytest.fixture(name="wrong", scope="module")
def _wrong(two_phase: TwoPhase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good traces, and some that claim a TMDecide which four different conjuncts refuse; one without an end."""
    good = traces_of(two_phase.good)
    decided = next(trace for trace in good if any(map(_decides, trace)))
    harm = _harmed(two_phase)
    hasty = next(trace for trace in traces_of(two_phase.hasty) if trace[0]["trace"] in harm)
    *events, end = deepcopy(decided)
    longer = {**end, "end": {**end["end"], "steps": len(events)}}
    twice = {
        "trace": "",
        "step": len(events),
        "node": "tm",
        "action": "TMDecide",
        "params": {"outcome": "aborted"},
        "delta": {},
    }
    silent = deepcopy(decided)
    for event in silent:
        if _decides(event):
            del event["delta"]["messages"]
    restless = [*events, {**twice, "action": "TMRestart", "params": {}, "delta": {"tmState": "init"}}]
    traces = [
        _named(decided, "good"),
        _named(hasty, "hasty"),
        _named([*events, twice, longer], "twice"),
        _named(silent, "silent"),
        _named([*restless, longer], "restless"),
        _named(decided, "cut")[:-1],
    ]
    return write(tmp_path_factory.mktemp("wrong") / "wrong.ndjson", header_of(two_phase.good), traces)


def _decides(event: dict[str, Any]) -> bool:
    return event.get("action") == "TMDecide" and "messages" in event.get("delta", {})


def _harmed(two_phase: TwoPhase) -> set[str]:
    """Traces of the hasty manager in which consistency falls."""
    result = audit(None, [str(two_phase.hasty)], two_phase.specification)
    return {trace for failure in result.failures if failure.name == "Consistency" for trace, _ in failure.examples}


def refusing(run: dict[str, Any]) -> dict[tuple[str, str], int]:
    """(rule, trace) -> line, of the results of a run in SARIF."""
    return {
        (one["ruleId"], one["properties"]["trace"]): one["locations"][0]["physicalLocation"]["region"]["startLine"]
        for one in run["results"]
        if "properties" in one
    }


def test_every_failing_trace_stands_beside_the_conjunct_that_refuses_it(
    wrong: Path, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec_root().parent)
    told = []
    for engine in ("--local", "--spark"):
        target = tmp_path / f"{engine}.sarif"
        assert main(["audit", str(wrong), engine, "--sarif", str(target)]) == 1
        document = json.loads(target.read_text())
        require_sarif(document)
        told.append(document)
    assert told[0] == told[1]
    (run,) = told[0]["runs"]
    step = "TwoPhase/not-a-step/"
    lines = refusing(run)
    assert lines[step + "TMDecide", "hasty"] == line_of("=> CommitOnlyIfAllPrepared")
    assert lines[step + "TMDecide", "twice"] == line_of('tmState = "init"')
    assert lines[step + "TMDecide", "silent"] == line_of("messages' =")
    assert lines[step + "TMRestart", "restless"] == line_of("tmState' =", "TMRestart ==")
    consistency = line_of("Consistency ==", "Spec ==")
    assert lines["TwoPhase/invariant/Consistency", "hasty"] == consistency
    paths = {
        place["physicalLocation"]["artifactLocation"]["uri"] for one in run["results"] for place in one["locations"]
    }
    assert paths == {"spec/two_phase/TwoPhase.tla"}
    hasty = next(one for one in run["results"] if one["properties"]["trace"] == "hasty" and "TMDecide" in one["ruleId"])
    related = {
        one["message"]["text"]: one["physicalLocation"]["region"]["startLine"] for one in hasty["relatedLocations"]
    }
    assert related["CommitOnlyIfAllPrepared"] == line_of("CommitOnlyIfAllPrepared ==", "VARIABLES")
    undecided = next(one for one in run["results"] if one["ruleId"] == "TwoPhase/undecided")
    assert (undecided["level"], "cut" in undecided["message"]["text"]) == ("error", True)


def require_sarif(document: dict[str, Any]) -> None:
    """Asserts the requirements of SARIF 2.1.0 on the parts that we write."""
    assert document["version"] == "2.1.0"
    for run in document["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert run["tool"]["driver"]["name"]
        assert len({rule["id"] for rule in rules}) == len(rules)
        assert all(invocation["executionSuccessful"] in (True, False) for invocation in run["invocations"])
        for one in run["results"]:
            assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
            assert one["level"] in {"none", "note", "warning", "error"}
            assert one["message"]["text"]
            for place in [*one["locations"], *one.get("relatedLocations", [])]:
                physical = place["physicalLocation"]
                assert re.fullmatch(r"(file://)?[\w/.%~-]+", physical["artifactLocation"]["uri"])
                assert physical["region"]["startLine"] >= 1
            ids = [place["id"] for place in one.get("relatedLocations", [])]
            assert len(set(ids)) == len(ids)


def test_junit_has_a_case_for_each_check_that_holds_and_each_trace_that_fails(wrong: Path, tmp_path: Path) -> None:
    target = tmp_path / "junit.xml"
    assert main(["audit", str(wrong), "--local", "--junit", str(target)]) == 1
    whole = ET.fromstring(target.read_text())
    require_junit(whole)
    (suite,) = whole
    cases = {(case.get("classname"), case.get("name")): case for case in suite.findall("testcase")}
    holding = {"OneDecision", "TypeOK"}
    assert {("TwoPhase.invariant", name) for name in holding} <= set(cases)
    assert ("TwoPhase.step", "RMAbort") in cases
    assert ("TwoPhase.step", "TMDecide") not in cases
    failing = {key for key, case in cases.items() if case.find("failure") is not None}
    assert {name for kind, name in failing if kind == "TwoPhase.step.TMDecide"} == {
        "trace hasty",
        "trace twice",
        "trace silent",
    }
    failure = cases["TwoPhase.step.TMDecide", "trace hasty"].find("failure")
    assert failure is not None
    place = f"TwoPhase.tla:{line_of('=> CommitOnlyIfAllPrepared')}: trace hasty, step "
    assert place in (failure.get("message") or "")
    assert "tmPrepared = RM" in (failure.text or "")
    assert "one of 3 traces that fail so" in (failure.text or "")
    errors = [case for case in cases.values() if case.find("error") is not None]
    assert [case.get("classname") for case in errors] == ["TwoPhase.undecided"]
    assert suite.get("tests") == str(len(cases))
    assert (suite.get("failures"), suite.get("errors")) == (str(len(failing)), "1")


def require_junit(whole: ET.Element) -> None:
    """Asserts that a report keeps to Jenkins' schema junit-10."""
    allowed: dict[str, tuple[set[str], set[str], set[str]]] = {  # children, attributes, those that must be there
        "testsuites": ({"testsuite"}, {"name", "time", "tests", "failures", "errors"}, set()),
        "testsuite": (
            {"testsuite", "properties", "testcase", "system-out", "system-err"},
            {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
            {"name", "tests", "failures", "errors"},
        ),
        "properties": ({"property"}, set(), set()),
        "property": (set(), {"name", "value"}, {"name", "value"}),
        "testcase": (
            {"skipped", "error", "failure", "system-out", "system-err"},
            {"name", "time", "classname", "group"},
            {"name"},
        ),
        **dict.fromkeys(("failure", "error", "skipped"), (set[str](), {"type", "message"}, set[str]())),
    }
    assert whole.tag == "testsuites"
    for element in whole.iter():
        children, attributes, needed = allowed[element.tag]
        assert {child.tag for child in element} <= children
        assert needed <= set(element.attrib) <= attributes
        if element.tag in ("testsuite", "testcase"):
            assert re.fullmatch(r"\d{0,3}(,?\d{3})*(\.\d*)?", element.get("time", ""))


def test_lines_for_people_and_for_a_workflow(
    wrong: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(spec_root().parent)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    place = f"spec/two_phase/TwoPhase.tla:{line_of('tmState = ')}"
    assert main(["audit", str(wrong), "--local", "--annotations"]) == 1
    plain = [line for line in capsys.readouterr().out.splitlines() if ": error: " in line]
    assert any(line.startswith(f"{place}: error: trace twice, step ") for line in plain)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert main(["audit", str(wrong), "--local", "--annotations", "--max-undecided", "1"]) == 1
    out = capsys.readouterr().out.splitlines()
    commands = [line for line in out if line.startswith("::")]
    assert len(commands) == len(plain)
    file, number = place.split(":")
    assert any(
        line.startswith(f"::error file={file},line={number},title=tidemark audit::trace twice, step ")
        for line in commands
    )
    assert sum(line.startswith("::warning ") for line in commands) == 1  # the undecided one is allowed
    assert ci._command("error", Place(Path("/a,b:c"), 3), "50%\nof 2::1").endswith(
        "file=/a%2Cb%3Ac,line=3,title=tidemark audit::50%25%0Aof 2::1"
    )


def test_a_clean_audit_has_a_report_too_and_a_refused_one_has_none(two_phase: TwoPhase, tmp_path: Path) -> None:
    junit, sarif = tmp_path / "j.xml", tmp_path / "s.sarif"
    arguments = ["--local", "--junit", str(junit), "--sarif", str(sarif)]
    assert main(["audit", str(two_phase.good), *arguments]) == 0
    whole = ET.fromstring(junit.read_text())
    require_junit(whole)
    assert whole[0].get("failures") == "0"
    assert int(whole[0].get("tests", "0")) >= 11
    document = json.loads(sarif.read_text())
    require_sarif(document)
    assert document["runs"][0]["results"] == []
    for file in (junit, sarif):
        file.unlink()
    assert main(["audit", str(two_phase.header), *arguments]) == 2
    assert main(["audit", str(two_phase.good), "--local", "--junit", str(tmp_path / "no" / "j.xml")]) == 2
    assert sorted(tmp_path.iterdir()) == []


def test_what_is_no_character_of_xml_is_replaced() -> None:
    assert ci._clean("a\x00b\ud800c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"


def test_streams_are_kept_where_they_are_asked_for_and_only_of_the_traces_that_are_named(
    two_phase: TwoPhase, spark: SparkSession
) -> None:
    source = [str(two_phase.hasty)]
    bare = audit(None, source, two_phase.specification)
    assert all(
        [bool(stream) for stream in one.streams][1:] == [False] * (len(one.streams) - 1) for one in bare.failures
    )
    kept = audit(None, source, two_phase.specification, Options(located=True))
    assert max(len(one.streams) for one in kept.failures) > 1
    assert all(len(one.streams) <= EXAMPLES and all(one.streams) for one in kept.failures)
    there = audit(spark, source, two_phase.specification, Options(located=True))
    assert replace(there, seconds=0) == replace(kept, seconds=0)
    shown = located(kept, two_phase.specification, file_header(two_phase.hasty), False)
    assert len(shown) == sum(len(one.examples) for one in kept.failures)
    assert all(one.reason is not None and one.label for one in shown)
