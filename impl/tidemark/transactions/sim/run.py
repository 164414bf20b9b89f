"""One simulated run of transactions: the attempt of each kind of event, and the room of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder
from tidemark.transactions.abstraction import NOWHERE, READS, TOUCHES, Abstraction, Table
from tidemark.transactions.messages import EndTxnRequest
from tidemark.transactions.partition_leader import ProduceStage
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.cluster import GROUP_ERRORS, TransactionCluster
from tidemark.transactions.sim.healing import COMMITTED, heal
from tidemark.transactions.sim.network import Broker
from tidemark.transactions.sim.profiles import MIXES, PROFILES, TransactionProfile
from tidemark.transactions.sim.reader import amiss
from tidemark.transactions.states import TransactionState as State
from tidemark.transactions.transactional_producer import ProducerState

ROOM = 3
"""So many transactions, coordinator epochs and sequences are kept for the healing."""
LOG_ROOM = 8
"""So many records of a log are."""
OFFSETS = 0
"""The partition of __consumer_offsets, if the profile has one: the busiest."""


class TransactionSimulator(SimulatorBase):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        super().__init__(TransactionRun, Mix(profile, PROFILES, MIXES), steps)
        self.table = table = Table(header)
        self.plan = Plan(header, "transactions", READS, TOUCHES, table.parties, "bc", NOWHERE, whole=READS)
        self.rules = rules if rules is not None else Rules()


class TransactionRun(RunBase[TransactionCluster, TransactionProfile]):
    """The state of one run: the cluster, and the limits that keep a trace within its capacities."""

    TICK_MS = 100

    def __init__(self, simulator: TransactionSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self.simulator = simulator
        self.table = table = simulator.table
        first = self.first_word
        self._clients, self._topics, self._brokers = len(table.clients), len(table.partitions), len(table.brokers)
        self.cluster = self._make_cluster(first % self._brokers)
        self.recorder = Recorder(simulator.plan, Abstraction(table, self.cluster))
        self.cluster.recorder = self.recorder
        self._clients = self.acting(self._clients)
        self._busy = (first >> 32) % self._clients

    def _make_cluster(self, first: Broker) -> TransactionCluster:
        """The cluster of this run; `first` is the first coordinator."""
        return TransactionCluster(
            self._clients,
            self._brokers,
            self._topics,
            first,
            self.table.max_epoch,
            self.simulator.rules,
            OFFSETS if self.profile.offsets else None,
        )

    def advance(self, milliseconds: int) -> None:
        """Every broker's clock goes on."""
        self.cluster.now += milliseconds

    def heal(self) -> bool:
        """Faults stop; whether everything came to rest. In every second run with room for it the last transaction is
        left to its time-out."""
        room = self.cluster.begun < self.table.max_transaction - 1 and all(map(self._has_room, range(self._topics)))
        return heal(self.cluster, bool(self.first_word >> 41 & 1) and room)

    def acked(self) -> int:
        """How many transactions applications were told to be committed."""
        return sum(self.cluster.told.values())

    def lost(self) -> int:
        """How much of what they were told is not so."""
        cluster = self.cluster
        seen = [[batch for _, batch in one] for one in cluster.returned[COMMITTED]]
        return amiss(seen, [one.log for one in cluster.partitions], cluster.told, cluster.acked)

    # --- who, and to whom -------------------------------------------------------------------------------------------

    def _client(self, word: int) -> int:
        """A process; one is busier than the others."""
        return self._busy if word & 7 else (word >> 3) % self._clients

    def _topic(self, word: int) -> int:
        """A partition; the first is busier than the others."""
        return 0 if word & 1 else (word >> 1) % self._topics

    def _coordinator_for(self, word: int) -> int:
        """Whom somebody takes for the coordinator."""
        stale = word & 255 < self.profile.stale
        return (self.cluster.log.leader + (1 + (word >> 8) % (self._brokers - 1) if stale else 0)) % self._brokers

    def _broker(self, word: int) -> int:
        """A broker that may have something to tell: the coordinator, or one that was it."""
        return self.cluster.log.leader if word & 3 else (word >> 2) % self._brokers

    def _has_room(self, topic: int) -> bool:
        """Whether the trace has room for one more batch, and for what follows from it."""
        cluster = self.cluster
        room = self.table.max_log - LOG_ROOM - len(cluster.partitions[topic].log)
        if room > 2 * self._clients:
            return True
        waiting = sum(slots[topic] is not None for slots in (*cluster.produce, *cluster.late_produce))
        return waiting < room

    # --- events -----------------------------------------------------------------------------------------------------

    def client(self, word: int) -> bool:
        """A process does the next thing that its application wants."""
        client, table = self._client(word), self.table
        cluster, broker = self.cluster, self._coordinator_for(word >> 8)
        producer, topic = cluster.clients[client], (word >> 32) % self._topics
        state = producer.state
        if state is ProducerState.UNINITIALIZED:
            rival = client != self._busy and not word >> 24 & 255 < self.profile.rivals
            return not rival and cluster.send_init_producer_id(client, broker)
        if state is ProducerState.INITIALIZING:
            return cluster.send_init_producer_id(client, broker)
        if state is ProducerState.READY:
            return cluster.begun < table.max_transaction - ROOM and cluster.begin_transaction(client)
        if state is ProducerState.IN_TRANSACTION:
            room = self._has_room(topic)
            if producer.partitions and (not room or word >> 24 & 255 < self.profile.ends):
                return cluster.send_end_txn(client, broker, word >> 33 & 63 < self.profile.commits)
            if not room or producer.sequences[topic] >= table.max_sequence - ROOM:
                return False
            if cluster.partitions[topic].is_offsets:
                return cluster.send_add_offsets(client, broker) or cluster.send_txn_offset_commit(client)
            return cluster.send_add_partitions(client, broker, topic) or cluster.send_produce(client, topic)
        if state is ProducerState.FATAL_ERROR:
            return not word >> 32 & 3 and cluster.crash_client(client)
        return cluster.send_end_txn(client, broker, state is ProducerState.COMMITTING_TRANSACTION)

    def rpc(self, word: int) -> bool:
        """A coordinator handles a request, or its reply arrives."""
        client, cluster = self._client(word), self.cluster
        if cluster.rpc[client] is None:
            return False
        return cluster.handle_rpc(client, False) or cluster.receive_rpc(client)

    def batch(self, word: int) -> bool:
        """A batch goes on."""
        client, topic, cluster = self._client(word), self._topic(word >> 8), self.cluster
        if cluster.produce[client][topic] is None:
            return False
        return (
            cluster.handle_produce(client, topic, False)
            or cluster.verify_partition(self._coordinator_for(word >> 16), client, topic, False)
            or cluster.receive_produce(client, topic)
        )

    def log(self, word: int) -> bool:
        """The coordinators' log goes on: a record commits, or a new leader loads it."""
        cluster = self.cluster
        if word & 1:
            return cluster.load_transactions() or cluster.commit_record()
        return cluster.commit_record() or cluster.load_transactions()

    def marker(self, word: int) -> bool:
        """Markers go on, or what they end is completed."""
        broker, topic, cluster = self._broker(word), self._topic(word >> 8), self.cluster
        if word >> 16 & 7 == 0:
            return cluster.complete_transaction(broker)
        if cluster.marker[broker][topic] is None:
            went_on = cluster.send_marker(broker, topic)
        else:
            arrives = self._may_mark(topic) and cluster.handle_marker(broker, topic, False)
            went_on = arrives or cluster.receive_marker_reply(broker, topic)
        if went_on:
            return True
        return not cluster.coordinators[broker].value.partitions and cluster.complete_transaction(broker)

    def _may_mark(self, topic: int) -> bool:
        return len(self.cluster.partitions[topic].log) < self.table.max_log - LOG_ROOM // 2

    def replicate(self, word: int) -> bool:
        """The replicas of a partition catch up, perhaps in part."""
        topic = self._topic(word)
        log = self.cluster.partitions[topic]
        behind = len(log.log) - log.high_watermark
        if not behind:
            return False
        part = 1 + (word >> 8) % behind if word >> 16 & 1 else behind
        return self.cluster.advance_high_watermark(topic, log.high_watermark + part)

    def fetch(self, word: int) -> bool:
        """A consumer's fetch goes on: mostly that of a consumer of committed records."""
        level, topic, cluster = int(not word & 3), self._topic(word >> 2), self.cluster
        if cluster.receive_fetch(level, topic) or cluster.send_fetch(level, topic):
            return True
        most = 1 + (word >> 12 & 3) if word >> 10 & 3 else self.table.max_log
        return (
            cluster.answer_fetch(level, topic, most)
            or cluster.handle_fetch(level, topic)
            or cluster.complete_delayed_fetch(level, topic, not word >> 16 & 15)
        )

    # --- faults -----------------------------------------------------------------------------------------------------

    def time_out(self, word: int) -> bool:
        """A transaction's time is over."""
        return self.cluster.abort_timed_out_transaction(self._broker(word))

    def fail(self, word: int) -> bool:
        """A coordinator's record cannot be written."""
        return self.cluster.fail_append(self._broker(word))

    def hurry(self, word: int) -> bool:
        """A process that gets another producer id goes on before the last transaction of this one is complete."""
        if not self.cluster.coordinators[self.cluster.log.leader].value.next_producer_id:
            return False
        return self.rpc(word) or self.batch(word) or self.client(word)

    def expire(self, word: int) -> bool:
        """A producer was silent for long."""
        topic = self._topic(word)
        entries = self.cluster.partitions[topic].producers.entries
        return bool(entries) and self.cluster.let_expire(topic, sorted(entries)[(word >> 8) % len(entries)])

    def clock(self, word: int) -> bool:
        """A coordinator's clock goes back."""
        return self.cluster.clock_goes_back(self._broker(word))

    def second(self, word: int) -> bool:
        """Two threads of a coordinator find a transaction complete, or the second of them goes on: mostly when the next
        transaction is open."""
        broker, cluster = self._broker(word), self.cluster
        if cluster.pending_complete_txn[broker] is None:
            return cluster.find_completion(broker)
        state = cluster.coordinators[broker].value.state
        return (state is State.ONGOING or not word >> 8 & 3) and cluster.complete_again(broker)

    def elect(self, word: int) -> bool:
        """Another broker coordinates."""
        cluster = self.cluster
        if cluster.log.epoch > self.table.max_coordinator_epoch - ROOM:
            return False
        waiting = min(len(cluster.log.unreplicated[cluster.log.leader]), self.table.max_unreplicated - 1)
        broker = (cluster.log.leader + 1 + word % (self._brokers - 1)) % self._brokers
        return cluster.become_coordinator(broker, (word >> 8) % (waiting + 1))

    def resign(self, word: int) -> bool:
        """A coordinator hears that it was deposed."""
        return self.cluster.resign(word % self._brokers)

    def disconnect(self, word: int) -> bool:
        """A request to a coordinator, or the reply, is lost."""
        return self.cluster.disconnect_rpc(self._client(word), bool(word >> 8 & 3))

    def resend_end(self, word: int) -> bool:
        """A process waits no more for the answer to its EndTxn, which may still arrive, and will send it again."""
        client = self._client(word)
        exchange = self.cluster.rpc[client]
        ends = exchange is not None and exchange.under_way and isinstance(exchange.request, EndTxnRequest)
        return ends and self.cluster.disconnect_rpc(client, True)

    def give_up(self, word: int) -> bool:
        """A batch's time is over."""
        return self.cluster.give_up_produce(self._client(word), self._topic(word >> 8), bool(word >> 16 & 3))

    def reconnect(self, word: int) -> bool:
        """The connection of a TxnOffsetCommit fails."""
        return self.cluster.disconnect_offsets(self._client(word), OFFSETS, bool(word >> 16 & 3))

    def refuse(self, word: int) -> bool:
        """A group refuses a TxnOffsetCommit."""
        error = GROUP_ERRORS[(word >> 8) % len(GROUP_ERRORS)]
        return self.cluster.refuse_offsets(self._client(word), OFFSETS, not word >> 16 & 3, error)

    def late_rpc(self, word: int) -> bool:
        """A late request to a coordinator arrives, or never will."""
        cluster, client = self.cluster, word % self._clients
        return cluster.handle_rpc(client, True) if word >> 8 & 3 else cluster.drop_late_rpc(client)

    def late_batch(self, word: int) -> bool:
        """A late batch goes on, or never will."""
        cluster, client, topic = self.cluster, word % self._clients, self._topic(word >> 8)
        if not word >> 16 & 7:
            return cluster.drop_late_produce(client, topic)
        return cluster.handle_produce(client, topic, True) or cluster.verify_partition(
            self._coordinator_for(word >> 20), client, topic, True
        )

    def late_marker(self, word: int) -> bool:
        """A late marker arrives, or never will."""
        cluster, broker, topic = self.cluster, self._broker(word), self._topic(word >> 8)
        if not word >> 16 & 1:
            return cluster.drop_late_marker(broker, topic)
        return self._may_mark(topic) and cluster.handle_marker(broker, topic, True)

    def overtake(self, word: int) -> bool:
        """A late marker arrives while a verified batch waits to be written."""
        cluster, broker, topic = self.cluster, self._broker(word), self._topic(word >> 8)
        batches = [slots[topic] for slots in cluster.produce]
        if not any(batch is not None and batch.is_at(ProduceStage.VERIFIED) for batch in batches):
            return False
        return self._may_mark(topic) and cluster.handle_marker(broker, topic, True)

    def straggle(self, word: int) -> bool:
        """An abandoned request arrives when its process is in another transaction. A request to the coordinator arrives
        after the transaction's first write, a batch before that."""
        client, topic, cluster = self._client(word), self._topic(word >> 8), self.cluster
        producer = cluster.clients[client]
        if producer.state is not ProducerState.IN_TRANSACTION or topic not in producer.partitions:
            return False
        if cluster.partitions[topic].transactions.is_open(producer.producer_id):
            return cluster.handle_rpc(client, True)
        late = cluster.late_produce[client][topic]
        if late is not None and cluster.partitions[topic].is_offsets and late.request.payload == producer.transaction:
            return False
        return cluster.handle_produce(client, topic, True) or cluster.verify_partition(
            cluster.log.leader, client, topic, True
        )

    def lose(self, word: int) -> bool:
        """A marker, or the reply, is lost."""
        return self.cluster.lose_marker(self._broker(word), self._topic(word >> 8), bool(word >> 16 & 3))

    def repeat(self, word: int) -> bool:
        """A marker is there twice."""
        return self.cluster.repeat_marker(self._broker(word), self._topic(word >> 8))

    def lose_fetch(self, word: int) -> bool:
        """A fetch, or the response, is lost."""
        return self.cluster.lose_fetch(word & 1, self._topic(word >> 8))

    def depose(self, word: int) -> bool:
        """Another broker leads a partition."""
        topic = self._topic(word)
        log = self.cluster.partitions[topic]
        loses = (word >> 8) % (len(log.log) - log.high_watermark + 1)
        return self.cluster.elect_partition_leader(topic, len(log.log) - loses)

    def crash(self, word: int) -> bool:
        """A process ends."""
        return self.cluster.crash_client(self._client(word))
