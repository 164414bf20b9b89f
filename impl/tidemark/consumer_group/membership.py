"""A consumer's place in a KIP-848 group, without sockets and clock (ConsumerMembershipManager).

The coordinator gives the target assignment; the consumer gets there by itself, one reconciliation at a time:

    on_assignment           a heartbeat's reply brings another assignment
    reconcile               `revoked` the partitions not in it; the listener may commit, all is still owned
    finish_reconciliation   the listener has returned: the rest is owned, `assigned` the new ones; to be acknowledged
    on_heartbeat_sent       it is acknowledged
    on_fenced               `lost` everything; it joins again under the member id that it keeps for life (KIP-1082)

`revoked` is told while the partitions are still owned; `lost` comes too late for a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Protocol

from tidemark.common.errors import BrokenInvariant
from tidemark.common.rule_kinds import case
from tidemark.common.transitions import Transition, after
from tidemark.groups.partitions import TopicPartition
from tidemark.groups.rebalance_listener import Partitions, RebalanceListener
from tidemark.groups.subscription_state import SubscriptionState

Owned = Collection[TopicPartition]


class MemberState(Enum):
    """The stages of a consumer on the way to its assignment (org.apache.kafka.clients.consumer.internals.MemberState).

    It heartbeats in every state, and commits while its epoch is not 0.
    """

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    JOINING = "JOINING"
    """Its heartbeats have epoch 0 and say everything; the first good reply moves it on."""
    RECONCILING = "RECONCILING"
    """It owns something else than it was assigned; the end of the reconciliation moves it on."""
    ACKNOWLEDGING = "ACKNOWLEDGING"
    """It is reconciled and has not said so; the next heartbeat moves it on."""
    STABLE = "STABLE"
    """It has what it was assigned, and the coordinator knows. Another assignment moves it on."""


class MemberEvent(Enum):
    """The events of a consumer's membership."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    ASSIGNED = "something else is assigned than it owns"
    CONFIRMED = "what it owns is assigned"
    RECONCILED = "the reconciliation is over"
    ACKNOWLEDGED = "a heartbeat has said what it owns"
    BEHIND = "a heartbeat has said what it owns, and more is assigned since"
    FENCED = "the coordinator does not know it, or not in its epoch"


_ASSIGNED = Transition(MemberState.RECONCILING, "it has partitions to give up, or to take, or both")
_FENCED = Transition(MemberState.JOINING, "its partitions may be another's already: it joins as a new member does")

TRANSITIONS: dict[tuple[MemberState, MemberEvent], Transition[MemberState]] = {
    (MemberState.JOINING, MemberEvent.ASSIGNED): _ASSIGNED,
    (MemberState.JOINING, MemberEvent.CONFIRMED): Transition(
        MemberState.STABLE, "it is a member, and there is nothing for it yet"
    ),
    (MemberState.RECONCILING, MemberEvent.ASSIGNED): _ASSIGNED,
    (MemberState.RECONCILING, MemberEvent.CONFIRMED): Transition(
        MemberState.STABLE, "the assignment has changed back to what it owns"
    ),
    (MemberState.RECONCILING, MemberEvent.RECONCILED): Transition(
        MemberState.ACKNOWLEDGING, "the coordinator waits to hear what it owns"
    ),
    (MemberState.ACKNOWLEDGING, MemberEvent.ASSIGNED): _ASSIGNED,
    (MemberState.ACKNOWLEDGING, MemberEvent.CONFIRMED): Transition(
        MemberState.ACKNOWLEDGING, "the coordinator has still not heard what it owns"
    ),
    (MemberState.ACKNOWLEDGING, MemberEvent.ACKNOWLEDGED): Transition(
        MemberState.STABLE, "it has said what it owns, and that is all it was assigned"
    ),
    (MemberState.ACKNOWLEDGING, MemberEvent.BEHIND): Transition(
        MemberState.RECONCILING, "it was assigned something else while it took the last assignment"
    ),
    (MemberState.STABLE, MemberEvent.ASSIGNED): _ASSIGNED,
    (MemberState.STABLE, MemberEvent.CONFIRMED): Transition(
        MemberState.STABLE, "a full heartbeat is told again what it is assigned"
    ),
    **{(state, MemberEvent.FENCED): _FENCED for state in MemberState},
}


@case
def report_until_revoked(reconciling: bool) -> bool:
    """KIP-848: a consumer reports its partitions as owned until the rebalance listener is done. Without it a revocation
    is acknowledged while the consumer still reads."""
    return reconciling


@case
def report_what_is_taken(taken: Owned, owned: Owned) -> bool:
    """This project's; Kafka 4.x lacks it: a consumer also reports assigned partitions that it is about to take
    (`taken`). Without it a heartbeat sent while it takes a partition reads as if it had revoked it. The next member
    gets it, and both read it."""
    return any(one not in owned for one in taken)


@case
def abandon_reconciliation(reconciling: bool) -> bool:
    """KIP-848: a fenced member gives up the reconciliation under way. Without it a consumer that has joined again takes
    partitions that it was assigned before."""
    return reconciling


