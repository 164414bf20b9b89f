"""A space-time diagram as lines of text: one column per node, one row per step, what travelled as a horizontal arrow.

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
    """What a step changed, on one line, history left out."""
    return "; ".join(change_text(change) for change in row.changes if not change.ghost)


def lines(diagram: Diagram, width: int) -> list[Text]:
    """The diagram, its head first, in at most `width` characters."""
    pitch = _pitch(diagram.columns)
    grid = pitch * len(diagram.columns)
    last = diagram.rows[-1].number if diagram.rows else 0
    count = max(4, len(str(last)))
    head = Text(f"{'step':>{count}}  ", style="dim")
    for name in diagram.columns:
        head.append(f"{_cut(name or '-', pitch - 1):^{pitch}}", style="bold")
    head.rstrip()
    shown = [head]
    if diagram.rows and diagram.rows[0].number > 0:
        above = f"{'':>{count}}  " + f"{'┊':^{pitch}}" * len(diagram.columns)
        shown.append(Text(above.rstrip(), style="dim"))
    for row in diagram.rows:
        arrows = [arrow for arrow in diagram.arrows if arrow.target == row.number]
        shown.append(_row(diagram, row, arrows, pitch, count, width - count - grid - 4))
    return shown


def _pitch(columns: Sequence[str]) -> int:
    return min(10, max(5, *(len(name) + 2 for name in columns)))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def _row(diagram: Diagram, row: StepView, arrows: list[Arrow], pitch: int, count: int, room: int) -> Text:
    failing = row.number in diagram.failing
    style = "bold red" if failing else "dim" if row.kind in ("blocked", "stutter") else ""
    text = Text(f"{row.number:>{count}}  ", style="dim")
    text.append_text(_grid(diagram, row, arrows, pitch, failing))
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


def _grid(diagram: Diagram, row: StepView, arrows: list[Arrow], pitch: int, failing: bool) -> Text:
    """The lifelines of one row, its mark, and the arrows that end in it."""
    cells = [" "] * (pitch * len(diagram.columns))
    styles = ["dim"] * len(cells)
    places = {name: index * pitch + (pitch - 1) // 2 for index, name in enumerate(diagram.columns)}
    for place in places.values():
        cells[place] = "│"
    own = places.get(row.node)
    for arrow in arrows:
        source = places.get(arrow.node)
        if source is not None and own is not None:
            _draw(cells, styles, source, own)
    if row.kind == "initial":
        for place in places.values():
            cells[place] = MARKS["initial"]
    elif own is not None:
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
    cells[source] = "├" if step > 0 else "┤"
    styles[source] = "cyan"
    cells[target - step] = "▶" if step > 0 else "◀"
    styles[target - step] = "cyan"
