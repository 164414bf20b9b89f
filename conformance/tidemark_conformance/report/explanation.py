"""An explanation for people: text in a terminal (plain where it is none)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tidemark_conformance.explain.record import Change, Explanation, Finding, Reason, Shown, Shrunk, Variable
from tidemark_conformance.report import diagram

OUTCOMES = {"false": "bold red", "true": "green", "error": "bold yellow"}
LABELS = 12
"""At most so many labels of one enabled action are shown."""


def render(explanation: Explanation, console: Console) -> None:
    """Print an explanation to `console`, in its width."""
    console.print(headline(explanation))
    console.print(Text(rules_line(explanation), style="dim"))
    for text in summary(explanation):
        console.print(Text(text))
    if explanation.findings:
        _failing(explanation, console)
    if explanation.diagram is not None:
        _title(console, "what happened")
        for line in diagram.lines(explanation.diagram, console.width):
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
        console.print(Text(diagram.LEGEND, style="dim"))
    if explanation.shrunk is not None:
        _shrunk(explanation.shrunk, console)


def headline(explanation: Explanation) -> Text:
    """Trace and verdict in one line."""
    line = Text(f"trace {explanation.trace} ({explanation.source}): ")
    style = {"fail": "bold red", "pass": "bold green", "undecided": "bold yellow"}[explanation.verdict]
    line.append(explanation.verdict.upper(), style=style)
    if explanation.findings:
        line.append(f" at step {explanation.findings[0].step} of {explanation.steps}")
    else:
        line.append(f", {explanation.steps} steps")
    return line


def rules_line(explanation: Explanation) -> str:
    """By which rules the trace was judged."""
    rules = f"without {', '.join(explanation.without)}" if explanation.without else "with all its rules in force"
    return f"judged by {explanation.spec} {rules}"


def summary(explanation: Explanation) -> Iterator[str]:
    """What can be said in sentences, before any detail."""
    if explanation.verdict == "undecided":
        yield f"It cannot be decided: {explanation.reason}."
    if explanation.verdict == "pass":
        yield "Every step is a step of the action it names, and no property falls: there is nothing to explain."
    if explanation.findings:
        first = ", ".join(finding.headline for finding in explanation.first)
        yield f"It fails first at step {explanation.findings[0].step}: {first}."
        if explanation.later:
            later = "; ".join(f"{finding.headline} (step {finding.step})" for finding in explanation.later)
            yield f"Later it fails as well: {later}."


def verdict_sentences(explanation: Explanation) -> Iterator[str]:
    """What the specification would have allowed."""
    step = explanation.step
    if step is None or not explanation.findings or explanation.findings[0].kind != "not-a-step":
        return
    if explanation.allowed_without:
        rules = ", or without ".join(explanation.allowed_without)
        yield f"It would be a step of {step.action} without {rules}."
    if explanation.allowed:
        yield f"The same change would be allowed as {', or '.join(explanation.allowed)}."
    elif step.kind == "step":
        yield "No action of the specification, with any parameters, makes this change in this state."


def _failing(explanation: Explanation, console: Console) -> None:
    step = explanation.step
    if step is not None:
        _title(console, f"step {step.number}")
        line = Text(f"  {step.node}  " if step.node else "  ")
        line.append(step.label, style="bold")
        line.append({"blocked": "   (blocked by a rule)", "stutter": "   (no action)"}.get(step.kind, ""), style="dim")
        console.print(line)
        if step.changes:
            console.print(Padding(_changes(step.changes), (0, 0, 0, 4)))
        else:
            console.print(Text("    changes nothing", style="dim"))
    for finding in explanation.first:
        _finding(finding, console)
    for sentence in verdict_sentences(explanation):
        console.print(Text(f"  {sentence}"))
    if explanation.state:
        _title(console, f"the state before it (step {explanation.step.number - 1})" if step else "the state")
        console.print(Padding(_state(explanation.state), (0, 0, 0, 2)))
        if explanation.folded:
            console.print(Text(f"  not shown: {', '.join(explanation.folded)}", style="dim"))
    if step is not None:
        _enabled(explanation, console)
    for finding in explanation.later:
        _finding(finding, console, f"later, at step {finding.step}")


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline" if console.is_terminal else ""))


def _changes(changes: Sequence[Change]) -> Table:
    table = _grid()
    for change in changes:
        if change.how == "set":
            what = Text(change.old, style="red")
            what.append(" -> ", style="dim")
            what.append(change.new, style="green")
        else:
            what = Text(f"+ {change.new}", style="green") if change.new else Text(f"- {change.old}", style="red")
            what.append(f"  ({change.how})", style="dim")
        table.add_row(Text(change.unit, style="dim" if change.ghost else ""), what)
    return table


def _finding(finding: Finding, console: Console, prefix: str = "") -> None:
    said = f"why it is {finding.headline}" if finding.kind == "not-a-step" else f"why {finding.headline} is violated"
    _title(console, f"{prefix}: {said}" if prefix else said)
    for line in reason_lines(finding.reason):
        console.print(Padding(line, (0, 0, 0, 2)))


def reason_lines(reason: Reason, depth: int = 0) -> Iterator[Text]:
    """A chain of reasons as indented lines: operator and place, formula, bindings, values, then what decides."""
    margin = "  " * depth
    head = Text(margin)
    if reason.operator:
        head.append(reason.operator, style="bold")
        head.append("  ")
    head.append(reason.place, style="cyan")
    head.append("  " if reason.place else "")
    head.append(reason.outcome.upper(), style=OUTCOMES[reason.outcome])
    yield head
    inner = margin + "    "
    if reason.text and reason.text != reason.operator:
        yield _hanging(inner, Text(reason.text, style="italic"))
    if reason.bindings:
        yield _hanging(inner, Text("with ") + _pairs(reason.bindings, ", "))
    if reason.note:
        yield _hanging(inner, Text(reason.note))
    for shown in reason.values:
        yield _hanging(inner + "  ", _pairs([shown], ""))
    for part in reason.because:
        yield from reason_lines(part, depth + 1)


def _hanging(margin: str, text: Text) -> Text:
    return Text(margin) + text


def _pairs(shown: Sequence[Shown], separator: str) -> Text:
    text = Text()
    for number, one in enumerate(shown):
        text.append(separator if number else "")
        text.append(one.name)
        text.append(" = ", style="dim")
        text.append(one.value, style="green")
    return text


def _grid() -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _state(variables: Sequence[Variable]) -> Table:
    table = _grid()
    for variable in variables:
        for number, unit in enumerate(variable.units):
            name = Text(variable.name if number == 0 else "", style="dim" if variable.ghost else "")
            value = Text(f"{unit.name}: " if unit.name else "", style="dim")
            value.append(unit.value, style="")
            table.add_row(name, value)
    return table


def _enabled(explanation: Explanation, console: Console) -> None:
    total = sum(group.count for group in explanation.enabled)
    _title(console, f"what could have happened instead ({total} enabled)")
    table = _grid()
    for group in explanation.enabled:
        more = group.count - LABELS
        shown = ", ".join(group.labels[:LABELS]) + (f", ... {more} more" if more > 0 else "")
        table.add_row(Text("  "), Text(shown))
    console.print(table)
    if not explanation.enabled:
        console.print(Text("  nothing: no action is enabled in this state"))


def _shrunk(shrunk: Shrunk, console: Console) -> None:
    _title(console, "the smallest run that fails in the same way")
    if shrunk.diagram is not None:
        console.print(
            Text(
                f"  {shrunk.decisions} of {shrunk.decisions_before} decisions, {shrunk.steps} of {shrunk.steps_before} "
                f"steps, after {shrunk.runs} simulations"
            )
        )
        for decision in shrunk.kept:
            console.print(Text(f"    {decision}"))
    if shrunk.note:
        console.print(Text(f"  {shrunk.note}"))
    if shrunk.diagram is not None:
        for line in diagram.lines(shrunk.diagram, console.width):
            console.print(line, no_wrap=True, overflow="ellipsis", crop=True)