class ConsumerRules(Protocol):
    """The rules that a consumer asks."""

    @property
    def report_until_revoked(self) -> Callable[[bool], bool]:
        """The rule of that name."""

    @property
    def report_what_is_taken(self) -> Callable[[Owned, Owned], bool]:
        """The rule of that name."""

    @property
    def abandon_reconciliation(self) -> Callable[[bool], bool]:
        """The rule of that name."""


class ConsumerGroupMembership:
    """The state. `target`: the coordinator's last assignment. `resolved`: the partitions that will be owned when the
    rebalance listener is done, None: it is not at work. `unreported`: the partitions that are owned, or may be taken,
    have changed since the last report."""

    __slots__ = (
        "_listener", "_rules", "member_epoch", "member_id", "resolved", "state", "subscriptions", "target",
        "unreported",
    )  # fmt: skip

    def __init__(
        self, member_id: str, subscriptions: SubscriptionState, rules: ConsumerRules, listener: RebalanceListener
    ) -> None:
        self.member_id = member_id
        self.member_epoch = 0
        self.state = MemberState.JOINING
        self.subscriptions = subscriptions
        self.target: Partitions = ()
        self.resolved: Partitions | None = None
        self.unreported = False
        self._rules = rules
        self._listener = listener

    @property
    def reconciling(self) -> bool:
        """Whether the rebalance listener is at work."""
        return self.resolved is not None

    def _moved(self, event: MemberEvent) -> None:
        self.state = after(TRANSITIONS, "a consumer", self.state, event)

    def _about_to_take(self) -> bool:
        return self._rules.report_what_is_taken((*(self.resolved or ()), *self.target), self.subscriptions.owned)

    def report(self, everything: bool) -> Partitions | None:
        """The owned partitions that a heartbeat reports; None if the last report still holds."""
        owned, resolved = self.subscriptions.owned, self.resolved
        if resolved is not None and not self._rules.report_until_revoked(self.reconciling):
            return resolved
        if not everything and not self.unreported:
            return None
        if self._about_to_take():
            return tuple(sorted({*owned, *(resolved or ()), *self.target}))
        return owned

    def on_heartbeat_sent(self) -> None:
        """The owned partitions are reported. A member that had to acknowledge becomes stable, unless its target has
        changed."""
        self.unreported = False
        if self.state is MemberState.ACKNOWLEDGING:
            done = self.subscriptions.owned == self.target
            self._moved(MemberEvent.ACKNOWLEDGED if done else MemberEvent.BEHIND)

    def on_heartbeat(self, member_epoch: int, assignment: Iterable[TopicPartition] | None) -> None:
        """A heartbeat was answered: the epoch, and an assignment if there is one. It may take back partitions that were
        reported as about to be taken. Then the coordinator has to hear that they were not taken."""
        self.member_epoch = member_epoch
        if assignment is None:
            return
        target = tuple(sorted(assignment))
        if self._about_to_take() and not set(self.target) <= set(target):
            self.unreported = True
        self.target = target
        same = self.subscriptions.owned == target
        self._moved(MemberEvent.CONFIRMED if same else MemberEvent.ASSIGNED)

    def reconcile(self) -> bool:
        """The listener is told the partitions that go; False if there is nothing to reconcile, or it is at it
        already."""
        if self.state is not MemberState.RECONCILING or self.reconciling:
            return False
        self.resolved = self.target
        revoked = tuple([one for one in self.subscriptions.owned if one not in self.target])
        if revoked:
            self._listener.on_partitions_revoked(revoked)
        return True

    def finish_reconciliation(self) -> bool:
        """The listener has returned: the resolved assignment is taken, unless the consumer is no more at it. In any
        case the coordinator has to hear of it, if it was told the partitions to be taken. False if nothing was under
        way."""
        if self.resolved is None:
            return False
        if self._about_to_take():
            self.unreported = True
        resolved, self.resolved = self.resolved, None
        if self.state is MemberState.RECONCILING:
            new = tuple([one for one in resolved if one not in self.subscriptions.owned])
            self.subscriptions.assign_from_subscribed(resolved)
            self.unreported = True
            self._moved(MemberEvent.RECONCILED)
            self._listener.on_partitions_assigned(new)
        return True

    def on_fenced(self) -> None:
        """It is no member any more, or not in its epoch: all is lost, and it joins again."""
        lost = self.subscriptions.owned
        self._moved(MemberEvent.FENCED)
        self.member_epoch = 0
        self.target = ()
        self.unreported = False
        if self._rules.abandon_reconciliation(self.reconciling):
            self.resolved = None
        if lost:
            self.subscriptions.assign_from_subscribed(())
            self._listener.on_partitions_lost(lost)

    def on_leave(self) -> None:
        """It goes: the listener hears that everything is revoked."""
        owned = self.subscriptions.owned
        if owned:
            self._listener.on_partitions_revoked(owned)
            self.subscriptions.assign_from_subscribed(())
        self.resolved = None
        if self.state is MemberState.JOINING and self.member_epoch:
            raise BrokenInvariant("a consumer that joins is in no epoch")
