"""The behaviour of consume-transform-produce without some rules. Nothing in production imports this file."""

from __future__ import annotations

from tidemark.common.removal import Variant
from tidemark.transactions.messages import IsolationLevel

VARIANTS = (Variant("read_committed", "isolation_level", IsolationLevel.READ_UNCOMMITTED),)
"""The settings that change, beside the rule's own answer."""
