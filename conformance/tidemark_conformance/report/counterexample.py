"""TLC's counterexample for people: the initial state whole, then each step by its action and its changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.text import Text

from tidemark_conformance.explain.text import changes, value_text
from tidemark_conformance.report.diagram import change_text
from tidemark_conformance.tlc.runner import Step, TlcResult
from tidemark_conformance.tlc.values import to_tla

LABEL = 36
"""A label of a step that is wider pushes the rest aside."""


def label(step: Step) -> str:
    """The action of a step with its parameters, as far as TLC says them."""
    return f"{step.action or 'a step'}{step.parameters}"


def render(result: TlcResult, console: Console) -> None:
    """Prints the trace of a run that fell or could not go on; nothing if there is none."""
    if not result.trace:
        return
    first, *_ = result.trace
    console.print(Text("   0  the initial state", style="bold"))
    for name, value in first.state.items():
        _line(console, Text(f"        {name} = {value_text(value)}", style="dim"))
    wide = min(LABEL, max((len(label(step)) for step in result.trace[1:]), default=0))
    for number, (before, after) in enumerate(pairwise(result.trace), 1):
        changed = "; ".join(_changed(before, after)) or "nothing changes"
        line = Text(f"  {number:>2}  ", style="bold")
        line.append(f"{label(after):{wide}}  ", style="not bold")
        line.append(changed, style="dim not bold")
        _line(console, line)
    if result.loop is not None and result.loop == len(result.trace) - 1:
        console.print(Text("  and so it stays for ever", style="dim"))
    elif result.loop is not None:
        console.print(Text(f"  and so on for ever from the state after step {result.loop}", style="dim"))


def _changed(before: Step, after: Step) -> Iterator[str]:
    """The changes of a step. Where an ALIAS shows other things each time, the whole state is shown."""
    if before.state.keys() == after.state.keys():
        yield from (change_text(change) for change in changes(before.state, after.state))
    else:
        yield from (f"{name} = {value_text(value)}" for name, value in after.state.items())


def _line(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, no_wrap=True, crop=False, overflow="ignore")


def as_document(result: TlcResult) -> dict[str, Any]:
    """The trace for a JSON document: per state the action that led to it and its variables as TLA+ text."""
    return {
        "loop": result.loop,
        "states": [
            {
                "action": step.action,
                "parameters": step.parameters,
                "variables": {name: to_tla(value) for name, value in step.state.items()},
            }
            for step in result.trace
        ],
    }
