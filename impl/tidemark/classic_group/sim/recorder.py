"""What a group's recorder looks at: the units of its variables, and which of them each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.classic_group.abstraction import Abstraction
from tidemark.classic_group.layout import Layout, Table
from tidemark.classic_group.sim.cluster import GroupCluster
from tidemark.groups.sim.plan import NodePlan
from tidemark.trace.cells import Cells
from tidemark.trace.units import Items, Kind, Leaf, Parts, UnitRecorder

_PROCESS = "consumer.c position.c memberRpc.c heartbeatRpc.c offsetRpc.c"
_ANSWERS = "appended.b group.b"
_REPLY = "!late:memberRpc.c late:stray.c"
_JOIN = f"issued {_ANSWERS} {_REPLY}"

TOUCHES = {
    "StartConsumer": "consumer.c",
    "CrashConsumer": _PROCESS,
    "LeaveGroup": f"{_PROCESS} stray.c",
    "ChangeSubscription": "consumer.c",
    "AddPartition": "partitions",
    "NoticePartitions": "consumer.c",
    "SendJoin": "consumer.c position.c memberRpc.c offsetRpc.c",
    "JoinAsFollower": "consumer.c memberRpc.c",
    "JoinAsLeader": "consumer.c memberRpc.c",
    "ReceiveMemberError": _PROCESS,
    "ReceiveAssignment": "consumer.c position.c memberRpc.c offsetRpc.c",
    "FinishRevocation": "consumer.c position.c offsetRpc.c",
    "SendHeartbeat": "heartbeatRpc.c",
    "ReceiveHeartbeat": _PROCESS,
    "Poll": "position.c",
    "SendCommit": "offsetRpc.c",
    "ReceiveCommit": _PROCESS,
    "SendOffsetFetch": "offsetRpc.c",
    "ReceiveOffsets": "position.c offsetRpc.c",
    "RejectJoin": _REPLY,
    "IssueMemberId": f"group.b issued {_REPLY}",
    "AddMember": _JOIN,
    "JoinStaticMember": _JOIN,
    "RejoinMember": _JOIN,
    "RejectSync": _REPLY,
    "HandleSync": f"{_ANSWERS} {_REPLY}",
    "HandleHeartbeat": "group.b heartbeatRpc.c",
    "HandleLeave": f"{_ANSWERS} stray.c",
    "ExpireSession": _ANSWERS,
    "ExpirePendingMember": _ANSWERS,
    "ExpireJoin": _ANSWERS,
    "ExpireSync": _ANSWERS,
    "HandleCommit": "appended.b group.b !late:offsetRpc.c late:stray.c",
    "RejectCommit": "!late:offsetRpc.c late:stray.c",
    "HandleOffsetFetch": "offsetRpc.c",
    "CommitEntry": "storedGroup storedOffsets appended.b group.b offsets.b offsetRpc.*",
    "BecomeCoordinator": "office storedGroup storedOffsets epoch.b group.b offsets.b",
    "Resign": "appended.b epoch.b group.b offsets.b memberRpc.* offsetRpc.*",
    "RepeatMemberRequest": "stray.c",
    "RepeatCommitRequest": "stray.c",
    "LoseMemberRpc": "memberRpc.c",
    "LoseHeartbeat": "heartbeatRpc.c",
    "LoseOffsetRpc": "offsetRpc.c",
    "LoseStray": "stray.c",
}
"""What each action's handler may change: a variable, or its part of the broker `b`, the consumer `c`, everybody; and
the `memberRpc` of whom it answers, as the network says. A test compares with looking at everything."""


def kinds(layout: Layout) -> dict[str, Kind]:
    """Of what kind the units of each variable are."""
    table = layout.table
    position = Leaf(layout.position)
    stored = Parts(
        table.width("storedGroup"),
        [
            (0, Leaf(layout.stored_head)),
            *_blocks(2, table, layout.stored_member, table.no_stored),
            (table.width("storedGroup") - 1, Leaf(layout.stored_tail)),
        ],
    )
    each = (table.width("appended") - 1) // table.max_appended
    places = table.entry.places
    entry = Parts(
        each,
        [
            (0, Leaf(layout.entry_head)),
            (places["group", "group"], stored),
            (places["group", "member"], Leaf(layout.entry_tail)),
        ],
    )
    return {
        "office": Leaf(tuple),
        "storedGroup": stored,
        "storedOffsets": position,
        "appended": Items(each, table.max_appended, entry),
        "epoch": Leaf(layout.epoch),
        "group": Parts(
            table.width("group"),
            [
                (0, Leaf(layout.group_head)),
                *_slots(4, table, layout.member, table.no_member),
                (4 + table.max_member * len(table.no_member), Leaf(layout.group_tail)),
            ],
        ),
        "offsets": position,
        "issued": Leaf(layout.issued),
        "consumer": Parts(
            table.width("consumer"),
            [(0, Leaf(layout.consumer)), (4, Leaf(layout.consumer_member)), (8, Leaf(layout.consumer_tail))],
        ),
        "position": position,
        "partitions": Leaf(lambda key: (key,)),
        "memberRpc": Parts(
            table.width("memberRpc"),
            [
                (0, Leaf(layout.member_rpc)),
                *_blocks(table.roster, table, layout.metadata, table.no_metadata),
                (table.width("memberRpc") - 1, Leaf(lambda key: (key,))),
            ],
        ),
        "heartbeatRpc": Leaf(layout.heartbeat_rpc),
        "offsetRpc": Leaf(layout.offset_rpc),
        "stray": Leaf(layout.stray),
    }


def _slots(first: int, table: Table, cells: Callable[[Any], Cells], nobody: Cells) -> list[tuple[int, Kind]]:
    """What there is of every member id, one by one, from cell `first` on."""
    leaf = Leaf(cells)
    return [(first + len(nobody) * number, leaf) for number in range(table.max_member)]


def _blocks(first: int, table: Table, cells: Callable[[Any], Cells], nobody: Cells) -> list[tuple[int, Kind]]:
    """The same, several member ids at once: all come and go together, and most are nobody's. None: there is nothing,
    not even of nobody."""
    nothing = (None,) * table.block
    leaf = Leaf(lambda keys: tuple([cell for key in keys or nothing for cell in cells(key)]))
    return [(first + len(nobody) * number, leaf) for number in range(0, table.max_member, table.block)]


class GroupPlan(NodePlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not ClassicGroup's."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        super().__init__(header, table, kinds(Layout(table)), TOUCHES)


class GroupRecorder(UnitRecorder):
    """Writes one trace of a group's cluster."""

    __slots__ = ("_first_member_rpc", "_network", "_see")

    def __init__(self, plan: GroupPlan, cluster: GroupCluster, see: Abstraction) -> None:
        self._network = cluster.network
        self._see = see
        self._first_member_rpc = plan.numbers["memberRpc"][0,]
        network, log, coordinators = cluster.network, cluster.log, cluster.coordinators
        table = see.table
        brokers, clients = range(len(table.brokers)), range(len(table.clients))
        keys: dict[str, list[Callable[[], Any]]] = {
            "office": [lambda: (log.leader, log.epoch)],
            "storedGroup": [lambda: see.stored(log.group)],
            "storedOffsets": [lambda: table.offsets(log.offsets)],
            "appended": [partial(see.appended, coordinators[b]) for b in brokers],
            "epoch": [lambda b=b: coordinators[b].epoch for b in brokers],  # type: ignore[misc]
            "group": [lambda b=b: see.group(coordinators[b].group, coordinators[b].delays) for b in brokers],  # type: ignore[misc]
            "offsets": [lambda b=b: table.offsets(coordinators[b].offsets) for b in brokers],  # type: ignore[misc]
            "issued": [lambda: len(cluster.numbers)],
            "consumer": [lambda c=c: see.consumer(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "position": [lambda c=c: see.position(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "partitions": [lambda: see.partitions(cluster.counts)],
            "memberRpc": [lambda c=c: see.member_rpc(network.member[c], coordinators) for c in clients],  # type: ignore[misc]
            "heartbeatRpc": [lambda c=c: see.heartbeat_rpc(network.heartbeat[c]) for c in clients],  # type: ignore[misc]
            "offsetRpc": [
                lambda c=c: see.offset_rpc(network.offset[c], coordinators, cluster.consumers[c])  # type: ignore[misc]
                for c in clients
            ],
            "stray": [lambda c=c: see.request(network.stray[c]) for c in clients],  # type: ignore[misc]
        }
        super().__init__(plan, keys, network.answered)

    def _forget(self) -> None:
        self._see.forget()

    def _take_marked(self) -> tuple[int, ...]:
        network, first = self._network, self._first_member_rpc
        answered = network.answered
        told = [first + client for client, one in enumerate(network.member) if one in answered]
        answered.clear()
        return tuple(told)
