"""A rule's card, and the list of all rules, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tidemark_conformance.explain.asking import Ask
from tidemark_conformance.explain.card import Card, Counterexample, Flagged, Listed, PythonRule
from tidemark_conformance.explain.source import Line
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.anomalies import anomalies
from tidemark_conformance.report.diagram import change_text
from tidemark_conformance.report.explanation import reason_lines
from tidemark_conformance.report.paragraphs import columns, hanging

LABEL = 36
"""A label of a counterexample's step that is wider pushes the rest aside."""


def render_list(rules: Sequence[Listed], console: Console) -> None:
    """Of every rule its name, the zoo rows that remove it, and the harm without it. The harm has the sentence before it
    where it refers to that. Lines are wrapped at a terminal's edge; elsewhere each rule has one line."""
    console.print(Text(f"rule - what goes wrong without it (rows of {zoo.ZOO} before it)", style="bold"))
    console.print(Text("`tidemark rule NAME` shows the whole comment above a rule, and its formula", style="dim"))
    for specification in dict.fromkeys(rule.of for rule in rules):
        console.print()
        console.print(Text(specification, style="bold"))
        chosen = [rule for rule in rules if rule.of == specification]
        rows = [(Text(rule.name), _said(rule)) for rule in chosen]
        if console.is_terminal:
            columns(console, "  ", rows)
            continue
        wide = max(len(name) for name, _ in rows)
        for name, said in rows:
            console.print(Text(f"  {name.plain:{wide}}  ") + said, no_wrap=True, crop=False, overflow="ignore")


def _said(rule: Listed) -> Text:
    text = Text(f"{', '.join(rule.rows)}: " if rule.rows else "", style="cyan")
    return text.append(rule.told or f"({rule.place})", style="dim not cyan")


def render_texts(card: Card, console: Console) -> None:
    """The upper part of a card, which needs no run: specification, Python, the functions that ask, zoo."""
    head = Text(card.name, style="bold")
    head.append(f"  a rule of {card.home.protocol}", style="dim not bold")
    console.print(head)
    _title(console, "specification")
    _code(console, card.definition)
    for operator, line in card.uses:
        console.print(Text(f"  in {operator}:" if operator else "  used:", style="dim"))
        _code(console, [line])
    if card.actions:
        hanging(console, "  ", Text(f"asked by {_listed('the action', card.actions)}", style="dim"))
    if card.python is not None:
        _python(console, "Python", card.python)
    if card.asks:
        _title(console, "asked by")
    for ask in card.asks:
        _ask(console, ask)
    for flaw in card.flaws:
        _python(console, "Python, flawed", flaw)
    for row in card.rows:
        _row(console, row, anomalies(card.home.specification.module.name, [row.property]))


def render_runs(card: Card, console: Console) -> None:
    """The lower part: counterexample and flagged step, where the card has them, and the notes."""
    for found in card.counterexamples:
        _counterexample(console, found)
    for flagged in card.flagged:
        _flagged(console, flagged)
    if card.notes:
        console.print()
    for note in card.notes:
        hanging(console, "", Text(note, style="dim"))


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold underline" if console.is_terminal else ""))


def _code(console: Console, lines: Sequence[Line]) -> None:
    wide = max((len(line.place) for line in lines), default=0)
    for line in lines:
        text = Text(f"  {line.place:{wide}}  ", style="cyan")
        comment = line.text.lstrip().startswith("\\*")
        text.append(line.text, style="green not cyan" if comment else "not cyan")
        text.rstrip()
        console.print(text, no_wrap=True, crop=False, overflow="ignore")


def _python(console: Console, title: str, rule: PythonRule) -> None:
    _title(console, title)
    console.print(Text(f"  {rule.place}", style="cyan"))
    for line in rule.text.splitlines():
        console.print(Text(f"    {line}".rstrip()), no_wrap=True, crop=False, overflow="ignore")


def _ask(console: Console, ask: Ask) -> None:
    """A function that asks the rule, and its lines around the question; where some are left out stands a gap."""
    head = Text(f"  {ask.place}", style="cyan")
    head.append(f"  {ask.function}", style="bold not cyan")
    if ask.handlers:
        head.append(f", for {', '.join(ask.handlers)}", style="dim not cyan")
    console.print(head, no_wrap=True, crop=False, overflow="ignore")
    margin = min(len(line.text) - len(line.text.lstrip()) for line in ask.lines if line.text.strip())
    wide = max(len(str(line.number)) for line in ask.lines)
    before = ask.lines[0].number - 1
    for line in ask.lines:
        if line.number != before + 1:
            console.print(Text(f"    {'':{wide}}  ...", style="dim"))
        before = line.number
        text = Text(f"    {line.number:>{wide}}  ", style="cyan")
        text.append(line.text[margin:].rstrip(), style="not cyan")
        text.rstrip()
        console.print(text, no_wrap=True, crop=False, overflow="ignore")


def _listed(one: str, names: Sequence[str]) -> str:
    """`the action A`, or `the actions A, B`."""
    return f"{one}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _row(console: Console, row: zoo.Row, names: Sequence[str]) -> None:
    _title(console, f"zoo row {row.number}, {row.id}")
    if row.summary:
        hanging(console, "  ", Text(row.summary))
    without = ", ".join(row.rules)
    falls = f"Without {without} the property {row.property} falls"
    hanging(console, "  ", Text(f"{falls}{f' in {row.model}' if row.model else ''}."))
    if names:
        hanging(console, "  ", Text(f"A client's history may show: {', '.join(names)}."))
    if row.excused:
        hanging(console, "  ", Text(f"Excused: {row.excused}"))


def _counterexample(console: Console, found: Counterexample) -> None:
    _title(console, f"shortest counterexample ({found.row})")
    if found.note:
        hanging(console, "  ", Text(found.note))
        return
    said = f"{found.property} falls after {len(found.steps)} steps"
    console.print(Text(f"  {said}{' (from the verdict cache)' if found.cached else ''}:", style="dim"))
    wide = min(LABEL, max(len(step.label) for step in found.steps))
    for step in found.steps:
        changed = sorted((change_text(change) for change in step.changes if not change.ghost), key=len)
        line = Text(f"  {step.number:>2}  {step.label:{wide}}  ")
        line.append("; ".join(changed), style="dim")
        if console.is_terminal:
            line.truncate(console.width, overflow="ellipsis")
        line.rstrip()
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    if found.loop is not None:
        console.print(Text(f"  and so on for ever from the state after step {found.loop}", style="dim"))


def _flagged(console: Console, flagged: Flagged) -> None:
    _title(console, f"first flagged step: {flagged.source}")
    if flagged.note:
        hanging(console, "  ", Text(flagged.note))
        return
    hanging(console, "  ", Text(f"step {flagged.step}  {flagged.label}: {flagged.headline}"))
    if flagged.reason is not None:
        reason_lines(flagged.reason, console, "  ")
