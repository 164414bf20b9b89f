"""The schema of traces from their header alone: types, layout, actions and domains as the header declares them.

It reads and writes all that the specification's own schema does. It cannot know the specification's names of variables
that no trace carries. Nor can it know whether an argument written as an array is a tuple, a sequence or a set. It takes
none for a set where not all subsets are listed, so a set there must be sorted, as ours are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.layout import Layout, Parameters
from tidemark_conformance.tla.observations import Observables
from tidemark_conformance.tla.types import (
    MAX_SET,
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    decode,
    size,
)
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.codec import Exceeds, WrongKind, reader, type_json
from tidemark_conformance.trace.header import Header, Json, dumps, same, shortened
from tidemark_conformance.trace.schema import Schema

MOST_CELLS = 1 << 20
"""The most cells of a state that is read without its specification."""
_DEPTH = 40
"""How deeply a declared type may be nested."""


class _Strange(Exception):
    """A declaration that no specification leads to; the message names it."""


def declared(header: Header, where: str) -> Schema:
    """The schema that a header declares; `where` names its file.

    Raises Unusable for a header that declares no types, no layout or no domains, or not as `tidemark schema` does.
    """
    try:
        types = {name: _variable(name, entry) for name, entry in header.variables.items()}
        if sum(size(kind) for kind in types.values()) > MOST_CELLS:
            raise _Strange(f"a state of more than {MOST_CELLS:,} cells")
        layout = Layout(types, list(types), ())
        for variable in layout.variables:
            placed = {"offset": variable.offset, "cells": variable.size, "units": variable.units}
            entry = header.variables[variable.name]
            if not same({**placed, "type": type_json(variable.type)}, entry):
                raise _Strange(f"variable {variable.name[:60]} = {shortened(entry)}, which is no place and type")
        return Schema(header, layout, _actions(header.actions), _observables(header.observed))
    except _Strange as problem:
        raise Unusable(
            f"the header of {where} declares {problem}; copy the header that `tidemark schema` prints"
        ) from None


def _variable(name: str, entry: Json) -> Type:
    if type(entry) is not dict or "type" not in entry:
        raise _Strange(f"no type of variable {name[:60]}")
    return _type(entry["type"])


def _type(text: Json, depth: int = 0) -> Type:
    """The type that a header writes so (`codec.type_json`)."""
    if depth > _DEPTH:
        raise _Strange("a type that is nested too deeply")
    if text == "boolean":
        return TBool()
    if type(text) is dict:
        match text:
            case {"int": [lo, hi]} if all(one is None or type(one) is int for one in (lo, hi)):
                return TInt(lo, hi)
            case {"atom": list(names)} if _distinct(names, str):
                return TAtom(tuple(names))
            case {"set": element, "members": list(members)} if len(members) <= MAX_SET:
                kind = _type(element, depth + 1)
                return TSet(kind, tuple(_value(kind, member) for member in members))
            case {"sequence": element, "capacity": int(capacity)} if 0 <= capacity <= MOST_CELLS:
                return TSeq(_type(element, depth + 1), capacity)
            case {"function": target, "domain": list(domain)}:
                key = _kind_of(domain)
                return TFun(tuple(_value(key, one) for one in domain), key, _type(target, depth + 1))
            case {"record": dict(fields)}:
                return TRec(_fields(fields, depth))
            case {"tuple": list(parts)}:
                return TTuple(tuple(_type(part, depth + 1) for part in parts))
            case {"union": list(variants)}:
                return TUnion(tuple(_variant(variant, depth) for variant in variants))
    raise _Strange(f"{shortened(text)}, which is no type")


def _fields(fields: dict[str, Json], depth: int) -> tuple[tuple[str, Type], ...]:
    return tuple((name, _type(field, depth + 1)) for name, field in sorted(fields.items()))


def _variant(variant: Json, depth: int) -> tuple[tuple[str, ...], tuple[tuple[str, Type], ...]]:
    match variant:
        case {"tags": list(tags), "fields": dict(fields)} if _distinct(tags, str):
            return tuple(tags), _fields(fields, depth)
    raise _Strange(f"{shortened(variant)}, which is no kind of record")


def _distinct(values: Sequence[Any], kind: type) -> bool:
    return all(type(one) is kind for one in values) and len(set(values)) == len(values)


def _value(kind: Type, text: Json) -> Value:
    """A value of a type; strings and model values are written alike and are strings here."""
    cells: list[int] = []
    try:
        reader(kind)(text, cells)
    except (WrongKind, Exceeds) as problem:
        raise _Strange(str(problem)) from None
    return decode(kind, cells, 0)


def _kind_of(values: Sequence[Json]) -> Type:
    """A type of which these are values: arguments of a function."""
    if not values or len({dumps(one) for one in values}) != len(values):
        raise _Strange(f"the arguments {shortened(values)}")
    first = values[0]
    if all(type(one) is str for one in values):
        return TAtom(tuple(values))
    if all(type(one) is bool for one in values):
        return TBool()
    if all(type(one) is int for one in values):
        return TInt(min(values), max(values))
    if all(type(one) is list and len(one) == len(first) for one in values):
        return TTuple(tuple(_kind_of(_once(column)) for column in zip(*values, strict=True)))
    if all(type(one) is list for one in values):
        kind = _kind_of(_once([item for one in values for item in one]))
        if _all_subsets(values):
            return TSet(kind, tuple(_value(kind, item) for item in max(values, key=len)))
        return TSeq(kind, max(map(len, values)))
    if all(type(one) is dict and type(one.get("type")) is str for one in values):
        return TUnion(tuple(_variant_of(tag, values) for tag in sorted({one["type"] for one in values})))
    if all(type(one) is dict and one.keys() == first.keys() for one in values):
        return TRec(tuple((name, _kind_of(_once([one[name] for one in values]))) for name in sorted(first)))
    raise _Strange(f"the arguments {shortened(values)}, of which only the specification says what they are")


def _all_subsets(values: Sequence[list[Json]]) -> bool:
    """Whether arrays are all the subsets of a set: of a domain of tuples or sequences that is never so."""
    count = max(map(len, values))
    found = {frozenset(map(dumps, one)) for one in values}
    return count <= MAX_SET and len(found) == len(values) == 1 << count and {*map(len, values)} == {*range(count + 1)}


def _variant_of(tag: str, values: Sequence[Json]) -> tuple[tuple[str, ...], tuple[tuple[str, Type], ...]]:
    """The records with this tag, by their other fields."""
    some = [{name: item for name, item in one.items() if name != "type"} for one in values if one["type"] == tag]
    if any(one.keys() != some[0].keys() for one in some):
        raise _Strange(f"records of type {tag[:60]} with unlike fields as arguments")
    return (tag,), tuple((name, _kind_of(_once([one[name] for one in some]))) for name in sorted(some[0]))


def _once(values: Sequence[Json]) -> list[Json]:
    return list({dumps(one): one for one in values}.values())


def _actions(entries: Sequence[Json]) -> dict[str, Parameters]:
    actions: dict[str, Parameters] = {}
    for entry in entries:
        match entry:
            case {"name": str(name), "params": dict(params)} if name not in actions:
                actions[name] = Parameters(tuple(params), tuple(map(_domain, params.values())), ())
            case _:
                raise _Strange(f"{shortened(entry)}, which is no action")
    return actions


def _domain(values: Json) -> tuple[Json, ...]:
    if type(values) is not list or not values:
        raise _Strange(f"{shortened(values)} as the domain of a parameter")
    return tuple(values)


def _observables(text: Json) -> Observables | None:
    if text is None:
        return None
    if type(text) is not dict or type(text.get("fields")) is not dict or not text["fields"]:
        raise _Strange(f"{shortened(text)} as what is observed")
    keys = text.get("observers", [])
    if type(keys) is not list or not _distinct(keys, str):
        raise _Strange(f"{shortened(keys)} as observers")
    fields = tuple((name, _type(field)) for name, field in text["fields"].items())
    if sum(size(kind) for _, kind in fields) > MOST_CELLS:
        raise _Strange(f"observations of more than {MOST_CELLS:,} cells")
    return Observables(tuple(keys), TAtom(tuple(keys)), tuple(keys), fields)
