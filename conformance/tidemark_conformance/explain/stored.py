"""Stored values, step by step, as strips of cells: a picture's definitions (picturing.py) read off a run's states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidemark_conformance.explain.picturing import Condition, Definition, Picture, Scope, filled, keys, part, plain
from tidemark_conformance.explain.record import Bar, Diagram, Hue, StoredCell, Strip
from tidemark_conformance.explain.run import State
from tidemark_conformance.tla.values import Value, in_order

SAID = {
    "lost": "ought to be here, and is not",
    "other": "ought to be something else",
    "twice": "stored more than once",
    "contested": "held twice at once",
}
"""The legend's words for a wrong cell, unless the picture gives its own."""


def with_strips(drawn: Diagram, picture: Picture, states: Mapping[int, State]) -> Diagram:
    """The diagram with the strips of stored values after each of its rows. `states`: a record's number -> the state
    after it."""
    shown = [row.number for row in drawn.rows if row.number in states]
    reader = _Reader(picture, [states[number] for number in shown])
    found: list[Strip] = []
    whole = {*drawn.failing, *shown[-1:]}
    before: dict[str, tuple[Strip, ...]] = {}
    changed: set[str] = set()
    for number in shown:
        lanes = reader.lanes(states[number])
        for lane, strips in lanes.items():
            if before and strips != before.get(lane):
                changed.add(lane)
            if number in whole or strips != before.get(lane):
                found += [replace(strip, step=number) for strip in strips]
        before = lanes
    lanes_shown = [strip.lane for strip in found if strip.lane in changed or strip.lane in drawn.columns]
    kept = dict.fromkeys([*drawn.columns, *_in_order(lanes_shown)])
    told = tuple(strip for strip in found if strip.lane in kept)
    legend = tuple(reader.legend(told))
    return replace(drawn, lanes=tuple(kept), strips=told, legend=legend, whole=picture.source is not None)


def _in_order(lanes: Iterable[str]) -> list[str]:
    return sorted(set(lanes))


@dataclass(frozen=True, slots=True)
class _Place:
    """A strip to be read: the definition, the lane and row, and the local names that paths see there."""

    definition: Definition
    lane: str
    row: str
    scope: Scope


class _Reader:
    """Reads strips off states. Colours and the places of sets' elements are those of the whole run."""

    def __init__(self, picture: Picture, states: Sequence[State]) -> None:
        self._picture = picture
        self._elements: dict[str, list[Value]] = {}
        self._colours: dict[str, list[Value]] = {}
        elements: dict[str, set[Value]] = {}
        colours: dict[str, set[Value]] = {}
        for state in states:
            for place in self._places(state):
                one = place.definition
                if one.kind == "set" and one.main is not None:
                    elements.setdefault(one.title, set()).update(one.main.of(place.scope) or ())
                colours.setdefault(one.hue or one.title, set()).update(_colours(place))
        self._elements = {title: in_order(found) for title, found in elements.items()}
        self._colours = {title: in_order(found) for title, found in colours.items()}

    def lanes(self, state: State) -> dict[str, tuple[Strip, ...]]:
        """The strips of every lane in a state."""
        found: dict[str, list[Strip]] = {}
        contested = self._contested(state)
        for place in self._places(state):
            shared = contested.get(_competition(place), frozenset())
            found.setdefault(place.lane, []).append(self._strip(place, shared))
        return {lane: tuple(strips) for lane, strips in found.items()}

    def legend(self, strips: Sequence[Strip]) -> Iterator[Hue]:
        """The legend's lines for these strips: their colours, bars, spans and wrong cells."""
        titles = {strip.title for strip in strips}
        told: set[Hue] = set()
        for one in self._picture.strips:
            if one.title not in titles:
                continue
            lines: list[Hue] = []
            if one.colour is not None and one.hue:
                values = self._colours.get(one.hue, [])
                lines += [Hue("colour", f"{one.hue} {plain(value)}", number) for number, value in enumerate(values)]
            lines += [Hue("bar", name, number) for number, (name, _) in enumerate(one.bars)]
            mine = [strip for strip in strips if strip.title == one.title]
            if any(strip.spans for strip in mine):
                lines.append(Hue("span", "open transaction"))
            ways = {cell.how for strip in mine for cell in strip.cells}
            lines += [Hue(how, one.says.get(how, said)) for how, said in SAID.items() if how in ways]
            yield from (line for line in lines if line not in told)
            told.update(lines)

    # --- places ---------------------------------------------------------------------------------------------------

    def _places(self, state: State) -> Iterator[_Place]:
        for one in self._picture.strips:
            lanes = keys(one.lanes.of(state)) if one.lanes is not None else [one.lane]
            for lane in lanes:
                for row, scope in _rows(one, {**state, "lane": lane}):
                    if _all(one.when, scope):
                        yield _Place(one, plain(lane), row, scope)

    def _contested(self, state: State) -> dict[str, frozenset[Value]]:
        """Of strips that may not share elements, the elements that several of them have."""
        held: dict[str, Counter[Value]] = {}
        for place in self._places(state):
            if among := _competition(place):
                held.setdefault(among, Counter()).update(_members(place.definition, place.scope))
        return {among: frozenset(key for key, many in count.items() if many > 1) for among, count in held.items()}

    # --- strips ---------------------------------------------------------------------------------------------------

    def _strip(self, place: _Place, contested: frozenset[Value]) -> Strip:
        one, scope = place.definition, place.scope
        cells: tuple[StoredCell, ...] = ()
        if one.kind == "cells":
            cells = self._sequence(place)
        elif one.kind:
            cells = self._set(place, contested) if one.kind == "set" else self._values(place, contested)
        tag = next((text for when, text in one.tag if when is None or when.holds(scope)), "")
        bars = [(name, path.of(scope)) for name, path in one.bars]
        return Strip(
            step=0,
            lane=place.lane,
            title=one.title,
            kind=one.kind,
            row=place.row,
            tag=filled(tag, scope),
            cells=cells,
            bars=tuple(Bar(name, at) for name, at in bars if isinstance(at, int) and at >= 0),
            spans=tuple(sorted(_spans(one, scope))),
            marked=one.marked is not None and _all(one.marked, scope),
            faded=one.faded is not None and _all(one.faded, scope),
        )

    def _cell(self, one: Definition, scope: Scope, how: str) -> StoredCell:
        return StoredCell(filled(one.template(scope["it"]), scope), self._colour(one, scope), how)

    def _colour(self, one: Definition, scope: Scope) -> int:
        value = one.colour.of(scope) if one.colour is not None else None
        known = self._colours.get(one.hue or one.title, [])
        return known.index(value) if value is not None and value in known else -1

    def _slot(self, one: Definition, scope: Scope, there: bool, contested: bool) -> StoredCell | None:
        """The place of an element of a set, or of a key of a function; None where it is left out."""
        if not there:
            return None if one.brief else StoredCell("", -1, "absent")
        return self._cell(one, scope, "contested" if contested else "stored")

    def _sequence(self, place: _Place) -> tuple[StoredCell, ...]:
        one, scope = place.definition, place.scope
        elements = _elements(one, scope)
        ought = one.agrees.of(scope) if one.agrees is not None and _all(one.holds, scope) else ()
        ought = ought if isinstance(ought, tuple) else ()
        known = Counter(_identity(one, scope, element) for element in elements)
        found = []
        for at, element in enumerate(elements):
            other = at < len(ought) and ought[at] != element
            identity = _identity(one, scope, element)
            twice = identity is not None and known[identity] > 1
            how = "other" if other else "twice" if twice else "stored"
            found.append(self._cell(one, {**scope, "it": element}, how))
        found += [self._cell(one, {**scope, "it": element}, "lost") for element in ought[len(elements) :]]
        return tuple(found)

    def _set(self, place: _Place, contested: frozenset[Value]) -> tuple[StoredCell, ...]:
        one, scope = place.definition, place.scope
        members = _members(one, scope)
        slots = (
            self._slot(one, {**scope, "it": element}, element in members, element in contested)
            for element in self._elements.get(one.title, [])
        )
        return tuple(slot for slot in slots if slot is not None)

    def _values(self, place: _Place, contested: frozenset[Value]) -> tuple[StoredCell, ...]:
        one, scope = place.definition, place.scope
        members = _members(one, scope)
        function = one.main.of(scope) if one.main is not None else None
        slots = (
            self._slot(one, {**scope, "it": part(function, key), "key": key}, key in members, key in contested)
            for key in keys(function)
        )
        return tuple(slot for slot in slots if slot is not None)


