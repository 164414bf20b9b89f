"""One simulated run of a group: chaos by a profile, then perhaps healing, then the verdict of a client that reads back.

One seed decides all. Every step draws one random word and slices it: what to try, who, how much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from tidemark.cells import CapacityExceeded
from tidemark.group.abstraction import Abstraction
from tidemark.group.layout import Table
from tidemark.group.purgatory import JOIN_TIMER, SYNC_TIMER
from tidemark.group.rebalance import GroupConfig
from tidemark.group.rules import Rules
from tidemark.sim.group.cluster import GroupCluster
from tidemark.sim.group.healing import heal
from tidemark.sim.group.network import Broker, Client
from tidemark.sim.group.profiles import MIXES, PROFILES
from tidemark.sim.group.recorder import GroupPlan, GroupRecorder
from tidemark.sim.shared import WORD, Mix, SimResult

ROOM = 5
"""So many member ids are kept for the healing: one for every consumer, and one that is lost."""


class GroupSimulator:
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        mix = Mix(profile, PROFILES, MIXES)
        self.for_seed = mix.for_seed
        self.table = Table(header)
        self.plan = GroupPlan(header, self.table)
        self.steps = steps
        self.rules = rules if rules is not None else Rules()
        self.config = GroupConfig(epoch_generations=self.table.epoch_generations)
        self._events: dict[tuple[type, str], list[Callable[[GroupRun, int], bool]]] = {}

    def events(self, run: GroupRun) -> list[Callable[[GroupRun, int], bool]]:
        """What a run like this one does for each of its 256 kinds of events."""
        kind = type(run), run.profile.name
        if kind not in self._events:
            self._events[kind] = [getattr(kind[0], name) for name in run.kinds]
        return self._events[kind]

    def run(self, seed: int) -> SimResult:
        """The trace of a seed."""
        return GroupRun(self, seed).run()


class GroupRun:
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    def __init__(self, simulator: GroupSimulator, seed: int) -> None:
        self.simulator = simulator
        self.seed = seed
        self.profile, self.kinds = simulator.for_seed(seed)
        table = simulator.table
        random = Random(seed)
        self._bits = random.getrandbits
        first = self._bits(WORD)
        topics = table.topics
        there = first >> 8 & (1 << len(topics)) - 1 or 1
        self._clients = len(table.clients)
        self._brokers = len(table.brokers)
        self.cluster = cluster = self._make_cluster(
            [client in table.static for client in table.clients],
            {topic: there >> place & 1 for place, topic in enumerate(topics)},
            first % self._brokers,
        )
        self.recorder = GroupRecorder(simulator.plan, cluster, Abstraction(table, cluster.numbers))
        cluster.recorder = self.recorder
        self._modes = self.profile.modes[(first >> 16) % len(self.profile.modes)]
        self._heals = first >> 24 & 255 < self.profile.heals
        self._topics = topics
        self._subsets = [
            frozenset(topic for place, topic in enumerate(topics) if mask >> place & 1)
            for mask in range(1 << len(topics))
        ]
        self._member_limit = table.max_member - ROOM
        self._offset_limit = table.max_offset - 2
        self._appended_limit = table.max_appended - 1
        self._epoch_limit = min(table.max_epoch, table.max_generation // table.epoch_generations) - 1

    def _make_cluster(self, static: Sequence[bool], counts: dict[str, int], first: Broker) -> GroupCluster:
        """The cluster of this run; `first` is the first coordinator."""
        return GroupCluster(self._brokers, static, counts, first, self.simulator.rules, self.simulator.config)

    def run(self) -> SimResult:
        """Chaos, then perhaps healing."""
        recorder, cluster = self.recorder, self.cluster
        recorder.begin()
        capacity = converged = False
        lost = 0
        try:
            self._chaos(self.simulator.steps - (self.simulator.steps // 3 if self._heals else 0))
            if self._heals:
                converged = heal(cluster, self._modes[0])
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
        events, bits, recorder, cluster = self.simulator.events(self), self._bits, self.recorder, self.cluster
        for _ in range(40 * steps):
            if recorder.records > steps:
                break
            word = bits(WORD)
            cluster.now += 100 * (1 + (word >> 40 & 7))
            events[word & 255](self, word >> 8)

    def _broker_for(self, client: Client, word: int) -> Broker:
        """Whom a consumer takes for its coordinator; it looks it up when it does not know."""
        consumer, cluster = self.cluster.consumers[client], self.cluster
        if consumer is None:
            return cluster.log.leader
        if consumer.coordinator is None:
            stale = word & 255 < self.profile.stale
            consumer.coordinator = (cluster.log.leader + stale) % self._brokers
        return consumer.coordinator

    def _full(self, broker: Broker) -> bool:
        """Whether a coordinator had better not append any more."""
        return len(self.cluster.coordinators[broker].waiting) >= self._appended_limit

    # --- events -----------------------------------------------------------------------------------------------------

    def member(self, word: int) -> bool:
        """Some consumer's joining moves on."""
        cluster = self.cluster
        first = word % self._clients
        for step in range(self._clients):
            client = (first + step) % self._clients
            consumer, exchange = cluster.consumers[client], cluster.network.member[client]
            if consumer is None:
                continue
            if exchange is None:
                if cluster.send_join(client, self._broker_for(client, word >> 8)):
                    return True
            elif exchange.response is not None:
                return cluster.receive_member(client)
            elif not exchange.arrived and self._may_arrive(exchange.broker):
                return cluster.deliver_member(client)
        return False

    def _may_arrive(self, broker: Broker) -> bool:
        """Whether the trace has room for what a request may lead to."""
        return len(self.cluster.numbers) < self._member_limit and not self._full(broker)

    def heartbeat(self, word: int) -> bool:
        """Some heartbeat moves on."""
        cluster = self.cluster
        for step in range(self._clients):
            client = (word + step) % self._clients
            exchange = cluster.network.heartbeat[client]
            if exchange is None:
                if cluster.send_heartbeat(client, self._broker_for(client, word >> 8)):
                    return True
            elif exchange.response is not None:
                return cluster.receive_heartbeat(client)
            elif cluster.deliver_heartbeat(client):
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
            elif not self._full(exchange.broker) and cluster.deliver_offset(client):
                return True
        return False

    def poll(self, word: int) -> bool:
        """An application reads."""
        cluster, partitions, limit = self.cluster, self.simulator.table.partitions, self._offset_limit
        count, consumers = len(partitions), cluster.consumers
        everything = self._clients * count
        for step in range(word, word + everything):
            client, number = divmod(step % everything, count)
            consumer = consumers[client]
            if consumer is None:
                continue
            partition = partitions[number]
            if 0 <= consumer.subscriptions.position(partition) < limit and cluster.poll(client, number, partition):
                return True
        return False

    def revoked(self, word: int) -> bool:
        """A rebalance listener returns."""
        return any(self.cluster.finish_revocation((word + step) % self._clients) for step in range(self._clients))

    def notice(self, word: int) -> bool:
        """A leader looks at the partitions."""
        return any(self.cluster.notice_partitions((word + step) % self._clients) for step in range(self._clients))

    def commit_entry(self, word: int) -> bool:
        """The log replicates."""
        return self.cluster.commit_entry()

    def start(self, word: int) -> bool:
        """A process starts, if there is room for its member id."""
        if len(self.cluster.numbers) >= self._member_limit:
            return False
        return self.cluster.start_consumer(word % self._clients, self._modes[(word >> 8) % len(self._modes)])

    def crash(self, word: int) -> bool:
        """A process ends."""
        return self.cluster.crash_consumer(word % self._clients)

    def leave(self, word: int) -> bool:
        """A consumer closes."""
        client = word % self._clients
        return self.cluster.leave_group(client, self._broker_for(client, word >> 8))

    def subscribe(self, word: int) -> bool:
        """An application changes its mind."""
        mask = (word >> 8) % len(self._subsets)
        return self.cluster.change_subscription(word % self._clients, self._subsets[mask], mask)

    def add_partition(self, word: int) -> bool:
        """A topic is created."""
        number = word % len(self._topics)
        return self.cluster.add_partition(number, self._topics[number])

    def end_join(self, word: int) -> bool:
        """The time for joining, or for SyncGroup, is over."""
        broker = self._serving(word)
        timers = self.cluster.coordinators[broker].timers
        for timer in (JOIN_TIMER, SYNC_TIMER) if word & 0x700 else (SYNC_TIMER, JOIN_TIMER):
            if timer in timers and not self._full(broker):
                if timer is SYNC_TIMER and word & 0x3800:
                    continue
                return self.cluster.expire(broker, timer)
        return False

    def expire(self, word: int) -> bool:
        """A session ends, or nobody joined with an id."""
        broker = self._serving(word)
        timers = [timer for timer in self.cluster.coordinators[broker].timers if timer.member_id]
        if not timers or self._full(broker):
            return False
        timers.sort(key=lambda timer: (timer.member_id, timer.kind.value))
        return self.cluster.expire(broker, timers[(word >> 8) % len(timers)])

    def _serving(self, word: int) -> Broker:
        """A broker that believes to be the coordinator."""
        broker = word % self._brokers
        return broker if self.cluster.coordinators[broker].serving else self.cluster.log.leader

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

    def repeat(self, word: int) -> bool:
        """A request will arrive twice."""
        client, cluster = word % self._clients, self.cluster
        if word & 0x300:
            return cluster.repeat_member_request(client)
        return cluster.repeat_commit_request(client)

    def stray(self, word: int) -> bool:
        """A late request arrives."""
        client = word % self._clients
        exchange = self.cluster.network.stray[client]
        return exchange is not None and self._may_arrive(exchange.broker) and self.cluster.deliver_stray(client)

    def lose(self, word: int) -> bool:
        """Something is lost."""
        client, cluster = word % self._clients, self.cluster
        losses = (
            cluster.lose_member_rpc, cluster.lose_member_rpc, cluster.lose_heartbeat, cluster.lose_offset_rpc,
            cluster.lose_stray,
        )  # fmt: skip
        return losses[(word >> 8) % len(losses)](client)
