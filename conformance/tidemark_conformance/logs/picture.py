"""The replicas of a partition side by side, as data: columns of batches that begin at the same offset.

Nothing is judged here, and a long log is folded: what is told apart stays, and so do its ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tidemark.log.formats import control, records
from tidemark.log.formats.batch import Batch

from tidemark_conformance.errors import Unusable
from tidemark_conformance.logs.brokers import directories
from tidemark_conformance.logs.files import printable
from tidemark_conformance.logs.judging import folders
from tidemark_conformance.logs.replicas import UNREADABLE, Replica, replicas, same
from tidemark_conformance.logs.slices import Slices

FIRST, LAST, MOST = 2, 6, 36
"""Columns that are kept: at the beginning, at the end, and in all."""
UNREAD = "unreadable"


@dataclass(frozen=True)
class Cell:
    """A batch of a replica. `marker`: COMMIT, ABORT or another control record, `UNREAD` where records that are needed
    cannot be read, else empty. `how`: as of `StoredCell`, "other" where the
    replicas' batches are not one."""

    first: int
    last: int
    epoch: int
    marker: str = ""
    how: str = "stored"


@dataclass(frozen=True)
class Column:
    """Batches that begin at `offset`, per replica; None without one. `folded`: so many columns before it are not
    shown."""

    offset: int
    cells: tuple[Cell | None, ...]
    folded: int = 0

    @property
    def parted(self) -> bool:
        """Whether two replicas have something else here."""
        return any(cell is not None and cell.how == "other" for cell in self.cells)

    @property
    def unread(self) -> bool:
        """Whether records of a batch here cannot be read."""
        return any(cell is not None and cell.marker == UNREAD for cell in self.cells)


@dataclass(frozen=True)
class Row:
    """A replica. Offsets: `start` and `end` of its log, its checkpointed high watermark (-1 none), and, by producer,
    where its open transactions begin. `unread`: why its log is read no further; `torn`: it ends within a batch."""

    broker: str
    start: int
    end: int
    high_watermark: int
    open: dict[int, int]
    unread: str = ""
    torn: bool = False


@dataclass(frozen=True)
class Picture:
    """A partition's replicas."""

    name: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    @property
    def epochs(self) -> list[int]:
        """The leader epochs that are shown, ascending."""
        return sorted({cell.epoch for column in self.columns for cell in column.cells if cell is not None})

    @property
    def parts(self) -> int | None:
        """The first offset at which replicas have something else; None if there is none."""
        return next((column.offset for column in self.columns if column.parted), None)


def picture(name: str, paths: Sequence[Path], first: int = 0, last: int = 2**63 - 1) -> Picture:
    """The replicas of a partition in these directories, of batches that touch these offsets.

    Raises Unusable where no directory has the partition, or where its logs are not of one topic.
    """
    _, logs = folders(paths)
    homes = directories(logs)
    mine = {folder: files for folder, files in logs.items() if folder.resolve().name == name}
    if not mine:
        known = sorted({folder.resolve().name for folder in logs})
        rest = f"; they have {', '.join(known[:8])}{', ...' if len(known) > 8 else ''}" if known else ""
        raise Unusable(f"no directory has a partition {printable(Path(name))}{rest}")
    together, left, _ = replicas([Slices(one, files, homes[one].broker) for one, files in mine.items()], homes)
    if left:
        raise Unusable(f"{left[0][0]} {left[0][1]}; give one directory a broker, of one topic")
    if not together:
        raise Unusable(f"{name} is no partition's folder; name it as the folder is, with the topic and the number")
    (some,) = together
    some = sorted(some, key=lambda one: (len(one.broker), one.broker))
    rows = tuple(_row(one) for one in some)
    return Picture(name, rows, tuple(_kept(_columns(some, first, last), rows)))


def _row(one: Replica) -> Row:
    fault = one.slices.fault
    unread = "" if fault is None else f"at byte {fault.problem.position:,} {fault.problem.problem}"
    torn = fault is not None and fault.tail
    return Row(one.broker, one.start, one.slices.end, one.high_watermark, _open(one.slices), unread, torn)


def _open(slices: Slices) -> dict[int, int]:
    """Per producer the first offset of a transaction that has no marker."""
    found: dict[int, int] = {}
    for _, batch in slices.places():
        header = batch.header
        if header.transactional and header.control:
            found.pop(header.producer_id, None)
        elif header.transactional:
            found.setdefault(header.producer_id, header.base_offset)
    return found


def _columns(some: Sequence[Replica], first: int, last: int) -> Iterator[Column]:
    """Every column that touches the offsets, in their order."""
    compacted = any(one.compacted for one in some)
    logs = [(found for _, found in one.slices.places()) for one in some]
    heads = [next(log, None) for log in logs]
    while present := [head for head in heads if head is not None]:
        offset = min(head.header.base_offset for head in present)
        here = [head if head is not None and head.header.base_offset == offset else None for head in heads]
        found = [head for head in here if head is not None]
        if offset <= last and max(head.header.last_offset for head in found) >= first:
            how, compared = _compared(found, compacted)
            yield Column(offset, tuple(None if head is None else _cell(head, how, compared) for head in here))
        heads = [
            next(log, None) if mine is not None else head for log, head, mine in zip(logs, heads, here, strict=True)
        ]


def _compared(found: Sequence[Batch], compacted: bool) -> tuple[str, bool]:
    """How the batches of a column are drawn, and whether all that is needed for it can be read."""
    try:
        return "stored" if all(same(found[0], other, compacted) for other in found[1:]) else "other", True
    except UNREADABLE:
        return "stored", False


def _cell(batch: Batch, how: str, compared: bool) -> Cell:
    header = batch.header
    marker = "" if compared and not header.control else _marker(batch)
    return Cell(header.base_offset, header.last_offset, header.leader_epoch, marker, how)


def _marker(batch: Batch) -> str:
    try:
        found = records.records(batch)
        if not batch.header.control:
            return ""
        return control.read(found[0]).type.name if found else "emptied"
    except UNREADABLE:
        return UNREAD


def _kept(columns: Iterator[Column], rows: Sequence[Row]) -> Iterator[Column]:
    """The columns that are shown. The others are counted at the next one that is."""
    kept: list[tuple[int, Column]] = []
    tail: deque[tuple[int, Column]] = deque(maxlen=LAST)
    before: Column | None = None
    for number, column in enumerate(columns):
        if number < FIRST or (len(kept) < MOST - LAST and _tells(column, before, rows)):
            if before is not None and kept and kept[-1][0] < number - 1:
                kept.append((number - 1, before))
            kept.append((number, column))
        tail.append((number, column))
        before = column
    last = -1
    for number, column in sorted({**dict(kept), **dict(tail)}.items()):
        yield replace(column, folded=number - last - 1)
        last = number


def _tells(column: Column, before: Column | None, rows: Sequence[Row]) -> bool:
    """Whether something begins, differs or is unreadable here: a replica, an epoch, a transaction, a high watermark's
    end."""
    if before is None or column.parted or column.unread:
        return True
    epochs = [{cell.epoch for cell in one.cells if cell is not None} for one in (before, column)]
    missing = any(
        cell is None and row.start <= column.offset < row.end for cell, row in zip(column.cells, rows, strict=True)
    )
    marks = {mark for row in rows for mark in (row.start, row.high_watermark, *row.open.values())}
    return epochs[0] != epochs[1] or missing or any(before.offset < mark <= column.offset for mark in marks)