def _rows(one: Definition, scope: Scope) -> Iterator[tuple[str, Scope]]:
    if one.rows is None:
        yield "", scope
        return
    for key in keys(one.rows.of(scope)):
        yield plain(key), {**scope, "row": key}


def _all(conditions: Iterable[Condition], scope: Scope) -> bool:
    return all(one.holds(scope) for one in conditions)


def _elements(one: Definition, scope: Scope) -> tuple[Value, ...]:
    found = one.main.of(scope) if one.main is not None else None
    return found if isinstance(found, tuple) else ()


def _members(one: Definition, scope: Scope) -> frozenset[Value]:
    """The elements of a strip's set; of a function the keys whose values are not none."""
    found = one.main.of(scope) if one.main is not None else None
    if one.kind == "values":
        there = ((key, {**scope, "it": part(found, key), "key": key}) for key in keys(found))
        return frozenset(key for key, inner in there if not (one.none and _all(one.none, inner)))
    return found if isinstance(found, frozenset) else frozenset()


def _competition(place: _Place) -> str:
    """The name under which strips compete for elements; empty for a strip that competes with none."""
    one = place.definition
    return filled(one.exclusive, place.scope) if one.exclusive and _all(one.competes, place.scope) else ""


def _colours(place: _Place) -> Iterator[Value]:
    """The values that colour a strip's elements, those that are missing included."""
    one, scope = place.definition, place.scope
    if one.colour is None:
        return
    inner: Iterable[Scope]
    if one.kind == "values":
        function = one.main.of(scope) if one.main is not None else None
        inner = ({**scope, "it": part(function, key), "key": key} for key in _members(one, scope))
    else:
        ought = one.agrees.of(scope) if one.agrees is not None else None
        elements = (*_elements(one, scope), *_members(one, scope), *(ought or ()))
        inner = ({**scope, "it": element} for element in elements)
    for each in inner:
        value = one.colour.of(each)
        if value is not None:
            yield value


def _identity(one: Definition, scope: Scope, element: Value) -> tuple[Value, ...] | None:
    """The values that identify an element; None for an element that lacks one of them, which is like no other."""
    parts = tuple(path.of({**scope, "it": element}) for path in one.unique)
    return parts if parts and None not in parts else None


def _spans(one: Definition, scope: Scope) -> Iterator[int]:
    if one.open is None:
        return
    over, first = one.open
    function = over.of(scope)
    for key in keys(function):
        at = first.of({**scope, "it": part(function, key), "key": key})
        if isinstance(at, int) and at >= 0:
            yield at
