"""`tidemark bench [PROTOCOL...]`: rates and ratios of simulator, audit and TLC, in one run."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tidemark_conformance.check.measure import Measure, bench
from tidemark_conformance.check.protocols import protocol, protocols
from tidemark_conformance.check.session import spark_session
from tidemark_conformance.errors import Unusable
from tidemark_conformance.report import document
from tidemark_conformance.report.progress import progress

STEPS = 20_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark bench`."""
    parser.add_argument("protocols", nargs="*", metavar="PROTOCOL", help="protocols with a simulator (default: all)")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"steps to audit (default: {STEPS:,})")
    parser.add_argument("--master", help="Spark's master (default: local[2])")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="keep the traces here, and use them again")
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Measure; always 0 unless something cannot be measured."""
    chosen = [protocol(name) for name in args.protocols or sorted(protocols())]
    if not chosen:
        raise Unusable("no protocol with a simulator is registered; add one to spec/protocols.toml")
    measures: list[Measure] = []
    with spark_session(args.master) as session:
        for one in chosen:
            folder = args.traces / one.name if args.traces else None
            with progress(f"bench of {one.name}") as bar:
                measures += bench(session, one, args.steps, bar, folder)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = {
        "schema": "tidemark.bench/1",
        "machine": {"cores": cores},
        "measures": [measure.document() for measure in measures],
    }
    document.write(found, args.json)
    if args.json != "-":
        _render(measures, document.console(args.json))
    return 0


def _render(measures: list[Measure], console: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("measure")
    table.add_column("value", justify="right")
    table.add_column("unit")
    for measure in measures:
        value = f"{measure.value:,.0f}" if abs(measure.value) >= 100 else f"{measure.value:,.2f}"
        table.add_row(measure.name, value, measure.unit)
    console.print(table)
