"""The brokers that log directories belong to: `meta.properties` names them, and checkpoints say how far they were.

A broker may have several log directories (JBOD). A directory without `meta.properties` is a broker of its own, named by
its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tidemark.log.formats import texts
from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.names import PartitionName, partition_name

from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.files import printable

T = TypeVar("T")
Offsets = dict[tuple[str, int], int]
MOST = 1 << 26
"""Bytes of a checkpoint at most; far beyond what a broker writes."""


@dataclass(frozen=True)
class Unread:
    """A file beside the logs that cannot be read: what depends on it is not judged."""

    path: Path
    problem: Malformed


@dataclass
class LogDirectory:
    """A log directory and what its own files say. Offsets are by topic and partition.

    `stopped`: the broker has stopped cleanly since it wrote the checkpoints.
    """

    path: Path
    broker: str
    cluster: str | None = None
    identity: str | None = None
    stopped: bool = False
    high_watermarks: Offsets = field(default_factory=dict)
    starts: Offsets = field(default_factory=dict)
    cleaned: Offsets = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path) -> LogDirectory:
        """The directory as it is now. A file that is not there says nothing."""
        unread: list[Unread] = []
        meta = _read(path / "meta.properties", texts.read_properties, unread) or {}
        node = meta.get("node.id", meta.get("broker.id"))
        found = cls(
            path,
            printable(path) if node is None else f"broker {node}",
            meta.get("cluster.id"),
            meta.get("directory.id"),
            (path / ".kafka_cleanshutdown").is_file(),
            unread=unread,
        )
        found.high_watermarks = found._offsets("replication-offset-checkpoint")
        found.starts = found._offsets("log-start-offset-checkpoint")
        found.cleaned = found._offsets("cleaner-offset-checkpoint")
        return found

    def _offsets(self, name: str) -> Offsets:
        entries = _read(self.path / name, texts.read_offsets, self.unread) or ()
        return {(one.topic, one.partition): one.offset for one in entries}


def _read(path: Path, read: Callable[[bytes], T], unread: list[Unread]) -> T | None:
    """A file's content as it was read; None where there is none, and where it cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
        if len(data) > MOST:
            raise Malformed(MOST, f"the file goes on, and files of this kind have {MOST:,} bytes at most")
        return read(data)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise Unusable(f"{printable(path)} cannot be read ({problem.strerror}); give a file that can") from problem
    except Malformed as problem:
        unread.append(Unread(path, problem))
        return None


def topic_id(folder: Path, unread: list[Unread]) -> str | None:
    """The id of the topic that a partition's folder belongs to; None where no file says it."""
    return (_read(folder / "partition.metadata", texts.read_properties, unread) or {}).get("topic_id")


def partition_of(folder: Path) -> PartitionName | None:
    """The partition whose folder it is; None if it is none."""
    return partition_name(folder.name or folder.resolve().name)


def directories(folders: Iterable[Path]) -> dict[Path, LogDirectory]:
    """The log directories of these partitions' folders, by folder.

    Raises Unusable for directories of several clusters, and for two copies of one directory.
    """
    found: dict[Path, LogDirectory] = {}
    by_folder = {}
    for folder in folders:
        place = folder.parent if folder.name else folder.resolve().parent
        resolved = place.resolve()
        if resolved not in found:
            found[resolved] = LogDirectory.of(place)
        by_folder[folder] = found[resolved]
    _require_one_cluster(list(found.values()))
    return by_folder


def _require_one_cluster(found: list[LogDirectory]) -> None:
    clusters: dict[str, LogDirectory] = {}
    identities: dict[str, LogDirectory] = {}
    for one in found:
        if one.cluster is not None:
            clusters.setdefault(one.cluster, one)
        if one.identity is not None and identities.setdefault(one.identity, one) is not one:
            both = f"{printable(identities[one.identity].path)} and {printable(one.path)}"
            raise Unusable(f"{both} are copies of the same log directory ({one.identity}); give one of them")
    if len(clusters) > 1:
        (first, one), (second, other), *_ = clusters.items()
        what = f"{printable(one.path)} is of cluster {first}, and {printable(other.path)} of cluster {second}"
        raise Unusable(f"{what}; give the directories of one cluster")
