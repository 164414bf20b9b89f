"""A cluster under simulation: hosts with disks, the controller, the network; and every event that can happen in it.

An event method runs one handler, moves the messages that it made, and tells the recorder which action of the
specification that was; it returns False, and nothing has happened, when the event is not possible now. Which event
comes
next is somebody else's choice (run.py at random, scenario.py from a text). Times are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from tidemark.changes import EVERYTHING, Changes
from tidemark.controller.records import (
    BrokerRegistrationChangeRecord,
    MetadataLog,
    PartitionChangeRecord,
    Record,
    RegisterBrokerRecord,
)
from tidemark.controller.replication_control import ControllerResult, ReplicationControl
from tidemark.errors import NONE, PREFERRED_LEADER_NOT_AVAILABLE
from tidemark.log.storage import MemoryStorage, Payload
from tidemark.replication import fetcher as fetching
from tidemark.replication.broker import RUNNING, STARTING, STOPPING, Broker
from tidemark.replication.messages import (
    AlterPartitionRequest,
    BrokerId,
    PendingRead,
    ProduceRequest,
    Refused,
)
from tidemark.replication.partition import ReplicationConfig
from tidemark.replication.rules import Rules
from tidemark.sim.network import FetchConnection, Network

SESSION_TIMEOUT_MS = 90


class Host:
    """A machine: its disk, its process if one runs, and what the nemesis does to it.

    `up` is the process if it is registered and not paused; `down` is how the last process ended; `paused`: nothing
    runs (a
    stop signal, a long collection of garbage); `slow_disk`: validated fetches are read later; `skew_ms`: its clock
    minus the true time.
    """

    __slots__ = ("broker", "changes", "down", "id", "paused", "skew_ms", "slow_disk", "storage", "up")

    def __init__(self, broker_id: BrokerId) -> None:
        self.id = broker_id
        self.storage = MemoryStorage()
        self.changes = Changes()
        self.broker: Broker | None = None
        self.down = "stopped"
        self.paused = False
        self.slow_disk = False
        self.skew_ms = 0
        self.up: Broker | None = None

    def pause(self, paused: bool) -> None:
        """The process stands still, or goes on."""
        self.paused = paused
        self.settle()

    def settle(self) -> None:
        """Find out again whether the process is up."""
        broker = self.broker
        self.up = broker if broker is not None and not self.paused and broker.state != STARTING else None


@dataclass(slots=True)
class Answers:
    """What the client has heard: per payload acknowledged with acks=all its offset; payloads answered with an error."""

    acked: dict[Payload, int] = field(default_factory=dict)
    failed: list[Payload] = field(default_factory=list)
    lost_replies: list[Payload] = field(default_factory=list)


class Recorder(Protocol):
    """What a cluster tells of its events: see recorder.py."""

    abstraction: Any

    def step(self, *what: Any) -> None:
        """A handler has run: the action that it is and its parameters' values, the broker first."""

    def blocked(self, *what: Any) -> None:
        """A rule refused an action."""


@cache
def first_records(count: int, leader: BrokerId) -> tuple[Record, ...]:
    """The metadata with which a cluster of `count` brokers begins."""
    return (
        PartitionChangeRecord(leader, 0, 1, frozenset(range(count)), frozenset()),
        *[RegisterBrokerRecord(broker, 1) for broker in range(count)],
        *[BrokerRegistrationChangeRecord(broker, 1, False, False) for broker in range(count)],
    )


