"""The coordinator's memory of instances and offsets, and the part of it that is left after a fail-over."""

from __future__ import annotations

import pytest
from brokers import P0, P1, PER_EPOCH, Brokers
from tidemark.classic_group.coordinator import JoinVerdict
from tidemark.classic_group.group import Awaiting, ClassicGroup
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.common.removal import rules_without
from tidemark.groups.messages import OffsetCommitResponse, OffsetFetchResponse, SyncGroupResponse
from tidemark.groups.purgatory import Timer, TimerKind

BOTH = "cooperative-sticky range"


class TestStaticMembers:
    def test_a_replacement_in_a_stable_group_is_written_down_and_nobody_rebalances(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        assert brokers.join("new", instance="i") is JoinVerdict.JOIN_STATIC
        assert brokers.replies == {}
        brokers.commit()
        reply = brokers.joined("new")
        assert (reply.generation_id, reply.leader, reply.skip_assignment) == (1, first, False)
        assert brokers.sync("new", reply.member_id, 1, instance="i") is Errors.NONE
        assert brokers.reply("new") == SyncGroupResponse(Errors.NONE, (P1,))
        assert brokers.heartbeat(second, 1, "i") is Errors.FENCED_INSTANCE_ID
        brokers.fail_over()
        assert brokers.heartbeat(second, 1, "i") is Errors.FENCED_INSTANCE_ID
        assert brokers.heartbeat(reply.member_id, 1, "i") is Errors.NONE

    def test_a_leader_that_is_replaced_need_not_assign(self) -> None:
        brokers = Brokers()
        brokers.join("a", instance="i")
        brokers.expire(TimerKind.JOIN)
        old = brokers.joined("a").member_id
        brokers.sync("a", old, 1, {old: (P0,)}, "i")
        brokers.commit()
        brokers.join("new", instance="i")
        brokers.commit()
        reply = brokers.joined("new")
        assert (reply.leader, reply.skip_assignment, reply.members) == (reply.member_id, True, ())

    def test_unpersisted_the_next_coordinator_takes_the_old_process_back(self) -> None:
        brokers = Brokers(rules_without(Rules, {"PersistStaticReplacement"}))
        _, second = brokers.stable(static=True)
        brokers.join("new", instance="i")
        assert brokers.joined("new").error is Errors.NONE
        brokers.fail_over()
        assert brokers.heartbeat(second, 1, "i") is Errors.NONE

    def test_a_replacement_with_other_assignors_begins_a_rebalance_if_they_change_the_vote(self) -> None:
        brokers = Brokers()
        brokers.join("a", instance="i", names=BOTH)
        brokers.expire(TimerKind.JOIN)
        old = brokers.joined("a").member_id
        brokers.sync("a", old, 1, {old: (P0,)}, "i")
        brokers.commit()
        brokers.join("new", instance="i", names="range")
        assert brokers.group.generation == 2
        assert brokers.joined("new").protocol_name == "range"

    @pytest.mark.parametrize("removed", [(), ("ReplacementKeepsSubscription",)])
    def test_a_replacement_with_another_subscription_begins_a_rebalance(self, removed: tuple[str, ...]) -> None:
        brokers = Brokers(rules_without(Rules, removed))
        brokers.stable(static=True)
        brokers.join("new", instance="i", topics="p")
        assert brokers.group.state is (GroupState.STABLE if removed else GroupState.PREPARING_REBALANCE)

    @pytest.mark.parametrize("fails_over", [False, True])
    @pytest.mark.parametrize("removed", [(), ("ReplacementOwesNothing",)])
    def test_a_replacement_that_had_to_give_something_up_begins_a_rebalance(
        self, removed: tuple[str, ...], fails_over: bool
    ) -> None:
        brokers = Brokers(rules_without(Rules, removed))
        first, second = brokers.stable(static=True)
        brokers.join("a", first)
        brokers.join("b", second, "i", owned=(P1,))
        brokers.sync("a", first, 2, {first: (P0,), second: ()})
        brokers.commit()
        if fails_over:
            brokers.fail_over()
        assert brokers.group.state is GroupState.STABLE
        brokers.join("new", instance="i")
        assert brokers.group.state is (GroupState.STABLE if removed else GroupState.PREPARING_REBALANCE)

    def test_a_replacement_that_has_all_that_it_said_begins_no_rebalance(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        brokers.join("a", first)
        brokers.join("b", second, "i", owned=(P1,))
        brokers.sync("a", first, 2, {first: (), second: (P0, P1)})
        brokers.commit()
        brokers.join("new", instance="i")
        assert brokers.group.state is GroupState.STABLE

    def test_a_replacement_while_the_leader_assigns_makes_all_join_again(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        brokers.join("a", first)
        brokers.join("b", second, "i")
        assert brokers.group.state is GroupState.COMPLETING_REBALANCE
        brokers.replies.clear()
        brokers.sync("b", second, 2, instance="i")
        brokers.join("new", instance="i")
        assert brokers.group.state.value == "PreparingRebalance"
        assert brokers.reply("b").error is Errors.FENCED_INSTANCE_ID

    def test_without_that_rule_it_is_not_in_the_assignment(self) -> None:
        brokers = Brokers(rules_without(Rules, {"RebalanceOnReplacementInCompleting"}))
        first, second = brokers.stable(static=True)
        brokers.join("a", first)
        brokers.join("b", second, "i")
        brokers.join("new", instance="i")
        new = brokers.joined("new").member_id
        brokers.sync("a", first, 2, {first: (P0,), second: (P1,)})
        brokers.commit()
        assert brokers.group.members[new].assignment == ()

    def test_who_waits_in_its_join_under_the_old_id_is_fenced(self) -> None:
        brokers = Brokers()
        _, second = brokers.stable(static=True)
        brokers.join("b", second, "i", owned=(P1,))
        brokers.join("new", instance="i")
        assert brokers.joined("b").error is Errors.FENCED_INSTANCE_ID
        assert brokers.group.members[brokers.group.static_members["i"]].awaiting is Awaiting.JOIN

    def test_without_replacement_two_processes_are_one_member(self) -> None:
        brokers = Brokers(rules_without(Rules, {"ReplaceStaticMemberId"}))
        _, second = brokers.stable(static=True)
        brokers.join("new", instance="i")
        brokers.commit()
        assert brokers.joined("new").member_id == second

    def test_a_new_instance_in_a_stable_group_begins_a_rebalance(self) -> None:
        brokers = Brokers()
        brokers.stable()
        brokers.join("new", instance="i")
        assert brokers.group.state is GroupState.PREPARING_REBALANCE

    def test_an_instance_that_is_no_member_is_unknown(self) -> None:
        brokers = Brokers()
        first, _ = brokers.stable()
        assert brokers.heartbeat(first, 1, "i") is Errors.UNKNOWN_MEMBER_ID


class TestOffsets:
    def test_offsets_count_and_are_answered_when_they_have_committed(self) -> None:
        brokers = Brokers()
        first, _ = brokers.stable()
        assert brokers.commit_offsets("c", first, 1, {P0: 5, P1: 1}) is Errors.NONE
        assert brokers.replies == {}
        brokers.commit()
        assert brokers.reply("c") == OffsetCommitResponse(Errors.NONE)
        assert brokers.fetch_offsets().offsets == {P0: 5, P1: 1}

    def test_a_fetch_is_answered_when_what_it_has_read_has_committed(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.commit_offsets("a", first, 1, {P0: 5})
        brokers.commit_offsets("b", second, 1, {P1: 1})
        brokers.ask_offsets()
        brokers.commit_offsets("c", first, 1, {P0: 6})
        brokers.commit(1)
        assert "fetch" not in brokers.replies, "it has read two batches"
        brokers.commit(1)
        assert brokers.reply("fetch") == OffsetFetchResponse(Errors.NONE, {P0: 5, P1: 1})

    def test_without_the_rule_a_fetch_is_told_what_may_be_lost(self) -> None:
        brokers = Brokers(rules_without(Rules, {"FetchWaitsForCommit"}))
        first, _ = brokers.stable()
        brokers.commit_offsets("a", first, 1, {P0: 5})
        assert brokers.fetch_offsets().offsets == {P0: 5}
        brokers.fail_over()
        assert brokers.fetch_offsets().offsets == {}

    def test_a_deposed_coordinator_tells_no_offset(self) -> None:
        brokers, without = Brokers(), Brokers(rules_without(Rules, {"FetchOfElected"}))
        assert brokers.fetch_offsets(elected=False) == OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
        assert without.fetch_offsets(elected=False) == OffsetFetchResponse(Errors.NONE, {})

    def test_what_is_refused(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        assert brokers.commit_offsets("c", "nobody", 1, {P0: 5}) is Errors.UNKNOWN_MEMBER_ID
        assert brokers.commit_offsets("c", first, 1, {P0: 5}, "other") is Errors.UNKNOWN_MEMBER_ID
        assert brokers.commit_offsets("c", first, 1, {P0: 5}, "i") is Errors.FENCED_INSTANCE_ID
        assert brokers.commit_offsets("c", first, 0, {P0: 5}) is Errors.ILLEGAL_GENERATION
        brokers.join("a", first)
        assert brokers.commit_offsets("taken", second, 1, {P1: 1}, "i") is Errors.NONE, "before it joins again"
        brokers.join("b", second, "i")
        assert brokers.commit_offsets("c", first, 2, {P0: 5}) is Errors.REBALANCE_IN_PROGRESS

    def test_without_the_generation_an_old_owner_overwrites(self) -> None:
        brokers = Brokers(rules_without(Rules, {"CommitOfCurrentGeneration"}))
        first, _ = brokers.stable()
        assert brokers.commit_offsets("c", first, 0, {P0: 5}) is Errors.NONE

    def test_a_fetch_is_never_fenced(self) -> None:
        assert Brokers().fetch_offsets().error is Errors.NONE


class TestFailOver:
    def test_sessions_begin_again_at_the_next_coordinator(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable(static=True)
        brokers.now += 1_000
        brokers.fail_over()
        ends = brokers.now + 45_000
        assert brokers.at(None).timers == {Timer(TimerKind.SESSION, one): ends for one in (first, second)}

    def test_the_next_coordinator_knows_what_was_committed(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.commit_offsets("kept", first, 1, {P0: 5})
        brokers.commit_offsets("lost", second, 1, {P1: 7})
        before = brokers.group.record()
        brokers.fail_over(keep=1)
        assert brokers.group.record() == before
        assert brokers.fetch_offsets().offsets == {P0: 5}
        assert brokers.heartbeat(first, 1) is Errors.NONE

    def test_generations_of_an_epoch_exceed_those_of_older_ones(self) -> None:
        brokers = Brokers()
        first, second = brokers.stable()
        brokers.join("a", first)
        brokers.join("b", second)
        assert brokers.group.generation == 2, "handed out, and not on the log"
        brokers.fail_over()
        assert brokers.group.generation == 1
        brokers.join("a", first)
        brokers.join("b", second)
        assert brokers.group.generation == PER_EPOCH + 1

    def test_without_that_rule_a_generation_is_handed_out_twice(self) -> None:
        brokers = Brokers(rules_without(Rules, {"GenerationOfOlderEpoch"}))
        first, second = brokers.stable()
        brokers.join("a", first)
        brokers.join("b", second)
        brokers.fail_over()
        brokers.join("a", first)
        brokers.expire(TimerKind.JOIN)
        assert brokers.group.generation == 2
        assert set(brokers.group.members) == {first}

    def test_a_deposed_coordinator_goes_on_until_it_resigns(self) -> None:
        brokers = Brokers()
        first, _ = brokers.stable()
        brokers.commit_offsets("c", first, 1, {P0: 5})
        brokers.ask_offsets()
        brokers.join("a", first, at=0)
        brokers.fail_over()
        assert brokers.at(0).group.state is GroupState.PREPARING_REBALANCE
        brokers.resign(0)
        assert brokers.joined("a").error is Errors.NOT_COORDINATOR
        assert brokers.reply("c").error is Errors.NOT_COORDINATOR
        assert brokers.reply("fetch") == OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
        assert brokers.at(0).group.state is GroupState.DEAD
        assert brokers.join("a", first, at=0) is JoinVerdict.REJECT
        assert brokers.sync("b", first, 1, at=0) is Errors.NOT_COORDINATOR

    def test_a_broker_that_never_was_the_coordinator_says_so(self) -> None:
        brokers = Brokers()
        brokers.acting = 1
        assert brokers.heartbeat("m", 1) is Errors.NOT_COORDINATOR
        assert brokers.leave("m") is Errors.NOT_COORDINATOR
        assert brokers.commit_offsets("c", "m", 1, {P0: 1}) is Errors.NOT_COORDINATOR
        assert brokers.fetch_offsets().error is Errors.NOT_COORDINATOR

    def test_members_without_an_assignor_on_the_log_are_a_defect(self) -> None:
        brokers = Brokers()
        brokers.stable()
        record = brokers.group.record()
        record.protocol = None  # type: ignore[misc]
        with pytest.raises(BrokenInvariant, match="in a group without an assignor"):
            ClassicGroup.load(record)
