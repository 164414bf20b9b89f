"""A classic group driven by a text (script.py, staging.py): how each action is caused, and the transcript's columns.

The transcript shows a consumer's member and generation, its place in a rebalance unless it is stable, and its
partitions with the positions that it knows. Of a coordinator it shows the group's state and generation, the members
with their assignments, the offsets, and the number of uncommitted batches. A member with * leads; one with ? waits to
join with the id. Of the log it shows the leader and its epoch, and the committed records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.classic_group.abstraction import Abstraction
from tidemark.classic_group.consumer import Consumer
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.membership import MemberState
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.classic_group.sim.run import GroupSimulator
from tidemark.groups.purgatory import TimerKind
from tidemark.groups.sim import staging
from tidemark.groups.sim.network import OffsetsPartition
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder

Numbers = Mapping[str, int]

PHASES = {MemberState.PREPARING_REBALANCE: ["joining"], MemberState.COMPLETING_REBALANCE: ["syncing"]}


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """A group's cluster before its first event."""
    simulator = GroupSimulator(header, rules=rules)
    table = simulator.table
    static, counts, first = staging.beginning(table, options)
    cluster = GroupCluster(len(table.brokers), static, table.timeouts, counts, first, simulator.rules, simulator.config)
    recorder = Recorder(simulator.plan, Abstraction(table, cluster))

    def columns() -> Cells:
        clients = zip(table.clients, cluster.consumers, strict=True)
        brokers = zip(table.brokers, cluster.coordinators, strict=True)
        return {
            **{name: _consumer(one, cluster.numbers) for name, one in clients},
            **{name: _coordinator(one, cluster.numbers) for name, one in brokers},
            "log": _log(cluster.log, table.brokers, cluster.numbers),
        }

    return Performance(cluster, recorder, columns)


def _member(group: GroupCluster, b: int, c: int, late: bool) -> bool:
    return staging.request(group, "member", "deliver_member", b, c, late)


EVENTS: dict[str, Callable[..., bool]] = {
    **staging.EVENTS,
    "StartConsumer": lambda g, c, mode: g.start_consumer(c, mode),
    "NoticePartitions": lambda g, c: g.notice_partitions(c),
    "SendJoin": lambda g, c, b: g.send_join(c, b),
    "JoinAsFollower": lambda g, c: g.receive_member(c),
    "JoinAsLeader": lambda g, c: g.receive_member(c),
    "ReceiveMemberError": lambda g, c: g.receive_member(c),
    "ReceiveAssignment": lambda g, c: g.receive_member(c),
    "FinishRevocation": lambda g, c: g.finish_revocation(c),
    "RejectJoin": _member,
    "IssueMemberId": _member,
    "AddMember": _member,
    "JoinStaticMember": _member,
    "RejoinMember": _member,
    "RejectSync": _member,
    "HandleSync": _member,
    "HandleHeartbeat": lambda g, b, c: staging.request(g, "heartbeat", "deliver_heartbeat", b, c, False),
    "ExpirePendingMember": lambda g, b, m: staging.expire(g, b, TimerKind.PENDING_MEMBER, m),
    "ExpireJoin": lambda g, b: any(
        staging.expire(g, b, TimerKind.JOIN) for _ in ("who came late gets a while", "over")
    ),
    "ExpireSync": lambda g, b: staging.expire(g, b, TimerKind.SYNC),
    "RepeatMemberRequest": lambda g, c: g.repeat_member_request(c),
    "LoseMemberRpc": lambda g, c: g.lose_member_rpc(c),
}
"""For each action, the cluster's method that performs it."""


STAGE = Stage(begin, EVENTS, clock=True)


def _consumer(consumer: Consumer | None, numbers: Numbers) -> str:
    if consumer is None:
        return "-"
    membership = consumer.membership
    generation = membership.generation
    said = [f"m{numbers[generation.member_id]}"] if generation.member_id else []
    said += [f"g{generation.generation_id}"] if generation.generation_id >= 0 else []
    said += PHASES.get(membership.state, [])
    if membership.revoking is not None:
        said.append(f"revoking {staging.partitions({*consumer.subscriptions.owned} - {*membership.revoking})}")
    return " ".join([*said, staging.owned(consumer.subscriptions)])


def _coordinator(coordinator: GroupCoordinator, numbers: Numbers) -> str:
    group = coordinator.group
    if not coordinator.serving:
        return "-"
    members = [
        f"m{numbers[member_id]}{'*' if member_id == group.leader else ''}{staging.partitions(member.assignment)}"
        for member_id, member in sorted(group.members.items())
    ]
    pending = [f"m{number}?" for number in sorted(numbers[member_id] for member_id in group.pending)]
    said = [group.state.value, f"g{group.generation}", *members, *pending, *staging.offsets(coordinator.offsets)]
    return " ".join([*said, *staging.uncommitted(coordinator)])


def _log(log: OffsetsPartition, brokers: Sequence[str], numbers: Numbers) -> str:
    said = [brokers[log.leader], f"e{log.epoch}"]
    if log.group is not None:
        members = [f"m{numbers[one.member_id]}{staging.partitions(one.assignment)}" for one in log.group.members]
        said += [f"g{log.group.generation}", *members]
    return " ".join([*said, *staging.offsets(log.offsets)])
