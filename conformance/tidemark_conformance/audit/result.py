"""An audit's result: the traces judged, the rules, the outcome; its JSON document and its exit code."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tidemark_conformance.audit.options import allows
from tidemark_conformance.registry.anomalies import anomalies

HOLDS, VIOLATION, UNDECIDED = 0, 1, 3


def by_number(trace: str) -> tuple[tuple[str, int], ...]:
    """The sort key of a trace id: digits compare as numbers, the rest as text. So seed-17 comes before seed-149.
    Different ids have different keys."""
    parts = [(text, int(digits or -1)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", trace)]
    return (*parts, (trace, -1))


@dataclass(frozen=True, slots=True)
class Failure:
    """All traces that fail in one way.

    `kind` is "invariant", "action-property", "not-a-step", "quiescence" or "observation". `name` is the property's, for
    "not-a-step" the claimed action, for "observation" `Observed.` and the field. `examples`: the first few traces by
    id, each with the step that fails. `detail`: of the first, the value that TypeOK or the action's domain does not
    have, where that is why. `streams`: of the examples, empty where it was not kept.
    """

    kind: str
    name: str
    traces: int
    examples: tuple[tuple[str, int], ...]
    detail: str = ""
    streams: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def signature(self) -> str:
        """One line that identifies the way of failing."""
        return f"not a step of {self.name}" if self.kind == "not-a-step" else f"{self.kind} {self.name}"

    def anomalies(self, specification: str) -> tuple[str, ...]:
        """The names that a history checker may give this failure. A step that is none has no name, for it is found
        before any harm."""
        return () if self.kind == "not-a-step" else anomalies(specification, [self.name])


@dataclass(frozen=True, slots=True)
class Undecided:
    """All traces that could not be judged for one reason.

    `examples`: the first few ids; `detail`: for the first of them, the value that exceeds a capacity, and that
    capacity.
    """

    reason: str
    traces: int
    examples: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Oracle:
    """The comparison with TLC: traces replayed there, and one sentence per disagreement. `note` says what else to
    know."""

    replayed: int = 0
    disagreements: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shares:
    """How much the traces of a specification with hidden variables told of its states.

    `records`: records of traces, initial states and stutters included; 0 where nothing can be observed. `told`: per
    field of Observed the records that tell it. `carried`: variables that every record tells. `hidden`: variables that
    the audit computed. `silent`: traces that tell nothing of any state. Of these the audit checks only that their
    actions are enabled in turn.
    """

    records: int
    told: dict[str, int]
    carried: tuple[str, ...]
    hidden: tuple[str, ...]
    silent: int

    def share(self, field: str) -> float:
        """The share of records that tell a field."""
        return self.told[field] / self.records if self.records else 0.0

    def document(self) -> dict[str, Any]:
        """The value of `observed` in `tidemark.audit/1`."""
        return {
            "records": self.records,
            "variables": dict.fromkeys(self.carried, "carried") | dict.fromkeys(self.hidden, "computed"),
            "fields": {name: {"records": n, "share": round(self.share(name), 6)} for name, n in self.told.items()},
            "silent_traces": self.silent,
        }


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The outcome of one audit.

    `steps` counts the steps that a trace claims to take, without stutters and blocked attempts. `actions`: per action
    (steps taken, blocked attempts). `rules`: per rule (predicate true, false) while it was in force. `without`: the
    rules that are not in force. `stepless`: passing traces that took no step. `quiescent`: decided traces that declare
    their faults stopped, so that the quiescence properties ran on them. `not_checked`: properties that did not run, and
    why. `seconds` is wall time without Spark's start. `max_undecided`: how many undecided traces are allowed, as in
    `Options`. `tlc_steps_per_s`: the rate of TLC's replays (0: there were none). `shares`: the observed and the
    computed values, where the specification hides variables.
    """

    spec: str
    traces: int
    steps: int
    seconds: float
    passed: int
    failed: int
    failures: tuple[Failure, ...]
    undecided: tuple[Undecided, ...]
    actions: dict[str, tuple[int, int]]
    rules: dict[str, tuple[int, int]]
    without: tuple[str, ...] = ()
    baseline: str = ""
    stepless: int = 0
    quiescent: int = 0
    checked: dict[str, tuple[str, ...]] = field(default_factory=dict)
    not_checked: tuple[str, ...] = ()
    oracle: Oracle = field(default_factory=Oracle)
    tlc_steps_per_s: float = 0.0
    max_undecided: str = ""
    shares: Shares | None = None

    @property
    def exit_code(self) -> int:
        """1 for any failing trace or disagreement with TLC, else 3 for more undecided traces than are allowed, else
        0."""
        if self.failed or self.oracle.disagreements:
            return VIOLATION
        return UNDECIDED if self.undecided_too_many else HOLDS

    @property
    def undecided_too_many(self) -> bool:
        """Whether more traces are undecided than are allowed."""
        return not allows(self.max_undecided, sum(group.traces for group in self.undecided), self.traces)

    def document(self) -> dict[str, Any]:
        """The document `tidemark.audit/1`."""
        return {
            "schema": "tidemark.audit/1",
            "ok": self.exit_code == HOLDS,
            "spec": self.spec,
            "traces": self.traces,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "verdicts": {
                "pass": self.passed,
                "fail": self.failed,
                "undecided": sum(group.traces for group in self.undecided),
            },
            "stepless": self.stepless,
            "quiescent": self.quiescent,
            "failures": [
                {
                    "signature": failure.signature,
                    "kind": failure.kind,
                    "name": failure.name,
                    "anomalies": list(failure.anomalies(self.spec)),
                    "traces": failure.traces,
                    "first": {"trace": failure.examples[0][0], "step": failure.examples[0][1]},
                    "detail": failure.detail,
                    "examples": [{"trace": trace, "step": step} for trace, step in failure.examples],
                }
                for failure in self.failures
            ],
            "undecided": [
                {
                    "reason": group.reason,
                    "traces": group.traces,
                    "first": {"trace": group.examples[0]},
                    "detail": group.detail,
                }
                for group in self.undecided
            ],
            "coverage": {
                "actions": {name: taken for name, (taken, _) in self.actions.items()},
                "blocked": {name: blocked for name, (_, blocked) in self.actions.items()},
                "rules": {name: {"held": held, "blocked": blocked} for name, (held, blocked) in self.rules.items()},
            },
            "oracle": {
                "replayed": self.oracle.replayed,
                "disagreements": len(self.oracle.disagreements),
                "details": list(self.oracle.disagreements),
            },
            "without": list(self.without),
            "baseline": self.baseline,
            "max_undecided": self.max_undecided,
            "checked": {kind: list(names) for kind, names in self.checked.items()},
            "not_checked": list(self.not_checked),
            **({"observed": self.shares.document()} if self.shares is not None else {}),
        }
