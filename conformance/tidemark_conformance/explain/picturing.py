"""Defines how a picture shows a state, as data beside the specification: `<Module>.picture.toml`.

    [[strip]]
    title = "log"                                # in the legend, and in the tooltip
    cells = "log[lane]"                          # a sequence; or `set`, or `values`: a function
    text = "{it.epoch}"                          # of one element, in its cell; or a table by the element's `type`
    colour = "it.epoch"                          # equal values have one colour
    hue = "leader epoch"                         # their name in the legend; strips of one `hue` share their colours
    bars = { "high watermark" = "highWatermark[lane]" }    # a line behind so many cells
    open = { over = "entry[lane]", first = "it.first" }    # a line from each such offset to the end
    agrees = "committed"                         # a sequence, which the cells of a lane with `holds` must have:
    holds = ["metadata[last].leader = lane"]     # elements that they lack are drawn as lost
    unique = ["it.pid", "it.number"]             # elements that are alike in these are drawn as stored twice
    marked = ["view[lane].leader = lane"]        # the lane's tag stands out
    faded = ["status[lane] # running"]           # the strip is pale
    when = ["epoch[lane] # 0"]                   # else it is not drawn
    tag = [["status[lane] # running", "{status[lane]}"], ["", "F{view[lane].leaderEpoch}"]]    # the first that holds
    says = { lost = "committed, and lost" }      # in the legend, of wrong cells: lost, other, twice, contested

    [[strip]]
    rows = "group[lane].members"                 # one strip for each key `row`
    values = "group[lane].members[row].assigned"
    none = ["it = -1"]                           # values that are none
    brief = true                                 # leaves no place for them, or for elements that are not in a set
    exclusive = "held at {lane}"                 # an element of two strips of this text is drawn as contested,
    competes = ["consumer[lane].running = TRUE"] # where this holds

A path begins with a variable or a local name, and goes on by `.field` and `[index]`. Local names: `lane`; `row`; of an
element `it`, and its `key`. An index is a local name, a number, or `last`. A path that leads nowhere is no error: there
is nothing to show. The lanes are the keys of the function that `[lane]` is applied to. `lane = "output"` is one lane.

Of a specification without such a file (`fallback`) each variable that has a value per node is shown.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.run import State
from tidemark_conformance.explain.text import is_record
from tidemark_conformance.tla.values import Fn, ModelValue, Value, in_order, show

SUFFIX = ".picture.toml"
MAIN = ("cells", "set", "values")
"""The keys that say what a strip's cells are; without one it has a tag alone."""
_OWN = {"set": "it", "values": "key"}
"""The default colours of cells: a set's by their elements, a function's by their keys."""
FALLBACK = 4
"""At most so many variables are shown where no file chooses them."""

LOCALS = ("lane", "row", "it", "key")
"""Local names with which a path may begin. It may also begin with a variable."""

Scope = Mapping[str, Value]
"""Variables and local names -> values."""

_PATH = re.compile(r"(?P<root>\w+)(?P<rest>(?:\.\w+|\[\w+\])*)\Z")
_PART = re.compile(r"\.(?P<field>\w+)|\[(?P<index>\w+)\]")
_HOLE = re.compile(r"\{([^{}]+)\}")


def plain(value: Value) -> str:
    """A value as a picture's text: a string without quotes, anything else as TLA+."""
    return value if isinstance(value, str) else show(value)


@dataclass(frozen=True, slots=True)
class Where:
    """A path into a state: `parts` are (is it an index, name)."""

    text: str
    root: str
    parts: tuple[tuple[bool, str], ...]

    def of(self, scope: Scope) -> Value | None:
        """The value there; None where the path leads nowhere."""
        value = scope.get(self.root)
        for is_index, name in self.parts:
            value = part(value, _index(name, value, scope) if is_index else name)
            if value is None:
                return None
        return value


def _index(name: str, value: Value, scope: Scope) -> Value:
    if name == "last" and isinstance(value, tuple):
        return len(value)
    return int(name) if name.isdigit() else scope.get(name)


def part(value: Value | None, key: Value) -> Value | None:
    """A function's value at a key, or a sequence's element (from 1); None where it has none."""
    if isinstance(value, Fn):
        return value.get(key)
    if isinstance(value, tuple) and isinstance(key, int) and 1 <= key <= len(value):
        return value[key - 1]
    return None


