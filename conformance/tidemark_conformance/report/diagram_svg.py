"""A space-time diagram as SVG. Lifelines run down the page, and arrows from the step that wrote to the step that read.
Each lane's stored state stands wherever a step has changed it.

Colours are CSS classes, so that the page that holds it decides them; every mark, arrow and strip has its tooltip.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from tidemark_conformance.explain.record import Arrow, Diagram, StepView
from tidemark_conformance.report.diagram import change_text, changes_text
from tidemark_conformance.report.strips_svg import LINE, front, heights, legend_height, legend_svg, strip_svg, width

ROW = 26
TOP = 44
NUMBER = 36
PAD, INSET = 14, 20
CHARACTER = 7.9
"""Pixels: height of a row without strips, room above the first, width of the numbers. Then the room between a lane's
edge and its lifeline, between a lifeline and its strips; the width of a character."""
LABEL, CHANGES = 40, 46
"""A label and its changes are cut to so many characters (the tooltip has them whole)."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where everything is: lifelines by lane, rows by number (top, height), the columns of text, the whole. `fronts`:
    by lane, how far from a strip's end its cells begin."""

    places: dict[str, float]
    lanes: dict[str, tuple[float, float]]
    fronts: dict[str, float]
    rows: dict[int, tuple[float, float]]
    changes: float
    width: int
    bottom: float
    height: int

    def middle(self, number: int) -> float:
        top, height = self.rows[number]
        return top + height / 2


def svg(diagram: Diagram, marker: str = "head") -> str:
    """The diagram as one `<svg>` element; `marker` is the id of its arrow heads, unique in the page."""
    plan = _plan(diagram)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spacetime" viewBox="0 0 {plan.width} {plan.height}" '
        f'width="{plan.width}" height="{plan.height}" role="img" aria-label="space-time diagram">',
        f'<defs><marker id="{marker}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0,0.8 L8,4 L0,7.2 z"/></marker></defs>',
    ]
    for left, wide in plan.lanes.values():
        box = f'x="{left:.0f}" y="6" width="{wide - 6:.0f}" height="{plan.bottom - 6:.0f}"'
        parts.append(f'<rect class="lane" {box} rx="6"/>')
    for row in diagram.rows:
        if row.number in diagram.failing:
            top, height = plan.rows[row.number]
            box = f'x="0" y="{top:.0f}" width="{plan.width}" height="{height:.0f}"'
            parts.append(f'<rect class="failing" {box} rx="4"/>')
    for name, x in plan.places.items():
        node = name in diagram.columns
        where = f'x="{x:.0f}" y="{TOP - 20}"' + (' text-anchor="middle"' if node and not diagram.strips else "")
        parts.append(f'<text class="node" {where}>{escape(name or "-")}</text>')
        if node:
            parts.append(f'<line class="life" x1="{x:.0f}" y1="{TOP - 10}" x2="{x:.0f}" y2="{plan.bottom - 6:.0f}"/>')
    parts += [_arrow(arrow, diagram, plan, marker) for arrow in diagram.arrows]
    parts += [_row(row, diagram, plan) for row in diagram.rows]
    parts += _strips(diagram, plan)
    parts += legend_svg(diagram.legend, 8, plan.bottom + 6, plan.width - 16)
    parts.append("</svg>")
    return "\n".join(part for part in parts if part)


