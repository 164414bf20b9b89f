"""The behaviour of transactions without some rules. Nothing in production imports this file.

Without `EpochPerTransaction` it is transaction.version 1.
"""

from __future__ import annotations

from tidemark.common.removal import Variant

VARIANTS = (Variant("epoch_per_transaction", "transaction_version", 1),)
"""The settings that change, beside the rule's own answer."""
