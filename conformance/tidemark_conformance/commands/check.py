"""`tidemark check [MODEL...]`: TLC on the models of spec/manifest.json."""

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

from tidemark_conformance.report import document
from tidemark_conformance.tlc import verify
from tidemark_conformance.tlc.manifest import Model, load, pin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark check`."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help="names in the manifest (default: all of tier check)")
    parser.add_argument("--deep", action="store_true", help="the models of tier deep, too")
    parser.add_argument("--jar", help="the tla2tools.jar to use")
    parser.add_argument("--manifest", type=Path, help="another manifest (default: spec/manifest.json)")
    parser.add_argument("--pin", action="store_true", help="pin what the cfgs check now in the manifest")
    document.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: every model is as the manifest expects; 1: one is not; 3: one was not decided and the others are fine."""
    if arguments.pin:
        changed = pin(arguments.manifest)
        print("the manifest has changed: review the difference" if changed else "the manifest pins what the cfgs check")
        return 0
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
            }
            for outcome in outcomes
        ],
        "unreached": {group: list(things) for group, things in missing.items()},
    }


def render(
    outcomes: list[verify.Outcome], missing: dict[str, list[str]], seconds: float, console: Console | None = None
) -> None:
    """Prints the table of models, every difference from the manifest, and what the groups do not reach."""
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
    """Calls `go(listener)` with a listener that shows what runs and what is done, of so many models in `total`."""
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

    def live(kind: str, model: Model, what: Any) -> None:
        if kind == "started":
            tasks[model.name] = shown.add_task(model.name, total=None, states="")
        elif kind == "progress":
            of = f" of {model.distinct:,}" if model.distinct else ""
            shown.update(tasks[model.name], states=f"{what[0]:,}{of} states, {what[2]:,} waiting")
        elif model.name in tasks:
            shown.remove_task(tasks.pop(model.name))

    with shown:
        return go(live)


def _plain(total: int) -> verify.Listener:
    """A line where a model starts, and one where it is done, with how many are (those of the cache count, too)."""
    done = 0

    def tell(kind: str, model: Model, what: Any) -> None:
        nonlocal done
        if kind == "started":
            print(f"{model.name}: started", file=sys.stderr, flush=True)
        elif kind == "done":
            done += 1
            if not what.cached:
                line = f"{model.name} ({done:,} of {total:,}): {verdict_text(what)} ({what.result.seconds:.1f} s)"
                print(line, file=sys.stderr, flush=True)

    return tell
