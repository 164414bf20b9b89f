"""The safety rules of a KIP-848 group, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise"; the mechanism that asks is in the other files.
Nobody asks `remove_epochs_first`: a group does as it says, and flaws.py has one that does otherwise. `Rules` gathers
them; a coordinator or a consumer is given one when it is built. The consumer's own stand in
consumer_group/membership.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.common.rule_kinds import case, guard
from tidemark.consumer_group.membership import abandon_reconciliation, report_until_revoked, report_what_is_taken
from tidemark.groups.consumer_group_messages import (
    JOIN_GROUP_MEMBER_EPOCH,
    LEAVE_GROUP_STATIC_MEMBER_EPOCH,
    MemberState,
)
from tidemark.groups.partitions import MemberId, TopicPartition

Owned = Collection[TopicPartition]
RELEASED = -1
"""The epoch of a partition that nobody holds."""


@guard
def revocation_reported(owned: Owned | None, revoked: Owned) -> bool:
    """KIP-848: a member has given its revoked partitions up when it reports to own none of them. Without it a partition
    counts as revoked as soon as its member was told. The next member gets it while the first still reads it."""
    return owned is not None and not any(one in owned for one in revoked)


@guard
def assign_released(epoch: int, partition: TopicPartition, revoking: Owned) -> bool:
    """KIP-848 (KAFKA-19449): a member gets partitions without a holder (`epoch`: of its holder), or those that it was
    itself giving up. Without it a member gets a partition that another one holds."""
    return epoch == RELEASED or partition in revoking


@guard
def assign_subscribed(partition: TopicPartition, topics: Collection[str]) -> bool:
    """KAFKA-19431 (4.2): a member has partitions of topics that it subscribes to. Without it a member keeps partitions
    of a topic that it no longer subscribes to, or is given them, until the next target assignment (row 143)."""
    return partition.topic in topics


@guard
def bump_revokes_nothing(assigned: Collection[TopicPartition], topics: Collection[str]) -> bool:
    """This project's; Kafka 4.x lacks it. A subscription that takes a partition from a member does not wait for the
    next target assignment. Without it the member revokes in the epoch that gave it the partition, and a late report
    from before it had the partition acknowledges that. The consumer still reads, and nothing fences it (row 144)."""
    return all(one.topic in topics for one in assigned)


@case
def join_in_new_epoch(member_epoch: int) -> bool:
    """This project's; Kafka 4.x lacks it: a member that joins while the next target assignment waits is in a new epoch.
    The last target assignment counts again, as that epoch's. Without it a late copy of a join brings a member that was
    removed back into its old epoch. Its consumer counts as current while another gets its partitions (row 152)."""
    return member_epoch == JOIN_GROUP_MEMBER_EPOCH


@case
def remove_epochs_first(partition: TopicPartition, revoking: Owned) -> bool:
    """KAFKA-16147: the epochs of partitions that a member held are removed before those of its present ones are added.
    Without it a partition that came back to the member that was giving it up counts as released (row 45)."""
    return partition in revoking


@case
def accept_rejoin(member_epoch: int) -> bool:
    """KAFKA-19233: a member may join again. Without it one that was fenced, or whose join was answered in vain, cannot
    (row 47)."""
    return member_epoch == JOIN_GROUP_MEMBER_EPOCH


@case
def empty_group_is_assigned(members: Collection[MemberId], member_id: MemberId) -> bool:
    """KAFKA-20442: when the last member is removed, the group's new epoch counts as assigned. Without it a group that
    everybody has left stays at an epoch that was never assigned (row 48)."""
    return len(members) == 1 and member_id in members


@guard
def heartbeat_of_member_epoch(epoch: int, current: int) -> bool:
    """KIP-848: a heartbeat names the member's epoch. Without it a consumer that was fenced, or has missed an
    assignment, goes on as a member."""
    return epoch == current


@guard
def previous_epoch_of_owner(owned: Owned | None, assigned: Owned) -> bool:
    """KIP-848: a reply may be lost, so the previous epoch is accepted from a member that owns no more than it is
    assigned. Without it a consumer that still owns partitions that were given away is taken for current."""
    return owned is not None and all(one in assigned for one in owned)


@case
def acknowledged_revocation_ends_epoch(state: MemberState) -> bool:
    """KIP-848 as it was until KAFKA-19974 (4.2): a member that acknowledges a revocation and has to revoke more goes on
    in another epoch. Without it a late request of the time before the revocation acknowledges, or commits, for another
    owner."""
    return state is MemberState.UNREVOKED_PARTITIONS


@case
def leave_ends_revocation(state: MemberState) -> bool:
    """KAFKA-20641 (pull request 22473, open): a static member that leaves for a while has nothing left to revoke.
    Without it the group remembers it as one that has. A coordinator that takes over gives it a rebalance time-out, for
    nothing (row 140)."""
    return state is MemberState.UNREVOKED_PARTITIONS


@guard
def replace_released_instance(member_epoch: int) -> bool:
    """KIP-345, KIP-848: an instance's next process needs that the one before it has left. Without it a second process
    takes the first one's place while that goes on."""
    return member_epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH


@case
def rejoin_of_own_instance(member_id: MemberId, instance_member: MemberId) -> bool:
    """Proposed in Kafka (pull request 23542): a static consumer joins again under its own member id. Without it one
    that lost a reply or was fenced is told UNRELEASED_INSTANCE_ID, and ends."""
    return member_id == instance_member


