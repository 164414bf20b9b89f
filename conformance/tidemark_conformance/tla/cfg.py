"""TLC's configuration files (.cfg), read as TLC reads them, into a typed object.

A statement is a keyword and its names; it ends where the next keyword starts. Constants take integers, strings, TRUE,
FALSE, model values (any other identifier), and sets of these; `X <- Op` puts an operator of the module for X.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.values import ModelValue, Value

_LISTS = {
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
    "CONSTRAINT": "constraints",
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
}
_SINGLES = {
    "INIT": "init",
    "NEXT": "next",
    "SPECIFICATION": "specification",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
    "ALIAS": "alias",
    "POSTCONDITION": "postcondition",
    "CHECK_DEADLOCK": "check_deadlock",
}
_CONSTANTS = ("CONSTANT", "CONSTANTS")
KEYWORDS = frozenset([*_LISTS, *_SINGLES, *_CONSTANTS])
"""Every word that starts a statement."""

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<comment>\\\*[^\n]*)|(?P<block>\(\*)|(?P<string>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<arrow><-)|(?P<int>-?\d+(?!\w))|(?P<name>[\w!]+)|(?P<mark>[={},\[\]])"""
)


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Config:
    """A parsed cfg. Operators are given by name; a field that a cfg does not mention is None or empty.

    `constants`: name -> value of `X = value`; `substitutions`: name -> operator of `X <- operator`.
    `lines`: name of a constant -> the line that gives its value.
    `check_deadlock` is TRUE, FALSE or None (TLC's default, which is to check).
    """

    path: str
    constants: dict[str, Value] = field(default_factory=dict)
    substitutions: dict[str, str] = field(default_factory=dict)
    specification: str | None = None
    init: str | None = None
    next: str | None = None
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    action_constraints: tuple[str, ...] = ()
    symmetry: str | None = None
    view: str | None = None
    alias: str | None = None
    postcondition: str | None = None
    check_deadlock: bool | None = None
    lines: dict[str, int] = field(default_factory=dict, compare=False)


