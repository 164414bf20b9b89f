"""Consume-transform-produce with rules removed: how applications and brokers were before the fix that each stands for.

Nothing in production imports this file. `rules_without({"RefuseStaged"})` gives the rules for the simulator; the
specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidemark.common.removal import remove_rules
from tidemark.exactly_once.rules import RULES, Rules
from tidemark.transactions.messages import IsolationLevel

GUARDS = {
    "fence_request_epoch",
    "fence_older_epoch",
    "marker_of_its_transaction",
    "in_sequence",
    "txn_commit_of_current_generation",
    "commit_of_member",
    "fence_instance_id",
    "refuse_staged",
    "send_group_metadata",
    "revoke_ends_transaction",
    "commit_in_transaction",
    "abort_after_error",
    "read_committed",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""

COMPUTED: dict[str, tuple[str, Any]] = {"read_committed": ("isolation_level", IsolationLevel.READ_UNCOMMITTED)}
"""Which setting changes, beside the rule's own answer."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("RefuseStaged") or as here ("refuse_staged").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    for rule in remove_rules(rules, names, RULES, GUARDS):
        if rule in COMPUTED:
            setattr(rules, *COMPUTED[rule])
    return rules
