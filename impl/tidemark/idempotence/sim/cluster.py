"""Every event that can happen to producers under simulation: the producers', the leaders' and the network's.

Which event comes next is somebody else's choice (run.py). A method says whether something happened; what happened is an
action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceResponse, ProducerId
from tidemark.idempotence.partition import Broker, Parked
from tidemark.idempotence.sim.network import Exchange
from tidemark.idempotence.sim.state import Acknowledged, ProducerState


class ProducerCluster(ProducerState):
    """Producers and partitions, numbered from 0; brokers are numbers."""

    __slots__ = ()

    # --- the producers ----------------------------------------------------------------------------------------------

    def get_producer_id(self, client: int) -> bool:
        """A process gets its producer id."""
        if self.producers[client].producer_id:
            return False
        self.issued += 1
        self.producers[client].get_producer_id(self.issued)
        self.recorder.did("GetProducerId", client, self.issued)
        return True

    def send_batch(self, client: int, topic: int, broker: Broker) -> bool:
        """A new batch is drained, or a rule holds it back."""
        producer = self.producers[client]
        if not producer.ready(topic):
            return False
        if not producer.allowed(topic):
            self.recorder.blocked("SendBatch", client, topic, broker)
            return True
        request = producer.send_batch(topic)
        self.connections[client][topic].wire.append(Exchange(broker, request))
        self.recorder.did("SendBatch", client, topic, broker)
        return True

    def resend_batch(self, client: int, topic: int, broker: Broker) -> bool:
        """The first batch in flight is sent again."""
        request = self.producers[client].resend_batch(topic)
        if request is None:
            return False
        self.connections[client][topic].wire.append(Exchange(broker, request))
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
        """delivery.timeout.ms is over for the oldest batch in flight."""
        if not self.producers[client].expire_batch(topic):
            return False
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

    def handle(self, broker: Broker, client: int, topic: int, too_few_in_sync: bool = False) -> bool:
        """A broker handles the next request of a connection, or answers the one that waits there."""
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
            exchange.response = partition.fail_append(exchange.request)
            if exchange.response is not None:
                self.recorder.did("FailAppend", broker, client, topic)
                return True
        outcome = partition.append_batch(exchange.request)
        if isinstance(outcome, Parked):
            exchange.parked = outcome
            action = "AnswerDuplicate" if outcome.duplicate else "AppendBatch"
        else:
            exchange.response = outcome
            action = "AnswerDuplicate" if outcome.error is Errors.NONE else "RejectBatch"
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
        broker, request = late.pop(0)
        reads = read and partition.leader == broker
        outcome = partition.append_batch(request) if reads else None
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
        """A leader forgets a producer, or keeps it because it may be heard of again."""
        expired = self.partitions[topic].expire_producer(producer_id, self._under_way(topic, producer_id))
        if expired:
            self.recorder.did("ExpireProducer", topic, producer_id)
        elif expired is False:
            self.recorder.blocked("ExpireProducer", topic, producer_id)
        return expired is not None

    def _under_way(self, topic: int, producer_id: ProducerId) -> bool:
        """Whether something of a producer may still be sent again, or arrive."""
        for producer, connections in zip(self.producers, self.connections, strict=True):
            connection = connections[topic]
            if producer.producer_id == producer_id and producer.partitions[topic].in_flight:
                return True
            if any(one.request.producer_id == producer_id for one in connection.late):
                return True
            if any(
                one.request.producer_id == producer_id and one.parked is None and one.response is None
                for one in connection.wire
            ):
                return True
        return False

    def elect_leader(self, topic: int, broker: Broker, keep: int, snapshot: int) -> bool:
        """Another broker leads, which has `keep` batches, and a snapshot taken at an offset."""
        partition = self.partitions[topic]
        if not partition.high_watermark <= keep <= len(partition.log) or snapshot > keep:
            return False
        partition.elect_leader(broker, keep, snapshot)
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
            connection.wire.clear()
        self.recorder.did("CrashProducer", client)
        return True
