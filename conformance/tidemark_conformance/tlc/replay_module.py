"""The module that TLC replays traces in, as text: `Text`, and what it is made of.

Its root extends the specification. `tidemark_trace` is a trace's number and `tidemark_at` a position in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc import definitions
from tidemark_conformance.tlc.values import MODEL_VALUE, declarations, to_tla

ROOT = "TidemarkReplay"
SHORT = 24
"""Characters of a value's text up to which it is written out wherever it stands."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation by a record: the value of a field of Observed in the state at position `at`.

    `record`: its position. `at`: the record's own position or the one before it. `observer`: None where Observed has no
    parameter. `name`: the check that is false where the computed value differs. `value`: None for a value that the
    field cannot have.
    """

    name: str
    field: str
    record: int
    at: int
    observer: Value | None
    value: Value | None


@dataclass(frozen=True, slots=True)
class Step:
    """One record of a trace. It has the action (None: a stutter without one) and its parameters in the action's order.
    It has the full next state of the variables that traces carry. `blocked`: an attempt that a rule refused, a stutter;
    TLC asks that the action with these parameters is not enabled."""

    action: str | None
    params: tuple[Value, ...]
    state: Mapping[str, Value]
    blocked: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace by name: its initial state (of the variables that traces carry) and its steps. `quiescent`: it declares
    that faults have stopped; `seen`: all that it tells beside."""

    name: str
    initial: Mapping[str, Value]
    steps: Sequence[Step]
    quiescent: bool = False
    seen: Sequence[Seen] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """An invariant, an action property with its texts, (`at_rest`) a quiescence predicate, or an observed `field`."""

    name: str
    boxed: definitions.Boxed | None = None
    at_rest: bool = False
    field: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """The parts of a specification that the generated root needs."""

    module: Path
    texts: dict[str, str]
    init: str
    constants: str
    overrides: Mapping[str, Value]
    variables: tuple[str, ...]
    computed: tuple[str, ...]
    actions: dict[str, int]
    checks: tuple[Check, ...]


