"""Log directories judged by the specifications in `spec/logs`: slices, traces, and findings where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path

from tidemark.log.formats.names import Kind

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.result import AuditResult
from tidemark_conformance.explain.source import Source
from tidemark_conformance.logs import replicas
from tidemark_conformance.logs.brokers import Unread, directories
from tidemark_conformance.logs.files import Foreign, LogFile, found
from tidemark_conformance.logs.slices import Slices
from tidemark_conformance.logs.traces import Place, Trace
from tidemark_conformance.logs.transactions import transactions
from tidemark_conformance.paths import spec_root, temporary_folder
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.tla.ir import Loc
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.schema import schema_of


@dataclass(frozen=True)
class Finding:
    """A batch that a specification does not allow.

    `check`: the property that is false, and `should` what it asks for. `traces`: how many traces are found so; the
    first few have a finding each. `places`: the batch, then those that it is held against.
    """

    specification: str
    check: str
    should: str
    traces: int
    places: tuple[Place, ...]

    @property
    def place(self) -> Place:
        """The batch that is judged."""
        return self.places[0]

    @property
    def brokers(self) -> tuple[str, ...]:
        """The brokers whose files show it."""
        return tuple(dict.fromkeys(one.broker for one in self.places))


@dataclass(frozen=True)
class Judged:
    """The traces and steps that one specification has judged."""

    specification: str
    traces: int
    steps: int


@dataclass
class Audited:
    """All that was read, judged and found. `left`: what is not judged, and a clause that says why. `undecided`: how
    many traces have no verdict; `left` names them, too."""

    slices: tuple[Slices, ...]
    foreign: list[Foreign] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undecided: int = 0


def audited(paths: Sequence[Path]) -> Audited:
    """Judge the partitions in these folders.

    Raises Unusable for a folder without any file of a log directory, and for directories of several clusters.
    """
    foreign, logs = folders(paths)
    homes = directories(logs)  # before the logs, for a checkpoint that is older than its log is no fault
    slices = tuple(Slices(folder, files, homes[folder].broker) for folder, files in logs.items())
    told = Audited(tuple(one for one in slices if one.partition or one.fault), foreign)
    told.unread += [one for home in {id(home): home for home in homes.values()}.values() for one in home.unread]
    for kind in _traced(slices, homes, told):
        judge(kind, told)
    return told


def folders(paths: Sequence[Path]) -> tuple[list[Foreign], dict[Path, list[LogFile]]]:
    """Foreign files, and the files of each partition's folder. A file given twice counts once, by its first path."""
    foreign: list[Foreign] = []
    logs: dict[Path, list[LogFile]] = {}
    homes: dict[Path, Path] = {}
    known: set[Path] = set()
    for file in found(paths):
        resolved = file.path.parent.resolve()
        home = homes.setdefault(resolved, file.path.parent)
        if resolved / file.path.name in known:
            continue
        known.add(resolved / file.path.name)
        if isinstance(file, Foreign):
            foreign.append(file)
        elif file.name.kind is Kind.SEGMENT:
            logs.setdefault(home, []).append(file)
    return foreign, logs


def _traced(slices: Sequence[Slices], homes: replicas.Homes, told: Audited) -> Iterator[list[Trace]]:
    """The traces of all specifications, in the order in which they are judged."""
    yield [trace for one in slices for trace in one.traces()]
    together, left, unread = replicas.replicas([one for one in slices if one.files], homes)
    told.left += left
    told.unread += unread
    yield [trace for some in together for trace in replicas.traces(some, told.unread)]
    logs, markers = transactions([one for some in together for one in some])
    told.unread += [log.fault for log in logs if log.fault is not None]
    yield [trace for log in logs for trace in log.traces(markers)]
    if not_shown := sum(log.not_shown for log in logs):
        told.left.append((f"outcomes of transactions in partitions: {not_shown:,}", "whose logs do not show them"))
    if alone := sum(one.without_decision for one in markers.values()):
        told.left.append((f"markers of transactions: {alone:,}", "whose decisions the transaction log does not show"))


def judge(traces: Iterable[Trace], told: Audited) -> None:
    """Judge traces by their specifications; what is judged and found is added."""
    by_specification: dict[str, list[Trace]] = {}
    for trace in traces:
        by_specification.setdefault(trace.specification, []).append(trace)
    for name, some in by_specification.items():
        if not any(step for trace in some for step in trace.steps()):  # an audit refuses traces without any step
            told.judged.append(Judged(name, len(some), 0))
            continue
        home = spec_root() / "logs"
        specification = load(home / f"{name}.tla", home / f"{name}.cfg")
        result = _result(some, specification)
        told.judged.append(Judged(name, result.passed + result.failed, result.steps))
        told.undecided += sum(group.traces for group in result.undecided)
        told.left += _undecided(name, result)
        told.findings += _findings(some, specification, result)


def _result(traces: Sequence[Trace], specification: Specification) -> AuditResult:
    """The audit of all traces of a specification."""
    with temporary_folder("logs-") as folder:
        target = folder / f"{specification.module.name}.ndjson"
        with target.open("w", encoding="utf-8") as file:
            file.write(schema_of(specification).with_nodes([]).text() + "\n")
            for trace in traces:
                file.writelines(trace.lines())
        return audit(None, [str(target)], specification)


def _undecided(name: str, result: AuditResult) -> Iterator[tuple[str, str]]:
    """The traces that are undecided, each with the reason. Of a reason with many traces the first few are named, and
    the first with the value that is too large."""
    for group in result.undecided:
        details = chain([f" ({group.detail})" if group.detail else ""], repeat(""))
        for one, why in zip(group.examples, details, strict=False):
            yield f"{name}: {one}", f"is undecided: {group.reason}{why}"
        if more := group.traces - len(group.examples):
            yield f"{name}: {counted(more, 'other trace')}", f"undecided for the same reason: {group.reason}"


def _findings(traces: Sequence[Trace], specification: Specification, result: AuditResult) -> list[Finding]:
    """A step that falls by a property is no step either; only the property is told."""
    by_name = {trace.name: trace for trace in traces}
    named = {example for failure in result.failures if failure.kind != "not-a-step" for example in failure.examples}
    findings = []
    for failure in result.failures:
        for trace, step in failure.examples:
            if failure.kind == "not-a-step" and (trace, step) in named:
                continue
            places, should = by_name[trace].places(step), meaning(specification, failure.name)
            findings.append(Finding(specification.module.name, failure.name, should, failure.traces, places))
    return findings


def meaning(specification: Specification, check: str) -> str:
    """The comment of the predicate that an action property `P == [][Q(...)]_vars` asks for; empty without one."""
    name = specification.module.name
    source = Source({name: spec_root() / "logs" / f"{name}.tla"})
    defined = {re.split(r"\W", line.text)[0]: Loc(name, line.number) for line in source.definitions(name)}
    body = source.definition(defined[check])[-1].text if check in defined else ""
    asked = re.search(r"\[\]\[(\w+)", body)
    lines = source.definition(defined[asked[1]]) if asked and asked[1] in defined else []
    return " ".join(line.text.removeprefix("\\*").strip() for line in lines if line.text.startswith("\\*"))
