"""TLC's cfg as sections of text, so that a generated cfg can take over some of them word for word.

(`tla.cfg` reads a cfg's meaning, values included; here a section is only moved or dropped.)
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from tidemark_conformance.tlc.modules import without_comments

_KEYWORDS = {
    "CONSTANT": "CONSTANT",
    "CONSTANTS": "CONSTANT",
    "INIT": "INIT",
    "NEXT": "NEXT",
    "SPECIFICATION": "SPECIFICATION",
    "INVARIANT": "INVARIANT",
    "INVARIANTS": "INVARIANT",
    "PROPERTY": "PROPERTY",
    "PROPERTIES": "PROPERTY",
    "CONSTRAINT": "CONSTRAINT",
    "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINT": "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT",
    "ACTION-CONSTRAINT": "ACTION_CONSTRAINT",
    "ACTION-CONSTRAINTS": "ACTION_CONSTRAINT",
    "SYMMETRY": "SYMMETRY",
    "VIEW": "VIEW",
}
_KEYWORD = re.compile(r'"[^"\n]*"|(?<![\w-])(' + "|".join(sorted(_KEYWORDS, key=len, reverse=True)) + r")(?![\w-])")

_ASSIGNMENT = re.compile(r"(?<![\w!])(\w+)\s*(?:=|<-)")


@dataclass(frozen=True, slots=True)
class Config:
    """A cfg's sections in order: (keyword in the singular, text up to the next keyword, without comments)."""

    sections: tuple[tuple[str, str], ...]

    def names(self, keyword: str) -> list[str]:
        """The names listed under a keyword, e.g. the invariants under "INVARIANT"."""
        return [name for key, text in self.sections if key == keyword for name in re.findall(r"\w+", text)]

    def init_next(self) -> tuple[str, str]:
        """The operators of the initial and the next states; behind a SPECIFICATION they are Init and Next."""
        return (self.names("INIT") or ["Init"])[0], (self.names("NEXT") or ["Next"])[0]

    def constants(self, without: Collection[str] = ()) -> str:
        """The CONSTANT sections as text of a cfg, the assignments of the names in `without` left out."""
        kept = []
        for key, text in self.sections:
            if key == "CONSTANT":
                starts = list(_ASSIGNMENT.finditer(text))
                ends = [start.start() for start in starts[1:]] + [len(text)]
                kept += [
                    f"    {text[start.start() : end].strip()}\n"
                    for start, end in zip(starts, ends, strict=True)
                    if start[1] not in without
                ]
        return "CONSTANTS\n" + "".join(kept) if kept else ""


def parse(text: str) -> Config:
    """The sections of a cfg's text; text before the first keyword is left to TLC, which refuses it."""
    plain = without_comments(text)
    starts = [found for found in _KEYWORD.finditer(plain) if found[1]]
    ends = [found.start() for found in starts[1:]] + [len(plain)]
    return Config(
        tuple((_KEYWORDS[start[1]], plain[start.end() : end]) for start, end in zip(starts, ends, strict=True))
    )
