"""Values, labels and changes as TLA+ text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tidemark_conformance.explain.record import Change
from tidemark_conformance.tla.values import Fn, Value, in_order, show

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")


def value_text(value: Value) -> str:
    """The value as TLA+ text."""
    return show(value)


def label(action: str, params: Iterable[Value]) -> str:
    """An action with its parameters: `RMPrepare(r1)`, `TMRestart`."""
    shown = ", ".join(value_text(value) for value in params)
    return f"{action}({shown})" if shown else action


def is_record(value: Value) -> bool:
    """Whether a value is written as a record: a function on strings that are identifiers."""
    return isinstance(value, Fn) and len(value) > 0 and all(type(k) is str and _IDENTIFIER.match(k) for k in value)


def index(path: str, key: Value, record: bool) -> str:
    """The path to a part: `path.field` of a record, `path[key]` of any other function."""
    return f"{path}.{key}" if record else f"{path}[{value_text(key)}]"


def parts(value: Value) -> list[tuple[Value, Value]]:
    """The (key, part) pairs of a function or record in canonical order; none of another value (a sequence is whole)."""
    if not isinstance(value, Fn):
        return []
    return [(key, value[key]) for key in in_order(value)]


def changes(old: Mapping[str, Value], new: Mapping[str, Value], ghosts: Sequence[str] = ()) -> tuple[Change, ...]:
    """The differences between two states, part by part, in the states' order of variables. Those of `ghosts` come
    last."""
    found: list[Change] = []
    for name in sorted(new, key=lambda name: name in ghosts):
        if old[name] != new[name]:
            _differences(name, name, old[name], new[name], name in ghosts, found)
    return tuple(found)


def _differences(variable: str, path: str, old: Value, new: Value, ghost: bool, found: list[Change]) -> None:
    def add(how: str, before: str, after: str) -> None:
        found.append(Change(variable, path, how, before, after, ghost))

    if isinstance(old, Fn) and isinstance(new, Fn) and old.keys() == new.keys() and _same_kind(old, new):
        record = is_record(new)
        for key, part in parts(new):
            if old[key] != part:
                _differences(variable, index(path, key, record), old[key], part, ghost, found)
    elif isinstance(old, frozenset) and isinstance(new, frozenset) and (old & new or not old or not new):
        for element in in_order(new - old):
            add("added", "", value_text(element))
        for element in in_order(old - new):
            add("removed", value_text(element), "")
    elif isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for place, (before, after) in enumerate(zip(old, new, strict=True), 1):
            if before != after:
                _differences(variable, f"{path}[{place}]", before, after, ghost, found)
    elif isinstance(old, tuple) and isinstance(new, tuple) and new[: len(old)] == old:
        add("appended", "", _elements(new[len(old) :]))
    elif isinstance(old, tuple) and isinstance(new, tuple) and old[: len(new)] == new:
        add("truncated", _elements(old[len(new) :]), "")
    else:
        add("set", value_text(old), value_text(new))


def _same_kind(old: Fn, new: Fn) -> bool:
    """Whether two functions of one domain are worth comparing part by part: records of two types are not."""
    return not (is_record(new) and "type" in new and old["type"] != new["type"])


def _elements(items: tuple[Value, ...]) -> str:
    return ", ".join(value_text(item) for item in items)


def leaves(path: str, value: Value) -> Iterable[tuple[str, Value]]:
    """The parts of a value that are not functions, each with its path (a set's elements as `path \\ni element`)."""
    if isinstance(value, Fn) and value:
        record = is_record(value)
        for key, part in value.items():
            yield from leaves(index(path, key, record), part)
    elif isinstance(value, frozenset):
        for element in value:
            yield element_path(path, element), True
    else:
        yield path, value


def element_path(path: str, element: Value) -> str:
    """The path of an element's membership in a set."""
    return f"{path} \\ni {value_text(element)}"


def shorten(text: str, width: int) -> str:
    """The text in at most `width` characters, its middle left out where it is longer."""
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[: width - 3 - half]}...{text[len(text) - half :]}"
