"""The coordinator of a KIP-848 group, edge by edge: a member's way to its target, fencing, fail-over, commits."""

from __future__ import annotations

import pytest
from consumer_group_brokers import BOTH, P0, P1, ConsumerGroupBrokers
from tidemark.common.errors import Errors
from tidemark.common.removal import rules_without
from tidemark.consumer_group.coordinator import ConsumerGroupCoordinator, HeartbeatVerdict
from tidemark.consumer_group.rules import Rules
from tidemark.groups.consumer_group_messages import ConsumerGroupHeartbeatRequest, MemberState
from tidemark.groups.messages import OffsetCommitRequest, OffsetFetchResponse
from tidemark.groups.purgatory import Timer, TimerKind

OF_MEMBER = (TimerKind.SESSION, TimerKind.REBALANCE)


class TestJoin:
    def test_the_first_member_gets_everything(self) -> None:
        brokers = ConsumerGroupBrokers()
        response = brokers.heartbeat("a")
        assert (response.error, response.member_epoch, response.assignment) == (Errors.NONE, 1, BOTH)
        assert brokers.member("a").current.state is MemberState.STABLE
        assert (brokers.group.group_epoch, brokers.group.assignment_epoch) == (1, 1)

    def test_a_member_that_says_nothing_new_changes_nothing(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        response = brokers.heartbeat("a", 1, owned=BOTH)
        assert (response.member_epoch, response.assignment) == (1, None)
        assert not brokers.at(None).waiting

    def test_a_full_heartbeat_is_told_again_what_it_has(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.heartbeat("a", 1, owned=BOTH, full=True).assignment == BOTH

    def test_what_a_late_heartbeat_was_told_is_told_again(self) -> None:
        """Row 116: "a" has given up what "b" is to get, and an older heartbeat of "b" takes it."""
        for rules, told in ((None, True), (rules_without(Rules, {"GiveUntilReported"}), False)):
            brokers = ConsumerGroupBrokers(rules)
            kept, gone = brokers.revoking()
            brokers.heartbeat("a", 1, owned=kept)
            assert brokers.heartbeat("b", 2).assignment == gone, "nobody hears of this answer"
            assert brokers.heartbeat("b", 2).assignment == (gone if told else None)
            assert brokers.heartbeat("b", 2, owned=gone).assignment is None

    def test_a_member_may_join_again_under_its_id(self) -> None:
        """KAFKA-19233, row 47. 0 is also the previous epoch of a new member, and is accepted as such."""
        brokers = ConsumerGroupBrokers()
        kept, _ = brokers.revoking()
        assert brokers.heartbeat("a").assignment == kept
        flawed = ConsumerGroupBrokers(rules_without(Rules, {"AcceptRejoin"}))
        flawed.revoking()
        assert flawed.heartbeat("a").error is Errors.FENCED_MEMBER_EPOCH

    def test_nobody_is_answered_before_the_records_have_committed(self) -> None:
        brokers = ConsumerGroupBrokers()
        request = ConsumerGroupHeartbeatRequest("a", 0, None, 300_000, frozenset({"t"}), ())
        assert brokers.send(request, "a") is HeartbeatVerdict.ASSIGN
        assert "a" not in brokers.replies
        brokers.commit()
        assert brokers.answer("a").member_epoch == 1

    def test_who_changes_nothing_waits_for_what_was_appended_before(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        brokers.send(ConsumerGroupHeartbeatRequest("b", 0, None, 300_000, frozenset({"u"}), ()), "b")
        brokers.send(ConsumerGroupHeartbeatRequest("b", 2), "again")
        assert "again" not in brokers.replies
        brokers.commit()
        assert brokers.answer("again").assignment == ()

    def test_a_new_topic_is_noticed_after_the_refresh_interval(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", topics="t u")
        brokers.image["u"] = 1
        assert brokers.heartbeat("a", 1).assignment == BOTH
        brokers.now += 1_000
        response = brokers.heartbeat("a", 1)
        assert response.member_epoch == 2
        assert [one.topic for one in response.assignment or ()] == ["t", "t", "u"]

    def test_who_has_looked_in_vain_looks_again_after_another_interval(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", topics="t u")
        brokers.now += 1_000
        assert brokers.heartbeat("a", 1).member_epoch == 1
        brokers.image["u"] = 1
        brokers.now += 999
        assert brokers.heartbeat("a", 1).member_epoch == 1
        brokers.now += 1
        assert brokers.heartbeat("a", 1).member_epoch == 2


class TestInterval:
    def test_a_late_join_brings_a_member_back_in_a_new_epoch(self) -> None:
        """Row 152: the consumer of "a" has not heard that "a" was removed when a copy of its join comes."""
        lacking = rules_without(Rules, {"JoinInNewEpoch"})
        for rules, epoch, told in ((None, 5, Errors.FENCED_MEMBER_EPOCH), (lacking, 1, Errors.NONE)):
            brokers = ConsumerGroupBrokers(rules, interval_ms=5_000)
            brokers.now = 1
            brokers.heartbeat("a")
            brokers.heartbeat("b")
            assert brokers.expire(TimerKind.SESSION, "a")
            late = brokers.heartbeat("a")
            assert (late.member_epoch, late.assignment) == (epoch, ())
            assert brokers.heartbeat("a", 1).error is told

    def test_a_join_does_not_make_the_interval_longer(self) -> None:
        brokers = ConsumerGroupBrokers(interval_ms=5_000)
        brokers.now = 1
        brokers.heartbeat("a")
        brokers.now += 4_999
        waits = brokers.heartbeat("b")
        assert (waits.member_epoch, waits.assignment) == (2, ())
        assert (brokers.group.group_epoch, brokers.group.assignment_epoch) == (3, 2)
        assert brokers.heartbeat("a", 1, owned=BOTH).member_epoch == 2, "it has the same partitions in the new epoch"
        brokers.now += 1
        assert brokers.heartbeat("b", 2).member_epoch == 3
        assert brokers.group.assignment_epoch == 3


class TestTimers:
    def test_a_revocation_must_be_acknowledged_in_time_however_often_the_member_heartbeats(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, _ = brokers.revoking()
        timers, session, revocation = brokers.at(None).timers, *(Timer(kind, "a") for kind in OF_MEMBER)
        assert timers[revocation] == brokers.now + 300_000
        brokers.now += 500
        brokers.heartbeat("a", 1)
        assert timers[revocation] == brokers.now + 299_500
        assert timers[session] == brokers.now + 45_000
        brokers.heartbeat("a", 1, owned=kept)
        assert session in timers
        assert revocation not in timers

    def test_a_revocation_that_is_over_cannot_expire(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.at(None).expire(Timer(TimerKind.REBALANCE, "a")) is None
        assert sorted(brokers.group.members) == ["a"]

    def test_a_static_member_that_leaves_for_a_while_has_nothing_to_acknowledge(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        brokers.heartbeat("b")
        brokers.heartbeat("a", 1, owned=BOTH, instance="i")
        timers, session, revocation = brokers.at(None).timers, *(Timer(kind, "a") for kind in OF_MEMBER)
        assert revocation in timers
        brokers.leave("a", "i")
        assert session in timers
        assert revocation not in timers

    def test_a_process_that_is_replaced_has_none(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        brokers.leave("a", "i")
        brokers.heartbeat("b", instance="i")
        assert set(brokers.at(None).timers) == {Timer(TimerKind.SESSION, "b")}


class TestReconciliation:
    def test_stable_to_unrevoked_partitions(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, gone = brokers.revoking()
        member = brokers.member("a")
        assert len(kept) == 1
        assert member.current.state is MemberState.UNREVOKED_PARTITIONS
        assert member.member_epoch == 1, "it stays in its epoch"
        assert tuple(member.current.pending_revocation) == gone

    def test_the_next_member_waits_until_the_revocation_is_acknowledged(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, gone = brokers.revoking()
        assert brokers.heartbeat("b", 2).assignment == ()
        assert brokers.member("b").current.state is MemberState.UNRELEASED_PARTITIONS
        assert brokers.heartbeat("a", 1).member_epoch == 1, "it has not said what it owns"
        assert brokers.heartbeat("a", 1, owned=BOTH).member_epoch == 1, "it owns it still"
        assert brokers.heartbeat("a", 1, owned=kept).member_epoch == 2
        assert brokers.member("a").current.state is MemberState.STABLE
        assert brokers.heartbeat("b", 2).assignment == gone
        assert brokers.member("b").current.state is MemberState.STABLE

    def test_without_acknowledgement_two_are_assigned_one_partition(self) -> None:
        brokers = ConsumerGroupBrokers(rules_without(Rules, {"RevocationReported"}))
        _, gone = brokers.revoking()
        assert brokers.heartbeat("b", 2).assignment == gone, "and a has not even been told"

    def test_who_does_not_acknowledge_in_time_is_removed(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, _ = brokers.revoking()
        assert brokers.expire(TimerKind.REBALANCE, "a")
        assert sorted(brokers.group.members) == ["b"]
        assert brokers.heartbeat("a", 1, owned=kept).error is Errors.UNKNOWN_MEMBER_ID
        assert brokers.heartbeat("b", 2).assignment == BOTH

    def test_a_partition_that_comes_back_to_who_gives_it_up_keeps_its_epoch(self) -> None:
        """KAFKA-16147, row 45: "b" goes before "a" has given up the partitions that "b" was to get."""
        for rules, epochs in ((None, {P0: 3, P1: 3}), (rules_without(Rules, {"RemoveEpochsFirst"}), None)):
            brokers = ConsumerGroupBrokers(rules)
            kept, gone = brokers.revoking()
            brokers.leave("b")
            assert brokers.heartbeat("a", 1, owned=kept).assignment == BOTH
            assert brokers.group.partition_epochs == (epochs or {kept[0]: 3}), gone

    def test_the_last_member_leaves_an_assigned_group(self) -> None:
        """KAFKA-20442, row 48."""
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.leave("a") is Errors.NONE
        assert (brokers.group.group_epoch, brokers.group.assignment_epoch, brokers.group.members) == (2, 2, {})
        flawed = ConsumerGroupBrokers(rules_without(Rules, {"EmptyGroupIsAssigned"}))
        flawed.heartbeat("a")
        flawed.leave("a")
        assert (flawed.group.group_epoch, flawed.group.assignment_epoch) == (2, 1)

    def test_another_subscription_moves_partitions(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.image["u"] = 1
        brokers.heartbeat("a", topics="t u")
        response = brokers.heartbeat("a", 1, topics="u")
        assert [str(one) for one in response.assignment or ()] == ["u-0"]
        assert brokers.member("a").current.pending_revocation == {P0: 1, P1: 1}


class TestFencing:
    def test_an_older_epoch_is_fenced(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, _ = brokers.revoking()
        brokers.heartbeat("a", 1, owned=kept)
        brokers.heartbeat("c")
        brokers.heartbeat("a", 2, owned=kept)
        assert brokers.heartbeat("a", 1, owned=BOTH).error is Errors.FENCED_MEMBER_EPOCH

    def test_the_previous_epoch_is_good_enough_for_who_owns_no_more(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, _ = brokers.revoking()
        brokers.heartbeat("a", 1, owned=kept)
        assert brokers.heartbeat("a", 1, owned=kept).member_epoch == 2
        assert brokers.heartbeat("a", 1, owned=BOTH).error is Errors.FENCED_MEMBER_EPOCH
        assert brokers.heartbeat("a", 1).error is Errors.FENCED_MEMBER_EPOCH, "it does not say what it owns"

    def test_a_member_that_is_not_heard_of_is_removed(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.expire(TimerKind.SESSION, "a")
        assert brokers.heartbeat("a", 1).error is Errors.UNKNOWN_MEMBER_ID


class TestStaticMembers:
    def test_a_second_process_is_refused_while_the_first_lives(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        assert brokers.heartbeat("b", instance="i").error is Errors.UNRELEASED_INSTANCE_ID

    def test_a_process_that_left_for_a_while_has_a_successor(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        assert brokers.leave("a", "i") is Errors.NONE
        assert brokers.member("a").member_epoch == -2
        assert brokers.group.partition_epochs == {P0: -2, P1: -2}
        response = brokers.heartbeat("b", instance="i")
        assert (response.member_epoch, response.assignment) == (1, BOTH)
        assert (sorted(brokers.group.members), brokers.group.group_epoch) == (["b"], 1)
        assert brokers.heartbeat("a", 1, instance="i").error is Errors.FENCED_INSTANCE_ID

    def test_its_own_process_may_join_again(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        assert brokers.heartbeat("a", instance="i").assignment == BOTH
        flawed = ConsumerGroupBrokers(rules_without(Rules, {"RejoinOfOwnInstance"}))
        flawed.heartbeat("a", instance="i")
        assert flawed.heartbeat("a", instance="i").error is Errors.UNRELEASED_INSTANCE_ID

    def test_who_does_not_come_back_is_removed(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a", instance="i")
        brokers.leave("a", "i")
        assert brokers.expire(TimerKind.SESSION, "a")
        assert (brokers.group.members, brokers.group.static_members) == ({}, {})


class TestOffsets:
    def test_a_commit_counts_and_is_seen_by_members_in_their_epoch(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.commit_offsets("a", 1, {P0: 5}) is Errors.NONE
        assert brokers.fetch_offsets("a", 1).offsets == {P0: 5}
        assert brokers.fetch_offsets("a", 2).error is Errors.STALE_MEMBER_EPOCH
        assert brokers.fetch_offsets("b", 1).error is Errors.UNKNOWN_MEMBER_ID

    def test_a_fetch_is_answered_when_what_it_has_read_has_committed(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        coordinator = brokers.at(None)
        brokers.take(coordinator.handle_commit(OffsetCommitRequest("a", 1, {P0: 5}), "commit", brokers.now))
        brokers.ask_offsets("a", 1)
        assert "fetch" not in brokers.replies
        brokers.commit()
        assert brokers.found() == OffsetFetchResponse(Errors.NONE, {P0: 5})
        brokers.take(coordinator.handle_commit(OffsetCommitRequest("a", 1, {P0: 6}), "commit", brokers.now))
        brokers.ask_offsets("a", 1)
        brokers.fail_over()
        brokers.take(coordinator.resign())
        assert brokers.found() == OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
        assert brokers.at(None).offsets == {P0: 5}

    def test_a_deposed_coordinator_tells_no_offset(self) -> None:
        brokers, without = ConsumerGroupBrokers(), ConsumerGroupBrokers(rules_without(Rules, {"FetchOfElected"}))
        brokers.heartbeat("a")
        without.heartbeat("a")
        assert brokers.fetch_offsets("a", 1, elected=False) == OffsetFetchResponse(Errors.NOT_COORDINATOR, {})
        assert without.fetch_offsets("a", 1, elected=False) == OffsetFetchResponse(Errors.NONE, {})

    def test_commits_of_others_and_of_the_future_are_refused(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.heartbeat("a")
        assert brokers.commit_offsets("b", 1, {P0: 5}) is Errors.UNKNOWN_MEMBER_ID
        assert brokers.commit_offsets("a", 2, {P0: 5}) is Errors.STALE_MEMBER_EPOCH

    def test_a_commit_of_an_older_epoch_is_for_what_was_held_since(self) -> None:
        """KIP-1251."""
        brokers = ConsumerGroupBrokers()
        kept, gone = brokers.revoking()
        brokers.heartbeat("a", 1, owned=kept)
        assert brokers.commit_offsets("a", 1, {gone[0]: 7}) is Errors.STALE_MEMBER_EPOCH
        assert brokers.commit_offsets("a", 1, {gone[0]: 7, kept[0]: 3}) is Errors.STALE_MEMBER_EPOCH
        assert brokers.fetch_offsets("a", 2).offsets == {kept[0]: 3}, "the part that counts"
        assert brokers.commit_offsets("a", 1, {kept[0]: 4}) is Errors.NONE

    def test_what_is_being_revoked_may_be_committed(self) -> None:
        brokers = ConsumerGroupBrokers()
        _, gone = brokers.revoking()
        assert brokers.commit_offsets("a", 1, {gone[0]: 7}) is Errors.NONE


class TestFailOver:
    def test_the_next_coordinator_knows_what_has_committed(self) -> None:
        brokers = ConsumerGroupBrokers()
        kept, gone = brokers.revoking()
        brokers.commit_offsets("a", 1, {P0: 5})
        before = brokers.group
        brokers.fail_over()
        after = brokers.group
        assert (after.group_epoch, after.assignment_epoch) == (before.group_epoch, before.assignment_epoch)
        assert (after.members, after.target, after.metadata) == (before.members, before.target, before.metadata)
        assert after.partition_epochs == before.partition_epochs
        assert brokers.at(None).offsets == {P0: 5}
        assert brokers.heartbeat("a", 1, owned=kept).member_epoch == 2
        assert brokers.heartbeat("b", 2).assignment == gone

    def test_what_was_not_committed_is_lost_unless_its_successor_has_it(self) -> None:
        for keep, members in ((0, ["a"]), (1, ["a", "b"])):
            brokers = ConsumerGroupBrokers()
            brokers.heartbeat("a")
            brokers.send(ConsumerGroupHeartbeatRequest("b", 0, None, 300_000, frozenset({"t"}), ()), "b")
            brokers.fail_over(keep)
            assert sorted(brokers.group.members) == members

    def test_a_deposed_coordinator_sends_away_who_waits(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.send(ConsumerGroupHeartbeatRequest("a", 0, None, 300_000, frozenset({"t"}), ()), "a")
        brokers.fail_over()
        brokers.take(brokers.brokers[0].resign())
        assert brokers.answer("a").error is Errors.NOT_COORDINATOR
        assert not brokers.brokers[0].serving

    def test_sessions_begin_again_at_the_next_coordinator(self) -> None:
        brokers = ConsumerGroupBrokers()
        brokers.revoking()
        brokers.fail_over()
        kinds = {(timer.kind, timer.member_id) for timer in brokers.at(None).timers}
        assert kinds == {(TimerKind.SESSION, "a"), (TimerKind.SESSION, "b"), (TimerKind.REBALANCE, "a")}


class TestOvertakenLoad:
    """Rows 46 and 117: the log cleaner compacts the rest of the log after the load has read that "a" holds
    everything."""

    def loaded(self, brokers: ConsumerGroupBrokers) -> ConsumerGroupCoordinator:
        """Broker 1, after "a" was removed, "b" got everything, "a" joined again, and that was loaded."""
        brokers.heartbeat("a")
        brokers.commit()
        read = list(brokers.log)
        brokers.take(brokers.at(None).expire_session("a"))
        brokers.heartbeat("b")
        brokers.heartbeat("a")
        brokers.commit()
        rest = brokers.log[len(read) :]
        last = {(type(one), getattr(one, "member_id", "")): place for place, one in enumerate(rest)}
        coordinator = brokers.brokers[1]
        coordinator.become_coordinator(2, [*read, *(rest[place] for place in sorted(last.values()))], brokers.now)
        return coordinator

    def test_it_comes_to_what_the_leader_held(self) -> None:
        brokers = ConsumerGroupBrokers()
        coordinator = self.loaded(brokers)
        assert coordinator.serving
        assert coordinator.group.partition_epochs == brokers.group.partition_epochs == {P0: 3, P1: 3}
        assert coordinator.group.members == brokers.group.members

    @pytest.mark.parametrize("rule", ["TolerantReplay", "KeepNewerEpoch"])
    def test_it_fails(self, rule: str) -> None:
        coordinator = self.loaded(ConsumerGroupBrokers(rules_without(Rules, {rule})))
        assert not coordinator.serving
        assert not coordinator.group.members
