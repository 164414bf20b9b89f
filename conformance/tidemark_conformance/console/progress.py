"""Progress of long work: a bar in a terminal, a plain line now and then elsewhere, on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

PLAIN_SECONDS = 10.0
"""Seconds between two plain lines."""


def say(text: str) -> None:
    """One line on standard error, at once: the name of a task that is about to take its time."""
    print(text, file=sys.stderr, flush=True)


class Progress(Protocol):
    """Something that is told how far work has come."""

    def update(self, done: int, total: int | None) -> None:
        """`done` of `total` are finished (0 of 0: nothing is running; None: nobody knows how many there are)."""


class _Plain:
    def __init__(self, title: str, counted: str) -> None:
        self._title = title
        self._counted = counted
        self._said = time.monotonic()
        self._last: tuple[int, int | None] = (0, 0)

    def update(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        if total != 0 and (done, total) != self._last and now - self._said >= PLAIN_SECONDS:
            self._said, self._last = now, (done, total)
            counted = self._counted.removesuffix("s") if (done, total) == (1, None) else self._counted
            say(f"{self._title}: {done}{'' if total is None else f' of {total}'} {counted}")


class Silent:
    """Progress that nobody sees."""

    def update(self, done: int, total: int | None) -> None:
        """Say nothing."""


@contextlib.contextmanager
def progress(title: str, counted: str = "parts") -> Iterator[Progress]:
    """A progress display with `title`, gone when the block ends. `counted`: the things counted, as a plural ("traces");
    "parts" are those in which Spark, or a simulation, does its work."""
    if not sys.stderr.isatty():
        yield _Plain(title, counted)
        return
    from rich import progress as rich_progress
    from rich.console import Console

    bar = rich_progress.Progress(
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TextColumn("{task.fields[counted]}"),
        rich_progress.TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=None, counted=counted)

        class _Bar:
            def update(self, done: int, total: int | None) -> None:
                bar.update(task, completed=done, total=total or None)

        yield _Bar()
