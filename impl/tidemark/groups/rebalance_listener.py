"""The application's callbacks when partitions are revoked, lost or assigned (ConsumerRebalanceListener)."""

from __future__ import annotations

from tidemark.groups.partitions import TopicPartition

Partitions = tuple[TopicPartition, ...]


class RebalanceListener:
    """An application's ConsumerRebalanceListener; partitions are sorted."""

    def on_partitions_revoked(self, partitions: Partitions) -> None:
        """They go; they are still owned and can be committed."""

    def on_partitions_assigned(self, partitions: Partitions) -> None:
        """They have come; they are owned."""

    def on_partitions_lost(self, partitions: Partitions) -> None:
        """They are gone already, perhaps to others."""
        self.on_partitions_revoked(partitions)
