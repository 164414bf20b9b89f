"""The findings of `tidemark agree` in all models of the manifest, kept for docs/agree.md.

`tidemark agree --record` keeps the document of a whole run in `docs/agree.json`. `tidemark docs` makes the table from
there, so the page does not change with every run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.report import document

RECORD = Path("docs") / "agree.json"
"""Where a checkout keeps the document of its last recorded run."""
FORMER = "numba"
"""The key under which `tidemark.agree/1` has had the kernels from the beginning; documents have both."""
TERMS = "z3"
"""The key of the terms of proofs."""
HEADER = ("model", "states", "violating", "edges", "non-edges", "answers", "by Z3", "differ", "fall", "seconds")


def record(found: Mapping[str, Any]) -> None:
    """Keep the document of a whole run in the checkout. Raises Unusable where that cannot be written."""
    document.write(found, str(CHECKOUT / RECORD))


def rows(file: Path) -> list[Iterable[str]]:
    """The table of the document in `file`, a row per model and one for all. Unusable if there is none.

    Answers are those of all backends together; "by Z3": those of the terms, 0 where the record is older than they are.
    `fall`: how many of the model's properties TLC found false somewhere.
    """
    try:
        models = json.loads(file.read_text(encoding="utf-8"))["models"]
        made = [(f"`{model['name']}`", *_numbers(model)) for model in models]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Unusable(
            f"{file} is no document of a whole `tidemark agree` ({problem!r}); make it by `tidemark agree --record`"
        ) from problem
    sums = [sum(row[at] for row in made) for at in range(1, 8)]
    shown = [(name, *(f"{one:,}" for one in sizes), fall, f"{seconds:.0f}") for name, *sizes, fall, seconds in made]
    total = ("all", *(f"{one:,}" for one in sums), "", f"{sum(row[9] for row in made):.0f}")
    return [*shown, total]


def _numbers(model: Mapping[str, Any]) -> tuple[Any, ...]:
    """The columns after the name: counts first, then `fall`, then seconds."""
    backends = [backend for name, backend in model["backends"].items() if name != FORMER]
    answers = [backend["compared"] for backend in backends]
    differ = [backend["disagreements"] for backend in backends]
    broken, unbroken = len(model["broken"]), len(model["unbroken"])
    counts = (model[name] for name in ("states", "violating_states", "edges", "non_edges"))
    terms = model["backends"].get(TERMS, {"compared": 0})["compared"]
    return (*counts, sum(answers), terms, sum(differ), f"{broken} of {broken + unbroken}", model["seconds"])
