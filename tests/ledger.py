"""The specification of tests/models, and its state graph, dumped once for all test files of a process."""

from __future__ import annotations

import functools
from pathlib import Path

from tidemark_conformance.tlc import graph

MODELS = Path(__file__).parent / "models"
LEDGER = MODELS / "Ledger.tla"
SOUND, FLAWED = MODELS / "Ledger.cfg", MODELS / "LedgerFlawed.cfg"
GHOSTS = ("paid", "served")


@functools.cache
def flawed_graph() -> graph.Graph:
    """The graph of the model without its rules: violating states, broken action properties, a constraint."""
    return graph.dump(LEDGER, FLAWED)
