"""What a recorder of transactions looks at: the units of its variables, and which of them each action may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tidemark.trace.shapes import encoder
from tidemark.trace.units import Leaf, UnitPlan, UnitRecorder
from tidemark.transactions.abstraction import Abstraction, Table
from tidemark.transactions.sim.state import TransactionState

_WRITES = "unreplicated.b pending.b issued"
_ANSWERS = "rpc.* produce.** lateProduce.**"
_APPENDS = "log.p entry.p lastStableOffset.p"

TOUCHES = {
    "SendInitProducerId": "client.c rpc.c",
    "BeginTransaction": "begun client.c",
    "SendAddPartitions": "rpc.c",
    "SendAddOffsets": "rpc.c",
    "SendProduce": "client.c produce.cp",
    "SendTxnOffsetCommit": "client.c produce.cp",
    "SendEndTxn": "client.c rpc.c",
    "ReceiveInitProducerId": "client.c rpc.c",
    "ReceiveAddPartitions": "client.c rpc.c",
    "ReceiveEndTxn": "client.c rpc.c",
    "ReceiveProduce": "client.c produce.cp",
    "ReceiveTxnOffsetCommit": "client.c produce.cp",
    "GiveUpProduce": "client.c produce.cp lateProduce.cp",
    "DisconnectOffsets": "produce.cp lateProduce.cp",
    "DisconnectRpc": "rpc.c lateRpc.c",
    "CrashClient": "client.c rpc.c lateRpc.c produce.c* lateProduce.c*",
    "AppendInitProducerId": f"{_WRITES} rpc.c lateRpc.c",
    "FenceProducer": f"{_WRITES} rpc.c lateRpc.c",
    "AppendAddPartitions": f"{_WRITES} rpc.c lateRpc.c",
    "AppendEndTxn": f"{_WRITES} rpc.c lateRpc.c",
    "AnswerRpc": "rpc.c lateRpc.c",
    "VerifyPartition": "produce.cp lateProduce.cp",
    "AppendVerified": f"{_WRITES} produce.cp lateProduce.cp",
    "RefuseVerification": "produce.cp lateProduce.cp",
    "AbortTimedOutTransaction": _WRITES,
    "ClockGoesBack": "aside.b",
    "CommitRecord": f"stored unreplicated.b metadata.b pending.b sending.b aside.b {_ANSWERS}",
    "FailAppend": f"unreplicated.b metadata.b pending.b aside.b {_ANSWERS}",
    "BecomeCoordinator": "office unreplicated.*",
    "LoadTransactions": "epoch.b metadata.b sending.b",
    "Resign": f"epoch.b unreplicated.b metadata.b pending.b sending.b aside.b {_ANSWERS}",
    "SendMarker": "marker.bp",
    "ReceiveMarkerReply": "metadata.b sending.b marker.bp",
    "CompleteTransaction": f"{_WRITES} sending.b",
    "FindCompletion": "aside.b",
    "CompleteAgain": "unreplicated.b pending.b aside.b",
    "StartVerification": "produce.cp lateProduce.cp entry.p",
    "AppendBatch": f"{_APPENDS} produce.*p lateProduce.*p",
    "AnswerDuplicate": "produce.cp lateProduce.cp",
    "RejectBatch": "produce.cp lateProduce.cp",
    "RefuseOffsets": "produce.cp lateProduce.cp",
    "AppendMarker": f"{_APPENDS} abortedIndex.p offsets.p produce.*p lateProduce.*p marker.bp lateMarker.bp",
    "RejectMarker": "marker.bp lateMarker.bp",
    "AdvanceHighWatermark": "highWatermark.p lastStableOffset.p produce.*p marker.*p",
    "ExpireProducer": "entry.p",
    "ElectPartitionLeader": f"{_APPENDS} abortedIndex.p offsets.p produce.*p lateProduce.*p marker.*p fetch.*p",
    "LoseMarker": "marker.bp lateMarker.bp",
    "DropLateRpc": "lateRpc.c",
    "DropLateProduce": "lateProduce.cp",
    "DropLateMarker": "lateMarker.bp",
    "RepeatMarker": "lateMarker.bp",
    "SendFetch": "fetch.rp",
    "DelayFetch": "fetch.rp",
    "StartRead": "fetch.rp",
    "AnswerFetch": "fetch.rp",
    "ReceiveFetch": "fetch.rp position.rp returned.rp",
    "LoseFetch": "fetch.rp",
}
"""What each action's handler may change: a variable, or its part of the broker `b`, the client `c`, the partition `p`,
the consumers of the isolation level `r`, or two of them; `*` is every one. A test compares with looking at
everything."""

VARIABLES = {one.partition(".")[0] for touches in TOUCHES.values() for one in touches.split()}
PARTITION = {
    "ExpireProducer",
    "StartVerification",
    "AppendBatch",
    "AnswerDuplicate",
    "RejectBatch",
    "RefuseOffsets",
    "AppendMarker",
    "RejectMarker",
    "DelayFetch",
    "StartRead",
    "AnswerFetch",
}
NETWORK = ("Disconnect", "LoseMarker", "Drop", "RepeatMarker")
"""These actions happen at no node of a trace: at a partition's leader, which has no name, or in the network. No
consumer has a name, either."""


def _happens_nowhere(action: str) -> bool:
    return action in PARTITION or action.startswith(NETWORK)


class TransactionPlan(UnitPlan):
    """What the recorders of a trace header share. Raises ValueError for a header that is not Transactions'."""

    def __init__(self, header: Mapping[str, Any], table: Table) -> None:
        if set(header["variables"]) != VARIABLES:
            raise ValueError("the header has other variables than transactions")
        parties = {"b": table.brokers, "c": table.clients, "r": table.levels, "p": table.partitions}
        names = list(map(list, parties.values()))
        of = {}  # even the widest units take so few values that each is looked at in one piece
        for variable, entry in header["variables"].items():
            what = entry["type"]
            while "function" in what and list(what["domain"]) in names:
                what = what["function"]
            of[variable] = Leaf(encoder(what))
        super().__init__(header, "transactions", of, TOUCHES, parties, "bc", _happens_nowhere)


