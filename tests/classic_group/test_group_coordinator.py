"""The coordinator, edge by edge: the tests of a state are the ways into it and out of it."""

from __future__ import annotations

import pytest
from brokers import P0, P1, Brokers
from tidemark.classic_group.coordinator import JoinVerdict
from tidemark.classic_group.group import ClassicGroup
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.groups.messages import JoinGroupResponse, SyncGroupResponse
from tidemark.groups.purgatory import JOIN_TIMER, SYNC_TIMER, Cause, Timer, TimerKind

RANGE_FIRST, BOTH = "range cooperative-sticky", "cooperative-sticky range"


class TestFirstJoin:
    def test_a_consumer_without_an_id_is_issued_one_and_is_no_member_yet(self) -> None:
        brokers = Brokers()
        assert brokers.join("a") is JoinVerdict.ISSUE_MEMBER_ID
        reply = brokers.joined("a")
        assert (reply.error, reply.member_id) == (Errors.MEMBER_ID_REQUIRED, "member-000001")
        assert brokers.group.state is GroupState.EMPTY
        assert brokers.group.pending == {"member-000001"}

    def test_an_issued_id_that_nobody_uses_expires(self) -> None:
        brokers = Brokers()
        brokers.join("a")
        assert brokers.expire(TimerKind.PENDING_MEMBER, "member-000001")
        assert brokers.group.pending == set()
        brokers.join("a", "member-000001")
        assert brokers.replies["a"][-1].error is Errors.UNKNOWN_MEMBER_ID

    def test_an_empty_group_waits_for_more_members_before_its_first_generation(self) -> None:
        brokers = Brokers()
        first = brokers.member("a")
        assert brokers.group.state is GroupState.PREPARING_REBALANCE
        second = brokers.member("b")
        assert not brokers.expire(TimerKind.JOIN), "somebody has joined meanwhile: the delay is extended"
        assert brokers.expire(TimerKind.JOIN)
        leader, follower = brokers.joined("a"), brokers.joined("b")
        assert (leader.generation_id, leader.leader, leader.protocol_name) == (1, first, "range")
        assert [one.member_id for one in leader.members] == [first, second]
        assert (follower.generation_id, follower.leader, follower.members) == (1, first, ())

    def test_the_initial_delay_is_never_longer_than_the_rebalance_time_out(self) -> None:
        brokers = Brokers(initial_rebalance_delay_ms=70_001)
        brokers.member("a")
        ends = brokers.at(None).group.rebalance_timeout_ms
        assert ends == 300_000
        for number in range(5):
            brokers.member(f"b{number}")
            assert brokers.expire(TimerKind.JOIN) == (number == 4)
        assert brokers.now == ends

    def test_an_assignor_that_not_all_have_is_refused(self) -> None:
        brokers = Brokers()
        brokers.two_joined("range")
        assert brokers.join("c", names="cooperative-sticky") is JoinVerdict.REJECT
        assert brokers.joined("c").error is Errors.INCONSISTENT_GROUP_PROTOCOL

    @pytest.mark.parametrize(
        ("first", "second", "chosen"),
        [(BOTH, BOTH, "cooperative-sticky"), (BOTH, "range", "range"), (BOTH, RANGE_FIRST, "cooperative-sticky")],
    )
    def test_the_vote(self, first: str, second: str, chosen: str) -> None:
        brokers = Brokers()
        brokers.member("a", first)
        brokers.member("b", second)
        while brokers.group.state is GroupState.PREPARING_REBALANCE:
            brokers.expire(TimerKind.JOIN)
        assert brokers.group.protocol == chosen

    def test_most_votes_win_and_not_the_first_name(self) -> None:
        brokers = Brokers()
        for token, names in (("a", RANGE_FIRST), ("b", BOTH), ("c", RANGE_FIRST)):
            brokers.member(token, names)
        while brokers.group.state is GroupState.PREPARING_REBALANCE:
            brokers.expire(TimerKind.JOIN)
        assert brokers.joined("a").protocol_name == "range"

    def test_without_known_member_ids_a_lost_reply_leaves_a_phantom(self) -> None:
        brokers = Brokers(rules_without(Rules, {"JoinNamesMemberId"}))
        assert brokers.join("lost") is JoinVerdict.ADD_MEMBER
        assert brokers.join("again") is JoinVerdict.ADD_MEMBER
        assert len(brokers.group.members) == 2


