"""A space-time diagram as lines of text: one column per node, one row per step, each message or shared value as a
horizontal arrow.

     5  ●◀─────┤      │      │      TMReceivePrepared(r1)   tmPrepared + r1   ←4

An arrow stands in the row of the step that read; the number after ← is the step that wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from tidemark_conformance.explain.record import Arrow, Change, Diagram, StepView

MARKS = {"initial": "┬", "step": "●", "blocked": "○", "stutter": "·"}
FAILED = "✗"
LEGEND = "● step   ○ blocked by a rule   · stutter   ✗ fails   ←n: reads what step n wrote"


def change_text(change: Change) -> str:
    """One change in few words: `tmState = "committed"`, `messages + [...]`."""
    if change.how == "set":
        return f"{change.unit} = {change.new}"
    return f"{change.unit} {'+' if change.new else '-'} {change.new or change.old}"


def changes_text(row: StepView) -> str:
    """The changes of a step on one line, history left out."""
    return "; ".join(change_text(change) for change in row.changes if not change.ghost)


def lines(diagram: Diagram, width: int) -> list[Text]:
    """The diagram, its head first, in at most `width` characters."""
    grid = _Grid(diagram.columns)
    last = diagram.rows[-1].number if diagram.rows else 0
    count = max(4, len(str(last)))
    head = Text(f"{'step':>{count}}  ", style="dim")
    head.append(grid.head(), style="bold")
    shown = [head]
    if diagram.rows and diagram.rows[0].number > 0:
        above = "".join("┊" if place in grid.places.values() else " " for place in range(grid.width))
        shown.append(Text(f"{'':>{count}}  {above}".rstrip(), style="dim"))
    for row in diagram.rows:
        arrows = [arrow for arrow in diagram.arrows if arrow.target == row.number]
        shown.append(_row(diagram, row, arrows, grid, count, width - count - grid.width - 4))
    return shown


class _Grid:
    """Where the columns are: each as wide as its name, at least `NARROW`."""

    NARROW, WIDE = 5, 14

    def __init__(self, columns: Sequence[str]) -> None:
        self.names = [_cut(name or "-", self.WIDE - 2) for name in columns]
        self.widths = [max(self.NARROW, len(name) + 2) for name in self.names]
        starts = [sum(self.widths[:index]) for index in range(len(columns))]
        self.places = {
            name: start + (wide - 1) // 2 for name, start, wide in zip(columns, starts, self.widths, strict=True)
        }
        self.width = sum(self.widths)

    def head(self) -> str:
        cells = [" "] * self.width
        for name, place in zip(self.names, self.places.values(), strict=True):
            start = place - (len(name) - 1) // 2
            cells[start : start + len(name)] = name
        return "".join(cells).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _row(diagram: Diagram, row: StepView, arrows: list[Arrow], grid: _Grid, count: int, room: int) -> Text:
    failing = row.number in diagram.failing
    style = "bold red" if failing else "dim" if row.kind in ("blocked", "stutter") else ""
    text = Text(f"{row.number:>{count}}  ", style="dim")
    text.append_text(_lifelines(row, arrows, grid, failing))
    text.append("  ")
    label = _cut(row.label, room)
    text.append(label, style=style)
    sources = " ".join(f"←{arrow.source}" for arrow in arrows)
    rest = room - len(label) - (len(sources) + 2 if sources else 0)
    said = changes_text(row)
    if rest > 12 and said:
        text.append("  " + _cut(said, rest - 2), style="dim")
    if sources and len(label) + len(sources) + 2 <= room:
        text.append("  " + sources, style="cyan")
    return text


def _lifelines(row: StepView, arrows: list[Arrow], grid: _Grid, failing: bool) -> Text:
    """The lifelines of one row, its mark, and the arrows that end in it."""
    cells = [" "] * grid.width
    styles = ["dim"] * len(cells)
    for place in grid.places.values():
        cells[place] = MARKS["initial"] if row.kind == "initial" else "│"
    own = grid.places.get(row.node)
    for arrow in arrows:
        source = grid.places.get(arrow.node)
        if source is not None and own is not None:
            _draw(cells, styles, source, own)
    if row.kind != "initial" and own is not None:
        cells[own] = FAILED if failing else MARKS[row.kind]
        styles[own] = "bold red" if failing else "bold green" if row.kind == "step" else "yellow"
    text = Text()
    for cell, style in zip(cells, styles, strict=True):
        text.append(cell, style=style)
    return text


def _draw(cells: list[str], styles: list[str], source: int, target: int) -> None:
    step = 1 if target > source else -1
    for place in range(source + step, target, step):
        cells[place] = "┼" if cells[place] in "│┼├┤" else "─"
        styles[place] = "cyan"
    cells[source] = "┼" if cells[source] in "─┼" else "├" if step > 0 else "┤"
    styles[source] = "cyan"
    cells[target - step] = "▶" if step > 0 else "◀"
    styles[target - step] = "cyan"
