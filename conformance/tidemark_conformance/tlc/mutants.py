r"""States and steps that no run of a model has, each near one that it has, judged by TLC.

A property that no state of a small model violates would be compared on TRUE alone. So states are changed in the parts
that such a property reads until it falls. TLC is asked about them as it is about the model's own. The Python backend
only guides the search, and passes over expressions that cannot be evaluated. Every verdict that a backend is held to is
TLC's.

A generated root extends the model's. Each question is a pair of states: Init takes the first, and the one step
goes to the second. TLC prints the predicates that are false in the first, and the action properties false on the step.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.layout import variable_types
from tidemark_conformance.tla.python import EvaluationError, PythonChecks, compile_python
from tidemark_conformance.tla.samples import near
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tla.walk import variables_used
from tidemark_conformance.tlc import config, definitions, runner
from tidemark_conformance.tlc.graph import Graph
from tidemark_conformance.tlc.values import MODEL_VALUE, declarations, to_tla

if TYPE_CHECKING:
    from pathlib import Path

    from tidemark_conformance.tla.spec import Specification

ROOT = "TidemarkMutants"
DRAWS = 4000
"""Changed states (or steps) that are tried per property before it is given up."""
WANTED = 5
"""States (or steps) that are kept per property that falls in them."""
SOUND = 60
"""States, and steps, that are kept although nothing falls there."""
TYPE_OK = "TypeOK"
"""The layout holds nothing that violates it, so no backend can be asked about such a state."""

_LINE = re.compile(r"<<(\d+), (\d+)>>")

State = Mapping[str, Value]
Pair = tuple[State, State]


@dataclass(frozen=True, slots=True)
class Mutants:
    """Questions and TLC's answers. `predicates`: invariant or quiescence predicate -> its verdict on each of `states`.
    `properties`: action property -> its verdict on each of `pairs`. `origins`: the graph's state that each of `states`
    was changed from."""

    states: list[State] = field(default_factory=list)
    origins: list[State] = field(default_factory=list)
    predicates: dict[str, list[bool]] = field(default_factory=dict)
    pairs: list[Pair] = field(default_factory=list)
    properties: dict[str, list[bool]] = field(default_factory=dict)


def never_false(graph: Graph) -> tuple[list[str], list[str]]:
    """The predicates and the action properties that are true all over a graph, `TypeOK` left out."""
    predicates = [name for name, verdicts in graph.predicates.items() if all(verdicts) and name != TYPE_OK]
    return predicates, [name for name, broken in graph.broken.items() if not broken]


def judged(
    spec: Specification,
    graph: Graph,
    *,
    seed: int = 1,
    jar: str | Path | None = None,
    budget_s: float = 300.0,
    heap_mib: int = 1024,
) -> Mutants:
    """Changed states and steps of `spec`'s graph, with TLC's verdicts. A check that is true all over the graph is false
    in them where that is possible. In some nothing falls. Raises Unusable where TLC does not finish."""
    search = Search(spec, graph, seed)
    predicates, properties = never_false(graph)
    states = search.states(predicates)
    pairs = search.pairs(properties)
    asked = _Asked(spec, graph, [changed for _, changed in states], pairs)
    answered = asked.run(runner.Options(budget_s=budget_s, heap_mib=heap_mib, brief=True), jar)
    return replace(answered, origins=[origin for origin, _ in states])


class Search:
    """Draws states and steps near those of the graph."""

    def __init__(self, spec: Specification, graph: Graph, seed: int) -> None:
        self.graph = graph
        self.python: PythonChecks = compile_python(spec)
        self.definitions = spec.module.definitions
        self.types = variable_types(spec.module, self.python.constant)
        self.draw = random.Random(seed)
        self.by_action: dict[str, list[tuple[int, int]]] = {}
        for edge in graph.edges:
            self.by_action.setdefault(edge.action, []).append((edge.source, edge.target))

    def states(self, missing: Sequence[str]) -> list[Pair]:
        """States in which the missing predicates fall, as far as they are found, and some others; each behind the one
        that it was changed from."""
        return self.found(missing, list(self.graph.predicates), self.state, self.holds)

    def pairs(self, missing: Sequence[str]) -> list[Pair]:
        """The same of steps and action properties."""
        return (
            self.found(missing, list(self.graph.broken), self.pair, self.kept)
            if self.graph.broken and self.by_action
            else []
        )

    def holds(self, name: str, pair: Pair) -> bool:
        """Whether a predicate is true of the state that was changed (the second). Raises EvaluationError."""
        return self.python.invariant(name, pair[1])

    def kept(self, name: str, pair: Pair) -> bool:
        """Whether an action property is true of the step. Raises EvaluationError."""
        return self.python.property(name, *pair)

    def found(
        self,
        missing: Sequence[str],
        every: Sequence[str],
        make: Callable[[Sequence[str]], Pair],
        holds: Callable[[str, Pair], bool],
    ) -> list[Pair]:
        """Per missing check up to WANTED pairs of `make` (given the variables that the check reads) of which it does
        not hold. Then up to SOUND of any. Of all of them `every` check can be evaluated."""
        chosen: list[Pair] = []
        for name in missing:
            reads = variables_used(self.definitions[name].body)
            names = [variable for variable in self.types if variable in reads]
            if not names:
                continue  # a check that reads no variable is false everywhere or nowhere
            chosen += self.some(every, partial(make, names), holds, WANTED, name)
        return chosen + self.some(every, partial(make, list(self.types)), holds, SOUND)

    def some(
        self,
        every: Sequence[str],
        make: Callable[[], Pair],
        holds: Callable[[str, Pair], bool],
        most: int,
        falls: str | None = None,
    ) -> list[Pair]:
        """The first `most` of DRAWS in which all can be evaluated, and `falls` is false."""
        chosen: list[Pair] = []
        for _ in range(DRAWS):
            one = make()
            try:
                if falls is not None and holds(falls, one):
                    continue
                for name in every:
                    holds(name, one)
            except EvaluationError:
                continue
            chosen.append(one)
            if len(chosen) == most:
                break
        return chosen

    def state(self, names: Sequence[str]) -> Pair:
        """A state of the graph, changed in these variables."""
        origin = self.draw.choice(self.graph.states)
        return origin, self.changed(origin, names)

    def pair(self, names: Sequence[str]) -> Pair:
        """A step of some action, changed on one side."""
        source, target = self.draw.choice(self.by_action[self.draw.choice(list(self.by_action))])
        before, after = self.graph.states[source], self.graph.states[target]
        if self.draw.random() < 0.5:
            return before, self.changed(after, names)
        return self.changed(before, names), after

    def changed(self, state: State, names: Sequence[str]) -> State:
        """The state with one or two of these variables changed, or taken from another state."""
        changed = dict(state)
        for _ in range(self.draw.choice((1, 1, 2))):
            name = self.draw.choice(names)
            if self.draw.random() < 0.2:
                changed[name] = self.draw.choice(self.graph.states)[name]
            else:
                changed[name] = near(self.types[name], changed[name], self.draw)
        return changed


class _Asked:
    """The questions as a generated module, and TLC's output."""

    def __init__(self, spec: Specification, graph: Graph, states: Sequence[State], pairs: Sequence[Pair]) -> None:
        self.spec, self.graph, self.asked, self.pairs = spec, graph, list(states), list(pairs)
        self.variables = list(graph.states[0])
        self.quoted = definitions.Quoted(spec.path, spec.config)
        self.false: set[tuple[int, int]] = set()
        self.names: dict[str, str] = {}
        self.values: list[Value] = []

    def run(self, options: runner.Options, jar: str | Path | None) -> Mutants:
        """Ask TLC."""
        text, cfg = self.module()
        result = runner.run(
            self.spec.path.with_name(f"{ROOT}.tla"),
            cfg,
            options,
            jar=jar,
            given={**self.quoted.texts, ROOT: text},
            on_print=self.printed,
        )
        expected = len(self.asked) + 2 * len(self.pairs)
        if result.verdict != "holds" or result.distinct != expected:
            raise Unusable(
                f"TLC did not judge the {expected} changed states of {self.spec.path.stem} "
                f"({result.reason or result.verdict}, {result.distinct} states); if it could not evaluate one that the "
                "Python backend can, one of the two is wrong"
            )
        properties = len(self.graph.predicates)
        return Mutants(
            states=self.asked,
            predicates={
                name: [(question, number) not in self.false for question in range(len(self.asked))]
                for number, name in enumerate(self.graph.predicates)
            },
            pairs=self.pairs,
            properties={
                name: [(len(self.asked) + at, number) not in self.false for at in range(len(self.pairs))]
                for number, name in enumerate(self.graph.broken, properties)
            },
        )

    def printed(self, line: str) -> None:
        """Takes in one line that the generated module printed."""
        found = _LINE.match(line.strip())
        if found is not None:
            self.false.add((int(found[1]), int(found[2])))

    def module(self) -> tuple[str, str]:
        """The module's text and its cfg's. Questions are counted from 0, those about one state first."""
        table = [f"<<{self.row(state)}>>" for state in self.asked]
        table += [f"<<{self.row(before)}, {self.row(after)}>>" for before, after in self.pairs]
        declared, configured = declarations(self.values)
        at = [f"tm_of[1][{number}]" for number in range(1, len(self.variables) + 1)]
        first = " /\\ ".join(f"{name} = {value}" for name, value in zip(self.variables, at, strict=True))
        second = first.replace(" = tm_of[1]", "' = tm_of[2]")
        states = len(self.asked)
        checks = [f"tm_check_{number}" for number in range(len(self.graph.predicates))]
        lines = [
            declared,
            "VARIABLES tm_question, tm_side",
            *(f"{name} == {text}" for text, name in self.names.items()),
            "tm_questions == <<" + ",\n    ".join(table) + ">>",
            f"tm_init == tm_side = 1 /\\ \\E tm_n \\in 0..{len(table) - 1} : tm_question = tm_n",
            f"    /\\ LET tm_of == tm_questions[tm_n + 1] IN {first}",
            *self.properties(),
            f"tm_next == /\\ tm_side = 1 /\\ tm_question >= {states} /\\ tm_side' = 2 /\\ tm_question' = tm_question",
            f"    /\\ LET tm_of == tm_questions[tm_question + 1] IN {second}",
            *(f"    /\\ tm_judge_{number}" for number in range(len(self.graph.broken))),
            *(
                f"{check} == IF tm_question >= {states} \\/ {name} THEN TRUE ELSE PrintT(<<tm_question, {number}>>)"
                for number, (check, name) in enumerate(zip(checks, self.graph.predicates, strict=True))
            ),
        ]
        head = f"{'-' * 20} MODULE {ROOT} {'-' * 20}\nEXTENDS {self.spec.path.stem}, Naturals, Sequences, TLC"
        cfg = f"INIT tm_init\nNEXT tm_next\n{config.constants(cfg_files.read(self.spec.cfg))}{configured}"
        cfg += "INVARIANTS\n" + "".join(f"    {check}\n" for check in checks) if checks else ""
        return "\n".join([head, *lines, "=" * 60]) + "\n", cfg

    def properties(self) -> list[str]:
        """Per action property an operator that prints where the step breaks it."""
        lines = []
        for number, name in enumerate(self.graph.broken):
            lines += self.quoted.boxed[name].kept(f"tm_kept_{number}")
            lines.append(
                f"tm_judge_{number} == IF tm_kept_{number} THEN TRUE "
                f"ELSE PrintT(<<tm_question, {len(self.graph.predicates) + number}>>)"
            )
        return lines

    def row(self, state: State) -> str:
        """A state's values in the order of the variables, compound ones by the name of their definition."""
        return "<<" + ", ".join(self.reference(state[name]) for name in self.variables) + ">>"

    def reference(self, value: Value) -> str:
        """A value as TLA+ text: a scalar's own, a compound's name, which is defined where it is first met."""
        if isinstance(value, bool | int | str):
            return to_tla(value)
        text = to_tla(value, MODEL_VALUE)
        if text not in self.names:
            self.names[text] = f"tm_value_{len(self.names)}"
            self.values.append(value)
        return self.names[text]
