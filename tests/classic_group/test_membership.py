"""The calls of a rebalance listener, with their partitions and states, and the moments at which positions are
committed."""

from __future__ import annotations

import pytest
from groups import parts
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tidemark.classic_group.membership import (
    AutoCommit,
    Generation,
    JoinPrepare,
    Membership,
    MemberState,
    RebalanceListenerError,
)
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.groups.assignors import RebalanceProtocol
from tidemark.groups.partitions import StickyUserData, TopicPartition
from tidemark.groups.rebalance_listener import RebalanceListener
from tidemark.groups.subscription_state import SubscriptionState

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
BOTH = pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE])
REBALANCE_TIMEOUT_MS = 1000
Heard = list[tuple[str, tuple[TopicPartition, ...]]]


class Listening(RebalanceListener):
    """Writes down its callbacks, and the partitions that the consumer owned at that moment."""

    def __init__(self, subscriptions: SubscriptionState) -> None:
        self.subscriptions = subscriptions
        self.heard: Heard = []
        self.owned_then: list[tuple[TopicPartition, ...]] = []

    def _hear(self, what: str, partitions: tuple[TopicPartition, ...]) -> None:
        self.heard.append((what, partitions))
        self.owned_then.append(self.subscriptions.owned)

    def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._hear("revoked", partitions)

    def on_partitions_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._hear("assigned", partitions)

    def on_partitions_lost(self, partitions: tuple[TopicPartition, ...]) -> None:
        self._hear("lost", partitions)


class Consumer:
    """A membership with its subscription and its listener, and whole rebalances in one call."""

    def __init__(self, protocol: RebalanceProtocol, auto_commit: AutoCommit | None = None) -> None:
        self.subscriptions = SubscriptionState(["t0", "t1"])
        self.listener = Listening(self.subscriptions)
        self.membership = Membership(protocol, self.subscriptions, self.listener, REBALANCE_TIMEOUT_MS, auto_commit)
        self.generation = 0

    def join(self, member_id: str = "m") -> None:
        """Up to SyncGroup, in the group's next generation."""
        if self.membership.on_join_prepare(0).commit:
            self.membership.on_prepare_commit_reply(Errors.NONE)
            self.membership.on_join_prepare(0)
        self.membership.on_join_sent()
        self.generation += 1
        assert self.membership.on_joined(Generation(self.generation, member_id, "range"))

    def rebalance(self, assigned: str) -> bool:
        """A whole rebalance; whether something is being revoked at its end."""
        self.join()
        return self.membership.on_join_complete(parts(assigned), 0)

    def heard(self) -> Heard:
        """The calls of the listener since the last look."""
        heard, self.listener.heard = self.listener.heard, []
        return heard


