"""The controller's decisions on brokers and the partition (ReplicationControlManager, ClusterControlManager,
PartitionChangeBuilder).

A handler reads the state and returns records with a response. Only `replay` of records changes the state, so a
controller that takes over rebuilds it from the log. Sessions are the exception, as in Kafka (BrokerHeartbeatManager):
only the running controller knows the time of a broker's last heartbeat.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidemark.common.errors import (
    DUPLICATE_BROKER_REGISTRATION,
    ELECTION_NOT_NEEDED,
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_REQUEST,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    PREFERRED_LEADER_NOT_AVAILABLE,
    STALE_BROKER_EPOCH,
)
from tidemark.common.structs import value
from tidemark.replication.controller.records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    Record,
    RegisterBrokerRecord,
)
from tidemark.replication.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerId,
    BrokerRegistrationRequest,
)
from tidemark.replication.rules import Rules


@value
class BrokerRegistration:
    """The current incarnation of a broker; `offset` is that of the metadata after its registration."""

    broker_epoch: int
    fenced: bool
    in_controlled_shutdown: bool
    offset: int

    @property
    def active(self) -> bool:
        """Whether it may lead and be an ISR member."""
        return not self.fenced and not self.in_controlled_shutdown


@value
class ControllerResult:
    """Records to commit (none: nothing changes) and the error that the caller is told (NONE: success)."""

    records: tuple[Record, ...]
    error: str = NONE


NOTHING = ControllerResult(())
"""Nothing changes, and nothing is wrong."""


class ReplicationControl:
    """The controller's state of one partition and its brokers.

    `partition` is the last change; `registrations` has every broker that ever registered; `last_contact_ms` its last
    heartbeat by the controller's clock; `end_offset` counts replayed records.
    """

    __slots__ = (
        "_effective_min_isr",
        "_registering",
        "_replicas",
        "_rules",
        "end_offset",
        "last_contact_ms",
        "partition",
        "registrations",
    )

    def __init__(self, replicas: tuple[BrokerId, ...], min_insync_replicas: int, rules: Rules) -> None:
        self._replicas = replicas
        self._effective_min_isr = min(min_insync_replicas, len(replicas))
        self._rules = rules
        self.partition = PartitionChangeRecord(None, -1, 0, frozenset(), frozenset())
        self.registrations: dict[BrokerId, BrokerRegistration] = {}
        self._registering: list[BrokerId] = []  # in the batch that is being replayed
        self.last_contact_ms: dict[BrokerId, int] = {}
        self.end_offset = 0

    # --- elections ------------------------------------------------------------------------------------------------

    def elect_leader(self, leader: BrokerId) -> ControllerResult:
        """An operator's election: move the leadership to another valid broker. ELECTION_NOT_NEEDED: it leads already;
        INELIGIBLE_REPLICA: it is fenced or shuts down; PREFERRED_LEADER_NOT_AVAILABLE: `elect_from_isr` says no."""
        partition = self.partition
        if leader == partition.leader:
            return ControllerResult((), ELECTION_NOT_NEEDED)
        if not self.registrations[leader].active:
            return ControllerResult((), INELIGIBLE_REPLICA)
        if not self._rules.elect_from_isr(leader, partition.isr, partition.elr):
            return ControllerResult((), PREFERRED_LEADER_NOT_AVAILABLE)
        return ControllerResult(self._partition_change(partition.isr, frozenset(), leader))

    def _choose_leader(
        self, isr: frozenset[BrokerId], unclean: frozenset[BrokerId], active: list[BrokerId]
    ) -> BrokerId | None:
        """A valid current leader stays; else the first valid broker in replica order, None if there is none."""
        elr = self._next_elr(isr, unclean)
        allows = self._rules.elect_from_isr
        current = self.partition.leader
        if current is not None and current in active and allows(current, isr, elr):
            return current
        for broker in active:
            if allows(broker, isr, elr):
                return broker
        return None

    def _active(self, without: BrokerId | None = None, plus: BrokerId | None = None) -> list[BrokerId]:
        """The active brokers in replica order, as they will be after a change."""
        return [
            broker
            for broker in self._replicas
            if broker != without and (broker == plus or self.registrations[broker].active)
        ]

    # --- changes of the partition (PartitionChangeBuilder) --------------------------------------------------------

    def _next_elr(self, isr: frozenset[BrokerId], unclean: frozenset[BrokerId]) -> frozenset[BrokerId]:
        """A broker that leaves the ISR below the minimum stays eligible, unless its shutdown was unclean (KIP-966)."""
        if len(isr) >= self._effective_min_isr:
            return frozenset()
        return ((self.partition.elr | self.partition.isr) - isr) - unclean

    def _partition_change(
        self, isr: frozenset[BrokerId], unclean: frozenset[BrokerId], leader: BrokerId | None
    ) -> tuple[Record, ...]:
        """The record that gives the partition this ISR and leader; none if nothing changes. A leader from outside the
        ISR (from the ELR, or unclean) becomes its only member."""
        old = self.partition
        elr = self._next_elr(isr, unclean)
        if leader is not None and leader not in isr:
            isr = frozenset([leader])
        elr -= isr
        leader_epoch = old.leader_epoch + (leader != old.leader)
        if leader == old.leader and isr == old.isr and elr == old.elr:
            return ()
        return (PartitionChangeRecord(leader, leader_epoch, old.partition_epoch + 1, isr, elr),)

    # --- brokers --------------------------------------------------------------------------------------------------

    def register_broker(self, request: BrokerRegistrationRequest) -> ControllerResult:
        """A new incarnation registers. DUPLICATE_BROKER_REGISTRATION while the old session lives. After an unclean stop
        it leaves ISR and ELR before it can fetch; it starts fenced."""
        broker, old = request.broker_id, self.registrations[request.broker_id]
        if not old.fenced:
            return ControllerResult((), DUPLICATE_BROKER_REGISTRATION)
        leaves: frozenset[BrokerId] = frozenset()
        if self._rules.unclean_leaves_isr(request.previous_broker_epoch, old.broker_epoch):
            leaves = frozenset([broker])
        isr = self.partition.isr - leaves
        change = self._partition_change(isr, leaves, self._choose_leader(isr, leaves, self._active()))
        return ControllerResult((*change, RegisterBrokerRecord(broker, old.broker_epoch + 1)))

    def heartbeat(self, request: BrokerHeartbeatRequest, now: int) -> ControllerResult:
        """A broker is alive: it may be unfenced, or begin or finish its controlled shutdown. STALE_BROKER_EPOCH: it
        is not the registered incarnation."""
        broker, registration = request.broker_id, self.registrations[request.broker_id]
        if request.broker_epoch != registration.broker_epoch:
            return ControllerResult((), STALE_BROKER_EPOCH)
        self.last_contact_ms[broker] = now
        if request.want_shut_down:
            return self.controlled_shutdown(broker) if registration.active else NOTHING
        if registration.fenced and request.metadata_offset >= registration.offset:
            return self.unfence_broker(broker)
        return NOTHING

    def unfence_broker(self, broker: BrokerId) -> ControllerResult:
        """The broker has applied its own registration: it may lead, and a partition without a leader may get one."""
        isr = self.partition.isr
        leader = self._choose_leader(isr, frozenset(), self._active(plus=broker))
        change = self._partition_change(isr, frozenset(), leader)
        epoch = self.registrations[broker].broker_epoch
        return ControllerResult((*change, BrokerRegistrationChangeRecord(broker, epoch, False, False)))

    def fence_broker(self, broker: BrokerId) -> ControllerResult:
        """The broker's session has expired: it leaves the ISR, and the leadership if it had it."""
        return self._leave(broker, fenced=True)

    def controlled_shutdown(self, broker: BrokerId) -> ControllerResult:
        """The broker wants to stop: it leaves the ISR, and the leadership moves away."""
        return self._leave(broker, fenced=False)

    def _leave(self, broker: BrokerId, fenced: bool) -> ControllerResult:
        isr = self.partition.isr - {broker}
        leader = self._choose_leader(isr, frozenset(), self._active(without=broker))
        change = self._partition_change(isr, frozenset(), leader)
        epoch = self.registrations[broker].broker_epoch
        return ControllerResult((*change, BrokerRegistrationChangeRecord(broker, epoch, fenced, not fenced)))

    def session_expired(self, broker: BrokerId, now: int, timeout_ms: int) -> bool:
        """Whether nothing was heard of an unfenced broker for longer than the session lasts."""
        return not self.registrations[broker].fenced and now - self.last_contact_ms.get(broker, 0) > timeout_ms

    # --- AlterPartition -------------------------------------------------------------------------------------------

    def handle_alter_partition(self, request: AlterPartitionRequest) -> tuple[ControllerResult, AlterPartitionResponse]:
        """Decide a leader's proposal; the reply names the partition epoch that holds after the decision."""
        error = self._alter_verdict(request)
        records: tuple[Record, ...] = ()
        if error == NONE:
            records = self._partition_change(request.isr, frozenset(), request.broker_id)
        epoch = self.partition.partition_epoch + len(records)
        return ControllerResult(records), AlterPartitionResponse(error, request.leader_epoch, epoch)

    def _alter_verdict(self, request: AlterPartitionRequest) -> str:
        """Kafka's checks in Kafka's order."""
        rules, partition, registrations = self._rules, self.partition, self.registrations
        if not rules.alter_of_broker_epoch(request.broker_epoch, registrations[request.broker_id].broker_epoch):
            return STALE_BROKER_EPOCH
        if request.leader_epoch > partition.leader_epoch or request.partition_epoch > partition.partition_epoch:
            return NOT_CONTROLLER
        if not rules.alter_of_leader_epoch(request.leader_epoch, partition.leader_epoch):
            return FENCED_LEADER_EPOCH
        if partition.leader != request.broker_id:
            return INVALID_REQUEST
        if not rules.alter_of_partition_epoch(request.partition_epoch, partition.partition_epoch):
            return INVALID_UPDATE_VERSION
        for member in request.members:
            registered = registrations[member.broker_id]
            if not rules.broker_epoch_per_isr_member(member.broker_epoch, registered.broker_epoch):
                return INELIGIBLE_REPLICA
            if not rules.isr_members_active(registered.active):
                return INELIGIBLE_REPLICA
        return NONE

    # --- replay ---------------------------------------------------------------------------------------------------

    def replay(self, record: Record) -> None:
        """Take a committed record: the only way in which the state changes."""
        REPLAY[type(record)](self, record)

    def end_batch(self, end_offset: int) -> None:
        """The batch that was replayed ends at this offset of the metadata log; registrations in it count from there."""
        for broker in self._registering:
            registration = self.registrations[broker]
            self.registrations[broker] = BrokerRegistration(
                registration.broker_epoch, registration.fenced, registration.in_controlled_shutdown, end_offset
            )
        self._registering.clear()
        self.end_offset = end_offset

    def load(self, other: ReplicationControl) -> None:
        """Begin where the replay of another controller stands (a snapshot)."""
        self.partition = other.partition
        self.registrations = other.registrations.copy()
        self.end_offset = other.end_offset

    def _replay_partition_change(self, record: PartitionChangeRecord) -> None:
        self.partition = record

    def _replay_registration(self, record: RegisterBrokerRecord) -> None:
        self.registrations[record.broker_id] = BrokerRegistration(record.broker_epoch, True, False, -1)
        self._registering.append(record.broker_id)

    def _replay_registration_change(self, record: BrokerRegistrationChangeRecord) -> None:
        old = self.registrations[record.broker_id]
        self.registrations[record.broker_id] = BrokerRegistration(
            record.broker_epoch, record.fenced, record.in_controlled_shutdown, old.offset
        )


REPLAY: dict[type, Callable[[ReplicationControl, Any], None]] = {
    PartitionChangeRecord: ReplicationControl._replay_partition_change,
    RegisterBrokerRecord: ReplicationControl._replay_registration,
    BrokerRegistrationChangeRecord: ReplicationControl._replay_registration_change,
}
"""For each type of record, the method that replays it."""
