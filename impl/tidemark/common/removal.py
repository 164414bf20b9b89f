"""How a protocol's flaws.py takes rules out of it; nothing in production imports this file."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from tidemark.common.naming import EVERY_RULE, camel_case, instead, snake_case

R = TypeVar("R")


def _always(*_: Any) -> bool:
    """Whatever is asked is allowed."""
    return True


def _never(*_: Any) -> bool:
    """The case that the rule provides for is not seen."""
    return False


def remove_rules(rules: R, names: Iterable[str], known: Collection[str], guards: Collection[str]) -> list[str]:
    """Take rules out of `rules`, and say which, by the names that they have here.

    `names` are the specification's ("TruncateByEpoch") or those of here ("truncate_by_epoch"). A rule of `guards`
    refuses something: without it, nothing is refused. Another provides for a case: without it, the case is not seen.
    Raises ValueError for a name that is not `known`.
    """
    removed = []
    for name in sorted(names):
        rule = snake_case(name)
        if rule not in known:
            hint = instead(name, map(camel_case, known), EVERY_RULE, snake_case)
            raise ValueError(f"there is no rule {name}: {hint}")
        setattr(rules, rule, _always if rule in guards else _never)
        removed.append(rule)
    return removed
