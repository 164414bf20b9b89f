"""The computations of idempotent producers without some rules. Nothing in production imports this file."""

from __future__ import annotations

from collections.abc import Sequence

from tidemark.common.removal import Variant
from tidemark.idempotence.rules import Numbering


def _heap_order(sequences: Sequence[int]) -> Sequence[int]:
    """Before KAFKA-8483: the order of a PriorityQueue whose least was taken away. Two are in order in any heap."""
    places = list(range(len(sequences)))
    places[1:3] = places[2:0:-1] if len(places) > 2 else places[1:3]
    return places


def _sequence_again(known: Numbering, expired: int, behind: int, others: int) -> Numbering:
    """Before KAFKA-6053: the next batch gets the sequence of the one that expired, if no other is in flight."""
    return Numbering(known.next_sequence, behind) if others else Numbering(expired, known.unresolved)


VARIANTS = (
    Variant("resequence_in_order", "resequence_in_order", _heap_order),
    Variant("only_batch_expired", "only_batch_expired", _sequence_again),
)
"""The computation that replaces each removed rule."""
