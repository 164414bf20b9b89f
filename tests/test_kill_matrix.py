"""The kill matrix in print: what a row is excused from, and why one is not as expected, each said once."""

from __future__ import annotations

import io

from rich.console import Console
from tidemark_conformance.check.matrix import Killed
from tidemark_conformance.check.zoo import Row, Simulation
from tidemark_conformance.report.matrix import Matrix, render


def _row(model: str, excused: str, unseen: str) -> Row:
    simulation = Simulation(excused=unseen)
    return Row("LOST-1", 7, "toy", ("KeepIt",), "Kept", model, "LOSS", "it is lost", excused, simulation)


def _shown(row: Row, by_property: int) -> list[str]:
    killed = Killed(row, 10, by_property, 0, by_property, "seed-1", 3, 0, {}, 0.1)
    console = Console(width=200, record=True, file=io.StringIO())
    render(Matrix([row], {row.id: None}, {row.id: killed}, {}, 1.0), console)
    return [line.rstrip() for line in console.export_text().splitlines() if line.startswith("7 ")][1:]


def test_a_row_excused_from_both_sides() -> None:
    assert _shown(_row("", "its model takes a day", "nobody restarts"), 0) == [
        "7 LOST-1 is excused from TLC: its model takes a day",
        "7 LOST-1 is excused from the traces: nobody restarts",
    ]


def test_a_row_that_survives() -> None:
    assert _shown(_row("MCLost", "", ""), 0) == [
        "7 LOST-1 is not as expected: its model MCLost is not in the manifest; no trace shows it"
    ]
    assert _shown(_row("MCLost", "", ""), 4) == ["7 LOST-1 is not as expected: its model MCLost is not in the manifest"]
