"""The producer ids of a cluster (ProducerIdManager)."""

from __future__ import annotations

from tidemark.idempotence.messages import ProducerId


class ProducerIdManager:
    """It gives every producer id out once: 1, 2, and so on. `issued`: how many are given out.

    In Kafka the controller allocates blocks of ids to the brokers, and each broker has a manager. It throws
    COORDINATOR_LOAD_IN_PROGRESS while it has no id. Here all brokers of a cluster share one, which always has an id.
    """

    __slots__ = ("issued",)

    def __init__(self, issued: int = 0) -> None:
        self.issued = issued

    def generate_producer_id(self) -> ProducerId:
        """The next id."""
        self.issued += 1
        return self.issued
