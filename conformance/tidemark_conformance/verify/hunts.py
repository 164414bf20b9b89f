"""The hunts of `make check`: every protocol and composition for some seconds, with all rules, from a fresh seed.

So each run looks where no run has looked before. Nothing is kept between runs.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from tidemark_conformance.console.progress import progress
from tidemark_conformance.hunt.hunting import hunt
from tidemark_conformance.hunt.showing import command, said
from tidemark_conformance.hunt.target import known_as, target
from tidemark_conformance.registry.protocols import compositions, protocols


@dataclass(frozen=True, slots=True)
class Fresh:
    """The hunt of a protocol: its seed, runs and steps, and of each finding what it is and the command that shows it
    again."""

    name: str
    seed: int
    runs: int
    steps: int
    findings: tuple[tuple[str, str], ...]


def fresh(seconds: float) -> list[Fresh]:
    """Hunt so many seconds each; those whose implementation has no worlds are left out."""
    seed = secrets.randbelow(1 << 32)
    entries = {**protocols(), **compositions()}
    names = [name for name, entry in entries.items() if entry.implementation]
    found = []
    with progress("hunts from a fresh seed") as bar:
        for number, name in enumerate(names):
            bar.update(number, len(names))
            quarry = target(known_as(name))
            total = hunt(quarry.job(seed, ""), {}, seconds=seconds).total
            shown = tuple((said(key), command(quarry, one, key)) for key, one in sorted(total.findings.items()))
            found.append(Fresh(name, seed, total.runs, total.steps, shown))
    return found


def text(found: Sequence[Fresh]) -> str:
    """The text of their line in the closing table."""
    steps, bad = sum(one.steps for one in found), [one.name for one in found if one.findings]
    seed = found[0].seed if found else 0
    verdict = f"findings in {', '.join(bad)}" if bad else "nothing found"
    return f"{len(found)} from seed {seed}, {steps:,} steps: {verdict}"
