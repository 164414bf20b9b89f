"""Consume-transform-produce driven by a text (script.py): each action's command, and each node's transcript.

    begin records=2,1       how many records the input partitions 0, 1, ... have (those that are not named: none)

A result is `0:1/i1e2.0`: of the record at offset 1 of input partition 0, written by i1 in its producer epoch 2 with
sequence 0; a marker is `COMMIT/i1e3`.

The transcript shows, of an instance, its member id, generation and partitions with the next offset of each, its epoch,
the partitions with records in its transaction, its state where that does not follow, an error that it is answered, and
what it has given up or sent again that may still arrive; of a transaction (`i1's`), what the coordinator has, with the
partitions that have no marker yet, and a copy of a marker; of the group, its generation and members, who has joined
the next one (`+`), and who owns what; of the offsets, what is committed and what is staged by whom; the output with a
bar at the last stable offset; of its reader, its offset and the results that it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.common.errors import Errors
from tidemark.exactly_once.abstraction import Abstraction
from tidemark.exactly_once.group import TransactionalGroup
from tidemark.exactly_once.message_processor import OUTPUT, MessageProcessor
from tidemark.exactly_once.messages import Request
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.exactly_once.sim.run import ExactlyOnceSimulator
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId
from tidemark.idempotence.messages import ProduceRequest
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder
from tidemark.transactions.messages import EndTxnRequest, LogEntry, TransactionLogValue
from tidemark.transactions.transactional_producer import ProducerState


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """Instances, their transactions, the group and the output before their first event."""
    simulator = ExactlyOnceSimulator(header, rules=rules)
    table = simulator.table
    given = [int(one) for one in options.get("records", "1").split(",")]
    if options.keys() - {"records"} or len(given) > len(table.partitions) or not 0 <= max(given) <= table.max_offset:
        raise KeyError(str(options))
    inputs = given + [0] * (len(table.partitions) - len(given))
    cluster = ExactlyOnceCluster(inputs, table.static, simulator.rules)
    recorder = Recorder(simulator.plan, Abstraction(cluster))
    names = table.instances

    def columns() -> Cells:
        return {
            **{name: _instance(cluster, i) for i, name in enumerate(names)},
            **{f"{name}'s": _transaction(cluster, i) for i, name in enumerate(names)},
            "group": _group(cluster.group),
            "offsets": _offsets(cluster, names),
            "output": _output(cluster, names),
            "reader": _reader(cluster),
        }

    return Performance(cluster, recorder, columns)


def _handle(t: ExactlyOnceCluster, i: int, isLate: bool) -> bool:
    return t.handle(i, isLate)


EVENTS: dict[str, Callable[..., bool]] = {
    "InitProducerId": lambda t, i: t.init_producer_id(i),
    "FenceProducer": lambda t, i: t.init_producer_id(i),
    "SendResult": lambda t, i, p: t.send_result(i, p),
    "SendTxnOffsetCommit": lambda t, i, named: t.send_txn_offset_commit(i, named),
    "SendEndTxn": lambda t, i, result: t.send_end_txn(i, bool(result)),
    "ReceiveReply": lambda t, i: t.receive_reply(i),
    "GiveUpRequest": lambda t, i: t.give_up_request(i),
    "RepeatRequest": lambda t, i: t.repeat_request(i),
    "LoseLate": lambda t, i: t.lose_late(i),
    "Crash": lambda t, i: t.crash(i),
    "AppendResult": _handle,
    "AnswerDuplicate": _handle,
    "RejectResult": _handle,
    "HandleTxnOffsetCommit": _handle,
    "RejectTxnOffsetCommit": _handle,
    "CommitOffset": lambda t, i: t.commit_offset(i),
    "HandleEndTxn": _handle,
    "AnswerEndTxn": _handle,
    "AbortTimedOutTransaction": lambda t, i: t.abort_timed_out_transaction(i),
    "WriteMarker": lambda t, i, target, copy: t.write_marker(i, 1 - target, copy),
    "WriteLateMarker": lambda t, i: t.handle_late_marker(i),
    "RejectLateMarker": lambda t, i: t.handle_late_marker(i),
    "LoseLateMarker": lambda t, i: t.lose_late_marker(i),
    "CompleteTransaction": lambda t, i: t.complete_transaction(i),
    "RevokePartitions": lambda t, i: t.revoke_partitions(i),
    "JoinGroup": lambda t, i: t.join_group(i),
    "ReplaceMember": lambda t, i: t.replace_member(i),
    "CompleteJoin": lambda t: t.complete_join(),
    "SyncGroup": lambda t, i: t.sync_group(i),
    "RemoveMember": lambda t, m: t.remove_member(f"{m:06}"),
    "FetchOffset": lambda t, i, p: t.fetch_offset(i, p),
    "ReadOutput": lambda t: t.read_output(OUTPUT),
}
"""For each action, the cluster's method that performs it."""

