"""The verification conditions of a theorem, judged: one for each lemma and action, Init, and each property.

A condition is proved when all its goals are. There is one goal for each known element that the lemma names and each
instance of the action. Instances count once up to the exchange of model values that the specification does not tell
apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from tidemark_conformance.prove import induction, solving
from tidemark_conformance.prove.clauses import Clause, clauses
from tidemark_conformance.prove.guesses import Guesses
from tidemark_conformance.prove.inductive import Lemma, Theorem
from tidemark_conformance.prove.second import Counts, Second
from tidemark_conformance.prove.symmetry import exchangeable, representatives
from tidemark_conformance.prove.terms import Arr, Coded, Fun, Rec, Symbolic, Term, as_bool, conj, reset
from tidemark_conformance.prove.universe import Step, Universe
from tidemark_conformance.tla import walk

INIT = "Init"
ALWAYS = "any state"
DEFINED = "history is defined"
ERRORLESS = "no error"
"""The condition that TLC evaluates an action, or Init, without an error in every state of the invariant."""
UNTRIED = "known to be open, and not tried again"
MOST_SIDES = 6
"""The most IFs of an action whose sides are told apart."""
MOST_CALLS = 40
"""The most questions about the sides of IFs that one goal is worth."""
TOGETHER = 64
"""The part of the limit that all goals of a condition are worth together, before each is asked alone."""
IMPOSSIBLE = "impossible"

Cores = Mapping[tuple[str, str], frozenset[str]]
"""(lemma, action) -> the names of the lemmas that proved it."""


@dataclass(frozen=True)
class Goal:
    """The rest of a lemma that is to be shown after a step: all of `parts`, about the elements `path`."""

    lemma: str
    path: tuple[str, ...]
    parts: tuple[Clause, ...]

    @property
    def term(self) -> Any:
        """The goal for any integers."""
        return as_bool(conj(*(part.body for part in self.parts)))


@dataclass
class Condition:
    """A lemma and an action: `goals` asked, those that were `framed` (nothing that they read changes), and the open."""

    lemma: str
    action: str
    goals: int = 0
    framed: int = 0
    core: frozenset[str] = frozenset()
    open: list[str] = field(default_factory=list)
    seconds: float = 0.0
    again: Counts = field(default_factory=Counts)
    """The answers of a second solver, where one was asked. A question of several conditions is counted in one."""
    unsure: bool = False
    """Whether a second solver has no answer to a question on which it rests."""

    @property
    def proved(self) -> bool:
        """Whether every goal is proved."""
        return not self.open

    def answered(self, answers: Counts) -> None:
        """A second solver has answered questions of this condition."""
        self.again += answers
        self.unsure |= answers.given_up > 0


@dataclass
class Result:
    """All conditions of a theorem."""

    theorem: str
    conditions: list[Condition]
    seconds: float = 0.0

    @property
    def open(self) -> list[Condition]:
        """The conditions that are not proved."""
        return [one for one in self.conditions if not one.proved]

    @property
    def closed(self) -> bool:
        """Whether every condition is proved."""
        return bool(self.conditions) and not self.open


class Prover:
    """Judges the conditions of a theorem."""

    def __init__(
        self,
        theorem: Theorem,
        without: Iterable[str] | None = None,
        limit: int = solving.LIMIT,
        second: Second | None = None,
    ) -> None:
        self.theorem, self.limit, self.second = theorem, limit, second
        changed = without is not None and frozenset(without) != frozenset(theorem.spec.without)
        self.given = frozenset[str]() if changed else theorem.given
        """The lemmas that another theorem has shown: none under other rules than its own."""
        self.universe: Universe = theorem.universe(without)
        run = self.universe.evaluator(self.universe.state)
        self.clauses: dict[str, list[Clause]] = {one.name: clauses(run, one.body) for one in theorem.lemmas}
        self.hypotheses = {name: [one.hypothesis() for one in found] for name, found in self.clauses.items()}
        for corollary in theorem.corollaries:
            self.hypotheses[corollary.name] = [one.hypothesis() for one in clauses(run, corollary.body)]
        self.side: list[Term] = [*run.side, *self.universe.assumed]
        run = self.universe.evaluator(self.universe.state, "guard")
        self.constraints = [one.hypothesis() for each in theorem.constraints for one in clauses(run, each.body)]
        self.side += run.side
        self.impossible: dict[str, frozenset[str]] = {}
        self.open_branches: dict[solving.Session, list[Term]] = {}
        self.known: dict[str, list[frozenset[str]]] = {}
        self.reads = {one.name: walk.variables_used(one.body) for one in theorem.lemmas}
        self.definitions = dict(self.universe.boundaries)

    def afresh(self) -> None:
        """Forgets the definitions, names and guesses of the actions before: an action's questions, and so its verdict,
        are the same whatever was judged before."""
        self.universe.boundaries.clear()
        self.universe.boundaries.update(self.definitions)
        self.known.clear()
        self.open_branches.clear()
        reset()

    def session(self, hypotheses: Mapping[str, Sequence[Any]], facts: Iterable[Any], part: int = 1) -> solving.Session:
        """Questions under these hypotheses and facts, with one `part` of the limit each."""
        return solving.Session(hypotheses, facts, self.limit // part, second=self.second)

    def guesses(
        self, lemma: str, core: frozenset[str] | None, hypotheses: Mapping[str, Sequence[Any]], facts: Sequence[Any]
    ) -> Guesses:
        """The few hypotheses to try first for a lemma's goals under these facts."""
        return Guesses(self.session, self.known.setdefault(lemma, []), core, hypotheses, facts)

    def said(self) -> Counts:
        """The answers of the second solver so far."""
        return self.second.counts if self.second else Counts()

    # Conditions

    def actions(self) -> list[str]:
        """The actions of the specification, in the order of Next."""
        return self.theorem.spec.action_names

    def instances(self, action: str) -> list[dict[str, Symbolic]]:
        """The instances of an action, one of those that exchanges of model values carry into each other."""
        own = self.theorem
        claims = [one.body for one in (*own.lemmas, *own.corollaries, *own.implied, *own.steps)]
        return representatives(self.universe.instances(action), exchangeable(own.spec, claims))

    def judge(
        self,
        cores: Cores | None = None,
        only: Callable[[str, str], bool] = lambda lemma, action: True,
        told: Callable[[Condition], None] = lambda condition: None,
        untried: Collection[tuple[str, str]] = (),
    ) -> Result:
        """Every condition (those that `only` picks), by kept cores where they suffice. Those `untried` stay open."""
        began = time.monotonic()
        result = Result(self.theorem.name, [])
        for action, step in self.steps(only):
            names = [one for one in self._lemmas_after(action) if only(one.name, action)]
            for one in [one for one in names if (one.name, action) in untried]:
                result.conditions.append(Condition(one.name, action, 1, open=[UNTRIED]))
                names.remove(one)
            # The theorem that this one rests on has shown both for every run.
            more = [one for one in (DEFINED, ERRORLESS) if only(one, action) and not self.given]
            for name in [one for one in more if (one, action) in untried]:
                result.conditions.append(Condition(name, action, 1, open=[UNTRIED]))
                more.remove(name)
            self._after(action, step, names, more, cores or {}, result, told)
        for lemma in (*self.theorem.corollaries, *self.theorem.implied):
            if only(lemma.name, ALWAYS):
                self.afresh()
                condition = (
                    Condition(lemma.name, ALWAYS, 1, open=[UNTRIED])
                    if (lemma.name, ALWAYS) in untried
                    else self._implied(lemma, cores or {})
                )
                result.conditions.append(condition)
                told(condition)
        result.seconds = time.monotonic() - began
        return result

    def steps(self, only: Callable[[str, str], bool]) -> Iterator[tuple[str, list[Step]]]:
        """Init and each action, with its instances as steps."""
        more = [ERRORLESS, DEFINED]
        if any(only(one, INIT) for one in [*more, *(lemma.name for lemma in self._lemmas_after(INIT))]):
            self.afresh()
            yield INIT, [self.universe.initial()]
        for action in self.actions():
            if any(only(one, action) for one in [*more, *(lemma.name for lemma in self._lemmas_after(action))]):
                self.afresh()
                yield action, [self.universe.step(action, params) for params in self.instances(action)]

    def _lemmas_after(self, action: str) -> list[Lemma]:
        own = [one for one in self.theorem.lemmas if one.name not in self.given]
        return [*own, *(self.theorem.steps if action != INIT else ())]

    def _after(
        self,
        action: str,
        steps: Sequence[Step],
        lemmas: Sequence[Lemma],
        more: Collection[str],
        cores: Cores,
        result: Result,
        told: Callable[[Condition], None],
    ) -> None:
        """The conditions of one action: each lemma after each instance, the history's next values, and no error."""
        found = {one.name: Condition(one.name, action) for one in lemmas}
        if DEFINED in more and any(step.defined is not True for step in steps):
            found[DEFINED] = Condition(DEFINED, action)
        if ERRORLESS in more:
            found[ERRORLESS] = Condition(ERRORLESS, action)
        for step in steps:
            goals: dict[str, list[Goal]] = {}
            side = [*self.side, *step.side]
            for lemma in lemmas:
                goals[lemma.name], axioms = self.goals(lemma, step, found[lemma.name])
                side += axioms
            if DEFINED in found and step.defined is not True:
                found[DEFINED].goals += 1
                goals[DEFINED] = [Goal(DEFINED, (), (Clause((), (), (), step.defined),))]
            self._ask(step, side, goals, found, cores)
            if ERRORLESS in found and step.errorless is not True:
                self._ask_errorless(step, found[ERRORLESS], cores)
        for condition in found.values():
            result.conditions.append(condition)
            told(condition)

    def goals(self, lemma: Lemma, step: Step, condition: Condition) -> tuple[list[Goal], list[Term]]:
        """The goals of a lemma after a step, without those that the step cannot change."""
        changed = {name for name, value in step.next.items() if value is not self.universe.state[name]}
        primed = lemma in self.theorem.steps
        if not primed and step.action != INIT and not (self.reads[lemma.name] & changed):
            condition.framed += len(self.clauses[lemma.name])
            return [], []
        reading = "free" if lemma in self.theorem.lemmas else "claim"
        run = self.universe.evaluator(self.universe.state if primed else step.next, reading)
        run.primed = step.next if primed else {}
        found = clauses(run, lemma.body)
        before = self.clauses.get(lemma.name, []) if step.action != INIT and not primed else []
        grouped: dict[tuple[str, ...], list[Clause]] = {}
        # The terms are kept along: the solver gives the id of a term that is gone to another one.
        bodies = [(one.path, as_bool(one.body)) for one in before]
        known = {(path, body.get_id()) for path, body in bodies}
        for clause in found:
            if (clause.path, as_bool(clause.body).get_id()) in known:
                condition.framed += 1
                continue
            grouped.setdefault(clause.path, []).append(clause)
        condition.goals += len(grouped)
        return [Goal(lemma.name, path, tuple(parts)) for path, parts in grouped.items()], list(run.side)

    def _ask(
        self,
        step: Step,
        side: list[Term],
        goals: Mapping[str, Sequence[Goal]],
        found: Mapping[str, Condition],
        cores: Cores,
    ) -> None:
        hypotheses = self.hypotheses if step.action != INIT else {}
        facts = [step.guard, *self.allowed(step), *_distinct(side)]
        whole: solving.Session | None = None
        said = self.said()
        if hypotheses and any(goals.values()) and (not cores or (IMPOSSIBLE, step.call) in cores):
            small = self.guesses(IMPOSSIBLE, cores.get((IMPOSSIBLE, step.call)), hypotheses, facts)
            never = small.ask(z3.BoolVal(False))
            if not never.proved:
                whole = self.session(hypotheses, facts)
                never = whole.ask(z3.BoolVal(False), part=32)
            concerned = [found[name] for name, asked in goals.items() if asked]
            answers = self.said() - said
            concerned[0].again += answers  # once for all of them
            if never.proved:
                self.impossible[step.call] = never.core
                for condition in concerned:
                    condition.core |= never.core
                    condition.unsure |= answers.given_up > 0
                return
        for name, asked in goals.items():
            small = self.guesses(name, cores.get((name, step.action)), hypotheses, facts)
            whole = self._ask_all(step, asked, found[name], small, whole)

    def _ask_errorless(self, step: Step, condition: Condition, cores: Cores) -> None:
        """The condition that the action is evaluated without an error: its guard is no fact there."""
        hypotheses = self.hypotheses if step.action != INIT else {}
        facts = [step.given, *self.allowed(step), *_distinct([*self.side, *step.side])]
        errorless = step.errorless
        parts = errorless.children() if z3.is_and(errorless) else [errorless]
        goal = Goal(ERRORLESS, (), tuple(Clause((), (), (), one) for one in parts))
        condition.goals += 1
        small = self.guesses(ERRORLESS, cores.get((ERRORLESS, step.action)), hypotheses, facts)
        self._ask_all(step, [goal], condition, small, None)

    def _ask_all(
        self, step: Step, asked: Sequence[Goal], condition: Condition, small: Guesses, whole: solving.Session | None
    ) -> solving.Session | None:
        """The goals of a condition, by few hypotheses or by all; the session with all of them, where it was needed."""
        began, said = time.monotonic(), self.said()
        kept = small.kept() if asked else None
        if kept is not None and len(asked) > 1 and self.second is None:
            together = kept.ask(conj(*(goal.term for goal in asked)), part=TOGETHER)
            if together.proved:
                condition.core |= together.core
                asked = []
        for goal in asked:
            answer = self.insist(kept, goal, step) if kept is not None else small.ask(goal.term)
            if not answer.proved:
                whole = whole or self.session(small.hypotheses, small.facts)
                answer = self.insist(whole, goal, step)
                small.learn(answer)
            condition.core |= answer.core
            if not answer.proved:
                where = f" for {', '.join(goal.path)}" if goal.path else ""
                condition.open.append(f"{step.call}{where}: {answer.why}")
        condition.seconds += time.monotonic() - began
        condition.answered(self.said() - said)
        return whole

    def insist(self, session: solving.Session, goal: Goal, step: Step) -> solving.Answer:
        """A goal whole, then part by part, then each part by a patient solver, and then under each side of the action's
        IFs, while calls last."""
        answer = session.ask(goal.term, part=4)
        if answer.proved or answer.why == "sat":
            return answer
        core: frozenset[str] = frozenset()
        calls = [MOST_CALLS]
        for part in goal.parts:
            one = session.ask(part.body, part=2)
            if not one.proved and "incomplete" in one.why:
                one = session.insist(part.body)
            if not one.proved and one.why != "sat":
                one = self.split(session, part, self.undecided(session, step), (), calls)
            if not one.proved:
                return one
            core |= one.core
        return solving.Answer(True, core)

    def undecided(self, session: solving.Session, step: Step) -> list[Term]:
        """The conditions of a step's IFs that its guard leaves open, the shortest first."""
        if session not in self.open_branches:
            found = [(len(one.sexpr()), at, one) for at, one in enumerate(step.branches)]
            self.open_branches[session] = [
                one
                for _, _, one in sorted(found, key=lambda each: each[:2])
                if not session.ask(one, part=16).proved and not session.ask(z3.Not(one), part=16).proved
            ]
        return self.open_branches[session]

    def split(
        self, session: solving.Session, part: Clause, branches: list[Term], sides: tuple[Any, ...], calls: list[int]
    ) -> solving.Answer:
        """A part under `sides`; where that fails, under either side of the next IF as well."""
        last = not branches or len(sides) >= MOST_SIDES
        if calls[0] <= 0:
            return solving.Answer(False, why="too many cases")
        calls[0] -= 1
        answer = session.ask(part.body, sides, 1 if last else 4) if sides or last else solving.Answer(False)
        if not answer.proved and last and "incomplete" in answer.why:
            answer = session.insist(part.body, sides)
        if answer.proved or last or answer.why == "sat":
            return answer
        first, rest = branches[0], branches[1:]
        core: frozenset[str] = frozenset()
        for side in (first, z3.Not(first)):
            answer = self.split(session, part, rest, (*sides, side), calls)
            if not answer.proved:
                return answer
            core |= answer.core
        return solving.Answer(True, core)

    def allowed(self, step: Step) -> list[Any]:
        """The CONSTRAINTs of the state before a step; Init has none."""
        return self.constraints if step.action != INIT else []

    def _implied(self, lemma: Lemma, cores: Cores) -> Condition:
        condition = Condition(lemma.name, ALWAYS)
        began, said = time.monotonic(), self.said()
        # A corollary is a hypothesis of actions, so it is shown as it is used there.
        reading = "free" if lemma in self.theorem.corollaries else "claim"
        run = self.universe.evaluator(self.universe.state, reading)
        found = clauses(run, lemma.body)
        hypotheses = self.before(lemma)
        smaller = induction.smaller(found) if lemma in self.theorem.corollaries else []
        if smaller:
            hypotheses = {**hypotheses, lemma.name: smaller}
        facts = _distinct([*self.side, *run.side, *self.ends()])
        small = self.guesses(lemma.name, cores.get((lemma.name, ALWAYS)), hypotheses, facts)
        whole: solving.Session | None = None
        for part in found:
            condition.goals += 1
            goal = induction.at_measure(part) if smaller else part.body
            answer = small.ask(goal)
            if not answer.proved:
                whole = whole or self.session(hypotheses, facts)
                answer = whole.ask(goal)
                small.learn(answer)
            condition.core |= answer.core
            if not answer.proved:
                condition.open.append(f"{', '.join(part.path) or 'any state'}: {answer.why}")
        condition.seconds = time.monotonic() - began
        condition.answered(self.said() - said)
        return condition

    def before(self, lemma: Lemma) -> dict[str, list[Any]]:
        """The hypotheses from which a corollary or property is to follow: lemmas, and the corollaries before it."""
        names = [one.name for one in self.theorem.corollaries]
        later = names[names.index(lemma.name) :] if lemma.name in names else []
        return {name: terms for name, terms in self.hypotheses.items() if name not in later}

    def ends(self) -> list[Term]:
        """Names for the last elements of the state's sequences, so that hypotheses are tried there."""
        found: list[Term] = []
        for name, value in self.universe.state.items():
            for at, one in enumerate([value, *value.images] if isinstance(value, Fun) else [value]):
                if isinstance(one, Arr) and z3.is_expr(one.high):
                    last = one.get(one.high)
                    fields = last.fields.items() if isinstance(last, Rec) else []
                    terms = [(of, part.term if isinstance(part, Coded) else part) for of, (part, _) in sorted(fields)]
                    found += [
                        part == z3.Const(f"last {name} {at} {of}", part.sort())
                        for of, part in terms
                        if z3.is_expr(part)
                    ]
        return found

    # Vacuity

    def enabled(self, action: str, limit: int = solving.LIMIT) -> str:
        """Whether a state of the invariant enables the action: "sat", "unsat", or "unknown"."""
        result = "unsat"
        for params in self.instances(action):
            step = self.universe.step(action, params)
            one = solving.solver(limit, models=True)
            for terms in self.hypotheses.values():
                one.add(*terms)
            one.add(as_bool(step.guard), *map(as_bool, _distinct([*self.allowed(step), *self.side, *step.side])))
            found = str(one.check())
            if found == "sat":
                return "sat"
            result = "unknown" if found == "unknown" else result
        return result


def _distinct(terms: Iterable[Term]) -> list[Any]:
    found: dict[int, Any] = {}
    for term in terms:
        one = as_bool(term)
        found[one.get_id()] = one
    return list(found.values())
