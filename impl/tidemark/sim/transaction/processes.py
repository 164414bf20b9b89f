"""What happens to the processes of an application under simulation: what they ask coordinators and partitions for, the
replies, and how they end."""

from __future__ import annotations

from tidemark.errors import Errors
from tidemark.sim.transaction.fetching import Fetching
from tidemark.sim.transaction.network import Broker, ProduceExchange, ProduceStage, RpcExchange
from tidemark.sim.transaction.state import Acknowledged
from tidemark.transaction.messages import AddPartitionsToTxnRequest, InitProducerIdRequest


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
        request = self.clients[client].send_add_partitions(partition) if self.rpc[client] is None else None
        if request is None:
            return False
        self.rpc[client] = RpcExchange(broker, request)
        self.recorder.did("SendAddPartitions", client, broker, partition)
        return True

    def send_produce(self, client: int, partition: int) -> bool:
        """A process sends a batch."""
        if self.produce[client][partition] is not None:
            return False
        request = self.clients[client].send_produce(partition)
        if request is None:
            return False
        self.produce[client][partition] = ProduceExchange(request)
        self.recorder.did("SendProduce", client, partition)
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
        """The reply to a batch arrives; perhaps it is sent again."""
        exchange = self.produce[client][partition]
        if exchange is None or exchange.stage is not ProduceStage.REPLY:
            return False
        again = self.clients[client].receive_produce(exchange.error)
        self.produce[client][partition] = ProduceExchange(exchange.request) if again else None
        if exchange.error is Errors.NONE:
            self.acked.append(Acknowledged(partition, exchange.request))
        self.recorder.did("ReceiveProduce", client, partition)
        return True

    def give_up_produce(self, client: int, partition: int, keep: bool) -> bool:
        """delivery.timeout.ms is over for a batch, which may still be written."""
        exchange = self.produce[client][partition]
        if exchange is None:
            return False
        keep = keep and exchange.outlives and self.late_produce[client][partition] is None
        self.produce[client][partition] = None
        if keep:
            self.late_produce[client][partition] = exchange
        self.clients[client].give_up_produce()
        self.recorder.did("GiveUpProduce", client, partition, keep)
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
        """A process ends, and another takes its place; what it has sent may still arrive."""
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
