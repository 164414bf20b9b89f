"""The assignors: pure functions from partition counts and subscriptions to an assignment, by Kafka's names.

`CLASSIC` runs at the group's leader, a consumer; `SERVER` at the coordinator (KIP-848), with the target assignment that
holds so far. None looks at racks (KIP-881).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from tidemark.common.errors import BrokenInvariant
from tidemark.groups.assignors.ranges import assign_range
from tidemark.groups.assignors.round_robin import assign_round_robin
from tidemark.groups.assignors.sticky import assign_cooperative_sticky, assign_sticky
from tidemark.groups.assignors.uniform import assign_uniform
from tidemark.groups.partitions import Assignment, MemberId, PartitionCounts, Subscriptions, TopicPartition

RANGE, ROUND_ROBIN, STICKY, COOPERATIVE_STICKY = "range", "roundrobin", "sticky", "cooperative-sticky"
UNIFORM = "uniform"


class RebalanceProtocol(IntEnum):
    """How members treat their partitions before they join (ConsumerPartitionAssignor.RebalanceProtocol)."""

    EAGER = 0
    """Revoke all: every assignment may be a complete reshuffle."""
    COOPERATIVE = 1
    """Keep all: the assignor takes away first, and gives away one rebalance later."""


CLASSIC: dict[str, Callable[[PartitionCounts, Subscriptions], Assignment]] = {
    RANGE: assign_range,
    ROUND_ROBIN: assign_round_robin,
    STICKY: assign_sticky,
    COOPERATIVE_STICKY: assign_cooperative_sticky,
}


def _server_range(
    counts: PartitionCounts, subscriptions: Subscriptions, target: Mapping[MemberId, Iterable[TopicPartition]]
) -> Assignment:
    """The range assignor looks at no earlier assignment."""
    return assign_range(counts, subscriptions)


SERVER: dict[
    str, Callable[[PartitionCounts, Subscriptions, Mapping[MemberId, Iterable[TopicPartition]]], Assignment]
] = {
    UNIFORM: assign_uniform,
    RANGE: _server_range,
}
"""The first is the default of group.consumer.assignors."""


def rebalance_protocol(assignors: Iterable[str]) -> RebalanceProtocol:
    """The protocol of a consumer with these classic assignors: cooperative if all of them can be, else eager.

    So a group moves to cooperative rebalancing in two rolling restarts: first both kinds are listed, then one.
    Raises BrokenInvariant if there is none or one has no such name.
    """
    names = list(assignors)
    unknown = [name for name in names if name not in CLASSIC]
    if unknown or not names:
        raise BrokenInvariant(f"no classic assignors: {names}; there are {', '.join(CLASSIC)}")
    cooperative = all(name == COOPERATIVE_STICKY for name in names)
    return RebalanceProtocol.COOPERATIVE if cooperative else RebalanceProtocol.EAGER
