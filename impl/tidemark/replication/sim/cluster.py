"""A cluster under simulation, and every event that can happen in it. replicating.py has those of replication, this file
those of metadata, of brokers that come and go, and of their disks.

Which event comes next is somebody else's choice (run.py at random, scenario.py from a text). Times are milliseconds.
"""

from __future__ import annotations

from tidemark.common.errors import NONE, PREFERRED_LEADER_NOT_AVAILABLE
from tidemark.replication.broker import RUNNING, STARTING, STOPPING, Broker
from tidemark.replication.messages import BrokerId
from tidemark.replication.sim.replicating import Replication

SESSION_TIMEOUT_MS = 90


class Cluster(Replication):
    """`count` brokers, numbered from 0, that replicate one partition, and a controller (number `count` in the network).

    It starts with everything registered, in sync and empty, led by `first_leader`. `recorder` must be set before the
    first event.
    """

    __slots__ = ()

    # --- metadata -------------------------------------------------------------------------------------------------

    def apply_metadata(self, broker_id: BrokerId, end: int | None = None, answers_later: bool = False) -> bool:
        """A broker applies the metadata log up to offset `end` as one delta; None: all of it. When it no longer leads,
        it answers the produces that wait: now, or (`answers_later`) when a thread goes on that looks at them. A new
        incarnation starts with its own registration."""
        host = self.hosts[broker_id]
        broker = host.up
        if broker is None or self.network.cut[self.count][broker_id]:
            return False
        if end is None:
            end = self.metadata.end_offset
        start = broker.published_offset
        if end <= start or end < self.control.registrations[broker_id].offset:
            return False
        led = broker.partition.is_leader
        if not led:
            self.fail_waiting(broker)
        changed = broker.apply_metadata(self.metadata.delta(start, end), end, self.now + host.skew_ms)
        if not changed:
            return False
        if led and not broker.partition.is_leader:
            self.answer_uncounted(broker)
        self.recorder.did("ApplyMetadata", broker_id, broker.partition.partition_epoch)
        if not (answers_later or host.crowded or broker.partition.is_leader):
            self.fail_waiting(broker)
        return True

    def fail_waiting(self, broker: Broker) -> None:
        """A broker that leads no more answers the produces that wait."""
        for payload in list(broker.purgatory.waiting):
            self.fail_produce(broker.id, payload)

    def load_metadata(self, broker_id: BrokerId) -> bool:
        """A new incarnation reads the metadata log up to the last batch before its registration: no step of the
        specification, as nothing hears of it. It may tell the controller how far it is."""
        broker = self.hosts[broker_id].up
        if broker is None or self.network.cut[self.count][broker_id]:
            return False
        registration = self.control.registrations[broker_id]
        end = max((one for one in self.metadata.ends if one < registration.offset), default=0)
        if end <= broker.metadata_offset:
            return False
        broker.load_metadata(end)
        return True

    # --- brokers and the controller -------------------------------------------------------------------------------

    def elect_leader(self, broker_id: BrokerId) -> bool:
        """An operator moves the leadership."""
        result = self.control.elect_leader(broker_id)
        if result.error == PREFERRED_LEADER_NOT_AVAILABLE:
            self.recorder.blocked("ElectLeader", broker_id)
            return True
        if result.error is not NONE:
            return False
        self._commit(result)
        self.recorder.did("ElectLeader", broker_id)
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
        self.recorder.did(action, broker_id, self.control.partition.leader)
        return True

    def expire_session(self, broker_id: BrokerId) -> bool:
        """The controller has not heard of a broker for too long. A broker that is up and connected is heard of, unless
        its clock runs behind so far that its heartbeats come too late."""
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
        self.recorder.did("FenceBroker", broker_id, self.control.partition.leader)
        return True

    def ask_to_stop(self, broker_id: BrokerId) -> bool:
        """An operator asks a broker to stop."""
        broker = self.hosts[broker_id].up
        if broker is None or broker.state != RUNNING:
            return False
        broker.ask_to_stop()
        self.recorder.did("AskToStop", broker_id)
        return True

    def stop_broker(self, broker_id: BrokerId, anyway: bool = False) -> bool:
        """A broker that wants to stop, and has been let go, stops cleanly. `anyway`: it has waited long enough for the
        controller (BrokerServer.shutdown), and stops while it is registered as active."""
        broker = self.hosts[broker_id].up
        if broker is None or broker.state != STOPPING:
            return False
        if self.control.registrations[broker_id].active and not anyway:
            return False
        broker.stop_broker()
        self._process_ends(broker_id, "stopped")
        self.recorder.did("StopBroker", broker_id)
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
        self.recorder.did("CrashBroker", broker_id, keep)
        return True

    def leaves_one_intact(self, broker_id: BrokerId) -> bool:
        """The protocol's assumption about its environment: the predicate of the same name in the specification."""
        eligible = self.control.partition.isr | self.control.partition.elr
        return broker_id not in eligible or any(
            other != broker_id and not self._lost_records(other) for other in sorted(eligible)
        )

    def _lost_records(self, broker_id: BrokerId) -> bool:
        """Whether the broker lost records in its last crash and has not registered since."""
        host = self.hosts[broker_id]
        return host.down == "lossy" and (host.broker is None or host.broker.state == STARTING)

    def _process_ends(self, broker_id: BrokerId, how: str) -> None:
        """The process and its connections are gone; messages that it had sent may still arrive."""
        host = self.hosts[broker_id]
        host.broker = None
        host.down = how
        host.pause(False)
        host.stalled = False
        for connection in self.network.fetches[broker_id]:
            if connection.request is not None:
                connection.clear()
        for row in self.network.fetches:
            connection = row[broker_id]
            if connection.request is not None and connection.response is None:
                connection.clear()
        if self.network.alters[broker_id].response is not None:
            self.network.alters[broker_id].clear()
        for read in self.network.reads:
            if read.source == broker_id and read.response is None:
                read.clear()

    def start_broker(self, broker_id: BrokerId) -> bool:
        """A new process starts on the disk and registers, if the controller has fenced the old one."""
        host = self.hosts[broker_id]
        if host.broker is None:
            host.broker = self._process(broker_id)
        broker = host.broker
        if broker.state != STARTING or self.network.cut[broker_id][self.count]:
            return False
        result = self.control.register_broker(broker.registration())
        if result.error is not NONE:
            return False
        self._commit(result)
        broker.registered(self.control.registrations[broker_id].broker_epoch)
        host.settle()
        self.recorder.did("RegisterBroker", broker_id, self.control.partition.leader)
        return True

    # --- disk -----------------------------------------------------------------------------------------------------

    def flush_log(self, broker_id: BrokerId) -> bool:
        """A broker flushes its log."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.log.flush_log():
            return False
        self.recorder.did("FlushLog", broker_id)
        return True

    def checkpoint_high_watermark(self, broker_id: BrokerId) -> bool:
        """A broker writes its high watermark to the checkpoint file."""
        broker = self.hosts[broker_id].up
        if broker is None or not broker.log.checkpoint_high_watermark():
            return False
        self.recorder.did("CheckpointHighWatermark", broker_id)
        return True
