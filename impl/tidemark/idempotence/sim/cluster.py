"""Every event that can happen to producers under simulation: the producers', the leaders' and the network's.

Which event comes next is somebody else's choice (run.py). A method says whether the event happened. At the handler's
end the recorder is told the action of the specification.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceResponse, ProducerId
from tidemark.idempotence.partition import MIN_IN_SYNC_REPLICAS, Broker, Parked
from tidemark.idempotence.sim.disk import Disk
from tidemark.idempotence.sim.network import Exchange
from tidemark.idempotence.sim.state import DELIVERY_TIMEOUT_MS, REQUEST_LIFE_MS, Acknowledged, ProducerState

ANSWERS = {
    Errors.NONE: "AnswerDuplicate",
    Errors.NOT_ENOUGH_REPLICAS: "RejectUnderMinIsr",
    Errors.KAFKA_STORAGE_ERROR: "FailAppend",
}
"""The action of an answer that a leader gives at once; any other error is a RejectBatch."""


class ProducerCluster(ProducerState):
    """Producers and partitions, numbered from 0; brokers are numbers."""

    __slots__ = ()

    # --- the producers ----------------------------------------------------------------------------------------------

    def get_producer_id(self, client: int) -> bool:
        """A process gets its producer id."""
        if self.producers[client].producer_id:
            return False
        producer_id = self.producer_ids.generate_producer_id()
        self.producers[client].get_producer_id(producer_id)
        self.recorder.did("GetProducerId", client, producer_id)
        return True

    def send_batch(self, client: int, topic: int, broker: Broker) -> bool:
        """A new batch is drained, or a rule holds it back."""
        producer = self.producers[client]
        if not producer.ready(topic):
            return False
        if not producer.allowed(topic):
            self.recorder.blocked("SendBatch", client, topic, broker)
            return True
        request, connection = producer.send_batch(topic), self.connections[client][topic]
        connection.deadlines[request.payload] = self.now + DELIVERY_TIMEOUT_MS
        connection.send(broker, request, REQUEST_LIFE_MS)
        self.recorder.did("SendBatch", client, topic, broker)
        return True

    def resend_batch(self, client: int, topic: int, broker: Broker) -> bool:
        """The first batch in flight is sent again."""
        request = self.producers[client].resend_batch(topic)
        if request is None:
            return False
        self.connections[client][topic].send(broker, request, REQUEST_LIFE_MS)
        self.recorder.did("ResendBatch", client, topic, broker)
        return True

    def receive(self, broker: Broker, client: int, topic: int) -> bool:
        """The next reply of a broker arrives."""
        connection, producer = self.connections[client][topic], self.producers[client]
        exchange = connection.next_from(broker)
        if exchange is None or exchange.response is None:
            return False
        connection.wire.remove(exchange)
        request, response = exchange.request, exchange.response
        if response.error is Errors.NONE:
            if producer.receive_ack(topic, request):
                self.acked.append(Acknowledged(producer.producer_id, topic, request.payload, response.offset))
            self.recorder.did("ReceiveAck", broker, client, topic)
        else:
            producer.receive_error(topic, request, response)
            self.recorder.did("ReceiveError", broker, client, topic)
        return True

    def expire_batch(self, client: int, topic: int) -> bool:
        """Time goes on until delivery.timeout.ms is over for the oldest batch in flight."""
        producer = self.producers[client]
        oldest = min((batch.number for batch in producer.partitions[topic].in_flight), default=0)
        if not producer.expire_batch(topic):
            return False
        self.now = max(self.now, self.connections[client][topic].deadlines[oldest])
        self.recorder.did("ExpireBatch", client, topic)
        return True

    def resolve_sequences(self, client: int, topic: int) -> bool:
        """The sender looks at what is unresolved."""
        if not self.producers[client].resolve_sequences(topic):
            return False
        self.recorder.did("ResolveSequences", client, topic)
        return True

    def bump_epoch(self, client: int) -> bool:
        """A producer takes its next epoch, or a batch in doubt holds it back."""
        producer = self.producers[client]
        if not producer.must_bump():
            return False
        if not producer.bump_epoch():
            self.recorder.blocked("BumpEpoch", client)
            return False
        self.recorder.did("BumpEpoch", client)
        return True

    # --- the leaders ------------------------------------------------------------------------------------------------

    def handle(
        self, broker: Broker, client: int, topic: int, too_few_in_sync: bool = False, disk_fails: bool = False
    ) -> bool:
        """A broker handles the next request of a connection, or answers the one that waits there. Meanwhile its ISR may
        be too small, or its disk fail."""
        exchange, partition = self.connections[client][topic].next_at(broker), self.partitions[topic]
        if exchange is None:
            return False
        if exchange.parked is not None:
            return self._complete(exchange, exchange.parked, client, topic)
        if partition.leader != broker:
            exchange.response = ProduceResponse(Errors.NOT_LEADER_OR_FOLLOWER)
            self.recorder.did("RejectBatch", broker, client, topic)
            return True
        if too_few_in_sync:
            partition.update_isr(MIN_IN_SYNC_REPLICAS - 1)
        self.disks[topic].fails = disk_fails
        outcome = partition.append_batch(exchange.request, self.now)
        self.disks[topic].fails = False
        if too_few_in_sync:
            partition.update_isr(MIN_IN_SYNC_REPLICAS)
        if isinstance(outcome, Parked):
            exchange.parked = outcome
            action = "AnswerDuplicate" if outcome.duplicate else "AppendBatch"
        else:
            exchange.response = outcome
            action = ANSWERS.get(outcome.error, "RejectBatch")
        self.recorder.did(action, broker, client, topic)
        return True

    def _complete(self, exchange: Exchange, parked: Parked, client: int, topic: int) -> bool:
        if parked.offset >= self.partitions[topic].high_watermark:
            return False
        exchange.response = ProduceResponse(Errors.NONE, parked.offset)
        self.recorder.did("CompleteProduce", exchange.broker, client, topic)
        return True

    def handle_late(self, client: int, topic: int, read: bool) -> bool:
        """A request that outlived its connection is read, or is gone for good."""
        late, partition = self.connections[client][topic].late, self.partitions[topic]
        if not late:
            return False
        one = late.pop(0)
        reads = read and partition.leader == one.broker
        outcome = partition.append_batch(one.request, self.now) if reads else None
        if isinstance(outcome, Parked) and not outcome.duplicate:
            self.recorder.did("AppendLate", client, topic)
            return True
        if reads:
            self.recorder.blocked("AppendLate", client, topic)
        self.recorder.did("DropLate", client, topic)
        return True

    def advance_high_watermark(self, topic: int, offset: int) -> bool:
        """The replicas have everything below an offset."""
        if not self.partitions[topic].advance_high_watermark(offset):
            return False
        self.recorder.did("AdvanceHighWatermark", topic, offset)
        return True

    def expire_producer(self, topic: int, producer_id: ProducerId) -> bool:
        """A leader looks whether a producer has expired. The specification has no clock: it refuses what comes too
        early if the last batch may be retried, and only then a refusal is told."""
        if self.partitions[topic].expire_producer(producer_id, self.now):
            self.recorder.did("ExpireProducer", topic, producer_id)
            return True
        log = [batch.request for batch in self.partitions[topic].log]
        last = max((one.payload for one in log if one.producer_id == producer_id), default=0)
        if not any(number <= last for number, _ in self._under_way(topic, producer_id)):
            return False
        self.recorder.blocked("ExpireProducer", topic, producer_id)
        return True

    def let_expire(self, topic: int, producer_id: ProducerId) -> bool:
        """Time goes on until a leader may forget a producer, but past no time-out of the producer's own batches and
        requests. Then the leader looks. It does not look while such a time-out is over and was not seen."""
        expires_at = self.partitions[topic].producers.expires_at(producer_id)
        if expires_at is None:
            return False
        first = min((until for _, until in self._under_way(topic, producer_id)), default=max(self.now, expires_at))
        if first >= max(self.now, expires_at):
            self.now = max(self.now, expires_at)
        elif self.now >= expires_at:
            return False
        return self.expire_producer(topic, producer_id)

    def _under_way(self, topic: int, producer_id: ProducerId) -> list[tuple[int, int]]:
        """A producer's batches that may still be sent again or arrive: each batch's number, and its deadline."""
        found: list[tuple[int, int]] = []
        for producer, connections in zip(self.producers, self.connections, strict=True):
            connection = connections[topic]
            if producer.producer_id == producer_id:
                in_flight = producer.partitions[topic].in_flight
                found += [(batch.number, connection.deadlines[batch.number]) for batch in in_flight]
            found += connection.under_way(producer_id)
        return found

    def elect_leader(self, topic: int, broker: Broker, keep: int, snapshot: int) -> bool:
        """Another broker leads, or the same again. It has copied the log, has taken a snapshot on the way, at that
        offset, and was started since. Of the batches that are not committed it loses those from `keep` on."""
        leader = self.partitions[topic]
        if not leader.high_watermark <= keep <= len(leader.log) or snapshot > keep:
            return False
        disk = Disk()
        successor = self.new_partition(broker, disk)
        successor.append_as_follower(leader.log[:snapshot])
        successor.take_snapshot()
        successor.append_as_follower(leader.log[snapshot:])
        successor.restart()
        successor.truncate_to(keep)
        successor.advance_high_watermark(leader.high_watermark)
        self.partitions[topic], self.disks[topic] = successor, disk
        for connections in self.connections:
            connections[topic].depose()
        self.recorder.did("ElectLeader", topic, broker, keep, snapshot)
        return True

    # --- faults -----------------------------------------------------------------------------------------------------

    def disconnect(self, client: int, topic: int, broker: Broker, keep: int) -> bool:
        """A connection breaks; the broker may still read `keep` of the requests on it."""
        connection = self.connections[client][topic]
        mine = [one for one in connection.wire if one.broker == broker]
        unhandled = sum(one.parked is None and one.response is None for one in mine)
        if not mine:
            return False
        keep = min(keep, unhandled)
        self.producers[client].disconnected(topic, connection.disconnect(broker, keep))
        self.recorder.did("Disconnect", client, topic, broker, keep)
        return True

    def crash_producer(self, client: int) -> bool:
        """A process ends; the next one knows nothing of it."""
        if not self.producers[client].producer_id:
            return False
        self.producers[client] = self.new_process()
        for connection in self.connections[client]:
            connection.crash()
        self.recorder.did("CrashProducer", client)
        return True
