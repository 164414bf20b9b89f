"""What consume-transform-produce does otherwise without some rules. Nothing in production imports this file."""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.transactions.messages import IsolationLevel

VARIANTS = (Variant("read_committed", "isolation_level", IsolationLevel.READ_UNCOMMITTED),)
"""Which setting changes, beside the rule's own answer."""
