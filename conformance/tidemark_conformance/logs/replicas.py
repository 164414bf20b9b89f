"""Two replicas of a partition side by side, as traces of `spec/logs/ReplicaLogs.tla`.

A step is two batches that share offsets, or a batch where the other log has none. Two batches that differ are read
record by record where compaction may have rewritten one. Nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from pathlib import Path

from crc32c import crc32c
from tidemark.log.formats import compression, records
from tidemark.log.formats.batch import Batch
from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.internal import OFFSETS, TRANSACTIONS
from tidemark.log.formats.names import PartitionName

from tidemark_conformance.logs.brokers import LogDirectory, Unread, partition_of, topic_id
from tidemark_conformance.logs.slices import Slices, without_library
from tidemark_conformance.logs.traces import Place, Step, Trace, changed

REPLICAS = "ReplicaLogs"
COMPACTED = (OFFSETS, TRANSACTIONS)
SIDES = ("one", "other")
UNREADABLE = (Malformed, compression.LibraryAbsent)
"""Why the records of a batch cannot be read."""
_NONE: Step = {"type": "none"}
Found = tuple[Place, Batch]
Pair = tuple[Found | None, Found | None]
Homes = dict[Path, LogDirectory]
"""The log directories by the folders of their partitions."""
Paired = tuple[Pair, dict[str, Step]]


@dataclass(frozen=True)
class Replica:
    """A partition's log on a broker."""

    partition: PartitionName
    directory: LogDirectory
    slices: Slices
    topic_id: str | None

    @property
    def broker(self) -> str:
        """The name of the broker."""
        return self.directory.broker

    @property
    def key(self) -> tuple[str, int]:
        """Topic and partition, as checkpoints name it."""
        return self.partition.topic, self.partition.partition

    @property
    def start(self) -> int:
        """The offset at which the log begins: that of its first segment, or the log start offset."""
        return max(self.slices.base, self.directory.starts.get(self.key, 0))

    @property
    def high_watermark(self) -> int:
        """As checkpointed; -1 none."""
        return max(-1, self.directory.high_watermarks.get(self.key, -1))

    @property
    def compacted(self) -> bool:
        """Whether compaction is known to have been there."""
        return self.slices.rewritten or self.key in self.directory.cleaned or self.partition.topic in COMPACTED


def replicas(slices: Sequence[Slices], homes: Homes) -> tuple[list[list[Replica]], list[tuple[str, str]], list[Unread]]:
    """The replicas of each partition; what is not compared, and why; and files that cannot be read."""
    found: dict[tuple[str, int], list[Replica]] = {}
    left: list[tuple[str, str]] = []
    unread: list[Unread] = []
    for one in slices:
        partition = partition_of(one.folder)
        if partition is None or partition.status:
            continue
        replica = Replica(partition, homes[one.folder], one, topic_id(one.folder, unread))
        found.setdefault(replica.key, []).append(replica)
    together = []
    for (topic, number), some in found.items():
        brokers = [one.broker for one in some]
        ids = {one.topic_id for one in some if one.topic_id is not None}
        if len(set(brokers)) < len(brokers):
            left.append((f"{topic}-{number}", "stands in two directories of one broker, so it is not compared"))
        elif len(ids) > 1:
            left.append((f"{topic}-{number}", f"has the topic ids {', '.join(sorted(ids))}, so it is not compared"))
        else:
            together.append(some)
    return together, left, unread


def traces(some: Sequence[Replica], unread: list[Unread]) -> Iterator[Trace]:
    """The traces of one partition: each two of its replicas. `unread`: gets the batches whose records cannot be read,
    while the steps are made."""
    compacted = any(one.compacted for one in some)
    for one, other in combinations(some, 2):
        name = f"{one.partition.topic}-{one.partition.partition} of {one.broker} and {other.broker}"
        yield Trace(
            REPLICAS,
            name,
            "pair",
            _initial(one, other, compacted),
            partial(_steps, one, other, compacted, unread),
            partial(_places, one, other, compacted, name),
        )


def _initial(one: Replica, other: Replica, compacted: bool) -> Step:
    both = dict(zip(SIDES, (one, other), strict=True))
    return {
        "start": {side: replica.start for side, replica in both.items()},
        "end": {side: replica.slices.end for side, replica in both.items()},
        "highWatermark": {side: replica.high_watermark for side, replica in both.items()},
        "stopped": {side: replica.directory.stopped and replica.slices.fault is None for side, replica in both.items()},
        "compacted": compacted,
        "pair": dict.fromkeys(SIDES, _NONE),
    }


def _steps(one: Replica, other: Replica, compacted: bool, unread: list[Unread]) -> Iterator[Step]:
    for _, step in _paired(one, other, compacted, unread):
        yield step


