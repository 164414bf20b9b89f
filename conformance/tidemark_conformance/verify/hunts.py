"""The hunts of `make check`: every protocol and composition for some seconds, with all rules, from a fresh seed.

So each run looks where no run has looked before. A hunt that found nothing is kept, with its seed, until the text of
the specification or of our packages changes: `tidemark hunt` goes on.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidemark_conformance.console.progress import progress
from tidemark_conformance.hunt.hunting import hunt
from tidemark_conformance.hunt.showing import command, complaints, said
from tidemark_conformance.hunt.target import known_as, target
from tidemark_conformance.processes import side_by_side
from tidemark_conformance.registry.protocols import compositions, protocols
from tidemark_conformance.verify import kept


@dataclass(frozen=True, slots=True)
class Fresh:
    """The hunt of a protocol: its seed, runs and steps, and of each finding what it is and the command that shows it
    again. A complaint about a hunt that judged too little is a finding, too. `kept`: an earlier run of the same text
    found nothing.
    """

    name: str
    seed: int
    runs: int
    steps: int
    findings: tuple[tuple[str, str], ...]
    kept: bool = False


def fresh(seconds: float, use: bool = True) -> list[Fresh]:
    """Hunt so many seconds each; those whose implementation has no worlds are left out. `use`: the kept verdicts."""
    seed = secrets.randbelow(1 << 32)
    entries = {**protocols(), **compositions()}
    names = [name for name, entry in entries.items() if entry.implementation]
    found = []
    with progress("hunts from a fresh seed") as bar, side_by_side() as pool:
        begun = [
            kept.once(
                kept.of_hunt(known_as(name), seconds),
                lambda name=name: pool.submit(_hunted, name, seed, seconds).result,  # type: ignore[misc]
                lambda one: not one.findings,
                use,
            )
            for name in names
        ]
        for number, finish in enumerate(begun):
            bar.update(number, len(names))
            one, before = finish()
            found.append(replace(one, kept=before))
    return found


def _hunted(name: str, seed: int, seconds: float) -> Fresh:
    quarry = target(known_as(name))
    total = hunt(quarry.job(seed, ""), {}, seconds=seconds).total
    shown = tuple((said(key), command(quarry, one, key)) for key, one in sorted(total.findings.items()))
    repeat = f"tidemark hunt {name} --steps {total.steps} --seed {seed}"
    missed = tuple((one, repeat) for one in complaints(quarry, total))
    return Fresh(name, seed, total.runs, total.steps, (*shown, *missed))


def text(found: Sequence[Fresh]) -> str:
    """The text of their line in the closing table."""
    steps, bad = sum(one.steps for one in found), [one.name for one in found if one.findings]
    seeds = " and ".join(dict.fromkeys(str(one.seed) for one in found)) or "0"
    verdict = f"findings in {', '.join(bad)}" if bad else "nothing found"
    known = " (kept)" if found and all(one.kept for one in found) else ""
    return f"{len(found)} from seed {seeds}, {steps:,} steps: {verdict}{known}"