class TransactionRecorder(UnitRecorder):
    """Writes one trace of transactions."""

    __slots__ = ()

    def __init__(self, plan: TransactionPlan, cluster: TransactionState, see: Abstraction) -> None:
        log, coordinators, partitions = cluster.log, cluster.coordinators, cluster.partitions
        bs, cs, ps = range(len(coordinators)), range(len(cluster.clients)), range(len(partitions))
        rs, fetch = range(len(cluster.consumers)), cluster.fetch
        consumers, returned = cluster.consumers, cluster.returned
        rpc, late_rpc = cluster.rpc, cluster.late_rpc
        marker, late_marker = cluster.marker, cluster.late_marker
        produce, late_produce = cluster.produce, cluster.late_produce
        keys: dict[str, list[Callable[[], Any]]] = {
            "office": [lambda: (log.leader, log.epoch)],
            "stored": [lambda: see.metadata(log.stored)],
            "unreplicated": [lambda b=b: see.unreplicated(log.unreplicated[b]) for b in bs],  # type: ignore[misc]
            "epoch": [lambda b=b: coordinators[b].epoch for b in bs],  # type: ignore[misc]
            "metadata": [lambda b=b: see.metadata(coordinators[b].value) for b in bs],  # type: ignore[misc]
            "pending": [lambda b=b: coordinators[b].pending or "none" for b in bs],  # type: ignore[misc]
            "sending": [lambda b=b: coordinators[b].sending for b in bs],  # type: ignore[misc]
            "aside": [partial(see.aside, coordinators[b]) for b in bs],
            "issued": [lambda: cluster.issued],
            "begun": [lambda: cluster.begun],
            "client": [lambda c=c: see.client(cluster.clients[c]) for c in cs],  # type: ignore[misc]
            "rpc": [lambda c=c: see.rpc(rpc[c]) for c in cs],  # type: ignore[misc]
            "lateRpc": [lambda c=c: see.rpc(late_rpc[c]) for c in cs],  # type: ignore[misc]
            "produce": [lambda c=c, p=p: see.batch(produce[c][p], partitions[p]) for c in cs for p in ps],  # type: ignore[misc]
            "lateProduce": [lambda c=c, p=p: see.batch(late_produce[c][p], partitions[p]) for c in cs for p in ps],  # type: ignore[misc]
            "marker": [lambda b=b, p=p: see.marker(marker[b][p]) for b in bs for p in ps],  # type: ignore[misc]
            "lateMarker": [lambda b=b, p=p: see.marker(late_marker[b][p]) for b in bs for p in ps],  # type: ignore[misc]
            "log": [partial(see.log, partitions[p]) for p in ps],
            "highWatermark": [lambda p=p: partitions[p].high_watermark for p in ps],  # type: ignore[misc]
            "lastStableOffset": [partitions[p].last_stable_offset for p in ps],
            "entry": [partial(see.producers, partitions[p]) for p in ps],
            "abortedIndex": [partial(see.aborted, partitions[p]) for p in ps],
            "offsets": [partial(see.offsets, partitions[p]) for p in ps],
            "fetch": [lambda r=r, p=p: see.fetch(fetch[r][p]) for r in rs for p in ps],  # type: ignore[misc]
            "position": [lambda r=r, p=p: consumers[r][p].position for r in rs for p in ps],  # type: ignore[misc]
            "returned": [lambda r=r, p=p: see.returned(returned[r][p]) for r in rs for p in ps],  # type: ignore[misc]
        }
        super().__init__(plan, keys)
