"""A zoo row in the documents: its golden run without the rules, explained, and the step where the run with all rules
parts from it.

A Markdown file asks for them by the blocks `explain-<row id>` and `refused-<row id>` (generated.py). The zoo's key
`refused` chooses the rows with a refused step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rich.console import Console
from rich.text import Text

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_file, golden_root, stage
from tidemark_conformance.explain.scope import Scope
from tidemark_conformance.explain.why import why
from tidemark_conformance.registry import zoo
from tidemark_conformance.report import document
from tidemark_conformance.report.explanation import reason_lines, render
from tidemark_conformance.report.paragraphs import hanging
from tidemark_conformance.tla.walk import enabling

WIDTH = 120


def blocks() -> dict[str, Callable[[], str]]:
    """The generators of the blocks, by name."""
    made: dict[str, Callable[[], str]] = {}
    for row in zoo.rows():
        if row.refused:
            made[f"explain-{row.id}"] = partial(explained, row)
            made[f"refused-{row.id}"] = partial(refused, row)
    return made


def _fenced(tell: Callable[[Console], None]) -> str:
    """The output for a terminal as a block of Markdown."""
    return f"```\n{document.printed(tell, WIDTH).rstrip()}\n```\n"


def explained(row: zoo.Row) -> str:
    """The output of `tidemark explain` for the row's golden run without the row's rules. The picture replaces its
    drawing.

    Raises Unusable if the row's property does not fall there.
    """
    explainer, run, judgement = stage(row.protocol).golden(row, row.rules)
    found = explainer.explain(run, judgement)
    if row.property not in {one.name for one in found.findings}:
        raise Unusable(f"{row.property} does not fall in the golden scenario of row {row.id}; run make golden")
    source = f"traces/golden/{golden_file(row).relative_to(golden_root())}"
    return _fenced(partial(render, replace(found, source=source, diagram=None)))


def refused(row: zoo.Row) -> str:
    """The step that all rules together allow in place of the one that they refuse, and the reason for the refusal.

    Raises Unusable where the golden run without the rules has no such step, or the two runs do the same.
    """
    runs = stage(row.protocol)
    _, flawed, _ = runs.golden(row, row.rules)
    explainer, right, judgement = runs.golden(row, ())
    then = [event for event in flawed.events if event.label == row.refused]
    now = [event for event in right.events if then and event.params == then[-1].params]
    if not now or now[-1].label == then[-1].label:
        raise Unusable(f"nothing is refused in the golden scenario of row {row.id}; give it another `refused`")
    step, instead = now[-1], then[-1]
    before = judgement.states[step.number - 1]
    action = explainer.specification.action(instead.action)
    scope = Scope(explainer.evaluator, before, before)
    reason, _ = why(enabling(action), scope, explainer.parameters(action, instead), explainer.source)

    def tell(console: Console) -> None:
        hanging(
            console, "", Text(f"with all rules in force, step {step.number} of {len(right.events) - 1}: {step.label}")
        )
        console.print()
        console.print(f"why it is not {instead.label}")
        reason_lines(reason, console, "  ")

    return _fenced(tell)
