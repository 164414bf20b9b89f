"""The behaviour of idempotent producers and of leaders without some rules. Nothing in production imports this file; the
simulator and the protocol's descriptor do.
"""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.common.rule_kinds import is_rule
from tidemark.idempotence.partition import Broker, Partition, Storage
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig, Topic
from tidemark.idempotence.producer_state import Snapshot
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sequences import ProducerBatch


def _heap_order(in_flight: list[ProducerBatch]) -> bool:
    """Before KAFKA-8483: the order of a PriorityQueue whose least was taken away. Two are in order in any heap. Then it
    answers as the rule's absence does: the case does not arise."""
    if len(in_flight) > 2:
        in_flight[1], in_flight[2] = in_flight[2], in_flight[1]
    return False


VARIANTS = (Variant("resequence_in_order", "resequence_in_order", _heap_order),)
"""The function that replaces each removed rule."""


class SequenceAgain(IdempotentProducer):
    """No version of Kafka: the next batch gets the sequence of the one that expired, if no other is in flight. Before
    KAFKA-5494 a producer took another producer id instead."""

    def expire_batch(self, topic: Topic) -> bool:
        """Nothing is unresolved if the batch was the only one in flight."""
        sequences = self.partitions[topic]
        in_flight, unresolved = list(sequences.in_flight), sequences.unresolved
        expired = super().expire_batch(topic)
        if len(in_flight) == 1:
            sequences.next_sequence, sequences.unresolved = in_flight[0].sequence, unresolved
        return expired


class SnapshotsLastBatch(Partition):
    """Kafka 4.x: a snapshot holds the last batch of each producer."""

    def take_snapshot(self) -> None:
        """A file without the batches before."""
        super().take_snapshot()
        offset, entries = self.snapshots.pop()
        kept = {producer_id: entry._replace(batches=entry.batches[-1:]) for producer_id, entry in entries.items()}
        self.snapshots.append(Snapshot(offset, kept))


FLAWED = {"only_batch_expired": SequenceAgain, "snapshot_of_several_batches": SnapshotsLastBatch}
"""Rule -> what stands in its place."""


def producer_of(partitions: int, rules: Rules, config: ProducerConfig) -> IdempotentProducer:
    """A process with these rules: without `only_batch_expired`, one that gives a sequence again."""
    if is_rule(rules.only_batch_expired):
        return IdempotentProducer(partitions, rules, config)
    return SequenceAgain(partitions, rules, config)


def partition_of(
    rules: Rules, config: ProducerConfig, leader: Broker, storage: Storage, expiration_ms: int
) -> Partition:
    """A partition with these rules: without `snapshot_of_several_batches`, one as in Kafka."""
    if is_rule(rules.snapshot_of_several_batches):
        return Partition(rules, config.window, config.max_sequence, leader, storage, expiration_ms)
    return SnapshotsLastBatch(rules, config.window, config.max_sequence, leader, storage, expiration_ms)