STAGE = Stage(begin, EVENTS)


def _braced(said: Sequence[str]) -> str:
    return "{" + " ".join(said) + "}"


def _member(member_id: MemberId) -> str:
    return f"m{int(member_id)}"


def _result(committed: bool) -> str:
    return "COMMIT" if committed else "ABORT"


# --- instances ------------------------------------------------------------------------------------------------------

_PLAIN = (ProducerState.READY, ProducerState.IN_TRANSACTION)


def _instance(cluster: ExactlyOnceCluster, i: int) -> str:
    rpc, late = cluster.rpc[i], cluster.late[i]
    said = [_process(cluster.instances[i])]
    said += [rpc.error.name] if rpc is not None and rpc.error not in (None, Errors.NONE) else []
    said += [] if late is None else [f"late {_request(cluster, late.request)}"]
    return " ".join(said)


def _process(one: MessageProcessor) -> str:
    if one.is_new:
        return "-"
    said = [] if one.member_id == UNKNOWN_MEMBER_ID else [_member(one.member_id)]
    said += [f"g{one.generation}"] if one.generation >= 0 else []
    places = [f"{p}" + (f"@{one.positions[p]}" if one.positions[p] >= 0 else "") for p in sorted(one.owned)]
    said += [_braced(places)] if places else []
    producer = one.producer
    said += [f"e{producer.epoch}"] if producer.epoch >= 0 else []
    said += [f"open{_braced([str(p) for p in sorted(one.processed)])}"] if one.processed else []
    state = producer.state.value.lower().removesuffix("_transaction").replace("_", " ")
    return " ".join([*said, *([] if producer.state in _PLAIN else [state])])


def _request(cluster: ExactlyOnceCluster, request: Request) -> str:
    if isinstance(request, ProduceRequest):
        return _record(cluster, request.payload)
    if isinstance(request, EndTxnRequest):
        return f"EndTxn {_result(request.committed)}/e{request.producer_epoch}"
    return "offsets"


# --- coordinators ---------------------------------------------------------------------------------------------------


def _transaction(cluster: ExactlyOnceCluster, i: int) -> str:
    late = cluster.late_marker[i]
    said = [_value(cluster.coordinators[i].value)]
    said += [] if late is None else [f"late {_target(late.target)} {_result(late.request.committed)}"]
    return " ".join(said)


def _target(target: int) -> str:
    return "output" if target == OUTPUT else "offsets"


def _value(value: TransactionLogValue) -> str:
    epoch = "" if value.producer_epoch < 0 else f" e{value.producer_epoch}"
    partitions = _braced([_target(one) for one in sorted(value.partitions)]) if value.partitions else ""
    return f"{value.state.value}{epoch}{partitions}"


def _group(group: TransactionalGroup) -> str:
    said = [f"g{group.generation}"]
    for one in group.members:
        owned = [str(p) for p, owner in enumerate(group.owner) if owner == one]
        said.append(f"{_member(one)}{'+' if one in group.joined else ''}{_braced(owned)}")
    return " ".join(said)


def _offsets(cluster: ExactlyOnceCluster, names: Sequence[str]) -> str:
    see = Abstraction(cluster)
    said = [f"{p}:{offset}" for p, offset in enumerate(see.committed()) if offset]
    for i, name in enumerate(names):
        staged = [f"{p}:{offset}" for p, offset in enumerate(see.staged(i)) if offset >= 0]
        said += [f"{name} stages {' '.join(staged)}"] if staged else []
    return " ".join(said)


# --- the output -----------------------------------------------------------------------------------------------------


def _record(cluster: ExactlyOnceCluster, payload: int) -> str:
    partition, offset = cluster.record(payload)
    return f"{partition}:{offset}"


def _written(cluster: ExactlyOnceCluster, one: LogEntry, names: Sequence[str]) -> str:
    who = f"{names[one.producer_id - 1]}e{one.producer_epoch}"
    if isinstance(one, ProduceRequest):
        return f"{_record(cluster, one.payload)}/{who}.{one.sequence}"
    return f"{_result(one.committed)}/{who}"


def _output(cluster: ExactlyOnceCluster, names: Sequence[str]) -> str:
    output = cluster.outputs[OUTPUT]
    records, stable = [_written(cluster, one, names) for one in output.log], output.last_stable_offset()
    return " ".join([*records[:stable], "|", *records[stable:]])


def _reader(cluster: ExactlyOnceCluster) -> str:
    reader = cluster.readers[OUTPUT]
    return " ".join([f"at {reader.position}", *(_record(cluster, one) for one in reader.returned)])
