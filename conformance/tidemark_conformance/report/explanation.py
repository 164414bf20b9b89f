"""An explanation for people: text in a terminal (plain where it is none)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tidemark_conformance.explain.record import (
    Change,
    Diagram,
    Explanation,
    Finding,
    Reason,
    Shown,
    Shrunk,
    Sliced,
    Variable,
)
from tidemark_conformance.report import diagram
from tidemark_conformance.report.paragraphs import columns, counted, hanging

OUTCOMES = {"false": "bold red", "true": "green", "error": "bold yellow"}
LABELS = 12
"""At most so many labels of one enabled action are shown."""


def render(explanation: Explanation, console: Console) -> None:
    """Print an explanation to `console`, in its width; a diagram is whole where long lines stay as they are."""
    hanging(console, "", headline(explanation))
    hanging(console, "", Text(rules_line(explanation), style="dim"))
    for text in summary(explanation):
        hanging(console, "", Text(text))
    if explanation.findings:
        _failing(explanation, console)
    if explanation.diagram is not None:
        _title(console, "what happened" if explanation.sliced is None else "the steps that it depends on")
        if explanation.sliced is not None:
            hanging(console, "  ", Text(sliced_sentence(explanation.sliced)))
        _draw(explanation.diagram, console)
        console.print(Text(diagram.LEGEND, style="dim"))
    if explanation.shrunk is not None:
        _shrunk(explanation.shrunk, console)


def headline(explanation: Explanation) -> Text:
    """Trace and verdict in one line."""
    line = Text(f"trace {explanation.trace} ({explanation.source}): ")
    style = {"fail": "bold red", "pass": "bold green", "undecided": "bold yellow"}[explanation.verdict]
    line.append(explanation.verdict.upper(), style=style)
    if explanation.verdict == "fail":
        line.append(f" at step {explanation.findings[0].step} of {explanation.steps}")
    else:
        line.append(f", {explanation.steps} steps")
    return line


def rules_line(explanation: Explanation) -> str:
    """By which rules the trace was judged."""
    rules = f"without {', '.join(explanation.without)}" if explanation.without else "with all its rules in force"
    return f"judged by {explanation.spec} {rules}"


def summary(explanation: Explanation) -> Iterator[str]:
    """The summary in sentences, before any detail."""
    if explanation.verdict == "undecided":
        yield f"It cannot be decided: {explanation.reason}."
    if explanation.verdict == "pass":
        yield "Every step is a step of the action it names, and no property falls: there is nothing to explain."
    if explanation.verdict == "fail":
        first = ", ".join(finding.headline for finding in explanation.first)
        yield f"It fails first at step {explanation.findings[0].step}: {first}."
        if explanation.later:
            later = "; ".join(f"{finding.headline} (step {finding.step})" for finding in explanation.later)
            yield f"Later it fails as well: {later}."
        named = dict.fromkeys(name for finding in explanation.findings for name in finding.anomalies)
        if named:
            yield f"A client's history may show: {', '.join(named)}."


def verdict_sentences(explanation: Explanation) -> Iterator[str]:
    """Sentences on the changes that the specification would have allowed."""
    step = explanation.step
    if step is None or not explanation.findings or explanation.findings[0].kind != "not-a-step":
        return
    if explanation.allowed:
        yield f"The same change would be allowed as {', or '.join(explanation.allowed)}."
    elif step.kind == "step":
        yield "No action of the specification, with any parameters, makes this change in this state."
    if explanation.allowed_without:
        rules = ", or without ".join(" and ".join(together) for together in explanation.allowed_without)
        yield f"Without {rules} it would be a step of {step.action}."


def finding_title(finding: Finding, later: bool) -> str:
    """The title over the reasons of one finding."""
    if finding.kind == "not-initial":
        return "why its first state does not satisfy Init"
    said = finding.headline if finding.kind == "not-a-step" else f"{finding.headline} is violated"
    why = f"why it is {said}" if finding.kind == "not-a-step" else f"why {said}"
    return f"later, at step {finding.step}: {why}" if later else why


def state_title(explanation: Explanation) -> str:
    """The title over the state."""
    if explanation.step is not None:
        return f"the state before it (step {explanation.step.number - 1})"
    return "the first state" if explanation.findings[0].step == 0 else "the last state"


def enabled_title(explanation: Explanation) -> str:
    """The title over the enabled actions."""
    total = sum(group.count for group in explanation.enabled)
    return f"what could have happened {'instead' if explanation.step is not None else 'next'} ({total:,} enabled)"


def _failing(explanation: Explanation, console: Console) -> None:
    step = explanation.step
    if step is not None:
        _title(console, f"step {step.number}")
        line = Text(f"{step.node}  " if step.node else "")
        line.append(step.label, style="bold")
        line.append({"blocked": "   (blocked by a rule)", "stutter": "   (no action)"}.get(step.kind, ""), style="dim")
        hanging(console, "  ", line)
        columns(console, "    ", [_change(change) for change in step.changes])
        if not step.changes:
            console.print(Text("    changes nothing", style="dim"))
    for finding in explanation.first:
        _finding(finding, console, False)
        if finding.kind == "not-a-step":
            for sentence in verdict_sentences(explanation):
                hanging(console, "  ", Text(sentence))
    if explanation.state:
        _title(console, state_title(explanation))
        columns(console, "  ", [row for variable in explanation.state for row in _variable(variable)])
        if explanation.folded:
            hanging(console, "  ", Text(f"not shown: {', '.join(explanation.folded)}", style="dim"))
    if explanation.verdict == "fail":
        _enabled(explanation, console)
    for finding in explanation.later:
        _finding(finding, console, True)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline" if console.is_terminal else ""))


def _draw(drawn: Diagram, console: Console) -> None:
    whole = console.soft_wrap
    for line in diagram.lines(drawn, sys.maxsize if whole else console.width):
        console.print(line, no_wrap=True, overflow="ignore" if whole else "ellipsis", crop=not whole)


def _change(change: Change) -> tuple[Text, Text]:
    if change.how == "set":
        what = Text.assemble((change.old, "red"), (" -> ", "dim"), (change.new, "green"))
    else:
        what = Text(f"+ {change.new}", style="green") if change.new else Text(f"- {change.old}", style="red")
        what.append(f"  ({change.how})" if change.how in ("appended", "truncated") else "", style="dim")
    return Text(change.unit, style="dim" if change.ghost else ""), what


def _finding(finding: Finding, console: Console, later: bool) -> None:
    _title(console, finding_title(finding, later))
    reason_lines(finding.reason, console, "  ")


def reason_lines(reason: Reason, console: Console, margin: str) -> None:
    """Print a chain of reasons: operator, place, outcome, formula, bindings, values; then the parts that decide,
    further in."""
    head = Text(reason.outcome.upper(), style=OUTCOMES[reason.outcome])
    if reason.operator:
        head.append(f"  {reason.operator}", style="bold not green")
    if reason.place:
        head.append(f"  {reason.place}", style="cyan not bold")
    hanging(console, margin, head)
    inner = margin + "  "
    if reason.text and reason.text != reason.operator:
        hanging(console, inner, Text(reason.text, style="italic"))
    if reason.bindings:
        hanging(console, inner, Text("with ") + _pairs(reason.bindings))
    if reason.note:
        hanging(console, inner, Text(reason.note))
    for shown in reason.values:
        hanging(console, inner + "  ", _pairs([shown]))
    for part in reason.because:
        reason_lines(part, console, inner)


def _pairs(shown: Sequence[Shown]) -> Text:
    text = Text()
    for number, one in enumerate(shown):
        text.append(", " if number else "")
        text.append(one.name)
        text.append(" = ", style="dim")
        text.append(one.value, style="green")
    return text


def _variable(variable: Variable) -> Iterator[tuple[Text, Text]]:
    style = "dim" if variable.ghost else ""
    for number, unit in enumerate(variable.units):
        name = f"{variable.name if number == 0 else ' ' * len(variable.name)}{unit.name}"
        yield Text(name, style=style), Text(unit.value)


def _enabled(explanation: Explanation, console: Console) -> None:
    _title(console, enabled_title(explanation))
    for group in explanation.enabled:
        more = group.count - LABELS
        hanging(console, "  ", Text(", ".join(group.labels[:LABELS]) + (f", ... {more:,} more" if more > 0 else "")))
    if not explanation.enabled:
        console.print(Text("  nothing: no action is enabled in this state"))


def _shrunk(shrunk: Shrunk, console: Console) -> None:
    if shrunk.diagram is None:
        console.print()
        hanging(console, "", Text(shrunk.note, style="dim"))
        return
    _title(console, "the smallest run that fails in the same way")
    if shrunk.note:
        hanging(console, "  ", Text(shrunk.note))
    hanging(console, "  ", Text(shrunk_sentence(shrunk)))
    if shrunk.kept:
        hanging(console, "    ", Text(", ".join(shrunk.kept)))
    _draw(shrunk.diagram, console)


def sliced_sentence(sliced: Sliced) -> str:
    """The number of steps left out, and the facts known of the others."""
    before = len(sliced.kept) - 1
    steps = f"{counted(before, 'step')} before it {'leads' if before == 1 else 'lead'}" if before else "It alone leads"
    return (
        f"{steps} to the same failure, of the same values, without the others; "
        f"{counted(sliced.left_out, 'step')} before it {'is' if sliced.left_out == 1 else 'are'} left out "
        "(--all draws the whole trace)."
    )


def shrunk_sentence(shrunk: Shrunk) -> str:
    """How much smaller the shrunk run is, before the decisions that are left, if any."""
    end = ":" if shrunk.decisions else "."
    return (
        f"{shrunk.decisions} of {shrunk.decisions_before} decisions (the simulator's choices of what happens next) and "
        f"{shrunk.steps} of {shrunk.steps_before} steps are enough (found by {shrunk.runs} simulations){end}"
    )
