"""The cores of proofs, kept beside the specification: which lemmas proved each condition.

A core is a hint. Every condition is proved again from its core, and searched for anew where that fails. So an edited or
outdated file costs time and proves nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from tidemark_conformance.errors import Unusable, writable

SCHEMA = "tidemark.cores/1"

Cores = dict[tuple[str, str], frozenset[str]]
"""(lemma, action) -> the lemmas that proved the condition."""


@dataclass(frozen=True)
class Kept:
    """The result of a search: the cores, and the conditions (lemma, action) that it left open."""

    cores: Cores = field(default_factory=dict)
    open: tuple[tuple[str, str], ...] = ()


def file_of(module: Path, theorem: str) -> Path:
    """Where the cores of a theorem are kept."""
    return module.parent / f"{theorem}.cores.json"


def read(path: Path) -> Kept:
    """The kept cores, none without a file. Raises Unusable for a file of another form."""
    if not path.is_file():
        return Kept()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != SCHEMA:
            raise ValueError(found["schema"])
        names = found["hypotheses"]
        kept = {
            (lemma, action): frozenset(names[at] for at in core)
            for action, lemmas in found["cores"].items()
            for lemma, core in lemmas.items()
        }
        return Kept(kept, tuple((lemma, action) for lemma, action in found["open"]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
        raise Unusable(f"{path} holds no cores ({problem!r}): delete it and run `tidemark prove --record`") from None


def write(path: Path, found: Kept) -> None:
    """Keeps the cores, an action a line."""
    names = sorted({name for core in found.cores.values() for name in core})
    number = {name: at for at, name in enumerate(names)}
    actions: dict[str, dict[str, list[int]]] = {}
    for (lemma, action), core in sorted(found.cores.items(), key=lambda item: item[0][::-1]):
        actions.setdefault(action, {})[lemma] = sorted(number[name] for name in core)
    lines = [
        f'{{"schema": "{SCHEMA}",',
        f' "hypotheses": {json.dumps(names)},',
        f' "open": {json.dumps(found.open)},',
        ' "cores": {',
    ]
    rows = [f"  {json.dumps(action)}: {json.dumps(lemmas)}" for action, lemmas in actions.items()]
    with writable(path):
        path.write_text("\n".join([*lines, ",\n".join(rows) + "}}", ""]), encoding="utf-8")
