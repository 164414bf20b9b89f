"""An audit's result for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance.audit.result import AuditResult, Shares
from tidemark_conformance.report.paragraphs import counted

EXAMPLE = "e.g. trace"
"""The column of one trace of many, the first by its number (`result.by_number`)."""
CHECKERS = "in a client's history"
"""The column of the names that history checkers have for a fall (spec/anomalies.toml)."""
REMOVED = "removed"
"""The text in place of the counts of a rule that is not in force."""


def render(result: AuditResult, console: Console, whole_s: float | None = None) -> None:
    """Print verdicts, failures, undecided traces and coverage to `console` (plain text where it is no terminal).

    `whole_s`: the command's seconds with Spark's start, which the result's own leave out; None: not told.
    """
    console.print(headline(result, whole_s))
    console.print(_baseline(result))
    if result.stepless:
        console.print(_stepless(result))
    if result.checked.get("quiescence"):
        console.print(_quiescence(result))
    if result.failures:
        console.print(_failures(result))
    if result.undecided:
        console.print(_undecided(result))
        if result.max_undecided:
            verdict = "more than allowed" if result.undecided_too_many else "allowed"
            console.print(Text(f"undecided traces: {verdict} (--max-undecided {result.max_undecided})", style="yellow"))
    for example, detail in _details(result):
        console.print(Text(f"{example}: {detail}"), soft_wrap=True)
    console.print(_coverage("action", ("taken", "blocked"), result.actions))
    if result.rules:
        console.print(_coverage("rule", ("true", "false"), result.rules, frozenset(result.without)))
    if result.shares is not None:
        for told in shares(result.shares):
            console.print(told)
    for line in result.not_checked:
        console.print(Text(f"not checked: {line}", style="yellow"))
    if result.oracle.replayed or result.oracle.note:
        replayed = counted(result.oracle.replayed, "trace")
        console.print(
            Text(f"TLC replayed {replayed}, {len(result.oracle.disagreements)} disagreements")
            + Text(f" ({result.oracle.note})" if result.oracle.note else "")
        )
        for sentence in result.oracle.disagreements:
            console.print(Text(f"  {sentence}", style="bold red"))


def headline(result: AuditResult, whole_s: float | None) -> Text:
    """How much was judged, how fast, and how many traces of each verdict; `whole_s` as for `render`."""
    undecided = sum(group.traces for group in result.undecided)
    rate = result.steps / result.seconds if result.seconds > 0 else 0.0
    line = Text(f"{result.spec}: {counted(result.traces, 'trace')}, {result.steps:,} steps in {result.seconds:.1f} s ")
    line.append(f"({rate / 1e6:.2f} million steps/s" if rate >= 1e5 else f"({rate:,.0f} steps/s")
    line.append(f"; {whole_s:.1f} s with start-up)   " if whole_s is not None else ")   ")
    line.append(f"PASS {result.passed:,}", style="green")
    line.append("   ")
    line.append(f"FAIL {result.failed:,}", style="bold red" if result.failed else "")
    line.append("   ")
    line.append(f"UNDECIDED {undecided:,}", style="yellow" if undecided else "")
    return line


def _baseline(result: AuditResult) -> Text:
    named = f" ({result.baseline})" if result.baseline else ""
    if not result.without:
        return Text(f"judged by the specification with all its rules in force{named}")
    return Text(f"judged by the specification without {', '.join(result.without)}{named}", style="bold")


def _stepless(result: AuditResult) -> Text:
    return Text(
        f"{counted(result.stepless, 'trace')} took no step: there a PASS speaks of the initial state and of blocked "
        "attempts alone",
        style="bold yellow",
    )


def _quiescence(result: AuditResult) -> Text:
    judges = ", ".join(result.checked["quiescence"])
    return Text(f"at rest at the end, by its own word: {counted(result.quiescent, 'trace')}, judged by {judges}")


def _failures(result: AuditResult) -> Table:
    table = _table("first failures of every check")
    for title in ("kind", "name"):
        table.add_column(title)
    table.add_column("traces", justify="right")
    table.add_column(EXAMPLE)
    table.add_column("step", justify="right")
    named = [", ".join(failure.anomalies(result.spec)) for failure in result.failures]
    if any(named):
        table.add_column(CHECKERS)
    for failure, names in zip(result.failures, named, strict=True):
        trace, step = failure.examples[0]
        name, example = Text(failure.name, style="red"), Text(trace)
        table.add_row(failure.kind, name, f"{failure.traces:,}", example, str(step), *([names] if any(named) else []))
    return table


def _undecided(result: AuditResult) -> Table:
    table = _table("undecided")
    table.add_column("reason")
    table.add_column("traces", justify="right")
    table.add_column(EXAMPLE)
    for group in result.undecided:
        table.add_row(Text(group.reason, style="yellow"), f"{group.traces:,}", Text(group.examples[0]))
    return table


def shares(told: Shares) -> list[Text]:
    """Lines that separate observed from computed variables, and say how much a PASS means where nothing was
    observed."""
    lines = [Text(f"computed from Init by the actions' updates: {', '.join(told.hidden)}")] if told.hidden else []
    if told.carried:
        lines.append(Text(f"told by every record: {', '.join(told.carried)}"))
    for name, records in told.told.items():
        share = f"{told.share(name):.1%} of {counted(told.records, 'record')}"
        lines.append(Text(f"observed: {name} in {share}", style="" if records else "bold yellow"))
    if told.silent:
        lines.append(
            Text(
                f"{counted(told.silent, 'trace')} observed nothing of any state: there a PASS says only that the "
                "claimed actions can follow each other, and that the checks hold of the computed states",
                style="bold yellow",
            )
        )
    return lines


def _details(result: AuditResult) -> list[tuple[str, str]]:
    """The values beyond a limit, each with the trace that shows it."""
    failing = [(f"{one.examples[0][0]}, step {one.examples[0][1]}", one.detail) for one in result.failures]
    return [pair for pair in (*failing, *((one.examples[0], one.detail) for one in result.undecided)) if pair[1]]


def _coverage(
    what: str, sides: tuple[str, str], counts: dict[str, tuple[int, int]], removed: frozenset[str] = frozenset()
) -> Table:
    table = _table(f"coverage of {what}s")
    table.add_column(what)
    for side in sides:
        table.add_column(side, justify="right")
    for name, pair in counts.items():
        if name in removed:
            table.add_row(name, Text(REMOVED, style="bold"), "")
            continue
        table.add_row(name, *(Text(f"{number:,}", style="" if number else "dim") for number in pair))
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
