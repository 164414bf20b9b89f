"""`tidemark prove --search K`: the specification and its beginning, the search, and the run found as a trace."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from tidemark_conformance.audit.result import HOLDS, UNDECIDED, VIOLATION
from tidemark_conformance.console.progress import progress
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.prove import inductive
from tidemark_conformance.registry.specifications import with_rules_off
from tidemark_conformance.report import document
from tidemark_conformance.symbolic import search, showing, witness
from tidemark_conformance.symbolic.beginning import Beginning, beginning, with_room
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.trace.schema import schema_of

FILE = "witness.ndjson"
"""The trace of a run that was found, in the folder of `-o`."""
EXIT_CODES = {search.NOTHING: HOLDS, search.FOUND: VIOLATION, search.UNKNOWN: UNDECIDED}


def run(arguments: argparse.Namespace) -> int:
    """0: nothing within K steps; 1: a violation was found; 3: the solver did not decide within its limit."""
    _require_sensible(arguments)
    without = None if arguments.without is None else frozenset(one for one in arguments.without.split(",") if one)
    spec = _specification(arguments)
    begun: Beginning | None = None
    if arguments.begin is not None:
        compiled.avoid()
        begun = beginning(arguments.begin, spec, without)
        spec = begun.spec
    elif spec is None:
        raise Unusable("--search needs a specification: name one theorem, or give --spec and --config, or --from")
    elif without is not None:
        spec = with_rules_off(spec, without)
    names = search.asked(spec, arguments.property)
    sized = spec if begun is None else with_room(spec, begun.state, arguments.search)
    console = document.console(arguments.json)
    with progress(f"search of {spec.cfg.stem}", "steps") as bar:
        looking = search.Search(
            sized,
            names,
            None if begun is None else begun.state,
            search.LIMIT if arguments.limit is None else arguments.limit,
        )
        found = looking.run(arguments.search, lambda depth, verdict, seconds: bar.update(depth, arguments.search))
    if found.witness is not None:
        wrong = witness.confirmed(found.witness, spec, compile_python(spec), begun is None)
        if wrong:
            found.verdict, found.why = search.UNKNOWN, f"the solver's model is no run: {wrong}"
    result = showing.Result(spec, sized, arguments.search, arguments.begin, found)
    if found.verdict == search.FOUND and found.witness is not None and arguments.output is not None:
        result.trace = _written(arguments.output, spec, found.witness, begun)
        result.command = _judging(arguments, spec, begun)
    document.write(showing.document(result), arguments.json)
    showing.render(result, console)
    return EXIT_CODES[found.verdict]


def _require_sensible(arguments: argparse.Namespace) -> None:
    if arguments.search < 0:
        raise Unusable(f"--search {arguments.search} is no number of steps: give 0 or more")
    for option in ("mutants", "vacuity", "record", "again", "list"):
        if getattr(arguments, option):
            raise Unusable(f"--{option} is of proofs: leave it or --search out")
    if len(arguments.names) > 1 or (arguments.names and arguments.spec is not None):
        raise Unusable("--search is of one specification: name one theorem, or give --spec and --config")


def _specification(arguments: argparse.Namespace) -> Specification | None:
    if arguments.spec is not None:
        return search.loaded(arguments.spec, arguments.config)
    if not arguments.names:
        return None
    known = inductive.modules()
    return search.loaded(*known[arguments.names[0]])


def _written(folder: Path, spec: Specification, found: witness.Witness, begun: Beginning | None) -> Path | None:
    """The witness as a trace file in the folder, with the steps before its beginning; None where no trace holds it."""
    schema = schema_of(spec)
    told = witness.stream(schema, found, None if begun is None else begun.run)
    if told is None:
        return None
    path = folder / FILE
    nodes = () if begun is None else begun.run.nodes
    before = 0 if begun is None else len(begun.run.events) - 1
    witness.write(path, schema, "witness", nodes, told, before + len(found.steps))
    return path


def _judging(arguments: argparse.Namespace, spec: Specification, begun: Beginning | None) -> str:
    """The command that audits the trace."""
    words = ["tidemark", "audit", str(arguments.output), "--spec", str(spec.path), "--config", str(spec.cfg)]
    golden = begun is not None and arguments.without is None and spec.without
    if arguments.without is not None or golden:
        words += ["--without", ",".join(sorted(spec.without))]
    return shlex.join(words)
