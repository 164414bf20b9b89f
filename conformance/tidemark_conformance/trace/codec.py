"""Values as JSON, by their types: straight between JSON and the cells of the layout, and the types themselves as JSON.

Reading is strict about kinds and lenient about order (a set's elements, an object's keys); writing is canonical.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tidemark_conformance.tla.types import (
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
    atom_name,
    bounds,
    encode,
    size,
    slots,
)
from tidemark_conformance.trace.header import Json, dumps, shortened


class WrongKind(Exception):
    """JSON that is no value of its type, whatever the capacities; the message says which form was expected."""


class Exceeds(Exception):
    """An argument of a function, or an integer past 64 bits, for which no cell can stand."""


Reader = Callable[[Json, list[int]], None]
"""Appends the cells of a JSON value. Raises WrongKind or Exceeds.

A value of the right kind that its type does not contain is read all the same. The check finds its cells beyond their
limits. An integer is read as it is, and a sequence by its true length. A set gets one bit more for all elements that it
cannot hold, a string one index more.
"""
LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
"""The integers that a cell holds."""
LONGEST = 1 << 20
"""No sequence is written that claims to be longer."""
Writer = Callable[[Sequence[int], int], Json]
"""The JSON of the value whose cells start at an index. Raises WrongKind for cells that are no value's."""


def type_json(kind: Type) -> Json:
    """A type as JSON, complete: from it alone a program can write values and find the cells of every part.

    `{"int": [lo, hi]}`, `"boolean"`, `{"atom": names}`, `{"set": type, "members": [...]}`, `{"sequence": type,
    "capacity": n}`, `{"function": type of results, "domain": [...]}`, `{"record": {field: type}}`, `{"tuple": types}`,
    `{"union": [{"tags": [...], "fields": {...}}], "slots": [[name, offset, tags]]}`.
    """
    match kind:
        case TInt(lo, hi):
            return {"int": [lo, hi]}
        case TBool():
            return "boolean"
        case TAtom(members):
            return {"atom": [atom_name(member) for member in members]}
        case TSet(elem, members):
            return {"set": type_json(elem), "members": _values(elem, members)}
        case TSeq(elem, cap):
            return {"sequence": type_json(elem), "capacity": cap}
        case TFun(domain, key, target):
            return {"function": type_json(target), "domain": _values(key, domain)}
        case TRec(fields):
            return {"record": {name: type_json(field) for name, field in fields}}
        case TTuple(parts):
            return {"tuple": [type_json(part) for part in parts]}
        case TUnion(variants):
            tags = kind.tags.members
            return {
                "union": [
                    {"tags": list(names), "fields": {name: type_json(field) for name, field in fields}}
                    for names, fields in variants
                ],
                "slots": [
                    [slot.name, slot.offset, sorted(str(tags[tag]) for tag in slot.tags)] for slot in slots(kind)
                ],
            }
    raise TypeError(f"not a type: {kind!r}")


def _values(kind: Type, values: Sequence[object]) -> list[Json]:
    return [value_json(kind, value) for value in values]


def value_json(kind: Type, value: object) -> Json:
    """A TLA+ value of a type as JSON. Raises types.Misfit when it is none of the type's."""
    return writer(kind)(encode(kind, value), 0)


def named_keys(kind: TFun) -> bool:
    """Whether the function's JSON is an object (all its arguments are strings or model values)."""
    return isinstance(kind.key, TAtom)


# --- JSON -> cells ------------------------------------------------------------------------------------------------


@cache
def reader(kind: Type) -> Reader:
    """The function that reads JSON values of a type into cells."""
    match kind:
        case TInt(lo, hi):
            return _read_int(lo, hi)
        case TBool():
            return _read_bool
        case TAtom(members):
            strings = all(type(member) is str for member in members)
            return _read_atom({atom_name(member): index for index, member in enumerate(members)}, strings)
        case TSet(elem, members):
            return _read_set(kind, reader(elem), {tuple(encode(elem, m)): 1 << i for i, m in enumerate(members)})
        case TSeq(elem, cap):
            return _read_sequence(reader(elem), cap, size(elem))
        case TFun():
            return _read_function(kind)
        case TRec(fields):
            return _read_record([(name, reader(field)) for name, field in fields])
        case TUnion():
            return _read_union(kind)
        case TTuple(parts):
            return _read_tuple([reader(part) for part in parts])
    raise TypeError(f"not a type: {kind!r}")


def _read_int(lo: int | None, hi: int | None) -> Reader:
    least = LEAST if lo is None else lo
    greatest = GREATEST if hi is None else hi

    def read(value: Json, out: list[int]) -> None:
        if type(value) is not int:
            raise WrongKind(f"{_short(value)} where an integer is expected")
        if not LEAST <= value <= GREATEST:
            if least == LEAST or greatest == GREATEST:
                raise Exceeds(f"{_short(value)} is outside {lo}..{hi}")
            value = LEAST if value < 0 else GREATEST
        out.append(value)

    return read


