"""Where things are: the specifications of this installation and the cache of derived files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tidemark_conformance import processes

PACKAGE = Path(__file__).resolve().parent
CHECKOUT = PACKAGE.parent.parent
"""The folder of the checkout that holds the package, if one does."""
FRESH = "TIDEMARK_FRESH"
"""The environment variable that names the empty cache of a run with `--no-cache` (`cache.fresh`)."""


def spec_root() -> Path:
    """The folder that holds the specifications: the checkout's `spec/`, or the copy inside an installed wheel."""
    checkout = CHECKOUT / "spec"
    return checkout if checkout.is_dir() else PACKAGE / "_spec"


def cache_root() -> Path:
    """The folder of derived files (parsed specifications, kernels, TLC verdicts); safe to delete at any time.

    With `--no-cache` it is an empty one.
    `TIDEMARK_CACHE` overrides it; a checkout keeps its own `.cache/`, an installed wheel uses the user's cache folder.
    """
    empty = os.environ.get(FRESH)
    return Path(empty) if empty else lasting_root()


def lasting_root() -> Path:
    """The folder of the cache, also in a run with `--no-cache`: where logs go."""
    override = os.environ.get("TIDEMARK_CACHE")
    if override:
        return Path(override)
    if (CHECKOUT / "spec").is_dir():
        return CHECKOUT / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))) / "tidemark"


@contextlib.contextmanager
def temporary_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A private folder (`within` another: else where temporary files go). It is removed at the end, also after an
    exception, and also where a signal interrupts the removal."""
    folder: Path | None = None
    try:
        with processes.held():
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        yield folder
    finally:
        if folder is not None:
            _remove(folder)


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