class TestJoinPhase:
    def test_it_ends_when_all_have_joined_and_no_id_is_pending(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("c")
        pending = brokers.joined("c").member_id
        brokers.join("a", first)
        brokers.join("b", second)
        assert brokers.group.state is GroupState.PREPARING_REBALANCE, "the third may still come"
        brokers.join("c", pending)
        assert brokers.group.state.value == "CompletingRebalance"
        assert brokers.joined("c").generation_id == 2

    def test_it_waits_as_long_as_the_slowest_member_asks_for_and_so_does_the_sync(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("a", first, timeout_ms=10_000)
        coordinator = brokers.at(None)
        assert coordinator.timers[JOIN_TIMER] == brokers.now + 300_000
        brokers.now += 1_000
        brokers.join("b", second, timeout_ms=400_000)
        assert JOIN_TIMER not in coordinator.timers, "all have joined"
        assert coordinator.timers[SYNC_TIMER] == brokers.now + 400_000

    def test_who_has_not_joined_in_time_is_dropped_and_another_leads(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("b", second, owned=(P1,))
        assert brokers.expire(TimerKind.JOIN)
        reply = brokers.joined("b")
        assert (reply.leader, [one.member_id for one in reply.members]) == (second, [second])
        assert brokers.heartbeat(first, 1) is Errors.UNKNOWN_MEMBER_ID

    def test_a_static_member_that_has_not_joined_stays(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        brokers.join("a", first)
        assert brokers.expire(TimerKind.JOIN)
        assert set(brokers.group.members) == {first, second}
        assert [one.group_instance_id for one in brokers.joined("a").members] == [None, "i"]

    def test_when_only_static_members_are_left_and_none_joins_it_goes_on(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        brokers.leave(first)
        assert brokers.group.leader == second
        assert not brokers.expire(TimerKind.JOIN), "nobody was dropped, nobody else leads"
        assert brokers.group.state is GroupState.PREPARING_REBALANCE
        assert Timer(TimerKind.JOIN) in brokers.at(None).timers

    def test_without_members_the_group_is_empty_and_that_is_written_down(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        assert brokers.leave(first) is Errors.NONE
        assert brokers.leave(second) is Errors.NONE
        assert (brokers.group.state, brokers.group.generation) == (GroupState.EMPTY, 2)
        assert [waiting.cause for waiting in brokers.at(None).waiting] == [Cause.EMPTY]
        brokers.commit()
        brokers.fail_over()
        assert (brokers.group.state, brokers.group.generation) == (GroupState.EMPTY, 2)

    def test_a_member_that_waits_does_not_expire_unless_it_is_new(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("a", first)
        new = brokers.member("c")
        assert brokers.at(None).timers[Timer(TimerKind.SESSION, new)] == brokers.now + 300_000, "new members get longer"
        assert not brokers.expire(TimerKind.SESSION, first)
        assert brokers.at(None).timers[Timer(TimerKind.SESSION, first)] > brokers.now, "its session goes on"
        assert brokers.expire(TimerKind.SESSION, new)
        assert brokers.joined("c").error is Errors.UNKNOWN_MEMBER_ID
        brokers.join("b", second)
        assert brokers.joined("a").generation_id == 2

    def test_without_the_end_of_newness_it_does(self) -> None:
        brokers = Brokers(rules_without(Rules, {"CompletedJoinEndsNewness"}))
        first, _ = brokers.stable()
        brokers.join("a", first)
        assert brokers.expire(TimerKind.SESSION, first)
        assert brokers.joined("a").error is Errors.UNKNOWN_MEMBER_ID

    def test_members_are_asked_to_join_by_their_heartbeats(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        assert brokers.heartbeat(second, 1) is Errors.NONE
        brokers.join("a", first)
        brokers.now += 10_000
        assert brokers.heartbeat(second, 1) is Errors.REBALANCE_IN_PROGRESS
        assert brokers.at(None).timers[Timer(TimerKind.SESSION, second)] == brokers.now + 45_000, "it is alive"
        assert brokers.sync("b", second, 1) is Errors.REBALANCE_IN_PROGRESS

    @pytest.mark.parametrize("removed", [(), ("AnswerSuperseded",)])
    def test_a_join_that_waits_gives_its_place_to_a_later_one(self, removed: tuple[str, ...]) -> None:
        """KAFKA-20938: a copy may come late, or the client sends another. The one that has waited is answered."""
        brokers = Brokers(rules_without(Rules, removed))
        first, second = brokers.stable()
        brokers.join("earlier", first)
        brokers.join("a", first)
        if not removed:
            assert brokers.joined("earlier") == JoinGroupResponse(Errors.NOT_COORDINATOR, first)
        brokers.join("b", second)
        assert brokers.joined("a").error is Errors.NONE
        assert "earlier" not in brokers.replies


class TestSync:
    def test_nobody_hears_of_an_assignment_before_it_has_committed(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("b", second, 1)
        brokers.sync("a", first, 1, {first: (P0,), second: (P1,), "stranger": (P1,)})
        assert brokers.replies == {}
        brokers.commit()
        assert brokers.reply("a") == SyncGroupResponse(Errors.NONE, (P0,))
        assert brokers.reply("b") == SyncGroupResponse(Errors.NONE, (P1,))
        assert brokers.group.state is GroupState.STABLE

    def test_a_stable_group_answers_at_once(self) -> None:
        brokers = Brokers()
        _, second = brokers.stable()
        brokers.sync("b", second, 1)
        assert brokers.reply("b") == SyncGroupResponse(Errors.NONE, (P1,))

    @pytest.mark.parametrize("generation", [0, 2])
    def test_another_generation_is_refused(self, generation: int) -> None:
        brokers = Brokers()
        first, _ = brokers.two_joined()
        assert brokers.sync("a", first, generation) is Errors.ILLEGAL_GENERATION

    def test_a_member_that_joins_with_something_new_while_the_leader_assigns_begins_a_rebalance(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("a", first, 1, {})
        brokers.sync("b", second, 1)
        brokers.join("b again", second, owned=(P0,))
        assert brokers.reply("a") == brokers.reply("b") == SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        assert brokers.group.state is GroupState.PREPARING_REBALANCE

    def test_one_that_says_nothing_new_is_told_the_generation(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.join("b", second)
        assert brokers.joined("b").generation_id == 1
        brokers.join("a", first)
        assert [one.member_id for one in brokers.joined("a").members] == [first, second]

    def test_an_assignment_that_commits_late_is_not_handed_out_in_a_later_generation(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.sync("a", first, 1, {first: (P0,)})
        brokers.replies.clear()
        brokers.join("a", first, owned=(P0,))
        brokers.join("b", second)
        assert brokers.group.generation == 2
        brokers.commit()
        assert brokers.group.state is GroupState.COMPLETING_REBALANCE

    def test_a_generation_is_assigned_once_a_leader_that_assigns_anew_begins_a_rebalance(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("a", first, 1, {first: (P0,)})
        brokers.sync("a again", first, 1, {second: (P0,)})
        assert len(brokers.at(None).waiting) == 1
        assert brokers.reply("a") == SyncGroupResponse(Errors.NOT_COORDINATOR)
        assert brokers.reply("a again") == SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        brokers.commit()
        assert brokers.group.state is GroupState.PREPARING_REBALANCE

    @pytest.mark.parametrize("removed", [(), ("OneAssignmentPerGeneration",)])
    def test_a_leader_that_assigns_anew_when_its_first_assignment_counts_begins_a_rebalance(
        self, removed: tuple[str, ...]
    ) -> None:
        brokers = Brokers(rules_without(Rules, removed))
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("a", first, 1, {first: (P0,)})
        brokers.commit()
        brokers.sync("a again", first, 1, {first: (P0,), second: (P1,)})
        told = SyncGroupResponse(Errors.NONE, (P0,)) if removed else SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        assert brokers.reply("a again") == told
        assert brokers.group.state is (GroupState.STABLE if removed else GroupState.PREPARING_REBALANCE)

    def test_a_leader_that_repeats_what_counts_is_told_what_it_got(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.sync("a", first, 1, {first: (P0,), second: (P1,)})
        brokers.commit()
        brokers.sync("a again", first, 1, {first: (P0,), second: (P1,)})
        assert brokers.reply("a again") == SyncGroupResponse(Errors.NONE, (P0,))
        assert brokers.group.state is GroupState.STABLE

    def test_without_that_rule_the_log_ends_with_another_one(self) -> None:
        brokers = Brokers(rules_without(Rules, {"OneAssignmentPerGeneration"}))
        first, second = brokers.two_joined()
        brokers.sync("a", first, 1, {first: (P0,)})
        brokers.sync("a again", first, 1, {second: (P0,)})
        brokers.commit()
        assert brokers.group.members[first].assignment == (P0,)
        assert ClassicGroup.load(brokers.log[-1]).members[first].assignment == ()  # type: ignore[arg-type]

    def test_without_persistence_first_they_hear_of_it_at_once(self) -> None:
        brokers = Brokers(rules_without(Rules, {"PersistAssignmentFirst"}))
        first, _ = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("a", first, 1, {first: (P0,)})
        assert brokers.reply("a") == SyncGroupResponse(Errors.NONE, (P0,))
        assert len(brokers.at(None).waiting) == 1
        brokers.commit()
        assert brokers.replies == {}

    def test_who_does_not_sync_in_time_is_removed(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("a", first, 1, {first: (P0,)})
        assert brokers.expire(TimerKind.SYNC)
        assert set(brokers.group.members) == {first}
        assert brokers.reply("a") == SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        assert brokers.heartbeat(second, 1) is Errors.UNKNOWN_MEMBER_ID

    def test_the_sync_timer_stops_when_all_have(self) -> None:
        brokers = Brokers()
        brokers.stable()
        assert Timer(TimerKind.SYNC) not in brokers.at(None).timers


class TestLeaving:
    def test_a_pending_id_leaves(self) -> None:
        brokers = Brokers()
        brokers.join("a")
        assert brokers.leave("member-000001") is Errors.NONE
        assert brokers.leave("member-000001") is Errors.UNKNOWN_MEMBER_ID
        assert brokers.group.state is GroupState.EMPTY, "nobody rebalances"
        assert not brokers.at(None).timers

    def test_a_pending_id_that_leaves_a_stable_group_makes_it_rebalance(self) -> None:
        """Kafka counts it among the members that left (`classicGroupLeaveToClassicGroup`)."""
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("c")
        pending = brokers.joined("c").member_id
        assert brokers.leave(pending) is Errors.NONE
        assert (brokers.group.state, brokers.group.pending) == (GroupState.PREPARING_REBALANCE, set())
        assert set(brokers.group.members) == {first, second}

    def test_a_pending_id_that_leaves_while_the_leader_assigns_makes_the_group_join_again(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.join("c")
        pending = brokers.joined("c").member_id
        brokers.replies.clear()
        brokers.sync("b", second, 1)
        assert brokers.leave(pending) is Errors.NONE
        assert brokers.group.state is GroupState.PREPARING_REBALANCE
        assert brokers.reply("b") == SyncGroupResponse(Errors.REBALANCE_IN_PROGRESS)
        assert brokers.heartbeat(first, 1) is Errors.REBALANCE_IN_PROGRESS

    def test_a_join_phase_ends_when_the_pending_id_that_it_waits_for_leaves(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("c")
        pending = brokers.joined("c").member_id
        brokers.join("a", first)
        brokers.join("b", second)
        assert brokers.group.state is GroupState.PREPARING_REBALANCE
        assert brokers.leave(pending) is Errors.NONE
        assert brokers.group.state.value == "CompletingRebalance"
        assert set(brokers.group.members) == {first, second}

    def test_an_initial_join_phase_does_not_end_with_a_pending_id(self) -> None:
        brokers = Brokers()
        brokers.member("a")
        brokers.join("b")
        pending = brokers.joined("b").member_id
        assert brokers.leave(pending) is Errors.NONE
        assert (brokers.group.state, brokers.group.initial) == (GroupState.PREPARING_REBALANCE, True)
        assert JOIN_TIMER in brokers.at(None).timers

    def test_the_sync_of_a_member_that_is_removed_is_not_answered(self) -> None:
        brokers = Brokers()
        first, second = brokers.two_joined()
        brokers.replies.clear()
        brokers.sync("b", second, 1)
        brokers.leave(second)
        assert brokers.replies == {}
        assert brokers.at(None).parked_syncs == {"b": second}
        assert first == brokers.group.leader

    def test_a_successor_has_its_predecessors_session_until_it_is_heard_of(self) -> None:
        brokers = Brokers()
        brokers.stable(static=True)
        brokers.join("c", instance="i", session_ms=10_000)
        session = Timer(TimerKind.SESSION, brokers.group.static_members["i"])
        assert brokers.at(None).delays[session] == 45_000
        brokers.commit()
        assert brokers.heartbeat(session.member_id, 1, "i") is Errors.NONE
        assert brokers.at(None).delays[session] == 10_000

    def test_an_offset_commit_keeps_a_session_alive(self) -> None:
        brokers = Brokers()
        first, _ = brokers.stable()
        brokers.now += 44_999
        assert brokers.commit_offsets("o", first, 1, {P0: 4}) is Errors.NONE
        assert brokers.at(None).timers[Timer(TimerKind.SESSION, first)] == brokers.now + 45_000

    def test_who_joins_again_has_its_session_as_it_was(self) -> None:
        brokers = Brokers()
        first, _ = brokers.stable()
        session = Timer(TimerKind.SESSION, first)
        brokers.now += 1_000
        before = brokers.at(None).timers[session]
        brokers.join("a", first, topics="t u")
        assert brokers.group.state is GroupState.PREPARING_REBALANCE
        assert brokers.at(None).timers[session] == before

    def test_a_session_that_is_not_renewed_ends_the_membership(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.now += 44_999
        assert brokers.heartbeat(second, 1) is Errors.NONE
        brokers.now += 1
        assert list(brokers.at(None).due(brokers.now)) == [Timer(TimerKind.SESSION, first)]
        assert brokers.expire(TimerKind.SESSION, first)
        assert (brokers.group.state, brokers.group.leader) == (GroupState.PREPARING_REBALANCE, second)
