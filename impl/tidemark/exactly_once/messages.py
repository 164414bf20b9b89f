"""The requests of an instance."""

from __future__ import annotations

from tidemark.groups.offset_records import TxnOffsetCommitRequest
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import EndTxnRequest

Commits = tuple[TxnOffsetCommitRequest, ...]
"""A TxnOffsetCommit: one per partition, of one member in one generation."""
Request = ProduceRequest | Commits | EndTxnRequest
