"""The safety rules of the classic group, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise"; the mechanism that asks is in the other files.
Nobody asks `persist_assignment_first` and `notice_what_was_missed`: a coordinator and a consumer do as they say, and
flaws.py has those that do otherwise. `Rules` gathers them; a coordinator or a consumer is given one when it is built.
The three that an assignor asks for stand in groups/assignors/claims.py, the consumer's own in membership.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields

from tidemark.classic_group.membership import lose_what_was_missed
from tidemark.classic_group.states import GroupState
from tidemark.common.rule_kinds import case, guard
from tidemark.groups.assignors.claims import Claim, count_older_claim, highest_claim_wins, owned_by_no_other
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId, TopicPartition

Assigned = Mapping[MemberId, Collection[TopicPartition]]
"""Member -> what it is assigned."""


@guard
def join_names_member_id(member_id: MemberId) -> bool:
    """KIP-394 (KAFKA-7610): a consumer joins with a member id that it was told before. Without it a JoinGroup without
    one adds a member at once. A reply that is lost leaves a member that nobody knows to be itself (row 35)."""
    return member_id != UNKNOWN_MEMBER_ID


@case
def completed_join_ends_newness(is_new: bool) -> bool:
    """KAFKA-9232: a member is new until its first join phase ends. Without it the member stays new, so that it expires
    while it waits in a later one (row 36)."""
    return is_new


@case
def replace_static_member_id(instance_member: MemberId | None) -> bool:
    """KAFKA-8500 (KIP-345): a new process of an instance that is a member already gets a member id of its own. Without
    it two processes have the same one, and both own its partitions (row 38)."""
    return instance_member is not None


@case
def rebalance_on_replacement_in_completing(state: GroupState) -> bool:
    """KAFKA-9801: a static member that is replaced while the leader assigns makes all join again. Without it the new
    member id is not in the assignment (row 39)."""
    return state is GroupState.COMPLETING_REBALANCE


@case
def persist_static_replacement(state: GroupState) -> bool:
    """KAFKA-10284: a replacement in a stable group is written down before anybody hears of it. Without it the next
    coordinator takes the old process back (row 40)."""
    return state is GroupState.STABLE


@case
def generation_of_older_epoch(generation: int, epoch: int, epoch_generations: int) -> bool:
    """This project's repair of the ghost generation; Kafka 4.x lacks it: a coordinator counts on from the first
    generation of its own epoch. Without it a generation that was handed out and not persisted is handed out again, to
    other members (row 49)."""
    return generation < (epoch - 1) * epoch_generations


@guard
def commit_of_current_generation(generation: int, current: int) -> bool:
    """KAFKA-1740: offsets are taken from the current generation. Without it a commit of an older one overwrites the new
    owner's offset (row 50)."""
    return generation == current


@guard
def commit_of_member(member_id: MemberId, members: Collection[MemberId]) -> bool:
    """Offsets are taken from members. Without it a consumer that was removed commits for partitions that are no longer
    its own."""
    return member_id in members


@guard
def sync_of_current_generation(generation: int, current: int) -> bool:
    """Assignments are taken from the current generation. Without it a leader of an older one assigns for members that
    it has not seen."""
    return generation == current


@guard
def heartbeat_of_current_generation(generation: int, current: int) -> bool:
    """A heartbeat names the current generation. Without it a consumer of an older one is not told that it missed a
    rebalance."""
    return generation == current


@case
def fetch_waits_for_commit(waiting: int) -> bool:
    """KIP-447 (require_stable): a fetch is answered when the batches (`waiting`: how many) that it has read have
    committed. Without it a consumer is told an offset that the next coordinator does not have."""
    return waiting > 0


@guard
def fetch_of_elected(elected: bool) -> bool:
    """This project's; Kafka 4.x lacks it: a fetch is answered with offsets by the elected coordinator. Without it one
    that was deposed tells the offsets that it has. The consumer reads again what another one has committed since (row
    151)."""
    return elected


@case
def answer_superseded(waits: bool) -> bool:
    """KAFKA-20938; Kafka 4.4.0 lacks it: a later JoinGroup or SyncGroup of a member takes the place of the one that
    waits. That one is answered now. Without it the earlier request is never answered: its consumer waits while the
    group goes on (row 145)."""
    return waits


@guard
def member_of_instance(member_id: MemberId, instance_member: MemberId) -> bool:
    """KIP-345: an instance acts under the member id that it is mapped to. Without it the replaced process goes on under
    its old one."""
    return member_id == instance_member


