"""The state of a cluster under simulation: hosts with disks, the controller, the network, a client's answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from tidemark.log.storage import MemoryStorage, Payload
from tidemark.replication.broker import STARTING, Broker
from tidemark.replication.controller.records import (
    BrokerRegistrationChangeRecord,
    MetadataLog,
    PartitionChangeRecord,
    Record,
    RegisterBrokerRecord,
)
from tidemark.replication.controller.replication_control import ControllerResult, ReplicationControl
from tidemark.replication.messages import BrokerId
from tidemark.replication.partition import ReplicationConfig
from tidemark.replication.rules import Rules
from tidemark.replication.sim.network import Network
from tidemark.trace.recording import Recorder


class Host:
    """A machine: its disk, its process if one runs, and the nemesis's doings.

    `up` is the process if it is registered and not paused. `down` is how the last process ended. `paused`: nothing runs
    (a stop signal, a long collection of garbage). `stalled`: the thread that fetches has died. `slow_disk`: validated
    fetches are read later. `crowded`: a thread that lets a lock go waits long until it has it again. `skew_ms`: its
    clock minus the true time.
    """

    __slots__ = ("broker", "crowded", "down", "id", "paused", "skew_ms", "slow_disk", "stalled", "storage", "up")

    def __init__(self, broker_id: BrokerId) -> None:
        self.id = broker_id
        self.storage = MemoryStorage()
        self.broker: Broker | None = None
        self.down = "stopped"
        self.paused = False
        self.stalled = False
        self.slow_disk = False
        self.crowded = False
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
    """The replies that the client has received: each payload acknowledged with acks=all, with its offset, and payloads
    answered with an error."""

    acked: dict[Payload, int] = field(default_factory=dict)
    failed: list[Payload] = field(default_factory=list)
    lost_replies: list[Payload] = field(default_factory=list)


@cache
def first_metadata(count: int, leader: BrokerId) -> tuple[MetadataLog, ReplicationControl]:
    """The metadata with which clusters of `count` brokers begin, and a controller that has replayed it; each begins
    with copies."""
    records: list[Record] = [PartitionChangeRecord(leader, 0, 1, frozenset(range(count)), frozenset())]
    records += [RegisterBrokerRecord(broker, 1) for broker in range(count)]
    records += [BrokerRegistrationChangeRecord(broker, 1, False, False) for broker in range(count)]
    metadata, control = MetadataLog(), ReplicationControl(tuple(range(count)), 1, Rules())
    metadata.append(records)
    for record in records:
        control.replay(record)
    control.end_batch(metadata.end_offset)
    return metadata, control


class ClusterState:
    """The parts, without the events: see `Cluster`. `values`: payloads that leaders have appended -> their rank among
    these."""

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
        "values",
    )

    recorder: Recorder

    def __init__(self, count: int, first_leader: BrokerId, config: ReplicationConfig, rules: Rules) -> None:
        self.count = count
        self.config = config
        self.rules = rules
        self.now = 0
        self.replicas = tuple(range(count))
        self.network = Network(count)
        metadata, control = first_metadata(count, first_leader)
        self.metadata = metadata.copy()
        self.control = ReplicationControl(self.replicas, config.min_insync_replicas, rules)
        self.control.load(control)
        self.answers = Answers()
        self.values: dict[Payload, int] = {}
        self.hosts = [Host(broker_id) for broker_id in self.replicas]
        self._bootstrap(first_leader)

    def _bootstrap(self, first_leader: BrokerId) -> None:
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
        return Broker(broker_id, host.storage, self.replicas, self.config, self.rules)

    # --- possible events ----------------------------------------------------------------------------------------------

    def up(self, broker_id: BrokerId) -> Broker | None:
        """The broker if it is registered and not paused."""
        return self.hosts[broker_id].up

    def clock(self, broker_id: BrokerId) -> int:
        """The time by a broker's own clock."""
        return self.now + self.hosts[broker_id].skew_ms

    def _commit(self, result: ControllerResult) -> None:
        """The quorum has the controller's records: they are replayed, and brokers can fetch them."""
        if result.records:
            self.metadata.append(result.records)
            for record in result.records:
                self.control.replay(record)
            self.control.end_batch(self.metadata.end_offset)
