"""Names: Python's spelling of the specification's, and the sentence about one that is not known."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

CLOSE = 0.6
"""How much of two names must be the same, for one to be meant by the other."""
NEARLY = 0.1
"""A name that comes so close to another as the closest does, but for this share, is suggested, too."""
FEW = 8
"""So many names at most are all told, where none comes close."""
EVERY_RULE = "`tidemark rule` lists them all"
"""Where the rules are."""


def closest(name: str, names: Iterable[str], other: Callable[[str], str] = str.lower) -> list[str]:
    """Those that are as close as the closest, or nearly; written in another way (`other`), a name is its own."""
    known = list(names)
    folded = {one.lower(): one for one in known} | {other(one): one for one in known}
    wanted = name.lower()
    if wanted in folded:
        return [folded[wanted]]
    close = difflib.get_close_matches(wanted, folded, 4, CLOSE)
    alike = [difflib.SequenceMatcher(None, wanted, one).ratio() for one in close]
    return list(
        dict.fromkeys(folded[one] for one, ratio in zip(close, alike, strict=True) if ratio > alike[0] - NEARLY)
    )


def instead(name: str, names: Iterable[str], where: str, other: Callable[[str], str] = str.lower) -> str:
    """The end of a sentence that refuses `name`: similar names, else all names if they are few, else `where` they
    are."""
    known = list(names)
    close = closest(name, known, other)
    if close:
        return f"did you mean {' or '.join(close)}? ({where})"
    return f"choose from {', '.join(known)}" if 0 < len(known) <= FEW else where


def snake_case(name: str) -> str:
    """`TruncateByEpoch` -> `truncate_by_epoch`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def underscored(name: str) -> str:
    """`consumer-group` -> `consumer_group`."""
    return name.lower().replace("-", "_")


def camel_case(name: str) -> str:
    """`truncate_by_epoch` -> `TruncateByEpoch`."""
    return "".join(word.capitalize() for word in name.split("_"))
