"""The two kinds of safety rules, marked where a rule is defined; the specification has `Guard` and `Case` for them.

A guard answers "may this go ahead": without the rule, everything may. A case answers "does this case arise": without
the rule, it never does. A mark changes nothing of a function: it is noted once, when the module is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])

_GUARDS: set[Any] = set()
_CASES: set[Any] = set()


def guard(rule: Rule) -> Rule:
    """Mark a rule that answers "may this go ahead"."""
    _GUARDS.add(rule)
    return rule


def case(rule: Rule) -> Rule:
    """Mark a rule that answers "does this case arise"."""
    _CASES.add(rule)
    return rule


def is_guard(rule: Callable[..., Any]) -> bool:
    """Whether a function is marked as a guard."""
    return rule in _GUARDS


def is_rule(rule: Callable[..., Any]) -> bool:
    """Whether a function is marked as a safety rule of either kind."""
    return rule in _GUARDS or rule in _CASES
