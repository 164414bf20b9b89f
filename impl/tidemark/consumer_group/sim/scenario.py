"""A KIP-848 group driven by a text (script.py, staging.py): how each action is caused, and the transcript's columns.

The transcript shows a consumer's member and member epoch, its state unless it is stable, and its partitions with the
positions that it knows. Of a coordinator it shows the group epoch / the epoch of the target assignment. Of each member
it shows the epoch, the partitions that it may read and (-) those that it must give up. Then come the targets (->),
whose partitions have the epoch of a holder, the offsets, and the number of uncommitted batches. Of the log it shows the
leader, its epoch, and the committed group epoch and offsets.

    begin interval=8000     the least time between two target assignments (milliseconds; 0)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.consumer_group.abstraction import Abstraction
from tidemark.consumer_group.consumer import AsyncConsumer
from tidemark.consumer_group.coordinator import ConsumerGroupConfig, ConsumerGroupCoordinator
from tidemark.consumer_group.membership import MemberState
from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.sim.cluster import ConsumerGroupCluster, ConsumerGroupPartition
from tidemark.consumer_group.sim.run import REFRESH_MS, ConsumerGroupSimulator
from tidemark.groups.consumer_group_messages import GroupEpochRecord
from tidemark.groups.purgatory import TimerKind
from tidemark.groups.sim import staging
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder

Numbers = Mapping[str, int]


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """A group's cluster before its first event; it assigns as the `uniform` assignor does. Raises KeyError for an
    unknown name or option."""
    general = {name: said for name, said in options.items() if name != "interval"}
    simulator = ConsumerGroupSimulator(header, rules=rules)
    table = simulator.table
    static, counts, first = staging.beginning(table, general)
    config = ConsumerGroupConfig(
        assignment_interval_ms=int(options.get("interval", "0")),
        metadata_refresh_interval_ms=REFRESH_MS,
        assignor="uniform",
    )
    cluster = ConsumerGroupCluster(len(table.brokers), static, table.timeouts, counts, first, simulator.rules, config)
    recorder = Recorder(simulator.plan, Abstraction(table, cluster))

    def columns() -> Cells:
        clients = zip(table.clients, cluster.consumers, strict=True)
        brokers = zip(table.brokers, cluster.coordinators, strict=True)
        return {
            **{name: _consumer(one, cluster.numbers) for name, one in clients},
            **{name: _coordinator(one, cluster.numbers) for name, one in brokers},
            "log": _log(cluster.log, table.brokers),
        }

    return Performance(cluster, recorder, columns)


def _heartbeat(group: ConsumerGroupCluster, b: int, c: int, late: bool) -> bool:
    return staging.request(group, "heartbeat", "deliver_heartbeat", b, c, late)


EVENTS: dict[str, Callable[..., bool]] = {
    **staging.EVENTS,
    "StartConsumer": lambda g, c: g.start_consumer(c),
    "Reconcile": lambda g, c: g.reconcile(c),
    "FinishReconciliation": lambda g, c: g.finish_reconciliation(c),
    "RejectHeartbeat": _heartbeat,
    "HandleHeartbeat": _heartbeat,
    "BumpOnHeartbeat": _heartbeat,
    "AssignOnHeartbeat": _heartbeat,
    "ExpireRevocation": lambda g, b, m: staging.expire(g, b, TimerKind.REBALANCE, m),
    "RepeatHeartbeat": lambda g, c: g.repeat_heartbeat(c),
}
"""For each action, the cluster's method that performs it."""

STAGE = Stage(begin, EVENTS, clock=True)


def _consumer(consumer: AsyncConsumer | None, numbers: Numbers) -> str:
    if consumer is None:
        return "-"
    membership = consumer.membership
    said = [f"m{numbers[membership.member_id]}", f"e{membership.member_epoch}"]
    said += [] if membership.state is MemberState.STABLE else [membership.state.value.lower()]
    return " ".join([*said, staging.owned(consumer.subscriptions)])


def _coordinator(coordinator: ConsumerGroupCoordinator, numbers: Numbers) -> str:
    if not coordinator.serving:
        return "-"
    group = coordinator.group
    said = [f"e{group.group_epoch}/{group.assignment_epoch}"]
    for member_id, member in sorted(group.members.items()):
        current = member.current
        given_up = f"-{staging.partitions(current.pending_revocation)}" if current.pending_revocation else ""
        said.append(f"m{numbers[member_id]}:e{current.member_epoch}{staging.partitions(current.assigned)}{given_up}")
    said += [f"->m{numbers[one]}{staging.partitions(target)}" for one, target in sorted(group.target.items()) if target]
    said += [f"{one.topic}@e{epoch}" for one, epoch in sorted(group.partition_epochs.items())]
    return " ".join([*said, *staging.offsets(coordinator.offsets), *staging.uncommitted(coordinator)])


def _log(log: ConsumerGroupPartition, brokers: Sequence[str]) -> str:
    epochs = [f"e{one.epoch}" for one in log.records.values() if isinstance(one, GroupEpochRecord)]
    return " ".join([f"{brokers[log.leader]} in {log.epoch}", *epochs, *staging.offsets(log.offsets)])
