"""An explanation as one self-contained HTML page: no script, no font, no file beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from tidemark_conformance.explain.record import Change, Diagram, Explanation, Finding, Reason, Shown, Shrunk, Variable
from tidemark_conformance.report.diagram_svg import svg
from tidemark_conformance.report.explanation import (
    enabled_title,
    finding_title,
    rules_line,
    shrunk_sentence,
    sliced_sentence,
    state_title,
    summary,
    verdict_sentences,
)

STYLE = """
:root { --ink: #1d2430; --soft: #667085; --line: #d5dae3; --paper: #ffffff; --panel: #f6f7fa; --bad: #c4262e;
  --badback: #fdecec; --good: #1a7f4b; --warn: #9a6700; --accent: #2563c9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ef; --soft: #97a1b3; --line: #39414f; --paper: #14181f;
  --panel: #1c222c; --bad: #ff7b81; --badback: #3a1d22; --good: #5fce94; --warn: #e3b341; --accent: #79aaf7; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
  padding: 24px 28px 64px; max-width: 1260px; }
h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 30px 0 8px; }
p { margin: 4px 0; } .panel + p { margin-top: 10px; } .soft { color: var(--soft); }
code, td, .reason, .labels { font: 13px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.verdict { padding: 1px 10px; border-radius: 10px; color: var(--paper); font-size: 15px; vertical-align: 2px; }
.verdict.fail { background: var(--bad); } .verdict.pass { background: var(--good); }
.verdict.undecided { background: var(--warn); }
.panel { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px;
  overflow-x: auto; }
table { border-collapse: collapse; } td { padding: 1px 18px 1px 0; vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; }
@media (max-width: 760px) { body { padding: 16px 14px 48px; } td { display: block; } td + td { padding: 0 0 6px 18px; }
  td:first-child { white-space: normal; } }
.old { color: var(--bad); } .new { color: var(--good); } .ghost { color: var(--soft); }
.reason { border-left: 2px solid var(--line); padding: 2px 0 2px 14px; margin: 6px 0; }
.reason .operator { font-weight: 700; } .reason .place { color: var(--accent); }
.outcome { font-weight: 700; } .outcome.false { color: var(--bad); } .outcome.true { color: var(--good); }
.outcome.error { color: var(--warn); }
.formula { font-style: italic; } .note { font-family: system-ui, sans-serif; }
.value { color: var(--good); }
svg.spacetime { max-width: none; font: 13px ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.spacetime .life { stroke: var(--line); stroke-width: 1.5; } .spacetime .node { fill: var(--ink); font-weight: 700; }
.spacetime .number { fill: var(--soft); } .spacetime .label { fill: var(--ink); }
.spacetime .label.stutter, .spacetime .label.blocked, .spacetime .label.initial { fill: var(--soft); }
.spacetime .label.fails { fill: var(--bad); font-weight: 700; } .spacetime .failing { fill: var(--badback); }
.spacetime .changes { fill: var(--soft); }
.spacetime .arrow { stroke: var(--accent); stroke-width: 1.6; fill: none; }
.spacetime .arrow.early { stroke-dasharray: 4 3; }
.spacetime .head { fill: var(--accent); }
.spacetime circle { stroke: var(--paper); stroke-width: 1.5; } .spacetime circle.step { fill: var(--good); }
.spacetime circle.blocked { fill: var(--paper); stroke: var(--warn); stroke-width: 2.5; }
.spacetime circle.stutter { fill: var(--soft); } .spacetime circle.fails { fill: var(--bad); }
.spacetime .lane { fill: var(--panel); } .spacetime .failing { fill-opacity: 0.85; }
.spacetime .strip, .spacetime .legend { font-size: 11.5px; } .spacetime .strip.faded { opacity: 0.6; }
.spacetime .cell { fill: var(--paper); stroke: var(--soft); stroke-width: 1; }
.spacetime .cell.absent { fill: none; stroke: var(--line); stroke-dasharray: 2 2; }
.spacetime .cell.lost { fill: var(--paper); stroke: var(--bad); stroke-width: 2; stroke-dasharray: 3 2; }
.spacetime .cell.other, .spacetime .cell.twice, .spacetime .cell.contested { stroke: var(--bad); stroke-width: 3; }
.spacetime .cross { stroke: var(--bad); stroke-width: 2.5; }
.spacetime .in { fill: var(--ink); } .spacetime .tag { fill: var(--soft); }
.spacetime .badge { fill: var(--ink); } .spacetime .tag.marked { fill: var(--paper); font-weight: 700; }
.spacetime .ground { fill: var(--panel); } .spacetime .base { stroke: var(--soft); stroke-width: 1; fill: none; }
.spacetime .wrong { fill: var(--bad); font-weight: 700; font-size: 13px; }
.spacetime .said { fill: var(--ink); font-size: 13px; }
.spacetime .bar0 { stroke: var(--ink); stroke-width: 3; }
.spacetime .bar1 { stroke: var(--ink); stroke-width: 2; stroke-dasharray: 3 2; }
.spacetime .span { stroke: var(--warn); stroke-width: 2.5; fill: none; }
.spacetime .cell.hue0 { fill: #0072b2; } .spacetime .cell.hue1 { fill: #e69f00; }
.spacetime .cell.hue2 { fill: #009e73; } .spacetime .cell.hue3 { fill: #cc79a7; }
.spacetime .cell.hue4 { fill: #56b4e9; } .spacetime .cell.hue5 { fill: #f0e442; }
.spacetime .cell.hue6 { fill: #999999; }
.spacetime .in.hue0, .spacetime .in.hue2 { fill: #ffffff; }
.spacetime .in.hue1, .spacetime .in.hue3, .spacetime .in.hue4, .spacetime .in.hue5, .spacetime .in.hue6 {
  fill: #1d2430; }
"""


def page(explanation: Explanation) -> str:
    """The whole page as text."""
    title = f"{explanation.spec}: trace {explanation.trace}, {explanation.verdict}"
    body = "\n".join(_sections(explanation))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _sections(explanation: Explanation) -> Iterator[str]:
    verdict = explanation.verdict
    yield (
        f'<h1>trace {escape(explanation.trace)} <span class="verdict {verdict}">{verdict.upper()}</span></h1>'
        f'<p class="soft">{escape(explanation.source)} · {explanation.steps} steps · '
        f"{escape(rules_line(explanation))}</p>"
    )
    yield from (f"<p>{escape(sentence)}</p>" for sentence in summary(explanation))
    if explanation.step is not None:
        step = explanation.step
        node = f'<span class="soft">{escape(step.node)}</span> ' if step.node else ""
        yield f"<h2>Step {step.number}: {node}<code>{escape(step.label)}</code></h2>"
        changed = _table(_change_rows(step.changes)) if step.changes else '<p class="soft">It changes nothing.</p>'
        yield f'<div class="panel">{changed}</div>'
    for finding in explanation.first if explanation.findings else ():
        yield _finding(finding)
        if finding.kind == "not-a-step":
            yield from (f"<p>{escape(sentence)}</p>" for sentence in verdict_sentences(explanation))
    if explanation.diagram is not None:
        sliced = explanation.sliced
        title = "What happened" if sliced is None else "The steps that it depends on"
        said = f"<p>{escape(sliced_sentence(sliced))}</p>" if sliced is not None else ""
        yield f'<h2>{title}</h2>{said}<div class="panel">{_drawing(explanation.diagram)}</div>'
    if explanation.state:
        yield from _state(explanation)
    if explanation.verdict == "fail":
        yield from _enabled(explanation)
    for finding in explanation.later if explanation.findings else ():
        yield _finding(finding, True)
    if explanation.shrunk is not None:
        yield _shrunk(explanation.shrunk)


def _drawing(diagram: Diagram) -> str:
    return svg(diagram) + (
        '<p class="soft">An arrow runs from the step that wrote something to the first step of another node that read '
        "it; dashed: written before the first row. Hollow: blocked by a rule. Grey: changes nothing that the "
        "specification sees. Beside a line stands what is stored there, wherever a step has changed it.</p>"
    )


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells that are HTML already."""
    return (
        "<table>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"
    )


def _change_rows(changes: Sequence[Change]) -> Iterator[Sequence[str]]:
    for change in changes:
        if change.how == "set":
            what = f'<span class="old">{escape(change.old)}</span> → <span class="new">{escape(change.new)}</span>'
        elif change.new:
            what = f'<span class="new">+ {escape(change.new)}</span>{_how(change)}'
        else:
            what = f'<span class="old">− {escape(change.old)}</span>{_how(change)}'
        yield f'<span class="{"ghost" if change.ghost else ""}">{escape(change.unit)}</span>', what


def _how(change: Change) -> str:
    return f' <span class="soft">({change.how})</span>' if change.how in ("appended", "truncated") else ""


def _finding(finding: Finding, later: bool = False) -> str:
    title = finding_title(finding, later)
    return f'<h2>{escape(_capital(title))}</h2><div class="panel">{_reason(finding.reason)}</div>'


def _reason(reason: Reason) -> str:
    head = [f'<span class="operator">{escape(reason.operator)}</span>'] if reason.operator else []
    head += [f'<span class="place">{escape(reason.place)}</span>'] if reason.place else []
    head.append(f'<span class="outcome {reason.outcome}">{reason.outcome.upper()}</span>')
    parts = [" ".join(head)]
    if reason.text and reason.text != reason.operator:
        parts.append(f'<span class="formula">{escape(reason.text)}</span>')
    if reason.bindings:
        parts.append("with " + ", ".join(_shown(shown) for shown in reason.bindings))
    if reason.note:
        parts.append(f'<span class="note">{escape(reason.note)}</span>')
    parts += [f"&emsp;{_shown(shown)}" for shown in reason.values]
    inner = "".join(_reason(part) for part in reason.because)
    return f'<div class="reason">{"<br>".join(parts)}{inner}</div>'


def _shown(shown: Shown) -> str:
    return f'{escape(shown.name)} <span class="soft">=</span> <span class="value">{escape(shown.value)}</span>'


def _state(explanation: Explanation) -> Iterator[str]:
    title = _capital(state_title(explanation))
    rows = [row for variable in explanation.state for row in _variable(variable)]
    folded = f'<p class="soft">not shown: {escape(", ".join(explanation.folded))}</p>' if explanation.folded else ""
    yield f'<h2>{escape(title)}</h2><div class="panel">{_table(rows)}{folded}</div>'


def _variable(variable: Variable) -> Iterator[Sequence[str]]:
    for unit in variable.units:
        name = f'<span class="{"ghost" if variable.ghost else ""}">{escape(variable.name + unit.name)}</span>'
        yield name, escape(unit.value)


def _enabled(explanation: Explanation) -> Iterator[str]:
    groups = "".join(f'<div class="labels">{escape(", ".join(group.labels))}</div>' for group in explanation.enabled)
    nothing = '<p class="soft">Nothing: no action is enabled in this state.</p>'
    yield f'<h2>{_capital(enabled_title(explanation))}</h2><div class="panel">{groups or nothing}</div>'


def _shrunk(shrunk: Shrunk) -> str:
    if shrunk.diagram is None:
        return f'<p class="soft">{escape(shrunk.note)}</p>'
    parts = ["<h2>The smallest run that fails in the same way</h2>", f"<p>{escape(shrunk_sentence(shrunk))}</p>"]
    parts += [f'<p class="labels">{escape(", ".join(shrunk.kept))}</p>'] if shrunk.kept else []
    parts += [f"<p>{escape(shrunk.note)}</p>"] if shrunk.note else []
    return "".join(parts) + f'<div class="panel">{svg(shrunk.diagram, "shrunk")}</div>'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
