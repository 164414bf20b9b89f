"""The errors that a command reports to its user in one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


class Unusable(Exception):
    """Input or environment that a command cannot work with (exit code 2).

    The message is one sentence: the fault, the place, the remedy.
    """


class DefectError(Exception):
    """A run has shown a defect of the program that ran (exit code 1). The message is one sentence, as Unusable's."""


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turns an OSError of writing to `path` into Unusable."""
    try:
        yield
    except OSError as problem:
        raise Unusable(f"{path} cannot be written ({problem.strerror or problem}); choose another place") from problem


class Unsupported(Unusable):
    """A TLA+ construct outside the written conventions; the message names the module and line."""
