"""`tidemark audit PATH...`: check traces against a specification, on Spark."""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import replace
from pathlib import Path

from tidemark_conformance.check.audit import Options, audit
from tidemark_conformance.check.inputs import header_here, open_input
from tidemark_conformance.check.provenance import beyond, refuse_composition
from tidemark_conformance.check.result import AuditResult
from tidemark_conformance.check.session import spark_session
from tidemark_conformance.check.specifications import add_baseline_arguments, add_specification_arguments, load_asked
from tidemark_conformance.explain.search import shows, telling
from tidemark_conformance.report import document
from tidemark_conformance.report.audit import render
from tidemark_conformance.report.progress import progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark audit`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="trace files or folders, as Spark can read them")
    add_specification_arguments(parser)
    add_baseline_arguments(parser)
    parser.add_argument("--master", help="Spark's master (default: local[2], or what spark-submit says)")
    parser.add_argument("--oracle", type=int, default=0, metavar="N", help="let TLC replay N passing traces, too")
    parser.add_argument(
        "--from-snapshot", action="store_true", help="traces need not start in Init; checks with history do not run"
    )
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Audit; 1 for any failing trace, else 3 for any undecided one, else 0."""
    started = time.monotonic()
    options = Options(oracle=args.oracle, snapshot=args.from_snapshot)
    for path in args.paths:
        refuse_composition(Path(path))
    console = document.console(args.json)
    here = header_here(args.paths)
    known = None if here is None else load_asked(args, here)
    with spark_session(args.master) as session:
        source = open_input(session, args.paths)
        specification, baseline = known or load_asked(args, source.header)
        with progress(f"audit of {specification.module.name}") as bar:
            result = audit(session, source, specification, replace(options, baseline=baseline), bar)
    document.write(result.document(), args.json)
    if args.json != "-":
        render(result, console, time.monotonic() - started)
        if result.failed:
            console.print(f"`{explaining(args, worth_explaining(result))}` says why")
            chosen = {"baseline": args.baseline, "without": args.without}
            more = beyond(Path(args.paths[0]), specification, chosen)
            if more:
                console.print(more)
    return result.exit_code


def worth_explaining(result: AuditResult) -> str:
    """The most telling of the failing traces: what `tidemark explain` chooses among all that were audited."""
    kinds: dict[str, list[str]] = {}
    for failure in result.failures:
        kinds.setdefault(failure.examples[0][0], []).append(failure.kind)
    return min(kinds, key=lambda trace: telling(shows(kinds[trace]), trace))


def explaining(args: argparse.Namespace, trace: str) -> str:
    """The command that explains a trace that this audit flags, by the same specification and rules."""
    words = ["tidemark", "explain", args.paths[0] if len(args.paths) == 1 else "PATH", "--trace", trace]
    for option in ("spec", "config", "baseline", "without"):
        value = getattr(args, option)
        words += [f"--{option}", str(value)] if value is not None else []
    return shlex.join([*words, "--from-snapshot"] if args.from_snapshot else words)
