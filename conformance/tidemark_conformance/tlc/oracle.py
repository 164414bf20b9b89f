r"""Traces replayed in TLC itself, many in one run: the oracle of the audit.

A generated root extends the specification. Its own two variables are a trace's number and a position in it. Init and
Next assign every variable that traces carry. Then they ask the specification whether that is an initial state and a
step of the named action. Ghosts and hidden variables get their values from the specification alone. For every state
that TLC accepts it prints the trace's number and the position. Every false invariant and action property has a line of
its own. The observations of a state are asked there, too. So a trace's verdict is the lines that TLC printed. A run in
which TLC found another number of states than it printed is void.

An evaluation error ends a run of TLC. It is an answer, too (the action is no step, the invariant is false). It is
noted, its cause is taken out, and the rest is run again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc import config, definitions, runner
from tidemark_conformance.tlc.values import MODEL_VALUE, declarations, to_tla

ROOT = "TidemarkReplay"
BATCH_STEPS = 20_000
"""Steps in one run of TLC at most (a single longer trace is a run of its own)."""
BRIEF_STEPS = 10_000
"""Fewer steps are replayed before the optimising compiler of the JVM would pay off."""
BATCH_CHARACTERS = 2_000_000
"""Characters in the generated module of one run at most. That of a single trace may be longer. TLC needs some 200 bytes
of Java's heap for each."""
SHORT = 24
"""Characters of a value's text up to which it is written out wherever it stands."""
MOST_ERRORS = 200
"""Evaluation errors in one batch after which it is refused."""

_LINE = re.compile(r"<<(\d+), (\d+), (\d+)>>")


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


@dataclass(slots=True)
class Replay:
    """TLC's findings on one trace. Positions count records: 0 is the initial state, n the state after step n.

    `accepted`: steps TLC took, -1 if the initial state does not satisfy Init. `rejected`: the first position that is
    not a step (0: not from Init), None if all are. `invariants`, `properties`: name -> first position where it is
    false, up to the rejected one; TLC goes no further. `quiescence`: the same for the quiescence predicates, asked in
    the last state of a trace that declares its faults stopped. `observations`: the same for observed values, by the
    record that tells them. `errors`: expressions that could not be evaluated, in TLC's words.
    """

    name: str
    steps: int
    accepted: int = -1
    invariants: dict[str, int] = field(default_factory=dict)
    properties: dict[str, int] = field(default_factory=dict)
    quiescence: dict[str, int] = field(default_factory=dict)
    observations: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def rejected(self) -> int | None:
        """The first position that TLC does not reach."""
        return None if self.accepted == self.steps else self.accepted + 1

    @property
    def passes(self) -> bool:
        """Every step is a step, and nothing is violated."""
        return self.rejected is None and not (
            self.invariants or self.properties or self.quiescence or self.observations
        )


@dataclass(frozen=True, slots=True)
class Replays:
    """All replays in the order given, the number of steps TLC took, and the wall-clock seconds of its processes."""

    traces: list[Replay]
    steps: int
    seconds: float

    @property
    def steps_per_s(self) -> float:
        """Steps TLC took per second, start-up included."""
        return self.steps / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class _Check:
    """An invariant, an action property with its texts, (`at_rest`) a quiescence predicate, or an observed `field`."""

    name: str
    boxed: definitions.Boxed | None = None
    at_rest: bool = False
    field: str = ""


@dataclass(frozen=True, slots=True)
class _Spec:
    """The parts of a specification that the generated root needs."""

    module: Path
    texts: dict[str, str]
    init: str
    constants: str
    overrides: Mapping[str, Value]
    variables: tuple[str, ...]
    computed: tuple[str, ...]
    actions: dict[str, int]
    checks: tuple[_Check, ...]


def replay(
    module: Path,
    cfg: Path,
    computed: Sequence[str],
    traces: Sequence[Trace],
    *,
    constants: Mapping[str, Value] | None = None,
    jar: str | Path | None = None,
    budget_s: float = 600.0,
    heap_mib: int = 1024,
    workers: int = 1,
) -> Replays:
    """Replay `traces` against the specification `module` with `cfg` (its constants, invariants and action properties).

    `computed`: the variables that no trace carries, ghosts and hidden ones. `constants` replaces constants of the cfg
    (for example `Without`). `workers` of TLC share the traces. Raises Unusable for no traces, and where TLC does not
    finish. Raises it for a trace that does not fit the specification (a variable missing, an unknown action, another
    number of parameters).
    """
    if not traces:
        raise Unusable("there is no trace to replay in TLC: give at least one")
    spec = _spec(module, cfg, computed, constants or {}, traces)
    for trace in traces:
        _fits(spec, trace)
    brief = sum(len(trace.steps) for trace in traces) < BRIEF_STEPS
    options = runner.Options(budget_s=budget_s, heap_mib=heap_mib, workers=workers, brief=brief)
    done: list[Replay] = []
    seconds = 0.0
    for batch in _batches(traces):
        running = _Batch(spec, batch)
        seconds += running.run(options, jar)
        done += running.replays
    return Replays(done, sum(max(0, one.accepted) for one in done), seconds)


