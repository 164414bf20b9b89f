"""Committed offsets with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. The specification with the same names in `Without` allows exactly the steps
that are then taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.removal import remove_rules
from tidemark.offsets.rules import RULES, OffsetRules

GUARDS = {
    "expire_only_unsubscribed",
    "keep_staged",
    "keep_group_of_open_transaction",
    "delete_only_unsubscribed",
    "delete_only_empty_group",
    "txn_commit_of_current_generation",
    "verify_transaction",
    "fence_producer_epoch",
    "marker_of_its_transaction",
    "refuse_staged",
    "clean_below_unstable",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""


def rules_without(names: Iterable[str]) -> OffsetRules:
    """The rules with some removed; names as in the specification ("KeepStaged") or as here ("keep_staged").

    Raises ValueError for a name that is no rule.
    """
    rules = OffsetRules()
    remove_rules(rules, names, RULES, GUARDS)
    return rules
