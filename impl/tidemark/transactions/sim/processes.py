"""The processes of an application under simulation: their requests to coordinators and partitions, the replies, and how
they end."""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import ConsumerGroupMetadata
from tidemark.groups.partitions import TopicPartition
from tidemark.transactions.messages import AddPartitionsToTxnRequest, InitProducerIdRequest
from tidemark.transactions.partition import offsets_batch
from tidemark.transactions.sim.fetching import Fetching
from tidemark.transactions.sim.network import Broker, ProduceExchange, RpcExchange
from tidemark.transactions.sim.state import Acknowledged

INPUT, GROUP = TopicPartition("input", 0), ConsumerGroupMetadata("member", 1)
"""The partition whose offsets are committed, and the committing member. The simulated group decides whether it accepts
them."""


class Processes(Fetching):
    """The events of transactional producers. `client`: the number of a process, `broker`: of whom it takes for its
    coordinator."""

    def send_init_producer_id(self, client: int, broker: Broker) -> bool:
        """A process takes the transactional id over."""
        request = self.clients[client].send_init_producer_id() if self.rpc[client] is None else None
        if request is None:
            return False
        self.rpc[client] = RpcExchange(broker, request)
        self.recorder.did("SendInitProducerId", client, broker)
        return True

    def begin_transaction(self, client: int) -> bool:
        """An application begins a transaction."""
        if not self.clients[client].begin_transaction(self.begun + 1):
            return False
        self.begun += 1
        self.recorder.did("BeginTransaction", client, self.begun)
        return True

    def send_add_partitions(self, client: int, broker: Broker, partition: int) -> bool:
        """A process of TV1 adds a partition."""
        sends = self.rpc[client] is None and not self.partitions[partition].is_offsets
        request = self.clients[client].send_add_partitions(partition) if sends else None
        if request is None:
            return False
        self.rpc[client] = RpcExchange(broker, request)
        self.recorder.did("SendAddPartitions", client, broker, partition)
        return True

    def send_produce(self, client: int, partition: int) -> bool:
        """A process sends a batch."""
        if self.produce[client][partition] is not None or self.partitions[partition].is_offsets:
            return False
        request = self.clients[client].send_produce(partition)
        if request is None:
            return False
        self.produce[client][partition] = ProduceExchange(partition, request)
        self.recorder.did("SendProduce", client, partition)
        return True

    def send_add_offsets(self, client: int, broker: Broker) -> bool:
        """A process of TV1 adds the partition of __consumer_offsets that it will commit to."""
        if self.rpc[client] is not None or self.offsets is None:
            return False
        request = self.clients[client].send_add_offsets()
        if request is None:
            return False
        self.rpc[client] = RpcExchange(broker, request)
        self.recorder.did("SendAddOffsets", client, broker, request.partition)
        return True

    def send_txn_offset_commit(self, client: int) -> bool:
        """A process commits offsets in its transaction: they are its number."""
        producer, partition = self.clients[client], self.offsets
        if partition is None or self.produce[client][partition] is not None:
            return False
        request = producer.send_txn_offset_commit(INPUT, producer.transaction, GROUP)
        if request is None:
            return False
        self.produce[client][partition] = ProduceExchange(partition, offsets_batch(request))
        self.recorder.did("SendTxnOffsetCommit", client, partition)
        return True

    def send_end_txn(self, client: int, broker: Broker, committed: bool) -> bool:
        """A process commits or aborts, when nothing of it is in flight."""
        if self.rpc[client] is not None or any(self.produce[client]):
            return False
        request = self.clients[client].send_end_txn(committed)
        if request is None:
            return False
        self.rpc[client] = RpcExchange(broker, request)
        self.recorder.did("SendEndTxn", client, broker, int(committed))
        return True

    def receive_rpc(self, client: int) -> bool:
        """A coordinator's reply arrives."""
        exchange, producer = self.rpc[client], self.clients[client]
        if exchange is None or exchange.response is None:
            return False
        self.rpc[client] = None
        request, response = exchange.request, exchange.response
        if isinstance(request, InitProducerIdRequest):
            producer.receive_init_producer_id(response)
            self.recorder.did("ReceiveInitProducerId", client)
        elif isinstance(request, AddPartitionsToTxnRequest):
            producer.receive_add_partitions(request.partition, response)
            self.recorder.did("ReceiveAddPartitions", client)
        else:
            transaction = producer.transaction
            if producer.receive_end_txn(response):
                self.told[transaction] = request.committed
            self.recorder.did("ReceiveEndTxn", client)
        return True

    def receive_produce(self, client: int, partition: int) -> bool:
        """The reply to a batch, or to a TxnOffsetCommit, arrives; perhaps it is sent again."""
        exchange, producer = self.produce[client][partition], self.clients[client]
        if exchange is None or exchange.response is None:
            return False
        error = exchange.response.error
        commits = self.partitions[partition].is_offsets
        again = (producer.receive_txn_offset_commit if commits else producer.receive_produce)(error)
        self.produce[client][partition] = ProduceExchange(partition, exchange.request) if again else None
        if error is Errors.NONE:
            self.acked.append(Acknowledged(partition, exchange.request))
        self.recorder.did("ReceiveTxnOffsetCommit" if commits else "ReceiveProduce", client, partition)
        return True

    def give_up_produce(self, client: int, partition: int, keep: bool) -> bool:
        """delivery.timeout.ms is over for a batch, which may still be written."""
        exchange = self.produce[client][partition]
        if exchange is None or self.partitions[partition].is_offsets:
            return False
        keep = self._keeps(exchange, client, partition, keep)
        self.produce[client][partition] = None
        self.clients[client].give_up_produce()
        self.recorder.did("GiveUpProduce", client, partition, keep)
        return True

    def _keeps(self, exchange: ProduceExchange, client: int, partition: int, keep: bool) -> bool:
        """A batch that its producer has given up on may still be written. True if it is kept: `keep` asks for it and
        there is room."""
        keep = keep and exchange.outlives and self.late_produce[client][partition] is None
        if keep:
            self.late_produce[client][partition] = exchange
        return keep

    def disconnect_offsets(self, client: int, partition: int, keep: bool) -> bool:
        """The connection to the group's coordinator fails; a process sends its TxnOffsetCommit again, if its
        transaction goes on."""
        exchange = self.produce[client][partition]
        if exchange is None or not self.partitions[partition].is_offsets:
            return False
        keep = self._keeps(exchange, client, partition, keep)
        again = self.clients[client].receive_txn_offset_commit(Errors.COORDINATOR_NOT_AVAILABLE)
        self.produce[client][partition] = ProduceExchange(partition, exchange.request) if again else None
        self.recorder.did("DisconnectOffsets", client, partition, keep)
        return True

    def disconnect_rpc(self, client: int, keep: bool) -> bool:
        """A request to a coordinator, or its reply, is lost; the coordinator may still read it."""
        exchange = self.rpc[client]
        if exchange is None:
            return False
        keep = keep and exchange.under_way and self.late_rpc[client] is None
        self.rpc[client] = None
        if keep:
            self.late_rpc[client] = exchange
        self.recorder.did("DisconnectRpc", client, keep)
        return True

    def crash_client(self, client: int) -> bool:
        """A process ends, and another takes its place; its requests may still arrive."""
        if self.clients[client].state == "UNINITIALIZED":
            return False
        self.clients[client] = self.new_process()
        exchange = self.rpc[client]
        if exchange is not None and exchange.under_way and self.late_rpc[client] is None:
            self.late_rpc[client] = exchange
        self.rpc[client] = None
        batches, late = self.produce[client], self.late_produce[client]
        for partition, batch in enumerate(batches):
            if batch is not None and batch.outlives and late[partition] is None:
                late[partition] = batch
            batches[partition] = None
        self.recorder.did("CrashClient", client)
        return True