def _paired(one: Replica, other: Replica, compacted: bool, unread: list[Unread]) -> Iterator[Paired]:
    """The steps, each with the batches that it is made of. Two batches whose records cannot be read are no step."""
    for pair in _side_by_side(one.slices.places(), other.slices.places()):
        first, second = pair
        if compacted and first and second and _rewritten(first[1], second[1]):
            if not _unreadable((first, second), unread):
                for step in _by_record(first[1], second[1]):
                    yield pair, step
        else:
            yield pair, dict(zip(SIDES, map(_batch, pair), strict=True))


def _unreadable(pair: tuple[Found, Found], unread: list[Unread]) -> bool:
    """Whether the records of a batch cannot be read, which is told once."""
    readable = True
    for place, found in pair:
        try:
            records.records(found)
        except Malformed as problem:
            readable = False
            if (place.file.path, place.position) not in {(one.path, one.problem.position) for one in unread}:
                unread.append(Unread(place.file.path, problem.moved(place.position, "a record of the batch")))
        except compression.LibraryAbsent:
            raise without_library(place) from None
    return not readable


def _side_by_side(ones: Iterator[Found], others: Iterator[Found]) -> Iterator[Pair]:
    """Batches of both logs that share an offset, and batches alone, by ascending offsets."""
    one, other = next(ones, None), next(others, None)
    met_one = met_other = False  # whether the batch has been in a pair
    while one is not None or other is not None:
        if one is not None and other is not None and _first(one) <= _last(other) and _first(other) <= _last(one):
            yield one, other
            met_one = met_other = True
            drop_one, drop_other = _last(one) <= _last(other), _last(other) <= _last(one)
        else:
            drop_one = other is None or (one is not None and _first(one) < _first(other))
            drop_other = not drop_one
            if drop_one and not met_one:
                yield one, None
            elif drop_other and not met_other:
                yield None, other
        if drop_one:
            one, met_one = next(ones, None), False
        if drop_other:
            other, met_other = next(others, None), False


def _first(found: Found) -> int:
    return found[1].header.base_offset


def _last(found: Found) -> int:
    return max(found[1].header.last_offset, found[1].header.base_offset)


def _batch(found: Found | None) -> Step:
    if found is None:
        return _NONE
    header = found[1].header
    return _content(header.base_offset, _last(found), header.leader_epoch, header.crc)


def _content(first: int, last: int, epoch: int, content: int) -> Step:
    return {"type": "batch", "first": first, "last": last, "epoch": epoch, "content": content}


def _rewritten(one: Batch, other: Batch) -> bool:
    """Whether the two are one batch whose bytes differ, as the cleaner leaves it: offsets and epoch are kept."""
    a, b = one.header, other.header
    same = (a.base_offset, a.last_offset_delta, a.leader_epoch) == (b.base_offset, b.last_offset_delta, b.leader_epoch)
    return same and a.crc != b.crc


def same(one: Batch, other: Batch, compacted: bool) -> bool:
    """Whether two batches are one: their bytes are the same, or in a compacted log the records that both have.

    Raises one of `UNREADABLE` where those records cannot be read.
    """
    if compacted and _rewritten(one, other):
        return all(_NONE in step.values() or step["one"] == step["other"] for step in _by_record(one, other))
    return one.header == other.header


def _by_record(one: Batch, other: Batch) -> Iterator[Step]:
    """A step a record that either batch has. A record that the cleaner took from one of them is none there."""
    sides = [{record.offset: record for record in records.records(batch)} for batch in (one, other)]
    headers = one.header, other.header
    for offset in sorted(sides[0].keys() | sides[1].keys()):
        step = {}
        for side, known, header in zip(SIDES, sides, headers, strict=True):
            record = known.get(offset)
            if record is None:
                step[side] = _NONE
                continue
            kept = (header.attributes & 0b111000, header.producer_id, header.producer_epoch, header.base_sequence)
            content = repr((kept, record.timestamp, record.key, record.value, record.headers)).encode()
            step[side] = _content(offset, offset, header.leader_epoch, crc32c(content))
        yield step


def _places(one: Replica, other: Replica, compacted: bool, name: str, step: int) -> tuple[Place, ...]:
    """The batches of both logs at a step. Where one of them has none: where it should stand."""
    found = next(islice(_paired(one, other, compacted, []), step - 1, None), None)
    if found is None:
        raise changed(name)
    (first, second), _ = found
    if first is None or second is None:
        there, absent = (first, other) if first is not None else (second, one)
        assert there is not None
        return there[0], _gap(absent, _first(there))
    return first[0], second[0]


def _gap(absent: Replica, offset: int) -> Place:
    """The place of a log at which a batch of this offset should stand."""
    place, position = None, 0
    for place, found in absent.slices.places():
        if found.header.base_offset > offset:
            return Place(place.file, place.position, None, absent.broker)
        position = place.position + found.header.size
    file = absent.slices.files[-1] if place is None else place.file
    return Place(file, position, None, absent.broker)