class Cluster:
    """`count` brokers, numbered from 0, that replicate one partition, and a controller (number `count` in the network).

    It starts with everything registered, in sync and empty, led by `first_leader`. `recorder` must be set before the
    first
    event.
    """

    __slots__ = (
        "answers",
        "config",
        "control",
        "count",
        "hosts",
        "metadata",
        "network",
        "now",
        "recorder",
        "replicas",
        "rules",
    )

    recorder: Recorder

    def __init__(self, count: int, first_leader: BrokerId, config: ReplicationConfig, rules: Rules) -> None:
        self.count = count
        self.config = config
        self.rules = rules
        self.now = 0
        self.replicas = tuple(range(count))
        self.network = Network(count)
        self.metadata = MetadataLog()
        self.control = ReplicationControl(self.replicas, config.min_insync_replicas, rules)
        self.answers = Answers()
        self.hosts = [Host(broker_id) for broker_id in self.replicas]
        self._bootstrap(first_leader)

    def _bootstrap(self, first_leader: BrokerId) -> None:
        self._commit(ControllerResult(first_records(self.count, first_leader)))
        end = self.metadata.end_offset
        delta = self.metadata.delta(0, end)
        for broker_id, host in enumerate(self.hosts):
            host.broker = host.up = broker = self._process(broker_id)
            broker.registered(1)
            broker.apply_metadata(delta, end, 0)
        leader = self.hosts[first_leader].broker
        if leader is not None:  # whatever the rules say of later elections
            leader.log.epoch_cache.assign(0, 0)

    def _process(self, broker_id: BrokerId) -> Broker:
        host = self.hosts[broker_id]
        return Broker(broker_id, host.storage, self.replicas, self.config, self.rules, host.changes)

    # --- who can do what ------------------------------------------------------------------------------------------

    def up(self, broker_id: BrokerId) -> Broker | None:
        """The broker if it is registered and not paused."""
        return self.hosts[broker_id].up

    def clock(self, broker_id: BrokerId) -> int:
        """The time by a broker's own clock."""
        return self.now + self.hosts[broker_id].skew_ms

    # --- fetch ----------------------------------------------------------------------------------------------------

    def send_fetch(self, follower: BrokerId) -> bool:
        """A follower asks the leader that it knows of."""
        broker = self.hosts[follower].up
        if broker is None:
            return False
        source = broker.partition.leader_id
        if source is None or source == follower:
            return False
        connection = self.network.fetches[follower][source]
        if connection.request is not None:
            return False
        connection.ask(broker.fetcher.send_fetch())
        self.recorder.step("SendFetch", follower, source)
        return True

    def receive_fetch(self, connection: FetchConnection, limit: int, lazily: bool = False) -> bool:
        """A fetch request arrives at its source; `lazily`: its bytes are read later."""
        source, follower, request = connection.source, connection.follower, connection.request
        broker = self.hosts[source].up
        if (
            broker is None
            or request is None
            or connection.read is not None
            or connection.response is not None
            or self.network.cut[follower][source]
        ):
            return False
        answer = broker.partition.receive_fetch(request, limit, self.clock(source), lazily)
        if isinstance(answer, PendingRead):
            connection.begin_read(answer)
            self.recorder.step("ValidateFetch", source, follower, answer.limit)
            return True
        connection.answer(answer)
        if answer.error != NONE:
            self.recorder.step("RejectFetch", source, follower)
        elif answer.diverging is not None:
            self.recorder.step("AnswerDiverging", source, follower)
        else:
            batches = answer.records
            count = sum([len(batch.records) for batch in batches]) if batches else 0
            self.recorder.step("HandleFetch", source, follower, count)
        return True

    def read_fetch(self, connection: FetchConnection) -> bool:
        """The socket takes the bytes of a validated fetch."""
        broker, read = self.hosts[connection.source].up, connection.read
        if broker is None or read is None:
            return False
        connection.answer(broker.partition.read_fetch(read))
        self.recorder.step("ReadFetch", connection.source, connection.follower)
        return True

    def receive_response(self, connection: FetchConnection, adopt_first: bool = False) -> bool:
        """A fetch response arrives at the follower. `adopt_first`: of a diverging one it would like to take the high
        watermark and nothing more, for now."""
        follower, source = connection.follower, connection.source
        request, response = connection.request, connection.response
        broker = self.hosts[follower].up
        if broker is None or request is None or response is None or self.network.cut[source][follower]:
            return False
        fetcher, record = broker.fetcher, self.recorder
        verdict = fetcher.verdict(source, request, response)
        if verdict == fetching.TRUNCATE and adopt_first:
            if fetcher.follower_adopt_hw(response):
                record.step("FollowerAdoptHw", follower, source)
            else:
                record.blocked("FollowerAdoptHw", follower, source)
            return True
        connection.clear()
        if verdict == fetching.APPEND:
            fetcher.follower_append(request, response)
            record.step("FollowerAppend", follower, source)
        elif verdict == fetching.TRUNCATE:
            fetcher.follower_truncate(response)
            record.step("FollowerTruncate", follower, source)
        elif verdict == fetching.OUT_OF_RANGE:
            fetcher.follower_out_of_range(response)
            record.step("FollowerOutOfRange", follower, source)
        else:
            record.step("DropFetchResponse", follower, source)
        return True

    def lose_fetch(self, connection: FetchConnection) -> bool:
        """The connection breaks; a new one starts idle."""
        if connection.request is None:
            return False
        connection.clear()
        self.recorder.step("LoseFetch", connection.follower, connection.source)
        return True

    # --- produce --------------------------------------------------------------------------------------------------

    def append_record(self, broker_id: BrokerId, payload: Payload, acks: str) -> bool:
        """A produce attempt arrives at a broker that believes to lead."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.partition.is_leader:
            return False
        response = broker.append_record(ProduceRequest(payload, acks), self.clock(broker_id))
        value = len(self.recorder.abstraction.values) + 1
        if isinstance(response, Refused):
            self.recorder.blocked("AppendRecord", broker_id, value, acks)
            self.answers.failed.append(payload)
        else:
            self.recorder.step("AppendRecord", broker_id, value, acks)
        return True

    def complete_produce(self, broker_id: BrokerId, payload: Payload, reply_arrives: bool = True) -> bool:
        """The purgatory looks at a waiting produce."""
        broker = self.hosts[broker_id].up
        if broker is None:
            return False
        response = broker.purgatory.complete_produce(payload)
        if response is None:
            return False
        value = self.recorder.abstraction.values[payload]
        if isinstance(response, Refused):
            would_be_told = broker.purgatory.waiting[payload].base_offset
            self.recorder.blocked("CompleteProduce", broker_id, value, would_be_told)
            return True
        self.recorder.step("CompleteProduce", broker_id, value, response.base_offset)
        if reply_arrives:
            self.answers.acked[payload] = response.base_offset
        else:
            self.answers.lost_replies.append(payload)
        return True

    def fail_produce(self, broker_id: BrokerId, payload: Payload) -> bool:
        """The purgatory answers a waiting produce with the error that is due."""
        broker = self.hosts[broker_id].up
        if broker is None:
            return False
        response = broker.purgatory.fail_produce(payload, self.clock(broker_id))
        if response is None:
            return False
        value = self.recorder.abstraction.values[payload]
        self.recorder.step("FailProduce", broker_id, value, response.error)
        self.answers.failed.append(payload)
        return True

    # --- the ISR --------------------------------------------------------------------------------------------------

    def shrink_isr(self, broker_id: BrokerId, member: BrokerId | None = None) -> bool:
        """The leader's periodic check finds a member that lags (`member`: this one)."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.partition.is_leader or not self.network.alters[broker_id].idle:
            return False
        if member is None:
            member = broker.partition.lagging_member(self.clock(broker_id))
        request = None if member is None else broker.partition.shrink_isr(member, broker.epoch)
        if request is None:
            return False
        self.network.alters[broker_id].ask(request)
        self.recorder.step("ShrinkIsr", broker_id, member)
        return True

    def expand_isr(self, broker_id: BrokerId, follower: BrokerId) -> bool:
        """The leader checks whether a follower has caught up."""
        broker = self.hosts[broker_id].up
        if broker is None or follower == broker_id or not self.network.alters[broker_id].idle:
            return False
        request = broker.partition.expand_isr(follower, broker.epoch)
        if request is None:
            return False
        if not isinstance(request, AlterPartitionRequest):
            self.recorder.blocked("ExpandIsr", broker_id, follower)
            return True
        self.network.alters[broker_id].ask(request)
        self.recorder.step("ExpandIsr", broker_id, follower)
        return True

    def resend_alter_partition(self, broker_id: BrokerId) -> bool:
        """The leader heard nothing of its proposal and sends it again."""
        broker = self.hosts[broker_id].up
        if broker is None or not self.network.alters[broker_id].idle:
            return False
        request = broker.partition.resend_alter_partition(broker.epoch)
        if request is None:
            return False
        self.network.alters[broker_id].ask(request)
        self.recorder.step("ResendAlterPartition", broker_id)
        return True

    def receive_alter_partition(self, broker_id: BrokerId) -> bool:
        """A proposal arrives at the controller."""
        connection = self.network.alters[broker_id]
        if connection.request is None or self.network.cut[broker_id][self.count]:
            return False
        result, response = self.control.handle_alter_partition(connection.request)
        self._commit(result)
        connection.answer(response)
        self.recorder.step("HandleAlterPartition", broker_id)
        return True

    def receive_alter_reply(self, broker_id: BrokerId) -> bool:
        """The controller's decision arrives at the leader that proposed."""
        connection, broker = self.network.alters[broker_id], self.hosts[broker_id].up
        reply = connection.response
        if broker is None or reply is None or self.network.cut[self.count][broker_id]:
            return False
        connection.clear()
        broker.partition.handle_alter_partition_reply(reply)
        self.recorder.step("HandleAlterPartitionReply", broker_id)
        return True

    def lose_alter_partition(self, broker_id: BrokerId) -> bool:
        """The connection to the controller breaks."""
        connection = self.network.alters[broker_id]
        if connection.idle:
            return False
        connection.clear()
        self.recorder.step("LoseAlterPartition", broker_id)
        return True

    # --- metadata -------------------------------------------------------------------------------------------------

    def apply_metadata(self, broker_id: BrokerId, end: int | None = None) -> bool:
        """A broker applies the metadata log up to offset `end` (None: all of it) as one delta; after it no longer
        leads,
        it answers the produces that wait. A new incarnation starts with its own registration."""
        broker = self.hosts[broker_id].up
        if broker is None or self.network.cut[self.count][broker_id]:
            return False
        if end is None:
            end = self.metadata.end_offset
        start = broker.metadata_offset
        if end <= start or end < self.control.registrations[broker_id].offset:
            return False
        changed = broker.apply_metadata(self.metadata.delta(start, end), end, self.clock(broker_id))
        if not changed:
            return False
        self.recorder.step("ApplyMetadata", broker_id, broker.partition.partition_epoch)
        if broker.purgatory.waiting and not broker.partition.is_leader:
            for payload in list(broker.purgatory.waiting):
                self.fail_produce(broker_id, payload)
        return True

    def _commit(self, result: ControllerResult) -> None:
        """The quorum has the controller's records: they are replayed, and brokers can fetch them."""
        if result.records:
            self.metadata.append(result.records)
            for record in result.records:
                self.control.replay(record)
            self.control.end_batch(self.metadata.end_offset)

    # --- brokers and the controller -------------------------------------------------------------------------------

    def elect_leader(self, broker_id: BrokerId) -> bool:
        """An operator moves the leadership."""
        result = self.control.elect_leader(broker_id)
        if result.error == PREFERRED_LEADER_NOT_AVAILABLE:
            self.recorder.blocked("ElectLeader", broker_id)
            return True
        if result.error != NONE:
            return False
        self._commit(result)
        self.recorder.step("ElectLeader", broker_id)
        return True

    def heartbeat(self, broker_id: BrokerId) -> bool:
        """A heartbeat arrives; it counts as an event when it unfences the broker or lets it stop."""
        broker = self.hosts[broker_id].up
        if broker is None or self.network.cut[broker_id][self.count]:
            return False
        result = self.control.heartbeat(broker.heartbeat(), self.now)
        if not result.records:
            return False
        self._commit(result)
        action = "ControlledShutdown" if broker.state == STOPPING else "UnfenceBroker"
        self.recorder.step(action, broker_id, self.control.partition.leader)
        return True

    def expire_session(self, broker_id: BrokerId) -> bool:
        """The controller has not heard of a broker for too long. A broker that is up and connected is heard of,
        unless its
        clock runs behind so far that its heartbeats come too late."""
        host = self.hosts[broker_id]
        if (
            self.hosts[broker_id].up is not None
            and not self.network.cut[broker_id][self.count]
            and host.skew_ms > -SESSION_TIMEOUT_MS
        ):
            self.control.last_contact_ms[broker_id] = self.now
            return False
        if not self.control.session_expired(broker_id, self.now, SESSION_TIMEOUT_MS):
            return False
        self._commit(self.control.fence_broker(broker_id))
        self.recorder.step("FenceBroker", broker_id, self.control.partition.leader)
        return True

    def begin_stop(self, broker_id: BrokerId) -> bool:
        """An operator asks a broker to stop: no step of the specification yet."""
        broker = self.hosts[broker_id].up
        if broker is None or broker.state != RUNNING:
            return False
        broker.begin_stop()
        return True

    def stop_broker(self, broker_id: BrokerId) -> bool:
        """A broker that wants to stop, and has been let go, stops cleanly."""
        broker = self.hosts[broker_id].up
        if broker is None or broker.state != STOPPING or self.control.registrations[broker_id].active:
            return False
        broker.stop_broker()
        self._process_ends(broker_id, "stopped")
        self.recorder.step("StopBroker", broker_id)
        return True

    def crash_broker(self, broker_id: BrokerId, keep: int) -> bool:
        """The machine fails; records below `keep` survive, the flushed ones at least. A crash that loses records needs
        another intact member of ISR or ELR (`EnvironmentLeavesOneIntact`)."""
        host = self.hosts[broker_id]
        broker = host.broker
        if broker is None or broker.state == STARTING:
            return False
        storage = host.storage
        if not storage.flushed_offset <= keep <= storage.end_offset:
            return False
        loses = keep < storage.end_offset
        if loses and not self.leaves_one_intact(broker_id):
            return False
        storage.fail(keep)
        self._process_ends(broker_id, "lossy" if loses else "crashed")
        self.recorder.step("CrashBroker", broker_id, keep)
        return True

    def leaves_one_intact(self, broker_id: BrokerId) -> bool:
        """What the protocol assumes of its environment: the predicate of the same name in the specification."""
        eligible = self.control.partition.isr | self.control.partition.elr
        return broker_id not in eligible or any(
            other != broker_id and not self._lost_records(other) for other in sorted(eligible)
        )

    def _lost_records(self, broker_id: BrokerId) -> bool:
        """Whether the broker lost records in its last crash and has not registered since."""
        host = self.hosts[broker_id]
        return host.down == "lossy" and (host.broker is None or host.broker.state == STARTING)

    def _process_ends(self, broker_id: BrokerId, how: str) -> None:
        """The process and its connections are gone; what it had sent may still arrive."""
        host = self.hosts[broker_id]
        host.broker = None
        host.down = how
        host.pause(False)
        host.changes.mask = EVERYTHING
        for connection in self.network.fetches[broker_id]:
            if connection.request is not None:
                connection.clear()
        for row in self.network.fetches:
            connection = row[broker_id]
            if connection.request is not None and connection.response is None:
                connection.clear()
        if self.network.alters[broker_id].response is not None:
            self.network.alters[broker_id].clear()

    def start_broker(self, broker_id: BrokerId) -> bool:
        """A new process starts on the disk and registers, if the controller has fenced the old one."""
        host = self.hosts[broker_id]
        if host.broker is None:
            host.broker = self._process(broker_id)
        broker = host.broker
        if broker.state != STARTING or self.network.cut[broker_id][self.count]:
            return False
        result = self.control.register_broker(broker.registration())
        if result.error != NONE:
            return False
        self._commit(result)
        broker.registered(self.control.registrations[broker_id].broker_epoch)
        host.settle()
        host.changes.mask = EVERYTHING
        self.recorder.step("RegisterBroker", broker_id, self.control.partition.leader)
        return True

    # --- disk -----------------------------------------------------------------------------------------------------

    def flush_log(self, broker_id: BrokerId) -> bool:
        """A broker flushes its log."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.log.flush_log():
            return False
        self.recorder.step("FlushLog", broker_id)
        return True

    def checkpoint_high_watermark(self, broker_id: BrokerId) -> bool:
        """A broker writes its high watermark to the checkpoint file."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.log.checkpoint_high_watermark():
            return False
        self.recorder.step("CheckpointHighWatermark", broker_id)
        return True
