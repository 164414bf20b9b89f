r"""TLC's printed values and states as values of `tla.values`, and values as TLA+ text.

In TLC's output a bare identifier is a model value: strings are quoted, TRUE and FALSE are the booleans. A record and a
function on identifier-like strings print alike. TLC breaks a long value over several lines.

Grammar:  value := literal | identifier | lo..hi | {v, ...} | <<v, ...>> | [f |-> v, ...] | (v :> v @@ ...)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from tidemark_conformance.tla.values import Fn, ModelValue, Value, function, in_order

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?!\w))|(?P<name>[A-Za-z0-9_]*[A-Za-z_][A-Za-z0-9_!]*)"""
    r"""|(?P<mark><<|>>|\|->|:>|@@|\.\.|[\[\](){},]))""",
)
_NAME = "[A-Za-z0-9_]*[A-Za-z][A-Za-z0-9_]*"
"""A name of TLA+, which may begin with digits."""

_CONJUNCT = re.compile(rf"^(?:/\\ )?({_NAME}) = ", re.MULTILINE)
_IDENTIFIER = re.compile(rf"(?!WF_|SF_){_NAME}\Z")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        "ACTION ASSUME ASSUMPTION AXIOM BY CASE CHOOSE CONSTANT CONSTANTS COROLLARY DEF DEFINE DEFS DOMAIN ELSE "
        "ENABLED EXCEPT EXTENDS FALSE HAVE HIDE IF IN INSTANCE LAMBDA LEMMA LET LOCAL MODULE NEW OBVIOUS OMITTED "
        "OTHER PICK PROOF PROPOSITION PROVE QED RECURSIVE SF_ STATE TAKE TEMPORAL THEN THEOREM "
        "STRING BOOLEAN SUBSET SUFFICES TRUE UNCHANGED UNION USE VARIABLE VARIABLES WF_ WITH WITNESS",
    )
)


class UnreadableValue(ValueError):
    """A text that is no value TLC prints."""


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        at = 0
        end = len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise UnreadableValue(f"{text[at : at + 40]!r} in {text[:80]!r}")
            self.tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()
        self.tokens.append(("end", ""))
        self.at = 0

    def accept(self, mark: str) -> bool:
        if self.tokens[self.at] == ("mark", mark):
            self.at += 1
            return True
        return False

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise UnreadableValue(f"{mark!r} expected before {self.tokens[self.at][1]!r} in {self.text[:80]!r}")

    def items(self, close: str) -> list[Value]:
        found: list[Value] = []
        if self.accept(close):
            return found
        while True:
            found.append(self.value())
            if self.accept(close):
                return found
            self.expect(",")

    def value(self) -> Value:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "string":
            return _unquote(text)
        if kind == "number":
            if self.accept(".."):
                return frozenset(range(int(text), self.value() + 1))
            return int(text)
        if kind == "name":
            return text == "TRUE" if text in ("TRUE", "FALSE") else ModelValue(text)
        if text == "{":
            return frozenset(self.items("}"))
        if text == "<<":
            return tuple(self.items(">>"))
        if text == "[":
            return self.record()
        if text == "(":
            return self.pairs()
        raise UnreadableValue(f"{text!r} in {self.text[:80]!r}")

    def record(self) -> Value:
        fields: dict[Value, Value] = {}
        while True:
            kind, name = self.tokens[self.at]
            if kind != "name":
                raise UnreadableValue(f"field name expected, found {name!r} in {self.text[:80]!r}")
            self.at += 1
            self.expect("|->")
            fields[name] = self.value()
            if self.accept("]"):
                return Fn(fields)
            self.expect(",")

    def pairs(self) -> Value:
        first = self.value()
        if self.accept(")"):
            return first
        mapping: dict[Value, Value] = {}
        while True:
            self.expect(":>")
            mapping[first] = self.value()
            if self.accept(")"):
                return function(mapping)
            self.expect("@@")
            first = self.value()


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text[1:-1])


