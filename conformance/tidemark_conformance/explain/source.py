r"""The text of a specification, read for people: a definition with the comment above it, a conjunct, a use.

SANY's output carries no comments and the IR no text, so this looks at the modules themselves. Nothing is decided here:
a line's meaning is the compiler's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.ir import Loc

_UNIT = re.compile(
    r"^(?:\w+(?:\([^=]*\)|\[[^=]*\])?\s*==|-{4,}|={4,}|VARIABLES?\b|CONSTANTS?\b|ASSUME\b|THEOREM\b|LOCAL\b)"
)
_DEFINED = re.compile(r"^\w+(?:\([^=]*\)|\[[^=]*\])?\s*==")
_COMMENT = re.compile(r"^\\\*")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a module: `Module.tla`, its 1-based number, its text without the line end."""

    file: str
    number: int
    text: str

    @property
    def place(self) -> str:
        """`Module.tla:line`."""
        return f"{self.file}:{self.number}"


class Source:
    """The modules of a specification as text."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """`files`: module name -> file. Raises Unusable for a file that cannot be read."""
        self._lines: dict[str, list[str]] = {}
        for name, file in files.items():
            try:
                self._lines[name] = file.read_text(encoding="utf-8").splitlines()
            except OSError as problem:
                raise Unusable(f"{file} cannot be read ({problem.strerror}); restore the module's text") from problem

    def definition(self, loc: Loc) -> list[Line]:
        """The lines of the operator that is defined at `loc`: the comment block right above it, then its text."""
        lines = self._lines.get(loc.module, [])
        first = loc.line - 1
        while first > 0 and _COMMENT.match(lines[first - 1]):
            first -= 1
        last = loc.line
        while last < len(lines) and not _UNIT.match(lines[last]) and not _COMMENT.match(lines[last]):
            last += 1
        while last > loc.line and not lines[last - 1].strip():
            last -= 1
        return [Line(f"{loc.module}.tla", number + 1, lines[number].rstrip()) for number in range(first, last)]

    def definitions(self, module: str) -> list[Line]:
        """The first line of each operator that the module defines."""
        lines = enumerate(self._lines.get(module, []), 1)
        return [Line(f"{module}.tla", number, text) for number, text in lines if _DEFINED.match(text)]

    def item(self, loc: Loc) -> str:
        """The text of the junction item that starts at `loc`, on one line, with all later lines that are indented
        further."""
        lines = self._lines.get(loc.module, [])
        if not 0 < loc.line <= len(lines):
            return ""
        margin = loc.column - 1
        found = [lines[loc.line - 1][margin:]]
        for line in lines[loc.line :]:
            if not line.strip() or len(line) - len(line.lstrip()) < margin:
                break
            found.append(line.strip())
        plain = (re.sub(r"\\\*.*", "", line).strip() for line in found)
        return " ".join(line for line in plain if line)

    def uses(self, rule: str) -> list[Line]:
        """Every line outside comments that asks the rule, or whether it is in force, in the order of the modules."""
        named = re.escape(rule)
        wanted = re.compile(rf'\bHas\(\s*"{named}"\s*\)|(?<!")\b{named}\b(?!"|(?:\([^=]*\))?\s*==)')
        return [
            Line(f"{name}.tla", number, text.rstrip())
            for name, lines in self._lines.items()
            for number, text in enumerate(lines, 1)
            if wanted.search(text.split("\\*", 1)[0])
        ]

    def enclosing(self, line: Line) -> str:
        """The name of the definition that a line stands in; empty if it stands in none."""
        lines = self._lines[line.file.removesuffix(".tla")]
        for text in reversed(lines[: line.number]):
            found = re.match(r"(\w+)(?:\([^=]*\)|\[[^=]*\])?\s*==", text)
            if found:
                return found[1]
        return ""
