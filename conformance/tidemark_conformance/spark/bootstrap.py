"""The first thing that a worker of a cluster runs: it unpacks the shipped archive, then hands over.

This module travels by value and imports nothing of ours, since a worker need not have this package installed.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Partition = Callable[[Iterator[Any]], Iterator[Any]]


def pack(folders: dict[str, Path], archive: Path) -> None:
    """Pack folders (or single files) under new names; the same contents are the same archive, whatever their times."""
    with zipfile.ZipFile(archive, "w") as packed:
        for name, folder in folders.items():
            for file in [folder] if folder.is_file() else sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.relative_to(folder).parts:
                    entry = zipfile.ZipInfo(name if file == folder else f"{name}/{file.relative_to(folder)}")
                    packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def unpack(source: Path) -> Path:
    """Unpack an archive of `pack` once per machine and user; returns the folder."""
    content = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    user = os.getuid() if hasattr(os, "getuid") else 0
    target = Path(tempfile.gettempdir()) / f"tidemark-{user}-{content}"
    if _own(target):
        return target
    if target.exists():  # somebody else's, by our name
        target = Path(tempfile.mkdtemp(prefix=f"{target.name}-")) / "unpacked"
    draft = Path(tempfile.mkdtemp(prefix="tidemark-draft-"))
    mask = os.umask(0o077)
    try:
        with zipfile.ZipFile(source) as packed:
            packed.extractall(draft)
    finally:
        os.umask(mask)
    try:
        draft.rename(target)
    except OSError:
        if not _own(target):  # another process was not faster: it is a real error
            raise
    return target


def _own(folder: Path) -> bool:
    """Whether a folder is this user's, and nobody else can write there: code is run from it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    ours = not hasattr(os, "geteuid") or (found.st_uid == os.geteuid() and not found.st_mode & 0o022)
    return stat.S_ISDIR(found.st_mode) and ours


def shipped(archive: str, module: str, function: str, argument: bytes) -> Partition:
    """A function for `mapInArrow` that runs `module.function` of the unpacked argument with the shipped package.

    `archive`: the name under which the archive was added to the Spark context.
    """

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        from importlib import import_module

        from pyspark import SparkFiles

        folder = unpack(Path(SparkFiles.get(archive)))
        os.environ["TIDEMARK_CACHE"] = str(folder / "cache")
        if str(folder / "package") not in sys.path:
            sys.path.insert(0, str(folder / "package"))
        unpacked = import_module("tidemark_conformance.spark.shipping").unpacked
        made: Partition = getattr(import_module(module), function)(unpacked(argument))
        yield from made(batches)

    return work
