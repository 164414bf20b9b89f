"""Every backend of the compiler against TLC, on the full state graph of a small model.

TLC's side is a `Graph`: nothing here evaluates TLA+ by itself. A backend is asked about every invariant and quiescence
predicate on every state, and about Init. It is asked about every action and action property on every edge, and about
every invariant after an edge at whose start it holds. It is asked about every action on at least as many near misses.
It is asked for the next values of ghosts and hidden variables on every edge. It replays walks through the graph as an
audit does. It is asked about every predicate and property on changed states and steps, in which those that the model
never violates are false. One disagreement is too many, and a property that was never false was not compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc.graph import Graph
from tidemark_conformance.tlc.mutants import TYPE_OK, Mutants
from tidemark_conformance.tlc.nonedges import NonEdge, near_misses
from tidemark_conformance.tlc.values import to_tla
from tidemark_conformance.tlc.walks import Walk, walks

State = Mapping[str, Value]
Attempt = tuple[tuple[Value, ...], State, State]
"""Parameters, state, next state; the states with their ghosts."""


class Backend(Protocol):
    """The questions to a backend, all in batches. It answers in the order of the questions.

    An expression that cannot be evaluated is an answer, too: a predicate is then false. A slow backend may leave
    questions out: its answer to them is None, and the comparison counts them.
    """

    name: str
    partial: bool
    """Whether it has a form for some constructs only, and refuses the others."""

    def domains(self, action: str) -> Sequence[Sequence[Value]]: ...
    def init(self, states: Sequence[State]) -> Sequence[bool | None]: ...
    def invariant(self, name: str, states: Sequence[State]) -> Sequence[bool | None]: ...
    def invariant_after(self, name: str, pairs: Sequence[tuple[State, State]]) -> Sequence[bool | None]: ...
    def quiescent(self, name: str, states: Sequence[State]) -> Sequence[bool | None]: ...
    def property(self, name: str, pairs: Sequence[tuple[State, State]]) -> Sequence[bool | None]: ...
    def action(self, name: str, attempts: Sequence[Attempt]) -> Sequence[bool | None]: ...
    def ghosts(self, name: str, attempts: Sequence[Attempt]) -> Sequence[State | None]: ...
    def initial_ghosts(self, states: Sequence[State]) -> Sequence[State | None]: ...
    def hidden(self, name: str, attempts: Sequence[Attempt]) -> Sequence[State | None]: ...
    def initial_hidden(self, states: Sequence[State]) -> Sequence[State | None]: ...
    def replay(self, walks: Sequence[Walk]) -> Sequence[dict[str, int] | None]: ...


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One question on which a backend and TLC differ. `next` is None for a question about one state."""

    question: str
    tlc: Any
    backend: Any
    state: State | None = None
    next: State | None = None

    def __str__(self) -> str:
        lines = [f"{self.question}: TLC says {_text(self.tlc)}, the backend says {_text(self.backend)}"]
        if self.state is not None:
            lines.append("  state")
            lines += [f"    {name} = {to_tla(value)}" for name, value in self.state.items()]
        if self.state is not None and self.next is not None:
            lines.append("  next state, as far as it differs")
            lines += [
                f"    {name}' = {to_tla(value)}" for name, value in self.next.items() if value != self.state[name]
            ]
        return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "[" + ", ".join(f"{name} |-> {to_tla(item)}" for name, item in value.items()) + "]"
    return to_tla(value) if isinstance(value, bool | tuple | frozenset | int) else str(value)


@dataclass(slots=True)
class Comparison:
    """One backend on one model: questions asked, answers that differ, and the first of them.

    `left_out`: questions that the backend did not answer; `refused`: a construct that it cannot express, with its line.
    """

    backend: str
    compared: int = 0
    disagreements: int = 0
    first: Disagreement | None = None
    kinds: dict[str, int] = field(default_factory=dict)
    left_out: int = 0
    refused: str | None = None

    def hold(
        self,
        kind: str,
        expected: Sequence[Any],
        answers: Sequence[Any],
        describe: Callable[[int], Disagreement],
    ) -> None:
        """Compares answers with TLC's, and remembers the first that differs (`describe(i)` gives its circumstances)."""
        if len(expected) != len(answers):
            raise ValueError(f"{self.backend} gave {len(answers)} answers to {len(expected)} questions")
        asked = sum(answer is not None for answer in answers)
        self.compared += asked
        self.left_out += len(expected) - asked
        self.kinds[kind] = self.kinds.get(kind, 0) + asked
        for at, (tlc, backend) in enumerate(zip(expected, answers, strict=True)):
            if backend is not None and tlc != backend:
                self.disagreements += 1
                if self.first is None:
                    self.first = describe(at)