class Text:
    """The generated root module of one run over some traces.

    `limits`: of each trace, the number of steps that are asked. `skipped`: (trace, check) that cannot be evaluated.
    `unasked`: (trace, record) of attempts whose guards have no value. All numbers count from 1.
    """

    def __init__(
        self,
        spec: Spec,
        traces: Sequence[Trace],
        limits: Sequence[int],
        skipped: Collection[tuple[int, int]],
        unasked: Collection[tuple[int, int]],
    ) -> None:
        self.spec = spec
        self.traces = traces
        self.limits = limits
        self.skipped = skipped
        self.unasked = unasked
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}
        self.actions = {name: at for at, name in enumerate(self.spec.actions, 1)}
        self.observers = any(seen.observer is not None for trace in traces for seen in trace.seen)

    def module(self) -> tuple[str, str]:
        """The module's text and its cfg's."""
        traces = [self.trace(number, trace) for number, trace in enumerate(self.traces, 1)]
        seen = self.seen()
        overridden = [f"tidemark_const_{name} == {to_tla(x, MODEL_VALUE)}" for name, x in self.spec.overrides.items()]
        declared, configured = declarations([*self.values.values(), *self.spec.overrides.values()])
        head = self.head()
        # The properties come first: `property_lines` counts on it.
        body = [*head, declared, *overridden]
        body += [f"{name} == {text}" for text, name in self.names.items()]
        body += traces
        body.append("tidemark_traces == <<" + ", ".join(f"tidemark_t{n}" for n in range(1, len(traces) + 1)) + ">>")
        body += seen
        body += [self.init(), self.step(), self.next(), *self.checks()]
        lines = [f"{'-' * 20} MODULE {ROOT} {'-' * 20}", *body, "=" * 60]
        invariants = "".join(f"    tidemark_check_{n}\n" for n in self.invariant_numbers()) + "    tidemark_report\n"
        replaced = "".join(f"    {name} <- tidemark_const_{name}\n" for name in self.spec.overrides)
        cfg = "INIT tidemark_init\nNEXT tidemark_next\n" + self.spec.constants + configured
        cfg += f"CONSTANTS\n{replaced}" if replaced else ""
        return "\n".join(lines) + "\n", f"{cfg}INVARIANTS\n{invariants}"

    def invariant_numbers(self) -> list[int]:
        return [number for number, check in enumerate(self.spec.checks, 1) if not check.boxed]

    def head(self) -> list[str]:
        """EXTENDS, the own variables, and one operator per action property."""
        lines = [f"EXTENDS {self.spec.module.stem}, Naturals, Sequences, TLC", "VARIABLES tidemark_trace, tidemark_at"]
        for number, check in enumerate(self.spec.checks, 1):
            if check.boxed:
                lines += check.boxed.kept(f"tidemark_kept_{number}")
        return lines

    def property_lines(self) -> dict[int, int]:
        """Check number of each action property -> the line of its definition in the module."""
        return {
            int(found[1]): at + 2
            for at, line in enumerate(self.head())
            if (found := re.match(r"tidemark_kept_(\d+) ==", line))
        }

    def reference(self, value: Value) -> str:
        """The value's text if that is short, else the name of a definition; so common parts of values stand once.

        Looked up by text: Python takes 1 and True, and so (1,) and (True,), for equal.
        """
        text = to_tla(value, MODEL_VALUE, self.reference)
        self.values.setdefault(text, value)
        if len(text) <= SHORT:
            return text
        return self.names.setdefault(text, f"tidemark_v{len(self.names) + 1}")

    def trace(self, number: int, trace: Trace) -> str:
        """One trace: the initial values in the order of the variables, then <<action, parameters, changes>> each."""
        first = "<<" + ", ".join(self.reference(trace.initial[name]) for name in self.spec.variables) + ">>"
        steps, before = [], trace.initial
        for at, step in enumerate(trace.steps[: self.limits[number - 1]], 1):
            action = 0 if step.action is None or (number, at) in self.unasked else self.actions[step.action]
            params = ", ".join(self.reference(value) for value in step.params) if action else ""
            action += len(self.actions) if step.blocked and action else 0
            steps.append(f"<<{action}, <<{params}>>, [tidemark |-> 0{self.changes(before, step.state)}]>>")
            before = step.state
        return f"tidemark_t{number} == <<{first}, <<" + ",\n    ".join(steps) + ">>>>"

    def seen(self) -> list[str]:
        """Per trace and position the observations there: <<check, record, observer, it may be so, value>> each."""
        numbers = {check.name: number for number, check in enumerate(self.spec.checks, 1) if check.field}
        if not numbers:
            return []
        lines = []
        for number, trace in enumerate(self.traces, 1):
            places: list[list[str]] = [[] for _ in range(len(trace.steps) + 1)]
            for one in trace.seen:
                observer = "0" if one.observer is None else self.reference(one.observer)
                value = "FALSE, 0" if one.value is None else f"TRUE, {self.reference(one.value)}"
                places[one.at].append(f"<<{numbers[one.name]}, {one.record}, {observer}, {value}>>")
            text = ",\n    ".join(f"<<{', '.join(place)}>>" for place in places)
            lines.append(f"tidemark_s{number} == <<{text}>>")
        names = ", ".join(f"tidemark_s{number}" for number in range(1, len(self.traces) + 1))
        return [*lines, f"tidemark_seen == <<{names}>>"]

    def observation(self, number: int, check: Check) -> str:
        """The check of one observed field: in every state of a trace it prints the records that tell another value."""
        call = "Observed(tidemark_o[3])" if self.observers else "Observed"
        return (
            f"tidemark_check_{number} == tidemark_trace = 0 \\/ {self.unless(number)}"
            "\\A tidemark_i \\in DOMAIN tidemark_seen[tidemark_trace][tidemark_at + 1] :\n"
            "    LET tidemark_o == tidemark_seen[tidemark_trace][tidemark_at + 1][tidemark_i] IN\n"
            f"    tidemark_o[1] # {number} \\/ IF tidemark_o[4] /\\ {call}.{check.field} = tidemark_o[5] THEN TRUE\n"
            f"    ELSE PrintT(<<tidemark_trace, tidemark_o[2], {number}>>)"
        )

    def changes(self, before: Mapping[str, Value], after: Mapping[str, Value]) -> str:
        """Record fields for the variables whose values differ."""
        return "".join(
            f", {name} |-> {self.reference(after[name])}"
            for name in self.spec.variables
            if after[name] is not before[name] and self.reference(after[name]) != self.reference(before[name])
        )

    def init(self) -> str:
        """A trace's initial state, if it is the specification's; and one state of no trace, so that there is any."""
        given = " /\\ ".join(
            ["TRUE", *(f"{name} = tidemark_t[1][{at}]" for at, name in enumerate(self.spec.variables, 1))]
        )
        every = [*self.spec.variables, *self.spec.computed]
        nothing = " /\\ ".join(f"{name} = 0" for name in every)
        return (
            "tidemark_init == /\\ tidemark_at = 0\n"
            f"    /\\ \\/ \\E tidemark_n \\in 1..{len(self.traces)} : tidemark_trace = tidemark_n\n"
            f"          /\\ LET tidemark_t == tidemark_traces[tidemark_n] IN {given} /\\ {self.spec.init}\n"
            f"       \\/ tidemark_trace = 0 /\\ {nothing}"
        )

    def step(self) -> str:
        every = ", ".join([*self.spec.variables, *self.spec.computed])
        arms = [f"tidemark_e[1] = 0 -> UNCHANGED <<{every}>>"]
        for name, number in self.actions.items():
            arity = self.spec.actions[name]
            call = "(" + ", ".join(f"tidemark_e[2][{at}]" for at in range(1, arity + 1)) + ")" if arity else ""
            arms.append(f"tidemark_e[1] = {number} -> {name}{call}")
            refused = f"UNCHANGED <<{every}>> /\\ ~(ENABLED {name}{call})"
            arms.append(f"tidemark_e[1] = {number + len(self.actions)} -> {refused}")
        return "tidemark_step(tidemark_e) == CASE " + "\n    [] ".join(arms)

    def next(self) -> str:
        """Assigns the trace's next state, asks the specification, then evaluates the action properties on the step."""
        assigned = "\n        ".join(
            f'/\\ {name}\' = IF "{name}" \\in tidemark_c THEN tidemark_e[3].{name} ELSE {name}'
            for name in self.spec.variables
        )
        kept = "\n        ".join(
            f"/\\ IF {self.unless(number)}tidemark_kept_{number} THEN TRUE "
            f"ELSE PrintT(<<tidemark_trace, tidemark_at + 1, {number}>>)"
            for number, check in enumerate(self.spec.checks, 1)
            if check.boxed
        )
        return (
            "tidemark_next == /\\ tidemark_trace # 0 /\\ tidemark_at < Len(tidemark_traces[tidemark_trace][2])\n"
            "    /\\ tidemark_trace' = tidemark_trace /\\ tidemark_at' = tidemark_at + 1\n"
            "    /\\ LET tidemark_e == tidemark_traces[tidemark_trace][2][tidemark_at + 1]\n"
            f"          tidemark_c == DOMAIN tidemark_e[3] IN\n        {assigned}\n"
            f"        /\\ tidemark_step(tidemark_e)\n        {kept}"
        )

    def unless(self, number: int) -> str:
        skipped = sorted(trace for trace, check in self.skipped if check == number)
        return f"tidemark_trace \\in {{{', '.join(map(str, skipped))}}} \\/ " if skipped else ""

    def checks(self) -> list[str]:
        """The invariants, each printing where it is false (and true to TLC), and the one that prints every state.

        A quiescence predicate is asked in the last state of a whole trace that declares its faults stopped.
        """
        traces = enumerate(zip(self.traces, self.limits, strict=True), 1)
        ends = [
            f"<<{number}, {end}>>" for number, (trace, end) in traces if trace.quiescent and end == len(trace.steps)
        ]
        lines = [f"tidemark_busy == <<tidemark_trace, tidemark_at>> \\notin {{{', '.join(ends)}}}"]
        for number in self.invariant_numbers():
            check = self.spec.checks[number - 1]
            if check.field:
                lines.append(self.observation(number, check))
                continue
            spared = self.unless(number) + ("tidemark_busy \\/ " if check.at_rest else "")
            lines.append(
                f"tidemark_check_{number} == IF tidemark_trace = 0 \\/ {spared}{check.name} THEN TRUE "
                f"ELSE PrintT(<<tidemark_trace, tidemark_at, {number}>>)"
            )
        lines.append("tidemark_report == tidemark_trace = 0 \\/ PrintT(<<tidemark_trace, tidemark_at, 0>>)")
        return lines
