"""Pictures of zoo rows: the golden run of a row without its rules, as a self-contained SVG.

A Markdown file asks for one by linking `docs/pictures/<row id>.svg`; `tidemark docs` draws it.
"""

from __future__ import annotations

import re
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import stage
from tidemark_conformance.registry import zoo
from tidemark_conformance.report.diagram_svg import svg
from tidemark_conformance.report.html import STYLE

FOLDER = "docs/pictures"

_LINK = re.compile(r"pictures/([\w.-]+)\.svg")


def wanted(text: str) -> list[str]:
    """The ids of the rows whose pictures a Markdown text links, sorted."""
    return sorted(set(_LINK.findall(text)))


def picture(row_id: str) -> str:
    """The row's golden run without its rules; the step at which its property falls is marked.

    It is judged without the rules, because the property names the loss. `traces/golden/<protocol>/<row id>.txt` names
    the step that the right specification refuses. Raises Unusable for a row without a scenario that shows it.
    """
    row = zoo.select([row_id])[0]
    explainer, run, judgement = stage(row.protocol).golden(row, row.rules)
    explained = explainer.explain(run, judgement, None)
    if explained.diagram is None or row.property not in {one.name for one in explained.findings}:
        raise Unusable(f"{row.property} does not fall in the golden scenario of row {row.id}; run make golden")
    return standalone(svg(explained.diagram))


def standalone(drawing: str) -> str:
    """An `<svg>` element as a file of its own: with the page's style and a ground to stand on."""
    head, _, rest = drawing.partition(">")
    ground = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    return f"{head}>\n<style>{_style()}</style>\n{ground}{rest}\n"


def _style() -> str:
    """The page's rules that a drawing needs: its colours and its own classes."""
    rules = re.findall(r"^(?::root|@media \(prefers|svg|\.spacetime)(?:.|\n  )*$", STYLE, re.MULTILINE)
    return "\n".join(rules)


def folder(root: Path) -> Path:
    """Where the pictures of a checkout are."""
    return root / FOLDER
