"""The JSON document of a command (`--json FILE`; `-` is standard output, where then nothing else is printed)."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, cast

from rich.console import Console

from tidemark_conformance.errors import writable

PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe."""
PAGE_WIDTH = 96
"""Columns of one in a page of the documents."""


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--json FILE` to a command's arguments."""
    parser.add_argument(
        "--json", type=output, metavar="FILE", help="write the result as a JSON document ('-': standard output)"
    )


def output(target: str) -> str:
    """The type of an argument that names a file to write. Unusable, before any work, where it cannot be written."""
    path = Path(target)
    if target != "-":
        with writable(path):
            if not path.parent.is_dir():
                raise OSError(errno.ENOENT, "its folder does not exist")
            if path.is_dir():
                raise OSError(errno.EISDIR, "it is a folder")
            if not os.access(path if path.exists() else path.parent, os.W_OK):
                raise OSError(errno.EACCES, "permission denied")
    return target


def console(target: str | None = None, width: int = PLAIN_WIDTH, soft_wrap: bool | None = True) -> Console:
    """Where a command prints for people: standard output, or standard error if the document goes to standard output
    (`target` is "-").

    A text is printed as it is: brackets in a path or an advice are no markup. `width`: columns where that is no
    terminal; there no line ends in blanks. `soft_wrap`: long lines stay as they are (None: but in a terminal).
    """
    made = Console(stderr=target == "-", markup=False, emoji=False, highlight=False, soft_wrap=bool(soft_wrap))
    if not made.is_terminal:
        made.soft_wrap = soft_wrap is not False
        made.width = width
        made.file = cast(IO[str], _Trimmed(made.file))
    return made


class _Trimmed:
    """A file without the blanks that fill a table's last column; rich writes whole lines."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        self._file.write(re.sub(r" +$", "", text, flags=re.MULTILINE))

    def flush(self) -> None:
        self._file.flush()


def write(document: Mapping[str, Any], target: str | None) -> None:
    """Writes the document to the file `target` (None: nowhere), the whole of it or nothing; Unusable if that fails."""
    if target is None:
        return
    text = json.dumps(document, indent=2) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    write_text(text, target)


@contextlib.contextmanager
def lines(target: str | None) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A function that writes objects to the file `target`, one a line: all of them, or nothing if an exception ends it.

    None: nowhere. Raises Unusable where the file cannot be written.
    """
    if target is None:
        yield lambda row: None
        return
    if target == "-":
        yield lambda row: print(json.dumps(row, separators=(",", ":")))
        return
    with writable(Path(target)):
        path = Path(target).resolve()
        through = path.exists() and not path.is_file()  # a device, a pipe
        draft = path if through else path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            with draft.open("w", encoding="utf-8") as file:
                yield lambda row: print(json.dumps(row, separators=(",", ":")), file=file)
            if not through:
                os.replace(draft, path)
        finally:
            if not through:
                draft.unlink(missing_ok=True)


def write_text(text: str, target: str | Path) -> None:
    """Writes a text to the file `target`, the whole of it or nothing; Unusable if that fails."""
    with writable(Path(target)):
        path = Path(target).resolve()
        if path.exists() and not path.is_file():  # a device, a pipe
            path.write_text(text, encoding="utf-8")
            return
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            draft.write_text(text, encoding="utf-8")
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)


def block(render: Callable[[Console], None], width: int = PAGE_WIDTH) -> str:
    """The output of `render`, `width` columns wide, as an indented block of Markdown for a page of the documents."""
    return "".join(f"    {line}".rstrip() + "\n" for line in printed(render, width).splitlines())


def printed(render: Callable[[Console], None], width: int) -> str:
    """The output of `render` in lines of `width` columns, without blanks at their ends."""
    shown = io.StringIO()
    render(Console(file=cast(IO[str], _Trimmed(shown)), width=width, markup=False, emoji=False, highlight=False))
    return shown.getvalue()
