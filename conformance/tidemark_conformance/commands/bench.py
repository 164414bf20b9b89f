"""`tidemark bench [PROTOCOL...]`: rates and ratios of simulator, audit and TLC, in one run."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidemark_conformance import cache
from tidemark_conformance.console.progress import progress, say
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry.protocols import protocol, protocols
from tidemark_conformance.report import document, speed
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.verify.measure import bench

STEPS = 20_000_000
SMALL = "tidemark bench idempotence --steps 20000"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark bench`."""
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="protocols with a simulator (default: all)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps to audit (default: {STEPS:,})")
    parser.add_argument("--master", help="Spark's master (default: local[2])")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="keep the traces here, and use them again")
    parser.add_argument(
        "--record", action="store_true", help=f"keep what was measured in full in {speed.RECORD}, for the README"
    )
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """0: all was measured. 2: something could not be measured; all the rest is printed, written and recorded all the
    same."""
    chosen = [protocol(name) for name in args.protocols or sorted(protocols())]
    if not chosen:
        raise Unusable("no protocol with a simulator is registered; add one to spec/<protocol>/protocol.toml")
    if args.steps < 1:
        raise Unusable(f"cannot bench with {args.steps} steps: give at least 1")
    record = CHECKOUT / speed.RECORD if args.record else None
    if record and record.exists():
        speed.read(record)  # a damaged one is better known before hours of measuring
    console = document.console(args.json)
    of = "1 protocol" if len(chosen) == 1 else f"{len(chosen)} protocols"
    say(f"tidemark bench: {of}, {args.steps:,} steps each; a small run is `{SMALL}`")
    if not compiled.hindrance() and not cache.sealed(compiled.folder()):
        say("compiling the implementation (about three minutes)")
    try:
        compiled.build()
    except Unusable as problem:
        say(f"tidemark bench: {problem}")
    measures: list[speed.Measure] = []
    missing: dict[str, str] = {}
    with spark_session(args.master) as session:
        for one in chosen:
            folder = args.traces / one.name if args.traces else None
            found: list[speed.Measure] = []
            try:
                with progress(f"bench of {one.name}") as bar:
                    for measure in bench(session, one, args.steps, bar, folder):
                        found.append(measure)
            except Unusable as problem:
                missing[one.name] = str(problem)
            measures += found
            if args.json != "-":
                _render(found, console)
            if record and one.name not in missing:
                speed.record(found, record)
    document.write(speed.content(measures, missing), args.json)
    if args.json != "-" and len(chosen) > 1:
        console.print()
        speed.render(measures, console)
    for name, why in missing.items():
        say(f"tidemark bench: {name} is not measured in full: {why}")
    return 2 if missing else 0


def _render(measures: list[speed.Measure], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for measure in measures:
        table.add_row(measure.name, speed.shown(measure.value), measure.unit)
    console.print(table)
