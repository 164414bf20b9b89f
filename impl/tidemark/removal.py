"""How a protocol's flaws.py takes rules out of it; nothing in production imports this file."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

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
            raise ValueError(f"there is no rule {name}: {_instead(rule, known)}")
        setattr(rules, rule, _always if rule in guards else _never)
        removed.append(rule)
    return removed


def _instead(rule: str, known: Collection[str]) -> str:
    """What may be meant by a name that is no rule, by the specification's names; all of them where none comes close."""
    close = difflib.get_close_matches(rule, known, 2, 0.7)
    names = ["".join(word.capitalize() for word in one.split("_")) for one in close or known]
    return f"did you mean {' or '.join(names)}?" if close else f"the rules are {', '.join(names)}"


def snake_case(name: str) -> str:
    """`TruncateByEpoch` -> `truncate_by_epoch`."""
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
