"""`tidemark explain`: why a trace failed."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tidemark_conformance.audit.result import HOLDS, UNDECIDED, VIOLATION
from tidemark_conformance.console.progress import progress
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain import load
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import Judgement
from tidemark_conformance.explain.record import Explanation, Shrunk
from tidemark_conformance.explain.run import Run
from tidemark_conformance.explain.search import choose
from tidemark_conformance.explain.shrink import NO_SIMULATOR, NOTHING_LESS, shrunk
from tidemark_conformance.explain.slice import sliced, with_slice
from tidemark_conformance.explain.spacetime import WINDOW
from tidemark_conformance.registry.specifications import add_baseline_arguments, add_specification_arguments, load_asked
from tidemark_conformance.report import document, html
from tidemark_conformance.report import explanation as text
from tidemark_conformance.simulate.provenance import beyond, refuse_composition
from tidemark_conformance.trace.files import file_header
from tidemark_conformance.trace.schema import Schema, schema_of

WIDTH = 100
"""Characters of a line of text where the output is no terminal; those of a diagram are as long as they must be."""

EXIT_CODES = {"pass": HOLDS, "fail": VIOLATION, "undecided": UNDECIDED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("path", type=Path, metavar="PATH", help="a trace file (NDJSON or Parquet), or a folder of them")
    parser.add_argument(
        "--trace",
        metavar="ID",
        help="explain this trace (default: of those that fail one in which a property falls, the first by its number)",
    )
    parser.add_argument(
        "-o", "--output", type=document.output, metavar="FILE.html", help="write the explanation as a web page"
    )
    document.add_argument(parser)
    parser.add_argument(
        "--last", type=int, default=WINDOW, metavar="N", help=f"draw the N steps before the failure (default: {WINDOW})"
    )
    parser.add_argument(
        "--all", action="store_true", help="draw the whole trace, also what the failure does not depend on"
    )
    parser.add_argument(
        "--from-snapshot", action="store_true", help="traces need not start in Init; checks with history do not run"
    )
    parser.add_argument(
        "--no-shrink",
        action="store_true",
        help="do not look for a smaller run that fails, nor for the steps that the failure depends on",
    )
    add_specification_arguments(parser)
    add_baseline_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain one trace; 1 if it fails, 3 if it is undecided, 0 if it passes."""
    if arguments.last < 0:
        raise Unusable(f"--last {arguments.last} draws nothing; give a number of steps")
    refuse_composition(arguments.path)
    first = file_header(load.files(arguments.path)[0])
    specification, _ = load_asked(arguments, first)
    explainer = Explainer(specification, snapshot=arguments.from_snapshot)
    schema = schema_of(specification)
    found, judgement, count = _choose(arguments.path, arguments.trace, explainer, schema)
    explained = explainer.explain(found, judgement, None if arguments.all else arguments.last)
    if explained.verdict == "fail" and not arguments.no_shrink:
        if not specification.module.hidden:
            with progress("shrinking its run", "simulations") as shown:
                smaller = shrunk(found, judgement, explainer, schema, lambda runs: shown.update(runs, None))
            explained = replace(explained, shrunk=smaller)
        if not arguments.all and (explained.shrunk is None or explained.shrunk.note == NO_SIMULATOR):
            with progress("the steps that it depends on", "runs") as shown:
                some = sliced(found, judgement, explainer, lambda runs: shown.update(runs, None))
            if some is not None:
                explained = with_slice(explained, some, judgement, explainer, arguments.last)
            else:
                explained = replace(explained, shrunk=Shrunk(NOTHING_LESS))
    _write(explained, arguments, count)
    chosen = {"baseline": arguments.baseline, "without": arguments.without}
    more = beyond(Path(found.source).parent, specification, chosen) if explained.verdict == "fail" else ""
    if more and arguments.json != "-":
        print(f"\n{more}")
    return EXIT_CODES[explained.verdict]


def _choose(path: Path, wanted: str | None, explainer: Explainer, schema: Schema) -> tuple[Run, Judgement, int]:
    """The trace to explain and its judgement: the wanted one, else the most telling; and how many traces were read
    for it."""
    count = 0

    def counted() -> Iterator[load.Stored]:
        nonlocal count
        for trace in load.stored(path, schema, wanted):
            count += 1
            yield trace

    with progress("looking for a failing trace", "traces") as shown:
        found = choose(counted(), explainer, schema, lambda looked: shown.update(looked, None))
    if found is None:
        raise Unusable(
            f"{path} holds no trace {wanted!r}; take an id from the audit's report"
            if wanted is not None
            else f"{path} holds no trace; give the file or folder that was audited"
        )
    return *found, count


def _write(explained: Explanation, arguments: argparse.Namespace, count: int) -> None:
    """The page, the document and the text; with `--json -` nothing but the document is printed. `count`: of the traces
    that were read."""
    if arguments.output is not None:
        page = html.page(explained)
        document.write_text(page, arguments.output)
    document.write(explained.document(), arguments.json)
    if arguments.json == "-":
        return
    console = document.console(width=WIDTH, soft_wrap=None)
    if explained.verdict != "fail" and arguments.trace is None and count > 1:
        which = "the first that is undecided" if explained.verdict == "undecided" else "the first"
        console.print(f"none of the {count:,} traces fails; this is {which}:")
    text.render(explained, console)
    if arguments.output is not None:
        console.print(f"\nwritten to {arguments.output}", style="dim")
