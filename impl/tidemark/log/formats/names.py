"""The names of a log directory: which file is what, and the numbers in their names."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """The kind of a file, by its name."""

    SEGMENT = "segment"
    METADATA_SNAPSHOT = "metadata snapshot"
    """Batches, as `bootstrap.checkpoint` has them too."""
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    EPOCH_CHECKPOINT = "epoch checkpoint"
    OFFSET_CHECKPOINT = "offset checkpoint"
    PROPERTIES = "properties"
    JSON = "json"
    LOCK = "lock"
    """Without content: a broker holds it."""


class Status(Enum):
    """The fate of a file, by the end of its name."""

    NORMAL = ""
    DELETED = ".deleted"
    """To be removed after `file.delete.delay.ms`, or at the next start."""
    CLEANED = ".cleaned"
    """The cleaner was not ready with it: the next start removes it."""
    SWAP = ".swap"
    """The cleaner's output, which takes the place of older files."""
    PART = ".part"
    """A metadata snapshot that is not complete."""
    TEMPORARY = ".tmp"
    """A checkpoint before it takes its name."""


class FileName(NamedTuple):
    """A file's name. `number`: the base offset of a segment and of its indexes, a snapshot's end offset, or None.
    `epoch`: of a metadata snapshot's last record."""

    kind: Kind
    number: int | None = None
    epoch: int | None = None
    status: Status = Status.NORMAL


class PartitionName(NamedTuple):
    """A partition's directory. `future` is one that moves between disks, `stray` one that the broker does not have."""

    topic: str
    partition: int
    status: str = ""


_NUMBERED = {
    "log": Kind.SEGMENT,
    "index": Kind.OFFSET_INDEX,
    "timeindex": Kind.TIME_INDEX,
    "txnindex": Kind.TRANSACTION_INDEX,
    "snapshot": Kind.PRODUCER_SNAPSHOT,
}
SUFFIX = {kind: suffix for suffix, kind in _NUMBERED.items()}
"""Of the files whose names are numbers."""
_NAMED = {
    "bootstrap.checkpoint": Kind.METADATA_SNAPSHOT,
    "leader-epoch-checkpoint": Kind.EPOCH_CHECKPOINT,
    "replication-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "recovery-point-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "log-start-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "cleaner-offset-checkpoint": Kind.OFFSET_CHECKPOINT,
    "meta.properties": Kind.PROPERTIES,
    "partition.metadata": Kind.PROPERTIES,
    ".kafka_cleanshutdown": Kind.JSON,
    "quorum-state": Kind.JSON,
    ".lock": Kind.LOCK,
}
_ENDS = "|".join(re.escape(one.value) for one in Status if one.value)
_END = re.compile(rf"(.*?)({_ENDS})")
_FILE = re.compile(rf"(\d{{20}})\.({'|'.join(_NUMBERED)})")
_METADATA_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_PARTITION = re.compile(r"(?P<topic>[\w.-]+?)-(?P<partition>\d+)")
_MOVED = re.compile(r"(?P<topic>[\w.-]+?)-(?P<partition>\d+)\.[0-9a-f]{32}-(?P<status>delete|future|stray)")


def file_name(name: str) -> FileName | None:
    """The kind of a file; None if it is no file of a log directory."""
    status = Status.NORMAL
    if end := _END.fullmatch(name):
        name, status = end[1], Status(end[2])
    if name in _NAMED:
        return FileName(_NAMED[name], status=status)
    if found := _FILE.fullmatch(name):
        return FileName(_NUMBERED[found[2]], int(found[1]), status=status)
    if found := _METADATA_SNAPSHOT.fullmatch(name):
        return FileName(Kind.METADATA_SNAPSHOT, int(found[1]), int(found[2]), status)
    return None


def write_file_name(kind: Kind, number: int, status: Status = Status.NORMAL) -> str:
    """The name of a file whose name is a number, with its twenty digits."""
    return f"{number:020d}.{SUFFIX[kind]}{status.value}"


def partition_name(name: str) -> PartitionName | None:
    """The partition whose directory it is; None if it is none."""
    for form in (_MOVED, _PARTITION):
        if found := form.fullmatch(name):
            parts = found.groupdict()
            return PartitionName(parts["topic"], int(parts["partition"]), parts.get("status", ""))
    return None