@dataclass(frozen=True, slots=True)
class Agreement:
    """A model compared: the graph's sizes, the actions with and without an edge, and one comparison per backend.

    `broken`, `unbroken`: the predicates and properties that TLC found false somewhere, and nowhere.
    """

    model: str
    states: int
    violating_states: int
    edges: int
    non_edges: int
    invariants: int
    actions: int
    properties: int
    taken: tuple[str, ...]
    untaken: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    seconds: float
    broken: tuple[str, ...] = ()
    unbroken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Something was compared, and nothing differs."""
        asked = bool(self.comparisons) and all(one.compared or one.refused for one in self.comparisons)
        return asked and not any(one.disagreements for one in self.comparisons)


def never_taken(agreements: Iterable[Agreement]) -> list[str]:
    """The actions of which no model has a step, among the models with the same actions: those of one specification."""
    taken: dict[tuple[str, ...], set[str]] = {}
    for one in agreements:
        taken.setdefault(tuple(sorted(one.taken + one.untaken)), set()).update(one.taken)
    return [action for actions, found in taken.items() for action in actions if action not in found]


def never_false(agreements: Iterable[Agreement]) -> list[str]:
    """The predicates and properties that TLC found false nowhere, among the models with the same actions."""
    asked: dict[tuple[str, ...], dict[str, bool]] = {}
    for one in agreements:
        found = asked.setdefault(tuple(sorted(one.taken + one.untaken)), {})
        for name in (*one.broken, *one.unbroken):
            found[name] = found.get(name, False) or name in one.broken
    return [name for found in asked.values() for name, broken in found.items() if not broken]


def compare(
    model: str,
    graph: Graph,
    ghosts: tuple[str, ...],
    backends: Iterable[Backend],
    mutants: Mutants | None = None,
    seed: int = 1,
    started: float | None = None,
    hidden: tuple[str, ...] = (),
) -> Agreement:
    """Asks every backend everything. `ghosts` are the model's history variables, `mutants` changed states and steps.
    `hidden` are the variables that no trace carries: on walks they are computed.

    The agreement's seconds count from `started` (`time.monotonic()`), by default from now.
    """
    started = time.monotonic() if started is None else started
    if not graph.edges:
        raise Unusable(f"{model} takes no step, so it compares nothing: give agree a model that does something")
    misses = near_misses(graph, ghosts, seed)
    ways = walks(graph, told_apart(graph, misses, {*ghosts, *hidden}), seed)
    comparisons = []
    for backend in backends:
        questions = _Questions(graph, ghosts, hidden, misses, backend)
        try:
            questions.all(ways, mutants)
        except Unsupported as problem:
            if not backend.partial:
                raise
            questions.comparison.refused = str(problem)
        comparisons.append(questions.comparison)
    taken = {edge.action for edge in graph.edges}
    broken = _broken(graph, mutants or Mutants())
    violating = sum(not all(graph.predicates[name][at] for name in graph.invariants) for at in range(len(graph.states)))
    return Agreement(
        model=model,
        states=len(graph.states),
        violating_states=violating,
        edges=len(graph.edges),
        non_edges=len(misses),
        invariants=len(graph.invariants),
        actions=len(graph.domains),
        properties=len(graph.broken),
        taken=tuple(action for action in graph.domains if action in taken),
        untaken=tuple(action for action in graph.domains if action not in taken),
        broken=tuple(name for name, found in broken.items() if found),
        unbroken=tuple(name for name, found in broken.items() if not found),
        comparisons=tuple(comparisons),
        seconds=time.monotonic() - started,
    )


def told_apart(graph: Graph, misses: Sequence[NonEdge], computed: Collection[str]) -> list[NonEdge]:
    """The near misses that a trace shows: not only in `computed` variables does their next state differ from all that
    the action leads to."""

    def shown(state: State) -> tuple[Value, ...]:
        return tuple(value for name, value in state.items() if name not in computed)

    real: dict[tuple[int, str, tuple[Value, ...]], set[tuple[Value, ...]]] = {}
    for edge in graph.edges:
        real.setdefault((edge.source, edge.action, edge.params), set()).add(shown(graph.states[edge.target]))
    return [miss for miss in misses if shown(miss.next) not in real.get((miss.source, miss.action, miss.params), ())]


def _broken(graph: Graph, mutants: Mutants) -> dict[str, bool]:
    """Per predicate and action property whether TLC found it false somewhere; `TypeOK` left out."""
    names = {name: not all(graph.predicates[name]) for name in graph.predicates if name != TYPE_OK}
    names |= {name: bool(steps) for name, steps in graph.broken.items()}
    answers = {**mutants.predicates, **mutants.properties}
    return {name: found or not all(answers.get(name, ())) for name, found in names.items()}


class _Questions:
    """All questions to one backend about one model."""

    def __init__(
        self,
        graph: Graph,
        ghosts: tuple[str, ...],
        hidden: tuple[str, ...],
        misses: Sequence[NonEdge],
        backend: Backend,
    ) -> None:
        self.graph = graph
        self.ghosts = ghosts
        self.hidden = hidden
        self.misses = misses
        self.backend = backend
        self.comparison = Comparison(backend.name)

    def all(self, ways: Sequence[Walk], mutants: Mutants | None) -> None:
        """Every question. Raises Unsupported where the backend has no form for a construct."""
        self.states()
        self.steps()
        self.after_steps(mutants or Mutants())
        self.near_misses()
        self.replays(ways)
        if mutants is not None:
            self.mutants(mutants)

    def states(self) -> None:
        """Domains of parameters, Init, first ghosts, invariants and quiescence predicates."""
        graph, backend, hold = self.graph, self.backend, self.comparison.hold
        for action, domains in graph.domains.items():
            own = tuple(tuple(domain) for domain in backend.domains(action))
            hold(
                "domains",
                [domains],
                [own],
                lambda _, a=action, d=domains, o=own: Disagreement(f"the parameters' domains of {a}", d, o),  # type: ignore[misc]
            )
        firsts = {self.visible(graph.states[at]) for at in graph.initial}
        expected = [self.visible(state) in firsts for state in graph.states]
        self.predicate("Init", expected, backend.init(graph.states))
        for name in graph.invariants:
            self.predicate(f"invariant {name}", graph.predicates[name], backend.invariant(name, graph.states))
        for name in graph.quiescence:
            self.predicate(f"predicate {name}", graph.predicates[name], backend.quiescent(name, graph.states))
        initial = [graph.states[at] for at in graph.initial]
        for kind, names, ask in (
            ("ghosts", self.ghosts, backend.initial_ghosts),
            ("hidden variables", self.hidden, backend.initial_hidden),
        ):
            if kind != "ghosts" and not names:
                continue
            firsts_of = [self.part(state, names) for state in initial]
            found = [one if one is None else dict(one) for one in ask(initial)]
            hold(
                kind,
                firsts_of,
                found,
                lambda at, k=kind, e=firsts_of, f=found: Disagreement(  # type: ignore[misc]
                    f"the first values of the {k}", e[at], f[at], initial[at]
                ),
            )

    def predicate(self, name: str, expected: Sequence[bool], answers: Sequence[bool | None]) -> None:
        self.comparison.hold(
            "states",
            expected,
            answers,
            lambda at: Disagreement(name, expected[at], answers[at], self.graph.states[at]),
        )

    def steps(self) -> None:
        """Every action and the ghosts on its edges, every action property on all edges."""
        graph, backend, states = self.graph, self.backend, self.graph.states
        for action in graph.domains:
            edges = [edge for edge in graph.edges if edge.action == action]
            attempts: list[Attempt] = [(edge.params, states[edge.source], states[edge.target]) for edge in edges]
            if not attempts:
                continue  # said in `Agreement.untaken`
            self.attempts("edges", action, attempts, [True] * len(edges), backend.action(action, attempts))
            self.computed("ghosts", self.ghosts, action, attempts, backend.ghosts(action, attempts))
            if self.hidden:
                found = backend.hidden(action, attempts)
                self.computed("hidden variables", self.hidden, action, attempts, found)
        pairs = sorted({(edge.source, edge.target) for edge in graph.edges})
        for name, broken in graph.broken.items():
            expected = [pair not in broken for pair in pairs]
            answers = backend.property(name, [(states[source], states[target]) for source, target in pairs])
            self.comparison.hold(
                "properties",
                expected,
                answers,
                lambda at, n=name, e=expected, s=answers: Disagreement(  # type: ignore[misc]
                    f"action property {n}", e[at], s[at], states[pairs[at][0]], states[pairs[at][1]]
                ),
            )

    def computed(
        self, kind: str, names: tuple[str, ...], action: str, attempts: Sequence[Attempt], found: Sequence[State | None]
    ) -> None:
        """The variables of a kind after an action's steps, which traces do not carry."""
        expected = [self.part(next_, names) for _, _, next_ in attempts]
        self.comparison.hold(
            kind,
            expected,
            [one if one is None else dict(one) for one in found],
            lambda at: Disagreement(
                f"the next {kind} of {_call(action, attempts[at][0])}",
                expected[at],
                found[at],
                attempts[at][1],
                attempts[at][2],
            ),
        )

    def after_steps(self, mutants: Mutants) -> None:
        """Every invariant in the states after steps (and in those changed from a state) from where it holds."""
        graph, states = self.graph, self.graph.states
        pairs = sorted({(edge.source, edge.target) for edge in graph.edges})
        at = {id(state): index for index, state in enumerate(states)}
        origins = [at[id(origin)] for origin in mutants.origins]
        for name in graph.invariants:
            held, changed = graph.predicates[name], mutants.predicates.get(name, [])
            asked: list[tuple[State, State]] = [
                (states[source], states[target]) for source, target in pairs if held[source]
            ]
            expected = [held[target] for source, target in pairs if held[source]]
            for origin, state, verdict in zip(origins, mutants.states, changed, strict=bool(changed)):
                if held[origin]:
                    asked.append((states[origin], state))
                    expected.append(verdict)
            answers = self.backend.invariant_after(name, asked)
            self.comparison.hold(
                "invariants after steps",
                expected,
                answers,
                lambda at, n=name, e=expected, s=answers, a=asked: Disagreement(  # type: ignore[misc]
                    f"invariant {n} after a step", e[at], s[at], *a[at]
                ),
            )

    def near_misses(self) -> None:
        """Every action on the steps that TLC does not take."""
        for action in self.graph.domains:
            attempts: list[Attempt] = [
                (miss.params, self.graph.states[miss.source], miss.next)
                for miss in self.misses
                if miss.action == action
            ]
            answers = self.backend.action(action, attempts) if attempts else []
            self.attempts("non-edges", action, attempts, [False] * len(attempts), answers)

    def replays(self, ways: Sequence[Walk]) -> None:
        """The first failing record of every check, over whole walks (of a last record that is no step: only that)."""
        answers: list[dict[str, int] | None] = []
        for way, found in zip(ways, self.backend.replay(ways), strict=True):
            if found is None:
                answers.append(None)
                continue
            cut = way.known < len(way.records)
            answers.append({name: at for name, at in found.items() if not cut or at <= way.known or name in way.first})
        self.comparison.hold(
            "walks",
            [way.first for way in ways],
            answers,
            lambda at: Disagreement(
                "the first failing records of " + ", ".join(_call(one.action, one.params) for one in ways[at].records),
                str(ways[at].first),
                str(answers[at]),
                ways[at].initial,
            ),
        )

    def mutants(self, given: Mutants) -> None:
        """Every predicate on changed states, every action property on changed steps."""
        backend, graph = self.backend, self.graph
        for name, expected in given.predicates.items():
            ask = backend.quiescent if name in graph.quiescence else backend.invariant
            answers = ask(name, given.states)
            self.comparison.hold(
                "changed states",
                expected,
                answers,
                lambda at, n=name, e=expected, s=answers: Disagreement(  # type: ignore[misc]
                    f"{n} in a changed state", e[at], s[at], given.states[at]
                ),
            )
        for name, expected in given.properties.items():
            answers = backend.property(name, given.pairs)
            self.comparison.hold(
                "changed steps",
                expected,
                answers,
                lambda at, n=name, e=expected, s=answers: Disagreement(  # type: ignore[misc]
                    f"action property {n} on a changed step", e[at], s[at], *given.pairs[at]
                ),
            )

    def attempts(
        self,
        kind: str,
        action: str,
        attempts: Sequence[Attempt],
        expected: Sequence[bool],
        answers: Sequence[bool | None],
    ) -> None:
        self.comparison.hold(
            kind,
            expected,
            answers,
            lambda at: Disagreement(
                f"step {_call(action, attempts[at][0])}", expected[at], answers[at], attempts[at][1], attempts[at][2]
            ),
        )

    def visible(self, state: State) -> tuple[Value, ...]:
        return tuple(value for name, value in state.items() if name not in self.ghosts)

    @staticmethod
    def part(state: State, names: tuple[str, ...]) -> dict[str, Value]:
        return {name: state[name] for name in names}


def _call(action: str, params: Sequence[Value]) -> str:
    return f"{action}({', '.join(to_tla(value) for value in params)})" if params else action
