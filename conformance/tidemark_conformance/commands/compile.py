"""`tidemark compile`: the implementation compiled by mypyc, for the simulators, as `make check` does on its way."""

from __future__ import annotations

import argparse
import time

from tidemark_conformance import cache
from tidemark_conformance.console.progress import say
from tidemark_conformance.implementation import compiled
from tidemark_conformance.report import document


def add_arguments(_: argparse.ArgumentParser) -> None:
    """It has none."""


def run(_: argparse.Namespace) -> int:
    """0: it is compiled; 2: it cannot be here, and simulators run as Python."""
    console = document.console()
    started = time.monotonic()
    if cache.sealed(compiled.folder()):
        console.print("compiled before; no module of the implementation has changed since")
        return 0
    if not compiled.hindrance():
        say("compiling the implementation (about three minutes)")
    home = compiled.build()
    console.print(f"compiled in {time.monotonic() - started:.0f} s, into {home}")
    return 0
