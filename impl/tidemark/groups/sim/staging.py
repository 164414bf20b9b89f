"""The common part of scenarios of a group of either kind (script.py). It has the common actions' methods, the beginning
of a group, and the columns for partitions and positions.

    begin coordinator=b1 partitions={p1,p2}     the first coordinator (b1), the topics that exist (all)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidemark.groups.partitions import TopicPartition
from tidemark.groups.purgatory import Timer, TimerKind
from tidemark.groups.sim.network import Broker
from tidemark.groups.subscription_state import SubscriptionState
from tidemark.groups.table import HeaderTable

Group = Any
"""A cluster of a group of either kind: GroupEvents, with what each of them adds."""


def beginning(table: HeaderTable, options: Mapping[str, str]) -> tuple[list[bool], dict[str, int], Broker]:
    """The static members, each topic's number of partitions, and the first coordinator. Raises KeyError for an unknown
    name or option."""
    chosen = {one for one in options.get("partitions", ",".join(table.topics)).strip("{}").split(",") if one}
    counts = {topic: int(topic in chosen) for topic in table.topics}
    first = options.get("coordinator", table.brokers[0])
    if chosen - counts.keys() or first not in table.brokers or options.keys() - {"partitions", "coordinator"}:
        raise KeyError(str(options))
    return [client in table.static for client in table.clients], counts, table.brokers.index(first)


def expire(group: Group, broker: Broker, kind: TimerKind, number: int = 0) -> bool:
    """A timer of that kind runs out, of the member of that number if there is one."""
    member = next((member for member, known in group.numbers.items() if known == number), "")
    timer = Timer(kind, member)
    return timer in group.coordinators[broker].timers and group.expire(broker, timer)


def _to(group: Group, slots: str, client: int, broker: Broker) -> bool:
    """Whether what a consumer has under way is for that broker."""
    exchange = getattr(group.network, slots)[client]
    return exchange is not None and exchange.broker == broker


def request(group: Group, slots: str, deliver: str, b: int, c: int, late: bool) -> bool:
    """A request arrives by `deliver`; a late one as every late one does."""
    return _to(group, "stray" if late else slots, c, b) and getattr(group, "deliver_stray" if late else deliver)(c)


def _subscribe(group: Group, c: int, subscription: frozenset[str]) -> bool:
    mask = sum(1 << place for place, topic in enumerate(group.counts) if topic in subscription)
    return bool(group.change_subscription(c, subscription, mask))


def _poll(group: Group, c: int, p: int) -> bool:
    return bool(group.poll(c, p, TopicPartition(list(group.counts)[p], 0)))


EVENTS: dict[str, Callable[..., bool]] = {
    "CrashConsumer": lambda g, c: g.crash_consumer(c),
    "LeaveGroup": lambda g, c, b: g.leave_group(c, b),
    "ChangeSubscription": _subscribe,
    "AddPartition": lambda g, p: g.add_partition(p, list(g.counts)[p]),
    "SendHeartbeat": lambda g, c, b: g.send_heartbeat(c, b),
    "ReceiveHeartbeat": lambda g, c: g.receive_heartbeat(c),
    "Poll": _poll,
    "SendCommit": lambda g, c, b: g.send_commit(c, b),
    "ReceiveCommit": lambda g, c: g.receive_offset(c),
    "SendOffsetFetch": lambda g, c, b: g.send_offset_fetch(c, b),
    "ReceiveOffsets": lambda g, c: g.receive_offset(c),
    "HandleLeave": lambda g, b, c: request(g, "", "", b, c, True),
    "ExpireSession": lambda g, b, m: expire(g, b, TimerKind.SESSION, m),
    "HandleCommit": lambda g, b, c, late: request(g, "offset", "deliver_offset", b, c, late),
    "RejectCommit": lambda g, b, c, late: request(g, "offset", "deliver_offset", b, c, late),
    "HandleOffsetFetch": lambda g, b, c: request(g, "offset", "deliver_offset", b, c, False),
    "CommitEntry": lambda g, b: g.log.leader == b and g.commit_entry(),
    "BecomeCoordinator": lambda g, b, keep: g.become_coordinator(b, keep),
    "Resign": lambda g, b: g.resign(b),
    "RepeatCommitRequest": lambda g, c: g.repeat_commit_request(c),
    "LoseHeartbeat": lambda g, c: g.lose_heartbeat(c),
    "LoseOffsetRpc": lambda g, c: g.lose_offset_rpc(c),
    "LoseStray": lambda g, c: g.lose_stray(c),
}
"""The actions of both specifications of groups."""


def owned(subscriptions: SubscriptionState) -> str:
    """The partitions that a consumer owns, with the positions that it knows."""
    known = [(one, subscriptions.position(one)) for one in subscriptions.owned]
    return "{" + " ".join(one.topic if at < 0 else f"{one.topic}:{at}" for one, at in known) + "}"


def partitions(those: Iterable[TopicPartition]) -> str:
    """A set of partitions."""
    return "{" + " ".join(sorted(one.topic for one in those)) + "}"


def offsets(committed: Mapping[TopicPartition, int]) -> list[str]:
    """Committed offsets."""
    return [f"{one.topic}:{offset}" for one, offset in sorted(committed.items())]


def uncommitted(coordinator: Any) -> list[str]:
    """How many batches of a coordinator have not committed."""
    return [f"({len(coordinator.waiting)} uncommitted)"] if coordinator.waiting else []
