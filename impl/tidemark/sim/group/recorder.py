"""What a group's recorder looks at: the units of its variables, and which of them each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.group.abstraction import Abstraction
from tidemark.group.layout import Layout, Table
from tidemark.sim.group.state import GroupState
from tidemark.sim.units import Unit, UnitPlan, UnitRecorder

_PROCESS = "consumer.c position.c memberRpc.c heartbeatRpc.c offsetRpc.c"
_ANSWERS = "appended.b group.b memberRpc.*"
_JOIN = f"issued {_ANSWERS} stray.c"

TOUCHES = {
    "StartConsumer": "consumer.c",
    "CrashConsumer": _PROCESS,
    "LeaveGroup": f"{_PROCESS} stray.c",
    "ChangeSubscription": "consumer.c",
    "AddPartition": "partitions",
    "NoticePartitions": "consumer.c",
    "SendJoin": "consumer.c position.c memberRpc.c",
    "JoinAsFollower": "consumer.c memberRpc.c",
    "JoinAsLeader": "consumer.c memberRpc.c",
    "ReceiveMemberError": _PROCESS,
    "ReceiveAssignment": "consumer.c position.c memberRpc.c",
    "FinishRevocation": "consumer.c position.c",
    "SendHeartbeat": "heartbeatRpc.c",
    "ReceiveHeartbeat": _PROCESS,
    "Poll": "position.c",
    "SendCommit": "offsetRpc.c",
    "ReceiveCommit": _PROCESS,
    "SendOffsetFetch": "offsetRpc.c",
    "ReceiveOffsets": "position.c offsetRpc.c",
    "RejectJoin": "memberRpc.c stray.c",
    "IssueMemberId": "group.b issued memberRpc.c stray.c",
    "AddMember": _JOIN,
    "JoinStaticMember": _JOIN,
    "RejoinMember": _JOIN,
    "RejectSync": "memberRpc.c stray.c",
    "HandleSync": f"{_ANSWERS} stray.c",
    "HandleHeartbeat": "heartbeatRpc.c",
    "HandleLeave": f"{_ANSWERS} stray.c",
    "ExpireSession": _ANSWERS,
    "ExpirePendingMember": _ANSWERS,
    "ExpireJoin": _ANSWERS,
    "ExpireSync": _ANSWERS,
    "HandleCommit": "appended.b offsetRpc.c stray.c",
    "RejectCommit": "offsetRpc.c stray.c",
    "HandleOffsetFetch": "offsetRpc.c",
    "CommitEntry": "storedGroup storedOffsets appended.b group.b offsets.b memberRpc.* offsetRpc.*",
    "BecomeCoordinator": "office storedGroup storedOffsets epoch.b group.b offsets.b",
    "Resign": "appended.b epoch.b group.b offsets.b memberRpc.* offsetRpc.*",
    "RepeatMemberRequest": "stray.c",
    "RepeatCommitRequest": "stray.c",
    "LoseMemberRpc": "memberRpc.c",
    "LoseHeartbeat": "heartbeatRpc.c",
    "LoseOffsetRpc": "offsetRpc.c",
    "LoseStray": "stray.c",
}
"""What each action's handler may change: a variable, or its part of the broker `b`, the consumer `c`, everybody. A test
compares with looking at everything."""

NETWORK = ("Repeat", "Lose", "Add")
"""Actions that begin so happen nowhere."""


class GroupPlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not ClassicGroup's."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        brokers, clients = len(table.brokers), len(table.clients)
        layout = Layout(table)
        cells: dict[str, Callable[[Any], Any]] = {
            "office": tuple,
            "storedGroup": layout.stored,
            "storedOffsets": layout.position,
            "appended": layout.appended,
            "epoch": layout.epoch,
            "group": layout.group,
            "offsets": layout.position,
            "issued": layout.issued,
            "consumer": layout.consumer,
            "position": layout.position,
            "partitions": lambda key: (key,),
            "memberRpc": layout.member_rpc,
            "heartbeatRpc": layout.heartbeat_rpc,
            "offsetRpc": layout.offset_rpc,
            "stray": layout.stray,
        }
        if set(cells) != set(table.variables):
            raise ValueError("the header has other variables than the classic group")
        self.numbers: dict[str, list[int]] = {}
        units: list[Unit] = []
        for variable in sorted(cells, key=table.offset):
            width = table.width(variable)
            count = int(table.variables[variable]["cells"]) // width
            self.numbers[variable] = list(range(len(units), len(units) + count))
            units += [Unit(table.offset(variable) + width * place, cells[variable]) for place in range(count)]
        nodes = {"b": range(brokers), "c": range(brokers, brokers + clients)}
        super().__init__(header, units, nodes, lambda action: action.startswith(NETWORK))
        self.touched: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}

    def touches(self, what: tuple[Any, ...]) -> tuple[int, ...]:
        """The units that an action with these parameters may change. Raises ValueError for an unknown action."""
        name, *values = what
        if name not in TOUCHES or name not in self._formals:
            raise ValueError(f"the classic group has no action {name}")
        given = dict(zip(self._formals[name], values, strict=False))
        found: set[int] = set()
        for variable, _, which in (one.partition(".") for one in TOUCHES[name].split()):
            numbers = self.numbers[variable]
            found.update([numbers[given[which]]] if which in ("b", "c") else numbers)
        touched = self.touched[what] = tuple(sorted(found))
        return touched


class GroupRecorder(UnitRecorder):
    """Writes one trace of a group's cluster."""

    __slots__ = ("_group_plan",)

    def __init__(self, plan: GroupPlan, cluster: GroupState, see: Abstraction) -> None:
        self._group_plan = plan
        network, log, coordinators = cluster.network, cluster.log, cluster.coordinators
        table = see.table
        brokers, clients = range(len(table.brokers)), range(len(table.clients))
        keys: dict[str, list[Callable[[], Any]]] = {
            "office": [lambda: (log.leader, log.epoch)],
            "storedGroup": [lambda: see.stored(log.group)],
            "storedOffsets": [lambda: table.offsets(log.offsets)],
            "appended": [partial(see.appended, coordinators[b]) for b in brokers],
            "epoch": [lambda b=b: coordinators[b].epoch for b in brokers],  # type: ignore[misc]
            "group": [lambda b=b: see.group(coordinators[b].group) for b in brokers],  # type: ignore[misc]
            "offsets": [lambda b=b: table.offsets(coordinators[b].offsets) for b in brokers],  # type: ignore[misc]
            "issued": [lambda: len(cluster.numbers)],
            "consumer": [lambda c=c: see.consumer(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "position": [lambda c=c: see.position(cluster.consumers[c]) for c in clients],  # type: ignore[misc]
            "partitions": [lambda: see.partitions(cluster.counts)],
            "memberRpc": [lambda c=c: see.member_rpc(network.member[c], coordinators) for c in clients],  # type: ignore[misc]
            "heartbeatRpc": [lambda c=c: see.heartbeat_rpc(network.heartbeat[c]) for c in clients],  # type: ignore[misc]
            "offsetRpc": [lambda c=c: see.offset_rpc(network.offset[c], coordinators) for c in clients],  # type: ignore[misc]
            "stray": [lambda c=c: see.request(network.stray[c]) for c in clients],  # type: ignore[misc]
        }
        super().__init__(plan, [key for variable in sorted(keys, key=table.offset) for key in keys[variable]])

    def did(self, *what: Any) -> None:
        """A handler has run: `what` is its action and the parameters' values. Raises CapacityExceeded."""
        plan = self._group_plan
        self.step(plan.touched.get(what) or plan.touches(what), *what)
