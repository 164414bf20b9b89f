"""The cores of proofs, kept beside the specification: which lemmas proved each condition.

A core is a hint. Every condition is proved again from its core, and searched for anew where that fails; so an edited or
outdated file costs time and proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tidemark_conformance.errors import Unusable, writable

SCHEMA = "tidemark.cores/1"

Cores = dict[tuple[str, str], frozenset[str]]


def file_of(module: Path, theorem: str) -> Path:
    """Where the cores of a theorem are kept."""
    return module.parent / f"{theorem}.cores.json"


def read(path: Path) -> Cores:
    """The kept cores, none without a file. Raises Unusable for a file of another form."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != SCHEMA:
            raise ValueError(found["schema"])
        names = found["hypotheses"]
        return {
            (lemma, action): frozenset(names[at] for at in core)
            for action, lemmas in found["cores"].items()
            for lemma, core in lemmas.items()
        }
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
        raise Unusable(f"{path} holds no cores ({problem}): delete it and run `tidemark prove --record`") from None


def write(path: Path, found: Mapping[tuple[str, str], frozenset[str]]) -> None:
    """Keeps the cores, an action a line for each of its lemmas."""
    names = sorted({name for core in found.values() for name in core})
    number = {name: at for at, name in enumerate(names)}
    actions: dict[str, dict[str, list[int]]] = {}
    for (lemma, action), core in found.items():
        actions.setdefault(action, {})[lemma] = sorted(number[name] for name in core)
    lines = [f'{{"schema": "{SCHEMA}",', f' "hypotheses": {json.dumps(names)},', ' "cores": {']
    rows = [f"  {json.dumps(action)}: {json.dumps(lemmas)}" for action, lemmas in actions.items()]
    with writable(path):
        path.write_text("\n".join([*lines, ",\n".join(rows) + "}}", ""]), encoding="utf-8")
