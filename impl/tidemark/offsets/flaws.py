"""The coordinator of offsets without some rules. Nothing in production imports this file; the simulator does."""

from __future__ import annotations

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import is_rule
from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.offsets.coordinator import OffsetCoordinator
from tidemark.offsets.rules import OffsetRules


class ValidatesOnArrival(OffsetCoordinator):
    """Before KAFKA-15784: the group validates a TxnOffsetCommit before the transaction coordinator is asked."""

    def verify_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Errors:
        """The group's error, too."""
        error = super().verify_txn_offset_commit(request)
        return self.group_error(request) if error is Errors.NONE else error


FLAWED = {"validate_after_verification": ValidatesOnArrival}
"""Rule -> what stands in its place."""


def coordinator_of(rules: OffsetRules, retention_ms: int) -> OffsetCoordinator:
    """The coordinator of a broker with these rules: without `validate_after_verification`, an older one."""
    if is_rule(rules.validate_after_verification):
        return OffsetCoordinator(rules, retention_ms)
    return ValidatesOnArrival(rules, retention_ms)