def _plan(diagram: Diagram) -> _Plan:
    longest = max((len(row.label) for row in diagram.rows), default=0)
    left = NUMBER + min(longest, LABEL) * CHARACTER + 20
    places: dict[str, float] = {}
    lanes: dict[str, tuple[float, float]] = {}
    fronts: dict[str, float] = {}
    for name in diagram.lanes or diagram.columns:
        mine = [strip for strip in diagram.strips if strip.lane == name]
        fronts[name] = max((front(strip) for strip in mine if strip.kind), default=0)
        stored = max((fronts[name] + width(strip) for strip in mine if strip.kind), default=0)
        stored = max([stored, *(front(strip) for strip in mine)])
        wide = max(64 if name in diagram.columns else 0, len(name) * CHARACTER + 30, stored + PAD + INSET + 6)
        lanes[name] = left, wide
        places[name] = left + (PAD if diagram.strips else wide / 2)
        left += wide
    high = heights(diagram.strips)
    rows: dict[int, tuple[float, float]] = {}
    top: float = TOP
    for row in diagram.rows:
        rows[row.number] = top, max(ROW, high.get(row.number, 0) + 4)
        top += rows[row.number][1]
    total = int(left + 8 if diagram.whole else left + 12 + CHANGES * CHARACTER)
    height = int(top + legend_height(diagram.legend, total - 16) + 18)
    return _Plan(places, lanes if diagram.strips else {}, fronts, rows, left + 12, total, top + 6, height)


def _strips(diagram: Diagram, plan: _Plan) -> list[str]:
    """Every strip beside its lifeline, those of one lane and step below one another."""
    found: list[str] = []
    many: dict[tuple[int, str], int] = {}
    for strip in diagram.strips:
        many[strip.step, strip.lane] = many.get((strip.step, strip.lane), 0) + 1
    drawn: dict[tuple[int, str], int] = {}
    for strip in diagram.strips:
        if strip.step not in plan.rows:
            continue
        key = strip.step, strip.lane
        number = drawn.get(key, 0)
        drawn[key] = number + 1
        y = plan.middle(strip.step) + (number - (many[key] - 1) / 2) * LINE
        inset = INSET if strip.lane in diagram.columns else 0
        found.append(strip_svg(strip, plan.places[strip.lane] + inset, y, plan.fronts[strip.lane]))
    return found


def _arrow(arrow: Arrow, diagram: Diagram, plan: _Plan, marker: str) -> str:
    target = next((row for row in diagram.rows if row.number == arrow.target), None)
    if target is None or arrow.node not in plan.places or target.node not in plan.places:
        return ""
    x1, x2 = plan.places[arrow.node], plan.places[target.node]
    early = arrow.source not in plan.rows
    y1, y2 = TOP - 8 if early else plan.middle(arrow.source), plan.middle(arrow.target)
    across = x2 - x1
    x2 -= 7 if across > 0 else -7
    bow = f"{x1 + across / 8:.0f},{(y1 + y2) / 2:.0f} {x1 + across / 4:.0f},{y2:.0f}"
    bend = f"M{x1:.0f},{y1:.0f} C{bow} {x2:.0f},{y2:.0f}"
    what = escape(f"written by step {arrow.source}, read by step {arrow.target}: {', '.join(arrow.units)}")
    cut = " early" if early else ""
    return f'<path class="arrow{cut}" d="{bend}" marker-end="url(#{marker})"><title>{what}</title></path>'


def _row(row: StepView, diagram: Diagram, plan: _Plan) -> str:
    failing = " fails" if row.number in diagram.failing else ""
    y = plan.middle(row.number)
    said = [row.label, *(change_text(change) for change in row.changes)]
    title = f"<title>{escape(chr(10).join(said))}</title>"
    mark = changes = ""
    if row.kind != "initial" and row.node in plan.places:
        mark = f'<circle class="{row.kind}{failing}" cx="{plan.places[row.node]:.0f}" cy="{y:.0f}" r="5"/>'
    if not diagram.whole:
        text = escape(_cut(changes_text(row), CHANGES))
        changes = f'<text class="changes" x="{plan.changes:.0f}" y="{y + 4:.0f}">{text}</text>'
    return (
        f'<g>{title}<text class="number" x="{NUMBER - 12}" y="{y + 4:.0f}" text-anchor="end">{row.number}</text>{mark}'
        f'<text class="label {row.kind}{failing}" x="{NUMBER}" y="{y + 4:.0f}">{escape(_cut(row.label, LABEL))}</text>'
        f"{changes}</g>"
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
