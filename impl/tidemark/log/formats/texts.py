"""The files of text: checkpoints, properties, and the files of JSON.

A checkpoint is `0`, the number of entries, and an entry a line; a file without bytes has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from tidemark.log.formats.errors import Malformed
from tidemark.log.storage import EpochEntry

T = TypeVar("T")
Properties = dict[str, str]
_VERSION = "0"
_LARGEST = 1 << 63


class OffsetEntry(NamedTuple):
    """An offset of a partition: its high watermark, recovery point, log start or first dirty offset, by the file."""

    topic: str
    partition: int
    offset: int


def read_offsets(data: bytes) -> tuple[OffsetEntry, ...]:
    """A checkpoint of offsets by partition. Raises Malformed."""
    return _checkpoint(data, r"(\S+) (\d+) (-?\d+)", lambda topic, *two: OffsetEntry(topic, *map(_number, two)))


def write_offsets(entries: Sequence[OffsetEntry]) -> bytes:
    """A checkpoint of offsets by partition."""
    return _written([f"{one.topic} {one.partition} {one.offset}" for one in entries])


def read_epochs(data: bytes) -> tuple[EpochEntry, ...]:
    """A `leader-epoch-checkpoint`. Raises Malformed."""
    return _checkpoint(data, r"(\d+) (\d+)", lambda epoch, start: EpochEntry(_number(epoch), _number(start)))


def write_epochs(entries: Sequence[EpochEntry]) -> bytes:
    """A `leader-epoch-checkpoint`."""
    return _written([f"{one.epoch} {one.start_offset}" for one in entries])


def _written(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in (_VERSION, str(len(lines)), *lines)).encode()


def _checkpoint(data: bytes, form: str, make: Callable[..., T]) -> tuple[T, ...]:
    if not data:
        return ()
    lines = _lines(data)
    starts = [0]
    for line in lines:
        starts.append(min(starts[-1] + len(line.encode()) + 1, len(data)))
    if lines[0] != _VERSION:
        raise Malformed(0, f"the checkpoint's version is {_shown(lines[0])}, and {_VERSION} is known")
    if len(lines) < 2 or not lines[1].isdecimal():
        raise Malformed(starts[1], "the number of entries is missing")
    entries = [(at, re.fullmatch(form, line)) for at, line in zip(starts[2:], lines[2:], strict=False)]
    for at, found in entries:
        if found is None:
            raise Malformed(at, "a line is no entry")
    if lines[1] != str(len(entries)):
        raise Malformed(starts[1], f"{_shown(lines[1])} entries should follow, and {len(entries)} do")
    return tuple(_made(at, make, found.groups()) for at, found in entries if found)


def _made(at: int, make: Callable[..., T], groups: Sequence[str]) -> T:
    try:
        return make(*groups)
    except Malformed as problem:
        raise problem.moved(at) from None


def _number(text: str) -> int:
    """An int64 as decimal digits. Raises Malformed for a larger one."""
    if len(text) > len(str(-_LARGEST)) or not -_LARGEST <= int(text) < _LARGEST:
        raise Malformed(0, f"the number {_shown(text)} of the line is beyond 64 bits")
    return int(text)


def _lines(data: bytes) -> list[str]:
    try:
        return data.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError as problem:
        raise Malformed(problem.start, "a byte is no text") from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 20 else f"{text[:20]}...")


_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(data: bytes) -> Properties:
    """Java properties, one a line: `meta.properties`, and `partition.metadata` with its colons. Raises Malformed."""
    found, at = {}, 0
    for line in _lines(data):
        text = line.strip()
        if text and text[0] not in "#!":
            parts = re.fullmatch(r"((?:[^=:\s\\]|\\.)+)\s*[=:]?\s*(.*)", text)
            if parts is None:
                raise Malformed(at, "a line is no property")
            found[_unescaped(parts[1])] = _unescaped(parts[2])
        at += len(line.encode()) + 1
    return found


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _UNESCAPED.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", one, text)


def write_properties(properties: Mapping[str, str]) -> bytes:
    """Java properties, in the order given."""
    escaped = ((re.sub(r"([\\=: #!])", r"\\\1", key), value.replace("\\", "\\\\")) for key, value in properties.items())
    return "".join(f"{key}={value}\n" for key, value in escaped).encode()


def write_partition_metadata(topic_id: str) -> bytes:
    """A `partition.metadata`: `topic_id` is a UUID in base64url."""
    return f"version: 0\ntopic_id: {topic_id}".encode()


def read_json(data: bytes) -> dict[str, Any]:
    """A file of JSON: `quorum-state`, and `.kafka_cleanshutdown`, which older brokers leave empty. Raises Malformed."""
    if not data:
        return {}
    try:
        found = json.loads(data)
    except UnicodeDecodeError as problem:
        raise Malformed(problem.start, "a byte is no text") from None
    except (ValueError, RecursionError) as problem:
        raise Malformed(getattr(problem, "pos", 0), "it is no JSON") from None
    if not isinstance(found, dict):
        raise Malformed(0, "it is no JSON object")
    return found


def write_json(values: Mapping[str, Any]) -> bytes:
    """A file of JSON, in one line."""
    return json.dumps(values, separators=(",", ":")).encode()
