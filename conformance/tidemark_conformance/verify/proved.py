"""The proofs of `make check`: every theorem of spec/ judged from its kept cores, in a process of its own.

The audits of traces do not fill two cores. Proofs need neither Spark nor Java, so they run beside
the audits.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidemark_conformance.console.progress import progress
from tidemark_conformance.processes import raise_on_sigterm, started
from tidemark_conformance.prove import cores, inductive, solving, working
from tidemark_conformance.verify import kept

ALONE = f"from {__name__} import main; main()"
"""The program of the process beside. A verdict pickled by `-m` would belong to that process's `__main__`."""


@dataclass(frozen=True)
class Found:
    """A theorem judged: its properties, its finite parts, the conditions, and those open.

    `grounded`: the theorem that it rests on is proved.
    """

    name: str
    properties: tuple[str, ...]
    bounded: tuple[str, ...]
    conditions: int
    open: tuple[tuple[str, str], ...]
    grounded: bool = True

    @property
    def ok(self) -> bool:
        """Whether all is proved."""
        return self.conditions > 0 and self.grounded and not self.open


@contextlib.contextmanager
def beside(use: bool = True) -> Iterator[Callable[[], tuple[list[Found], bool]]]:
    """Judge every theorem beside the block, unless the verdicts on the same texts are kept and to be used (`use`).

    The function waits for the verdicts, and says whether an earlier run found them. Where a theorem is open, or the
    process beside fails, it judges again and shows the same here.
    """
    if use and kept.recall(_key()) is not None:
        yield fresh
        return
    quiet = subprocess.DEVNULL
    with started([sys.executable, "-c", ALONE], gently=True, stdin=quiet, stdout=quiet, stderr=quiet) as process:

        def wait() -> tuple[list[Found], bool]:
            with progress("proofs", "theorems"):
                well = process.wait() == 0
            return fresh(use=well)[0], False

        yield wait


def main() -> None:
    """Judge and keep, in a process of its own."""
    raise_on_sigterm(SystemExit)
    fresh(use=False)


def fresh(use: bool = True) -> tuple[list[Found], bool]:
    """Every theorem, judged now, or as it was kept of the same texts; and whether it was kept. `use`: kept verdicts."""
    return kept.once(_key(), lambda: judge, lambda found: all(one.ok for one in found), use)()


def _key() -> str:
    theorems = [(module, cfg, cores.file_of(module, name)) for name, (module, cfg) in inductive.modules().items()]
    return kept.of_theorems(theorems)


def judge() -> list[Found]:
    """Every theorem, on all cores."""
    found: list[Found] = []
    judged: dict[str, bool] = {}
    theorems = inductive.modules()
    with progress("proofs", "theorems") as bar:
        for at, (name, (module, cfg)) in enumerate(inductive.grounds_first(theorems).items()):
            bar.update(at, len(theorems))
            job = working.Job(name, str(module), str(cfg))
            hints = cores.read(cores.file_of(module, name))
            result, _ = working.judge(job, solving.LIMIT, hints, lambda action, conditions: None)
            judged[name] = result.closed
            claimed = working.prover(job, solving.LIMIT).theorem
            properties = tuple(one.name for one in (*claimed.implied, *claimed.steps))
            open_ = tuple((one.lemma, one.action) for one in result.open)
            found.append(
                Found(
                    name,
                    properties,
                    claimed.bounded,
                    len(result.conditions),
                    open_,
                    working.grounded(module, claimed, solving.LIMIT, judged),
                )
            )
    return sorted(found, key=lambda one: list(theorems).index(one.name))


def text(found: list[Found]) -> str:
    """The theorems that are open, then the properties that are proved, with all that is finite in each theorem.

    Theorems within the same bounds stand together, and so do bounds within which the same is proved.
    """
    parts = [_no_proof(one) for one in found if one.open or not one.grounded]
    within: dict[tuple[str, ...], list[Found]] = {}
    for one in found:
        if one.grounded and not one.open:
            within.setdefault(one.bounded, []).append(one)
    proved: dict[str, list[str]] = {}
    for bounded, theorems in within.items():
        properties = ", ".join(name for one in theorems for name in one.properties)
        proved.setdefault(properties, []).append(_short(bounded))
    if proved:
        conditions = sum(one.conditions for theorems in within.values() for one in theorems)
        listed = [f"{properties} (finite: {'; or '.join(bounds)})" for properties, bounds in proved.items()]
        parts.append(f"proved for runs of any length, {conditions:,} conditions: {'; '.join(listed)}")
    return ". ".join(parts)


def _no_proof(one: Found) -> str:
    if not one.grounded:
        return f"{one.name}: no proof, as the theorem that it rests on is open"
    listed = "; ".join(f"{lemma} after {action}" for lemma, action in one.open[:4])
    more = f" and {len(one.open) - 4} more" if len(one.open) > 4 else ""
    return f"{one.name}: no proof, open of {one.conditions:,}: {listed}{more}"


def _short(bounded: tuple[str, ...]) -> str:
    """The finite parts of a theorem, as a table's cell has room for them."""
    return ", ".join(re.sub(r" has (\d+) elements?$| = (\d+)$", r" \1\2", one) for one in bounded) or "nothing"
