"""The cfg that TLC is given for a model (`tla.cfg` reads the model's own)."""

from __future__ import annotations

import re
from collections.abc import Collection

from tidemark_conformance.java.modules import without_comments
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tlc.values import to_tla

_DEADLOCK = re.compile(r"\bCHECK_DEADLOCK\s+(TRUE|FALSE)\b")


def constants(config: Config, without: Collection[str] = ()) -> str:
    """The CONSTANTS of the cfg as text of a cfg, the names in `without` left out."""
    lines = [f"    {name} = {to_tla(value)}\n" for name, value in config.constants.items() if name not in without]
    lines += [f"    {name} <- {other}\n" for name, other in config.substitutions.items() if name not in without]
    return "CONSTANTS\n" + "".join(lines) if lines else ""


def without_deadlock(text: str) -> tuple[str, bool | None]:
    """A cfg without its CHECK_DEADLOCK, and that statement's value (None: it is not there). TLC before 2.16 does not
    know it, and a switch says the same to any."""
    found = _DEADLOCK.search(without_comments(text))
    if found is None:
        return text, None
    return text[: found.start()] + " " * len(found[0]) + text[found.end() :], found[1] == "TRUE"
