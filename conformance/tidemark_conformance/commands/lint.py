"""`tidemark lint PATH...`: whether trace files can be audited, in the time that it takes to read them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.specifications import add_specification_arguments, load_for
from tidemark_conformance.report import document
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.trace.files import local_files
from tidemark_conformance.trace.lint import Linted, lint, problems
from tidemark_conformance.trace.schema import schema_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark lint`."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trace files, or folders of them")
    add_specification_arguments(parser)
    document.add_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Lint; 2 for anything that an audit refuses, else 3 for any trace that it cannot decide, else 0."""
    files = local_files(args.paths)
    shown = " ".join(map(str, args.paths))
    expected = None
    if args.spec is not None or args.config is not None:
        if args.spec is None:
            raise Unusable(f"--config {args.config} is given without its specification; pass --spec, too")
        expected = schema_of(load_for(None, args.spec, args.config)[0])
    found = lint(files, shown, expected)
    document.write(_document(found), args.json)
    for sentence in problems(found):
        print(f"tidemark lint: {sentence}", file=sys.stderr)
    if args.json != "-":
        undecided = sum(count for count, _ in found.undecided.values())
        counts = f"{counted(found.files, 'file')}, {counted(found.traces, 'trace')}, {counted(found.steps, 'step')}"
        state = "clean" if _code(found) == 0 else f"{len(found.unusable)} unusable, {undecided:,} undecided"
        print(f"{counts}: {state}")
    return _code(found)


def _code(found: Linted) -> int:
    return 2 if found.unusable else 3 if found.undecided else 0


def _document(found: Linted) -> dict[str, Any]:
    """The document `tidemark.lint/1`."""
    return {
        "schema": "tidemark.lint/1",
        "ok": _code(found) == 0,
        "files": found.files,
        "traces": found.traces,
        "steps": found.steps,
        "unusable": [{"file": file, "message": sentence} for file, sentence in found.unusable.items()],
        "undecided": [
            {
                "reason": reason,
                "traces": count,
                "first": {"trace": one.trace, "file": one.file, "line": one.line, "detail": one.detail},
            }
            for reason, (count, one) in sorted(found.undecided.items())
        ],
    }
