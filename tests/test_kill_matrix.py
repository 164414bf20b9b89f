"""The kill matrix in print: excuses, reasons, and how rare a flaw is, each said once."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tidemark_conformance.commands import verify
from tidemark_conformance.commands.verify import rarity
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.zoo import Row, Simulation, rows
from tidemark_conformance.verify import matrix
from tidemark_conformance.verify.matrix import Killed
from tidemark_conformance.verify.matrix_table import Matrix, render

ROOT = Path(__file__).parent.parent


def _row(model: str, excused: str, unseen: str) -> Row:
    simulation = Simulation(excused=unseen)
    return Row("LOST-1", 7, "toy", ("KeepIt",), "Kept", model, "LOSS", "it is lost", excused, simulation)


def _shown(row: Row, by_step: int, by_property: int) -> list[str]:
    killed = Killed(row, 10, by_step, 0, by_property, "seed-1", 3, 0, {}, 0.1)
    console = Console(width=200, record=True, file=io.StringIO())
    render(Matrix([row], {row.id: None}, {row.id: killed}, {}, 1.0), console)
    return [line.rstrip() for line in console.export_text().splitlines() if line.startswith("7 ")][1:]


def test_a_row_excused_from_both_sides() -> None:
    assert _shown(_row("", "its model takes a day", "nobody restarts"), 2, 0) == [
        "7 LOST-1 is excused from TLC: its model takes a day",
        "7 LOST-1 is excused from the traces: nobody restarts",
    ]


def test_how_rare_a_flaw_is() -> None:
    row = _row("", "", "")
    assert rarity(Killed(row, 100_000, 5_512, 0, 9, "seed-7", 3, 0, {}, 0.1)) == (
        "LOST-1: Kept falls in 9 of 100,000 traces (1 in 11,111), 5,512 have a step that is none"
    )
    assert rarity(Killed(row, 400, 3, 1, 0, "", None, 2, {}, 0.1)) == (
        "LOST-1: Kept falls in 0 of 400 traces, 3 have a step that is none; 1 do not conform without the row's rules; "
        "2 undecided"
    )


def test_a_row_that_survives() -> None:
    assert _shown(_row("MCLost", "", ""), 0, 0) == [
        "7 LOST-1 is not as expected: its model MCLost is not in the manifest; no trace shows it"
    ]
    assert _shown(_row("MCLost", "", ""), 4, 4) == [
        "7 LOST-1 is not as expected: its model MCLost is not in the manifest"
    ]


WRITTEN = """
[[row]]
id = "LOST-1"
number = 7
rules = ["KeepIt", "TellIt"]
property = "Kept"
model = "MCLost"
harm = "LOSS"
summary = "it is lost"
excused = "its model takes a day"
refused = "Forget(c1)"
[row.superfluous]
TellIt = "nobody asks"
[row.traces]
profile = "chaos"
first_seed = 3
count = 4
steps = 5
rarity = 6
excused = "nobody restarts"
"""


def test_a_row_is_read_as_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "toy_keeper" / "zoo.toml"
    file.parent.mkdir()
    file.write_text(WRITTEN)
    assert rows(file) == [
        Row(
            "LOST-1",
            7,
            "toy-keeper",
            ("KeepIt", "TellIt"),
            "Kept",
            "MCLost",
            "LOSS",
            "it is lost",
            "its model takes a day",
            Simulation(3, 4, 5, {"profile": "chaos"}, "nobody restarts", 6),
            {"TellIt": "nobody asks"},
            "Forget(c1)",
        )
    ]
    file.write_text(WRITTEN.replace("[row.superfluous]", "rarity = 6\n[row.superfluous]"))
    with pytest.raises(Unusable, match="has the key rarity, which no row has"):
        rows(file)


def test_the_documents_name_the_rare_rows_and_the_excused_ones() -> None:
    """The Makefile names the row whose hits `make check-deep` counts, README those that fall in no trace."""
    makefile, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "README.md"))
    (rare,) = re.findall(r"the rarity of row (\d+)", makefile)
    assert [row.number for row in rows() if row.simulation.rarity] == [int(rare)]
    (unseen,) = re.findall(r"never the harm of (\d+) and (\d+)\.", readme)
    assert [row.number for row in rows() if row.simulation.excused] == [int(number) for number in unseen]
    assert not [row.number for row in rows() if row.excused]


def test_the_seeds_that_are_asked_how_rare_a_flaw_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 0 on, as many as the row says, and else as the row is simulated."""
    asked: list[Row] = []

    def kill(_: Any, given: list[Row], *__: Any) -> list[Killed]:
        asked.extend(given)
        return [Killed(given[0], given[0].simulation.count, 1, 0, 2, "seed-1", 3, 0, {}, 0.1)]

    monkeypatch.setattr(matrix, "kill", kill)
    simulation = Simulation(700, 40, 33, {"profile": "late"}, "", 600)
    row = dataclasses.replace(_row("", "", ""), simulation=simulation)
    line = verify._rarity(None, row, {})
    assert [one.simulation for one in asked] == [dataclasses.replace(simulation, first_seed=0, count=600)]
    assert (line.what, line.ok) == ("rarity of row 7", True)
    assert line.found.startswith("LOST-1: Kept falls in 2 of 600 traces (1 in 300), ")


def test_two_rows_of_one_id_are_refused(tmp_path: Path) -> None:
    row = '[[row]]\nid = "LOST-1"\nnumber = {}\nrules = ["KeepIt"]\nproperty = "Kept"\n'
    file = tmp_path / "zoo.toml"
    file.write_text(row.format(1) + row.format(2))
    with pytest.raises(Unusable, match="has two rows LOST-1; give each an id of its own"):
        rows(file)
    file.write_text(row.format(2) + row.format(1).replace("LOST-1", "LOST-2"))
    assert [one.number for one in rows(file)] == [1, 2]
