"""A picture of a partition's replicas: for the terminal, as SVG, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rich.text import Text

from tidemark_conformance.explain.record import Bar, Hue, StoredCell, Strip
from tidemark_conformance.logs.picture import UNREAD, Cell, Column, Picture, Row
from tidemark_conformance.report.html import STYLE
from tidemark_conformance.report.strips_svg import (
    HUES,
    LINE,
    front,
    legend_height,
    legend_svg,
    strip_svg,
    width,
)

STYLES = ("blue", "yellow", "green", "magenta", "cyan", "bright_yellow", "white")
"""Of the epochs in a terminal; as many as there are colours in SVG."""
EDGE, TOP = 12, 30
"""Pixels around the drawing, and above the first replica."""
MARKERS = {"COMMIT": "C", "ABORT": "A", UNREAD: "?"}
NOTHING = "no batch of these replicas is at the offsets that are asked for"
WORDS = {"other": "differs between replicas", "absent": "missing"}


def lines(picture: Picture) -> Iterator[Text]:
    """The picture as lines of text: a column a batch, a row a replica."""
    shown = [column for column in picture.columns if any(column.cells)]
    words = [[_word(picture, row, column, number) for column in shown] for number, row in enumerate(picture.rows)]
    heads = [f"{'… ' if column.folded else ''}{column.offset}" for column in shown]
    wide = [max(map(len, one)) for one in zip(heads, *words, strict=True)]
    name = max(len(row.broker) for row in picture.rows)
    yield Text(picture.name, style="bold")
    for head, some in ((" " * name, heads), *zip((row.broker for row in picture.rows), words, strict=True)):
        line = Text(f"  {head:{name}} ")
        for number, (word, room) in enumerate(zip(some, wide, strict=True)):
            line.append(" ")
            line.append(f"{word:>{room}}", style="dim" if some is heads else _style(picture, shown[number], word))
        yield line
    yield from map(Text, notes(picture))


def _word(picture: Picture, row: Row, column: Column, number: int) -> str:
    cell = column.cells[number]
    bar = "|" if _behind(picture, row, column) else ""
    if cell is None:
        return bar + ("-" if row.start <= column.offset < row.end else "")
    return f"{bar}e{cell.epoch}{_mark(cell)}{'!' if cell.how == 'other' else ''}"


def _mark(cell: Cell) -> str:
    return MARKERS.get(cell.marker, "*" if cell.marker else "")


def _behind(picture: Picture, row: Row, column: Column) -> bool:
    """Whether the high watermark ends before this column, and not before an earlier one."""
    earlier = [one.offset for one in picture.columns if one.offset < column.offset]
    return row.high_watermark >= 0 and column.offset >= row.high_watermark > max(earlier, default=-1)


def _style(picture: Picture, column: Column, word: str) -> str:
    if word.endswith("!"):
        return "bold red"
    cells = [cell for cell in column.cells if cell is not None]
    return STYLES[picture.epochs.index(cells[0].epoch) % len(STYLES)]


def notes(picture: Picture) -> Iterator[str]:
    """The rows in words: their offsets, and open transactions."""
    for row in picture.rows:
        mark = f"high watermark {row.high_watermark}" if row.high_watermark >= 0 else "no high watermark"
        opened = [f"producer {one} from offset {at}" for one, at in sorted(row.open.items())]
        parts = [f"offsets {row.start} to {row.end}", mark, *(f"open transaction of {one}" for one in opened)]
        yield f"{row.broker}: {', '.join(parts)}"
        if row.unread:
            yield f"{row.broker}: {row.unread}; the rest is not shown"
    for column in picture.columns:
        if column.unread:
            yield f"{UNREAD} records at offset {column.offset}: tidemark logs dump --records says why"
    if not picture.columns:
        yield NOTHING
    if picture.parts is not None:
        yield f"the replicas part at offset {picture.parts}"


def svg(picture: Picture) -> str:
    """The picture as one `<svg>` element; `report.picture.standalone` makes it a file."""
    strips = [_strip(picture, number) for number in range(len(picture.rows))]
    before = max(front(strip) for strip in strips)
    legend = _legend(picture)
    wide = int(max([before + max(width(strip) for strip in strips) + 2 * EDGE, 360]))
    top = TOP + LINE * len(strips) + 8
    high = top + legend_height(legend, wide - 2 * EDGE) + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime" viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img" aria-label="replicas of {escape(picture.name)}">',
        f'<text class="node" x="{EDGE}" y="18">{escape(picture.name)}</text>',
    ]
    for number, strip in enumerate(strips):
        parts.append(strip_svg(strip, EDGE, TOP + LINE * number + LINE / 2, before))
    parts += legend_svg(legend, EDGE, top, wide - 2 * EDGE)
    return "\n".join([*parts, "</svg>"])


def _strip(picture: Picture, number: int) -> Strip:
    """A replica's row: its cells, high watermark and open transactions, by columns."""
    row, cells, offsets = picture.rows[number], [], []
    for column in picture.columns:
        if column.folded:
            cells.append(StoredCell("…", -1, "stored"))
            offsets.append(column.offset)
        cells.append(_stored(picture, row, column, number))
        offsets.append(column.offset)
    bars = () if row.high_watermark < 0 else (Bar("high watermark", _count(offsets, row.high_watermark)),)
    spans = tuple(_count(offsets, at) for at in row.open.values())
    faded = bool(row.unread)
    return Strip(-1, row.broker, picture.name, "values", row.broker, "", tuple(cells), bars, spans, faded=faded)


def _count(offsets: list[int], mark: int) -> int:
    return sum(offset < mark for offset in offsets)


def _stored(picture: Picture, row: Row, column: Column, number: int) -> StoredCell:
    cell = column.cells[number]
    if cell is None:
        missing = row.start <= column.offset < row.end
        return StoredCell(str(column.offset), -1, "absent" if missing else "beyond")
    text = f"{cell.first}-{cell.last}" if cell.last > cell.first else str(cell.first)
    return StoredCell(text + _mark(cell), picture.epochs.index(cell.epoch) % HUES, cell.how)


def _legend(picture: Picture) -> list[Hue]:
    said = [Hue("colour", f"epoch {epoch}", number % HUES) for number, epoch in enumerate(picture.epochs)]
    if any(row.high_watermark >= 0 for row in picture.rows):
        said.append(Hue("bar", "high watermark"))
    if any(row.open for row in picture.rows):
        said.append(Hue("span", "open transaction"))
    hows = {cell.how for number in range(len(picture.rows)) for cell in _strip(picture, number).cells}
    return said + [Hue(how, text) for how, text in WORDS.items() if how in hows]


def page(picture: Picture) -> str:
    """The picture as a self-contained page."""
    said = "\n".join(f"<p>{escape(note)}</p>" for note in notes(picture))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(picture.name)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{escape(picture.name)}</h1>\n<div class="panel">{svg(picture)}</div>\n{said}\n</body>\n</html>\n'
    )
