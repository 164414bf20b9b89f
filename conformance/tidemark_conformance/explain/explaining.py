"""From one judged trace to its explanation: everything of `record.Explanation` but the shrunk run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations, product

from tidemark_conformance.explain.judge import (
    ACTION_PROPERTY,
    INVARIANT,
    NOT_A_STEP,
    NOT_INITIAL,
    OBSERVATION,
    QUIESCENCE,
    Judge,
    Judgement,
    Key,
    observed_in,
)
from tidemark_conformance.explain.picturing import fallback, picture_of
from tidemark_conformance.explain.reads import Cell, reads, written
from tidemark_conformance.explain.record import Diagram, Enabled, Explanation, Finding, Reason, StepView
from tidemark_conformance.explain.run import BLOCKED, STEP, Event, Run, State
from tidemark_conformance.explain.scope import Env, EvaluationError, Evaluator, Scope
from tidemark_conformance.explain.source import Source
from tidemark_conformance.explain.spacetime import WINDOW, diagram, views
from tidemark_conformance.explain.state import shown_variables
from tidemark_conformance.explain.stored import with_strips
from tidemark_conformance.explain.text import label
from tidemark_conformance.explain.why import why
from tidemark_conformance.registry.anomalies import anomalies
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import Action, Expr, HasRule, Named, RuleGuard
from tidemark_conformance.tla.python import PythonChecks, compile_python
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.walk import enabling, walk
from tidemark_conformance.trace.beyond import Beyond
from tidemark_conformance.trace.header import dumps

ATTEMPTS = 50_000
"""At most so many (action, parameters) are tried as other names of a step that is none of its own."""


class Explainer:
    """Explains runs of one specification. `snapshot`: they may start anywhere (see `judge.Judge`)."""

    def __init__(
        self, specification: Specification, checks: PythonChecks | None = None, snapshot: bool = False
    ) -> None:
        self.snapshot = snapshot
        self.specification = specification
        self.checks = checks or compile_python(specification)
        self.compiled: dict[frozenset[str], PythonChecks] = {}
        self.module = specification.module
        self.evaluator = Evaluator(specification)
        self.judge = Judge(specification, self.checks, self.evaluator, snapshot)
        self.source = Source(specification.sources)
        self.picture = picture_of(specification.sources.values(), self.module.variables)
        self.formals = {action.name: tuple(param.name for param in action.params) for action in self.module.actions}

    def explain(self, run: Run, judgement: Judgement, window: int | None = WINDOW) -> Explanation:
        """Why the run got its verdict; `window`: records drawn before the failing one (None: the whole run)."""
        rows = views(run, judgement.states, self.formals, self.module.ghosts)
        bare = Explanation(
            spec=self.module.name,
            trace=run.id,
            source=run.source,
            verdict=judgement.verdict,
            reason=judgement.reason,
            steps=max(0, len(run.events) - 1),
            without=tuple(sorted(self.specification.without)),
        )
        if judgement.reason == NOT_INITIAL:
            return self.not_initial(bare, run)
        if judgement.verdict != "fail":
            return replace(bare, diagram=self.drawn(run, judgement, rows, (), window) if rows else None)
        order = sorted(judgement.first.items(), key=lambda item: (item[1], _RANK[item[0][0]]))
        found = [self.finding(key, number, run, judgement) for key, number in order]
        findings = tuple(finding for finding, _ in found)
        number = findings[0].step
        marked = [finding.step for finding in findings if finding.step <= number + (window or len(rows))]
        drawn = replace(bare, findings=findings, diagram=self.drawn(run, judgement, rows, marked, window))
        cells = [cell for finding, some in found if finding.step == number for cell in some]
        if number == 0 or findings[0].kind == QUIESCENCE:
            shown, folded = shown_variables(judgement.states[number], cells, self.module.ghosts)
            return replace(drawn, state=shown, folded=folded, enabled=tuple(self.enabled(judgement.states[number])))
        before = judgement.states[number - 1]
        cells += written(before, judgement.states[number])
        shown, folded = shown_variables(before, cells, self.module.ghosts)
        explained = replace(drawn, step=rows[number], state=shown, folded=folded)
        if run.beyond is not None and number == run.beyond.step:
            return explained
        return self.with_alternatives(explained, run.events[number], judgement)

    # --- the reasons ----------------------------------------------------------------------------------------------

    def scope(self, judgement: Judgement, number: int) -> Scope:
        """The step that led to record `number` (the initial state: a step from itself)."""
        states = judgement.states
        return Scope(self.evaluator, states[max(0, number - 1)], states[number])

    def still(self, state: State) -> Scope:
        """A state that stays as it is, for formulas that do not depend on a step."""
        return Scope(self.evaluator, state, state)

    def finding(self, key: Key, number: int, run: Run, judgement: Judgement) -> tuple[Finding, tuple[Cell, ...]]:
        """The finding, and the parts of the state that decide it."""
        kind, name = key
        if run.beyond is not None and number == run.beyond.step:
            return self.beyond(key, run.events[number], run.beyond), ()
        if kind == NOT_A_STEP:
            return self.not_a_step(run.events[number], judgement)
        if kind == OBSERVATION:
            return self.observation(name, run.events[number], judgement), ()
        named = next(named for named in self.named(kind) if named.name == name)
        scope = self.scope(judgement, number)
        if kind != ACTION_PROPERTY:
            scope = self.still(judgement.states[number])
        reason, cells = why(named.body, scope, Env(), self.source)
        names = anomalies(self.module.name, [name])
        return Finding(kind, name, number, str(named.loc), reason, anomalies=names), cells

    def beyond(self, key: Key, event: Event, beyond: Beyond) -> Finding:
        """A value that TypeOK, or the domain of a parameter, does not have."""
        kind, name = key
        if kind == NOT_A_STEP:
            reason = Reason(event.label, "false", note=beyond.what)
            return Finding(kind, event.action, event.number, str(self.specification.action(event.action).loc), reason)
        named = next(named for named in self.specification.invariants if named.name == name)
        return Finding(kind, name, event.number, str(named.loc), Reason(name, "false", note=beyond.what))

    def named(self, kind: str) -> Iterable[Named]:
        """The specification's checks of a kind: invariants, action properties, else quiescence predicates."""
        specification = self.specification
        return {INVARIANT: specification.invariants, ACTION_PROPERTY: specification.properties}.get(
            kind, specification.quiescence
        )

    def not_a_step(self, event: Event, judgement: Judgement) -> tuple[Finding, tuple[Cell, ...]]:
        """Why a record is no step of its action, no attempt that a rule refused, or no stutter, and the values that
        decide it."""
        if event.kind != STEP:
            before = judgement.states[event.number - 1]
            changed = [name for name, value in event.state.items() if before[name] != value]
            if not changed:
                return self.not_refused(event, judgement)
            what = f"a blocked {event.action}" if event.kind == BLOCKED else "a stutter"
            note = f"{what} changes nothing, but {', '.join(changed)} changed"
            reason = Reason(f"UNCHANGED <<{', '.join(event.state)}>>", "false", note=note)
            return Finding(NOT_A_STEP, event.action, event.number, "", reason, f"{what} that changes something"), ()
        action = self.specification.action(event.action)
        scope = self.scope(judgement, event.number)
        reason, cells = why(action.body, scope, self.parameters(action, event), self.source)
        return Finding(NOT_A_STEP, event.action, event.number, str(action.loc), reason), cells

    def observation(self, name: str, event: Event, judgement: Judgement) -> Finding:
        """A finding that sets a field's observed values beside the computed ones."""
        parted = []
        for told in event.told:
            state = judgement.states[event.number - (not told.after)]
            field, computed = observed_in(self.judge.schema, self.checks, state, told)
            if field == name and computed != told.value and self.judge.schema.observables:
                what = self.judge.schema.observables.name(told.observable)
                place = "after" if told.after else "before"
                parted.append(f"{what} {place} the step: observed {dumps(told.value)}, computed {dumps(computed)}")
        observed = self.module.observed
        loc = str(observed.loc) if observed else ""
        return Finding(OBSERVATION, name, event.number, loc, Reason("; ".join(parted), "false"))

    def not_refused(self, event: Event, judgement: Judgement) -> tuple[Finding, tuple[Cell, ...]]:
        """A blocked attempt whose guards all hold."""
        action = self.specification.action(event.action)
        env = self.parameters(action, event)
        reason, cells = why(enabling(action), self.scope(judgement, event.number), env, self.source)
        noted = replace(reason, note=f"no rule refuses {event.label}: every guard holds")
        said = f"a blocked {event.action} that nothing blocks"
        return Finding(NOT_A_STEP, event.action, event.number, str(action.loc), noted, said), cells

    def not_initial(self, bare: Explanation, run: Run) -> Explanation:
        """The explanation of a run whose first state does not satisfy Init."""
        state = run.events[0].state
        reason, cells = why(self.module.init, Scope(self.evaluator, state, state), Env(), self.source)
        finding = Finding("not-initial", "Init", 0, reason.place, reason)
        shown, folded = shown_variables(state, cells, self.module.ghosts)
        return replace(bare, findings=(finding,), state=shown, folded=folded)

    def parameters(self, action: Action, event: Event) -> Env:
        """The action's parameters as bound identifiers."""
        env = Env()
        for param, value in zip(action.params, event.params, strict=True):
            env = env.bind(param.uid, value)
        return env

    # --- the state before, and the steps it allowed ---------------------------------------------------------------

    def with_alternatives(self, explained: Explanation, event: Event, judgement: Judgement) -> Explanation:
        """Add the steps that were possible instead. For a step that is none, add also the changes that would make it
        one."""
        before, after = judgement.states[event.number - 1], judgement.states[event.number]
        if explained.findings[0].kind != NOT_A_STEP:
            return replace(explained, enabled=tuple(self.enabled(before, event.label)))
        enabled = tuple(self.enabled(before))
        return replace(
            explained,
            enabled=enabled,
            allowed=tuple(self.allowed(before, after)),
            allowed_without=self.missing(event, judgement),
        )

    def enabled(self, state: State, but: str = "") -> Iterable[Enabled]:
        """The actions whose enabling conjuncts hold, grouped by action in the order of Next, one label left out."""
        groups: dict[str, list[str]] = {}
        for name, params in self.checks.enabled_actions(state):
            if (named := label(name, params)) != but:
                groups.setdefault(name, []).append(named)
        return [Enabled(name, tuple(labels), len(labels)) for name, labels in groups.items()]

    def allowed(self, before: State, after: State) -> Iterable[str]:
        """The labels of all steps that lead from `before` to `after`, whatever the trace calls it."""
        tried = 0
        for action in self.module.actions:
            for params in product(*self.checks.parameters(action.name)):
                tried += 1
                if tried > ATTEMPTS:
                    return
                if self.is_step(self.checks, action.name, params, before, after):
                    yield label(action.name, params)

    def missing(self, event: Event, judgement: Judgement) -> tuple[tuple[str, ...], ...]:
        """The sets of rules without which a step that is none would be one (none for a stutter or an attempt)."""
        if event.kind != STEP:
            return ()
        return tuple(self.allowed_without(event, judgement.states[event.number - 1], judgement.states[event.number]))

    def allowed_without(self, event: Event, before: State, after: State) -> Iterable[tuple[str, ...]]:
        """The rules of the action, in force now, that keep this from being its step: alone, or else two together."""
        action = self.specification.action(event.action)
        rules = {node.rule for node in walk(action.body) if isinstance(node, RuleGuard | HasRule)}
        for size in (1, 2):
            found = [
                together
                for together in combinations(sorted(rules - self.specification.without), size)
                if self.is_step(self.checks_without(together), event.action, event.params, before, after)
            ]
            if found:
                return found
        return []

    def checks_without(self, rules: Iterable[str]) -> PythonChecks:
        """The checks of the specification without some more rules, compiled once."""
        removed = self.specification.without | set(rules)
        if removed not in self.compiled:
            constants = {**self.specification.constants, WITHOUT: removed}
            self.compiled[removed] = compile_python(replace(self.specification, constants=constants))
        return self.compiled[removed]

    @staticmethod
    def is_step(checks: PythonChecks, action: str, params: tuple[object, ...], before: State, after: State) -> bool:
        """Whether it is a step of the action; one that cannot be evaluated is none."""
        try:
            return checks.action(action, params, before, after) is True
        except EvaluationError:
            return False

    # --- the picture ----------------------------------------------------------------------------------------------

    def drawn(
        self, run: Run, judgement: Judgement, rows: list[StepView], failing: Iterable[int], window: int | None
    ) -> Diagram:
        """The space-time diagram (arguments as of `spacetime.diagram`). The formula of a record's action says what the
        record has read; for an attempt the guards alone do."""
        bodies: dict[tuple[str, str], Expr] = {}
        for action in self.module.actions:
            bodies[(action.name, STEP)] = action.body
            bodies[(action.name, BLOCKED)] = enabling(action)

        def read(number: int) -> Iterable[Cell]:
            event = run.events[number]
            body = bodies.get((event.action, event.kind))
            if body is None or number >= len(judgement.states):
                return ()
            env = self.parameters(self.specification.action(event.action), event)
            return reads(body, self.scope(judgement, number), env)

        drawn = diagram(run, rows, read, failing, window)
        return self.stored(drawn, run, dict(enumerate(judgement.states)))

    def stored(self, drawn: Diagram, run: Run, states: Mapping[int, State]) -> Diagram:
        """The diagram with the stored state after its rows. `states`: the state after a record, by its number."""
        if not drawn.rows or not states:
            return drawn
        first = next(iter(states.values()))
        picture = self.picture or fallback(first, run.nodes, self.module.ghosts)
        return with_strips(drawn, picture, states)


_RANK = {NOT_A_STEP: 0, OBSERVATION: 1, INVARIANT: 2, ACTION_PROPERTY: 3, QUIESCENCE: 4}
