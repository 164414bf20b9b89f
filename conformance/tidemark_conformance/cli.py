"""The `tidemark` command: one subcommand per module of `tidemark_conformance.commands`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

from tidemark_conformance.errors import Unusable
from tidemark_conformance.signals import raise_on_sigterm

COMMANDS = {
    "check": "run TLC on the models of spec/manifest.json",
    "simulate": "run the implementation in the simulator and write its traces",
    "demo": "a long run of an implementation that one can follow, counted and audited",
    "audit": "check traces against a specification, on Spark",
    "explain": "say why a trace failed",
    "zoo": "the kill matrix: every known flaw against TLC and against the audit",
    "agree": "compare every backend of the compiler with TLC, state by state and edge by edge",
    "rule": "one safety rule side by side: specification, Python, zoo row, counterexample, flagged step",
    "verify": "all that `make check` does: models, simulation, audit, kill matrix; one table",
    "golden": "run the golden scenarios and rewrite traces/golden",
    "docs": "rewrite the generated parts of README.md, ARCHITECTURE.md, DIVERGENCES.md and docs/",
    "bench": "rates and ratios of audit and simulator, in one run",
    "schema": "print the trace header that an emitter for a specification needs",
    "convert": "convert traces between NDJSON and Parquet without loss",
    "doctor": "what is here (Java, TLC, Spark, versions), what is missing, what to do",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns its exit code: 0 holds, 1 violation, 2 unusable input or environment, 3 undecided."""
    parser = argparse.ArgumentParser(prog="tidemark", description=__doc__)
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=", ".join(COMMANDS))
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: tidemark COMMAND [options]   (tidemark COMMAND --help says more)\n")
        for name, summary in COMMANDS.items():
            print(f"  {name:10} {summary}")
        return 0 if arguments else 2
    name = parser.parse_args(arguments[:1]).command
    module = importlib.import_module(f"tidemark_conformance.commands.{name}")
    sub = argparse.ArgumentParser(prog=f"tidemark {name}", description=COMMANDS[name])
    try:
        module.add_arguments(sub)
        with _terminable():
            return int(module.run(sub.parse_args(arguments[1:])))
    except Unusable as problem:
        print(f"tidemark {name}: {problem}", file=sys.stderr)
        return 2
    except Terminated:
        print(f"tidemark {name}: terminated", file=sys.stderr)
        return 128 + signal.SIGTERM
    except KeyboardInterrupt:
        print(f"tidemark {name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


class Terminated(KeyboardInterrupt):
    """SIGTERM: what an interrupt cleans up (TLC's processes, Spark's) is cleaned up then, too."""


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
