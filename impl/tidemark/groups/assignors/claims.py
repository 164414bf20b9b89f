"""The owner of each partition by the members' claims, and the partitions that a cooperative rebalance may hand out.

A member claims the partitions that it believes it owns, with the generation of that assignment. Claims can be stale: a
member missed a rebalance, and its partition has had another owner since. The three rules are the specification's; the
leader's constructor is given them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tidemark.common.rule_kinds import case, guard
from tidemark.common.structs import value
from tidemark.groups.partitions import NO_GENERATION, Assignment, MemberId, Subscriptions, TopicPartition


@value
class Claim:
    """A member says that it owns a partition since `generation`."""

    member: MemberId
    generation: int


@guard
def owned_by_no_other(owners: Collection[MemberId], member: MemberId) -> bool:
    """KIP-429: an owned partition goes to its only owner or to nobody. An owner that loses it revokes it and rejoins,
    and the next rebalance finds it unclaimed. Without it the new owner begins while the old one still reads (row
    42)."""
    return all(owner == member for owner in owners)


@guard
def highest_claim_wins(claim: Claim, claims: Iterable[Claim]) -> bool:
    """KIP-792 (KAFKA-12984, KAFKA-13406): of a partition's claims those of the highest generation count. Without it a
    stale claim may win over the owner's (row 43)."""
    return all(other.generation <= claim.generation for other in claims)


@case
def count_older_claim(generation: int, newest_generation: int) -> bool:
    """KAFKA-14639: a claim counts though another member's claims are of a newer generation. Without it what a member
    that missed a rebalance still reads is given away in the round that revokes it (row 44)."""
    return generation < newest_generation


class ClaimRules(Protocol):
    """The rules in force, as far as assignors ask for them."""

    @property
    def owned_by_no_other(self) -> Callable[[Collection[MemberId], MemberId], bool]:
        """May the member get a partition with these owners?"""

    @property
    def highest_claim_wins(self) -> Callable[[Claim, Iterable[Claim]], bool]:
        """Does the claim count among the claims of its partition?"""

    @property
    def count_older_claim(self) -> Callable[[int, int], bool]:
        """Does a claim of this generation count, when the newest of all claims is of that one?"""


@dataclass(slots=True)
class AllClaimRules:
    """All three, each replaceable."""

    owned_by_no_other: Callable[[Collection[MemberId], MemberId], bool] = owned_by_no_other
    highest_claim_wins: Callable[[Claim, Iterable[Claim]], bool] = highest_claim_wins
    count_older_claim: Callable[[int, int], bool] = count_older_claim


ALL_CLAIM_RULES: ClaimRules = AllClaimRules()

MemberClaims = Mapping[MemberId, tuple[Iterable[TopicPartition], int]]
"""Member -> what it claims, and since which generation; members that claim nothing are in it too."""


@value
class Ownership:
    """The owners that the claims determine."""

    owners: dict[TopicPartition, tuple[MemberId, ...]]
    """The members with a counting claim of each partition: one, several with equal right, or none."""
    formerly: dict[TopicPartition, MemberId]
    """The partition's previous owner, by the newest claim that does not count."""

    def owner(self) -> dict[TopicPartition, MemberId]:
        """The partitions with exactly one owner."""
        return {partition: members[0] for partition, members in self.owners.items() if len(members) == 1}


def ownership(member_claims: MemberClaims, rules: ClaimRules) -> Ownership:
    """Decide between the claims."""
    claims: dict[TopicPartition, list[Claim]] = {}
    for member, (partitions, generation) in sorted(member_claims.items()):
        for partition in partitions:
            claims.setdefault(partition, []).append(Claim(member, generation))
    newest = max((generation for _, generation in member_claims.values()), default=NO_GENERATION)
    result = Ownership({}, {})
    for partition, said in claims.items():
        valid = [
            claim for claim in said if claim.generation == newest or rules.count_older_claim(claim.generation, newest)
        ]
        counting = [claim for claim in valid if rules.highest_claim_wins(claim, valid)]
        result.owners[partition] = tuple(claim.member for claim in counting)
        stale = [claim for claim in said if claim not in counting]
        if stale:
            result.formerly[partition] = max(stale, key=lambda claim: claim.generation).member
    return result


def without_withheld(assignment: Assignment, ownership: Ownership, rules: ClaimRules) -> Assignment:
    """`assignment` without the partitions that must be revoked before they can be handed out."""
    owners = ownership.owners
    return {
        member: tuple(one for one in partitions if rules.owned_by_no_other(owners.get(one, ()), member))
        for member, partitions in assignment.items()
    }


def moved_at_once(
    subscriptions: Subscriptions, assignment: Mapping[MemberId, Sequence[TopicPartition]]
) -> list[TopicPartition]:
    """The partitions that one rebalance takes from one member and gives to another, sorted: none, if it is cooperative.

    The leader checks this of an assignor that it does not know (ConsumerCoordinator.validateCooperativeAssignment).
    """
    added: set[TopicPartition] = set()
    revoked: set[TopicPartition] = set()
    for member, partitions in assignment.items():
        owned = subscriptions[member].owned_partitions
        added.update(set(partitions).difference(owned))
        revoked.update(set(owned).difference(partitions))
    return sorted(added & revoked)
