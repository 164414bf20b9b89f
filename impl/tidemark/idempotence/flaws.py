"""Idempotent producers with rules removed: how Kafka was, or is, before the fix that each rule stands for.

Nothing in production imports this file. `rules_without({"InSequence"})` gives the rules for the simulator; the
specification with the same names in `Without` allows exactly the steps that it then takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidemark.common.removal import remove_rules
from tidemark.idempotence.rules import RULES, Rules


def _heap_order(sequences: Sequence[int]) -> Sequence[int]:
    """Before KAFKA-8483: the order of a PriorityQueue whose least was taken away. Two are in order in any heap."""
    places = list(range(len(sequences)))
    places[1:3] = places[2:0:-1] if len(places) > 2 else places[1:3]
    return places


GUARDS = {
    "in_sequence",
    "first_sequence_is_zero",
    "new_epoch_starts_at_zero",
    "fence_older_epoch",
    "state_follows_append",
    "state_outlives_retries",
    "resequence_only_refused",
    "drain_before_new_epoch",
    "drain_before_wrap",
    "span_within_window",
}
"""Rules that refuse something: without one, nothing is refused. The others provide for a case: without one, the case is
not seen."""


def rules_without(names: Iterable[str]) -> Rules:
    """The rules with some removed; names as in the specification ("InSequence") or as here ("in_sequence").

    Raises ValueError for a name that is no rule.
    """
    rules = Rules()
    if "resequence_in_order" in remove_rules(rules, names, RULES, GUARDS):
        rules.resequence_in_order = _heap_order
    return rules
