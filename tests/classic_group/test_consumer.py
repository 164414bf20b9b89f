"""A consumer's requests, and what each reply does to it: an error is judged by the state that it finds."""

from __future__ import annotations

import pytest
from tidemark.classic_group.consumer import Consumer, ConsumerConfig
from tidemark.classic_group.flaws import consumer_of
from tidemark.classic_group.membership import MemberState
from tidemark.classic_group.rules import Rules
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.groups.messages import (
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tidemark.groups.partitions import Subscription, TopicPartition

P, Q = TopicPartition("p", 0), TopicPartition("q", 0)
COUNTS = {"p": 1, "q": 1}
EAGER, COOPERATIVE, UPGRADING = ("range",), ("cooperative-sticky",), ("cooperative-sticky", "range")
FATAL = [Errors.FENCED_INSTANCE_ID, Errors.INCONSISTENT_GROUP_PROTOCOL]
OK = Errors.NONE


def consumer(assignors: tuple[str, ...] = EAGER, instance: str | None = None) -> Consumer:
    """One that has just started."""
    return Consumer(ConsumerConfig(assignors, instance), ["p", "q"], Rules())


def joining(assignors: tuple[str, ...] = EAGER, instance: str | None = None) -> Consumer:
    """One whose first JoinGroup is on its way; a dynamic one has a member id already."""
    one = consumer(assignors, instance)
    assert one.send_join(0) is not None
    if instance is None:
        one.receive_join(JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, "m"), COUNTS)
        assert one.send_join(0) is not None
    return one


def follow(one: Consumer, generation: int, protocol: str = "range") -> SyncGroupRequest:
    """It has joined as a follower."""
    request = one.receive_join(JoinGroupResponse(OK, "m", generation, protocol, "leader"), COUNTS)
    assert request is not None
    return request


def stable(assignors: tuple[str, ...] = EAGER, instance: str | None = None) -> Consumer:
    """One that owns p and q in generation 1, positions known."""
    one = joining(assignors, instance)
    follow(one, 1, assignors[0])
    one.receive_assignment(SyncGroupResponse(OK, (P, Q)), 0)
    assert one.send_offset_fetch() is not None
    one.receive_offsets(OffsetFetchResponse(OK, {P: 5}), one.subscriptions.assignment_id)
    return one


