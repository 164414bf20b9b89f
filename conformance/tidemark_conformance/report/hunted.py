"""The rows that hunts found: kept for docs/hunt.md, and its table.

`tidemark hunt PROTOCOL --rows --record` puts its rows into `docs/hunt-rows.json`, in place of older ones. `tidemark
docs` prints the table from there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.report import document

RECORD = Path("docs") / "hunt-rows.json"
"""Where a checkout keeps the rows of its last recorded hunts."""
SCHEMA = "tidemark.hunt-rows-record/1"
HEADER = ("row", "protocol", "flaw", "property", "hunted", "pinned")


def read(file: Path) -> list[dict[str, Any]]:
    """The rows of a record, as `tidemark.hunt-rows/1` has them, each with its protocol and the hunt's seed. Unusable
    if the file holds none."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["schema"] != SCHEMA:
            raise ValueError(kept["schema"])
        return sorted(kept["rows"], key=_place)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Unusable(
            f"{file} is no record of hunts ({problem!r}); take it away and make it anew by "
            "`tidemark hunt PROTOCOL --rows --record`"
        ) from problem


def record(rows: Iterable[Mapping[str, Any]], protocol: str, seed: int, file: Path) -> None:
    """Put the rows of a hunt into the record `file`, made if missing, in place of what it has of them."""
    found = [{"protocol": protocol, "hunt_seed": seed, **row} for row in rows]
    measured = {one["id"] for one in found}
    older = [one for one in read(file) if one["id"] not in measured] if file.exists() else []
    document.write({"schema": SCHEMA, "rows": sorted([*older, *found], key=_place)}, str(file))


def rows(file: Path, known: Iterable[str]) -> list[Sequence[str]]:
    """The cells of the table: of every row that is recorded and in the zoo (`known`: its ids)."""
    ids = frozenset(known)
    return [_cells(one) for one in read(file) if one["id"] in ids]


def _place(row: Mapping[str, Any]) -> tuple[int, str]:
    return row["number"], row["id"]


def _cells(row: Mapping[str, Any]) -> Sequence[str]:
    hunted = f"– in {row['most']:,}" if row["steps"] is None else f"{row['steps']:,}"
    seed = "" if row["hunt_seed"] == 1 else f" (seed {row['hunt_seed']})"
    pinned = "never" if row["pinned_steps"] is None else f"{row['pinned_steps']:,}"
    return str(row["number"]), row["protocol"], row["id"], f"`{row['property']}`", f"{hunted}{seed}", pinned
