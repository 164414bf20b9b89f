"""Log directories judged by the specifications in `spec/logs`: slices, traces, and findings where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.logs.files import Foreign, LogFile, found
from tidemark_conformance.logs.slices import PARTITION, PRODUCER, Place, Slices, lines
from tidemark_conformance.paths import spec_root, temporary_folder
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.schema import schema_of


@dataclass(frozen=True)
class Finding:
    """A batch that a specification does not allow. `check`: the property that is false. `traces`: how many partitions
    or producers are found so; the first few have a finding each."""

    specification: str
    check: str
    traces: int
    place: Place


@dataclass(frozen=True)
class Judged:
    """The traces and steps that one specification has judged."""

    specification: str
    traces: int
    steps: int


@dataclass(frozen=True)
class Audited:
    """All that was read, judged and found."""

    slices: tuple[Slices, ...]
    foreign: tuple[Foreign, ...]
    judged: tuple[Judged, ...]
    findings: tuple[Finding, ...]


def audited(paths: Sequence[Path]) -> Audited:
    """Judge the partitions in these folders. Raises Unusable for a folder without any file of a log directory."""
    folders: dict[Path, list[LogFile]] = {}
    foreign = []
    for file in found(paths):
        if isinstance(file, Foreign):
            foreign.append(file)
        else:
            folders.setdefault(file.path.parent, []).append(file)
    every = [Slices(folder, files) for folder, files in folders.items()]
    slices = tuple(one for one in every if one.partition or one.fault)
    judged, findings = [], []
    for name in (PARTITION, PRODUCER):
        result = _result(name, slices)
        if result is not None:
            judged.append(Judged(name, result.traces, result.steps))
            findings += _findings(name, result, slices)
    return Audited(slices, tuple(foreign), tuple(judged), tuple(findings))


def _result(name: str, slices: Sequence[Slices]) -> AuditResult | None:
    """The audit of all traces of a specification; None if there is none."""
    home = spec_root() / "logs"
    if not any(True for one in slices for _ in one.traces(name)):
        return None
    specification = load(home / f"{name}.tla", home / f"{name}.cfg")
    with temporary_folder("logs-") as folder:
        target = folder / f"{name}.ndjson"
        with target.open("w", encoding="utf-8") as file:
            file.write(schema_of(specification).with_nodes([]).text() + "\n")
            for one in slices:
                for trace, steps in one.traces(name):
                    file.writelines(lines(trace, one.initial(name), steps))
        return audit(None, [str(target)], specification)


def _findings(name: str, result: AuditResult, slices: Sequence[Slices]) -> list[Finding]:
    """A step that falls by a property is no step either; only the property is told."""
    named = {example for failure in result.failures if failure.kind != "not-a-step" for example in failure.examples}
    findings = []
    for failure in result.failures:
        for trace, step in failure.examples:
            if failure.kind == "not-a-step" and (trace, step) in named:
                continue
            (one,) = (one for one in slices if trace in {told for told, _ in one.traces(name)})
            findings.append(Finding(name, failure.name, failure.traces, one.place(trace, step)))
    return findings
