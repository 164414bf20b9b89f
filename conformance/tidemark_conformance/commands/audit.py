"""`tidemark audit PATH...`: check traces against a specification, here or on Spark."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidemark_conformance import extras
from tidemark_conformance.audit.inputs import Input, open_here, open_input, require_first_trace, require_headers
from tidemark_conformance.audit.options import Options
from tidemark_conformance.console.progress import progress
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.registry.specifications import add_baseline_arguments, add_specification_arguments, load_asked
from tidemark_conformance.report import document
from tidemark_conformance.simulate.provenance import beyond, refuse_composition
from tidemark_conformance.spark.session import spark_session
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.header import Header
from tidemark_conformance.trace.schema import schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

    from tidemark_conformance.audit.result import AuditResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark audit`."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="trace files or folders; on Spark all that it can read"
    )
    add_specification_arguments(parser)
    add_baseline_arguments(parser)
    engine = parser.add_mutually_exclusive_group()
    engine.add_argument(
        "--local", action="store_true", help="judge in processes of this machine (default for input of moderate size)"
    )
    engine.add_argument("--spark", action="store_true", help="judge on Spark, whatever the size")
    engine.add_argument("--master", help="judge on Spark with this master (default: local[2], or spark-submit's)")
    parser.add_argument("--oracle", type=int, default=0, metavar="N", help="let TLC replay N passing traces, too")
    toolchain.add_jar_argument(parser)
    parser.add_argument(
        "--from-snapshot", action="store_true", help="traces need not start in Init; checks with history do not run"
    )
    parser.add_argument(
        "--max-undecided",
        default="",
        metavar="N[%]",
        help="exit with 0 where no trace fails and no more than N traces, or N percent of them, are undecided",
    )
    document.add_argument(parser)
    parser.add_argument(
        "--junit",
        type=document.output,
        metavar="FILE",
        help="write JUnit XML: checks and failing traces as test cases",
    )
    parser.add_argument(
        "--sarif",
        type=document.output,
        metavar="FILE",
        help="write SARIF 2.1.0: failing traces beside the lines of the specification",
    )
    parser.add_argument(
        "--annotations",
        action="store_true",
        help="print them as `file:line: error: text`, or where GITHUB_ACTIONS is true as commands of a GitHub workflow",
    )


def run(args: argparse.Namespace) -> int:
    """Audit; 1 for any failing trace, else 3 for more undecided ones than are allowed, else 0."""
    started = time.monotonic()
    options = Options(
        oracle=args.oracle,
        snapshot=args.from_snapshot,
        max_undecided=args.max_undecided,
        located=bool(args.junit or args.sarif or args.annotations),
    )
    for path in args.paths:
        refuse_composition(Path(path))
    console = document.console(args.json)
    here = open_here(args.paths, elsewhere=not args.local and (args.master is not None or _submitted()))
    known = None if here is None else _known(args, here)
    if here is not None and known is not None and _locally(args, here):
        specification, header = known[0], here.header
        result = _audited(None, here, known, options)
    else:
        if args.local:
            raise Unusable(f"--local judges files of this machine, and {' '.join(args.paths)} is none; leave it out")
        with spark_session(args.master) as session:
            source = open_input(session, args.paths)
            known = known or load_asked(args, source.header)
            specification, header = known[0], source.header
            result = _audited(session, source, known, options)
    document.write(result.document(), args.json)
    if args.json != "-":
        _render(result, console, time.monotonic() - started)
        if result.failed:
            console.print(f"`{explaining(args, worth_explaining(result))}` says why")
            chosen = {"baseline": args.baseline, "without": args.without}
            more = beyond(Path(args.paths[0]), specification, chosen)
            if more:
                console.print(more)
    if options.located:
        _report(args, result, specification, header)
    return result.exit_code


def _report(args: argparse.Namespace, result: AuditResult, specification: Specification, header: Header) -> None:
    """Write the reports for a CI. Each file is written whole or not at all."""
    from tidemark_conformance.explain.located import definitions, located
    from tidemark_conformance.report import ci

    found = located(result, specification, header, args.from_snapshot)
    if args.junit:
        document.write_text(ci.junit(result, found), args.junit)
    if args.sarif:
        document.write_text(ci.sarif(result, found, specification.path, definitions(specification)), args.sarif)
    if args.annotations:
        lines = ci.lines(result, found, specification.path, os.environ.get("GITHUB_ACTIONS") == "true")
        (sys.stderr if args.json == "-" else sys.stdout).write(lines)


def _known(args: argparse.Namespace, here: Input) -> tuple[Specification, str]:
    """The specification of an input of this machine, all of whose files were written for it. A program that writes
    lines wrongly most often does so from the first trace on, which is said before anything is compiled."""
    known = load_asked(args, here.header)
    schema = schema_of(known[0])
    require_headers(here, schema.header)
    require_first_trace(here, schema)
    return known


def _submitted() -> bool:
    """Whether somebody has started Spark for this process: spark-submit, or a program with a context of its own."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return "PYSPARK_GATEWAY_PORT" in os.environ or getattr(context, "_active_spark_context", None) is not None


def _locally(args: argparse.Namespace, here: Input) -> bool:
    """Whether an input of this machine is judged by processes of this machine."""
    if args.local:
        return True
    if args.spark or args.master is not None or _submitted():
        return False
    from tidemark_conformance.audit import local

    return local.size_of(here) <= local.SPARK_BYTES[here.form] or not extras.installed("pyspark")


def _audited(
    session: SparkSession | None, source: Input, known: tuple[Specification, str], options: Options
) -> AuditResult:
    from tidemark_conformance.audit.audit import audit

    specification, baseline = known
    with progress(f"audit of {specification.module.name}") as bar:
        return audit(session, source, specification, replace(options, baseline=baseline), bar)


def _render(result: AuditResult, console: Console, whole_s: float) -> None:
    from tidemark_conformance.report.audit import render

    render(result, console, whole_s)


def worth_explaining(result: AuditResult) -> str:
    """The most telling of the failing traces: the choice of `tidemark explain` among all that were audited."""
    from tidemark_conformance.explain.search import shows, telling

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
