r"""Definitions as text: what generated modules quote, so that TLC and not our compiler gives it a meaning.

Only two forms of the written conventions are taken apart: `Next` (a flat disjunction of `Action` and
`\E p \in D, ... : Action(p, ...)`, in parentheses or not) and an action property (`P == [][Q]_v`). Everything else is
used by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tlc import modules

_UNIT = re.compile(
    r"^(?:[ \t]*(?:LOCAL[ \t]+)?\w+[ \t]*(?:\([^=\n]*\)|\[[^=\n]*\])?[ \t]*==(?!=)|[ \t]*-{4,}|[ \t]*={4,}|"
    r"[ \t]*(?:VARIABLES?|CONSTANTS?|ASSUME|ASSUMPTION|AXIOM|THEOREM|LEMMA|COROLLARY|PROPOSITION|RECURSIVE|LOCAL|"
    r"INSTANCE)\b)",
    re.MULTILINE,
)
_OPEN = {"(": ")", "[": "]", "{": "}", "<<": ">>"}
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|<<|>>|[()\[\]{}]')
_VARIABLES = re.compile(r"^[ \t]*VARIABLES?\s+(\w+(?:\s*,\s*\w+)*)", re.MULTILINE)
_CALL = re.compile(r"\s*(\w+)\s*(?:\(([\w\s,]*)\))?\s*\Z")


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition without parameters: where it stands, and the text after `==`, padded so that columns are kept."""

    module: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.module}.tla:{self.line}"


@dataclass(frozen=True, slots=True)
class Disjunct:
    """One disjunct of Next: the action, and per parameter in the action's order the text of its domain."""

    action: str
    parameters: tuple[str, ...]
    domains: tuple[str, ...]


def find(texts: Mapping[str, str], name: str) -> Definition | None:
    """The definition `name == ...` among the modules (name -> text), None if there is none without parameters."""
    head = re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*==(?!=)", re.MULTILINE)
    for module, text in texts.items():
        plain = modules.without_comments(text)
        found = head.search(modules.body(text))
        if found:
            following = _UNIT.search(plain, found.end())
            end = following.start() if following else len(plain)
            column = found.end() - (plain.rfind("\n", 0, found.end()) + 1)
            line = plain.count("\n", 0, found.end()) + 1
            return Definition(module, line, " " * column + plain[found.end() : end].rstrip())
    return None


def named_like(texts: Mapping[str, str], prefix: str) -> list[str]:
    """The names of parameterless definitions that start with `prefix`, in the order of the modules."""
    head = re.compile(rf"^[ \t]*({re.escape(prefix)}\w*)[ \t]*==(?!=)", re.MULTILINE)
    return list(dict.fromkeys(name for text in texts.values() for name in head.findall(modules.body(text))))


def variables(texts: Mapping[str, str], root: str) -> tuple[str, ...]:
    """The variables of the root module and of those that it extends, in the order of the modules."""
    found: dict[str, None] = {}
    waiting, known = [root], {root}
    while waiting:
        text = texts[waiting.pop(0)]
        for names in _VARIABLES.findall(modules.body(text)):
            found.update(dict.fromkeys(re.findall(r"\w+", names)))
        extended = [name for name in modules.extended(text) if name in texts and name not in known]
        known.update(extended)
        waiting += extended
    return tuple(found)


def _depths(text: str) -> Iterator[tuple[int, int]]:
    """(position, bracket depth after it) of every bracket outside strings."""
    depth = 0
    for found in _BRACKET.finditer(text):
        if found[0] in _OPEN:
            depth += 1
        elif not found[0].startswith('"'):
            depth -= 1
        yield found.end(), depth


def _top_level(text: str, pattern: str) -> list[tuple[int, int]]:
    """The spans of `pattern` in `text` outside every bracket and string."""
    marks = list(_depths(text))
    spans = []
    for found in re.finditer(rf'"(?:[^"\\\n]|\\.)*"|({pattern})', text):
        before = [depth for position, depth in marks if position <= found.start()]
        if found[1] is not None and (not before or before[-1] == 0):
            spans.append(found.span())
    return spans


def _split(text: str, pattern: str) -> list[str]:
    parts, at = [], 0
    for start, end in _top_level(text, pattern):
        parts.append(text[at:start])
        at = end
    return [*parts, text[at:]]


def disjuncts(texts: Mapping[str, str], name: str = "Next") -> list[Disjunct]:
    """The disjuncts of the next-state relation; Unsupported where it is no flat disjunction of named actions."""
    definition = find(texts, name)
    if definition is None:
        raise Unsupported(
            f"no definition of {name} without parameters was found: name the next-state relation in the cfg"
        )
    parts = _split(definition.text, r"\\/")
    if parts and not parts[0].strip():
        parts = parts[1:]
    return [_disjunct(part, definition, name) for part in parts]


def _disjunct(part: str, definition: Definition, name: str) -> Disjunct:
    domains: dict[str, str] = {}
    rest = _bare(part)
    while rest.startswith("\\E"):
        colon = next(iter(_top_level(rest, r":(?!>)")), None)
        if colon is None:
            raise _refusal(rest, definition, name)
        for group in _split(_close_commas(rest[2 : colon[0]]), "\x00"):
            formals, found, domain = group.partition("\\in")
            if not found:
                raise _refusal(rest, definition, name)
            for formal in formals.split(","):
                domains[formal.strip()] = domain.strip()
        rest = _bare(rest[colon[1] :])
    call = _CALL.match(rest)
    if call is None:
        raise _refusal(rest, definition, name)
    arguments = [argument.strip() for argument in (call[2] or "").split(",") if argument.strip()]
    if sorted(arguments) != sorted(domains):
        raise _refusal(rest, definition, name)
    return Disjunct(call[1], tuple(arguments), tuple(domains[argument] for argument in arguments))


def _bare(text: str) -> str:
    """The text without blanks and parentheses around all of it."""
    text = text.strip()
    while text.startswith("(") and next((at for at, depth in _depths(text) if depth == 0), 0) == len(text):
        text = text[1:-1].strip()
    return text


def _close_commas(binders: str) -> str:
    r"""Marks with \x00 the commas between binder groups: those after an `\in`, outside brackets."""
    out, domain = [], False
    for piece in re.split(r"(\\in\b)", binders):
        if piece == "\\in":
            domain = True
            out.append(piece)
            continue
        if domain:
            commas = _top_level(piece, ",")
            if commas:
                start, end = commas[0]
                piece = piece[:start] + "\x00" + piece[end:]
        out.append(piece)
    return "".join(out)


def _refusal(text: str, definition: Definition, name: str) -> Unsupported:
    shown = re.sub(r"\s+", " ", text)[:60]
    return Unsupported(
        f"{definition} has a disjunct of {name} that is neither Action nor \\E p \\in D, ... : Action(p, ...): "
        f"rewrite `{shown}`"
    )


def boxed(texts: Mapping[str, str], name: str) -> tuple[str, str] | None:
    """Q (columns kept) and v of an action property `name == [][Q]_v`; None if it has another form or is not defined."""
    definition = find(texts, name)
    if definition is None:
        return None
    text = definition.text
    start = re.match(r"\s*\[\]\s*\[", text)
    if start is None:
        return None
    close = next((position for position, depth in _depths(text[start.end() :]) if depth == -1), None)
    if close is None:
        return None
    end = start.end() + close
    subscript = re.match(r"_(\w+|<<.*>>|\(.*\))\s*\Z", text[end:], re.DOTALL)
    if subscript is None:
        return None
    return " " * start.end() + text[start.end() : end - 1], subscript[1]
