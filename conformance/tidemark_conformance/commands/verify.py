"""`tidemark verify`: all that `make check` does, and one table at the end.

It begins with some traces of one protocol, so that something is seen to work. TLC on every model follows. Then each
protocol's unflawed traces are simulated and audited, then the flawed ones of the kill matrix; proofs run beside both.
Hunts from a fresh seed are last.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from tidemark_conformance import cache, extras
from tidemark_conformance.commands import check
from tidemark_conformance.console.progress import progress, say
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.java import toolchain
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry import zoo
from tidemark_conformance.report import closing, document
from tidemark_conformance.tlc import manifest as manifests
from tidemark_conformance.tlc import verify

if TYPE_CHECKING:
    from tidemark_conformance.registry.protocols import Composition, Protocol
    from tidemark_conformance.verify.clean import CleanRun
    from tidemark_conformance.verify.matrix import Killed
    from tidemark_conformance.verify.matrix_table import Unflawed

TRACES, STEPS, ORACLE = 20_000, 50, 20
"""Of the unflawed run of each protocol: traces, steps per trace, and passing traces that TLC replays."""

DEEP_TRACES = 200_000
"""As many traces instead, with --deep."""

HUNTED_S = 2.0
"""Seconds for which each protocol and composition is hunted (fewer where fewer traces are asked for)."""

COMPOSED = 10
"""For so many traces of a protocol, one run of each composition. Each run is a trace of every part."""

CACHED = "cached"
"""The word in a line whose verdict comes from an earlier run. Nothing that the verdict depends on has changed since."""

WIDTH = 120
"""Characters of a line where the output is no terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark verify`."""
    parser.add_argument(
        "--deep", action="store_true", help="the models of tier deep, too, and the rarity of rare flaws"
    )
    parser.add_argument(
        "--traces",
        type=int,
        metavar="N",
        help=f"unflawed traces, at most, of each protocol ({TRACES:,}; {DEEP_TRACES:,} with --deep, of which "
        "spec/<protocol>/protocol.toml may want fewer)",
    )
    parser.add_argument("--master", help="Spark's master (default: local[2])")
    toolchain.add_jar_argument(parser)
    parser.add_argument(
        "--json", metavar="DIR", type=Path, help="write verify.json, check.json, audit-*.json and zoo.json there"
    )
    parser.add_argument(
        "--record", action="store_true", help=f"keep the closing table in {closing.RECORD}, for the README"
    )


def run(args: argparse.Namespace) -> int:
    """0 only if all is as expected; 1 otherwise."""
    from tidemark_conformance.verify import prepare

    if args.traces is None:
        args.traces = DEEP_TRACES if args.deep else TRACES
    if args.traces < 1:
        raise Unusable(f"--traces {args.traces} is no number of traces; give 1 or more")
    console = document.console(width=WIDTH)
    if args.json:
        with writable(args.json):
            args.json.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    simulates = _simulates(args)
    with prepare.compiling(simulates):
        if simulates:
            tell_first(console)
        lines, models = model_lines(args, console)
    if simulates and not cache.sealed(compiled.folder()):
        say(f"the simulators run as Python, slowly: {compiled.hindrance() or 'run `tidemark compile`, it says why'}")
    with proving(args) as proofs:
        lines += trace_lines(args, console, models)
        lines += proofs()
    lines += hunt_lines(args, console)
    seconds = time.monotonic() - started
    console.print()
    closing.render(lines, seconds, console)
    found = closing.document(lines, seconds, args.deep)
    _write(args, "verify", found)
    if args.record:
        document.write(found, str(CHECKOUT / closing.RECORD))
    return 0 if all(line.ok for line in lines) else 1


def tell_first(console: Console) -> None:
    """Some traces of one protocol, simulated and audited, and the rest still to come."""
    from tidemark_conformance.verify import first

    with progress("the first traces: checks compiled, simulated, audited"):
        found = first.look()
    if found is None:
        return
    works = "specification, implementation and auditor work here" if not found.flags else "none should be"
    console.print(
        f"{found.protocol}: {found.traces:,} simulated traces, {found.steps:,} steps audited, {found.flags:,} flagged, "
        f"in {found.seconds:.0f} s: {works}."
    )
    console.print(f"To come: TLC on models, traces of all protocols, the kill matrix, proofs, hunts{_duration()}.")


def _duration() -> str:
    """How long all of it took in the recorded run; "" where none is recorded."""
    try:
        seconds = closing.recorded_seconds(CHECKOUT / closing.RECORD)
    except Unusable:
        return ""
    return f"; {seconds / 60:.0f} minutes in the recorded run on two cores"


def _simulates(args: argparse.Namespace) -> bool:
    """Whether something is to be simulated and judged: not every verdict on traces is known."""
    from tidemark_conformance.registry import protocols
    from tidemark_conformance.verify import kept

    known = protocols.protocols()
    keys = [kept.of_run(one, _traces(args, one), STEPS, ORACLE, args.master) for one in known.values()]
    keys += kept.of_rows(zoo.rows(), known, args.master).values()
    for one in protocols.compositions().values():
        keys.append(kept.of_composition(one, max(1, args.traces // COMPOSED), STEPS, ORACLE // 4, args.master))
    return args.no_cache or any(kept.recall(key) is None for key in keys)


def _traces(args: argparse.Namespace, protocol: Protocol) -> int:
    """How many unflawed traces of a protocol are made."""
    most: int = args.traces
    return min(most, protocol.traces or most)


def model_lines(args: argparse.Namespace, console: Console) -> tuple[list[closing.Line], list[verify.Outcome]]:
    """TLC on the manifest's models: their line of the closing table, and every outcome."""
    started = time.monotonic()
    manifest = manifests.load()
    chosen = manifest.select(deep=args.deep)
    outcomes = check.with_progress(
        lambda listener: verify.verify(chosen, use_cache=not args.no_cache, listener=listener), len(chosen)
    )
    missing = verify.uncovered(manifest, outcomes)
    seconds = time.monotonic() - started
    check.render(outcomes, missing, seconds, console)
    _write(args, "check", check.as_document(outcomes, missing, seconds))
    zoo_models = [outcome for outcome in outcomes if outcome.model.kind == "zoo"]
    others = [outcome for outcome in outcomes if outcome.model.kind != "zoo"]
    cached = sum(outcome.cached for outcome in outcomes)
    states = sum(one.result.distinct for one in others if one.result.verdict == "holds")  # the same in every run
    unreached = sum(map(len, missing.values()))
    return [
        closing.Line(
            "models",
            f"{sum(one.ok for one in others)} of {len(others)} as expected within their bounds, {states:,} states; "
            f"{sum(one.ok for one in zoo_models)} of {len(zoo_models)} flaws found"
            + (f"; {cached} cached" if cached else "")
            + (f"; {unreached} actions or rule sides unreached" if unreached else ""),
            check.exit_code(outcomes, missing) == 0,
            seconds,
        )
    ], outcomes


Finish = Callable[[], tuple[str, str, bool]]
"""The rest of a line after Spark has done its part: waits for TLC and returns the finding. The argument is the line
without its time."""


def trace_lines(args: argparse.Namespace, console: Console, outcomes: list[verify.Outcome]) -> list[closing.Line]:
    """Unflawed and flawed traces: their lines of the closing table. `outcomes`: of the zoo's models, among others.

    A line is finished when Spark's part of the next one is done: meanwhile TLC replays. The protocols have one line
    together.
    """
    from tidemark_conformance.registry import protocols
    from tidemark_conformance.spark.session import spark_session
    from tidemark_conformance.verify import clean

    lines: list[closing.Line] = []
    known = protocols.protocols()
    rows = zoo.rows()
    unflawed: dict[str, Unflawed] = {}
    audited: list[tuple[CleanRun, bool]] = []
    with contextlib.ExitStack() as ends, clean.replaying() as beside:
        spark = functools.cache(lambda: ends.enter_context(spark_session(args.master)))
        begin: list[Callable[[], Finish]] = [
            functools.partial(_clean_line, args, console, spark, protocol, beside, unflawed, audited)
            for protocol in known.values()
        ]
        compositions = list(protocols.compositions().values())
        if compositions:
            begin.append(functools.partial(_composed_line, args, console, spark, compositions, beside))
        if rows:
            begin.append(functools.partial(_matrix_line, args, console, spark, rows, known, outcomes, unflawed))
        before: Callable[[], closing.Line] | None = None
        for line in begin:
            after = _timed(line)
            if before:
                lines.append(before())
            before = after
        if before:
            lines.append(before())
        lines = [together(lines[: len(known)], audited), *lines[len(known) :]]
        if args.deep:
            lines += [_rarity(spark(), row, known) for row in rows if row.simulation.rarity]
    return lines


def _timed(begin: Callable[[], Finish]) -> Callable[[], closing.Line]:
    """A line begun; its time is that of its two parts, without the work between them."""
    started = time.monotonic()
    finish = begin()
    begun = time.monotonic() - started

    def line() -> closing.Line:
        resumed = time.monotonic()
        what, found, ok = finish()
        return closing.Line(what, found, ok, begun + time.monotonic() - resumed)

    return line


def _clean_line(
    args: argparse.Namespace,
    console: Console,
    spark: Callable[[], Any],
    protocol: Protocol,
    beside: Executor,
    unflawed: dict[str, Unflawed],
    audited: list[tuple[CleanRun, bool]],
) -> Finish:
    """A protocol's unflawed run begun, or the verdict on it that is known. Its line adds the run to `audited`, and what
    the kill matrix says of it to `unflawed`."""
    from tidemark_conformance.verify import clean, kept
    from tidemark_conformance.verify.matrix_table import Unflawed

    traces = _traces(args, protocol)
    finish = kept.once(
        kept.of_run(protocol, traces, STEPS, ORACLE, args.master),
        lambda: clean.clean_run(spark(), protocol, traces, STEPS, ORACLE, beside, progress, args.no_cache).result,
        lambda made: made.ok,
        not args.no_cache,
    )

    def line() -> tuple[str, str, bool]:
        found, cached = finish()
        _show(args, console, found, protocol.name, cached)
        unflawed[protocol.name] = Unflawed.of(found)
        audited.append((found, cached))
        return found.protocol, "", found.ok

    return line


def together(lines: Sequence[closing.Line], audited: Sequence[tuple[CleanRun, bool]]) -> closing.Line:
    """One line of the protocols' lines: the sums of their runs, the slowest and the fastest audit, and the protocols
    that are not as expected."""
    runs = [found for found, _ in audited]
    rates = sorted(rate for found, cached in audited if not cached and (rate := steps_a_second([found])))
    wrong = ", ".join(one.protocol for one in runs if not one.ok)
    return closing.Line(
        "traces",
        f"{sum(one.run.traces for one in runs):,} of {len(runs)} protocols, "
        + clean_text(runs, f"{rates[0]:.1f} to {rates[-1]:.1f} M/s" if rates else CACHED)
        + (f"; not as expected: {wrong}" if wrong else ""),
        all(line.ok for line in lines),
        sum(line.seconds for line in lines),
    )


def composed_text(runs: Sequence[Sequence[CleanRun]], cached: bool) -> str:
    """The text of the compositions' line. Each of their runs has several traces, its parts."""
    every = [part for parts in runs for part in parts]
    made = f"{sum(parts[0].run.traces for parts in runs):,} runs of {' or '.join(str(len(one)) for one in runs)} traces"
    return f"{made}, {clean_text(every, CACHED if cached else f'{steps_a_second(every):.1f} M/s')}"


def steps_a_second(runs: Sequence[CleanRun]) -> float:
    """Millions of steps audited in a second; 0 where no time was taken."""
    seconds = sum(one.result.seconds for one in runs)
    return sum(one.result.steps for one in runs) / seconds / 1e6 if seconds else 0.0


def clean_text(runs: Sequence[CleanRun], rate: str) -> str:
    """The counts of unflawed runs: steps audited, traces flagged, and TLC's verdicts."""
    results = [one.result for one in runs]
    steps, flags = sum(one.steps for one in results), sum(one.failed for one in results)
    replayed, apart = sum(one.oracle.replayed for one in results), sum(len(one.oracle.disagreements) for one in results)
    complaints = sum(len(one.complaints) for one in runs)
    return f"{steps:,} steps ({rate}): {flags:,} flagged; {replayed} replayed by TLC, {apart} disagree" + (
        f"; {complaints} complaints" if complaints else ""
    )


def _matrix_line(
    args: argparse.Namespace,
    console: Console,
    spark: Callable[[], Any],
    rows: list[zoo.Row],
    known: Mapping[str, Protocol],
    outcomes: list[verify.Outcome],
    unflawed: Mapping[str, Unflawed],
) -> Finish:
    """The kill matrix: only those rows are simulated whose verdict is not known."""
    from tidemark_conformance.verify import kept, matrix
    from tidemark_conformance.verify import matrix_table as matrix_report

    started = time.monotonic()
    keys = kept.of_rows(rows, known, args.master)
    killed: dict[str, Killed] = {}
    for row in rows:
        before: Killed | None = None if args.no_cache else kept.recall(keys[row.id])
        if before is not None:
            killed[row.id] = before
    cached = len(killed)
    missing = [row for row in rows if row.id not in killed]
    if missing:
        with progress("flawed implementations") as bar:
            for one in matrix.kill(spark(), missing, known, bar):
                killed[one.row.id] = one
                kept.keep(keys[one.row.id], one if one.ok else None)
    by_name = {outcome.model.name: outcome for outcome in outcomes}
    models = {row.id: by_name.get(row.model) for row in rows}
    seconds = time.monotonic() - started

    def line() -> tuple[str, str, bool]:
        result = matrix_report.Matrix(rows, models, killed, unflawed, seconds)
        matrix_report.render(result, console)
        _write(args, "zoo", result.document())
        good = sum(map(result.row_ok, rows))
        text = f"{good} of {len(rows)} rows as expected" + (f"; {cached} cached" if cached else "")
        return "kill matrix", text, result.ok

    return line


def _show(args: argparse.Namespace, console: Console, found: CleanRun, name: str, cached: bool) -> None:
    """Print an unflawed run's audit and complaints under a name, and write its document."""
    from tidemark_conformance.report import audit as audit_report

    if cached:
        console.print(f"{name}: nothing that its verdict depends on has changed; this is the audit of before")
    audit_report.render(found.result, console)
    for complaint in found.complaints:
        console.print(Text(f"{name}: {complaint}", style="bold red"))
    _write(args, f"audit-{name}", audit_document(found, cached))


def audit_document(found: CleanRun, cached: bool) -> dict[str, Any]:
    """An unflawed run's audit, all right only if the run shows everything it must (`complaints`: the things it does not
    show)."""
    return found.result.document() | {"ok": found.ok, "complaints": list(found.complaints), "cached": cached}


def _composed_line(
    args: argparse.Namespace,
    console: Console,
    spark: Callable[[], Any],
    compositions: Sequence[Composition],
    beside: Executor,
) -> Finish:
    """The unflawed runs of the compositions begun, one after another: every part audited by its own specification."""
    begun = [_composed(args, spark, one, beside) for one in compositions]

    def line() -> tuple[str, str, bool]:
        runs: list[list[CleanRun]] = []
        known: list[bool] = []
        for composition, finish in zip(compositions, begun, strict=True):
            parts, cached = finish()
            for found in parts:
                _show(args, console, found, f"{composition.name}-{found.protocol}", cached)
            runs.append(parts)
            known.append(cached)
        return "composed traces", composed_text(runs, all(known)), all(found.ok for parts in runs for found in parts)

    return line


def _composed(
    args: argparse.Namespace, spark: Callable[[], Any], composition: Composition, beside: Executor
) -> Callable[[], tuple[list[CleanRun], bool]]:
    """A composition's unflawed run begun, or the verdict on it that is known."""
    from tidemark_conformance.verify import clean, kept

    traces, oracle = max(1, args.traces // COMPOSED), ORACLE // 4

    def begin() -> Callable[[], list[CleanRun]]:
        found = clean.composed_run(spark(), composition, traces, STEPS, oracle, beside, progress, args.no_cache)
        return lambda: [part.result() for part in found]

    return kept.once(
        kept.of_composition(composition, traces, STEPS, oracle, args.master),
        begin,
        lambda made: all(part.ok for part in made),
        not args.no_cache,
    )


@contextlib.contextmanager
def proving(args: argparse.Namespace) -> Iterator[Callable[[], list[closing.Line]]]:
    """The theorems of spec/ judged from their kept cores beside the block. The function waits for them and gives their
    line of the closing table, whose seconds are those of the waiting."""
    if not extras.installed("z3"):
        yield lambda: [closing.Line("proofs", f"left out: they need {extras.missing('z3')}", True, 0.0)]
        return
    from tidemark_conformance.verify import proved

    with proved.beside(not args.no_cache) as judged:

        def line() -> list[closing.Line]:
            started = time.monotonic()
            found, before = judged()
            text = proved.text(found) + (" (kept)" if before else "")
            return [closing.Line("proofs", text, all(one.ok for one in found), time.monotonic() - started)]

        yield line


def hunt_lines(args: argparse.Namespace, console: Console) -> list[closing.Line]:
    """Every protocol and composition hunted from a fresh seed: their line of the closing table. Each finding is printed
    with the command that shows it again."""
    from tidemark_conformance.verify import hunts

    started = time.monotonic()
    found = hunts.fresh(min(HUNTED_S, HUNTED_S * args.traces / TRACES), not args.no_cache)
    for one in found:
        for what, command in one.findings:
            console.print(Text(f"{one.name}, hunted from seed {one.seed}: {what}: `{command}`", style="bold red"))
    ok = not any(one.findings for one in found)
    return [closing.Line("hunts", hunts.text(found), ok, time.monotonic() - started)]


def _rarity(session: Any, row: zoo.Row, known: Mapping[str, Any]) -> closing.Line:
    """How often a rare flaw shows itself by chance, under the profile that the row pins some seeds of."""
    from tidemark_conformance.verify import matrix

    started = time.monotonic()
    plan = replace(row.simulation, first_seed=0, count=row.simulation.rarity)
    with progress(f"rarity of row {row.number}") as bar:
        (killed,) = matrix.kill(session, [replace(row, simulation=plan)], known, bar)
    return closing.Line(f"rarity of row {row.number}", rarity(killed), killed.ok, time.monotonic() - started)


def rarity(killed: Killed) -> str:
    """In how many traces the row's property fell, and all else that is wrong with them."""
    once = f" (1 in {killed.simulated / killed.by_property:,.0f})" if killed.by_property else ""
    return (
        f"{killed.row.id}: {killed.row.property} falls in {killed.by_property:,} of {killed.simulated:,} traces{once}, "
        f"{killed.by_step:,} have a step that is none"
        + (f"; {killed.strange:,} do not conform without the row's rules" if killed.strange else "")
        + (f"; {killed.undecided:,} undecided" if killed.undecided else "")
    )


def _write(args: argparse.Namespace, name: str, content: dict[str, Any]) -> None:
    if args.json:
        document.write(content, str(args.json / f"{name}.json"))
