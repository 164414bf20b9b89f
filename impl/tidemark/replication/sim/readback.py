"""A client that knows nothing of the specification: it reads the partition through its leader and compares with its
acknowledgements.

The second oracle: it does not pass through the abstraction function.
"""

from __future__ import annotations

from tidemark.log.storage import Payload
from tidemark.replication.sim.cluster import Cluster


def lost_payloads(cluster: Cluster) -> list[Payload]:
    """Payloads acknowledged with acks=all that are not at their acknowledged offset, oldest first; all of them when
    there is no leader to read from."""
    found: dict[int, Payload] = {}
    leader = cluster.control.partition.leader
    broker = None if leader is None else cluster.up(leader)
    if broker is not None:
        for batch in broker.partition.read_committed(0, broker.log.end_offset):
            for index, payload in enumerate(batch.records):
                found[batch.base_offset + index] = payload
    return [payload for payload, offset in cluster.answers.acked.items() if found.get(offset) != payload]
