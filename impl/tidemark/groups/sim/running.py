"""The common part of runs of a group of either kind: the broker that a consumer asks, and events outside membership.
The part for all protocols is simulator/running.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tidemark.groups.sim.events import GroupEvents
from tidemark.groups.sim.network import Broker, Client
from tidemark.groups.sim.profiles import GroupProfile
from tidemark.groups.table import HeaderTable
from tidemark.simulator.running import AnyRunBase, RunBase, SimulatorBase
from tidemark.simulator.shared import orders
from tidemark.simulator.worlds import Mix

Cluster = TypeVar("Cluster", bound=GroupEvents[Any, Any, Any])


class AnySimulator(SimulatorBase):
    """Everything that runs of one kind share, whatever the group."""

    def __init__(
        self, table: HeaderTable, kind: Callable[[Any, int], AnyRunBase], mix: Mix[GroupProfile], steps: int
    ) -> None:
        super().__init__(kind, mix, steps)
        self._general_table = table
        clients, topics = range(len(table.clients)), table.topics
        self.static: Sequence[bool] = [client in table.static for client in table.clients]
        self.subsets = [
            frozenset(topic for place, topic in enumerate(topics) if mask >> place & 1)
            for mask in range(1 << len(topics))
        ]
        readings = [(client, *one) for client in clients for one in enumerate(table.partitions)]
        self.readings = [readings[first:] + readings[:first] for first in range(len(readings))]
        """Each consumer with each partition, beginning with each of these."""

    @property
    def general_table(self) -> HeaderTable:
        """The header's table, as far as every group has it."""
        return self._general_table


class AnyRun(RunBase[Cluster, GroupProfile], Generic[Cluster]):
    """The state of one run: the cluster, and the limits that keep a trace within its capacities. `first_word` decides
    the first coordinator and the first topics, too."""

    TICK_MS = 100

    def __init__(self, simulator: AnySimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        table = simulator.general_table
        topics = table.topics
        there = self.first_word >> 8 & (1 << len(topics)) - 1 or 1
        self._clients = self.acting(len(table.clients))
        self.orders = orders(self._clients, False)
        self._brokers = len(table.brokers)
        self._counts = {topic: there >> place & 1 for place, topic in enumerate(topics)}
        self._static = simulator.static
        self._topics = topics
        self._subsets = simulator.subsets
        self._readings = simulator.readings
        self._offset_limit = table.max_offset - 2
        self._appended_limit = table.max_appended - 1
        self._epoch_limit = table.max_epoch - 1

    def advance(self, milliseconds: int) -> None:
        """The cluster's clock goes on."""
        self.cluster.now += milliseconds

    def acked(self) -> int:
        """How many offset commits were acknowledged."""
        return self.cluster.commits.acked

    def lost(self) -> int:
        """Of how many partitions another offset is found."""
        return self.cluster.commits.lost(self.cluster.log.offsets)

    def _broker_for(self, client: Client, word: int) -> Broker:
        """The broker that a consumer takes for its coordinator; it looks it up when it does not know, or has lost the
        connection."""
        consumer = self.cluster.consumers[client]
        leader: Broker = self.cluster.log.leader
        if consumer is None:
            return leader
        if consumer.coordinator is None or word >> 8 & 255 < self.profile.disconnects:
            stale = word & 255 < self.profile.stale
            consumer.coordinator = (leader + stale) % self._brokers
        asked: Broker = consumer.coordinator
        return asked

    def _full(self, broker: Broker) -> bool:
        """Whether a coordinator had better not append any more."""
        return len(self.cluster.coordinators[broker].waiting) >= self._appended_limit

    def _may_arrive(self, broker: Broker) -> bool:
        """Whether the trace has room for what a request may lead to."""
        return not self._full(broker)

    # --- events -----------------------------------------------------------------------------------------------------

    def offset(self, word: int) -> bool:
        """Some OffsetCommit or OffsetFetch moves on."""
        cluster = self.cluster
        consumers, exchanges = cluster.consumers, cluster.network.offset
        for client in self.orders[word % self._clients]:
            exchange = exchanges[client]
            if exchange is None:
                if consumers[client] is None:
                    continue
                broker = self._broker_for(client, word >> 8)
                if cluster.send_offset_fetch(client, broker) or cluster.send_commit(client, broker):
                    return True
            elif exchange.response is not None:
                return cluster.receive_offset(client)
            elif not self._full(exchange.broker) and cluster.deliver_offset(client):
                return True
        return False

    def poll(self, word: int) -> bool:
        """An application reads."""
        cluster, limit = self.cluster, self._offset_limit
        consumers, readings = cluster.consumers, self._readings
        for client, number, partition in readings[word % len(readings)]:
            consumer = consumers[client]
            if consumer is None or not consumer.subscriptions.owned:
                continue
            if 0 <= consumer.subscriptions.position(partition) < limit and cluster.poll(client, number, partition):
                return True
        return False

    def commit_entry(self, word: int) -> bool:
        """The log replicates."""
        return self.cluster.commit_entry()

    def crash(self, word: int) -> bool:
        """A process ends."""
        return self.cluster.crash_consumer(word % self._clients)

    def leave(self, word: int) -> bool:
        """A consumer closes."""
        client = word % self._clients
        return self.cluster.leave_group(client, self._broker_for(client, word >> 8))

    def add_partition(self, word: int) -> bool:
        """A topic is created."""
        number = word % len(self._topics)
        return self.cluster.add_partition(number, self._topics[number])

    def _serving(self, word: int) -> Broker:
        """A broker that believes to be the coordinator."""
        broker = word % self._brokers
        leader: Broker = self.cluster.log.leader
        return broker if self.cluster.coordinators[broker].serving else leader

    def elect(self, word: int) -> bool:
        """The partition gets another leader, which has some of the old one's records."""
        cluster = self.cluster
        if cluster.log.epoch >= self._epoch_limit:
            return False
        keep = (word >> 8) % (len(cluster.log.appended[cluster.log.leader]) + 1)
        return cluster.become_coordinator(word % self._brokers, keep)

    def resign(self, word: int) -> bool:
        """A deposed coordinator hears of it."""
        return any(self.cluster.resign(broker) for broker in range(self._brokers))
