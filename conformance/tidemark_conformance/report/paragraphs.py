"""Text in a terminal without rich's tables: lines end where their text ends, so that they read well in a file too. Also
numbers of things."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

NAME = 36
"""A name wider than this stands on a line of its own."""


def counted(number: int, noun: str) -> str:
    """`1 trace`, `2,000 traces`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def hanging(console: Console, margin: str, text: Text) -> None:
    """Print a paragraph behind a margin; its further lines are indented by two more."""
    width = max(20, console.width - len(margin) - 2)
    for number, line in enumerate(text.wrap(console, width)):
        line.rstrip()
        console.print(Text(margin + "  " * bool(number)) + line, no_wrap=True)


def columns(console: Console, margin: str, rows: Sequence[tuple[Text, Text]]) -> None:
    """Print names and their texts in two columns; a text that is too long goes on under itself."""
    fitting = [len(name) for name, _ in rows if len(name) <= NAME]
    wide = max(fitting, default=0)
    room = max(20, console.width - len(margin) - wide - 2)
    for name, text in rows:
        lines = list(text.wrap(console, room)) or [Text()]
        if len(name) > NAME:
            console.print(Text(margin) + name, no_wrap=True, crop=False)
            name = Text()
        for number, line in enumerate(lines):
            line.rstrip()
            head = name if number == 0 else Text()
            gap = " " * (wide - len(head) + 2)
            console.print(Text(margin) + head + Text(gap) + line, no_wrap=True)