def keys(value: Value | None) -> list[Value]:
    """A function's or a sequence's domain in canonical order; of another value none."""
    if isinstance(value, Fn):
        return in_order(value)
    return list(range(1, len(value) + 1)) if isinstance(value, tuple) else []


@cache
def where(text: str) -> Where:
    """A path from its text. Raises Unusable for any other text."""
    found = _PATH.match(text.strip())
    if found is None:
        raise Unusable(f"{text!r} is no path into a state; write one like log[lane] or view[lane].leader")
    parts = tuple((one["index"] is not None, one["index"] or one["field"]) for one in _PART.finditer(found["rest"]))
    return Where(text.strip(), found["root"], parts)


@dataclass(frozen=True, slots=True)
class Condition:
    """`path = value` or `path # value`: the value is a local name's, or a word as it stands."""

    path: Where
    equal: bool
    value: str

    def holds(self, scope: Scope) -> bool:
        """Whether it holds; never of a path that leads nowhere."""
        found = self.path.of(scope)
        other = plain(scope[self.value]) if self.value in ("lane", "row", "key") else self.value
        return found is not None and (plain(found) == other) == self.equal


def condition(text: str) -> Condition:
    """A condition from its text. Raises Unusable for any other text."""
    found = re.match(r"\s*([^\s=#]+)\s*([=#])\s*(\S+)\s*\Z", text)
    if found is None:
        raise Unusable(f"{text!r} is no condition; write one like status[lane] = running")
    return Condition(where(found[1]), found[2] == "=", found[3])


def filled(template: str, scope: Scope) -> str:
    """A template with its `{path}`s replaced; a path that leads nowhere is empty."""

    def value(hole: re.Match[str]) -> str:
        found = where(hole[1]).of(scope)
        return "" if found is None else plain(found)

    return _HOLE.sub(value, template)


@dataclass(frozen=True, slots=True)
class Definition:
    """One strip of a picture; the fields are the keys of the file, read."""

    title: str
    kind: str
    main: Where | None
    lane: str
    lanes: Where | None
    rows: Where | None
    text: Mapping[str, str]
    colour: Where | None
    hue: str
    bars: tuple[tuple[str, Where], ...]
    agrees: Where | None
    holds: tuple[Condition, ...]
    says: Mapping[str, str]
    unique: tuple[Where, ...]
    exclusive: str
    competes: tuple[Condition, ...]
    open: tuple[Where, Where] | None
    marked: tuple[Condition, ...] | None
    faded: tuple[Condition, ...] | None
    when: tuple[Condition, ...]
    tag: tuple[tuple[Condition | None, str], ...]
    none: tuple[Condition, ...]
    brief: bool

    def paths(self) -> Iterator[Where]:
        """Every path that the strip reads, those in its texts included."""
        single = (self.main, self.lanes, self.rows, self.colour, self.agrees, *self.unique, *(self.open or ()))
        yield from (path for path in single if path is not None)
        yield from (path for _, path in self.bars)
        tags = [when for when, _ in self.tag if when is not None]
        optional = (*(self.marked or ()), *(self.faded or ()))
        yield from (one.path for one in (*self.holds, *self.competes, *self.when, *self.none, *optional, *tags))
        for text in (*self.text.values(), self.exclusive, *(text for _, text in self.tag)):
            yield from (where(hole) for hole in _HOLE.findall(text))

    def template(self, element: Value) -> str:
        """The template of an element's text: by its `type`, else the one for all."""
        kind = element["type"] if is_record(element) and "type" in element else ""
        return self.text.get(kind, self.text.get("", ""))


_KEYS = {
    *("title", "lane", "rows", "text", "colour", "hue", "bars", "agrees", "holds", "says", "unique", "exclusive"),
    *("brief", "competes", "open", "marked", "faded", "when", "tag", "none", *MAIN),
}


