"""`tidemark zoo [ROW...]`: the kill matrix."""

from __future__ import annotations

import argparse
import time

from tidemark_conformance.commands.check import with_progress
from tidemark_conformance.console.progress import progress
from tidemark_conformance.java import toolchain
from tidemark_conformance.registry import zoo
from tidemark_conformance.report import document
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.tlc import manifest as manifests
from tidemark_conformance.tlc import verify

TRACES, STEPS = 2_000, 50
"""Of the unflawed run of each protocol beside its rows: few, for `tidemark verify` has many."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark zoo`."""
    parser.add_argument("rows", nargs="*", metavar="ROW", help="ids or numbers of the zoo's rows (default: all)")
    parser.add_argument("--master", help="Spark's master (default: local[2])")
    toolchain.add_jar_argument(parser)
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """0: every row is killed where it must be. 1: a flaw survives, a flawed trace is no trace of the flawed spec, or
    something is wrong with the unflawed traces."""
    from tidemark_conformance.registry import protocols
    from tidemark_conformance.verify import clean, matrix
    from tidemark_conformance.verify import matrix_table as report

    started = time.monotonic()
    rows = zoo.select(args.rows)
    models = models_of(rows, args.jar)
    known = protocols.protocols()
    with spark_session(args.master) as session:
        with progress("flawed implementations") as bar:
            killed = matrix.kill(session, rows, known, bar)
        with clean.replaying() as beside:
            runs = {
                name: clean.clean_run(session, known[name], TRACES, STEPS, 0, beside, progress)
                for name in sorted({row.protocol for row in rows})
            }
        unflawed = {name: report.Unflawed.of(run.result()) for name, run in runs.items()}
    result = report.Matrix(rows, models, {one.row.id: one for one in killed}, unflawed, time.monotonic() - started)
    document.write(result.document(), args.json)
    if args.json != "-":
        report.render(result, document.console(args.json))
    return 0 if result.ok else 1


def models_of(rows: list[zoo.Row], jar: str | None = None) -> dict[str, verify.Outcome | None]:
    """TLC's outcome of each row's model, by the row's id (verdicts come from the cache where nothing changed)."""
    manifest = manifests.load()
    chosen = manifest.select({row.model: None for row in rows if row.model}) if any(row.model for row in rows) else []
    outcomes = with_progress(lambda listener: verify.verify(chosen, jar=jar, listener=listener), len(chosen))
    found = {outcome.model.name: outcome for outcome in outcomes}
    return {row.id: found.get(row.model) for row in rows}