def _spec(
    module: Path, cfg: Path, computed: Sequence[str], constants: Mapping[str, Value], traces: Sequence[Trace]
) -> _Spec:
    parsed = cfg_files.read(cfg)
    quoted = definitions.Quoted(module, parsed)
    constants = {name: value for name, value in constants.items() if name in quoted.constants}
    observed = {seen.name: seen.field for trace in traces for seen in trace.seen}
    return _Spec(
        module=module,
        texts=quoted.texts,
        init=quoted.behaviour[0],
        constants=config.constants(parsed, without=constants),
        overrides=constants,
        variables=tuple(traces[0].initial),
        computed=tuple(computed),
        actions={one.action: len(one.domains) for one in quoted.disjuncts},
        checks=(
            *(_Check(name) for name in parsed.invariants),
            *(_Check(name, boxed) for name, boxed in quoted.boxed.items()),
            *(_Check(name, at_rest=True) for name in quoted.quiescence),
            *(_Check(name, field=field) for name, field in sorted(observed.items())),
        ),
    )


def _fits(spec: _Spec, trace: Trace) -> None:
    for at, state in enumerate([trace.initial, *(step.state for step in trace.steps)]):
        odd = sorted(set(state) ^ set(spec.variables))
        if odd:
            raise Unusable(
                f"trace {trace.name} lacks or adds variable {odd[0]} in record {at}: emit all but what is computed"
            )
    for at, step in enumerate(trace.steps, 1):
        if step.action is not None and len(step.params) != spec.actions.get(step.action, -1):
            raise Unusable(
                f"trace {trace.name} has in record {at} action {step.action} with {len(step.params)} parameters, "
                f"which {spec.module.stem} does not know: correct the emitter"
            )


def _batches(traces: Sequence[Trace]) -> Iterable[list[Trace]]:
    batch: list[Trace] = []
    steps = 0
    for trace in traces:
        if batch and steps + len(trace.steps) > BATCH_STEPS:
            yield batch
            batch, steps = [], 0
        batch.append(trace)
        steps += len(trace.steps)
    yield batch


class _Batch:
    """One module's worth of traces, run until no evaluation error is left."""

    def __init__(self, spec: _Spec, traces: list[Trace]) -> None:
        self.spec = spec
        self.traces = traces
        self.replays = [Replay(trace.name, len(trace.steps)) for trace in traces]
        self.limits = [len(trace.steps) for trace in traces]
        self.skipped: set[tuple[int, int]] = set()  # (trace, check) that cannot be evaluated, both from 1
        self.unasked: set[tuple[int, int]] = set()  # (trace, record), both from 1: blocked, guards without a value
        self.at: list[set[int]] = []
        self.false: dict[tuple[int, int], int] = {}

    def run(self, options: runner.Options, jar: str | Path | None) -> float:
        """Replays everything; returns the seconds TLC took."""
        seconds = 0.0
        while len(self.skipped) + len(self.unasked) + sum(bool(one.errors) for one in self.replays) <= MOST_ERRORS:
            text, cfg = _Text(self).module()
            if len(text) > BATCH_CHARACTERS and len(self.traces) > 1:
                return seconds + self.halved(options, jar)
            self.at = [set() for _ in self.traces]
            self.false = {}
            result = runner.run(
                self.spec.module.with_name(f"{ROOT}.tla"),
                cfg,
                options,
                jar=jar,
                given={**self.spec.texts, ROOT: text},
                on_print=self.printed,
            )
            seconds += result.seconds
            if result.verdict == "error" and options.workers > 1:
                options = replace(options, workers=1)  # several workers' errors come mixed
                continue
            if result.verdict == "error" and result.trace:
                self.set_aside(result)
                continue
            if result.verdict == "error":
                return seconds + self.without_init(result, options, jar)
            if result.verdict != "holds":
                reason = result.reason or result.verdict
                raise Unusable(f"TLC did not finish the replay of {len(self.traces)} traces: {reason}")
            self.collect(result.distinct)
            return seconds
        raise Unusable(f"TLC met over {MOST_ERRORS} evaluation errors in one replay: look at its first trace")

    def without_init(self, result: runner.TlcResult, options: runner.Options, jar: str | Path | None) -> float:
        """Init could not be evaluated in one of the traces, TLC does not say in which: halves tell."""
        if len(self.traces) == 1:
            self.replays[0].errors.append(f"Init: {result.reason}")
            return 0.0
        return self.halved(options, jar)

    def halved(self, options: runner.Options, jar: str | Path | None) -> float:
        """The first half of the traces, then the second, each in runs of its own."""
        middle = len(self.traces) // 2
        halves = [_Batch(self.spec, self.traces[:middle]), _Batch(self.spec, self.traces[middle:])]
        seconds = sum(half.run(options, jar) for half in halves)
        self.replays = halves[0].replays + halves[1].replays
        return seconds

    def printed(self, line: str) -> None:
        """Takes in one line that the generated module printed."""
        found = _LINE.match(line.strip())
        if found is None:
            return
        trace, position, check = (int(part) for part in found.groups())
        if not 1 <= trace <= len(self.traces):
            raise Unusable(f"TLC reported trace {trace} of {len(self.traces)}: the replay is void, run it again")
        if check == 0:
            self.at[trace - 1].add(position)
        else:
            self.false[trace, check] = min(position, self.false.get((trace, check), position))

    def set_aside(self, result: runner.TlcResult) -> None:
        """Notes an evaluation error as the answer it is, and takes its cause out of the next run."""
        last = result.trace[-1].state
        trace, position = int(last["tidemark_trace"]), int(last["tidemark_at"])
        one = self.replays[trace - 1]
        steps = self.traces[trace - 1].steps
        named = re.search(r"tidemark_check_(\d+)\b", result.reason or "")
        attempt = (trace, position + 1)
        if not named and position < len(steps) and steps[position].blocked and attempt not in self.unasked:
            self.unasked.add(attempt)  # TLC cannot evaluate it: it is not enabled
            return
        one.errors.append(f"after record {position}: {result.reason}")
        if named:
            self._false_by_error(trace, int(named[1]), position)
            return
        lines = {line: check for check, line in _Text(self).property_lines().items()}
        broken = next((lines[line] for module, line in result.places if module == ROOT and line in lines), None)
        if broken is not None:
            self._false_by_error(trace, broken, position + 1)
        else:
            self.limits[trace - 1] = position

    def _false_by_error(self, trace: int, check: int, position: int) -> None:
        """The next run does not ask the check of this trace: its earlier output counts, too."""
        self.skipped.add((trace, check))
        self.note(trace, check, min(position, self.false.get((trace, check), position)))

    def note(self, trace: int, check: int, position: int) -> None:
        """A check of a trace is false at a position."""
        one, of = self.replays[trace - 1], self.spec.checks[check - 1]
        kind = one.properties if of.boxed else one.quiescence if of.at_rest else one.invariants
        kind = one.observations if of.field else kind
        kind[of.name] = min(position, kind.get(of.name, position))

    def collect(self, distinct: int) -> None:
        """Fills the replays from the output; a run whose states are not exactly those printed is void."""
        if distinct != sum(len(positions) for positions in self.at) + 1:
            raise Unusable(f"TLC found {distinct} states in a replay but reported others: run it again")
        for one, positions in zip(self.replays, self.at, strict=True):
            if positions != set(range(len(positions))):
                raise Unusable(f"TLC reported trace {one.name} with gaps: the replay is void, run it again")
            one.accepted = len(positions) - 1
        for (trace, check), position in self.false.items():
            self.note(trace, check, position)


