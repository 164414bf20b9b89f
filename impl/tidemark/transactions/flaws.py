"""Transactions with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. `rules_without({"VerifyTransaction"})` gives the rules for the simulator; the
specification with the same names in `Without` allows exactly the steps that it then takes. Without
`EpochPerTransaction` it is TV1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidemark.common.removal import remove_rules
from tidemark.transactions.rules import RULES, Rules

GUARDS = {
    "fence_request_epoch",
    "complete_once",
    "complete_after_markers",
    "act_on_committed",
    "cancel_own_entry",
    "verification_guard",
    "ongoing_of_its_epoch",
    "fence_older_epoch",
    "track_marker_time",
    "marker_of_its_transaction",
    "fence_older_coordinator",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""

COMPUTED: dict[str, tuple[str, Any]] = {"epoch_per_transaction": ("transaction_version", 1)}
"""Which setting changes, beside the rule's own answer."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("ResumeOnLoad") or as here ("resume_on_load").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    for rule in remove_rules(rules, names, RULES, GUARDS):
        if rule in COMPUTED:
            setattr(rules, *COMPUTED[rule])
    return rules
