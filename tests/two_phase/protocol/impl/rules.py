"""The safety rules of two-phase commit, one small pure function each, under the specification's names.

A guard answers "may this go ahead", a case "does this case arise"; the managers ask. `Rules` gathers them; a manager is
given one when it is built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

from tidemark.common.rule_kinds import case, guard
from tidemark.two_phase_commit.messages import Outcome, ResourceManagerId


@guard
def commit_only_if_all_prepared(prepared: Collection[ResourceManagerId], asked: int) -> bool:
    """The transaction manager commits when all whom it asked have prepared. Without it a resource manager that has
    promised nothing gives up alone, and others commit (row 901)."""
    return len(prepared) == asked


@guard
def prepared_waits(prepared: bool) -> bool:
    """A resource manager gives up alone until it has prepared. Without it one that has promised to commit changes its
    mind."""
    return not prepared


@case
def keep_decision(decision: Outcome | None) -> bool:
    """A transaction manager that has decided comes back with its decision, which is on its disk. Without it it decides
    again, and otherwise (row 902)."""
    return decision is not None


@dataclass(slots=True)
class Rules:
    """The rules in force, one callable each."""

    commit_only_if_all_prepared: Callable[[Collection[ResourceManagerId], int], bool] = commit_only_if_all_prepared
    prepared_waits: Callable[[bool], bool] = prepared_waits
    keep_decision: Callable[[Outcome | None], bool] = keep_decision


RULES = tuple(field.name for field in fields(Rules))
"""The rules' names, in the specification's order."""
