"""The KIP-848 group with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. `rules_without({"AcceptRejoin"})` gives the rules for the simulator; the
specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.common.removal import remove_rules
from tidemark.consumer_group.rules import RULES, Rules

GUARDS = {
    "await_revocation",
    "assign_released",
    "heartbeat_of_member_epoch",
    "previous_epoch_of_owner",
    "replace_released_instance",
    "fence_instance_id",
    "commit_of_member",
    "commit_from_assignment_epoch",
    "commit_of_held_partition",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("AcceptRejoin") or as here ("accept_rejoin").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    remove_rules(rules, names, RULES, GUARDS)
    return rules
