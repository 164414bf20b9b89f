"""The worked examples of Kafka's documentation of its assignors, and known flaws as examples."""

from __future__ import annotations

import pytest
from groups import GENERATION, given_out, loads, owning, parts, subscribe
from tidemark.classic_group.flaws import lowest_claim_wins
from tidemark.common.errors import BrokenInvariant
from tidemark.groups.assignors import CLASSIC, SERVER, RebalanceProtocol, rebalance_protocol
from tidemark.groups.assignors.claims import (
    AllClaimRules,
    Claim,
    count_older_claim,
    highest_claim_wins,
    moved_at_once,
    owned_by_no_other,
)
from tidemark.groups.assignors.ranges import assign_range
from tidemark.groups.assignors.round_robin import assign_round_robin
from tidemark.groups.assignors.sticky import assign_cooperative_sticky, assign_sticky
from tidemark.groups.assignors.uniform import assign_uniform
from tidemark.groups.partitions import Assignment, Subscription

TWO_TOPICS = {"t0": 3, "t1": 3}
STEPS = {"t0": 1, "t1": 2, "t2": 3}
FOUR_PAIRS = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
ALL_FOUR = "t0 t1 t2 t3"
UNLIKE = {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}


def is_(assignment: Assignment, **expected: str) -> None:
    """Whether members have just these partitions, in whatever order they are written here."""
    assert assignment == {member: tuple(sorted(parts(text))) for member, text in expected.items()}


def static(**instances: str) -> dict[str, Subscription]:
    """`static(C5="I0")`: members with instance ids that subscribe to both topics."""
    topics = frozenset(TWO_TOPICS)
    return {member: Subscription(topics, group_instance_id=instance) for member, instance in instances.items()}


class TestRange:
    def test_two_members(self) -> None:
        is_(assign_range(TWO_TOPICS, subscribe(C0="t0 t1", C1="t0 t1")), C0="t0p0 t0p1 t1p0 t1p1", C1="t0p2 t1p2")

    def test_new_member_ids_reshuffle(self) -> None:
        is_(assign_range(TWO_TOPICS, subscribe(C3="t0 t1", C2="t0 t1")), C2="t0p0 t0p1 t1p0 t1p1", C3="t0p2 t1p2")

    def test_static_members_keep_their_place(self) -> None:
        is_(assign_range(TWO_TOPICS, static(C3="I0", C2="I1")), C3="t0p0 t0p1 t1p0 t1p1", C2="t0p2 t1p2")

    def test_static_members_before_dynamic_ones(self) -> None:
        members = static(C9="I9") | subscribe(C0="t0 t1")
        is_(assign_range(TWO_TOPICS, members), C9="t0p0 t0p1 t1p0 t1p1", C0="t0p2 t1p2")

    def test_more_members_than_partitions(self) -> None:
        is_(assign_range({"t0": 1}, subscribe(C0="t0", C1="t0")), C0="t0p0", C1="")

    def test_a_topic_that_does_not_exist_is_left_out(self) -> None:
        is_(assign_range({"t0": 2}, subscribe(C0="t0 nowhere")), C0="t0p0 t0p1")

    def test_on_the_server(self) -> None:
        members = subscribe(M0="T1 T2", M1="T1 T2")
        counts = {"T1": 3, "T2": 3}
        target = {"M1": parts("T1p0")}
        is_(SERVER["range"](counts, members, target), M0="T1p0 T1p1 T2p0 T2p1", M1="T1p2 T2p2")


class TestRoundRobin:
    def test_two_members(self) -> None:
        is_(assign_round_robin(TWO_TOPICS, subscribe(C0="t0 t1", C1="t0 t1")), C0="t0p0 t0p2 t1p1", C1="t0p1 t1p0 t1p2")

    def test_unlike_subscriptions(self) -> None:
        is_(assign_round_robin(STEPS, subscribe(**UNLIKE)), C0="t0p0", C1="t1p0", C2="t1p1 t2p0 t2p1 t2p2")

    def test_unlike_subscriptions_after_a_member_left(self) -> None:
        members = subscribe(C1="t0 t1", C2="t0 t1 t2")
        is_(assign_round_robin(STEPS, members), C1="t0p0 t1p1", C2="t1p0 t2p0 t2p1 t2p2")

    def test_three_members_and_a_rolling_bounce(self) -> None:
        first = assign_round_robin(TWO_TOPICS, subscribe(C0="t0 t1", C1="t0 t1", C2="t0 t1"))
        is_(first, C0="t0p0 t1p0", C1="t0p1 t1p1", C2="t0p2 t1p2")
        bounced = assign_round_robin(TWO_TOPICS, static(C5="I0", C3="I1", C4="I2"))
        is_(bounced, C5="t0p0 t1p0", C3="t0p1 t1p1", C4="t0p2 t1p2")