def _read_bool(value: Json, out: list[int]) -> None:
    if type(value) is not bool:
        raise WrongKind(f"{_short(value)} where true or false is expected")
    out.append(int(value))


def _read_atom(index: dict[str, int], strings: bool) -> Reader:
    """An unknown string is a value that TypeOK does not have; an unknown name is no model value at all."""
    unknown = len(index) if strings else None

    def read(value: Json, out: list[int]) -> None:
        found = index.get(value, unknown) if type(value) is str else unknown if value is None else None
        if found is None:
            raise WrongKind(f"{_short(value)} where one of {_some(index)} is expected")
        out.append(found)

    return read


def _read_set(kind: TSet, element: Reader, bits: dict[tuple[int, ...], int]) -> Reader:
    limits = bounds(kind.elem)
    beyond = 1 << len(kind.members)

    def within(cells: list[int]) -> bool:
        return len(cells) == len(limits) and all(lo <= cell <= hi for cell, (lo, hi) in zip(cells, limits, strict=True))

    def read(value: Json, out: list[int]) -> None:
        if type(value) is not list:
            raise WrongKind(f"{_short(value)} where a set (an array) is expected")
        mask = 0
        for item in value:
            cells: list[int] = []
            if item is not None:
                element(item, cells)
            bit = bits.get(tuple(cells))
            if bit is None and not within(cells):
                mask |= beyond
                continue
            if bit is None:
                raise WrongKind(f"{_short(item)} is not among the {len(kind.members)} possible elements of the set")
            if mask & bit:
                raise WrongKind(f"{_short(item)} stands twice in a set")
            mask |= bit
        out.append(mask)

    return read


def _read_sequence(element: Reader, cap: int, width: int) -> Reader:
    def read(value: Json, out: list[int]) -> None:
        if type(value) is not list:
            raise WrongKind(f"{_short(value)} where a sequence (an array) is expected")
        out.append(len(value))
        for item in value[:cap]:
            element(item, out)
        out.extend([0] * ((cap - len(value)) * width))

    return read


def _read_function(kind: TFun) -> Reader:
    cells_of = unit_reader(kind)
    count = len(kind.domain)

    def read(value: Json, out: list[int]) -> None:
        units = dict(cells_of(value))
        if len(units) != count:
            raise WrongKind(f"a function with {len(units)} of its {count} arguments")
        for index in range(count):
            out.extend(units[index])

    return read


def _read_record(fields: list[tuple[str, Reader]]) -> Reader:
    names = {name for name, _ in fields}

    def read(value: Json, out: list[int]) -> None:
        if type(value) is not dict or value.keys() != names:
            raise WrongKind(f"{_short(value)} where a record with the fields {', '.join(sorted(names))} is expected")
        for name, field in fields:
            field(value[name], out)

    return read


def _read_union(kind: TUnion) -> Reader:
    tags = kind.tags.members
    fields = {tag: {name for name, _ in parts} | {"type"} for names, parts in kind.variants for tag in names}
    plan = [(slot.name, slot.tags, reader(slot.type), size(slot.type)) for slot in slots(kind)]

    def read(value: Json, out: list[int]) -> None:
        tag = value.get("type") if type(value) is dict else None
        if type(tag) is not str or tag not in fields:
            raise WrongKind(f"{_short(value)} where a record with `type` {_some(tags)} is expected")
        if value.keys() != fields[tag]:
            raise WrongKind(
                f"{_short(value)} where a record with the fields {', '.join(sorted(fields[tag]))} is expected"
            )
        index = tags.index(tag)
        out.append(index)
        for name, present, field, width in plan:
            if index in present:
                field(value[name], out)
            else:
                out.extend([0] * width)

    return read


def _read_tuple(parts: list[Reader]) -> Reader:
    def read(value: Json, out: list[int]) -> None:
        if type(value) is not list or len(value) != len(parts):
            raise WrongKind(f"{_short(value)} where a tuple (an array of {len(parts)}) is expected")
        for part, item in zip(parts, value, strict=True):
            part(item, out)

    return read


