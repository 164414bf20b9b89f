"""Idempotent producers driven by a text (script.py): each action's command, and each node's transcript.

    begin p1=b1 p2=b2       who leads which partition (b1 all)

A batch is `1.3/2`: of producer id 1, number 3 among those that its process made for the partition, sequence 2. `/e1.2`
is sequence 2 in epoch 1, after the first epoch. The transcript shows of a producer its id and epoch, and per partition
the batches in flight and the next sequence. A batch with ! waits to be sent again; one with ? may be in the log for all
the producer knows. Of a partition it shows the leader, the log with a bar at the high watermark, and the leader's
producer state: sequence@offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark.idempotence.abstraction import Abstraction
from tidemark.idempotence.messages import NO_SEQUENCE
from tidemark.idempotence.partition import Partition
from tidemark.idempotence.producer import IdempotentProducer
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sequences import PartitionSequences
from tidemark.idempotence.sim.cluster import ProducerCluster
from tidemark.idempotence.sim.run import ProducerSimulator
from tidemark.simulator.script import Cells, Performance, Stage
from tidemark.trace.recorder import Recorder


def begin(header: Mapping[str, Any], rules: Rules | None, options: Mapping[str, str]) -> Performance:
    """Producers and partitions before their first event."""
    simulator = ProducerSimulator(header, rules=rules)
    table = simulator.table
    if options.keys() - set(table.partitions) or set(options.values()) - set(table.brokers):
        raise KeyError(str(options))
    leaders = [table.brokers.index(options.get(one, table.brokers[0])) for one in table.partitions]
    cluster = ProducerCluster(len(table.producers), leaders, simulator.rules, simulator.config)
    recorder = Recorder(simulator.plan, Abstraction(table, cluster))

    def columns() -> Cells:
        return {
            **{
                name: _producer(one, table.partitions)
                for name, one in zip(table.producers, cluster.producers, strict=True)
            },
            **{
                name: _partition(one, table.brokers)
                for name, one in zip(table.partitions, cluster.partitions, strict=True)
            },
        }

    return Performance(cluster, recorder, columns)


def _handle(producers: ProducerCluster, b: int, c: int, p: int) -> bool:
    return producers.handle(b, c, p)


EVENTS: dict[str, Callable[..., bool]] = {
    "GetProducerId": lambda i, c: i.get_producer_id(c),
    "SendBatch": lambda i, c, p, b: i.send_batch(c, p, b),
    "ResendBatch": lambda i, c, p, b: i.resend_batch(c, p, b),
    "ReceiveAck": lambda i, b, c, p: i.receive(b, c, p),
    "ReceiveError": lambda i, b, c, p: i.receive(b, c, p),
    "ExpireBatch": lambda i, c, p: i.expire_batch(c, p),
    "ResolveSequences": lambda i, c, p: i.resolve_sequences(c, p),
    "BumpEpoch": lambda i, c: i.bump_epoch(c),
    "AppendBatch": _handle,
    "AnswerDuplicate": _handle,
    "RejectBatch": _handle,
    "RejectUnderMinIsr": lambda i, b, c, p: i.handle(b, c, p, too_few_in_sync=True),
    "FailAppend": lambda i, b, c, p: i.handle(b, c, p, disk_fails=True),
    "AppendLate": lambda i, c, p: i.handle_late(c, p, True),
    "DropLate": lambda i, c, p: i.handle_late(c, p, False),
    "CompleteProduce": _handle,
    "AdvanceHighWatermark": lambda i, p, offset: i.advance_high_watermark(p, offset),
    "ExpireProducer": lambda i, p, pid: i.expire_producer(p, pid),
    "ElectLeader": lambda i, p, b, keep, snapshot: i.elect_leader(p, b, keep, snapshot),
    "Disconnect": lambda i, c, p, b, keep: i.disconnect(c, p, b, keep),
    "CrashProducer": lambda i, c: i.crash_producer(c),
}
"""For each action, the cluster's method that performs it."""

STAGE = Stage(begin, EVENTS, clock=True)


def _numbered(epoch: int, sequence: int) -> str:
    return f"e{epoch}.{sequence}" if epoch else str(sequence)


def _producer(producer: IdempotentProducer, topics: Sequence[str]) -> str:
    if not producer.producer_id:
        return "-"
    said = [f"id {producer.producer_id} e{producer.epoch}"]
    for topic, sequences in zip(topics, producer.partitions, strict=True):
        if sequences.created:
            said.append(f"{topic}: {_flight(producer.producer_id, sequences)}")
    return " ".join(said)


def _flight(producer_id: int, sequences: PartitionSequences) -> str:
    said = [
        f"{producer_id}.{one.number}/{_numbered(one.epoch, one.sequence)}{'?' if one.in_doubt else ''}"
        f"{'' if one.sent else '!'}"
        for one in sequences.in_flight
    ]
    said.append(f"next {_numbered(sequences.epoch, sequences.next_sequence)}")
    said += [] if sequences.unresolved == NO_SEQUENCE else [f"unresolved {sequences.unresolved}"]
    return " ".join([*said, *(["must bump"] if sequences.rewrite else [])])


def _partition(partition: Partition, brokers: Sequence[str]) -> str:
    batches = [
        f"{one.producer_id}.{one.payload}/{_numbered(one.producer_epoch, one.sequence)}"
        for one in [batch.request for batch in partition.log]
    ]
    mark = partition.high_watermark
    said = [f"{brokers[partition.leader]}:", *batches[:mark], "|", *batches[mark:]]
    for producer_id, entry in sorted(partition.producers.entries.items()):
        known = " ".join(f"{one.sequence}@{one.offset}" for one in entry.batches)
        said.append(f"({producer_id} e{entry.epoch}: {known})")
    return " ".join(said)