@guard
def member_of_instance(member_id: MemberId, instance_member: MemberId) -> bool:
    """KIP-345: an instance acts under the member id that it is mapped to. Without it a process that was replaced acts
    as its successor."""
    return member_id == instance_member


@guard
def commit_of_member(member_id: MemberId, members: Collection[MemberId]) -> bool:
    """Offsets are taken from members. Without it a consumer that was removed commits for partitions that are no longer
    its own."""
    return member_id in members


@guard
def commit_from_assignment_epoch(assignment_epoch: int, epoch: int) -> bool:
    """KIP-1251: a commit in an older epoch is for a partition that the member has held since. `assignment_epoch` gave
    it that; -1: it does not hold it. Without it the late commit of a partition that has been another's meanwhile
    overwrites that one's."""
    return 0 <= assignment_epoch <= epoch


@guard
def commit_of_held_partition(assignment_epoch: int) -> bool:
    """This project's; Kafka 4.x lacks it: also a commit in the member's own epoch is for a partition that it holds.
    Without it a member's commit for a partition that has been another's since overwrites that one's."""
    return assignment_epoch >= 0


@case
def fetch_waits_for_commit(waiting: int) -> bool:
    """KIP-447 (require_stable): a fetch is answered when the batches (`waiting`: how many) that it has read have
    committed. Without it a consumer is told an offset that the next coordinator does not have."""
    return waiting > 0


@guard
def fetch_of_elected(elected: bool) -> bool:
    """This project's; Kafka 4.x lacks it: a fetch is answered with offsets by the elected coordinator. Without it one
    that was deposed tells the offsets that it has. The consumer reads again what another one has committed since (row
    150)."""
    return elected


@case
def reply_after_commit(batches: int) -> bool:
    """The records of a heartbeat are committed before it is answered (`batches` are not yet). Without it a consumer
    goes on with an assignment that the next coordinator has never heard of."""
    return batches > 0


@case
def give_until_reported(owned: Owned | None, assigned: Collection[TopicPartition]) -> bool:
    """This project's; Kafka 4.x gives an assignment only in the reply to the heartbeat that changes it, or that asks
    for all. With the rule a reply has the member's assignment (`assigned`) until the member reports to own just that.
    Without it a late heartbeat takes the news: its reply is nobody's, and the consumer is never told (row 116)."""
    return owned is None or set(owned) != set(assigned)


@case
def tolerant_replay(found: int, expected: int) -> bool:
    """KAFKA-19862: a load finds another epoch of a partition than it expects, and goes on. It has read a member's
    record from before the log cleaner came by and missed the next one. Without it the load fails (row 46)."""
    return found != expected


@case
def keep_newer_epoch(found: int, epoch: int) -> bool:
    """This project's; Kafka 4.3 lacks it: such a load may have read an older record of the member than of the
    partition's next holder. The next holder's epoch stays. Without it the load fails where the member says something of
    itself, or joins again after it was removed (row 117)."""
    return found >= epoch


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    revocation_reported: Callable[[Owned | None, Owned], bool] = revocation_reported
    assign_released: Callable[[int, TopicPartition, Owned], bool] = assign_released
    assign_subscribed: Callable[[TopicPartition, Collection[str]], bool] = assign_subscribed
    bump_revokes_nothing: Callable[[Collection[TopicPartition], Collection[str]], bool] = bump_revokes_nothing
    join_in_new_epoch: Callable[[int], bool] = join_in_new_epoch
    remove_epochs_first: Callable[[TopicPartition, Owned], bool] = remove_epochs_first
    accept_rejoin: Callable[[int], bool] = accept_rejoin
    empty_group_is_assigned: Callable[[Collection[MemberId], MemberId], bool] = empty_group_is_assigned
    heartbeat_of_member_epoch: Callable[[int, int], bool] = heartbeat_of_member_epoch
    previous_epoch_of_owner: Callable[[Owned | None, Owned], bool] = previous_epoch_of_owner
    acknowledged_revocation_ends_epoch: Callable[[MemberState], bool] = acknowledged_revocation_ends_epoch
    leave_ends_revocation: Callable[[MemberState], bool] = leave_ends_revocation
    replace_released_instance: Callable[[int], bool] = replace_released_instance
    rejoin_of_own_instance: Callable[[MemberId, MemberId], bool] = rejoin_of_own_instance
    member_of_instance: Callable[[MemberId, MemberId], bool] = member_of_instance
    commit_of_member: Callable[[MemberId, Collection[MemberId]], bool] = commit_of_member
    commit_from_assignment_epoch: Callable[[int, int], bool] = commit_from_assignment_epoch
    commit_of_held_partition: Callable[[int], bool] = commit_of_held_partition
    fetch_waits_for_commit: Callable[[int], bool] = fetch_waits_for_commit
    fetch_of_elected: Callable[[bool], bool] = fetch_of_elected
    reply_after_commit: Callable[[int], bool] = reply_after_commit
    give_until_reported: Callable[[Owned | None, Collection[TopicPartition]], bool] = give_until_reported
    tolerant_replay: Callable[[int, int], bool] = tolerant_replay
    keep_newer_epoch: Callable[[int, int], bool] = keep_newer_epoch
    report_until_revoked: Callable[[bool], bool] = report_until_revoked
    report_what_is_taken: Callable[[Owned, Owned], bool] = report_what_is_taken
    abandon_reconciliation: Callable[[bool], bool] = abandon_reconciliation


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""
