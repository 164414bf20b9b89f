"""Converts observations of a state between JSON and the entries of a record in the delta stream.

An entry is a number and a value, and entries ascend. Observable k before the step is number k; after the step it is k +
the number of observables (`tla.observations.Observables`). A value that its field's type has no cells for is kept as
its JSON text. It differs from any computed value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidemark_conformance.tla.kernels.stream import Malformed, append_varint
from tidemark_conformance.tla.observations import Observables, cell_bounds
from tidemark_conformance.tla.types import TAtom, TBool, TInt, Type
from tidemark_conformance.trace.codec import Exceeds, WrongKind, reader, writer
from tidemark_conformance.trace.header import Json, dumps, encodable, loads

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Told:
    """One observation: `observable` by its number, `after` the step or before it, and its value as JSON. `cells`: those
    of the value, None if it has none in its field's type."""

    observable: int
    after: bool
    value: Json
    cells: tuple[int, ...] | None


class Observing:
    """Reads and writes the observations of one specification's traces."""

    def __init__(self, observables: Observables) -> None:
        self._observables = observables
        self._numbers = {name: i for i, (name, _) in enumerate(observables.fields)}
        self._observers = {key: i for i, key in enumerate(observables.keys)}
        self._fields = [(name, kind, reader(kind), writer(kind)) for name, kind in observables.fields]
        self._bounds = [cell_bounds(kind) for _, kind in observables.fields]

    # JSON -> entries

    def entries(self, before: Json, after: Json) -> bytes:
        """The entries of a record with these `before` and `after` (None: left out). Raises WrongKind."""
        count = self._observables.count
        found: dict[int, Json] = {}
        for offset, key, value in ((0, BEFORE, before), (count, AFTER, after)):
            if value is not None:
                found.update((offset + number, told) for number, told in self._flat(key, value))
        out = bytearray()
        for number in sorted(found):
            self._append(out, number, found[number])
        return bytes(out)

    def _flat(self, key: str, value: Json) -> Iterator[tuple[int, Json]]:
        if not self._observers:
            yield from self._record(0, f"`{key}`", value)
            return
        if type(value) is not dict:
            raise WrongKind(f"`{key}` is no object of observers")
        for observer, record in value.items():
            if observer not in self._observers:
                raise WrongKind(f"`{key}` has {dumps(observer)[:60]}, which is not among Observers")
            yield from self._record(self._observers[observer], f"`{key}` of {observer}", record)

    def _record(self, observer: int, where: str, record: Json) -> Iterator[tuple[int, Json]]:
        if type(record) is not dict:
            raise WrongKind(f"{where} is no object of the fields of Observed")
        for name, value in record.items():
            if name not in self._numbers:
                raise WrongKind(f"{where} has {dumps(name)[:60]}, which is no field of Observed")
            yield observer * len(self._fields) + self._numbers[name], value

    def _append(self, out: bytearray, number: int, value: Json) -> None:
        field = number % len(self._fields)
        name, kind, read, _ = self._fields[field]
        cells: list[int] = []
        try:
            read(value, cells)
            fits = all(lo <= cell <= hi for cell, (lo, hi) in zip(cells, self._bounds[field], strict=True))
        except (Exceeds, WrongKind) as problem:
            if not _like(kind, value):
                raise WrongKind(f"the field {name} of Observed: {problem}") from None
            fits = False
        append_varint(out, 2 * number + (not fits))
        if fits:
            for cell in cells:
                append_varint(out, cell * 2 if cell >= 0 else -2 * cell - 1)
        else:
            if not encodable(dumps(value)):
                raise WrongKind(f"the field {name} of Observed has one half of a surrogate pair")
            text = dumps(value).encode()
            append_varint(out, len(text))
            out += text

    # Entries -> JSON

    def told(self, entries: bytes) -> list[Told]:
        """The observations of a record. Raises Malformed for bytes that are no entries."""
        found: list[Told] = []
        at, last = 0, -1

        def varint() -> int:
            nonlocal at
            value = shift = 0
            while at < len(entries) and shift <= 63:
                byte = entries[at]
                at += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    return value
                shift += 7
            raise Malformed("an observation ends inside a number")

        count = self._observables.count
        while at < len(entries):
            code = varint()
            if code <= last or code >= 4 * count:
                raise Malformed(f"observation {code} follows {last}, and there are {4 * count}")
            last = code
            number = code >> 1
            if code & 1:
                length = varint()
                text = entries[at : at + length]
                at += length
                found.append(Told(number % count, number >= count, _json(text, length), None))
                continue
            field = number % count % len(self._fields)
            cells = tuple((zig >> 1) ^ -(zig & 1) for zig in (varint() for _ in self._bounds[field]))
            if not all(lo <= cell <= hi for cell, (lo, hi) in zip(cells, self._bounds[field], strict=True)):
                raise Malformed(f"an observed {self._fields[field][0]} has a cell out of its bounds")
            found.append(Told(number % count, number >= count, self._written(field, cells), cells))
        return found

    def _written(self, field: int, cells: tuple[int, ...]) -> Json:
        write: Callable[[tuple[int, ...], int], Json] = self._fields[field][3]
        return write(cells, 0)

    def described(self, entries: bytes) -> dict[str, Json]:
        """`before` and `after` of a record's line, those that are not empty. Raises Malformed or WrongKind."""
        found: dict[str, Json] = {}
        for told in self.told(entries):
            place = found.setdefault(AFTER if told.after else BEFORE, {})
            observer, field = divmod(told.observable, len(self._fields))
            if self._observers:
                place = place.setdefault(self._observables.keys[observer], {})
            place[self._fields[field][0]] = told.value
        return found


def _json(text: bytes, length: int) -> Json:
    if len(text) != length:
        raise Malformed("an observation ends inside its text")
    try:
        return loads(text)
    except ValueError:
        raise Malformed("an observation's text is no JSON") from None


def _like(kind: Type, value: Json) -> bool:
    """Whether JSON is of the kind in which values of a type are written, so that it may be a wrong value of it."""
    match kind:
        case TInt():
            return type(value) is int
        case TBool():
            return type(value) is bool
        case TAtom():
            return type(value) is str
    return type(value) in (list, dict)
