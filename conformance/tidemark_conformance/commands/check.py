"""`tidemark check [MODEL...]`: TLC on the models of the manifests; with --spec on anybody's specification."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.report import counterexample, document
from tidemark_conformance.tlc import verify
from tidemark_conformance.tlc.manifest import Model, load, pin
from tidemark_conformance.tlc.runner import TlcResult

HEAP_MIB = 1024
"""Java's heap for a specification that no manifest knows."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark check`."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="names in the manifest (default: all of tier check)")
    parser.add_argument("--deep", action="store_true", help="the models of tier deep, too")
    toolchain.add_jar_argument(parser)
    parser.add_argument("--manifest", type=Path, help="another manifest (default: spec/<protocol>/manifest.json)")
    parser.add_argument("--spec", type=Path, metavar="F.tla", help="instead: any specification")
    parser.add_argument("--config", type=Path, metavar="F.cfg", help="of --spec (default: the cfg of its name)")
    parser.add_argument(
        "--workers", type=int, metavar="N", help="of TLC with --spec (default: 1, which finds the shortest trace)"
    )
    parser.add_argument(
        "--no-deadlock",
        action="store_true",
        help="with --spec: a state without successors is no violation (as CHECK_DEADLOCK FALSE in its cfg)",
    )
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="of --spec; 3 is the exit code where it ends")
    parser.add_argument("--heap", type=int, metavar="MIB", help=f"Java's heap with --spec (default: {HEAP_MIB})")
    parser.add_argument("--pin", action="store_true", help="pin what the cfgs check now in the manifest")
    document.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: every model is as the manifest expects; 1: one is not; 3: one was not decided and the others are fine.

    With --spec: 0 holds, 1 something falls, 2 it cannot be read, configured or evaluated, 3 not decided.
    """
    if arguments.pin:
        changed = pin(arguments.manifest)
        print("the manifest has changed: review the difference" if changed else "the manifest pins what the cfgs check")
        return 0
    if arguments.spec is not None:
        return _foreign(arguments)
    _without_spec(arguments)
    manifest = load(arguments.manifest)
    models = manifest.select(arguments.models, arguments.deep)
    console = document.console(arguments.json)
    started = time.monotonic()
    outcomes = _verify(models, arguments)
    missing = verify.uncovered(manifest, outcomes)
    seconds = time.monotonic() - started
    document.write(as_document(outcomes, missing, seconds), arguments.json)
    render(outcomes, missing, seconds, console)
    return exit_code(outcomes, missing)


def _without_spec(arguments: argparse.Namespace) -> None:
    given = [f"--{name}" for name in ("config", "workers", "budget", "heap") if getattr(arguments, name) is not None]
    given += ["--no-deadlock"] * arguments.no_deadlock
    if given:
        raise Unusable(f"{given[0]} is for --spec, and the manifest says it of its models: give --spec F.tla, too")


def _foreign(arguments: argparse.Namespace) -> int:
    """TLC on a specification that no manifest knows, which is expected to hold."""
    model = _model_of(arguments)
    with toolchain.chosen(arguments.jar):
        _require_known_constants(model)
    outcome = _verify([model], arguments)[0]
    result = outcome.result
    document.write(as_document([outcome], {}, result.seconds), arguments.json)
    render_foreign(outcome, document.console(arguments.json))
    if result.verdict == "error":
        raise Unusable(f"{model.module} cannot be evaluated: {result.reason}")
    return exit_code([outcome], {})


def _require_known_constants(model: Model) -> None:
    """Raises Unusable where the cfg gives a value to a constant that the module does not have, which TLC ignores.

    A cfg that our reader cannot read, or a module that SANY's export cannot, is left to TLC.
    """
    from tidemark_conformance.tla import cfg, overrides, spec

    try:
        config = cfg.read(model.cfg)
        names = spec.names(model.module) if config.constants else frozenset()
    except Unusable:
        return
    overrides.require_known(config, model.module.stem, names)


def _model_of(arguments: argparse.Namespace) -> Model:
    for name, least in (("workers", 1), ("budget", 0.1), ("heap", 64)):
        value = getattr(arguments, name)
        if value is not None and not value >= least:
            raise Unusable(f"--{name} {value:g} is too little: give {least} or more")
    if arguments.models or arguments.deep or arguments.manifest:
        raise Unusable("--spec is checked alone: leave models, --deep and --manifest out")
    spec: Path = arguments.spec
    config: Path = arguments.config or spec.with_suffix(".cfg")
    if not spec.is_file():
        raise Unusable(f"{spec} does not exist: give the path of a TLA+ module")
    if not config.is_file():
        more = "" if arguments.config else ", and --config gives no other"
        raise Unusable(f"{config} does not exist{more}: give the path of TLC's configuration file (.cfg)")
    return Model(
        name=config.stem,
        module=spec,
        cfg=config,
        kind="safety",
        expected="holds",
        property=None,
        distinct=None,
        depth=None,
        scope="full",
        tier="check",
        workers=arguments.workers or 1,
        deadlock=not arguments.no_deadlock,
        covers=None,
        agree=False,
        budget_s=arguments.budget,
        heap_mib=arguments.heap or HEAP_MIB,
    )


def render_foreign(outcome: verify.Outcome, console: Console) -> None:
    """Prints the verdict on a specification, its counts, and a counterexample."""
    result = outcome.result
    said = Text(f"{outcome.model.module} with {outcome.model.cfg}: ")
    said.append(_fell(result) if result.verdict == "violates" else verdict_text(outcome), style="bold")
    if result.verdict == "stopped":
        said.append(f": {result.reason}")
    console.print(said)
    counted = f"{result.distinct:,} distinct states, {result.generated:,} generated"
    if result.verdict == "holds":
        counted += f", depth {result.depth:,}"
    elif result.queue:
        counted += f", {result.queue:,} waiting"
    cached = " (by an earlier run)" if outcome.cached else ""
    console.print(f"{counted}, {result.seconds:.1f} s{cached}", style="dim")
    counterexample.render(result, console)
    if result.kind == "deadlock":
        console.print("If it may end there: CHECK_DEADLOCK FALSE in the cfg, or --no-deadlock.", style="dim")


def _fell(result: TlcResult) -> str:
    """E.g. `invariant Safe falls after 3 steps`."""
    steps = len(result.trace) - 1
    where = f"after {steps} step{'' if steps == 1 else 's'}" if steps > 0 else "in an initial state"
    if result.kind == "deadlock":
        return f"deadlock {where}"
    what = {"invariant": "invariant", "action-property": "property", "temporal": "temporal property"}[result.kind or ""]
    return f"{what} {result.property} falls {where}" if result.property else f"a {what} falls {where}"


def exit_code(outcomes: list[verify.Outcome], missing: dict[str, list[str]]) -> int:
    """0 as expected, 1 another verdict or something unreached, 3 undecided only."""
    wrong = [outcome for outcome in outcomes if not outcome.ok]
    if not wrong and not any(missing.values()):
        return 0
    undecided = bool(wrong) and all(outcome.result.verdict == "stopped" for outcome in wrong)
    return 3 if undecided and not any(missing.values()) else 1


def as_document(outcomes: list[verify.Outcome], missing: dict[str, list[str]], seconds: float) -> dict[str, Any]:
    """The document `tidemark.check/1`."""
    return {
        "schema": "tidemark.check/1",
        "ok": exit_code(outcomes, missing) == 0,
        "seconds": round(seconds, 3),
        "models": [
            {
                "name": outcome.model.name,
                "kind": outcome.model.kind,
                "fell": outcome.result.kind,
                "expected": outcome.model.expected,
                "verdict": outcome.result.verdict,
                "property": outcome.result.property,
                "expected_property": outcome.model.property,
                "distinct": outcome.result.distinct,
                "expected_distinct": outcome.model.distinct,
                "generated": outcome.result.generated,
                "depth": outcome.result.depth,
                "seconds": round(outcome.result.seconds, 3),
                "cached": outcome.cached,
                "scope": outcome.model.scope,
                "ok": outcome.ok,
                "problems": list(outcome.problems),
                "reason": outcome.result.reason,
                "counterexample": None if outcome.ok else counterexample.as_document(outcome.result),
            }
            for outcome in outcomes
        ],
        "unreached": {group: list(things) for group, things in missing.items()},
    }


def render(
    outcomes: list[verify.Outcome], missing: dict[str, list[str]], seconds: float, console: Console | None = None
) -> None:
    """Prints the table of models, every difference from the manifest, and the actions and sides that no group
    reaches."""
    console = console or document.console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model")
    table.add_column("verdict")
    table.add_column("distinct", justify="right")
    table.add_column("depth", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("")
    for outcome in outcomes:
        result = outcome.result
        table.add_row(
            Text(outcome.model.name),
            Text(verdict_text(outcome), style="green" if outcome.ok else "bold red"),
            f"{result.distinct:,}" if result.verdict == "holds" else "",
            str(result.depth or ""),
            f"{result.seconds:.1f}",
            Text(
                "; ".join(outcome.problems) or ("cached" if outcome.cached else ""), style="" if outcome.ok else "red"
            ),
        )
    console.print(table)
    for outcome in outcomes:
        if not outcome.ok and outcome.result.trace:
            console.print(Text(f"{outcome.model.name}, TLC's trace:", style="bold"))
            counterexample.render(outcome.result, console)
    for group, things in missing.items():
        for thing in things:
            console.print(Text(f"{group}: {thing}", style="bold red"))
        if not things:
            console.print(f"{group}: every action is taken, both sides of every rule are reached")
    fresh = sum(not outcome.cached for outcome in outcomes)
    good = sum(outcome.ok for outcome in outcomes)
    console.print(
        f"{good} of {len(outcomes)} models as expected in {seconds:.1f} s ({fresh} run, {len(outcomes) - fresh} cached)"
    )


def verdict_text(outcome: verify.Outcome) -> str:
    """E.g. `holds`, `holds (hurried fetch)`, `Consistency falls`, `not decided`."""
    result, scope = outcome.result, outcome.model.scope
    if result.verdict == "holds":
        return "holds" if scope == "full" else f"holds ({scope})"
    if result.verdict == "violates":
        return f"{result.property or result.kind} falls"
    return {"error": "cannot be evaluated", "stopped": "not decided"}[result.verdict]


def _verify(models: list[Model], arguments: argparse.Namespace) -> list[verify.Outcome]:
    """Runs the models under a progress display on standard error: live in a terminal, a line per event elsewhere."""

    def go(listener: verify.Listener) -> list[verify.Outcome]:
        return verify.verify(models, use_cache=not arguments.no_cache, jar=arguments.jar, listener=listener)

    return with_progress(go, len(models))


def with_progress(go: Callable[[verify.Listener], list[verify.Outcome]], total: int) -> list[verify.Outcome]:
    """Calls `go(listener)`; the listener shows the running and the finished ones of `total` models."""
    if not sys.stderr.isatty():
        return go(_plain(total))
    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.fields[states]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}
    begun: dict[str, float] = {}

    def live(kind: str, model: Model, what: Any) -> None:
        if kind == "started":
            begun[model.name] = time.monotonic()
            tasks[model.name] = shown.add_task(model.name, total=None, states="")
        elif kind == "progress":
            shown.update(tasks[model.name], states=_seen(model, what, begun[model.name]))
        elif model.name in tasks:
            shown.remove_task(tasks.pop(model.name))

    with shown:
        return go(live)


def _seen(model: Model, counts: tuple[int, int, int], begun: float) -> str:
    """How far TLC has come, by its own counts, and at what rate."""
    distinct, generated, queue = counts
    of = f" of {model.distinct:,}" if model.distinct else ""
    rate = generated / max(time.monotonic() - begun, 0.001)
    return f"{distinct:,}{of} distinct states, {rate:,.0f} generated a second, {queue:,} waiting"


def _plain(total: int) -> verify.Listener:
    """A line where a model starts, and one where it is done, with how many are done; those of the cache count, too. If
    there is one model only, also a line for each of TLC's own progress reports."""
    done = 0
    begun: dict[str, float] = {}
    said: dict[str, tuple[int, int, int]] = {}

    def tell(kind: str, model: Model, what: Any) -> None:
        nonlocal done
        if kind == "started":
            begun[model.name] = time.monotonic()
            print(f"{model.name}: started", file=sys.stderr, flush=True)
        elif kind == "progress" and total == 1 and what != said.get(model.name):
            said[model.name] = what
            print(f"{model.name}: {_seen(model, what, begun[model.name])}", file=sys.stderr, flush=True)
        elif kind == "done":
            done += 1
            if not what.cached:
                line = f"{model.name} ({done:,} of {total:,}): {verdict_text(what)} ({what.result.seconds:.1f} s)"
                print(line, file=sys.stderr, flush=True)

    return tell
