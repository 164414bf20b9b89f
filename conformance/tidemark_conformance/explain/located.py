"""Failing traces beside the lines of the specification that refuse them, for reports that a CI shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.audit.result import AuditResult, Failure
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import NOT_A_STEP, OBSERVATION, Judgement
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.record import Finding, Reason
from tidemark_conformance.explain.run import Run
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a module; `text`: the name or formula at this line, in a few words."""

    file: Path
    line: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Located:
    """A failing trace: `step` is the first that this check refuses, `label` its action with parameters ("": not known).

    `place`: the conjunct of the action or property that is false, or the check's own definition where no conjunct is
    known. `related`: the definitions between that and the deciding values. `reason`: why, None where it is not known.
    """

    failure: Failure
    trace: str
    step: int
    label: str
    headline: str
    place: Place
    related: tuple[Place, ...] = ()
    reason: Reason | None = None

    @property
    def message(self) -> str:
        """One line: the trace, the step, the action or property that it fails, the false formula and its values."""
        said = f"trace {self.trace}, step {self.step}{f' {self.label}' if self.label else ''}: {self.headline}"
        if self.reason is None:
            return f"{said}: {self.failure.detail}" if self.failure.detail else said
        parts = [self.reason.text + (" is false" if self.reason.outcome == "false" else "")] if self.reason.text else []
        parts += [part.note for part in _chain(self.reason) if part.note]
        shown = dict.fromkeys(
            f"{one.name} = {one.value}" for part in _chain(self.reason) for one in (*part.bindings, *part.values)
        )
        return "; ".join([said, *parts, ", ".join(shown)]).rstrip("; ")


def _chain(reason: Reason) -> Iterator[Reason]:
    yield reason
    for part in reason.because:
        yield from _chain(part)


def located(result: AuditResult, specification: Specification, header: Header, snapshot: bool) -> list[Located]:
    """The failing traces of a result that kept their streams (`Options.located`), by check, the most frequent first.

    `header`: of the traces, for the names of their nodes.
    """
    if not result.failures:
        return []
    finding = _Finding(specification, header, snapshot)
    return [
        finding(failure, trace, step, stream)
        for failure in result.failures
        for (trace, step), stream in zip(failure.examples, failure.streams, strict=True)
    ]


class _Finding:
    def __init__(self, specification: Specification, header: Header, snapshot: bool) -> None:
        self.specification = specification
        self.header = header
        self.explainer = Explainer(specification, snapshot=snapshot)
        self.schema = schema_of(specification)
        self.judged: dict[str, tuple[Run, Judgement]] = {}

    def __call__(self, failure: Failure, trace: str, step: int, stream: bytes) -> Located:
        bare = Located(failure, trace, step, "", failure.signature, self.own(failure))
        try:
            run, judgement = self.judgement(trace, stream)
        except Unusable:
            return bare
        name = "" if failure.kind == NOT_A_STEP else failure.name
        number = judgement.first.get((failure.kind, name))
        if number is None:
            return bare
        found, _ = self.explainer.finding((failure.kind, name), number, run, judgement)
        places = list(dict.fromkeys(self.places(found)))
        label = run.events[number].label if number else ""
        return Located(
            failure, trace, step, label, found.headline, (places or [bare.place])[0], tuple(places[1:]), found.reason
        )

    def judgement(self, trace: str, stream: bytes) -> tuple[Run, Judgement]:
        """A trace that falls in several ways is judged once."""
        if trace not in self.judged:
            run = decoded(Stored(trace, stream, self.specification.path, self.header), self.schema)
            self.judged[trace] = run, self.explainer.judge(run)
        return self.judged[trace]

    def places(self, found: Finding) -> Iterator[Place]:
        """The places in order: the refusing formula, the formulas that decide it, then the check itself."""
        for part in _chain(found.reason):
            if part.place:
                yield self.place(part.place, part.operator or part.text)
        if found.place:
            yield self.place(found.place, found.name)

    def place(self, said: str, text: str) -> Place:
        """`Module.tla:line` as a line of a file."""
        module, _, line = said.rpartition(".tla:")
        return Place(self.specification.sources[module], int(line), text)

    def own(self, failure: Failure) -> Place:
        """Where a check is defined."""
        specification = self.specification
        observed = specification.module.observed
        if failure.kind == OBSERVATION and observed is not None:
            return self.place(str(observed.loc), failure.name)
        return definitions(specification).get(failure.name, Place(specification.path, 1, specification.module.name))


def definitions(specification: Specification) -> Mapping[str, Place]:
    """Where each action and each check is defined."""
    checks = (*specification.invariants, *specification.properties, *specification.quiescence)
    defined = {one.name: one.loc for one in checks} | {one.name: one.loc for one in specification.module.actions}
    return {name: Place(specification.sources[loc.module], loc.line, name) for name, loc in defined.items()}
