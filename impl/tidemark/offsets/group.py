"""The group whose offsets a coordinator keeps. It validates transactional commits (Group.validateOffsetCommit)."""

from __future__ import annotations

from typing import Protocol

from tidemark.common.errors import Errors
from tidemark.groups.offset_records import OffsetsGroup, TxnOffsetCommitRequest
from tidemark.offsets.rules import OffsetRules


class Group(Protocol):
    """A group that validates the commits of its members."""

    def group_error(self, request: TxnOffsetCommitRequest, written: OffsetsGroup) -> Errors:
        """The error for a TxnOffsetCommit. `written`: the group as the log has it, uncommitted records included."""


class LoggedGroup:
    """A group of which all is known by its records: it checks the generation."""

    __slots__ = ("_rules",)

    def __init__(self, rules: OffsetRules) -> None:
        self._rules = rules

    def group_error(self, request: TxnOffsetCommitRequest, written: OffsetsGroup) -> Errors:
        """ILLEGAL_GENERATION for another generation. A client before KIP-447 sends none, and is accepted."""
        generation = request.generation_id
        if generation < 0 or self._rules.txn_commit_of_current_generation(generation, written.generation):
            return Errors.NONE
        return Errors.ILLEGAL_GENERATION
