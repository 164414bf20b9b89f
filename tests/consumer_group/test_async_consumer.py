"""A consumer of a KIP-848 group: the contents of its heartbeats, and its way from an assignment to owning it."""

from __future__ import annotations

from consumer_group_brokers import BOTH, P0, P1
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.consumer_group.consumer import AsyncConsumer, AsyncConsumerConfig
from tidemark.consumer_group.membership import MemberState
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import ConsumerGroupHeartbeatResponse
from tidemark.groups.messages import OffsetFetchResponse
from tidemark.groups.rebalance_listener import Partitions, RebalanceListener


class Heard(RebalanceListener):
    """Notes its callbacks."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Partitions]] = []

    def on_partitions_revoked(self, partitions: Partitions) -> None:
        self.heard.append(("revoked", partitions))

    def on_partitions_assigned(self, partitions: Partitions) -> None:
        self.heard.append(("assigned", partitions))

    def on_partitions_lost(self, partitions: Partitions) -> None:
        self.heard.append(("lost", partitions))


def consumer(rules: Rules | None = None, instance: str | None = None) -> tuple[AsyncConsumer, Heard]:
    """A process that has just started."""
    heard = Heard()
    return AsyncConsumer(AsyncConsumerConfig(instance), "m", ["t"], rules or Rules(), heard), heard


def told(one: AsyncConsumer, epoch: int, assignment: Partitions | None = None, error: Errors = Errors.NONE) -> None:
    """A heartbeat is answered."""
    one.receive_heartbeat(ConsumerGroupHeartbeatResponse(error, "m", epoch, assignment))


def owner(assignment: Partitions = BOTH, rules: Rules | None = None) -> tuple[AsyncConsumer, Heard]:
    """A consumer that owns its assignment of epoch 1, and has said so."""
    one, heard = consumer(rules)
    one.send_heartbeat()
    told(one, 1, assignment)
    assert one.reconcile()
    assert one.finish_reconciliation()
    one.send_heartbeat()
    told(one, 1)
    heard.heard.clear()
    return one, heard


class TestHeartbeats:
    def test_who_joins_says_all(self) -> None:
        one, _ = consumer()
        request = one.send_heartbeat()
        assert (request.member_epoch, request.full, request.subscribed_topic_names) == (0, True, frozenset({"t"}))
        assert request.topic_partitions == ()

    def test_who_has_nothing_new_to_say_says_nothing(self) -> None:
        one, _ = owner()
        request = one.send_heartbeat()
        assert (request.full, request.subscribed_topic_names, request.topic_partitions) == (False, None, None)

    def test_another_subscription_is_said_once(self) -> None:
        one, _ = owner()
        one.change_subscription(["u"])
        assert one.send_heartbeat().subscribed_topic_names == frozenset({"u"})
        assert one.send_heartbeat().subscribed_topic_names is None

    def test_after_an_error_or_a_loss_all_is_said_again(self) -> None:
        one, _ = owner()
        told(one, 0, error=Errors.NOT_COORDINATOR)
        assert one.send_heartbeat().full
        one.lose_heartbeat()
        assert one.send_heartbeat().full

    def test_a_fenced_instance_ends(self) -> None:
        one, _ = consumer(instance="i")
        told(one, 0, error=Errors.UNRELEASED_INSTANCE_ID)
        assert one.fatal is Errors.UNRELEASED_INSTANCE_ID


class TestReconciliation:
    def test_an_assignment_is_taken_and_acknowledged(self) -> None:
        one, heard = consumer()
        one.send_heartbeat()
        told(one, 1, (P0,))
        assert one.membership.state is MemberState.RECONCILING
        assert one.reconcile()
        assert not one.reconcile(), "it is at it already"
        assert one.finish_reconciliation()
        assert heard.heard == [("assigned", (P0,))]
        assert one.membership.state is MemberState.ACKNOWLEDGING
        assert one.send_heartbeat().topic_partitions == (P0,)
        assert one.membership.state is MemberState.STABLE

    def test_what_is_revoked_is_owned_until_the_listener_is_done(self) -> None:
        one, heard = owner()
        told(one, 1, (P0,))
        one.reconcile()
        assert heard.heard == [("revoked", (P1,))]
        assert one.subscriptions.owned == BOTH
        assert one.send_heartbeat().topic_partitions is None, "nothing has changed yet"
        one.finish_reconciliation()
        assert one.send_heartbeat().topic_partitions == (P0,)

    def test_without_its_rule_a_revocation_is_reported_too_early(self) -> None:
        one, _ = owner(rules=rules_without(Rules, {"ReportUntilRevoked"}))
        told(one, 1, (P0,))
        one.reconcile()
        assert one.send_heartbeat().topic_partitions == (P0,)
        assert one.subscriptions.owned == BOTH

    def test_an_assignment_that_changes_back_needs_nothing(self) -> None:
        one, _ = owner()
        told(one, 1, (P0,))
        told(one, 2, BOTH)
        assert one.membership.state is MemberState.STABLE
        assert not one.reconcile()

    def test_what_is_about_to_be_taken_is_reported(self) -> None:
        one, _ = owner((P0,))
        told(one, 2, BOTH)
        one.reconcile()
        one.lose_heartbeat()
        assert one.send_heartbeat().topic_partitions == BOTH
        flawed, _ = owner((P0,), rules_without(Rules, {"ReportWhatIsTaken"}))
        told(flawed, 2, BOTH)
        flawed.reconcile()
        flawed.lose_heartbeat()
        assert flawed.send_heartbeat().topic_partitions == (P0,)

    def test_what_was_to_be_taken_and_was_not_is_reported_in_the_end(self) -> None:
        one, _ = owner((P0,))
        told(one, 2, BOTH)
        one.reconcile()
        told(one, 2, (P0,))
        assert one.send_heartbeat().topic_partitions == BOTH, "the listener is still at it"
        assert one.finish_reconciliation()
        assert one.send_heartbeat().topic_partitions == (P0,)

    def test_who_is_fenced_loses_all_and_joins_again(self) -> None:
        one, heard = owner()
        told(one, 2, (P0,))
        one.reconcile()
        heard.heard.clear()
        told(one, 0, error=Errors.FENCED_MEMBER_EPOCH)
        assert heard.heard == [("lost", BOTH)]
        assert (one.subscriptions.owned, one.membership.state) == ((), MemberState.JOINING)
        assert not one.finish_reconciliation(), "it was given up"
        request = one.send_heartbeat()
        assert (request.member_id, request.member_epoch, request.full) == ("m", 0, True)

    def test_without_its_rule_an_abandoned_reconciliation_goes_on(self) -> None:
        one, _ = consumer(rules_without(Rules, {"AbandonReconciliation"}))
        told(one, 2, (P0,))
        one.reconcile()
        told(one, 0, error=Errors.UNKNOWN_MEMBER_ID)
        told(one, 3, (P1,))
        assert one.finish_reconciliation()
        assert one.subscriptions.owned == (P0,), "what it was assigned before it was fenced"

    def test_who_leaves_says_so_if_it_is_in_the_group(self) -> None:
        one, heard = owner()
        request = one.leave_group()
        assert request is not None
        assert request.member_epoch == -1
        assert heard.heard == [("revoked", BOTH)]
        assert consumer()[0].leave_group() is None


class TestOffsets:
    def test_positions_come_from_the_group_and_go_back_to_it(self) -> None:
        one, _ = owner()
        assert one.send_commit() is None, "no position yet"
        request = one.send_offset_fetch()
        assert request is not None
        assert (request.member_id, request.member_epoch) == ("m", 1)
        assert one.receive_offsets(OffsetFetchResponse(Errors.NONE, {P0: 4}), one.subscriptions.assignment_id)
        assert one.poll(P0) == 5
        commit = one.send_commit()
        assert commit is not None
        assert (commit.generation_id, commit.offsets) == (1, {P0: 5, P1: 0})

    def test_offsets_are_taken_where_they_were_asked_for_whatever_was_assigned_since(self) -> None:
        one, _ = owner((P0,))
        asked = one.subscriptions.asking()
        told(one, 2, BOTH)
        assert one.reconcile()
        assert one.finish_reconciliation()
        one.receive_asked(OffsetFetchResponse(Errors.NONE, {P0: 4, P1: 5}), asked)
        assert one.subscriptions.position(P0) == 4
        assert one.subscriptions.initializing() == (P1,)

    def test_offsets_asked_for_before_a_partition_was_lost_are_not_taken(self) -> None:
        one, _ = owner()
        asked = one.subscriptions.asking()
        for epoch, assignment in ((2, (P1,)), (3, BOTH)):
            told(one, epoch, assignment)
            assert one.reconcile()
            assert one.finish_reconciliation()
            one.send_heartbeat()
        assert one.subscriptions.still(asked) == (P1,)
        one.receive_asked(OffsetFetchResponse(Errors.NONE, {P0: 4, P1: 5}), asked)
        assert one.subscriptions.position(P1) == 5
        assert one.subscriptions.initializing() == (P0,)

    def test_who_is_in_no_epoch_neither_asks_nor_commits(self) -> None:
        one, _ = consumer()
        assert (one.send_commit(), one.send_offset_fetch()) == (None, None)
