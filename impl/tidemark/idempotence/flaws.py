"""The behaviour of idempotent producers without some rules. Nothing in production imports this file.

Each function answers as its rule's absence does: the case does not arise. Before that it does what a producer did then.
"""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.idempotence.sequences import PartitionSequences, ProducerBatch


def _heap_order(in_flight: list[ProducerBatch]) -> bool:
    """Before KAFKA-8483: the order of a PriorityQueue whose least was taken away. Two are in order in any heap."""
    if len(in_flight) > 2:
        in_flight[1], in_flight[2] = in_flight[2], in_flight[1]
    return False


def _sequence_again(sequences: PartitionSequences, expired: ProducerBatch) -> bool:
    """Before KAFKA-6053: the next batch gets the sequence of the one that expired, if no other is in flight."""
    if sequences.in_flight == [expired]:
        sequences.next_sequence = expired.sequence
    return False


VARIANTS = (
    Variant("resequence_in_order", "resequence_in_order", _heap_order),
    Variant("only_batch_expired", "only_batch_expired", _sequence_again),
)
"""The function that replaces each removed rule."""