def parse_value(text: str) -> Value:
    """The value that TLC printed as `text`; raises UnreadableValue on anything else."""
    reader = _Reader(text)
    value = reader.value()
    if reader.tokens[reader.at][0] != "end":
        raise UnreadableValue(f"{reader.tokens[reader.at][1]!r} after the value in {text[:80]!r}")
    return value


class StateParser:
    """Parses many printed states, each distinct text of a variable's value only once (equal values are one object).

    `lenient`: a text that is no value (`Nat`, `[S -> T]`, which TLC leaves as they are) becomes a model value of that
    name. That prints as it was. Else it raises UnreadableValue.
    """

    def __init__(self, lenient: bool = False) -> None:
        self._values: dict[str, Value] = {}
        self._lenient = lenient

    def _value(self, printed: str) -> Value:
        try:
            return parse_value(printed)
        except UnreadableValue:
            if not self._lenient:
                raise
            return ModelValue(" ".join(printed.split()))

    def parse(self, text: str) -> dict[str, Value]:
        r"""The state that TLC printed as `/\ v = value` lines (or one `v = value`), variables in the printed order."""
        places = list(_CONJUNCT.finditer(text))
        if not places or text[: places[0].start()].strip():
            raise UnreadableValue(f"no state: {text[:80]!r}")
        ends = [place.start() for place in places[1:]] + [len(text)]
        state: dict[str, Value] = {}
        for place, end in zip(places, ends, strict=True):
            printed = text[place.end() : end].strip()
            if printed not in self._values:
                self._values[printed] = self._value(printed)
            state[place[1]] = self._values[printed]
        return state


def parse_state(text: str) -> dict[str, Value]:
    """One printed state; see `StateParser.parse`."""
    return StateParser().parse(text)


MODEL_VALUE = "tidemark_mv_"
"""Prefix of the constants that stand for model values in generated modules (`declarations`)."""


def to_tla(value: Value, model_value: str = "", part: Callable[[Value], str] | None = None) -> str:
    """TLA+ text of a value, each model value's name prefixed with `model_value`.

    `part` gives the text of a compound value's parts; None: their own, written the same way.
    A function that is no record needs the operators of the module TLC.
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
    if isinstance(value, ModelValue):
        return model_value + value.name
    inner = part or partial(to_tla, model_value=model_value)
    if isinstance(value, tuple):
        return "<<" + ", ".join(map(inner, value)) + ">>"
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(inner, in_order(value))) + "}"
    if isinstance(value, Fn):
        keys = in_order(value)
        if all(type(key) is str and _IDENTIFIER.match(key) and key not in _RESERVED for key in keys):
            return "[" + ", ".join(f"{key} |-> {inner(value[key])}" for key in keys) + "]"
        return "(" + " @@ ".join(f"{inner(key)} :> {inner(value[key])}" for key in keys) + ")"
    raise TypeError(f"no TLA+ value: {value!r}")


def model_values(values: Iterable[Value]) -> set[str]:
    """The names of all model values inside the values."""
    found: set[str] = set()
    seen: set[Value] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, ModelValue):
            found.add(value.name)
        elif isinstance(value, tuple | frozenset | Fn) and value not in seen:
            seen.add(value)
            waiting.extend(value)
            if isinstance(value, Fn):
                waiting.extend(value.values())
    return found


def declarations(values: Iterable[Value]) -> tuple[str, str]:
    """A CONSTANTS line for a generated module and one for its cfg, which name every model value inside the values.

    A model value of a cfg has no name in a module's text, so `to_tla(value, MODEL_VALUE)` uses these.
    """
    names = sorted(model_values(values))
    if not names:
        return "", ""
    module = "CONSTANTS " + ", ".join(MODEL_VALUE + name for name in names)
    return module, "CONSTANTS\n" + "".join(f"    {MODEL_VALUE}{name} = {name}\n" for name in names)
