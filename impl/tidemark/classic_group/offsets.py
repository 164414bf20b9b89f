"""A group's committed offsets (OffsetMetadataManager).

An OffsetCommit becomes records; the offsets count once those have committed, and then the request is answered. An
OffsetFetch reads what is written, and is answered once that has committed. Nobody is fenced by it: it changes nothing.
"""

from __future__ import annotations

from tidemark.classic_group.group import ClassicGroup
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupState
from tidemark.common.errors import Errors
from tidemark.groups.committed_offsets import CommittedOffsets
from tidemark.groups.messages import Batch, OffsetCommitRecord, OffsetCommitRequest


class Offsets(CommittedOffsets):
    """The offsets of a classic group, with its conditions for a commit."""

    __slots__ = ("_rules",)

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self._rules = rules

    def commit_error(self, group: ClassicGroup, request: OffsetCommitRequest) -> Errors:
        """The error for an OffsetCommit. The sender must be a member in the current generation, and the member must
        have its assignment."""
        member_id, instance = request.member_id, request.group_instance_id
        if instance is not None:
            mapped = group.static_members.get(instance)
            if mapped is None:
                return Errors.UNKNOWN_MEMBER_ID
            if not self._rules.member_of_instance(member_id, mapped):
                return Errors.FENCED_INSTANCE_ID
        if not self._rules.commit_of_member(member_id, group.members):
            return Errors.UNKNOWN_MEMBER_ID
        if not self._rules.commit_of_current_generation(request.generation_id, group.generation):
            return Errors.ILLEGAL_GENERATION
        if group.state is GroupState.COMPLETING_REBALANCE:
            return Errors.REBALANCE_IN_PROGRESS
        return Errors.NONE

    def records(self, request: OffsetCommitRequest) -> Batch:
        """An accepted OffsetCommit, written down."""
        return tuple(OffsetCommitRecord(partition, offset) for partition, offset in request.offsets.items())
