"""The names of generated Python source: by their form no two of them meet, and no identifier of the text enters.

A generated name is a letter, a number, `_` and a hint: `v7_k`, `k7_`, `c0_Nodes`. The letter tells its kind, the number
tells it apart; the hint is for readers. So names differ where letter or number differ, whatever the specification calls
its things. Numbers below 0, which explanations use, are written with an `n`: `vn1_k`. Neither Python nor the runtime
has a name of that form (`Namespace` refuses one that has).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

VALUE, DOMAIN, LAZY, POOLED, CONSTANT, RULE, FUNCTION = "v", "d", "z", "k", "c", "r", "f"
"""The letters: a bound value, its domain, a lazy definition, a constant part, a CONSTANT, a rule, a function."""
_GENERATED = re.compile(rf"[{VALUE}{DOMAIN}{LAZY}{POOLED}{CONSTANT}{RULE}{FUNCTION}]n?\d+_")


def _name(letter: str, number: int, hint: str) -> str:
    sign = "n" if number < 0 else ""
    return f"{letter}{sign}{abs(number)}_{re.sub(r'[^A-Za-z0-9_]+', '_', hint)}"


def value(uid: int, hint: str) -> str:
    """The name of a bound identifier that holds its value."""
    return _name(VALUE, uid, hint)


def domain(uid: int, hint: str) -> str:
    """The name of the set that a bound identifier ranges over."""
    return _name(DOMAIN, uid, hint)


def lazy(uid: int, hint: str) -> str:
    """The name of a definition that is called for its value."""
    return _name(LAZY, uid, hint)


def read(name: str) -> str:
    """The text that reads what a bound name stands for."""
    return f"{name}()" if name.startswith(LAZY) else name


class Namespace:
    """Where generated source runs: the runtime's names, and names that are given out here, each once."""

    def __init__(self, runtime: Mapping[str, Any]) -> None:
        for name in runtime:
            if _GENERATED.match(name):
                raise ValueError(f"the runtime's name {name} has the form of a generated one")
        self.globals: dict[str, Any] = dict(runtime)
        self._counts: dict[str, int] = {}
        self._known: dict[tuple[str, str], str] = {}

    def fresh(self, letter: str, hint: str) -> str:
        """A name that nothing else has."""
        number = self._counts.get(letter, 0)
        self._counts[letter] = number + 1
        return _name(letter, number, hint)

    def of(self, letter: str, text: str) -> str:
        """The one name of a constant, a rule or a pooled text."""
        hint = "" if letter == POOLED else text
        known = self._known.get((letter, text))
        if known is None:
            known = self._known[letter, text] = self.fresh(letter, hint)
        return known

    def define(self, letter: str, text: str, meaning: Any) -> str:
        """The name `of` a text, which from now on holds a value."""
        name = self.of(letter, text)
        self.globals[name] = meaning
        return name

    def pooled(self) -> dict[str, Any]:
        """The constant parts that were computed beforehand, by name."""
        return {name: self.globals[name] for (letter, _), name in self._known.items() if letter == POOLED}
