"""The files of log directories: found, named, and read a piece at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tidemark.log.formats import names
from tidemark.log.formats.errors import Malformed
from tidemark.log.formats.internal import METADATA

from tidemark_conformance.errors import Unusable


@dataclass(frozen=True)
class LogFile:
    """A file of a log directory. `topic`: of the partition's directory that it stands in, None if it stands in none."""

    path: Path
    name: names.FileName
    topic: str | None

    @property
    def shown(self) -> str:
        """The path as text that can be printed."""
        return printable(self.path)


@dataclass(frozen=True)
class Foreign:
    """Something in a log directory that is no file of one. `problem`: a clause that says why."""

    path: Path
    problem: str


def printable(path: Path) -> str:
    """A path as text; bytes that are no text become question marks."""
    return os.fsencode(path).decode(errors="replace")


def found(paths: Sequence[Path], topic: str | None = None) -> Iterator[LogFile | Foreign]:
    """The files of these files and folders, in the order of their paths. `topic`: stands for that of every directory.

    Raises Unusable for a path that is not there, for a file of another kind, and for a folder without any file.
    """
    for path in paths:
        if path.is_dir():
            yield from _inside(path, topic)
            continue
        if not os.path.lexists(path):
            raise Unusable(f"{printable(path)} does not exist; give a file or a folder of a broker's log directory")
        one = _named(path, topic)
        if isinstance(one, Foreign):
            raise Unusable(f"{printable(path)} {one.problem}; give a file or a folder of a broker's log directory")
        yield one


def _inside(folder: Path, topic: str | None) -> Iterator[LogFile | Foreign]:
    def refuse(problem: OSError) -> None:
        where = printable(Path(problem.filename or folder))
        raise Unusable(f"{where} cannot be read ({problem.strerror}); give a folder that can") from problem

    known = False
    for place, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        linked = [one for one in folders if (Path(place) / one).is_symlink()]
        for name in sorted([*files, *linked]):
            one = _named(Path(place) / name, topic)
            known = known or isinstance(one, LogFile)
            yield one
    if not known:
        raise Unusable(f"{printable(folder)} has no file of a log directory; give a broker's log directory, or a part")


def _named(path: Path, topic: str | None) -> LogFile | Foreign:
    if path.is_symlink() and path.is_dir():
        return Foreign(path, "is a link to a folder")
    if not path.is_file():
        return Foreign(path, "is no regular file")
    name = names.file_name(path.name)
    if name is None:
        return Foreign(path, "has no name of a file in a log directory")
    if topic is None:
        partition = names.partition_name(path.resolve().parent.name)
        topic = partition.topic if partition else None
        if name.kind is names.Kind.METADATA_SNAPSHOT:
            topic = METADATA
    return LogFile(path, name, topic)


class Opened:
    """An open file as `tidemark.log.formats` reads one. Its size is that of the moment at which it was opened."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size

    def read(self, at: int, count: int) -> bytes:
        """The bytes from `at` on, never more than the file has."""
        return os.pread(self._file.fileno(), max(0, min(count, self.size - at)), at)

    def whole(self, most: int) -> bytes:
        """All bytes. Raises Malformed for a file of more than `most`, which its kind never has."""
        if self.size > most:
            raise Malformed(most, f"the file goes on, and files of this kind have {most:,} bytes at most")
        return self.read(0, self.size)