class _Text:
    """The generated root module of one run."""

    def __init__(self, batch: _Batch) -> None:
        self.batch = batch
        self.spec = batch.spec
        self.names: dict[str, str] = {}
        self.values: dict[str, Value] = {}
        self.actions = {name: at for at, name in enumerate(self.spec.actions, 1)}
        self.observers = any(seen.observer is not None for trace in batch.traces for seen in trace.seen)

    def module(self) -> tuple[str, str]:
        """The module's text and its cfg's."""
        traces = [self.trace(number, trace) for number, trace in enumerate(self.batch.traces, 1)]
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
        for at, step in enumerate(trace.steps[: self.batch.limits[number - 1]], 1):
            action = 0 if step.action is None or (number, at) in self.batch.unasked else self.actions[step.action]
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
        for number, trace in enumerate(self.batch.traces, 1):
            places: list[list[str]] = [[] for _ in range(len(trace.steps) + 1)]
            for one in trace.seen:
                observer = "0" if one.observer is None else self.reference(one.observer)
                value = "FALSE, 0" if one.value is None else f"TRUE, {self.reference(one.value)}"
                places[one.at].append(f"<<{numbers[one.name]}, {one.record}, {observer}, {value}>>")
            text = ",\n    ".join(f"<<{', '.join(place)}>>" for place in places)
            lines.append(f"tidemark_s{number} == <<{text}>>")
        names = ", ".join(f"tidemark_s{number}" for number in range(1, len(self.batch.traces) + 1))
        return [*lines, f"tidemark_seen == <<{names}>>"]

    def observation(self, number: int, check: _Check) -> str:
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
            f"    /\\ \\/ \\E tidemark_n \\in 1..{len(self.batch.traces)} : tidemark_trace = tidemark_n\n"
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
        skipped = sorted(trace for trace, check in self.batch.skipped if check == number)
        return f"tidemark_trace \\in {{{', '.join(map(str, skipped))}}} \\/ " if skipped else ""

    def checks(self) -> list[str]:
        """The invariants, each printing where it is false (and true to TLC), and the one that prints every state.

        A quiescence predicate is asked in the last state of a whole trace that declares its faults stopped.
        """
        traces = enumerate(zip(self.batch.traces, self.batch.limits, strict=True), 1)
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
