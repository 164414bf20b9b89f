"""Who owns a partition when members say what they own, and what a cooperative rebalance may hand out.

A member claims what it believes it owns, with the generation in which it was told so. Claims can be stale: a member
missed a rebalance, and its partition has had another owner since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tidemark.group.partitions import (
    NO_GENERATION,
    Assignment,
    MemberId,
    Subscriptions,
    TopicPartition,
)
from tidemark.structs import value


@value
class Claim:
    """A member says that it owns a partition since `generation`."""

    member: MemberId
    generation: int


MemberClaims = Mapping[MemberId, tuple[Iterable[TopicPartition], int]]
"""Member -> what it claims, and since which generation."""
BelieveRule = Callable[[Claim, Sequence[Claim], int], bool]
"""(a claim, all claims of its partition, the highest generation of any claim) -> whether it counts."""


def newest_of_its_partition(claim: Claim, claims: Sequence[Claim], highest: int) -> bool:
    """KAFKA-12984, KAFKA-14639: of a partition's claims those of its own highest generation count. Without it a stale
    claim is as good as the owner's; or, if only claims of the highest generation of all count, the claim of a member
    that missed a rebalance is not seen, and its partition is given away before it is revoked."""
    return claim.generation == max(other.generation for other in claims)


@value
class Ownership:
    """What the claims come to."""

    owner: dict[TopicPartition, MemberId | None]
    """Who owns each claimed partition; None if two members claim it with equal right."""
    formerly: dict[TopicPartition, MemberId]
    """Who had the partition before, by the newest claim that does not count."""


def ownership(member_claims: MemberClaims, believe: BelieveRule) -> Ownership:
    """Decide between the claims; a partition of which no claim counts has no entry in `owner`."""
    claims: dict[TopicPartition, list[Claim]] = {}
    for member, (partitions, generation) in sorted(member_claims.items()):
        for partition in partitions:
            claims.setdefault(partition, []).append(Claim(member, generation))
    highest = max((generation for _, generation in member_claims.values()), default=NO_GENERATION)
    result = Ownership({}, {})
    for partition, said in claims.items():
        counting = [claim for claim in said if believe(claim, said, highest)]
        if counting:
            result.owner[partition] = counting[0].member if len(counting) == 1 else None
        if len(counting) < len(said):
            stale = max((claim for claim in said if claim not in counting), key=lambda claim: claim.generation)
            result.formerly[partition] = stale.member
    return result


WithholdRule = Callable[[MemberId, MemberId | None], bool]
"""(who would get a claimed partition, who owns it) -> whether it must not be handed out now."""


def owned_by_another(taker: MemberId, owner: MemberId | None) -> bool:
    """KIP-429: a partition that is claimed goes to its owner or to nobody; whoever claims it revokes it and rejoins,
    and the next rebalance finds it unclaimed. Without it the new owner begins while the old one still reads."""
    return taker != owner


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


def without_withheld(assignment: Assignment, owners: Ownership, withhold: WithholdRule) -> Assignment:
    """`assignment` without the claimed partitions that `withhold` keeps back."""
    return {
        member: tuple(one for one in partitions if one not in owners.owner or not withhold(member, owners.owner[one]))
        for member, partitions in assignment.items()
    }
