"""An audit for a CI: JUnit XML, SARIF 2.1.0, and lines that a CI or an editor reads.

All show what `check.located` found. A file below the folder that the command runs in has its path from there.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.explain.located import Located, Place
from tidemark_conformance.report.document import printed
from tidemark_conformance.report.explanation import reason_lines
from tidemark_conformance.report.paragraphs import counted

WIDTH = 100
"""Columns of the reasons in a report."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def shown_path(file: Path) -> str:
    """A file as a CI knows it."""
    absolute = file.resolve()
    here = Path.cwd().resolve()
    return (absolute.relative_to(here) if absolute.is_relative_to(here) else absolute).as_posix()


def at(place: Place) -> str:
    """`file:line`."""
    return f"{shown_path(place.file)}:{place.line}"


def body(one: Located) -> str:
    """All that is known of a failing trace, as text."""
    lines = [f"{at(one.place)}: {one.message}"]
    if one.reason is not None:
        reason = one.reason
        lines.append(printed(lambda console: reason_lines(reason, console, "  "), WIDTH).rstrip("\n"))
    lines.append(f"one of {counted(one.failure.traces, 'trace')} that fail so")
    lines += [f"see {at(place)} {place.text}".rstrip() for place in one.related]
    return "\n".join(lines)


def undecided_lines(result: AuditResult) -> Iterator[str]:
    """A sentence for each reason why traces are undecided."""
    for group in result.undecided:
        more = f": {group.detail}" if group.detail else ""
        yield f"{counted(group.traces, 'trace')} undecided, e.g. {group.examples[0]}: {group.reason}{more}"


# --- lines --------------------------------------------------------------------------------------------------------


def lines(result: AuditResult, found: Sequence[Located], root: Path, github: bool) -> str:
    """A line for each failing trace that is named, and for each reason to be undecided: `file:line: error: text`, or
    (`github`) a workflow command of GitHub's."""
    level = "error" if result.undecided_too_many else "warning"
    told = [("error", one.place, one.message) for one in found]
    told += [(level, Place(root, 1), said) for said in undecided_lines(result)]
    told += [("error", Place(root, 1), f"TLC disagrees: {said}") for said in result.oracle.disagreements]
    shown = [_command(*line) if github else f"{at(line[1])}: {line[0]}: {line[2]}" for line in told]
    return "".join(f"{line}\n" for line in shown)


def _command(level: str, place: Place, said: str) -> str:
    def escaped(text: str, more: str = "") -> str:
        for character in "%\r\n" + more:
            text = text.replace(character, f"%{ord(character):02X}")
        return text

    where = f"file={escaped(shown_path(place.file), ':,')},line={place.line},title=tidemark audit"
    return f"::{level} {where}::{escaped(said)}"


# --- JUnit --------------------------------------------------------------------------------------------------------


def junit(result: AuditResult, found: Sequence[Located]) -> str:
    """JUnit XML (as Jenkins' schema junit-10 has it). It has a test case for each check that nothing fails, for each
    failing trace that is named, and for each reason to be undecided. The last is an error, or skipped where it is
    allowed."""
    suite = ET.Element("testsuite", name=result.spec, time=f"{result.seconds:.3f}")
    told = ET.SubElement(suite, "properties")
    counts = {"traces": result.traces, "steps": result.steps, "passed": result.passed, "failed": result.failed}
    for name, value in {**counts, "without": ", ".join(result.without), "baseline": result.baseline}.items():
        ET.SubElement(told, "property", name=name, value=_clean(str(value)))
    failing = {(one.failure.kind, one.failure.name) for one in found}
    checked = [("not-a-step", name) for name in result.actions]
    checked += [(kind, name) for kind, names in result.checked.items() for name in names]
    for kind, name in checked:
        if (kind, name) not in failing:
            _case(suite, f"{result.spec}.{_STEP.get(kind, kind)}", name)
    for one in found:
        kind = _STEP.get(one.failure.kind, one.failure.kind)
        case = _case(suite, f"{result.spec}.{kind}.{one.failure.name}", f"trace {one.trace}")
        message = _clean(f"{at(one.place)}: {one.message}")
        ET.SubElement(case, "failure", type=one.failure.kind, message=message).text = _clean(body(one))
    for group, said in zip(result.undecided, undecided_lines(result), strict=True):
        case = _case(suite, f"{result.spec}.undecided", _clean(group.reason))
        ET.SubElement(case, "error" if result.undecided_too_many else "skipped", message=_clean(said))
    for number, said in enumerate(result.oracle.disagreements, 1):
        case = _case(suite, f"{result.spec}.oracle", f"disagreement {number}")
        ET.SubElement(case, "error", type="disagreement", message=_clean(said))
    for said in result.not_checked:
        ET.SubElement(_case(suite, f"{result.spec}.not-checked", _clean(said)), "skipped")
    for attribute, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{element}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    whole = ET.Element("testsuites", name="tidemark audit")
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


