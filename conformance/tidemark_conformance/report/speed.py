"""The measures of `tidemark bench`: a table with a row per protocol, for the terminal, and kept for the README.

`tidemark bench --record` puts the measures of the protocols that it measured in full into `docs/bench.json`. They
replace older ones. `tidemark docs` prints the table from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tidemark_conformance.errors import Unusable
from tidemark_conformance.machine import cores
from tidemark_conformance.report import document

RECORD = Path("docs") / "bench.json"
"""Where a checkout keeps the measures of its last recorded benches."""
SCHEMA = "tidemark.bench/1"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of the document `tidemark.bench/1`; its name begins with the protocol's and a point."""

    name: str
    value: float
    unit: str


_COLUMNS = {
    "steps audited": "audit.steps",
    "steps/s": "audit.full.steps_per_s",
    "time of a scan": "audit.full_over_scan",
    "rate of TLC": "audit.over_tlc",
    "MiB": "audit.peak_rss_mib",
    "simulated": "simulate.steps_per_s_per_core",
    "not compiled": "simulate.interpreted_steps_per_s_per_core",
}
"""Title of a column -> the measure in it, without the protocol's name."""
_TIMES = {"audit.full_over_scan", "audit.over_tlc"}


def content(measures: Iterable[Measure], missing: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The document `tidemark.bench/1`. `missing`: protocol -> why it could not be measured in full."""
    return {
        "schema": SCHEMA,
        "machine": {"cores": cores()},
        "measures": [asdict(measure) for measure in measures],
        "missing": dict(missing or {}),
    }


def read(file: Path) -> list[Measure]:
    """The measures of a document. Unusable if the file holds none."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["schema"] != SCHEMA:
            raise ValueError(kept["schema"])
        return [Measure(one["name"], float(one["value"]), one["unit"]) for one in kept["measures"]]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Unusable(
            f"{file} is no document of tidemark bench ({problem!r}); take it away and make it anew by "
            "`tidemark bench --record`"
        ) from problem


def record(measures: Sequence[Measure], file: Path) -> None:
    """Put measures into the document `file`, made if missing, in place of all that it has of their protocols."""
    names = {_protocol(one) for one in measures}
    older = [one for one in read(file) if _protocol(one) not in names] if file.exists() else []
    document.write(content(sorted([*older, *measures], key=_protocol)), str(file))


def recorded(file: Path) -> str:
    """The table of a kept document, as an indented block of Markdown. Unusable if there is none."""
    measures = read(file)
    return document.block(lambda console: render(measures, console))


def render(measures: Sequence[Measure], console: Console) -> None:
    """Print a row per protocol; "-" stands for a figure that was not measured."""
    values = {one.name: one.value for one in measures}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("audit", no_wrap=True)
    for title in _COLUMNS:
        table.add_column(title, justify="right")
    for protocol in dict.fromkeys(map(_protocol, measures)):
        table.add_row(protocol, *(_cell(name, values.get(f"{protocol}.{name}")) for name in _COLUMNS.values()))
    console.print(table)


def shown(value: float) -> str:
    """A value for people: three digits, or all that stand before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f} x" if name in _TIMES and value < 100 else f"{value:,.0f}{' x' if name in _TIMES else ''}"


def _protocol(measure: Measure) -> str:
    return measure.name.partition(".")[0]