@cache
def unit_reader(kind: TFun) -> Callable[[Json], list[tuple[int, list[int]]]]:
    """Reads some of a function's units from JSON: pairs (index in the domain, the unit's cells), each at most once."""
    target = reader(kind.range)
    keys = reader(kind.key)
    limits = bounds(kind.key)
    index = {tuple(encode(kind.key, key)): i for i, key in enumerate(kind.domain)}
    named = named_keys(kind)

    def read(value: Json) -> list[tuple[int, list[int]]]:
        if named and type(value) is dict:
            pairs = list(value.items())
        elif not named and type(value) is list and all(type(item) is list and len(item) == 2 for item in value):
            pairs = value
        else:
            form = (
                "an object"
                if named
                else f"a list of pairs such as [[{dumps(value_json(kind.key, kind.domain[0]))}, ...]]"
            )
            raise WrongKind(f"{_short(value)} where a function ({form}) is expected")
        found: dict[int, list[int]] = {}
        for argument, image in pairs:
            key: list[int] = []
            keys(argument, key)
            unit = index.get(tuple(key))
            if (
                unit is None
                and not named
                and not all(lo <= cell <= hi for cell, (lo, hi) in zip(key, limits, strict=True))
            ):
                raise Exceeds(f"{_short(argument)} is not among the arguments")
            if unit is None or unit in found:
                raise WrongKind(f"{_short(argument)} is {'twice' if unit is not None else 'not'} among the arguments")
            found[unit] = []
            target(image, found[unit])
        return list(found.items())

    return read


def _short(value: Json) -> str:
    return shortened(value)


def _some(names: Sequence[str] | dict[str, int]) -> str:
    shown = [str(name) for name in names][:6]
    return ", ".join(shown) + (", ..." if len(names) > 6 else "")


# --- cells -> JSON ------------------------------------------------------------------------------------------------


@cache
def writer(kind: Type) -> Writer:
    """The function that writes the JSON of a type's values from their cells."""
    match kind:
        case TInt():
            return lambda cells, at: int(cells[at])
        case TBool():
            return lambda cells, at: bool(cells[at])
        case TAtom(members):
            names = [atom_name(member) for member in members]
            if all(type(member) is str for member in members):
                return lambda cells, at: [*names, None][min(_index(cells[at], LONGEST), len(names))]
            return lambda cells, at: names[_index(cells[at], len(names))]
        case TSet(elem, members):
            values = [value_json(elem, member) for member in members]
            return lambda cells, at: _elements(values, _mask(cells[at], len(values)))
        case TSeq(elem, cap):
            item, width = writer(elem), size(elem)
            return lambda cells, at: [
                item(cells, at + 1 + i * width) if i < cap else None for i in range(_index(cells[at], LONGEST))
            ]
        case TFun(domain):
            every = range(len(domain))
            units = unit_writer(kind)
            return lambda cells, at: units(cells, at, every)
        case TRec(fields):
            return _write_record([(name, writer(field), size(field)) for name, field in fields])
        case TUnion():
            return _write_union(kind)
        case TTuple(parts):
            return _write_tuple([(writer(part), size(part)) for part in parts])
    raise TypeError(f"not a type: {kind!r}")


def _index(value: int, count: int) -> int:
    if not 0 <= value < count:
        raise WrongKind(f"a cell holds {value} where less than {count} is expected")
    return value


def _elements(values: list[Json], mask: int) -> list[Json]:
    """The elements of a set, None for all that it cannot hold."""
    found = [value for i, value in enumerate(values) if mask >> i & 1]
    return [*found, None] if mask >> len(values) else found


def _mask(value: int, count: int) -> int:
    if value < 0 or value >> count > 1:
        raise WrongKind(f"a cell holds {value}, which is no set of {count} possible elements")
    return value


def _write_record(fields: list[tuple[str, Writer, int]]) -> Writer:
    def write(cells: Sequence[int], at: int) -> Json:
        result = {}
        for name, field, width in fields:
            result[name] = field(cells, at)
            at += width
        return result

    return write


def _write_union(kind: TUnion) -> Writer:
    tags = kind.tags.members
    plan = [(slot.name, slot.tags, writer(slot.type), slot.offset) for slot in slots(kind)]

    def write(cells: Sequence[int], at: int) -> Json:
        tag = _index(cells[at], len(tags))
        result: dict[str, Json] = {"type": tags[tag]}
        for name, present, field, offset in plan:
            if tag in present:
                result[name] = field(cells, at + offset)
        return result

    return write


def _write_tuple(parts: list[tuple[Writer, int]]) -> Writer:
    def write(cells: Sequence[int], at: int) -> Json:
        result = []
        for part, width in parts:
            result.append(part(cells, at))
            at += width
        return result

    return write


@cache
def unit_writer(kind: TFun) -> Callable[[Sequence[int], int, Sequence[int]], Json]:
    """Writes the given units (indices into the domain) of a function whose cells start at an index."""
    target, width = writer(kind.range), size(kind.range)
    keys = [value_json(kind.key, key) for key in kind.domain]
    if named_keys(kind):
        return lambda cells, at, units: {keys[i]: target(cells, at + i * width) for i in units}
    return lambda cells, at, units: [[keys[i], target(cells, at + i * width)] for i in units]
