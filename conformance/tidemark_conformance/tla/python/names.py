"""The Python names of identifiers, constants and rules in generated source."""

from __future__ import annotations

import keyword
import re


def identifier(name: str, uid: int) -> str:
    """The name of a bound identifier: the text's, with its uid."""
    plain = re.sub(r"\W+", "_", name).strip("_") or "x"
    if keyword.iskeyword(plain) or plain in ("s", "t", "lazy") or plain.startswith(("lazy_", "k_")):
        plain = f"v_{plain}"
    return f"{plain}_{uid}"


def rule_name(rule: str) -> str:
    """The Python name that holds whether a rule is in force."""
    return "has_" + re.sub(r"\W", "_", rule)


def constant_name(name: str) -> str:
    """The Python name that holds a constant's value."""
    return f"c_{name}"
