"""One simulated run: chaos by a profile, then perhaps healing, then the verdict of a client that reads back.

One seed decides all. Every step draws one random word and slices it: the event to try, the place, the amount. Time
advances with every try.
"""

from __future__ import annotations

from typing import Any

from tidemark.log.storage import Payload
from tidemark.replication.abstraction import Abstraction, Table
from tidemark.replication.broker import STARTING
from tidemark.replication.messages import BrokerId
from tidemark.replication.partition import ReplicationConfig
from tidemark.replication.rules import Rules
from tidemark.replication.sim.cluster import Cluster
from tidemark.replication.sim.healing import beyond_repair, heal
from tidemark.replication.sim.network import CONSUMERS
from tidemark.replication.sim.profiles import MIXES, PROFILES, ReplicationProfile
from tidemark.replication.sim.readback import lost_payloads
from tidemark.replication.sim.scenario import Scenario, plan_of
from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.shared import orders
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Recorder


class Simulator(SimulatorBase):
    """Everything that runs of one kind share: the table of a trace header, a profile, rules. Call `run(seed)`."""

    def __init__(
        self, header: dict[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        super().__init__(Run, Mix(profile, PROFILES, MIXES), steps)
        self.table = Table(header)
        self.plan = plan_of(header, self.table)
        self.rules = rules if rules is not None else Rules()
        self.config = ReplicationConfig(min_insync_replicas=self.table.min_isr)


class Run(RunBase[Cluster, ReplicationProfile]):
    """The state of one run: the cluster, the client's next payload, the limits that keep a trace within its
    capacities. Events are methods: each gets the word without its kind, and says whether something happened."""

    TICK_MS = 1
    HEALS_FROM = 8

    def __init__(self, simulator: Simulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.simulator = simulator
        table, first = simulator.table, self.first_word
        leader = 1 if self.profile.prelude else first % table.count
        self.cluster = cluster = Cluster(table.count, leader, simulator.config, simulator.rules)
        self._recorder = Recorder(simulator.plan, Abstraction(table, cluster), leader)
        cluster.recorder = self.recorder = self._recorder
        self._next_payload: Payload = 1
        self._count = table.count
        self.orders = orders(table.count, False)
        self._hosts = cluster.hosts
        self._fetches = cluster.network.fetches
        for host in cluster.hosts:
            host.slow_disk = first >> (16 + 4 * host.id) & 255 < self.profile.slow
        if first >> 40 < self.profile.skewed:
            self.skew(first >> 8)
        self._max_fetch = table.max_fetch
        # the healing needs room: for a few records, elections, ISR changes and registrations
        self._log_limit = table.max_log - 2
        self._value_limit = table.max_value - 2
        self._epoch_limit = table.max_epoch - 3
        self._metadata_limit = table.max_metadata - 2 * table.count - 2
        self._incarnation_limit = table.max_broker_epoch - 1

    def advance(self, milliseconds: int) -> None:
        """The cluster's clock goes on."""
        self.cluster.now += milliseconds

    def begin(self) -> None:
        """The initial state; then what the profile has happen before the chaos."""
        super().begin()
        if self.profile.prelude:
            simulator = self.simulator
            inside = self.cluster, self._recorder
            Scenario(simulator.table, simulator.plan, simulator.rules, False, inside).drive(self.profile.prelude)

    def heal(self) -> bool:
        """Brokers come back, partitions end; whether every replica is in the ISR and has the same log. In every second
        run the fetcher of one follower then dies."""
        self._log_limit, self._value_limit = self.simulator.table.max_log, self.simulator.table.max_value
        return heal(self.cluster, self._produce, bool(self.first_word >> 41 & 1))

    def can_be_healed(self) -> bool:
        """Not where no replica that may lead has come back whole."""
        return not beyond_repair(self.cluster)

    def acked(self) -> int:
        """Payloads acknowledged with acks=all."""
        return len(self.cluster.answers.acked)

    def lost(self) -> int:
        """How many of them a client that reads the partition back does not find at their offsets."""
        return len(lost_payloads(self.cluster))

    # --- events ---------------------------------------------------------------------------------------------------

    def fetch(self, word: int) -> bool:
        """Some exchange between a follower and a source moves on."""
        count, cluster, hosts, fetches = self._count, self.cluster, self._hosts, self._fetches
        other, of_leader = (word >> 8) % count, word & 0x1C0000
        goes_on = (word >> 7 & 0xE0) + (word >> 15 & 0x1F) < self.profile.prompt
        for follower in self.orders[word % count]:
            broker, row = hosts[follower].up, fetches[follower]
            connection = row[other]
            if broker is not None and (of_leader or connection.request is None):
                leader = broker.partition.leader_id
                if leader is not None:
                    connection = row[leader]
                    if connection.request is None:
                        if leader != follower:
                            cluster.ask(broker, connection)
                            return True
                        continue
            if connection.request is None:
                continue
            if connection.checked and not goes_on:
                continue
            if connection.response is not None:
                if broker is not None and cluster.receive_response(connection, not word & 0x600000):
                    return True
            elif connection.uncounted is not None:
                if goes_on and cluster.count_fetch(connection):
                    return True
            elif connection.read is not None:
                if goes_on and cluster.read_fetch(connection):
                    return True
            else:
                source = hosts[connection.source]
                if source.up is not None and cluster.receive_fetch(
                    connection, 1 + (word >> 16) % self._max_fetch, source.slow_disk
                ):
                    return True
        return False

    def produce(self, word: int) -> bool:
        """The client sends an attempt to a broker that believes to lead."""
        return self._produce(word % self._count, self.profile.acks[word >> 8 & 7])

    def _produce(self, first: BrokerId, acks: str) -> bool:
        if len(self.cluster.values) >= self._value_limit:
            return False
        hosts = self._hosts
        for broker_id in self.orders[first]:
            broker = hosts[broker_id].broker
            if broker is not None and broker.partition.is_leader and broker.log.end_offset < self._log_limit:
                self._next_payload += 1
                return self.cluster.append_record(broker_id, self._next_payload, acks)
        return False

    def apply(self, word: int) -> bool:
        """A broker applies metadata: all that there is, or one batch of it."""
        cluster, hosts = self.cluster, self._hosts
        end_offset = cluster.metadata.end_offset
        for broker_id in self.orders[word % self._count]:
            broker = hosts[broker_id].broker
            if broker is not None and broker.published_offset < end_offset:
                end = None
                if not word & 0x300:
                    end = next(offset for offset in cluster.metadata.ends if offset > broker.published_offset)
                if cluster.apply_metadata(broker_id, end):
                    return True
        return False

    def load(self, word: int) -> bool:
        """A newly registered broker reads the metadata from before its registration."""
        cluster = self.cluster
        any(cluster.load_metadata(broker_id) for broker_id in self.orders[word % self._count])
        return False

    def consume(self, word: int) -> bool:
        """A consumer's fetch goes on. A consumer that begins one asks some broker for the leader; one in four then asks
        any broker, and half of the answers are quick."""
        cluster, consumer, limit = self.cluster, word % CONSUMERS, 1 + (word >> 8) % self._max_fetch
        if cluster.take_read(consumer) or cluster.receive_read(consumer, limit):
            return True
        if not word >> 12 & 7 and cluster.lose_read(consumer):
            return True
        cluster.learn_leader(consumer, (word >> 16) % self._count)
        if not cluster.send_read(consumer, None if word >> 24 & 3 else (word >> 26) % self._count):
            return False
        if word >> 32 & 1 and cluster.receive_read(consumer, limit):
            cluster.take_read(consumer)
        return True

    def alter(self, word: int) -> bool:
        """An AlterPartition exchange moves on."""
        cluster, hosts, alters = self.cluster, self._hosts, self.cluster.network.alters
        for broker_id in self.orders[word % self._count]:
            connection, broker = alters[broker_id], hosts[broker_id].up
            if connection.request is not None:
                if cluster.receive_alter_partition(broker_id):
                    return True
            elif connection.response is not None:
                if cluster.receive_alter_reply(broker_id):
                    return True
            elif broker and broker.partition.pending and cluster.resend_alter_partition(broker_id):
                return True
        return False

    def maintain_isr(self, word: int) -> bool:
        """A leader looks for a member that lags, or for a follower that has caught up."""
        if not self._room_for_changes():
            return False
        cluster, hosts, count = self.cluster, self._hosts, self._count
        for broker_id in self.orders[word % count]:
            broker = hosts[broker_id].broker
            if broker is None or not broker.partition.is_leader:
                continue
            if word & 0x100 and cluster.shrink_isr(broker_id):
                return True
            isr = broker.partition.isr
            if len(isr) < count:
                for follower in self.orders[(word >> 9) % count]:
                    if follower not in isr and cluster.expand_isr(broker_id, follower):
                        return True
        return False

    def purgatory(self, word: int) -> bool:
        """A waiting produce is looked at, or one begins to wait. At a broker that leads no more, some thread may have
        looked at it before."""
        cluster, hosts = self.cluster, self._hosts
        for broker_id in self.orders[word % self._count]:
            host = hosts[broker_id]
            broker = host.broker
            if broker is None:
                continue
            if broker.purgatory.created and (not host.crowded or (word >> 24 & 0xFF) < self.profile.prompt):
                created = list(broker.purgatory.created)
                if cluster.add_delayed_produce(broker_id, created[(word >> 8) % len(created)]):
                    return True
            if not broker.purgatory.waiting:
                continue
            waiting = list(broker.purgatory.waiting)
            payload = waiting[(word >> 8) % len(waiting)]
            looked_at = not broker.partition.is_leader and word >> 32 & 1
            if not looked_at and cluster.fail_produce(broker_id, payload):
                return True
            if cluster.complete_produce(broker_id, payload, (word >> 16 & 255) >= self.profile.reply_lost):
                return True
        return False

    def flush(self, word: int) -> bool:
        """A broker flushes its log."""
        return self.cluster.flush_log(word % self._count)

    def checkpoint(self, word: int) -> bool:
        """A broker checkpoints its high watermark."""
        return self.cluster.checkpoint_high_watermark(word % self._count)

    def elect(self, word: int) -> bool:
        """An operator moves the leadership."""
        return self._room_for_epochs() and self.cluster.elect_leader(word % self._count)

    def pause(self, word: int) -> bool:
        """A process stands still."""
        self.cluster.hosts[word % self._count].pause(True)
        return False

    def resume(self, word: int) -> bool:
        """Paused processes go on."""
        self.cluster.hosts[word % self._count].pause(False)
        return False

    def cut(self, word: int) -> bool:
        """Messages from one node to another are held back."""
        nodes = self._count + 1
        self.cluster.network.cut[word % nodes][(word >> 8) % nodes] = True
        return False

    def lag(self, word: int) -> bool:
        """A broker stops hearing of new metadata."""
        self.cluster.network.cut[self._count][word % self._count] = True
        return False

    def mend(self, word: int) -> bool:
        """All ways are open again."""
        self.cluster.network.heal()
        return False

    def expire(self, word: int) -> bool:
        """The controller checks a session."""
        return self._room_for_epochs() and self.cluster.expire_session(word % self._count)

    def heartbeat(self, word: int) -> bool:
        """Heartbeats arrive; the first that matters counts."""
        if not self._room_for_epochs():
            return False
        return any(self.cluster.heartbeat(broker_id) for broker_id in self.orders[word % self._count])

    def crash(self, word: int) -> bool:
        """A machine fails and keeps some of its unflushed records."""
        return self._crash(word % self._count, word >> 8)

    def crash_outsider(self, word: int) -> bool:
        """A machine fails whose broker is not in the ISR: it was catching up, perhaps."""
        broker_id = word % self._count
        return broker_id not in self.cluster.control.partition.isr and self._crash(broker_id, word >> 8)

    def _crash(self, broker_id: BrokerId, word: int) -> bool:
        cluster = self.cluster
        if cluster.control.registrations[broker_id].broker_epoch >= self._incarnation_limit:
            return False
        if not self._another_intact(broker_id):
            return False
        storage = cluster.hosts[broker_id].storage
        unflushed = storage.end_offset - storage.flushed_offset
        keep = storage.end_offset - word % (unflushed + 1)
        return cluster.crash_broker(broker_id, keep)

    def _another_intact(self, broker_id: BrokerId) -> bool:
        """Whether somebody else may still lead after this crash: a member of ISR or ELR that runs or stopped
        cleanly."""
        hosts, partition = self.cluster.hosts, self.cluster.control.partition
        return any(
            other != broker_id
            and (other in partition.isr or other in partition.elr)
            and ((host.broker is not None and host.broker.state != STARTING) or host.down == "stopped")
            for other, host in enumerate(hosts)
        )

    def start(self, word: int) -> bool:
        """A broker that is down starts."""
        if not self._room_for_epochs():
            return False
        return any(self.cluster.start_broker(broker_id) for broker_id in self.orders[word % self._count])

    def stop(self, word: int) -> bool:
        """An operator asks a broker to stop, or one that was let go stops."""
        cluster = self.cluster
        for broker_id in range(self._count):
            if cluster.stop_broker(broker_id):
                return True
        broker_id = word % self._count
        if cluster.control.registrations[broker_id].broker_epoch < self._incarnation_limit:
            return cluster.ask_to_stop(broker_id)
        return False

    def stop_anyway(self, word: int) -> bool:
        """A broker that was asked to stop hears nothing of the controller for too long, and stops."""
        return any(self.cluster.stop_broker(broker_id, True) for broker_id in self.orders[word % self._count])

    def break_connection(self, word: int) -> bool:
        """A connection breaks."""
        cluster = self.cluster
        if word & 0x300:
            return cluster.lose_fetch(cluster.network.fetches[word % self._count][(word >> 10) % self._count])
        return cluster.lose_alter_partition(word % self._count)

    def slow_disk(self, word: int) -> bool:
        """A disk becomes slow, or fast again."""
        host = self.cluster.hosts[word % self._count]
        host.slow_disk = not host.slow_disk
        return False

    def crowd(self, word: int) -> bool:
        """A machine's threads wait long for their locks, or do not any more."""
        host = self.cluster.hosts[word % self._count]
        host.crowded = not host.crowded
        return False

    def skew(self, word: int) -> bool:
        """A clock jumps."""
        self.cluster.hosts[word % self._count].skew_ms = (word >> 8 & 255) - 128
        return False

    def _room_for_changes(self) -> bool:
        return len(self.cluster.metadata.partition_changes) < self._metadata_limit

    def _room_for_epochs(self) -> bool:
        return self._room_for_changes() and self.cluster.control.partition.leader_epoch < self._epoch_limit