_STEP = {"not-a-step": "step"}
"""A case that passes names its check."""


def _case(suite: ET.Element, classname: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_clean(classname), name=_clean(name), time="0")


def _clean(text: str) -> str:
    """The text without characters that XML cannot have."""
    return _NO_XML.sub("\ufffd", text)


# --- SARIF --------------------------------------------------------------------------------------------------------


def sarif(result: AuditResult, found: Sequence[Located], root: Path, definitions: Mapping[str, Place]) -> str:
    """SARIF 2.1.0: a rule for each check that fails, a result for each failing trace that is named. An undecided trace
    is a result, too, at the first line of the specification (`root`); `definitions`: of checks, by name."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for one in found:
        failure = one.failure
        rule = f"{result.spec}/{failure.kind}/{failure.name}"
        described = {"id": rule, "name": failure.name, "shortDescription": {"text": failure.signature}}
        if failure.name in definitions:
            described["fullDescription"] = {"text": f"{failure.signature}, defined at {at(definitions[failure.name])}"}
        rules.setdefault(rule, described)
        shown = _result(rule, list(rules).index(rule), "error", one.message, one.place)
        shown["relatedLocations"] = [
            {"id": number, **_location(place), "message": {"text": place.text or at(place)}}
            for number, place in enumerate(one.related, 1)
        ]
        shown["partialFingerprints"] = {"trace/v1": f"{rule}/{one.trace}"}
        shown["properties"] = {"trace": one.trace, "step": one.step, "tracesThatFailSo": failure.traces}
        results.append(shown)
    more = [("undecided", said) for said in undecided_lines(result)]
    more += [("oracle", said) for said in result.oracle.disagreements]
    for kind, said in more:
        rule = f"{result.spec}/{kind}"
        rules.setdefault(rule, {"id": rule, "shortDescription": {"text": _KINDS[kind]}})
        level = "error" if kind == "oracle" or result.undecided_too_many else "warning"
        results.append(_result(rule, list(rules).index(rule), level, said, Place(root, 1)))
    version = importlib.metadata.version("tidemark")
    driver = {"name": "tidemark audit", "version": version, "rules": list(rules.values())}
    counts = {"traces": result.traces, "steps": result.steps, "passed": result.passed, "failed": result.failed}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "exitCode": result.exit_code}],
        "results": results,
        "properties": counts,
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


_KINDS = {"undecided": "a trace that cannot be judged", "oracle": "TLC judges a trace otherwise"}


def _result(rule: str, index: int, level: str, said: str, place: Place) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "ruleIndex": index,
        "level": level,
        "message": {"text": said},
        "locations": [_location(place)],
    }


def _location(place: Place) -> dict[str, Any]:
    path = shown_path(place.file)
    absolute = path.startswith("/") or re.match(r"[A-Za-z]:", path)
    artifact: dict[str, Any] = {"uri": place.file.resolve().as_uri()} if absolute else {"uri": quote(path)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": place.line}}}
