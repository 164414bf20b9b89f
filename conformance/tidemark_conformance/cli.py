"""The `tidemark` command: one subcommand per module of `tidemark_conformance.commands`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, TextIO, cast

from tidemark_conformance import cache, extras
from tidemark_conformance.console.usage import Parser
from tidemark_conformance.errors import DefectError, Unusable
from tidemark_conformance.processes import raise_on_sigterm

COMMANDS = {
    "check": "run TLC on the models of spec/<protocol>/manifest.json, or on any specification (--spec)",
    "simulate": "run the implementation in the simulator and write its traces",
    "demo": "a long run of an implementation that one can follow, counted and audited",
    "lint": "look through trace files: header, types, sums, ids, the first wrong line",
    "hunt": "search by simulation, in worlds that are drawn and guided by what their runs reach",
    "audit": "check traces against a specification, in processes of this machine or on Spark",
    "explain": "say why a trace failed",
    "zoo": "the kill matrix: every known flaw against TLC and against the audit",
    "agree": "compare every backend of the compiler with TLC, state by state and edge by edge",
    "prove": "inductive proofs of a specification's properties, for runs of any length",
    "reproduce": "a find on released Kafka, started on this machine, with evidence and a control",
    "rule": "one safety rule side by side: specification, Python, zoo row, counterexample, flagged step",
    "verify": "all that `make check` does: models, simulation, audit, kill matrix, proofs, hunts; one table",
    "golden": "run the golden scenarios and rewrite traces/golden",
    "docs": "rewrite the generated parts of README.md, ARCHITECTURE.md, DIVERGENCES.md and docs/",
    "bench": "rates and ratios of audit and simulator, in one run",
    "logs": "dump, audit or show the log directories of Kafka's brokers",
    "schema": "print the trace header that an emitter for a specification needs",
    "compile": "compile the implementation, for faster simulators (make check does it, too)",
    "convert": "convert traces between NDJSON and Parquet without loss",
    "doctor": "what is here (Java, TLC, Spark, versions), what is missing, what to do",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code: 0 holds, 1 violation, 2 unusable input or environment, 3 undecided.

    When no reader is left for the output, the command ends as a signal would end it: quietly, with 128 and the number
    of SIGPIPE.
    """
    try:
        with _output():
            return _main(argv)
    except _Unwritten as problem:
        if isinstance(problem.__cause__, BrokenPipeError):
            return 128 + signal.SIGPIPE
        print(f"tidemark: {problem}", file=sys.stderr)
        return 2


def _main(argv: Sequence[str] | None) -> int:
    parser = Parser(prog="tidemark", description=__doc__)
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS))
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: tidemark COMMAND [options]   (tidemark COMMAND --help says more)\n")
        for name, summary in COMMANDS.items():
            print(f"  {name:10} {summary}")
        return 0 if arguments else 2
    name = parser.parse_args(arguments[:1]).command
    sub = Parser(prog=f"tidemark {name}", description=COMMANDS[name])
    try:
        extras.needs(*extras.OF_COMMAND.get(name, ()))
        with extras.named():
            module = importlib.import_module(f"tidemark_conformance.commands.{name}")
            module.add_arguments(sub)
            sub.add_argument("--no-cache", action="store_true", help="believe nothing that earlier runs have kept")
            given = sub.parse_args(arguments[1:])
            with _terminable(), _jar(given), cache.fresh() if given.no_cache else contextlib.nullcontext():
                return int(module.run(given))
    except Unusable as problem:
        print(f"tidemark {name}: {problem}", file=sys.stderr)
        return 2
    except DefectError as problem:
        print(f"tidemark {name}: {problem}", file=sys.stderr)
        return 1
    except Terminated:
        print(f"tidemark {name}: terminated", file=sys.stderr)
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        print(f"tidemark {name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


def _jar(given: argparse.Namespace) -> contextlib.AbstractContextManager[None]:
    """Where a command is given a tla2tools.jar, all that it does takes that one."""
    if getattr(given, "jar", None) is None:
        return contextlib.nullcontext()
    from tidemark_conformance.java import toolchain

    return toolchain.chosen(given.jar)


class _Unwritten(Exception):
    """Standard output cannot be written; the cause is the OSError. No Unusable: no command has to do with it."""


class _Output:
    """Standard output, with errors of its own: an OSError could be anybody's."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, text: str) -> int:
        with _written():
            return self._file.write(text)

    def flush(self) -> None:
        with _written():
            self._file.flush()


@contextlib.contextmanager
def _written() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        said = problem.strerror or problem
        raise _Unwritten(f"standard output cannot be written ({said}); send it to another place") from problem


@contextlib.contextmanager
def _output() -> Iterator[None]:
    """Standard output is written to its end, or _Unwritten says that it is not (the interpreter not once more)."""
    before = sys.stdout
    output = _Output(before)
    sys.stdout = cast(TextIO, output)
    try:
        try:
            yield
        finally:
            output.flush()
    except _Unwritten:
        with contextlib.suppress(OSError, io.UnsupportedOperation):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, before.fileno())
            os.close(nowhere)
        raise
    finally:
        sys.stdout = before


class Terminated(KeyboardInterrupt):
    """SIGTERM: TLC's processes and Spark's are cleaned up, as by an interrupt."""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Makes SIGTERM an exception in the main thread; elsewhere signals are not ours to handle."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    before = raise_on_sigterm(Terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