class TestSticky:
    def test_fresh(self) -> None:
        members = subscribe(C0=ALL_FOUR, C1=ALL_FOUR, C2=ALL_FOUR)
        for assign in (assign_sticky, assign_cooperative_sticky, assign_round_robin):
            is_(assign(FOUR_PAIRS, members), C0="t0p0 t1p1 t3p0", C1="t0p1 t2p0 t3p1", C2="t1p0 t2p1")

    def test_after_a_member_left(self) -> None:
        before = {"C0": parts("t0p0 t1p1 t3p0"), "C2": parts("t1p0 t2p1")}
        members = owning(subscribe(C0=ALL_FOUR, C2=ALL_FOUR), before)
        after = assign_sticky(FOUR_PAIRS, members)
        is_(after, C0="t0p0 t1p1 t3p0 t2p0", C2="t1p0 t2p1 t0p1 t3p1")
        assert assign_cooperative_sticky(FOUR_PAIRS, members) == after

    def test_unlike_subscriptions(self) -> None:
        is_(assign_sticky(STEPS, subscribe(**UNLIKE)), C0="t0p0", C1="t1p0 t1p1", C2="t2p0 t2p1 t2p2")

    def test_unlike_subscriptions_after_a_member_left(self) -> None:
        before = {"C1": parts("t1p0 t1p1"), "C2": parts("t2p0 t2p1 t2p2")}
        members = owning(subscribe(C1="t0 t1", C2="t0 t1 t2"), before)
        is_(assign_sticky(STEPS, members), C1="t1p0 t1p1 t0p0", C2="t2p0 t2p1 t2p2")

    def test_a_change_of_subscription_moves_what_must_move(self) -> None:
        before = {"C0": parts("t0p0 t1p0"), "C1": parts("t0p1 t1p1")}
        members = owning(subscribe(C0="t1", C1="t0 t1"), before)
        is_(assign_sticky({"t0": 2, "t1": 2}, members), C0="t1p0 t1p1", C1="t0p0 t0p1")

    def test_a_topic_that_was_deleted_is_forgotten(self) -> None:
        members = owning(subscribe(C0="t0 t1"), {"C0": parts("t0p0 t1p0")})
        is_(assign_sticky({"t0": 1}, members), C0="t0p0")


class TestCooperativeSticky:
    def test_a_joining_member_gets_the_surplus_one_rebalance_later(self) -> None:
        members = owning(subscribe(C0="t0", C1="t0", C2="t0"), {"C0": parts("t0p0 t0p1"), "C1": parts("t0p2 t0p3")})
        first = assign_cooperative_sticky({"t0": 4}, members)
        is_(first, C0="t0p0 t0p1", C1="t0p2", C2="")
        is_(assign_cooperative_sticky({"t0": 4}, owning(members, first)), C0="t0p0 t0p1", C1="t0p2", C2="t0p3")

    def test_eager_moves_at_once(self) -> None:
        members = owning(subscribe(C0="t0", C1="t0"), {"C0": parts("t0p0 t0p1")})
        is_(assign_sticky({"t0": 2}, members), C0="t0p0", C1="t0p1")
        assert moved_at_once(members, assign_sticky({"t0": 2}, members)) == list(parts("t0p1"))
        is_(assign_cooperative_sticky({"t0": 2}, members), C0="t0p0", C1="")

    def test_the_newer_claim_wins(self) -> None:
        owned = {"C0": parts("t0p0 t0p1"), "C1": parts("t0p0 t0p1")}
        members = owning(subscribe(C0="t0", C1="t0"), owned, {"C0": 3, "C1": 4})
        first = assign_cooperative_sticky({"t0": 2}, members)
        assert loads(first) == {"C0": 0, "C1": 1}
        again = owning(members, first, {"C0": 5, "C1": 5})
        assert loads(assign_cooperative_sticky({"t0": 2}, again)) == {"C0": 1, "C1": 1}

    def test_equal_claims_cancel_out(self) -> None:
        members = owning(subscribe(C0="t0", C1="t0"), {"C0": parts("t0p0"), "C1": parts("t0p0")})
        first = assign_cooperative_sticky({"t0": 1}, members)
        is_(first, C0="", C1="")
        assert given_out(assign_cooperative_sticky({"t0": 1}, owning(members, first))) == list(parts("t0p0"))


