"""A trace judged by the reference evaluator: the first failure of every check, and the states with their history.

This is the audit's judgement (`check` makes it with kernels, at scale), for one trace at a time and without Spark.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidemark_conformance.explain.run import BLOCKED, CAPACITY, STEP, STUTTER, Event, Run, State
from tidemark_conformance.explain.scope import Env, Evaluator, Scope
from tidemark_conformance.tla.python import EvaluationError, PythonChecks
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import Misfit, encode
from tidemark_conformance.tla.walk import conjuncts, guard_rules, variables_used
from tidemark_conformance.trace.codec import value_json
from tidemark_conformance.trace.header import Json
from tidemark_conformance.trace.observing import Told
from tidemark_conformance.trace.schema import Schema, schema_of

NOT_A_STEP, INVARIANT, ACTION_PROPERTY, QUIESCENCE = "not-a-step", "invariant", "action-property", "quiescence"
OBSERVATION = "observation"
TYPE_OK = "TypeOK"
NOT_INITIAL = "its first state does not satisfy Init"

Key = tuple[str, str]
"""A check: its kind and the property's name (of NOT_A_STEP: empty, it is one check; of OBSERVATION: the field's)."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`verdict`: "pass", "fail" or "undecided" with its `reason`; `first`: each failing check's first record.

    `states`: one per record, history and hidden variables included. Empty where they cannot be computed; short where a
    hidden variable gets no value, or none within its capacity.
    """

    verdict: str
    reason: str
    first: dict[Key, int]
    states: list[State]


class Judge:
    """Judges runs of one specification. `snapshot`: they may start anywhere, and checks with history do not run."""

    def __init__(
        self, specification: Specification, checks: PythonChecks, evaluator: Evaluator, snapshot: bool = False
    ) -> None:
        self.specification = specification
        self.snapshot = snapshot
        self.skipped = {
            named.name
            for named in (*specification.invariants, *specification.properties, *specification.quiescence)
            if snapshot and variables_used(named.body) & set(specification.module.ghosts)
        }
        """The checks that read a history variable."""
        self.checks = checks
        self.evaluator = evaluator
        self.parts = {
            named.name: [(part, variables_used(part)) for part in conjuncts(named.body)]
            for named in specification.invariants
            if named.name not in self.skipped
        }
        self.refusing = {
            action.name
            for action in specification.module.actions
            if specification.without.isdisjoint(guard_rules(action))
        }
        """Actions that nothing refuses but their guards: none of their rules is out of force."""
        self.hidden = set(specification.module.hidden)
        self.schema = schema_of(specification)

    def __call__(self, run: Run) -> Judgement:
        """Judge a run. A damaged run, or one that does not start in Init, is undecided, with any steps."""
        if not run.events:
            return Judgement("undecided", run.damage or "no initial state", {}, [])
        first_state = run.events[0].state
        first_state = {**first_state, **self.checks.initial_hidden(first_state)}
        if not self.snapshot and not _holds(self.checks.init, first_state):
            return Judgement("undecided", NOT_INITIAL, {}, [dict(first_state)])
        judging = _Judging(self)
        judging.start(first_state, run.events[0])
        for event in run.events[1:]:
            if run.beyond is not None and event.number == run.beyond.step:
                judging.wrong(event.number, run.beyond.parameter)
            else:
                judging.take(event)
            if judging.stopped:
                break
        if judging.exceeded and not judging.first:
            return Judgement("undecided", judging.exceeded, {}, judging.states)
        if judging.stopped:
            return Judgement("fail", "", judging.first, judging.states)
        if run.damage and not (run.damage.startswith(CAPACITY) and judging.first):
            return Judgement("undecided", run.damage, judging.first, judging.states)
        if run.quiescent and not run.damage:
            judging.end()
        return Judgement("fail" if judging.first else "pass", "", judging.first, judging.states)


class _Judging:
    def __init__(self, judge: Judge) -> None:
        self.specification = judge.specification
        self.checks = judge.checks
        self.evaluator = judge.evaluator
        self.parts = judge.parts
        self.refusing = judge.refusing
        self.snapshot = judge.snapshot
        self.skipped = judge.skipped
        self.first: dict[Key, int] = {}
        self.states: list[State] = []
        self.schema = judge.schema
        self.hidden = {v.name: v.type for v in judge.schema.layout.variables if v.name in judge.hidden}
        self.stopped = False
        self.exceeded = ""

    def start(self, state: State, event: Event) -> None:
        ghosts: State = {}
        try:
            ghosts = self.checks.initial_ghosts(state)
        except EvaluationError:
            if not self.snapshot:
                raise
        self.states.append({**state, **ghosts})
        self.observations(event)
        self.invariants(0)

    def take(self, event: Event) -> None:
        before = self.states[-1]
        same = all(before[name] == value for name, value in event.state.items())
        if event.kind in (BLOCKED, STUTTER):
            if not same or (event.kind == BLOCKED and not self.refused(event, before)):
                self.first.setdefault((NOT_A_STEP, ""), event.number)
            self.states.append({**before, **event.state})
        else:
            self.step(event, before)
        if self.stopped:
            return
        self.observations(event)
        if not same or event.kind == STEP:
            self.invariants(event.number)
            self.properties(event.number)

    def wrong(self, number: int, parameter: bool) -> None:
        """A value that no step has: of a parameter, else of a variable."""
        asked = any(named.name == TYPE_OK for named in self.specification.invariants)
        self.first.setdefault((INVARIANT, TYPE_OK) if asked and not parameter else (NOT_A_STEP, ""), number)
        self.states.append(self.states[-1])

    def refused(self, event: Event, before: State) -> bool:
        """Whether a guard refuses the attempt, as far as the rules in force can tell."""
        return event.action not in self.refusing or not _holds(self.checks.enabling, event.action, event.params, before)

    def step(self, event: Event, before: State) -> None:
        after = {**before, **event.state}
        if not self.computed(event, before, after):
            return
        if not _holds(self.checks.action, event.action, event.params, before, after):
            self.first.setdefault((NOT_A_STEP, ""), event.number)
        with contextlib.suppress(EvaluationError):  # the history keeps its last value, so that later checks see one
            after |= self.checks.ghosts(event.action, event.params, before, after)
        self.states.append(after)

    def computed(self, event: Event, before: State, after: State) -> bool:
        """Give the hidden variables their values after a step; False where one has none, which ends the run."""
        try:
            found = self.checks.hidden(event.action, event.params, before, after)
        except EvaluationError:
            self.first.setdefault((NOT_A_STEP, ""), event.number)
            self.states.append(after)
            self.stopped = True
            return False
        for name, value in found.items():
            try:
                encode(self.hidden[name], value)
            except Misfit as problem:
                self.stopped = True
                self.exceeded = f"{CAPACITY} (step {event.number}: the computed {name}: {problem})"
                return False
        after |= found
        return True

    def observations(self, event: Event) -> None:
        """Compare the observed values with the computed ones."""
        for told in event.told:
            name, computed = self.observed(event, told)
            if computed != told.value or type(computed) is not type(told.value):
                self.first.setdefault((OBSERVATION, name), event.number)

    def observed(self, event: Event, told: Told) -> tuple[str, Json]:
        """An observed field's name and its value as JSON in the computed state (None: it has no value there)."""
        return observed_in(self.schema, self.checks, self.states[event.number - (not told.after)], told)

    def invariants(self, number: int) -> None:
        """Evaluate the conjuncts of invariants that mention a variable which changed; the others are true still."""
        state = self.states[-1]
        before = self.states[-2] if number else None
        scope = Scope(self.evaluator, state, state)
        changed = {name for name, value in state.items() if before is None or before[name] != value}
        for name, parts in self.parts.items():
            if (INVARIANT, name) in self.first:
                continue
            if not all(scope.holds(part, Env()) for part, used in parts if before is None or used & changed):
                self.first[(INVARIANT, name)] = number

    def properties(self, number: int) -> None:
        before, after = self.states[-2:]
        for named in self.specification.properties:
            key = (ACTION_PROPERTY, named.name)
            if named.name in self.skipped:
                continue
            if key not in self.first and not _holds(self.checks.property, named.name, before, after):
                self.first[key] = number

    def end(self) -> None:
        for named in self.specification.quiescence:
            if named.name not in self.skipped and not _holds(self.checks.quiescent, named.name, self.states[-1]):
                self.first[(QUIESCENCE, named.name)] = len(self.states) - 1


def observed_in(schema: Schema, checks: PythonChecks, state: State, told: Told) -> tuple[str, Json]:
    """The name of an observation, and its value in a state as JSON (None: it has no value there)."""
    known = schema.observables
    assert known is not None
    observer, field = divmod(told.observable, len(known.fields))
    name, kind = known.fields[field]
    try:
        value = checks.observed(name, known.observers[observer] if known.observers else None, state)
        return f"Observed.{name}", value_json(kind, value)
    except (EvaluationError, Misfit):
        return f"Observed.{name}", None


def _holds(check: Callable[..., bool], *arguments: Any) -> bool:
    try:
        return check(*arguments) is True
    except EvaluationError:
        return False
