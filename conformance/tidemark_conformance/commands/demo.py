"""`tidemark demo PROTOCOL`: one long run of an implementation that a person can follow, counted at its end and audited.

A protocol that has one names it in its descriptor (simulate/demonstration.py).
"""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.result import HOLDS, VIOLATION, AuditResult
from tidemark_conformance.console.progress import progress
from tidemark_conformance.errors import Unusable, writable
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.report import document
from tidemark_conformance.report.audit import headline
from tidemark_conformance.simulate.demonstration import Shown, demonstrations
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.tla.spec import load
from tidemark_conformance.trace.parquet import PartWriter
from tidemark_conformance.trace.schema import schema_of

if TYPE_CHECKING:
    from tidemark.simulator.demonstration import Demonstrated

SHOWN = 10
"""So many of the things that are wrong are named one by one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark demo`: those of each demonstration are its own."""
    known = demonstrations()
    which = parser.add_subparsers(dest="protocol", required=True, metavar="PROTOCOL", help=_choices(known))
    for name, one in known.items():
        chosen = which.add_parser(name, description=one.demonstration.summary)
        one.add_arguments(chosen)
        chosen.add_argument("--seed", type=int, default=0, metavar="K", help="another seed, another run (0)")
        chosen.add_argument("--without", metavar="RULE[,RULE]", help=one.demonstration.without)
        chosen.add_argument("--master", help="Spark's master for the audit (default: local[2])")
        chosen.add_argument(
            "-o", "--output", type=Path, metavar="DIR", help="keep the trace here (a folder that is new or empty)"
        )
        document.add_argument(chosen)


def _choices(known: Iterable[str]) -> str:
    """The demonstrations, each with the command that tells its options."""
    return ", ".join(f"{name} (its options: tidemark demo {name} --help)" for name in known) or "none"


def run(args: argparse.Namespace) -> int:
    """Run, count, audit; 1 if the count is wrong or the audit flags the trace, else what the audit says."""
    if args.seed < 0:
        raise Unusable(f"--seed {args.seed} is no seed; give 0 or more")
    one = demonstrations()[args.protocol]
    console = document.console(args.json)
    with temporary_folder("tidemark-demo-") if args.output is None else nullcontext(Path()) as aside:
        out = args.output or aside / "trace"
        _require_empty(out)
        return _demonstrate(args, one, out, console)


def _require_empty(out: Path) -> None:
    with writable(out):
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()):
            raise Unusable(f"{out} is not empty, and nothing in it is overwritten; choose another folder")


def _demonstrate(args: argparse.Namespace, one: Shown, out: Path, console: Console) -> int:
    prepared = one.prepared(args, out)
    specification = load(prepared.spec, prepared.config)
    header = schema_of(specification).with_nodes(prepared.nodes)
    started = time.monotonic()
    with progress(one.demonstration.summary, one.demonstration.counted) as bar:
        found = prepared.run(header.to_json(), bar)
    seconds = time.monotonic() - started
    with PartWriter(out / "part-0.parquet", header) as writer:
        writer.add(f"seed-{args.seed}", found.steps, found.stream)
    if args.json != "-":
        _render(found, seconds, console)
    with spark_session(args.master) as session, progress(f"audit of {specification.module.name}") as bar:
        result = audit(session, [str(out)], specification, progress=bar)
    code = VIOLATION if found.wrong else result.exit_code
    document.write(_document(found, result, seconds, code == HOLDS), args.json)
    if args.json != "-":
        console.print(headline(result, None))
        for step, signature in sorted((failure.examples[0][1], failure.signature) for failure in result.failures):
            console.print(Text(f"  first fails at step {step:,}: {signature}", style="red"))
        if args.output is not None:
            console.print(f"the trace is in {out}")
        if result.failed and args.output is None:
            console.print("-o DIR keeps the trace, and `tidemark explain DIR` says why")
        elif result.failed:
            console.print(f"`{_explaining(out, prepared.spec, prepared.config)}` says why")
    return code


def _explaining(out: Path, spec: Path, config: Path) -> str:
    """The command that explains the kept trace; a run of another size has its configuration beside it."""
    own = ["--spec", str(spec), "--config", str(config)] if config.parent == out else []
    return shlex.join(["tidemark", "explain", str(out), *own])


def _render(found: Demonstrated, seconds: float, console: Console) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, number in found.facts.items():
        bad = name in found.bad and number
        table.add_row(Text(name, style="bold red" if bad else ""), Text(f"{number:,}", style="bold red" if bad else ""))
    console.print(table)
    for line in found.wrong[:SHOWN]:
        console.print(Text(f"  {line}", style="red"))
    if len(found.wrong) > SHOWN:
        console.print(f"  and {len(found.wrong) - SHOWN:,} more")
    console.print(f"{found.verdict} ({seconds:.1f} s)")


def _document(found: Demonstrated, result: AuditResult, seconds: float, ok: bool) -> dict[str, Any]:
    return {
        "schema": "tidemark.demo/1",
        "ok": ok,
        "facts": dict(found.facts),
        "wrong": list(found.wrong),
        "seconds": round(seconds, 3),
        "audit": result.document(),
    }
