"""Log directories made for tests: batches by the project's writer, and the files beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tidemark.log.formats import batch, control, records, texts
from tidemark.log.formats.texts import OffsetEntry

NAME = "00000000000000000000.log"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
REAL = Path(__file__).parent / "real_logs" / "cluster"


def data(offset: int, sequence: int, count: int = 1, value: bytes = b"v", **more: int) -> bytes:
    """A batch of producer 7; `leader`: the leader epoch."""
    header = records.batch_header(
        offset,
        offset + count - 1,
        more.get("leader", 0),
        attributes=more.get("attributes", 0),
        producer_id=more.get("producer", 7),
        producer_epoch=more.get("epoch", 0),
        base_sequence=sequence,
    )
    return records.batch_of(header, [records.Record(offset + one, 1000 + offset, None, value) for one in range(count)])


def transactional(offset: int, sequence: int, epoch: int = 0) -> bytes:
    """A batch of a transaction."""
    return data(offset, sequence, epoch=epoch, attributes=16)


def marker(offset: int, epoch: int = 0, coordinator: int = 3) -> bytes:
    """A COMMIT of producer 7."""
    key, value = control.write(control.Control(control.ControlType.COMMIT, 0, {"coordinatorEpoch": coordinator}))
    header = records.batch_header(offset, offset, 0, attributes=48, producer_id=7, producer_epoch=epoch)
    return records.batch_of(header, [records.Record(offset, 1000 + offset, key, value)])


def directory(folder: Path, node: int | None, logs: Mapping[str, Sequence[bytes]], **more: object) -> Path:
    """A log directory. `logs`: per partition's folder the batches. `high_watermark`, `start`, `cleaned`: what the
    checkpoints say of every partition; `stopped`: a clean stop; `cluster`, `identity`, `topic_id`."""
    folder.mkdir()
    if node is not None:
        said = {"node.id": str(node), "cluster.id": str(more.get("cluster", CLUSTER)), "version": "1"}
        said["directory.id"] = str(more.get("identity", f"directory-of-{folder.name}"))
        (folder / "meta.properties").write_bytes(texts.write_properties(said))
    for name, parts in logs.items():
        (folder / name).mkdir()
        (folder / name / NAME).write_bytes(b"".join(parts))
        if "topic_id" in more:
            (folder / name / "partition.metadata").write_bytes(texts.write_partition_metadata(str(more["topic_id"])))
    kinds = {"high_watermark": "replication", "start": "log-start", "cleaned": "cleaner"}
    for key, kind in kinds.items():
        if isinstance(offset := more.get(key), int):
            entries = [OffsetEntry(*_partition(name), offset) for name in logs]
            (folder / f"{kind}-offset-checkpoint").write_bytes(texts.write_offsets(entries))
    if more.get("stopped"):
        (folder / ".kafka_cleanshutdown").write_bytes(b"")
    return folder


def _partition(name: str) -> tuple[str, int]:
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def rewritten(parts: bytes, at: int, change: Callable[[list[records.Record]], list[records.Record]]) -> bytes:
    """A segment whose batch number `at` has other records, under a right CRC."""
    out = b""
    for number, one in enumerate(batch.batches(batch.Stored(parts))):
        if number == at:
            out += records.batch_of(one.header, change(list(records.records(one))))
        else:
            out += bytes(one.data)
    return out