class TestJoining:
    def test_a_new_consumer_has_nothing_to_say_but_its_subscription(self) -> None:
        request = consumer().send_join(0)
        assert request is not None
        assert (request.member_id, [one.name for one in request.protocols]) == ("", ["range"])
        assert request.protocols[0].metadata == Subscription(frozenset({"p", "q"}))

    def test_it_joins_again_with_the_id_that_it_was_issued(self) -> None:
        one = consumer()
        one.send_join(0)
        one.receive_join(JoinGroupResponse(Errors.MEMBER_ID_REQUIRED, "m"), COUNTS)
        request = one.send_join(0)
        assert request is not None
        assert request.member_id == "m"

    def test_a_follower_asks_for_its_assignment(self) -> None:
        request = follow(joining(), 1)
        assert (request.member_id, request.generation_id, request.assignments) == ("m", 1, None)

    def test_a_leader_assigns_for_all_by_the_assignor_that_was_voted_for(self) -> None:
        one = joining(UPGRADING)
        roster = tuple(JoinGroupResponseMember(name, None, Subscription(frozenset({"p", "q"}))) for name in ("m", "n"))
        request = one.receive_join(JoinGroupResponse(OK, "m", 1, "range", "m", members=roster), COUNTS)
        assert request is not None
        assert request.assignments is not None
        assert sorted(part for given in request.assignments.values() for part in given) == [P, Q]

    def test_a_leader_that_need_not_assign_takes_all_partitions_for_new(self) -> None:
        one = joining(instance="i")
        one.receive_join(JoinGroupResponse(OK, "m", 1, "range", "m", skip_assignment=True), COUNTS)
        one.receive_assignment(SyncGroupResponse(OK, (P,)), 0)
        assert one.notice_partitions(COUNTS)
        assert one.send_join(0) is not None

    def test_without_that_rule_it_watches_from_now_on(self) -> None:
        one = consumer_of(ConsumerConfig(EAGER, "i"), ["p", "q"], rules_without(Rules, {"NoticeWhatWasMissed"}))
        one.send_join(0)
        reply = JoinGroupResponse(OK, "m", 1, "range", "m", skip_assignment=True)
        request = one.receive_join(reply, {"p": 1, "q": 0})
        assert request is not None
        assert request.assignments is None
        one.receive_assignment(SyncGroupResponse(OK, (P,)), 0)
        assert not one.notice_partitions({"p": 1, "q": 0})
        assert one.notice_partitions(COUNTS)

    def test_partitions_that_do_not_exist_are_given_to_nobody(self) -> None:
        given = consumer().assign("range", {"p": 1, "q": 0}, {"m": Subscription(frozenset({"p", "q"}))})
        assert given == {"m": (P,)}

    def test_an_eager_consumer_claims_nothing_and_a_cooperative_one_what_it_has(self) -> None:
        for assignors, claimed in ((EAGER, ()), (UPGRADING, ()), (COOPERATIVE, (P, Q))):
            one = stable(assignors)
            one.membership.rejoin_needed = True
            request = one.send_join(0)
            assert isinstance(request, JoinGroupRequest)
            metadata = request.protocols[0].metadata
            assert (metadata.owned_partitions, metadata.generation) == (claimed, 1)
            assert metadata.user_data is None

    def test_a_reply_that_nobody_waits_for_makes_it_join_again(self) -> None:
        one = stable()
        one.receive_join(JoinGroupResponse(OK, "m", 2, "range", "leader"), COUNTS)
        assert one.membership.state is MemberState.STABLE
        assert one.membership.rejoin_needed

    @pytest.mark.parametrize("error", FATAL)
    def test_some_errors_end_the_process(self, error: Errors) -> None:
        one = joining()
        one.receive_join(JoinGroupResponse(error, "m"), COUNTS)
        assert one.fatal is error

    def test_an_unknown_member_forgets_its_id_one_of_another_generation_does_not(self) -> None:
        for error, kept in ((Errors.UNKNOWN_MEMBER_ID, ""), (Errors.ILLEGAL_GENERATION, "m")):
            one = joining()
            follow(one, 1)
            one.receive_assignment(SyncGroupResponse(error), 0)
            assert one.membership.generation.member_id == kept
            assert one.membership.state is MemberState.UNJOINED

    def test_another_coordinator_is_looked_for(self) -> None:
        one = joining()
        one.coordinator = 0
        one.receive_join(JoinGroupResponse(Errors.NOT_COORDINATOR, "m"), COUNTS)
        assert one.coordinator is None
        assert one.send_join(0) is not None

    def test_a_cooperative_consumer_gives_up_first_and_joins_again(self) -> None:
        one = stable(COOPERATIVE)
        one.membership.rejoin_needed = True
        one.send_join(0)
        follow(one, 2, "cooperative-sticky")
        one.receive_assignment(SyncGroupResponse(OK, (P,)), 0)
        assert set(one.subscriptions.owned) == {P, Q}, "until the listener has returned"
        assert one.send_join(0) is None
        assert one.send_commit() is not None
        assert one.finish_revocation()
        assert set(one.subscriptions.owned) == {P}
        assert not one.finish_revocation()
        assert one.send_join(0) is not None