@case
def persist_assignment_first(state: GroupState) -> bool:
    """An assignment is committed before a member hears of it. Without it the next coordinator gives the same generation
    another one."""
    return state is GroupState.COMPLETING_REBALANCE


@guard
def propagate_only_to_its_generation(generation: int, assigned: int) -> bool:
    """A committed assignment is for the generation that it was made for. Without it one that commits late is handed out
    in a later generation."""
    return generation == assigned


@guard
def one_assignment_per_generation(
    generation: int, waiting: Iterable[int], assigned: Assigned | None, assignments: Assigned
) -> bool:
    """This project's; Kafka 4.x lacks it: a leader that joins again and assigns anew makes all join again. It does so
    while an assignment of the generation waits to commit, and when one counts. `waiting`: the generations whose
    assignments wait; `assigned`: the assignment of a stable group's members. Without it the log has another assignment
    than was handed out (row 106). Or the leader takes an assignment for the group's that no member has."""
    counts = assigned is None or all(
        one in assigned.get(member, ()) for member, given in assignments.items() for one in given
    )
    return generation not in waiting and counts


@case
def notice_what_was_missed(skip_assignment: bool) -> bool:
    """This project's; Kafka 4.x lacks it, a remainder of KAFKA-13435 (KIP-814): a leader that comes back and need not
    assign joins again once. It does not know from which partitions and subscriptions the group was assigned. Without it
    nobody notices changes since then (row 108)."""
    return skip_assignment


@guard
def replacement_keeps_subscription(before: Collection[str], after: Collection[str]) -> bool:
    """KAFKA-12759, open; Kafka 4.x compares the vote only: a static member that comes back with other topics makes the
    group rebalance. Without it nobody is given what the new process subscribes to (row 109)."""
    return before == after


@guard
def replacement_owes_nothing(owned: Collection[TopicPartition], assignment: Collection[TopicPartition]) -> bool:
    """This project's; Kafka 4.x lacks it: a static member may be replaced before it has given up the partitions that
    its assignment takes from it. Then the group rebalances, for the successor has nothing to give up and does not join
    again. Without it nobody is given the partitions that were withheld for it (row 135)."""
    return all(one in assignment for one in owned)


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    join_names_member_id: Callable[[MemberId], bool] = join_names_member_id
    completed_join_ends_newness: Callable[[bool], bool] = completed_join_ends_newness
    replace_static_member_id: Callable[[MemberId | None], bool] = replace_static_member_id
    rebalance_on_replacement_in_completing: Callable[[GroupState], bool] = rebalance_on_replacement_in_completing
    persist_static_replacement: Callable[[GroupState], bool] = persist_static_replacement
    owned_by_no_other: Callable[[Collection[MemberId], MemberId], bool] = owned_by_no_other
    highest_claim_wins: Callable[[Claim, Iterable[Claim]], bool] = highest_claim_wins
    count_older_claim: Callable[[int, int], bool] = count_older_claim
    generation_of_older_epoch: Callable[[int, int, int], bool] = generation_of_older_epoch
    commit_of_current_generation: Callable[[int, int], bool] = commit_of_current_generation
    commit_of_member: Callable[[MemberId, Collection[MemberId]], bool] = commit_of_member
    sync_of_current_generation: Callable[[int, int], bool] = sync_of_current_generation
    heartbeat_of_current_generation: Callable[[int, int], bool] = heartbeat_of_current_generation
    fetch_waits_for_commit: Callable[[int], bool] = fetch_waits_for_commit
    fetch_of_elected: Callable[[bool], bool] = fetch_of_elected
    answer_superseded: Callable[[bool], bool] = answer_superseded
    member_of_instance: Callable[[MemberId, MemberId], bool] = member_of_instance
    persist_assignment_first: Callable[[GroupState], bool] = persist_assignment_first
    propagate_only_to_its_generation: Callable[[int, int], bool] = propagate_only_to_its_generation
    one_assignment_per_generation: Callable[[int, Iterable[int], Assigned | None, Assigned], bool] = (
        one_assignment_per_generation
    )
    lose_what_was_missed: Callable[[bool], bool] = lose_what_was_missed
    notice_what_was_missed: Callable[[bool], bool] = notice_what_was_missed
    replacement_keeps_subscription: Callable[[Collection[str], Collection[str]], bool] = replacement_keeps_subscription
    replacement_owes_nothing: Callable[[Collection[TopicPartition], Collection[TopicPartition]], bool] = (
        replacement_owes_nothing
    )


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""
