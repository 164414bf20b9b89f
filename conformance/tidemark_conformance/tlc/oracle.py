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
from tidemark_conformance.tlc.replay_module import ROOT, Check, Spec, Text, Trace

BATCH_STEPS = 20_000
"""Steps in one run of TLC at most (a single longer trace is a run of its own)."""
BRIEF_STEPS = 10_000
"""Fewer steps are replayed before the optimising compiler of the JVM would pay off."""
BATCH_CHARACTERS = 2_000_000
"""Characters in the generated module of one run at most. That of a single trace may be longer. TLC needs some 200 bytes
of Java's heap for each."""
MOST_ERRORS = 200
"""Evaluation errors in one batch after which it is refused."""

_LINE = re.compile(r"<<(\d+), (\d+), (\d+)>>")


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
) -> Spec:
    parsed = cfg_files.read(cfg)
    quoted = definitions.Quoted(module, parsed)
    constants = {name: value for name, value in constants.items() if name in quoted.constants}
    observed = {seen.name: seen.field for trace in traces for seen in trace.seen}
    return Spec(
        module=module,
        texts=quoted.texts,
        init=quoted.behaviour[0],
        constants=config.constants(parsed, without=constants),
        overrides=constants,
        variables=tuple(traces[0].initial),
        computed=tuple(computed),
        actions={one.action: len(one.domains) for one in quoted.disjuncts},
        checks=(
            *(Check(name) for name in parsed.invariants),
            *(Check(name, boxed) for name, boxed in quoted.boxed.items()),
            *(Check(name, at_rest=True) for name in quoted.quiescence),
            *(Check(name, field=field) for name, field in sorted(observed.items())),
        ),
    )


def _fits(spec: Spec, trace: Trace) -> None:
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

    def __init__(self, spec: Spec, traces: list[Trace]) -> None:
        self.spec = spec
        self.traces = traces
        self.replays = [Replay(trace.name, len(trace.steps)) for trace in traces]
        self.limits = [len(trace.steps) for trace in traces]
        self.skipped: set[tuple[int, int]] = set()  # (trace, check) that cannot be evaluated, both from 1
        self.unasked: set[tuple[int, int]] = set()  # (trace, record), both from 1: blocked, guards without a value
        self.at: list[set[int]] = []
        self.false: dict[tuple[int, int], int] = {}

    def text(self) -> Text:
        """The module of the next run."""
        return Text(self.spec, self.traces, self.limits, self.skipped, self.unasked)

    def run(self, options: runner.Options, jar: str | Path | None) -> float:
        """Replays everything; returns the seconds TLC took."""
        seconds = 0.0
        while len(self.skipped) + len(self.unasked) + sum(bool(one.errors) for one in self.replays) <= MOST_ERRORS:
            text, cfg = self.text().module()
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
        lines = {line: check for check, line in self.text().property_lines().items()}
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
