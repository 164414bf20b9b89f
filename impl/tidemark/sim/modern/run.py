"""One simulated run of a KIP-848 group: chaos by a profile, then perhaps healing, then the verdict of a client that
reads back.

One seed decides all. Every step draws one random word and slices it: what to try, who, how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from tidemark.cells import CapacityExceeded
from tidemark.group.modern.abstraction import Abstraction
from tidemark.group.modern.coordinator import ModernGroupConfig
from tidemark.group.modern.rules import Rules
from tidemark.group.partitions import TopicPartition
from tidemark.group.purgatory import Timer
from tidemark.sim.group.network import Broker, Client
from tidemark.sim.modern.cluster import ModernCluster
from tidemark.sim.modern.healing import heal
from tidemark.sim.modern.profiles import MIXES, PROFILES
from tidemark.sim.modern.recorder import ModernPlan, ModernRecorder, ModernTable
from tidemark.sim.shared import WORD, Mix, SimResult

ROOM = 2
"""So many member ids are kept for the healing."""
EPOCHS = 16
"""So many group epochs likewise."""
REFRESH_MS = 1_500
"""So long a coordinator may overlook that there are other partitions."""


class ModernSimulator:
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        self.for_seed = Mix(profile, PROFILES, MIXES).for_seed
        self.table = ModernTable(header)
        self.plan = ModernPlan(header, self.table)
        self.steps = steps
        self.rules = rules if rules is not None else Rules()

    def run(self, seed: int) -> SimResult:
        """The trace of a seed."""
        return ModernRun(self, seed).run()


class ModernRun:
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    def __init__(self, simulator: ModernSimulator, seed: int) -> None:
        self.simulator = simulator
        self.seed = seed
        self.profile, self.kinds = simulator.for_seed(seed)
        table = simulator.table
        self._bits = Random(seed).getrandbits
        first = self._bits(WORD)
        topics = table.topics
        there = first >> 8 & (1 << len(topics)) - 1 or 1
        self._clients = len(table.clients)
        self._brokers = len(table.brokers)
        self.cluster = cluster = ModernCluster(
            self._brokers,
            [client in table.static for client in table.clients],
            {topic: there >> place & 1 for place, topic in enumerate(topics)},
            first % self._brokers,
            simulator.rules,
            ModernGroupConfig(
                metadata_refresh_interval_ms=REFRESH_MS, assignor="range" if first >> 16 & 3 == 0 else "uniform"
            ),
        )
        self.recorder = cluster.recorder = ModernRecorder(simulator.plan, cluster, Abstraction(table, cluster.numbers))
        self._heals = first >> 24 & 255 < self.profile.heals
        self._topics = topics
        self._subsets = [
            frozenset(topic for place, topic in enumerate(topics) if mask >> place & 1)
            for mask in range(1 << len(topics))
        ]
        self._member_limit = table.max_member - ROOM
        self._epoch_limit = table.max_group_epoch - EPOCHS
        self._offset_limit = table.max_offset - 2
        self._appended_limit = table.max_appended - 1
        self._office_limit = table.max_epoch - 1

    def run(self) -> SimResult:
        """Chaos, then perhaps healing."""
        recorder, cluster = self.recorder, self.cluster
        recorder.begin()
        capacity = converged = False
        lost = 0
        try:
            self._chaos(self.simulator.steps - (self.simulator.steps // 3 if self._heals else 0))
            if self._heals:
                converged = heal(cluster)
                lost = cluster.commits.lost(cluster.log.offsets)
        except CapacityExceeded:
            capacity = True
        healed = self._heals and not capacity
        stream = recorder.end(healed, capacity)
        return SimResult(
            self.seed,
            stream,
            recorder.records - 1,
            recorder.changing,
            cluster.commits.acked,
            lost,
            healed,
            converged,
            capacity,
        )

    def _chaos(self, steps: int) -> None:
        kinds, bits, recorder, cluster = self.kinds, self._bits, self.recorder, self.cluster
        for _ in range(40 * steps):
            if recorder.records > steps:
                break
            word = bits(WORD)
            cluster.now += 20 * (1 + (word >> 40 & 7))
            getattr(self, kinds[word & 255])(word >> 8)

    def _broker_for(self, client: Client, word: int) -> Broker:
        """Whom a consumer takes for its coordinator; it looks it up when it does not know."""
        consumer, cluster = self.cluster.consumers[client], self.cluster
        if consumer is None:
            return cluster.log.leader
        if consumer.coordinator is None:
            stale = word & 255 < self.profile.stale
            consumer.coordinator = (cluster.log.leader + stale) % self._brokers
        return consumer.coordinator

    def _may_arrive(self, broker: Broker) -> bool:
        """Whether the trace has room for what a request may lead to."""
        coordinator = self.cluster.coordinators[broker]
        return len(coordinator.waiting) < self._appended_limit and coordinator.group.group_epoch < self._epoch_limit

    # --- events -----------------------------------------------------------------------------------------------------

    def heartbeat(self, word: int) -> bool:
        """Some consumer's heartbeat moves on."""
        cluster = self.cluster
        for step in range(self._clients):
            client = (word + step) % self._clients
            exchange = cluster.network.heartbeat[client]
            if exchange is None:
                if cluster.send_heartbeat(client, self._broker_for(client, word >> 8)):
                    return True
            elif exchange.response is not None:
                return cluster.receive_heartbeat(client)
            elif not exchange.arrived and self._may_arrive(exchange.broker):
                return cluster.deliver_heartbeat(client)
        return False

    def reconcile(self, word: int) -> bool:
        """A rebalance listener begins, or returns."""
        cluster = self.cluster
        for step in range(self._clients):
            client = (word + step) % self._clients
            if cluster.finish_reconciliation(client) or cluster.reconcile(client):
                return True
        return False

    def offset(self, word: int) -> bool:
        """Some OffsetCommit or OffsetFetch moves on."""
        cluster = self.cluster
        for step in range(self._clients):
            client = (word + step) % self._clients
            exchange = cluster.network.offset[client]
            if exchange is None:
                broker = self._broker_for(client, word >> 8)
                if cluster.send_offset_fetch(client, broker) or cluster.send_commit(client, broker):
                    return True
            elif exchange.response is not None:
                return cluster.receive_offset(client)
            elif self._may_arrive(exchange.broker) and cluster.deliver_offset(client):
                return True
        return False

    def poll(self, word: int) -> bool:
        """An application reads."""
        cluster, topics = self.cluster, self._topics
        for step in range(self._clients * len(topics)):
            client, number = divmod((word + step) % (self._clients * len(topics)), len(topics))
            consumer, partition = cluster.consumers[client], TopicPartition(topics[number], 0)
            if consumer is None or consumer.subscriptions.position(partition) >= self._offset_limit:
                continue
            if cluster.poll(client, number, partition):
                return True
        return False

    def commit_entry(self, word: int) -> bool:
        """The log replicates."""
        return self.cluster.commit_entry()

    def start(self, word: int) -> bool:
        """A process starts, if there is room for its member id."""
        if len(self.cluster.numbers) >= self._member_limit:
            return False
        return self.cluster.start_consumer(word % self._clients)

    def crash(self, word: int) -> bool:
        """A process ends."""
        return self.cluster.crash_consumer(word % self._clients)

    def leave(self, word: int) -> bool:
        """A consumer closes."""
        client = word % self._clients
        return self.cluster.leave_group(client, self._broker_for(client, word >> 8))

    def subscribe(self, word: int) -> bool:
        """An application changes its mind."""
        mask = 1 + (word >> 8) % (len(self._subsets) - 1)
        return self.cluster.change_subscription(word % self._clients, self._subsets[mask], mask)

    def add_partition(self, word: int) -> bool:
        """A topic is created."""
        number = word % len(self._topics)
        return self.cluster.add_partition(number, self._topics[number])

    def expire(self, word: int) -> bool:
        """A session or a revocation takes too long."""
        broker = self._serving(word)
        timers: list[Timer] = sorted(self.cluster.coordinators[broker].timers)
        if not timers or not self._may_arrive(broker):
            return False
        return self.cluster.expire(broker, timers[(word >> 8) % len(timers)])

    def _serving(self, word: int) -> Broker:
        """A broker that believes to be the coordinator."""
        broker = word % self._brokers
        return broker if self.cluster.coordinators[broker].serving else self.cluster.log.leader

    def elect(self, word: int) -> bool:
        """The partition gets another leader, which has some of the old one's records."""
        cluster = self.cluster
        if cluster.log.epoch >= self._office_limit:
            return False
        keep = (word >> 8) % (len(cluster.log.appended[cluster.log.leader]) + 1)
        return cluster.become_coordinator(word % self._brokers, keep)

    def resign(self, word: int) -> bool:
        """A deposed coordinator hears of it."""
        return any(self.cluster.resign(broker) for broker in range(self._brokers))

    def repeat(self, word: int) -> bool:
        """A request will arrive twice."""
        cluster = self.cluster
        for step in range(self._clients):
            client = (word + step) % self._clients
            if cluster.repeat_heartbeat(client) if word & 0x100 else cluster.repeat_commit_request(client):
                return True
        return False

    def stray(self, word: int) -> bool:
        """A late request arrives."""
        client = word % self._clients
        exchange = self.cluster.network.stray[client]
        return exchange is not None and self._may_arrive(exchange.broker) and self.cluster.deliver_stray(client)

    def lose(self, word: int) -> bool:
        """Something is lost."""
        client, cluster = word % self._clients, self.cluster
        losses = (cluster.lose_heartbeat, cluster.lose_heartbeat, cluster.lose_offset_rpc, cluster.lose_stray)
        return losses[(word >> 8) % len(losses)](client)
