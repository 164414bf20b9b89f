r"""`spec/<protocol>/zoo.toml`: one row per known flaw, read here for all other modules.

[[row]]
id = "KIP-101"                        # also the name of its golden scenario and of `tidemark simulate --flaw`
number = 1
rules = ["TruncateByEpoch"]           # the rules removed
property = "StrongIsr"                # the property that must fall then, in TLC and in the traces
model = "MCRow01"                     # in spec/<protocol>/manifest.json; absent with a reason in `excused`
harm = "LOSS"
summary = "one sentence"
excused = "why TLC does not reach it" # only where it does not
refused = "Append(c1, p1, TRUE)"      # only where documents tell it: the step of its golden run that its rules refuse
  [row.superfluous]                   # only where the model falls with one of several rules put back: which, and why
  TruncateByEpoch = "why it is in the row all the same"
  [row.traces]                        # how the simulator shows it
  profile = "chaos"                   # nemesis and workload
  first_seed = 0
  count = 500                         # traces simulated with the flaw
  steps = 60
  rarity = 100000                     # seeds from 0 in which `tidemark verify --deep` counts the hits of a rare flaw
  excused = "why the property falls in no trace"
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidemark.common.naming import instead

from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import spec_root

ZOO = "zoo.toml"
KEYS = frozenset(
    ["id", "number", "rules", "property", "model", "harm", "summary", "excused", "refused", "superfluous", "traces"]
)
"""Of a row. Those of its traces that are none of `Simulation` are options, which the simulator knows."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """How the flawed implementation is simulated: `count` seeds from `first_seed`; the other settings go to the
    protocol's simulator as they are. `excused`: why the property falls in no trace. If empty, it must fall in one; a
    wrong step must be there in any case. `rarity`: in how many seeds from 0 `make check-deep` counts its hits (0: it
    does not)."""

    first_seed: int = 0
    count: int = 500
    steps: int = 60
    options: dict[str, Any] = field(default_factory=dict)
    excused: str = ""
    rarity: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the zoo. `excused`: why TLC does not reach it (empty: it must). `superfluous`: a rule of several with
    which in force the model falls, too -> why the row removes it all the same. `refused`: the step of its golden run
    without its rules that they refuse, as it is printed (empty: no document tells of it)."""

    id: str
    number: int
    protocol: str
    rules: tuple[str, ...]
    property: str
    model: str
    harm: str
    summary: str
    excused: str
    simulation: Simulation
    superfluous: dict[str, str] = field(default_factory=dict)
    refused: str = ""


def files() -> list[Path]:
    """The zoo's files, one in the folder of each protocol that has flaws."""
    return sorted(spec_root().glob(f"*/{ZOO}"))


def rows(path: Path | None = None) -> list[Row]:
    """The rows in the order of their numbers, of all protocols or of one file; Unusable names the row that is wrong."""
    found = [row for file in (files() if path is None else [path]) for row in _rows(file)]
    twice = next((row for row in found if sum(other.id == row.id for other in found) > 1), None)
    if twice is not None:
        where = path or f"the zoo of {twice.protocol} and another {ZOO}"
        raise Unusable(f"{where} has two rows {twice.id}; give each an id of its own")
    return sorted(found, key=lambda row: row.number)


def _rows(path: Path) -> list[Row]:
    """The rows of a file; its folder says the protocol."""
    if not path.is_file():
        return []
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8")).get("row", [])
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise Unusable(f"{path} cannot be read ({problem}); correct it") from problem
    return [_row(table, path) for table in tables]


def select(names: Iterable[str], path: Path | None = None) -> list[Row]:
    """The rows of these ids or numbers (no names: all); Unusable for one that is not there."""
    known = rows(path)
    chosen = []
    for name in names:
        matching = [row for row in known if name in (row.id, str(row.number))]
        if not matching:
            ids = [] if name.isdecimal() else [row.id for row in known]
            where = f"spec/<protocol>/{ZOO} lists them" + (
                f", {known[0].number} to {known[-1].number}" if known else ""
            )
            raise Unusable(f"the zoo has no row {name}: {instead(name, ids, where)}")
        chosen += matching
    return chosen or known


def one(name: str) -> Row:
    """The row of this id or number; Unusable for one that is not there, and for a number that several rows have."""
    found = select([name])
    if len(found) > 1:
        ids = [row.id for row in found]
        raise Unusable(f"row {name} is {', '.join(ids[:-1])} and {ids[-1]}; name one")
    return found[0]


def _row(table: Any, path: Path) -> Row:
    try:
        unknown = sorted(table.keys() - KEYS)
        if unknown:
            raise Unusable(
                f"row {table.get('id', '?')} of {path} has the key {unknown[0]}, which no row has; correct it"
            )
        traces = dict(table.get("traces", {}))
        simulation = Simulation(
            first_seed=int(traces.pop("first_seed", 0)),
            count=int(traces.pop("count", 500)),
            steps=int(traces.pop("steps", 60)),
            excused=str(traces.pop("excused", "")),
            rarity=int(traces.pop("rarity", 0)),
            options=traces,
        )
        return Row(
            id=str(table["id"]),
            number=int(table["number"]),
            protocol=path.parent.name.replace("_", "-"),
            rules=tuple(str(rule) for rule in table["rules"]),
            property=str(table["property"]),
            model=str(table.get("model", "")),
            harm=str(table.get("harm", "")),
            summary=str(table.get("summary", "")),
            excused=str(table.get("excused", "")),
            simulation=simulation,
            superfluous={str(rule): str(why) for rule, why in table.get("superfluous", {}).items()},
            refused=str(table.get("refused", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Unusable(
            f"row {table.get('id', '?') if isinstance(table, dict) else '?'} of {path} lacks something ({problem!r}); "
            "it needs id, number, rules, property"
        ) from problem
