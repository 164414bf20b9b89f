"""The events of a simulated group that both kinds of group have: the application's, offsets, coordinators elected
and deposed, the log's and the network's.

Which event comes next is somebody else's choice (run.py). A method returns whether the event happened; the handler's
end tells the recorder its action of the specification.
"""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.groups.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.sim.network import Broker, Client, Exchange
from tidemark.groups.sim.state import Coordinator, GroupState, Log, Process


class GroupEvents(GroupState[Coordinator, Process, Log]):
    """Brokers that may be the group's coordinator, and its consumers; both are numbered from 0."""

    __slots__ = ()

    # --- a consumer's process -------------------------------------------------------------------------------------

    def crash_consumer(self, client: Client) -> bool:
        """A process ends without a word."""
        if self.consumers[client] is None:
            return False
        self._stop(client)
        self.recorder.did("CrashConsumer", client)
        return True

    def _stop(self, client: Client) -> None:
        self.consumers[client] = None
        self.network.hang_up(client)

    def leave_group(self, client: Client, broker: Broker) -> bool:
        """A consumer closes; a dynamic one tells its coordinator."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.stray[client] is not None:
            return False
        request = consumer.leave_group()
        self._stop(client)
        if request is not None:
            network.stray[client] = network.exchange(broker, request)
        self.recorder.did("LeaveGroup", client, broker)
        return True

    def change_subscription(self, client: Client, topics: frozenset[str], mask: int) -> bool:
        """The application subscribes to other topics."""
        consumer = self.consumers[client]
        if consumer is None or consumer.subscriptions.topics == topics:
            return False
        consumer.change_subscription(topics)
        self.recorder.did("ChangeSubscription", client, mask)
        return True

    def add_partition(self, number: int, topic: str) -> bool:
        """An operator creates a topic."""
        if self.counts[topic]:
            return False
        self.counts[topic] = 1
        self.recorder.did("AddPartition", number)
        return True

    def poll(self, client: Client, number: int, partition: TopicPartition) -> bool:
        """The application reads one record."""
        consumer = self.consumers[client]
        offset = None if consumer is None else consumer.poll(partition)
        if offset is None:
            return False
        self.recorder.did("Poll", client, number, offset)
        return True

    def _end_if_fatal(self, client: Client) -> None:
        """An error that the application cannot go on after."""
        if self.consumer(client).fatal is not None:
            self._stop(client)

    # --- offsets --------------------------------------------------------------------------------------------------

    def send_commit(self, client: Client, broker: Broker) -> bool:
        """A consumer commits its positions."""
        consumer, network = self.consumers[client], self.network
        request = None if consumer is None or network.offset[client] is not None else consumer.send_commit()
        if request is None:
            return False
        network.offset[client] = network.exchange(broker, request)
        self.recorder.did("SendCommit", client, broker)
        return True

    def send_offset_fetch(self, client: Client, broker: Broker) -> bool:
        """A consumer asks where to go on."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.offset[client] is not None:
            return False
        request = consumer.send_offset_fetch()
        if request is None:
            return False
        state = consumer.subscriptions
        network.offset[client] = network.exchange(broker, request, state.assignment_id, state.asking())
        self.recorder.did("SendOffsetFetch", client, broker)
        return True

    def receive_offset(self, client: Client) -> bool:
        """The reply to an OffsetCommit or OffsetFetch arrives. Offsets that it throws away are as if they were lost."""
        exchange, network = self.network.offset[client], self.network
        if exchange is None or exchange.response is None:
            return False
        consumer, request, response = self.consumer(client), exchange.request, exchange.response
        network.offset[client] = None
        if isinstance(response, OffsetFetchResponse):
            used = self._take_offsets(consumer, exchange, response)
            self.recorder.did("ReceiveOffsets" if used else "LoseOffsetRpc", client)
        elif isinstance(response, OffsetCommitResponse) and isinstance(request, OffsetCommitRequest):
            consumer.receive_commit(request, response)
            self._end_if_fatal(client)
            self.recorder.did("ReceiveCommit", client)
        return True

    def _take_offsets(self, consumer: Process, exchange: Exchange, response: OffsetFetchResponse) -> bool:
        """Whether the consumer takes the offsets: not after another assignment."""
        return consumer.receive_offsets(response, exchange.assignment_id)

    def deliver_offset(self, client: Client) -> bool:
        """An OffsetCommit or OffsetFetch arrives."""
        exchange = self.network.offset[client]
        if exchange is None or exchange.arrived:
            return False
        self.network.arrive(exchange)
        request, broker = exchange.request, exchange.broker
        if isinstance(request, OffsetFetchRequest):
            coordinator, elected = self.coordinators[broker], self.acting(broker)
            self.settle(broker, coordinator.handle_offset_fetch(request, exchange.token, elected))
            self.recorder.did("HandleOffsetFetch", broker, client)
        elif isinstance(request, OffsetCommitRequest):
            self._commit(client, broker, exchange.token, request, False)
        return True

    def _commit(self, client: Client, broker: Broker, token: int, request: OffsetCommitRequest, late: bool) -> None:
        coordinator = self.coordinators[broker]
        error = coordinator.commit_error(request)
        if error is Errors.NONE:
            self.commits.sent(dict(request.offsets))
            self.settle(broker, coordinator.handle_commit(request, token, self.now))
            self.recorder.did("HandleCommit", broker, client, late)
        else:
            self.settle(broker, coordinator.reject_commit(token, error))
            self.recorder.did("RejectCommit", broker, client, late)

    # --- coordinators and the log ---------------------------------------------------------------------------------

    def acting(self, broker: Broker) -> bool:
        """Whether what the broker appends may commit."""
        return self.log.leader == broker and self.coordinators[broker].epoch == self.log.epoch

    def commit_entry(self) -> bool:
        """The oldest batch of the partition's leader is replicated."""
        log = self.log
        broker = log.leader
        if not log.appended[broker] or not self.acting(broker):
            return False
        log.commit()
        outcome = self.coordinators[broker].commit_entry(self.now)
        for reply in outcome.replies:
            if isinstance(reply.response, OffsetCommitResponse) and reply.response.error is Errors.NONE:
                exchange = self.network.waiting.get(reply.token)  # type: ignore[call-overload]
                if exchange is not None and isinstance(exchange.request, OffsetCommitRequest):
                    self.commits.acknowledged(dict(exchange.request.offsets))
        self.settle(broker, outcome)
        self.recorder.did("CommitEntry", broker)
        return True

    def become_coordinator(self, broker: Broker, keep: int) -> bool:
        """Another broker is elected; it has `keep` of the old leader's batches."""
        if self.coordinators[broker].serving or keep > len(self.log.appended[self.log.leader]):
            return False
        records = self.log.elect(broker, keep)
        self.coordinators[broker].become_coordinator(self.log.epoch, records, self.now)
        self.recorder.did("BecomeCoordinator", broker, keep)
        return True

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator hears of it."""
        if not self.coordinators[broker].serving or self.acting(broker):
            return False
        outcome = self.coordinators[broker].resign()
        self.log.appended[broker].clear()
        self.settle(broker, outcome)
        self.recorder.did("Resign", broker)
        return True

    # --- the network ----------------------------------------------------------------------------------------------

    def repeat_commit_request(self, client: Client) -> bool:
        """An OffsetCommit will arrive twice."""
        exchange = self.network.offset[client]
        if exchange is None or not isinstance(exchange.request, OffsetCommitRequest):
            return False
        return self._repeat(client, exchange, "RepeatCommitRequest")

    def _repeat(self, client: Client, exchange: Exchange | None, action: str) -> bool:
        network = self.network
        if exchange is None or exchange.arrived or network.stray[client] is not None:
            return False
        network.stray[client] = network.exchange(exchange.broker, exchange.request)
        self.recorder.did(action, client)
        return True

    def lose_heartbeat(self, client: Client) -> bool:
        """A heartbeat or its reply is lost."""
        return self._lose(client, self.network.heartbeat, "LoseHeartbeat")

    def lose_offset_rpc(self, client: Client) -> bool:
        """An OffsetCommit or OffsetFetch, or its reply, is lost."""
        return self._lose(client, self.network.offset, "LoseOffsetRpc")

    def lose_stray(self, client: Client) -> bool:
        """A stray request never arrives."""
        return self._lose(client, self.network.stray, "LoseStray")

    def _lose(self, client: Client, slots: list[Exchange | None], action: str) -> bool:
        if slots[client] is None:
            return False
        slots[client] = None
        consumer = self.consumers[client]
        if consumer is not None:
            consumer.coordinator = None
        self.recorder.did(action, client)
        return True
