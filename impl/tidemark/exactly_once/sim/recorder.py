"""What a recorder of consume-transform-produce looks at: the units of its variables, and which of them each action may
change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.exactly_once.abstraction import Abstraction, Table
from tidemark.exactly_once.message_processor import OUTPUT
from tidemark.exactly_once.sim.state import ExactlyOnceState
from tidemark.trace.shapes import encoder, kind_of
from tidemark.trace.units import Leaf, UnitPlan, UnitRecorder

_MARKED = "output entry.i committed staged.i known.i"

TOUCHES = {
    "InitProducerId": "txn.i instance.i",
    "FenceProducer": "txn.i",
    "SendResult": "instance.i rpc.i",
    "SendTxnOffsetCommit": "instance.i rpc.i",
    "SendEndTxn": "instance.i rpc.i",
    "ReceiveReply": "instance.i rpc.i",
    "GiveUpRequest": "instance.i rpc.i late.i",
    "RepeatRequest": "late.i",
    "LoseLate": "late.i",
    "Crash": "instance.i rpc.i late.i",
    "AppendResult": "txn.i output entry.i rpc.i late.i",
    "AnswerDuplicate": "rpc.i late.i",
    "RejectResult": "txn.i rpc.i late.i",
    "HandleTxnOffsetCommit": "txn.i staged.i known.i rpc.i late.i",
    "RejectTxnOffsetCommit": "txn.i rpc.i late.i",
    "CommitOffset": "committed",
    "HandleEndTxn": "txn.i rpc.i late.i",
    "AnswerEndTxn": "rpc.i late.i",
    "AbortTimedOutTransaction": "txn.i",
    "WriteMarker": f"txn.i {_MARKED} lateMarker.i",
    "WriteLateMarker": f"{_MARKED} lateMarker.i",
    "RejectLateMarker": "lateMarker.i",
    "LoseLateMarker": "lateMarker.i",
    "CompleteTransaction": "txn.i",
    "RevokePartitions": "instance.i",
    "JoinGroup": "group issued instance.i",
    "ReplaceMember": "group issued instance.i",
    "CompleteJoin": "group",
    "SyncGroup": "instance.i",
    "RemoveMember": "group",
    "FetchOffset": "instance.i",
    "ReadOutput": "read returned",
}
"""What each action's handler may change: a variable, or its part of the instance `i`. A test compares with looking at
everything."""

VARIABLES = {one.partition(".")[0] for touches in TOUCHES.values() for one in touches.split()} | {"input"}
NETWORK = ("Repeat", "Lose")
"""Actions of the network begin so: they happen at no instance."""


class ExactlyOncePlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not ExactlyOnce's."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        if set(header["variables"]) != VARIABLES:
            raise ValueError("the header has other variables than exactly once")
        instances = list(table.instances)
        of = {}
        for variable, entry in header["variables"].items():
            what = entry["type"]
            if "function" in what and list(what["domain"]) == instances:
                what = what["function"]
            # what is returned takes few values: it is looked at in one piece
            of[variable] = Leaf(encoder(what)) if variable == "returned" else kind_of(what)
        super().__init__(
            header, "exactly once", of, TOUCHES, {"i": instances}, "i", lambda action: action.startswith(NETWORK)
        )


class ExactlyOnceRecorder(UnitRecorder):
    """Writes one trace of consume-transform-produce."""

    __slots__ = ()

    def __init__(self, plan: ExactlyOncePlan, cluster: ExactlyOnceState, see: Abstraction) -> None:
        group, output, reader = cluster.group, cluster.outputs[OUTPUT], cluster.readers[OUTPUT]
        instances, rpc, late, late_marker = cluster.instances, cluster.rpc, cluster.late, cluster.late_marker
        every = range(len(instances))
        log, returned = _Grown(output.log, see.record), _Grown(reader.returned, see.returned)
        keys: dict[str, list[Callable[[], Any]]] = {
            "input": [lambda: cluster.inputs],
            "txn": [partial(see.transaction, one) for one in cluster.coordinators],
            "group": [partial(see.group, group)],
            "issued": [lambda: group.issued],
            "committed": [partial(see.committed, group)],
            "staged": [partial(see.staged, group, i) for i in every],
            "known": [partial(see.known, group, i) for i in every],
            "output": [log.key],
            "entry": [partial(see.entry, output, i) for i in every],
            "read": [lambda: reader.position],
            "returned": [returned.key],
            "instance": [lambda i=i: see.instance(instances[i]) for i in every],  # type: ignore[misc]
            "rpc": [lambda i=i: see.exchange(rpc[i]) for i in every],  # type: ignore[misc]
            "late": [lambda i=i: see.exchange(late[i]) for i in every],  # type: ignore[misc]
            "lateMarker": [lambda i=i: see.late_marker(late_marker[i]) for i in every],  # type: ignore[misc]
        }
        super().__init__(plan, keys)


class _Grown:
    """A sequence that only grows: of its key only what is new is made."""

    __slots__ = ("_made", "_of", "_sequence")

    def __init__(self, sequence: list[Any], of: Callable[[Any], Any]) -> None:
        self._sequence = sequence
        self._of = of
        self._made: tuple[Any, ...] = ()

    def key(self) -> tuple[Any, ...]:
        """The keys of all items."""
        made = self._made
        if len(made) != len(self._sequence):
            made = self._made = (*made, *map(self._of, self._sequence[len(made) :]))
        return made
