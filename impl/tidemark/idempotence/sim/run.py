"""One simulated run of idempotent producers: the attempt of each kind of event, and the room of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.idempotence.abstraction import NOWHERE, READS, TOUCHES, Abstraction, Table
from tidemark.idempotence.producer import ProducerConfig
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.cluster import ProducerCluster
from tidemark.idempotence.sim.healing import heal
from tidemark.idempotence.sim.profiles import MIXES, PROFILES, ProducerProfile
from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.shared import orders
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder

ROOM = 3
"""So many batches of a log and of a process, producer epochs and ids are kept for the healing."""


class ProducerSimulator(SimulatorBase):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        super().__init__(ProducerRun, Mix(profile, PROFILES, MIXES), steps)
        self.table = table = Table(header)
        self.plan = Plan(header, "idempotent producers", READS, TOUCHES, table.parties, "bc", NOWHERE)
        self.rules = rules if rules is not None else Rules()
        self.config = ProducerConfig(table.max_in_flight, table.window, table.max_sequence)


class ProducerRun(RunBase[ProducerCluster, ProducerProfile]):
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    TICK_MS = 100

    def __init__(self, simulator: ProducerSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.table = table = simulator.table
        first = self.first_word
        self._clients, self._topics, self._brokers = len(table.producers), len(table.partitions), len(table.brokers)
        leaders = [(first >> topic) % self._brokers for topic in range(self._topics)]
        self.cluster = ProducerCluster(self._clients, leaders, simulator.rules, simulator.config)
        self.recorder = Recorder(simulator.plan, Abstraction(table, self.cluster))
        self.cluster.recorder = self.recorder
        self.orders = orders(self._brokers, False)
        self._clients = self.acting(self._clients)
        self._busy = (first >> 32) % self._clients

    def advance(self, milliseconds: int) -> None:
        """Everybody's clock goes on."""
        self.cluster.now += milliseconds

    def heal(self) -> bool:
        """Faults stop; whether everything came to rest."""
        return heal(self.cluster)

    def acked(self) -> int:
        """How many batches were acknowledged."""
        return len(self.cluster.acked)

    def lost(self) -> int:
        """How many of them are not there, and how many of all are there twice."""
        return self.cluster.lost()

    # --- who, and to whom -------------------------------------------------------------------------------------------

    def _pair(self, word: int) -> tuple[int, int]:
        """A producer and a partition; the first of each are busier than others, so that they get far."""
        client = self._busy if word & 3 else (word >> 2) % self._clients
        topic = 0 if word >> 6 & 3 else (word >> 8) % self._topics
        return client, topic

    def _broker_for(self, topic: int, word: int) -> int:
        """The broker that a producer takes for the leader."""
        stale = word & 255 < self.profile.stale
        return (self.cluster.partitions[topic].leader + stale) % self._brokers

    def _has_room(self, client: int, topic: int) -> bool:
        """Whether the trace has room for one more batch, and no request is older than sequences are unique.
        EnvironmentRequestsAreRecent assumes the latter of the network."""
        table, cluster = self.table, self.cluster
        producer, connection = cluster.producers[client], cluster.connections[client][topic]
        created = producer.partitions[topic].created
        if created >= table.max_number - ROOM or len(connection.wire) >= table.max_wire - 1:
            return False
        room = table.max_log - ROOM - len(cluster.partitions[topic].log)
        for other, connections in zip(cluster.producers, cluster.connections, strict=True):
            room -= len(other.partitions[topic].in_flight) + len(connections[topic].late)
        if room <= 0:
            return False
        recent = created + 1 - table.max_sequence
        pid = producer.producer_id
        for waiting in (connection.wire, connection.late):
            for one in waiting:
                if one.request.payload <= recent and one.request.producer_id == pid:
                    return False
        return True

    # --- events -----------------------------------------------------------------------------------------------------

    def send(self, word: int) -> bool:
        """A producer drains a batch."""
        client, topic = self._pair(word)
        producer = self.cluster.producers[client]
        if not producer.producer_id:
            return self.cluster.get_producer_id(client)
        if not producer.ready(topic) or not self._has_room(client, topic):
            return False
        return self.cluster.send_batch(client, topic, self._broker_for(topic, word >> 16))

    def resend(self, word: int) -> bool:
        """A producer sends a batch again."""
        client, topic = self._pair(word)
        if len(self.cluster.connections[client][topic].wire) >= self.table.max_wire:
            return False
        return self.cluster.resend_batch(client, topic, self._broker_for(topic, word >> 16))

    def handle(self, word: int) -> bool:
        """A broker handles a request."""
        client, topic = self._pair(word)
        if not self.cluster.connections[client][topic].wire:
            return False
        handle = self.cluster.handle
        return any(handle(broker, client, topic) for broker in self.orders[word % self._brokers])

    def fail(self, word: int) -> bool:
        """A leader has too few replicas in sync, or a disk that fails."""
        client, topic = self._pair(word)
        disk = bool(word >> 12 & 1)
        leader = self.cluster.partitions[topic].leader
        return self.cluster.handle(leader, client, topic, too_few_in_sync=not disk, disk_fails=disk)

    def receive(self, word: int) -> bool:
        """A reply arrives."""
        client, topic = self._pair(word)
        if not self.cluster.connections[client][topic].wire:
            return False
        receive = self.cluster.receive
        return any(receive(broker, client, topic) for broker in self.orders[word % self._brokers])

    def commit(self, word: int) -> bool:
        """The replicas have some more."""
        topic = 0 if word & 3 else (word >> 2) % self._topics
        partition = self.cluster.partitions[topic]
        behind = len(partition.log) - partition.high_watermark
        more = 1 + (word >> 8) % behind if behind else 0
        return self.cluster.advance_high_watermark(topic, partition.high_watermark + more)

    def sender(self, word: int) -> bool:
        """The sender's loop: sequences are resolved, the epoch is bumped."""
        client, topic = self._pair(word)
        if self.cluster.resolve_sequences(client, topic):
            return True
        if self.cluster.producers[client].epoch >= self.table.max_epoch - ROOM:
            return False
        return self.cluster.bump_epoch(client)

    def disconnect(self, word: int) -> bool:
        """A connection breaks."""
        client, topic = self._pair(word)
        connection = self.cluster.connections[client][topic]
        room = self.table.max_late - len(connection.late)
        return any(
            self.cluster.disconnect(client, topic, (word + step) % self._brokers, (word >> 12) % (room + 1))
            for step in range(self._brokers)
        )

    def late(self, word: int) -> bool:
        """A late request arrives, or never will."""
        client, topic = self._pair(word)
        return self.cluster.handle_late(client, topic, bool(word >> 12 & 3))

    def expire(self, word: int) -> bool:
        """A batch's time is over."""
        return self.cluster.expire_batch(*self._pair(word))

    def forget(self, word: int) -> bool:
        """A leader forgets a producer."""
        if not self.cluster.producer_ids.issued:
            return False
        topic = 0 if word & 3 else (word >> 2) % self._topics
        return self.cluster.let_expire(topic, 1 + (word >> 8) % self.cluster.producer_ids.issued)

    def elect(self, word: int) -> bool:
        """Another broker leads a partition, or the same again."""
        topic = 0 if word & 3 else (word >> 2) % self._topics
        partition = self.cluster.partitions[topic]
        loses = len(partition.log) - partition.high_watermark
        keep = len(partition.log) - (word >> 8) % (loses + 1)
        snapshot = (word >> 12) % (keep + 1) if word >> 20 & 1 else max(0, keep - (word >> 12 & 1))
        return self.cluster.elect_leader(topic, (word >> 21) % self._brokers, keep, snapshot)

    def crash(self, word: int) -> bool:
        """A process ends."""
        if self.cluster.producer_ids.issued > self.table.max_pid - ROOM:
            return False
        return self.cluster.crash_producer(word % self._clients)
