"""Draws a lane's stored values as SVG: cells in a row with their bars, and the legend of colours and bars.

A cell that is missing is crossed out. A cell that is stored twice, or in two lanes, has a heavy frame. Colour-blind
readers can tell the colours apart, for they are Okabe and Ito's. Each colour has a class: `hue0` and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from tidemark_conformance.explain.record import Hue, StoredCell, Strip

HUES = 7
"""So many colours there are; an eighth value has the first one again."""
CELL, HEIGHT, LINE = 20, 17, 23
"""Pixels: the least width of a cell, its height, the height of a strip with the space around it."""
CHARACTER = 6.7
"""Pixels: the width of a character in a cell, and of a tag."""
TEXT = 9
"""A cell's text is cut to so many characters; the tooltip has it whole."""
GAP = 6
LOST = "lost"
"""The word behind a strip with a lost element."""


def width(strip: Strip) -> float:
    """The width in pixels of a strip's cells and of the word behind them."""
    return sum(_widths(strip)) + GAP + (len(LOST) * CHARACTER + GAP if _has_lost(strip) else 0)


def _has_lost(strip: Strip) -> bool:
    return any(cell.how == "lost" for cell in strip.cells)


def heights(strips: Iterable[Strip]) -> dict[int, int]:
    """How high a step's row must be for its strips, in pixels: as high as the lane with most of them."""
    found: dict[int, int] = {}
    for (step, _), some in groupby(strips, key=lambda strip: (strip.step, strip.lane)):
        found[step] = max(found.get(step, 0), LINE * len(list(some)))
    return found


def front(strip: Strip) -> float:
    """How wide the tag in front of a strip's cells is, in pixels; cells of a lane begin behind the widest."""
    return len(strip.tag or strip.row) * CHARACTER + 10 if strip.tag or strip.row else 0


def _widths(strip: Strip) -> list[float]:
    """The widths of the cells: one for all of a strip."""
    longest = max((len(cell.text[:TEXT]) for cell in strip.cells), default=0)
    return [longest * CHARACTER + 12 if longest > 2 else CELL] * len(strip.cells)


def strip_svg(strip: Strip, x: float, y: float, before: float) -> str:
    """A strip whose left end is at `x`, whose middle is at `y`, and whose cells begin `before` pixels from its end."""
    ground = max(before + width(strip) if strip.kind else front(strip), 1)
    box = f'x="{x - 3:.0f}" y="{y - LINE / 2 + 1:.0f}" width="{ground:.0f}" height="{LINE - 2}"'
    edges = [x + before]
    for wide in _widths(strip):
        edges.append(edges[-1] + wide)
    parts = [_tag(strip, x, y)]
    if strip.kind == "cells":
        end = edges[-1] + GAP
        parts.append(f'<path class="base" d="M{edges[0]:.0f},{y + HEIGHT / 2:.1f} H{end:.0f}"/>')
    cells = zip(strip.cells, edges, _widths(strip), strict=False)
    parts += [_cell(cell, left, y, wide) for cell, left, wide in cells]
    for first in strip.spans:
        left = edges[min(first, len(edges) - 1)]
        right = max(edges[-1], left + CELL / 2)
        parts.append(f'<path class="span" d="M{left + 1:.0f},{y + 6:.0f} v4.5 H{right:.0f}"/>')
    parts += [_bar(number, edges[min(bar.at, len(edges) - 1)], y) for number, bar in enumerate(strip.bars)]
    if _has_lost(strip):
        parts.append(f'<text class="wrong" x="{edges[-1] + GAP:.0f}" y="{y + 4:.0f}">{LOST}</text>')
    kind = "strip faded" if strip.faded else "strip"
    title = f"<title>{escape(_told(strip))}</title>"
    return f'<rect class="ground" {box}/><g class="{kind}">{title}{"".join(parts)}</g>'