class TestHeartbeats:
    def test_only_who_has_joined_sends_them(self) -> None:
        assert joining().send_heartbeat() is None
        assert stable().send_heartbeat() is not None

    def test_a_rebalance_makes_it_join_again(self) -> None:
        one = stable()
        request = one.send_heartbeat()
        assert request is not None
        one.receive_heartbeat(request, HeartbeatResponse(Errors.REBALANCE_IN_PROGRESS))
        assert one.send_join(0) is not None

    @pytest.mark.parametrize("error", [Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID])
    def test_an_answer_of_an_older_generation_is_not_believed(self, error: Errors) -> None:
        one = stable()
        request = one.send_heartbeat()
        assert request is not None
        one.membership.rejoin_needed = True
        one.send_join(0)
        follow(one, 2)
        one.receive_heartbeat(request, HeartbeatResponse(error))
        assert (one.membership.generation.generation_id, one.fatal) == (2, None)

    def test_one_of_the_present_generation_is(self) -> None:
        one = stable()
        request = one.send_heartbeat()
        assert request is not None
        one.receive_heartbeat(request, HeartbeatResponse(Errors.UNKNOWN_MEMBER_ID))
        assert one.membership.reset
        fenced = stable(instance="i")
        request = fenced.send_heartbeat()
        assert request is not None
        fenced.receive_heartbeat(request, HeartbeatResponse(Errors.FENCED_INSTANCE_ID))
        assert fenced.fatal is Errors.FENCED_INSTANCE_ID


class TestOffsets:
    def test_it_reads_on_from_the_committed_offset_or_from_the_start(self) -> None:
        one = stable()
        assert (one.subscriptions.position(P), one.subscriptions.position(Q)) == (5, 0)
        assert one.poll(P) == 6
        assert one.poll(TopicPartition("r", 0)) is None

    def test_it_commits_what_it_has_read(self) -> None:
        one = stable()
        one.poll(P)
        request = one.send_commit()
        assert request is not None
        assert (request.offsets, request.generation_id) == ({P: 6, Q: 0}, 1)

    def test_a_consumer_that_rebalances_does_not_commit(self) -> None:
        one = stable()
        one.membership.rejoin_needed = True
        one.send_join(0)
        assert one.send_commit() is None

    def test_an_answer_for_an_earlier_assignment_is_not_taken(self) -> None:
        one = stable()
        asked = one.subscriptions.assignment_id
        one.subscriptions.assign_from_subscribed(())
        one.subscriptions.assign_from_subscribed((P,))
        assert not one.receive_offsets(OffsetFetchResponse(OK, {P: 2}), asked)
        assert one.subscriptions.position(P) == -1

    def test_a_coordinator_that_is_none_leaves_positions_unknown(self) -> None:
        one = joining()
        follow(one, 1)
        one.receive_assignment(SyncGroupResponse(OK, (P,)), 0)
        response = OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
        assert one.receive_offsets(response, one.subscriptions.assignment_id)
        assert one.send_offset_fetch() is not None

    def test_a_refused_commit_resets_unless_it_joins_already(self) -> None:
        response = OffsetCommitResponse(Errors.ILLEGAL_GENERATION)
        one = stable()
        request = one.send_commit()
        assert request is not None
        one.receive_commit(request, response)
        assert one.membership.reset
        other = stable()
        request = other.send_commit()
        assert request is not None
        other.membership.rejoin_needed = True
        other.send_join(0)
        follow(other, 2)
        other.membership.rejoin_needed = True
        other.send_join(0)
        other.receive_commit(request, response)
        assert not other.membership.reset

    def test_a_rebalance_and_a_fence_are_heard(self) -> None:
        one = stable(instance="i")
        request = one.send_commit()
        assert request is not None
        one.receive_commit(request, OffsetCommitResponse(Errors.REBALANCE_IN_PROGRESS))
        assert one.membership.rejoin_needed
        one.receive_commit(request, OffsetCommitResponse(Errors.FENCED_INSTANCE_ID))
        assert one.fatal is Errors.FENCED_INSTANCE_ID


class TestLeaving:
    def test_a_dynamic_member_says_so_and_a_static_one_does_not(self) -> None:
        request = stable().leave_group()
        assert request is not None
        assert request.member_id == "m"
        assert stable(instance="i").leave_group() is None
        assert consumer().leave_group() is None
