"""Control records: the ends of transactions, and KRaft's own records in the metadata log and its snapshots."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.layout import Layout
from tidemark.log.formats.records import Record
from tidemark.log.formats.schema import NEWER, Values, schemas
from tidemark.log.formats.schemas import control

SCHEMAS = schemas(control.TEXT)


class ControlType(IntEnum):
    """The type in a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_MARKER = SCHEMAS["EndTxnMarker"]
_BODY = {
    ControlType.LEADER_CHANGE: SCHEMAS["LeaderChangeMessage"],
    ControlType.SNAPSHOT_HEADER: SCHEMAS["SnapshotHeaderRecord"],
    ControlType.SNAPSHOT_FOOTER: SCHEMAS["SnapshotFooterRecord"],
    ControlType.KRAFT_VERSION: SCHEMAS["KRaftVersionRecord"],
    ControlType.KRAFT_VOTERS: SCHEMAS["VotersRecord"],
}


class _Key(NamedTuple):
    version: int
    type: int


class _Version(NamedTuple):
    version: int


_KEY, _VERSION = Layout(_Key, "hh"), Layout(_Version, "h")


class Control(NamedTuple):
    """A control record. `version`: of the body, whose fields are `values`."""

    type: ControlType
    version: int
    values: Values


def read(record: Record) -> Control:
    """The control record that a record of a control batch is. Raises Malformed, its position in key or value."""
    key = _KEY.read(record.key or b"")
    if key.type not in set(ControlType):
        raise Malformed(_KEY.size - 2, f"the control record's type {key.type} is not known", NEWER)
    kind, value = ControlType(key.type), record.value or b""
    version = _VERSION.read(value).version
    if kind in _BODY:
        return Control(kind, version, _BODY[kind].read(version, value))
    return Control(kind, version, _MARKER.read(version, value, _VERSION.size))


def write(one: Control) -> tuple[bytes, bytes]:
    """Key and value of a control record. Raises Unwritable."""
    key = _KEY.write(_Key(0, one.type))
    if one.type in _BODY:
        return key, _BODY[one.type].write(one.version, {**one.values, "version": one.version})
    return key, _VERSION.write(_Version(one.version)) + _MARKER.write(one.version, one.values)
