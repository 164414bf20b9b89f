"""`tidemark agree`: every backend of the compiler against TLC, on the full state graphs of small models."""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import itertools
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance import machine
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import classes, toolchain
from tidemark_conformance.processes import raise_on_sigterm
from tidemark_conformance.report import agreed, document
from tidemark_conformance.tla import spec as specifications
from tidemark_conformance.tlc import agree, backends, graph, manifest, mutants, sizes, verify
from tidemark_conformance.verify import kept

BUDGET_S = 600.0
"""Seconds that TLC may take for one graph."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """One model to compare."""

    name: str
    module: Path
    cfg: Path
    heap_mib: int = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark agree`."""
    parser.add_argument("--spec", type=Path, metavar="F.tla", help="a specification (default: the manifest's models)")
    parser.add_argument("--config", type=Path, metavar="F.cfg", help="its TLC configuration file")
    parser.add_argument(
        "--backend", action="append", choices=backends.NAMES, help="only this backend (may be repeated)"
    )
    parser.add_argument("--model", action="append", metavar="NAME", help="only this model of the manifest")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_S, metavar="SECONDS", help=f"TLC's time for one graph ({BUDGET_S:g})"
    )
    parser.add_argument(
        "--states",
        type=int,
        default=graph.MOST_STATES,
        metavar="N",
        help=f"states after which a model is given up as too large ({graph.MOST_STATES:,})",
    )
    parser.add_argument(
        "--record", action="store_true", help=f"keep the document in {agreed.RECORD}, for docs/agree.md"
    )
    toolchain.add_jar_argument(parser)
    document.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: every answer is TLC's; 1: one differs, or in no model of the manifest some action has a step, or some property
    falls."""
    if arguments.record and (arguments.backend or not _whole(arguments)):
        raise Unusable("--record keeps what a whole run found: leave --spec, --model and --backend out")
    console = document.console(arguments.json)
    started = time.monotonic()
    with _progress() as say:
        agreements, known = _compare_all(_subjects(arguments), arguments, say)
    missed = agree.never_taken(agreements) if _whole(arguments) else []
    hollow = agree.never_false(agreements) if _whole(arguments) else []
    found = as_document(agreements, missed, hollow)
    document.write(found, arguments.json)
    render(agreements, console, time.monotonic() - started, missed, hollow, known)
    if arguments.record:
        agreed.record(found)
    return 0 if found["ok"] else 1


def _whole(arguments: argparse.Namespace) -> bool:
    """Whether all models of the manifest are compared."""
    return arguments.spec is None and not arguments.model


def _compare_all(
    subjects: list[_Subject], arguments: argparse.Namespace, say: Callable[[str], None]
) -> tuple[list[agree.Agreement], int]:
    """The models in their order, as many side by side as there are cores, each in a process of its own. Also the number
    of them that an earlier run has compared."""
    keys = {subject.name: _key(subject, arguments) for subject in subjects}
    found: dict[str, agree.Agreement] = {}
    for subject in subjects:
        kept_one = None if arguments.no_cache else kept.recall(keys[subject.name])
        if isinstance(kept_one, agree.Agreement):
            found[subject.name] = kept_one
    known = len(found)
    rest = [subject for subject in subjects if subject.name not in found]
    if len(rest) >= verify.MANY:
        classes.make(toolchain.find_jar(arguments.jar))
    cores = min(machine.cores(), len(rest))
    if cores < 2:
        found |= {subject.name: _once(subject, keys[subject.name], arguments, say) for subject in rest}
        return [found[subject.name] for subject in subjects], known
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        cores, mp_context=context, initializer=raise_on_sigterm, initargs=(SystemExit,)
    ) as pool:
        running = {
            pool.submit(_elsewhere, subject, keys[subject.name], arguments): subject.name for subject in _in_turn(rest)
        }
        try:
            for future in concurrent.futures.as_completed(running):
                one = found[running[future]] = future.result()
                say(
                    f"{running[future]}: {one.states:,} states, {one.edges:,} steps compared in {one.seconds:.0f} s, "
                    f"{sum(backend.disagreements for backend in one.comparisons):,} answers differ"
                )
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    return [found[subject.name] for subject in subjects], known


def _in_turn(subjects: Sequence[_Subject]) -> list[_Subject]:
    """The models of the specifications in turn. Those of one often have the same kernels. Two processes that began with
    them at once would both compile them."""
    modules: dict[Path, list[_Subject]] = {}
    for subject in subjects:
        modules.setdefault(subject.module, []).append(subject)
    rounds = itertools.zip_longest(*modules.values())
    return [subject for one in rounds for subject in one if subject is not None]


def _key(subject: _Subject, arguments: argparse.Namespace) -> str:
    return kept.of_agreement(subject.module, subject.cfg, arguments.backend or backends.NAMES, arguments.jar)


def _once(subject: _Subject, key: str, arguments: argparse.Namespace, say: Callable[[str], None]) -> agree.Agreement:
    """The comparison, kept for later runs if nothing differs."""
    found = _compare(subject, arguments, say)
    kept.keep(key, found if found.ok else None)
    return found


def _elsewhere(subject: _Subject, key: str, arguments: argparse.Namespace) -> agree.Agreement:
    """The same in another process, which says nothing. It exits when it is terminated: its pool would take SystemExit
    for the result of this model, and begin with the next. Before, it ends the blocks that the exception's frames hold.
    A signal may come when a block has been entered and its caller does not know it yet."""
    try:
        return _once(subject, key, arguments, lambda _: None)
    except SystemExit as end:
        traceback.clear_frames(end.__traceback__)
        os._exit(1)


def _subjects(arguments: argparse.Namespace) -> list[_Subject]:
    if (arguments.spec is None) != (arguments.config is None):
        raise Unusable("--spec and --config belong together: give both, or neither for the manifest's models")
    if arguments.spec is not None:
        return [_Subject(arguments.config.stem, arguments.spec, arguments.config)]
    found = manifest.load()
    flagged = [model for model in found.models if model.agree]
    if arguments.model:
        flagged = found.select(arguments.model, meant=lambda model: model.agree)
    if not flagged:
        raise Unusable(f"{found.path} flags no model with 'agree': flag a small one")
    return [_Subject(model.name, model.module, model.cfg, model.heap_mib) for model in flagged]


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Shows progress on standard error: one live line in a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    with Console(stderr=True).status("") as status:
        yield status.update


def _compare(subject: _Subject, arguments: argparse.Namespace, say: Callable[[str], None]) -> agree.Agreement:
    started = time.monotonic()
    say(f"{subject.name}: compiling")
    spec = specifications.load(subject.module, subject.cfg)
    made = backends.backends(spec, arguments.backend or backends.NAMES)
    say(f"{subject.name}: its state graph out of TLC")
    dumped = graph.dump(
        subject.module,
        subject.cfg,
        jar=arguments.jar,
        budget_s=arguments.budget,
        heap_mib=subject.heap_mib,
        most_states=arguments.states,
        on_progress=lambda states, rate: say(f"{subject.name}: TLC has seen {states:,} states, {rate:,.0f} a second"),
        cure=sizes.advice(spec),
    )
    say(f"{subject.name}: changed states and steps, judged by TLC")
    changed = mutants.judged(spec, dumped, jar=arguments.jar, budget_s=arguments.budget, heap_mib=subject.heap_mib)
    say(f"{subject.name}: comparing {len(dumped.states):,} states and {len(dumped.edges):,} steps")
    return agree.compare(
        subject.name, dumped, spec.module.ghosts, made, changed, started=started, hidden=spec.module.hidden
    )


def as_document(
    agreements: list[agree.Agreement], missed: Sequence[str] = (), hollow: Sequence[str] = ()
) -> dict[str, Any]:
    """The document `tidemark.agree/1`; `missed`: actions of which no model has a step, `hollow`: predicates and
    properties that fall in none."""
    return {
        "schema": "tidemark.agree/1",
        "ok": all(one.ok for one in agreements) and not missed and not hollow,
        "never_taken": list(missed),
        "never_false": list(hollow),
        "models": [
            {
                "name": one.model,
                "states": one.states,
                "violating_states": one.violating_states,
                "edges": one.edges,
                "non_edges": one.non_edges,
                "invariants": one.invariants,
                "actions": one.actions,
                "properties": one.properties,
                "untaken": list(one.untaken),
                "broken": list(one.broken),
                "unbroken": list(one.unbroken),
                "seconds": round(one.seconds, 3),
                "backends": _backends(one),
            }
            for one in agreements
        ],
    }


def _backends(one: agree.Agreement) -> dict[str, Any]:
    """How each backend answered. The kernels have a second key, by which this version of the document is known."""
    found = {
        backend.backend: {
            "compared": backend.compared,
            "disagreements": backend.disagreements,
            "left_out": backend.left_out,
            "refused": backend.refused,
            "kinds": backend.kinds,
            "first": str(backend.first) if backend.first else None,
        }
        for backend in one.comparisons
    }
    return found | ({agreed.FORMER: found["kernels"]} if "kernels" in found else {})


def render(
    agreements: list[agree.Agreement],
    console: Console,
    seconds: float,
    missed: Sequence[str] = (),
    hollow: Sequence[str] = (),
    known: int = 0,
) -> None:
    """Prints one line per model and backend, then the actions and properties that no model takes or violates, and the
    first disagreement of each. It ends with the wall-clock time of all (`seconds`) and the number of models that an
    earlier run has compared (`known`)."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model")
    for title in ("states", "violating", "edges", "non-edges", "invariants", "actions"):
        table.add_column(title, justify="right")
    table.add_column("backend")
    table.add_column("compared", justify="right")
    table.add_column("disagreements", justify="right")
    for one in agreements:
        sizes = (one.states, one.violating_states, one.edges, one.non_edges, one.invariants, one.actions)
        for at, backend in enumerate(one.comparisons):
            shown = [one.model, *(f"{size:,}" for size in sizes)] if at == 0 else [""] * 7
            style = "bold red" if backend.disagreements else "green"
            if backend.refused:
                table.add_row(*shown, backend.backend, f"{backend.compared:,}", Text("refused", style="yellow"))
                continue
            differing = Text(f"{backend.disagreements:,}", style=style)
            table.add_row(*shown, backend.backend, f"{backend.compared:,}", differing)
    console.print(table)
    if len(agreements) == 1 and agreements[0].untaken:
        console.print(f"only near misses, and no step, of {', '.join(agreements[0].untaken)}", style="yellow")
    if len(agreements) == 1 and agreements[0].unbroken:
        console.print(f"compared only where they hold: {', '.join(agreements[0].unbroken)}", style="yellow")
    if missed:
        console.print(f"no model has a step of {', '.join(missed)}", style="bold red")
    if hollow:
        console.print(f"compared only where they hold, in all models: {', '.join(hollow)}", style="bold red")
    for line in _firsts(agreements):
        console.print(line)
    for one in agreements:
        for backend in one.comparisons:
            if backend.refused:
                console.print(f"{one.model}: {backend.refused}", style="yellow")
    left = sum(backend.left_out for one in agreements for backend in one.comparisons)
    if left:
        console.print(f"z3 was asked a sample of its questions, at equal distances; {left:,} were left out")
    total = sum(backend.compared for one in agreements for backend in one.comparisons)
    wrong = sum(backend.disagreements for one in agreements for backend in one.comparisons)
    console.print(f"{total:,} answers compared with TLC's in {seconds:.1f} s, {wrong:,} differ")
    if known:
        console.print(f"{known} of {len(agreements)} models were compared by an earlier run, and nothing changed since")


def _firsts(agreements: list[agree.Agreement]) -> Iterator[str]:
    for one in agreements:
        for backend in one.comparisons:
            if backend.first:
                yield f"{one.model}, {backend.backend}: {backend.first}"