def definition(entry: Mapping[str, Any]) -> Definition:
    """A strip from its table. Raises Unusable for a key that no strip has, and for a strip without lanes."""
    unknown = sorted(entry.keys() - _KEYS)
    if unknown:
        raise Unusable(f"a strip has no {', '.join(unknown)}; its keys are {', '.join(sorted(_KEYS))}")
    kind = next((key for key in MAIN if key in entry), "")
    main = where(entry[kind]) if kind else None
    lane = str(entry.get("lane", ""))
    tags = [(condition(when) if when else None, str(text)) for when, text in entry.get("tag", ())]
    lanes = None if lane else _domain(entry, main, tags)
    text = entry.get("text", "{it}")
    opened = entry.get("open")
    return Definition(
        title=str(entry.get("title", main.root if main else "")),
        kind=kind,
        main=main,
        lane=lane,
        lanes=lanes,
        rows=_path(entry, "rows"),
        text=text if isinstance(text, dict) else {"": text},
        colour=_path({"colour": own, **entry} if (own := _OWN.get(kind)) else entry, "colour"),
        hue=str(entry.get("hue", "")),
        bars=tuple((name, where(path)) for name, path in entry.get("bars", {}).items()),
        agrees=_path(entry, "agrees"),
        holds=_conditions(entry, "holds") or (),
        says=dict(entry.get("says", {})),
        unique=tuple(where(path) for path in entry.get("unique", ())),
        exclusive=str(entry.get("exclusive", "")),
        competes=_conditions(entry, "competes") or (),
        open=(where(opened["over"]), where(opened["first"])) if opened else None,
        marked=_conditions(entry, "marked"),
        faded=_conditions(entry, "faded"),
        when=_conditions(entry, "when") or (),
        tag=tuple(tags),
        none=_conditions(entry, "none") or (),
        brief=bool(entry.get("brief", False)),
    )


def _path(entry: Mapping[str, Any], key: str) -> Where | None:
    return where(entry[key]) if key in entry else None


def _conditions(entry: Mapping[str, Any], key: str) -> tuple[Condition, ...] | None:
    if isinstance(entry.get(key), str):
        raise Unusable(f"{key} of a strip is a list of conditions, not {entry[key]!r}")
    return tuple(condition(one) for one in entry[key]) if key in entry else None


def _domain(entry: Mapping[str, Any], main: Where | None, tags: Iterable[tuple[Condition | None, str]]) -> Where:
    """The function to which `[lane]` is applied first: in the cells, then the rows, else the tag."""
    texts = [main.text if main else "", str(entry.get("rows", "")), *(text for _, text in tags)]
    found = next((match for text in texts if (match := re.search(r"(\w+(?:\.\w+)*)\[lane\]", text))), None)
    if found is None:
        raise Unusable(
            f"the strip {entry.get('title', '')!r} has no lanes; apply a function to [lane], or give it a `lane`"
        )
    return where(found[1])


@dataclass(frozen=True, slots=True)
class Picture:
    """The definitions of a specification's pictures. `source`: their file; None for the fall-back."""

    strips: tuple[Definition, ...]
    source: Path | None = None


def picture_of(sources: Iterable[Path], variables: Collection[str]) -> Picture | None:
    """The picture beside one of a specification's modules, its root first; None where there is none.

    Raises Unusable for a file that is no picture, or that names no variable of the specification.
    """
    for module in sources:
        file = module.with_name(f"{module.stem}{SUFFIX}")
        if file.is_file():
            found = _read(file)
            known = {*variables, *LOCALS}
            strange = [path for one in found.strips for path in one.paths() if path.root not in known]
            if strange:
                name, text = strange[0].root, strange[0].text
                raise Unusable(f"{file}: {name} in {text!r} is no variable of the specification; correct the path")
            return found
    return None


def _read(file: Path) -> Picture:
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))["strip"]
        return Picture(tuple(definition(entry) for entry in entries), file)
    except Unusable as problem:
        raise Unusable(f"{file}: {problem}") from problem
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as problem:
        raise Unusable(f"{file} is no table of strips ({problem}); explain/picturing.py says what one is") from problem


def fallback(state: State, nodes: Sequence[str], ghosts: Iterable[str] = ()) -> Picture:
    """A picture of any specification: the variables that traces carry and that have a value per node.

    A sequence is shown as cells, a set as its elements, a string, number or truth value as a tag; others are not.
    """
    found: list[Definition] = []
    for name, value in state.items():
        if name in ghosts or not isinstance(value, Fn) or not value:
            continue
        if {plain(key) for key in value} <= set(nodes) and len(found) < FALLBACK:
            found += _shown(name, next(iter(value.values())))
    return Picture(tuple(found))


def _shown(name: str, value: Value) -> list[Definition]:
    path = f"{name}[lane]"
    if isinstance(value, tuple):
        return [definition({"title": name, "cells": path, "colour": "it"})]
    if isinstance(value, frozenset):
        return [definition({"title": name, "set": path})]
    if isinstance(value, str | int | ModelValue):
        return [definition({"title": name, "tag": [["", f"{{{path}}}"]]})]
    return []