def _tag(strip: Strip, x: float, y: float) -> str:
    text = strip.tag or strip.row
    kind = "tag marked" if strip.marked else "tag"
    wide = len(text) * CHARACTER + 6
    badge = f'<rect class="badge" x="{x - 3:.0f}" y="{y - 8:.0f}" width="{wide:.0f}" height="16" rx="3"/>'
    said = f'<text class="{kind}" x="{x:.0f}" y="{y + 4:.0f}">{escape(text)}</text>'
    return (badge if strip.marked else "") + said if text else ""


def _bar(number: int, x: float, y: float) -> str:
    """The bar of a number; each stands a little before the last, so that two at one place are seen."""
    place = x - 4 * number
    return f'<line class="bar{number}" x1="{place:.0f}" y1="{y - 11:.0f}" x2="{place:.0f}" y2="{y + 11:.0f}"/>'


def _cell(cell: StoredCell, x: float, y: float, wide: float) -> str:
    hue = f" hue{cell.colour % HUES}" if cell.colour >= 0 and cell.how != "lost" else ""
    top = y - HEIGHT / 2
    box = f'x="{x + 1:.0f}" y="{top:.0f}" width="{wide - 2:.0f}" height="{HEIGHT}"'
    if cell.how == "beyond":
        return ""
    parts = [f'<rect class="cell {cell.how}{hue}" {box} rx="2"/>']
    if cell.how == "lost":
        across, down = wide - 6, HEIGHT - 4
        cross = f"M{x + 3:.0f},{top + 2:.0f} l{across:.0f},{down} m0,-{down} l-{across:.0f},{down}"
        parts.append(f'<path class="cross" d="{cross}"/>')
    elif cell.text and cell.how != "absent":
        text = escape(cell.text[:TEXT])
        parts.append(f'<text class="in{hue}" x="{x + wide / 2:.0f}" y="{y + 4:.0f}" text-anchor="middle">{text}</text>')
    return "".join(parts)


def _told(strip: Strip) -> str:
    """A strip in words."""
    head = " ".join(word for word in (strip.lane, strip.title, strip.row, strip.tag) if word)
    there = [cell for cell in strip.cells if cell.how != "beyond"]
    cells = [cell.text if cell.how == "stored" else f"{cell.text} ({cell.how})" for cell in there]
    bars = [f"{bar.name}: {bar.at}" for bar in strip.bars]
    when = f" after step {strip.step}" if strip.step >= 0 else ""
    return f"{head}{when}: {', '.join(cells) or 'nothing'}" + "".join(f"\n{bar}" for bar in bars)


def legend_svg(legend: Sequence[Hue], x: float, y: float, room: float) -> Iterator[str]:
    """The legend's lines, from `y` on, in at most `room` pixels; see `legend_height`."""
    for hue, left, line in _placed(legend, room):
        middle = y + line * LINE + LINE / 2
        yield f'<g class="legend">{_sample(hue, x + left, middle)}<text class="said" x="{x + left + 24:.0f}" ' + (
            f'y="{middle + 4:.0f}">{escape(hue.text)}</text></g>'
        )


def legend_height(legend: Sequence[Hue], room: float) -> int:
    """The pixels that a legend takes."""
    return LINE * (max((line for _, _, line in _placed(legend, room)), default=-1) + 1)


def _placed(legend: Sequence[Hue], room: float) -> Iterator[tuple[Hue, float, int]]:
    left, line = 0.0, 0
    for hue in legend:
        wide = 24 + len(hue.text) * 7.9 + 22
        if left and left + wide > room:
            left, line = 0.0, line + 1
        yield hue, left, line
        left += wide


def _sample(hue: Hue, x: float, y: float) -> str:
    if hue.kind == "bar":
        return _bar(hue.number, x + 9, y)
    if hue.kind == "span":
        return f'<path class="span" d="M{x + 1:.0f},{y - 2:.0f} v4.5 H{x + 18:.0f}"/>'
    if hue.kind == "colour":
        return _cell(StoredCell("", hue.number, "stored"), x, y, CELL)
    return _cell(StoredCell("", -1, hue.kind), x, y, CELL)