class TestCallbacks:
    @BOTH
    def test_the_first_assignment(self, protocol: RebalanceProtocol) -> None:
        consumer = Consumer(protocol)
        assert consumer.membership.join_needed()
        consumer.rebalance("t0p1 t0p0")
        assert consumer.heard() == [("assigned", parts("t0p0 t0p1"))]
        assert consumer.listener.owned_then == [parts("t0p0 t0p1")]
        assert consumer.membership.state is MemberState.STABLE
        assert not consumer.membership.join_needed()

    def test_eager_revokes_everything_before_it_joins(self) -> None:
        consumer = Consumer(EAGER)
        consumer.rebalance("t0p0 t0p1")
        consumer.rebalance("t0p1 t1p0")
        assert consumer.heard()[1:] == [("revoked", parts("t0p0 t0p1")), ("assigned", parts("t0p1 t1p0"))]
        assert consumer.listener.owned_then[1:] == [parts("t0p0 t0p1"), parts("t0p1 t1p0")]
        assert not consumer.membership.rejoin_needed

    def test_eager_hears_of_nothing_too(self) -> None:
        consumer = Consumer(EAGER)
        consumer.rebalance("")
        consumer.rebalance("")
        assert consumer.heard() == [("assigned", ()), ("revoked", ()), ("assigned", ())]

    def test_cooperative_keeps_all_until_it_is_told(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0 t0p1")
        consumer.subscriptions.seek(parts("t0p1")[0], 5)
        consumer.heard()
        assert consumer.rebalance("t0p1 t1p0")
        assert consumer.heard() == [("revoked", parts("t0p0"))]
        assert consumer.subscriptions.owned == parts("t0p0 t0p1")
        assert consumer.membership.on_join_prepare(0) == JoinPrepare(False)
        consumer.membership.finish_revocation()
        assert consumer.heard() == [("assigned", parts("t1p0"))]
        assert consumer.subscriptions.owned == parts("t0p1 t1p0")
        assert consumer.subscriptions.position(parts("t0p1")[0]) == 5
        assert consumer.membership.rejoin_needed
        assert not consumer.rebalance("t0p1 t1p0")
        assert consumer.heard() == [("assigned", ())]
        assert not consumer.membership.rejoin_needed

    def test_cooperative_revokes_first_what_is_not_subscribed_to_any_more(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0 t1p0")
        consumer.subscriptions.subscribe(["t1"])
        assert consumer.membership.join_needed()
        consumer.rebalance("t1p0")
        assert consumer.heard()[1:] == [("revoked", parts("t0p0")), ("assigned", ())]

    @BOTH
    @pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION])
    def test_after_a_reset_everything_is_lost(self, protocol: RebalanceProtocol, error: Errors) -> None:
        consumer = Consumer(protocol)
        consumer.rebalance("t0p0 t0p1")
        consumer.heard()
        consumer.membership.on_generation_reset(error)
        assert consumer.heard() == []
        assert consumer.membership.generation.member_id == ("m" if error is Errors.ILLEGAL_GENERATION else "")
        consumer.rebalance("t0p1")
        assert consumer.heard() == [("lost", parts("t0p0 t0p1")), ("assigned", parts("t0p1"))]

    @BOTH
    def test_leaving(self, protocol: RebalanceProtocol) -> None:
        consumer = Consumer(protocol)
        consumer.rebalance("t0p0")
        consumer.membership.on_leave_prepare()
        assert consumer.heard()[1:] == [("revoked", parts("t0p0"))]
        assert (consumer.subscriptions.owned, consumer.membership.state) == ((), MemberState.UNJOINED)

    def test_a_reset_ends_a_revocation(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0 t0p1")
        assert consumer.rebalance("t0p1")
        consumer.membership.on_generation_reset(Errors.UNKNOWN_MEMBER_ID)
        assert consumer.membership.on_join_prepare(0) == JoinPrepare(True)
        assert consumer.heard()[-1] == ("lost", parts("t0p0 t0p1"))
        with pytest.raises(BrokenInvariant, match="no revocation"):
            consumer.membership.finish_revocation()

    def test_leaving_in_a_rebalance_is_losing(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0")
        consumer.join()
        consumer.membership.on_leave_prepare()
        assert consumer.heard()[1:] == [("lost", parts("t0p0"))]

    def test_leaving_without_partitions_is_silent(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.membership.on_leave_prepare()
        assert consumer.heard() == []

    def test_lost_is_revoked_by_default(self) -> None:
        told: list[tuple[TopicPartition, ...]] = []

        class Simple(RebalanceListener):
            def on_partitions_revoked(self, partitions: tuple[TopicPartition, ...]) -> None:
                told.append(partitions)

        Simple().on_partitions_lost(parts("t0p0"))
        assert told == [parts("t0p0")]

    def test_an_assignment_of_an_older_subscription_is_not_taken(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0")
        consumer.join()
        consumer.subscriptions.subscribe(["t0"])
        consumer.membership.on_join_complete(parts("t1p0"), 0)
        assert (consumer.subscriptions.owned, consumer.membership.rejoin_needed) == (parts("t0p0"), True)

    def test_a_member_that_missed_a_generation_loses_what_is_taken_also_if_nothing_new_is(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0 t0p1")
        consumer.heard()
        consumer.generation += 1
        consumer.join()
        consumer.subscriptions.subscribe(["t0"])
        assert not consumer.membership.on_join_complete(parts("t0p0 t1p0"), 0)
        assert consumer.heard() == [("lost", parts("t0p1")), ("assigned", ())]
        assert (consumer.subscriptions.owned, consumer.membership.rejoin_needed) == (parts("t0p0"), True)

    def test_a_member_that_missed_a_generation_loses_what_is_taken_from_it(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0 t0p1")
        consumer.heard()
        consumer.generation += 1
        assert not consumer.rebalance("t0p1")
        assert consumer.heard() == [("lost", parts("t0p0")), ("assigned", ())]
        assert consumer.membership.rejoin_needed
        # That is made good with the assignment; the next revocation is one.
        assert consumer.rebalance("")
        assert consumer.heard() == [("revoked", parts("t0p1"))]

    def test_without_that_rule_it_revokes_as_kafka_does(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.membership = Membership(
            COOPERATIVE, consumer.subscriptions, consumer.listener, REBALANCE_TIMEOUT_MS, None, lambda missed: False
        )
        consumer.rebalance("t0p0 t0p1")
        consumer.generation += 1
        assert consumer.rebalance("t0p1")
        assert consumer.heard()[1:] == [("revoked", parts("t0p0"))]

    @BOTH
    def test_an_exception_of_the_listener_does_not_stop_the_rebalance(self, protocol: RebalanceProtocol) -> None:
        consumer = Consumer(protocol)
        consumer.join()

        def fail(partitions: object) -> None:
            raise KeyError("mine")

        consumer.listener.on_partitions_assigned = fail  # type: ignore[method-assign]
        with pytest.raises(RebalanceListenerError) as caught:
            consumer.membership.on_join_complete(parts("t0p0"), 0)
        assert isinstance(caught.value.__cause__, KeyError)
        assert (consumer.subscriptions.owned, consumer.membership.state) == (parts("t0p0"), MemberState.STABLE)


class TestJoining:
    def test_what_a_member_says_of_itself(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.rebalance("t0p0")
        consumer.membership.on_join_prepare(0)
        said = consumer.membership.on_join_sent()
        assert (said.topics, said.owned_partitions, said.generation) == ({"t0", "t1"}, parts("t0p0"), 1)
        # An unfinished rebalance changes none of the owned partitions, nor the generation of their assignment.
        consumer.membership.on_joined(Generation(2, "m", "cooperative-sticky"))
        consumer.membership.on_join_prepare(0)
        assert consumer.membership.on_join_sent().generation == 1

    def test_an_eager_member_tells_its_last_assignment(self) -> None:
        consumer = Consumer(EAGER)
        assert consumer.membership.on_join_prepare(0).ready
        assert consumer.membership.on_join_sent().user_data is None
        consumer.rebalance("t0p0")
        consumer.membership.on_join_prepare(0)
        said = consumer.membership.on_join_sent()
        assert (said.owned_partitions, said.user_data) == ((), StickyUserData(parts("t0p0"), 1))

    def test_member_id_required(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.membership.on_join_prepare(0)
        consumer.membership.on_join_sent()
        consumer.membership.on_member_id_required("m-1")
        assert (consumer.membership.rejoin_needed, consumer.membership.generation.member_id) == (True, "m-1")
        assert consumer.membership.reset

    def test_replies_that_nobody_waits_for(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.join()
        consumer.membership.on_generation_reset(Errors.UNKNOWN_MEMBER_ID)
        assert not consumer.membership.on_join_complete(parts("t0p0"), 0)
        assert not consumer.membership.on_joined(Generation(9, "m", "range"))
        assert (consumer.membership.state, consumer.subscriptions.owned) == (MemberState.UNJOINED, ())

    def test_the_leader_watches_the_partitions(self) -> None:
        consumer = Consumer(COOPERATIVE)
        consumer.join()
        consumer.membership.on_leader_elected({"t0": 1, "t1": 2})
        consumer.membership.on_join_complete(parts("t0p0"), 0)
        consumer.membership.on_metadata({"t0": 1, "t1": 2, "t9": 1})
        assert not consumer.membership.rejoin_needed
        consumer.membership.on_metadata({"t0": 1, "t1": 3})
        assert consumer.membership.rejoin_needed
        # Another leads in the next generation.
        consumer.rebalance("t0p0")
        consumer.membership.on_metadata({"t0": 1, "t1": 4})
        assert not consumer.membership.rejoin_needed

    def test_out_of_order_calls_are_defects(self) -> None:
        consumer = Consumer(COOPERATIVE)
        with pytest.raises(BrokenInvariant, match="without on_join_prepare"):
            consumer.membership.on_join_sent()
        with pytest.raises(BrokenInvariant, match="no revocation"):
            consumer.membership.finish_revocation()


P = parts("t0p0")[0]


class TestAutoCommit:
    def consumer(self, protocol: RebalanceProtocol) -> Consumer:
        """It owns P, is at offset 7, and commits every 100 ms."""
        consumer = Consumer(protocol, AutoCommit(100, retry_backoff_ms=10))
        consumer.rebalance("t0p0")
        consumer.subscriptions.seek(P, 7)
        consumer.heard()
        return consumer

    @BOTH
    def test_before_a_rebalance(self, protocol: RebalanceProtocol) -> None:
        consumer = self.consumer(protocol)
        prepare = consumer.membership.on_join_prepare
        assert prepare(0) == JoinPrepare(False, {P: 7})
        # While the commit is under way an eager consumer's application gets no more, or it would be read twice.
        assert consumer.subscriptions.consume(P, 7, 8) == (protocol is COOPERATIVE)
        assert prepare(1) == JoinPrepare(False)
        assert consumer.heard() == []
        consumer.membership.on_prepare_commit_reply(Errors.NONE)
        assert prepare(2) == JoinPrepare(True)
        assert consumer.heard() == ([("revoked", (P,))] if protocol is EAGER else [])

    def test_a_retriable_error_sends_it_again_until_the_rebalance_times_out(self) -> None:
        consumer = self.consumer(EAGER)
        prepare, reply = consumer.membership.on_join_prepare, consumer.membership.on_prepare_commit_reply
        assert prepare(0).commit == {P: 7}
        reply(Errors.COORDINATOR_LOAD_IN_PROGRESS)
        assert prepare(1).commit == {P: 7}
        assert prepare(REBALANCE_TIMEOUT_MS - 1) == JoinPrepare(False)
        assert prepare(REBALANCE_TIMEOUT_MS) == JoinPrepare(True)
        assert consumer.heard() == [("revoked", (P,))]

    def test_another_error_lets_it_be(self) -> None:
        consumer = self.consumer(EAGER)
        assert consumer.membership.on_join_prepare(0).commit == {P: 7}
        consumer.membership.on_prepare_commit_reply(Errors.UNKNOWN_MEMBER_ID)
        assert consumer.membership.on_join_prepare(1) == JoinPrepare(True)

    def test_who_is_out_commits_nothing(self) -> None:
        consumer = self.consumer(EAGER)
        consumer.membership.on_generation_reset(Errors.UNKNOWN_MEMBER_ID)
        assert consumer.membership.on_join_prepare(0) == JoinPrepare(True)
        assert consumer.heard() == [("lost", (P,))]

    def test_from_time_to_time(self) -> None:
        consumer = self.consumer(COOPERATIVE)
        due = consumer.membership.auto_commit_due
        assert [due(99), due(100), due(101), due(200)] == [None, {P: 7}, None, {P: 7}]
        consumer.membership.on_auto_commit_reply(Errors.NOT_COORDINATOR, 205)
        assert [due(214), due(215)] == [None, {P: 7}]
        consumer.membership.on_auto_commit_reply(Errors.REBALANCE_IN_PROGRESS, 216)
        assert due(300) is None
        consumer.join()
        assert due(1000) is None

    def test_while_partitions_are_being_revoked_they_are_committed(self) -> None:
        consumer = self.consumer(COOPERATIVE)
        consumer.join()
        assert consumer.membership.on_join_complete((), 0)
        assert consumer.membership.auto_commit_due(100) == {P: 7}

    def test_at_the_end(self) -> None:
        assert self.consumer(COOPERATIVE).membership.commit_on_close() == {P: 7}
        assert Consumer(COOPERATIVE).membership.commit_on_close() is None


class AnyOrder(RuleBasedStateMachine):
    """Replies, resets and polls in any order: the listener's callbacks add up to the owned partitions."""

    protocol = COOPERATIVE

    def __init__(self) -> None:
        super().__init__()
        self.consumer = Consumer(self.protocol)
        self.membership = self.consumer.membership
        self.ledger: set[TopicPartition] = set()

    assignments = st.sets(st.builds(TopicPartition, st.sampled_from(["t0", "t1"]), st.integers(0, 2)))

    @precondition(lambda self: self.membership.join_needed())
    @rule()
    def poll(self) -> None:
        if self.membership.on_join_prepare(0).ready:
            said = self.membership.on_join_sent()
            assert self.protocol is COOPERATIVE or said.owned_partitions == ()
            assert set(said.owned_partitions) == self.ledger_now()

    @rule(ahead=st.integers(1, 2))
    def joined(self, ahead: int) -> None:
        self.consumer.generation += ahead
        self.membership.on_joined(Generation(self.consumer.generation, "m", "range"))

    @rule(assigned=assignments)
    def synced(self, assigned: set[TopicPartition]) -> None:
        self.membership.on_join_complete(assigned, 0)

    @precondition(lambda self: self.membership.revoking is not None)
    @rule()
    def listener_returns(self) -> None:
        self.membership.finish_revocation()

    @rule(error=st.sampled_from([Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION]))
    def reset(self, error: Errors) -> None:
        self.membership.on_generation_reset(error)

    @rule(topics=st.sets(st.sampled_from(["t0", "t1"]), min_size=1))
    def subscribe(self, topics: set[str]) -> None:
        self.consumer.subscriptions.subscribe(topics)

    @rule()
    def leave(self) -> None:
        self.membership.on_leave_prepare()
        assert self.consumer.subscriptions.owned == ()

    def ledger_now(self) -> set[TopicPartition]:
        """The partitions that the listener has, by its callbacks."""
        for what, partitions in self.consumer.heard():
            if what == "assigned":
                assert not self.ledger & set(partitions)
                self.ledger |= set(partitions)
            else:
                self.ledger -= set(partitions)
        return self.ledger

    @invariant()
    def what_was_told_is_what_is_owned(self) -> None:
        owned = set(self.consumer.subscriptions.owned)
        given_up = owned - self.ledger_now()
        assert self.ledger <= owned
        assert not given_up or self.membership.revoking is not None or self.membership.reset
        if self.membership.state is MemberState.STABLE and self.membership.revoking is None:
            assert not given_up


class AnyOrderEager(AnyOrder):
    """The same for a consumer that revokes everything before it joins."""

    protocol = EAGER


AnyOrder.TestCase.settings = AnyOrderEager.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
TestAnyOrder = AnyOrder.TestCase
TestAnyOrderEager = AnyOrderEager.TestCase
