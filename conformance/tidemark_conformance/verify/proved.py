"""The proofs of `make check`: every theorem of spec/ judged from its kept cores."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark_conformance.console.progress import progress
from tidemark_conformance.prove import cores, inductive, solving, working


@dataclass(frozen=True)
class Found:
    """A theorem judged: its properties, what is finite in it, the conditions, and those open.

    `expected`: the open conditions that are kept beside its cores.
    """

    name: str
    properties: tuple[str, ...]
    bounded: tuple[str, ...]
    conditions: int
    open: tuple[tuple[str, str], ...]
    expected: tuple[tuple[str, str], ...]
    grounded: bool = True

    @property
    def ok(self) -> bool:
        """Whether nothing is open that the last search had proved."""
        return self.conditions > 0 and self.grounded and set(self.open) <= set(self.expected)


def judge() -> list[Found]:
    """Every theorem, on all cores."""
    found = []
    theorems = inductive.modules()
    with progress("proofs", "theorems") as bar:
        for at, (name, (module, cfg)) in enumerate(theorems.items()):
            bar.update(at, len(theorems))
            job = (name, str(module), str(cfg), None)
            kept = cores.read(cores.file_of(module, name))
            result, _ = working.judge(job, solving.LIMIT, kept, lambda action, conditions: None)
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
                    kept.open,
                    working.grounded(module, claimed),
                )
            )
    return found


def text(found: list[Found]) -> str:
    """What is proved for runs of any length, with all that is finite in it; a theorem with open conditions apart."""
    parts = []
    for one in found:
        bounded = ", ".join(one.bounded) or "nothing"
        if not one.grounded:
            parts.append(f"{one.name}: no proof, as the theorem that it rests on is open")
        elif one.open:
            listed = "; ".join(f"{lemma} after {action}" for lemma, action in one.open[:4])
            more = f" and {len(one.open) - 4} more" if len(one.open) > 4 else ""
            parts.append(f"{one.name}: no proof, open of {one.conditions:,}: {listed}{more}")
        else:
            parts.append(
                f"proved for any length: {', '.join(one.properties)} ({one.name}: {one.conditions:,} conditions; "
                f"finite: {bounded})"
            )
    return ". ".join(parts)
