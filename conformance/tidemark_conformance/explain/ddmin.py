"""Delta debugging: the smallest list of decisions that still fails in the same way (Zeller and Hildebrandt's ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def ddmin(decisions: Sequence[T], fails: Callable[[Sequence[T]], bool], budget: int) -> tuple[list[T], int, bool]:
    """A sublist that fails and of which no single decision can be left out, found with at most `budget` trials.

    `fails` must be true of `decisions`; it is asked of nothing twice. Returns the sublist in its old order, the number
    of trials, and whether the budget sufficed (else a smaller list may exist). The empty list is tried first.
    """
    known: dict[tuple[int, ...], bool] = {}
    trials = 0

    def ask(chosen: Sequence[int]) -> bool:
        nonlocal trials
        key = tuple(chosen)
        if key not in known:
            if trials >= budget:
                raise _Spent
            trials += 1
            known[key] = fails([decisions[index] for index in chosen])
        return known[key]

    current = list(range(len(decisions)))
    try:
        if not current or ask([]):
            return [], trials, True
        parts = 2
        while len(current) >= 2:
            size = -(-len(current) // parts)
            chunks = [current[at : at + size] for at in range(0, len(current), size)]
            smaller = next((chunk for chunk in chunks if ask(chunk)), None) if parts > 1 and len(chunks) > 1 else None
            if smaller is not None:
                current, parts = smaller, 2
                continue
            rests = ([i for other in chunks if other is not chunk for i in other] for chunk in chunks)
            smaller = next((rest for rest in rests if ask(rest)), None)
            if smaller is not None:
                current, parts = smaller, max(parts - 1, 2)
            elif parts >= len(current):
                break
            else:
                parts = min(len(current), parts * 2)
    except _Spent:
        return [decisions[index] for index in current], trials, False
    return [decisions[index] for index in current], trials, True


class _Spent(Exception):
    """The budget of trials is used up."""
