"""One simulated run of a group's offsets: the attempt of each kind of event, and the room of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.offsets.abstraction import NOWHERE, READS, TICK_MS, TOUCHES, OffsetsAbstraction, OffsetsTable
from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.cluster import Commit, OffsetsCluster
from tidemark.offsets.sim.healing import heal, make_room
from tidemark.offsets.sim.network import Broker
from tidemark.offsets.sim.profiles import MIXES, PROFILES
from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.shared import Profile
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder

SPARE_RECORDS = 12
"""So many positions are kept for the markers and commits of the healing."""
SPARE_LOG = 5
"""So much of the log is kept free for them."""


class OffsetsSimulator(SimulatorBase):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: OffsetRules | None = None
    ) -> None:
        super().__init__(OffsetsRun, Mix(profile, PROFILES, MIXES), steps)
        self.table = OffsetsTable(header)
        self.plan = Plan(header, "the offsets", READS, TOUCHES, self.table.parties, "bt", NOWHERE)
        self.rules = rules if rules is not None else OffsetRules()


class OffsetsRun(RunBase[OffsetsCluster, Profile]):
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    RESERVED = 4

    def __init__(self, simulator: OffsetsSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self._table = table = simulator.table
        self._brokers, self._producers = len(table.brokers), self.acting(len(table.producers))
        self._numbers = len(table.partitions)
        self.cluster = cluster = OffsetsCluster(table, self.first_word % self._brokers, simulator.rules)
        self.recorder = Recorder(simulator.plan, OffsetsAbstraction(table, cluster))
        cluster.recorder = self.recorder

    def heal(self) -> bool:
        """Faults stop; whether nothing is left to do."""
        return heal(self.cluster)

    def acked(self) -> int:
        """How many commits were acknowledged."""
        return self.cluster.reader.acked

    def lost(self) -> int:
        """Of how many partitions the offset that was acknowledged last is not there."""
        return self.cluster.reader.lost(self.cluster.coordinators[self.cluster.log.leader].committed.offsets)

    def _broker(self, word: int) -> Broker:
        """Whom a client takes for the coordinator: mostly the elected one."""
        return word % self._brokers if word & 0x70 == 0 else self.cluster.log.leader

    def _writer(self, word: int) -> Broker | None:
        """A coordinator that may write another record: the trace has room for it. None: there is none."""
        cluster, most = self.cluster, self._table.most
        broker = self._broker(word)
        coordinator = cluster.coordinators[broker]
        full = (
            len(coordinator.waiting) >= most["Appended"] - 1
            or len(cluster.log.records) + len(coordinator.waiting) >= most["Log"] - SPARE_LOG
            or coordinator.end + len(coordinator.waiting) >= most["Position"] - SPARE_RECORDS
        )
        return None if full else broker

    # --- events -----------------------------------------------------------------------------------------------------

    def tick(self, word: int) -> bool:
        """Time goes on."""
        return self.cluster.now < (self._table.most["Time"] - 1) * TICK_MS and self.cluster.tick()

    def rebalance(self, word: int) -> bool:
        """The members change."""
        broker = self._writer(word)
        if broker is None:
            return False
        if self.cluster.coordinators[broker].written.group.generation >= self._table.most["Generation"] - 1:
            return False
        mask = (word >> 8) % (1 << self._numbers)
        subscribed = tuple([one for place, one in enumerate(self._table.partitions) if mask >> place & 1])
        return self.cluster.rebalance(broker, subscribed, mask)

    def commit_offset(self, word: int) -> bool:
        """A consumer commits."""
        broker = self._writer(word)
        return broker is not None and self.cluster.commit_offset(
            broker, (word >> 8) % self._numbers, self._offset(word)
        )

    def _offset(self, word: int) -> int:
        return (word >> 16) % (self._table.most["Offset"] + 1)

    def expire(self, word: int) -> bool:
        """A sweep."""
        broker = self._writer(word)
        return broker is not None and self.cluster.expire_offsets(broker)

    def delete(self, word: int) -> bool:
        """An operator's OffsetDelete."""
        broker = self._writer(word)
        return broker is not None and self.cluster.delete_offset(broker, (word >> 8) % self._numbers)

    def delete_group(self, word: int) -> bool:
        """An operator's DeleteGroups."""
        broker = self._writer(word)
        return broker is not None and self.cluster.delete_group(broker)

    def drop_topic(self, word: int) -> bool:
        """A topic is deleted."""
        broker = self._writer(word)
        return broker is not None and self.cluster.drop_topic(broker, (word >> 8) % self._numbers)

    def producer(self, word: int) -> bool:
        """A producer's transaction moves on."""
        cluster, producer = self.cluster, word % self._producers
        transaction, exchange = cluster.transactions[producer], cluster.commits[producer]
        if transaction.phase == "idle":
            room = transaction.epoch < self._table.most["ProducerEpoch"] - 1
            return room and cluster.begin_transaction(producer)
        if transaction.phase == "ending":
            return False
        if exchange is None:
            if (word >> 8) & 3 == 0:
                return cluster.end_transaction(producer, not transaction.failed and (word >> 10) & 3 != 0)
            return self._send(producer, word >> 8)
        if exchange.response is not None:
            return cluster.receive_txn_reply(producer)
        return self._may_stage(exchange) and cluster.deliver_txn_offset_commit(producer, False)

    def _send(self, producer: int, word: int) -> bool:
        """A TxnOffsetCommit, mostly of the current generation."""
        generation = self.cluster.coordinators[self.cluster.log.leader].written.group.generation
        named = (generation, generation, generation - 1, -1)[(word >> 8) & 3]
        number = (word >> 12) % self._numbers
        offset = self._offset(word)
        return self.cluster.send_txn_offset_commit(producer, self._broker(word), max(named, -1), number, offset)

    def _may_stage(self, exchange: Commit) -> bool:
        """Whether the trace has room for what a TxnOffsetCommit comes to."""
        coordinator, most = self.cluster.coordinators[exchange.broker], self._table.most
        return not exchange.verified or (
            len(coordinator.waiting) < most["Appended"] - 1
            and len(self.cluster.log.records) + len(coordinator.waiting) < most["Log"] - SPARE_LOG
            and coordinator.end + len(coordinator.waiting) < most["Position"] - SPARE_RECORDS
        )

    def give_up(self, word: int) -> bool:
        """A producer waits no longer."""
        return self.cluster.give_up_txn_offset_commit(word % self._producers)

    def late(self, word: int) -> bool:
        """Something late arrives."""
        cluster, producer = self.cluster, word % self._producers
        exchange = cluster.late[producer]
        if exchange is not None and word & 0x100:
            return self._may_stage(exchange) and cluster.deliver_txn_offset_commit(producer, True)
        marker = cluster.late_markers[producer]
        return marker is not None and self._may_mark(marker.broker) and cluster.deliver_marker(producer, True)

    def _may_mark(self, broker: Broker) -> bool:
        coordinator, most = self.cluster.coordinators[broker], self._table.most
        return (
            len(coordinator.waiting) < most["Appended"]
            and len(self.cluster.log.records) + len(coordinator.waiting) < most["Log"] - 2
            and coordinator.end + len(coordinator.waiting) < most["Position"] - SPARE_RECORDS + 3
        )

    def marker(self, word: int) -> bool:
        """A transaction's marker moves on."""
        cluster, producer = self.cluster, word % self._producers
        exchange = cluster.markers[producer]
        if exchange is None:
            return cluster.send_marker(producer, self._broker(word >> 8))
        if exchange.response is not None:
            return cluster.receive_marker_reply(producer)
        return self._may_mark(exchange.broker) and cluster.deliver_marker(producer, False)

    def repeat(self, word: int) -> bool:
        """A marker will arrive twice."""
        return self.cluster.repeat_marker(word % self._producers)

    def lose(self, word: int) -> bool:
        """Something is lost."""
        cluster = self.cluster
        losses = (cluster.lose_marker, cluster.lose_late, cluster.lose_late_marker)
        return losses[(word >> 8) % len(losses)](word % self._producers)

    def fetch(self, word: int) -> bool:
        """Somebody asks for the offsets."""
        return self.cluster.fetch_offsets(self._broker(word), word & 0x300 != 0)

    def commit_entry(self, word: int) -> bool:
        """The log replicates; first it is cleaned if it is full."""
        if len(self.cluster.log.records) >= self._table.most["Log"] - SPARE_LOG and make_room(self.cluster):
            return True
        return self.cluster.commit_entry()

    def compact(self, word: int) -> bool:
        """The cleaner comes."""
        count = len(self.cluster.log.records)
        return count > 0 and self.cluster.compact(1 + (word >> 8) % count, bool(word & 1))

    def elect(self, word: int) -> bool:
        """The partition gets another leader, which has some of the old one's records."""
        cluster = self.cluster
        if cluster.log.epoch >= self._table.most["Epoch"]:
            return False
        keep = (word >> 8) % (len(cluster.log.appended[cluster.log.leader]) + 1)
        return cluster.become_coordinator(word % self._brokers, keep)

    def resign(self, word: int) -> bool:
        """A deposed coordinator hears of it."""
        return any(self.cluster.resign(broker) for broker in range(self._brokers))