def read(path: Path) -> Config:
    """Parse the cfg file `path`; Unusable (with its line) if it is missing or TLC could not read it either."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise Unusable(
            f"{path} cannot be read ({problem.strerror}): give the path of TLC's configuration file"
        ) from problem
    except UnicodeDecodeError as problem:
        raise Unusable(f"{path} is not a text file: give the path of TLC's configuration file (.cfg)") from problem
    return parse(text, str(path))


def parse(text: str, path: str = "cfg") -> Config:
    """Parse the text of a cfg; `path` is its name in messages. Raises Unusable with the line."""
    return _Parser(list(_tokens(text, path)), path).config()


def _tokens(text: str, path: str) -> Iterator[Token]:
    at = 0
    line = 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unusable(f"{path}:{line}: {text[at]!r} has no meaning in a cfg: remove or correct it")
        end = _comment_end(text, at, path, line) if found.lastgroup == "block" else found.end()
        if found.lastgroup not in ("space", "comment", "block"):
            yield Token(found.lastgroup or "", found[0], line)
        line += text.count("\n", at, end)
        at = end


def _comment_end(text: str, start: int, path: str, line: int) -> int:
    """Where the (nested) comment that starts at `start` ends."""
    depth = 0
    for found in re.compile(r"\(\*|\*\)").finditer(text, start):
        depth += 1 if found[0] == "(*" else -1
        if depth == 0:
            return found.end()
    raise Unusable(f"{path}:{line}: the comment that starts here has no end: close it with *)")


class _Parser:
    def __init__(self, tokens: list[Token], path: str) -> None:
        self.tokens = tokens
        self.path = path
        self.at = 0
        self.constants: dict[str, Value] = {}
        self.substitutions: dict[str, str] = {}
        self.lines: dict[str, int] = {}

    def fail(self, message: str) -> Unusable:
        line = self.tokens[min(self.at, len(self.tokens) - 1)].line if self.tokens else 1
        return Unusable(f"{self.path}:{line}: {message}")

    def peek(self, ahead: int = 0) -> Token | None:
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

    def take(self, kind: str, what: str) -> Token:
        token = self.peek()
        if token is None or token.kind != kind:
            raise self.fail(f"expected {what}, found {token.text if token else 'the end of the file'}: correct the cfg")
        self.at += 1
        return token

    def starts_statement(self) -> bool:
        """Is the next token a keyword, or the end? (A keyword before `=` or `<-` is a constant's name.)"""
        token = self.peek()
        return token is None or (token.kind == "name" and token.text in KEYWORDS)

    def config(self) -> Config:
        lists: dict[str, list[str]] = {name: [] for name in _LISTS.values()}
        singles: dict[str, str] = {}
        while (token := self.peek()) is not None:
            if not self.starts_statement():
                raise self.fail(f"{token.text} stands where a statement should start: put a keyword such as INVARIANT")
            self.at += 1
            if token.text in _CONSTANTS:
                self.constant_statements()
            elif token.text in _LISTS:
                lists[_LISTS[token.text]] += self.names()
            else:
                name = self.take("name", f"the name that {token.text} gives").text
                if _SINGLES[token.text] in singles:
                    raise self.fail(f"{token.text} is given twice: keep one of them")
                singles[_SINGLES[token.text]] = name
        deadlock = singles.pop("check_deadlock", None)
        if deadlock not in (None, "TRUE", "FALSE"):
            raise self.fail(f"CHECK_DEADLOCK is {deadlock}: write TRUE or FALSE")
        return Config(
            path=self.path,
            constants=self.constants,
            substitutions=self.substitutions,
            lines=self.lines,
            check_deadlock=None if deadlock is None else deadlock == "TRUE",
            **{name: tuple(dict.fromkeys(values)) for name, values in lists.items()},  # type: ignore[arg-type]
            **singles,  # type: ignore[arg-type]
        )

    def names(self) -> list[str]:
        found: list[str] = []
        while not self.starts_statement():
            found.append(self.take("name", "an operator's name").text)
            if (token := self.peek()) is not None and token.text == ",":
                self.at += 1
        return found

    def constant_statements(self) -> None:
        while not self.starts_statement():
            name = self.take("name", "a constant's name").text
            if name in self.constants or name in self.substitutions:
                raise self.fail(f"constant {name} is given twice: keep one of them")
            self.lines[name] = self.tokens[self.at - 1].line
            token = self.peek()
            if token is None or token.text not in ("=", "<-"):
                raise self.fail(f"constant {name} has no value: write {name} = value or {name} <- Operator")
            self.at += 1
            if (bracket := self.peek()) is not None and bracket.text == "[":
                raise self.fail(f"{name} is given for one module only ([...]): give it for all modules")
            if token.text == "<-":
                self.substitutions[name] = self.take("name", f"the operator for {name}").text
            else:
                self.constants[name] = self.value()
            if (comma := self.peek()) is not None and comma.text == ",":
                self.at += 1

    def value(self) -> Value:
        token = self.peek()
        if token is None:
            raise self.fail("a value is missing at the end of the file: complete the constant")
        self.at += 1
        if token.kind == "int":
            return int(token.text)
        if token.kind == "string":
            return re.sub(r"\\(.)", r"\1", token.text[1:-1])
        if token.kind == "name":
            return {"TRUE": True, "FALSE": False}.get(token.text, ModelValue(token.text))
        if token.text == "{":
            return self.set_value()
        self.at -= 1
        raise self.fail(f"{token.text} is no value: write an integer, a string, a model value or a set of these")

    def set_value(self) -> Value:
        items: list[Value] = []
        while (token := self.peek()) is not None and token.text != "}":
            items.append(self.value())
            following = self.peek()
            if following is not None and following.text == ",":
                self.at += 1
            elif following is None or following.text != "}":
                raise self.fail("a set has no `,` or `}` after an element: complete it")
        self.take("mark", "}")
        return frozenset(items)
