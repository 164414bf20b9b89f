"""The closing table of `make check`, for the terminal, for machines, and kept for the README.

`tidemark verify --record` keeps the table of a real run in `docs/make-check.json`, and `tidemark docs` prints it from
there. So the README's figures were measured once and do not change with every run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance.errors import Unusable
from tidemark_conformance.report.document import block

RECORD = Path("docs") / "make-check.json"
"""Where a checkout keeps the table of its last recorded run."""
WIDTH = 124
"""Columns of the table in the README: most lines of a run need no second one."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: a part of the run, its finding, whether that is as expected, and its seconds."""

    what: str
    found: str
    ok: bool
    seconds: float


def document(lines: Sequence[Line], seconds: float, deep: bool) -> dict[str, Any]:
    """The document `tidemark.verify/1`."""
    return {
        "schema": "tidemark.verify/1",
        "ok": all(line.ok for line in lines),
        "deep": deep,
        "seconds": round(seconds, 1),
        "lines": [asdict(line) | {"seconds": round(line.seconds, 1)} for line in lines],
    }


def render(lines: Sequence[Line], seconds: float, console: Console) -> None:
    """Print the table and the sentence under it."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("make check", "found", "", "seconds"):
        table.add_column(title, justify="right" if title == "seconds" else "left")
    for line in lines:
        verdict = Text("ok", style="green") if line.ok else Text("NOT AS EXPECTED", style="bold red")
        table.add_row(line.what, line.found, verdict, f"{line.seconds:.1f}")
    console.print(table)
    good = all(line.ok for line in lines)
    console.print(
        Text("all as expected" if good else "not as expected", style="green" if good else "bold red")
        + Text(f" in {seconds:.1f} s")
    )


def recorded(file: Path) -> str:
    """The table that a run left in `file`, as an indented block of Markdown. Unusable if there is none."""
    lines, seconds = _kept(file)
    return block(lambda console: render(lines, seconds, console), WIDTH)


def recorded_seconds(file: Path) -> float:
    """How long that run took. Unusable if there is none."""
    return _kept(file)[1]


def _kept(file: Path) -> tuple[list[Line], float]:
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        return [Line(**line) for line in kept["lines"]], float(kept["seconds"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Unusable(
            f"{file} is no table of make check ({problem!r}); make it anew by `tidemark verify --record`"
        ) from problem
