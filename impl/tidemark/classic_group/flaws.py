"""The classic group with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. `rules_without({"RequireKnownMemberId"})` gives the rules for the simulator;
the specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark.classic_group.rules import RULES, Rules
from tidemark.common.removal import remove_rules

GUARDS = {
    "require_known_member_id",
    "withhold_until_revoked",
    "highest_claim_wins",
    "commit_of_current_generation",
    "commit_of_member",
    "sync_of_current_generation",
    "heartbeat_of_current_generation",
    "fence_instance_id",
    "propagate_only_to_its_generation",
    "one_assignment_per_generation",
    "replacement_keeps_subscription",
    "replacement_owes_nothing",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("CommitOfMember") or as here ("commit_of_member").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    remove_rules(rules, names, RULES, GUARDS)
    return rules
