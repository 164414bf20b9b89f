"""A space-time diagram as SVG: lifelines down the page, arrows from the step that wrote to the step that read.

Colours are CSS classes, so that the page that holds it decides them; every mark and arrow has its tooltip.
"""

from __future__ import annotations

from html import escape

from tidemark_conformance.explain.record import Arrow, Diagram, StepView
from tidemark_conformance.report.diagram import change_text, changes_text

ROW = 26
TOP = 44
LEFT = 52
LABEL_GAP = 28
CHARACTER = 7.9
"""Pixels: height of a row, room above the first, left of the first column, before the labels; width of a character."""
LABEL, CHANGES = 44, 46
"""A label and its changes are cut to so many characters (the tooltip has them whole)."""


def svg(diagram: Diagram, marker: str = "head") -> str:
    """The diagram as one `<svg>` element; `marker` is the id of its arrow heads, unique in the page."""
    pitch = max(64, *(int(len(name) * CHARACTER) + 24 for name in diagram.columns))
    places = {name: LEFT + index * pitch + pitch // 2 for index, name in enumerate(diagram.columns)}
    heights = {row.number: TOP + index * ROW + ROW // 2 for index, row in enumerate(diagram.rows)}
    labels = LEFT + pitch * len(diagram.columns) + LABEL_GAP
    width = int(labels + (LABEL + CHANGES) * CHARACTER)
    height = TOP + ROW * len(diagram.rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="space-time diagram">',
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0,0.8 L8,4 L0,7.2 z"/></marker></defs>',
    ]
    for row in diagram.rows:
        if row.number in diagram.failing:
            y = heights[row.number] - ROW // 2
            parts.append(f'<rect class="failing" x="0" y="{y}" width="{width}" height="{ROW}" rx="4"/>')
    for name, x in places.items():
        parts.append(f'<text class="node" x="{x}" y="{TOP - 20}" text-anchor="middle">{escape(name or "-")}</text>')
        parts.append(f'<line class="life" x1="{x}" y1="{TOP - 10}" x2="{x}" y2="{height - 6}"/>')
    parts += [_arrow(arrow, diagram, places, heights, marker) for arrow in diagram.arrows]
    parts += [_row(row, diagram, places, heights[row.number], labels) for row in diagram.rows]
    parts.append("</svg>")
    return "\n".join(part for part in parts if part)


def _arrow(arrow: Arrow, diagram: Diagram, places: dict[str, int], heights: dict[int, int], marker: str) -> str:
    target = next((row for row in diagram.rows if row.number == arrow.target), None)
    if target is None or arrow.node not in places or target.node not in places:
        return ""
    x1, x2 = places[arrow.node], places[target.node]
    y1, y2 = heights.get(arrow.source, TOP - 8), heights[arrow.target]
    across = x2 - x1
    x2 -= 7 if across > 0 else -7
    bend = f"M{x1},{y1} C{x1 + across // 8},{(y1 + y2) // 2} {x1 + across // 4},{y2} {x2},{y2}"
    what = escape(f"written by step {arrow.source}, read by step {arrow.target}: {', '.join(arrow.units)}")
    cut = "" if arrow.source in heights else " early"
    return f'<path class="arrow{cut}" d="{bend}" marker-end="url(#{marker})"><title>{what}</title></path>'


def _row(row: StepView, diagram: Diagram, places: dict[str, int], y: int, labels: int) -> str:
    failing = " fails" if row.number in diagram.failing else ""
    label = _cut(row.label, LABEL)
    changed = _cut(changes_text(row), CHANGES + LABEL - max(len(label) + 2, 24))
    beside = labels + max(len(label) + 2, 24) * CHARACTER
    said = [row.label, *(change_text(change) for change in row.changes)]
    title = f"<title>{escape(chr(10).join(said))}</title>"
    mark = ""
    if row.kind != "initial" and row.node in places:
        mark = f'<circle class="{row.kind}{failing}" cx="{places[row.node]}" cy="{y}" r="5"/>'
    return (
        f'<g>{title}<text class="number" x="{LEFT - 16}" y="{y + 4}" text-anchor="end">{row.number}</text>{mark}'
        f'<text class="label {row.kind}{failing}" x="{labels}" y="{y + 4}">{escape(label)}</text>'
        f'<text class="changes" x="{beside:.0f}" y="{y + 4}">{escape(changed)}</text></g>'
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
