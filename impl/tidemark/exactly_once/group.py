"""A group whose members commit in transactions (KIP-447): the members, and beside them the coordinator of the offsets,
which asks the group whether a member may commit.

    join_group, remove_member, replace_member   who is a member; nobody hears of it but by the next generation, except a
                                                process that takes the place of its static instance (KIP-345)
    complete_join, sync_group                   the next generation: those who have joined, and what each is assigned
    commit_transactional_offsets                a TxnOffsetCommit, once the transaction coordinator has answered
    commit_offsets                              a plain OffsetCommit

What goes before a generation (joining, electing a leader, time-outs) is the classic group's affair
(classic_group/coordinator.py); here a rebalance is one step. Offsets, staged offsets and markers are the affair of the
offsets' coordinator (offsets/coordinator.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from tidemark.common.errors import Errors
from tidemark.exactly_once.messages import Commits
from tidemark.exactly_once.rules import Rules
from tidemark.groups.assignors.round_robin import assign_round_robin
from tidemark.groups.messages import NO_OFFSET, OffsetCommitRequest
from tidemark.groups.offset_records import (
    OffsetOutcome,
    OffsetsGroup,
    StableOffsetFetchResponse,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID, MemberId, Subscription, TopicPartition
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.transactions.messages import AddPartitionsToTxnRequest, Partition
from tidemark.transactions.partition_leader import verification_error

RETENTION_MS = 2**40
"""Nothing expires here."""
NOW_MS = 0
"""No clock runs here, since nothing expires."""
EVERY_RULE = Rules()
"""The rules are those of transactional commits; other requests of members are checked in any case."""


class TransactionalGroup:
    """`members`: in the order in which their ids were issued; `joined`: those who have joined the next
    generation; `instances`: the member of each static instance; `owner`: whose each partition is; `offsets`: the
    coordinator of the offsets."""

    def __init__(self, rules: Rules, topic: str, partitions: int) -> None:
        self._rules = rules
        self._topic = topic
        self.partitions = tuple(TopicPartition(topic, number) for number in range(partitions))
        self.issued = 0
        self.generation = 0
        self.members: dict[MemberId, str | None] = {}
        self.joined: set[MemberId] = set()
        self.instances: dict[str, MemberId] = {}
        self.owner: list[MemberId] = [UNKNOWN_MEMBER_ID] * partitions
        self.offsets = OffsetCoordinator(rules.for_offsets(), RETENTION_MS, self)
        self.offsets.become_coordinator(1, 0, (), {})

    # --- members ----------------------------------------------------------------------------------------------------

    def _issue(self) -> MemberId:
        """Ids in the order of their names."""
        self.issued += 1
        return f"{self.issued:06}"

    def join_group(self, member_id: MemberId, instance: str | None) -> MemberId | Errors:
        """A process joins the next generation; returns its member id, or the error. A member id must be a
        member's; a process without one takes the place of its static instance."""
        if member_id != UNKNOWN_MEMBER_ID:
            error = self._member_error(EVERY_RULE, member_id, instance)
            if error is not Errors.NONE:
                return error
        else:
            member_id = self._issue()
            if instance is not None:
                self._drop(self.instances.get(instance, UNKNOWN_MEMBER_ID))
                self.instances[instance] = member_id
            self.members[member_id] = instance
        self.joined.add(member_id)
        return member_id

    def _member_error(self, rules: Rules, member_id: MemberId, instance: str | None) -> Errors:
        """The error for a request that names a member (ClassicGroup.validateMember): the instance is asked first."""
        if instance is not None:
            known = self.instances.get(instance)
            if known is None:
                return Errors.UNKNOWN_MEMBER_ID
            if not rules.member_of_instance(member_id, known):
                return Errors.FENCED_INSTANCE_ID
        return Errors.NONE if rules.commit_of_member(member_id, self.members) else Errors.UNKNOWN_MEMBER_ID

    def replace_member(self, instance: str) -> MemberId | None:
        """A new process of a static instance takes the place of the old one, in the same generation; None: it has to
        join, because the instance has no member or the group rebalances."""
        old = self.instances.get(instance)
        if old is None or self.joined:
            return None
        self._drop(old)
        member_id = self._issue()
        self.members[member_id] = instance
        self.instances[instance] = member_id
        self.owner = [member_id if one == old else one for one in self.owner]
        return member_id

    def remove_member(self, member_id: MemberId) -> None:
        """A member has left, or was not heard of for its session time-out. Nobody else owns its partitions before the
        next generation."""
        instance = self.members[member_id]
        self._drop(member_id)
        if instance is not None and self.instances.get(instance) == member_id:
            del self.instances[instance]

    def _drop(self, member_id: MemberId) -> None:
        self.members.pop(member_id, None)
        self.joined.discard(member_id)

    def complete_join(self) -> bool:
        """The next generation begins, of those who have joined and of the static members, which stay until their
        sessions expire; False: nobody has joined, and somebody is left."""
        if not self.joined and (self.members or not any(self.owner)):
            return False
        stays = self.joined.union(self.instances.values())
        self.generation += 1
        self.members = {one: self.members[one] for one in sorted(stays)}
        self.joined = set()
        subscription = Subscription(frozenset({self._topic}))
        assigned = assign_round_robin({self._topic: len(self.owner)}, dict.fromkeys(self.members, subscription))
        self.owner = [UNKNOWN_MEMBER_ID] * len(self.owner)
        for member_id, partitions in assigned.items():
            for partition in partitions:
                self.owner[partition.partition] = member_id
        return True

    def sync_group(self, member_id: MemberId) -> tuple[int, list[int]] | None:
        """A member's generation and partitions; None: it is none (UNKNOWN_MEMBER_ID), or the generation that it has
        joined is not complete."""
        if member_id not in self.members or member_id in self.joined:
            return None
        return self.generation, self.assignment(member_id)

    def assignment(self, member_id: MemberId) -> list[int]:
        """The numbers of the partitions that a member is assigned."""
        return [number for number, owner in enumerate(self.owner) if owner == member_id]

    def is_rebalancing(self, member_id: MemberId, generation: int) -> bool:
        """Whether a heartbeat would tell the member to join again: it is none, others have joined, or some have
        gone."""
        if member_id not in self.members or generation != self.generation or self.joined:
            return True
        return not all(one in self.members for one in self.owner if one)

    # --- offsets ----------------------------------------------------------------------------------------------------

    def group_error(self, request: TxnOffsetCommitRequest, written: OffsetsGroup) -> Errors:
        """The group's error for a TxnOffsetCommit: the log knows nothing of the members. Clients before KIP-447 name no
        member and no generation."""
        member_id, instance, generation = request.member_id, request.group_instance_id, request.generation_id
        if member_id == UNKNOWN_MEMBER_ID and instance is None and generation < 0:
            return Errors.NONE
        return self._commit_error(self._rules, member_id, instance, generation)

    def _commit_error(self, rules: Rules, member_id: MemberId, instance: str | None, generation: int) -> Errors:
        """The error for a commit (ClassicGroup.validateOffsetCommit). Kafka's order of checks: the instance, the
        member, the generation. A group without members takes any commit that names no generation."""
        if generation < 0 and not self.members:
            return Errors.NONE
        error = self._member_error(rules, member_id, instance)
        if error is not Errors.NONE:
            return error
        if not rules.txn_commit_of_current_generation(generation, self.generation):
            return Errors.ILLEGAL_GENERATION
        return Errors.NONE

    def _answer(self, outcome: OffsetOutcome) -> Errors:
        """The answer to a request. A written record commits at once; its possible loss is modelled in Offsets."""
        if outcome.record is not None:
            outcome = self.offsets.commit_entry()
        error = outcome.error
        for reply in outcome.replies:
            error = reply.response.error
        return error

    def _commit_all(self, outcomes: Iterator[OffsetOutcome]) -> Errors:
        """The answer to a commit of several partitions: the first refusal. Behind it no partition is handled. Kafka
        validates once for all of them (OffsetMetadataManager), but for the size of metadata, which are not here."""
        for outcome in outcomes:
            error = self._answer(outcome)
            if error is not Errors.NONE:
                return error
        return Errors.NONE

    def verify_transactional_offsets(self, requests: Commits, partition: Partition) -> AddPartitionsToTxnRequest | None:
        """A TxnOffsetCommit arrives: the question to the transaction coordinator, which takes the group's partition of
        __consumer_offsets into the transaction (KIP-890, part 2). None if the transaction is open here."""
        first = requests[0]
        if not self._rules.verify_transaction(self.offsets.open_here(first)):
            return None
        return AddPartitionsToTxnRequest(first.producer_id, first.producer_epoch, partition)

    def commit_transactional_offsets(self, requests: Commits, answer: Errors) -> Errors:
        """A TxnOffsetCommit that has been verified: its offsets are staged, or it is refused. `answer`: the transaction
        coordinator's, Errors.NONE if it was not asked."""
        if answer is not Errors.NONE:
            return verification_error(answer)
        handle = self.offsets.handle_txn_offset_commit
        return self._commit_all(handle(request, request.partition, NOW_MS) for request in requests)

    def end_transaction(self, request: WriteTxnMarkerRequest) -> Errors:
        """A marker: what the transaction has staged counts, or is dropped; or the marker is refused."""
        return self._answer(self.offsets.handle_marker(request, request.producer_id))

    def offset_commit_error(self, member_id: MemberId, instance: str | None, generation: int) -> Errors:
        """The error for a plain OffsetCommit."""
        return self._commit_error(EVERY_RULE, member_id, instance, generation)

    def commit_offsets(self, request: OffsetCommitRequest) -> Errors:
        """A plain OffsetCommit: its offsets count at once, or it is refused."""
        error = self.offset_commit_error(request.member_id, request.group_instance_id, request.generation_id)
        if error is not Errors.NONE:
            return error
        commit = self.offsets.commit_offset
        return self._commit_all(commit(partition, offset, NOW_MS) for partition, offset in request.offsets.items())

    def offset(self, partition: TopicPartition) -> int:
        """The committed offset, 0 without one."""
        known = self.offsets.committed.offsets.get(partition)
        return 0 if known is None else known.offset

    def stable_offset(self, partition: TopicPartition) -> int | None:
        """OffsetFetch with require_stable: the committed offset, 0 without one; None: UNSTABLE_OFFSET_COMMIT."""
        response = self.offsets.fetch_offsets((partition,), True, None).replies[0].response
        if not isinstance(response, StableOffsetFetchResponse) or response.unstable:
            return None
        return max(0, response.offsets.get(partition, NO_OFFSET))