class TestRules:
    """The rules of claims.py, and the harm without each."""

    def test_without_withhold_until_revoked_a_partition_moves_at_once(self) -> None:
        members = owning(subscribe(C0="t0", C1="t0"), {"C0": parts("t0p0 t0p1")})
        flawed = AllClaimRules(owned_by_no_other=lambda owners, member: True)
        assert moved_at_once(members, assign_cooperative_sticky({"t0": 2}, members, flawed)) == list(parts("t0p1"))

    def test_without_older_claim_counts_a_missed_rebalance_costs_what_is_still_read(self) -> None:
        # C0 missed the rebalance in which C1 came to own t0p2; C2 is new. t0p0 and t0p1 are still C0's.
        owned = {"C0": parts("t0p0 t0p1"), "C1": parts("t0p2")}
        generations = {"C0": GENERATION - 1, "C1": GENERATION, "C2": -1}
        members = owning(subscribe(C0="t0", C1="t0", C2="t0"), owned, generations)
        right = assign_cooperative_sticky({"t0": 3}, members)
        is_(right, C0="t0p0", C1="t0p2", C2="")
        assert moved_at_once(members, right) == []
        flawed = AllClaimRules(count_older_claim=lambda generation, newest: False)
        assert moved_at_once(members, assign_cooperative_sticky({"t0": 3}, members, flawed)) != []

    def test_without_highest_claim_wins_a_stale_claim_does(self) -> None:
        members = owning(
            subscribe(C0="t0", C1="t0"), {"C0": parts("t0p0"), "C1": parts("t0p0")}, {"C0": 3, "C1": GENERATION}
        )
        is_(assign_cooperative_sticky({"t0": 1}, members), C0="", C1="t0p0")
        flawed = AllClaimRules(highest_claim_wins=lowest_claim_wins)
        is_(assign_cooperative_sticky({"t0": 1}, members, flawed), C0="t0p0", C1="")

    def test_the_rules_themselves(self) -> None:
        claims = [Claim("C0", 2), Claim("C1", 3), Claim("C2", 3)]
        assert [highest_claim_wins(claim, claims) for claim in claims] == [False, True, True]
        assert [count_older_claim(generation, 3) for generation in (2, 3)] == [True, False]
        assert [owned_by_no_other(owners, "C0") for owners in ((), ("C0",), ("C1",), ("C0", "C1"))] == [
            True, True, False, False
        ]  # fmt: skip


class TestUniform:
    def test_fresh(self) -> None:
        target = assign_uniform({"T1": 3, "T3": 2}, subscribe(A="T1 T3", B="T1 T3"), {})
        assert sorted(loads(target).values()) == [2, 3]

    def test_an_even_target_stays_as_it_is(self) -> None:
        target = {"A": parts("T1p1"), "B": parts("T1p0 T1p2")}
        is_(assign_uniform({"T1": 3}, subscribe(A="T1", B="T1"), target), A="T1p1", B="T1p0 T1p2")

    def test_a_joining_member_takes_the_surplus(self) -> None:
        target = {"A": parts("T1p0 T1p1 T1p2"), "B": parts("T2p0 T2p1 T2p2")}
        members = subscribe(A="T1 T2", B="T1 T2", C="T1 T2")
        is_(assign_uniform({"T1": 3, "T2": 3}, members, target), A="T1p0 T1p1", B="T2p0 T2p1", C="T1p2 T2p2")

    def test_a_leaving_member_leaves_only_its_own(self) -> None:
        target = {"A": parts("T1p0 T1p1"), "B": parts("T1p2"), "C": parts("T1p3")}
        is_(assign_uniform({"T1": 4}, subscribe(B="T1", C="T1"), target), B="T1p0 T1p2", C="T1p1 T1p3")

    def test_unlike_subscriptions(self) -> None:
        # T1 has the most partitions per subscriber, so it is dealt out first and T2 evens out.
        members = subscribe(A="T1", B="T1 T2", C="T2")
        assert loads(assign_uniform({"T1": 4, "T2": 2}, members, {})) == {"A": 2, "B": 2, "C": 2}

    def test_nobody(self) -> None:
        assert assign_uniform({"T1": 4}, {}, {"A": parts("T1p0")}) == {}

    def test_a_target_with_two_owners_is_a_defect(self) -> None:
        with pytest.raises(BrokenInvariant, match="T1-0 to A and to B"):
            assign_uniform({"T1": 1}, subscribe(A="T1", B="T1"), {"A": parts("T1p0"), "B": parts("T1p0")})


class TestNames:
    def test_kafkas_names(self) -> None:
        assert list(CLASSIC) == ["range", "roundrobin", "sticky", "cooperative-sticky"]
        assert list(SERVER) == ["uniform", "range"]

    @pytest.mark.parametrize(
        ("names", "protocol"),
        [
            (["cooperative-sticky"], RebalanceProtocol.COOPERATIVE),
            (["range", "cooperative-sticky"], RebalanceProtocol.EAGER),
            (["sticky"], RebalanceProtocol.EAGER),
        ],
    )
    def test_cooperative_only_if_all_are(self, names: list[str], protocol: RebalanceProtocol) -> None:
        assert rebalance_protocol(names) is protocol

    @pytest.mark.parametrize("names", [[], ["uniform"]])
    def test_no_such_assignor(self, names: list[str]) -> None:
        with pytest.raises(BrokenInvariant, match="no classic assignors"):
            rebalance_protocol(names)
