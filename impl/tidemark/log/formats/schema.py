"""Messages by tables: a small notation for fields and their versions, and reader and writer of each version.

    TransactionLogValue 0-1 flexible 1+ type 0
        producerId int64
        previousProducerId int64 tag 0 = -1
        transactionPartitions []?
            topic string
            partitionIds []int32

A line is a name, a kind, then what is special: versions (`3+`, `1`, `0-2`; none: all), `tag N` of a field among the
tagged ones, `= default`. `?` says that null is allowed, `?2+` since which version. The lines further in are the fields
of `[]`, an array of structs, or of `{}`, one struct. Field names, kinds and versions are those of Kafka's messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tidemark.log.formats.codecs import FIXED, Array, Binary, Codec, Presence, Struct, Tagged, Text
from tidemark.log.formats.errors import Malformed, Unwritable
from tidemark.log.formats.wire import Cursor

Values = dict[str, Any]
"""A message: field name -> value. Fields that a version has not are absent; tagged ones have their default."""
NEWER = "read it with a Tidemark that knows this version"
_EVER = 2**15


@dataclass(frozen=True, slots=True)
class Versions:
    """From `first` to `last`, both included; none if `last` is less."""

    first: int = 0
    last: int = _EVER

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    @staticmethod
    def of(text: str) -> Versions:
        """`3+`, `1`, `0-2`."""
        first, dash, last = text.rstrip("+").partition("-")
        return Versions(int(first), _EVER if text.endswith("+") else int(last if dash else first))


NEVER = Versions(0, -1)


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message. `kind`: of an array that of its items, "" where those are structs with `fields`."""

    name: str
    kind: str
    array: bool
    nullable: Versions
    versions: Versions
    tag: int | None
    default: Any
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Schema:
    """A message. `type`: the number by which a record says that it is one; None if it says so otherwise."""

    name: str
    versions: Versions
    flexible: Versions
    type: int | None
    fields: tuple[Field, ...]
    _plans: dict[int, Struct] = field(default_factory=dict, compare=False, repr=False)

    def read(self, version: int, data: bytes | memoryview, at: int = 0) -> Values:
        """The message that the bytes from `at` to their end are. Raises Malformed."""
        if version not in self.versions:
            last = self.versions.last
            raise Malformed(at, f"{self.name} has version {version}, and {last} is the last that is known", NEWER)
        cursor = Cursor(data, at)
        values: Values = self._plan(version).read(cursor, self.name)
        if cursor.left:
            raise Malformed(cursor.at, f"{cursor.left:,} bytes follow {self.name} of version {version}")
        return values

    def write(self, version: int, values: Values) -> bytes:
        """The bytes of a message. Raises Unwritable for a field that is missing, or one that the version has not."""
        if version not in self.versions:
            raise Unwritable(f"{self.name} has no version {version}")
        out = bytearray()
        self._plan(version).write(out, values, self.name)
        return bytes(out)

    def _plan(self, version: int) -> Struct:
        if version not in self._plans:
            self._plans[version] = _struct(self.fields, version, version in self.flexible)
        return self._plans[version]


def _struct(fields: tuple[Field, ...], version: int, flexible: bool, presence: Presence = Presence.ALWAYS) -> Struct:
    plain, tagged = [], {}
    for one in fields:
        if version not in one.versions or (one.tag is not None and not flexible):
            continue
        codec = _codec(one, version, flexible)
        if one.tag is None:
            plain.append((one.name, codec))
        else:
            default = one.default if one.kind or one.array else _defaults(one, version)
            tagged[one.tag] = Tagged(one.name, codec, default)
    return Struct(tuple(plain), tagged, flexible, presence)


def _defaults(one: Field, version: int) -> Any:
    """Of a struct: null if the notation says so, else the defaults of its fields, as Kafka reads an absent one."""
    if one.default is None:
        return None
    return {field.name: field.default for field in one.fields if version in field.versions and field.tag is None}


def _codec(one: Field, version: int, flexible: bool) -> Codec:
    nullable = version in one.nullable
    if one.array:
        item = _struct(one.fields, version, flexible) if not one.kind else _primitive(one.kind, flexible, False)
        return Array(flexible, nullable, item)
    if not one.kind:
        presence = Presence.ALWAYS if not nullable else Presence.BYTE if one.tag is None else Presence.VARINT
        return _struct(one.fields, version, flexible, presence)
    return _primitive(one.kind, flexible, nullable)


def _primitive(kind: str, flexible: bool, nullable: bool) -> Codec:
    if kind in FIXED:
        return FIXED[kind]
    return (Text if kind == "string" else Binary)(flexible, nullable)


_LINE = re.compile(
    r"(?P<indent> *)(?P<name>\w+) (?P<array>\[\])?(?P<kind>\w+|\{\})?(?P<null>\?(?:\d[\d+-]*)?)?"
    r"(?: tag (?P<tag>\d+))?(?: (?P<versions>\d[\d+-]*))?(?: = (?P<default>\S+))?$"
)
_HEAD = re.compile(
    r"(?P<name>\w+) (?P<versions>\d[\d+-]*)(?: flexible (?P<flexible>\d[\d+-]*))?(?: type (?P<type>\d+))?$"
)
_INDENT = 4


def schemas(text: str) -> dict[str, Schema]:
    """The messages of a text in the notation, by name."""
    found = {}
    for part in text.strip("\n").split("\n\n"):
        head, *lines = part.splitlines()
        if not (read := _HEAD.match(head)):
            raise ValueError(f"no head of a message: {head}")
        flexible = Versions.of(read["flexible"]) if read["flexible"] else NEVER
        number = int(read["type"]) if read["type"] else None
        fields = tuple(_fields(lines, _INDENT))
        found[read["name"]] = Schema(read["name"], Versions.of(read["versions"]), flexible, number, fields)
    return found


def _fields(lines: list[str], indent: int) -> Iterator[Field]:
    """The fields whose lines are `indent` blanks in; lines further in belong to the one before them."""
    starts = [at for at, line in enumerate(lines) if len(line) - len(line.lstrip()) == indent]
    if not lines:
        return
    if starts[:1] != [0]:
        raise ValueError(f"no field begins with {lines[0]}")
    for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if not (read := _LINE.match(lines[begin])):
            raise ValueError(f"no field: {lines[begin]}")
        array, kind = bool(read["array"]), (read["kind"] or "").strip("{}")
        versions = Versions.of(read["versions"]) if read["versions"] else Versions()
        null = read["null"]
        nullable = NEVER if null is None else Versions() if null == "?" else Versions.of(null[1:])
        tag = int(read["tag"]) if read["tag"] else None
        default = _default(read["default"], kind, array)
        inner = tuple(_fields(lines[begin + 1 : end], indent + _INDENT))
        yield Field(read["name"], kind, array, nullable, versions, tag, default, inner)


_EMPTY: dict[str, Any] = {"string": "", "bytes": b"", "uuid": "A" * 22, "bool": False, "float64": 0.0}
"""By kind: the default where the notation gives none. Numbers are 0."""


def _default(text: str | None, kind: str, array: bool) -> Any:
    if text == "null":
        return None
    if array:
        return []
    if text is None:
        return _EMPTY.get(kind, 0)
    return text == "true" if kind == "bool" else int(text)
