"""The kill matrix for people and for machines: rows of the zoo against TLC and against the audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tidemark_conformance.registry.zoo import Row
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.verify.clean import CleanRun, found_by_clients
from tidemark_conformance.verify.matrix import Killed


@dataclass(frozen=True, slots=True)
class Unflawed:
    """The findings in a protocol's unflawed traces.

    `traces`: how many were audited. `flags`: how many did not pass. `by_clients`: errors found by the simulator's own
    clients, a sentence each.
    """

    traces: int
    flags: int
    by_clients: Sequence[str] = ()

    @classmethod
    def of(cls, run: CleanRun) -> Unflawed:
        """Of an audited run; a trace that is undecided did not pass either."""
        result = run.result
        return cls(result.traces, result.traces - result.passed, tuple(found_by_clients(run.run)))

    @property
    def ok(self) -> bool:
        """Not a flag, and no client complains."""
        return not self.flags and not self.by_clients


@dataclass(frozen=True, slots=True)
class Matrix:
    """All that is known of the rows.

    `models`: TLC's outcome of each row's model (None: no model). `traces`: the verdicts on the flawed traces. `clean`:
    per protocol the counts of the unflawed traces (empty if this run audited none).
    """

    rows: Sequence[Row]
    models: Mapping[str, Outcome | None]
    traces: Mapping[str, Killed]
    clean: Mapping[str, Unflawed]
    seconds: float

    def killed_by_tlc(self, row: Row) -> bool:
        """TLC found the row's property violated without its rules."""
        outcome = self.models[row.id]
        return outcome is not None and outcome.ok and outcome.result.property == row.property

    def row_ok(self, row: Row) -> bool:
        """As expected on both sides: killed, or excused where it is not."""
        spec = bool(row.excused) if not self.killed_by_tlc(row) else not row.excused
        return spec and self.traces[row.id].ok

    @property
    def ok(self) -> bool:
        """Every row as expected, and nothing wrong with the unflawed traces."""
        return bool(self.rows) and all(map(self.row_ok, self.rows)) and all(one.ok for one in self.clean.values())

    def document(self) -> dict[str, Any]:
        """The document `tidemark.zoo/1`."""
        return {
            "schema": "tidemark.zoo/1",
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "clean": {
                name: {"traces": one.traces, "flags": one.flags, "by_clients": list(one.by_clients)}
                for name, one in self.clean.items()
            },
            "rows": [self._row(row) for row in self.rows],
        }

    def _row(self, row: Row) -> dict[str, Any]:
        outcome, killed = self.models[row.id], self.traces[row.id]
        return {
            "id": row.id,
            "number": row.number,
            "protocol": row.protocol,
            "rules": list(row.rules),
            "property": row.property,
            "harm": row.harm,
            "summary": row.summary,
            "ok": self.row_ok(row),
            "spec": {
                "killed": self.killed_by_tlc(row),
                "property": outcome.result.property if outcome else None,
                "depth": outcome.result.depth if outcome else None,
                "seconds": round(outcome.result.seconds, 3) if outcome else None,
                "cached": outcome.cached if outcome else None,
            },
            "traces": {
                "killed_by_property": killed.by_property > 0,
                "killed_by_step": killed.by_step > 0,
                "conforms_without_rules": killed.strange == 0,
                "simulated": killed.simulated,
                "property_falls_in": killed.by_property,
                "not_a_step_in": killed.by_step,
                "first_failure": killed.first or None,
                "first_step": killed.first_step,
                "undecided": killed.undecided,
                "facts": dict(killed.facts),
                "seconds": round(killed.seconds, 3),
            },
            "excused": " ".join(part for part in (row.excused, row.simulation.excused) if part) or None,
        }


def render(matrix: Matrix, console: Console) -> None:
    """Print the matrix, why a row is excused, every row that is not as expected, and the complaints about the unflawed
    traces."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("row", "rules removed", "property that falls"):
        table.add_column(title)
    table.add_column("TLC: depth", justify="right")
    table.add_column("traces", justify="right")
    table.add_column("property falls", justify="right")
    table.add_column("no step", justify="right")
    table.add_column("conforms")
    for row in matrix.rows:
        outcome, killed = matrix.models[row.id], matrix.traces[row.id]
        ok = matrix.row_ok(row)
        table.add_row(
            Text(f"{row.number} {row.id}", style="" if ok else "bold red"),
            "\n".join(row.rules),
            row.property,
            str(outcome.result.depth)
            if outcome and matrix.killed_by_tlc(row)
            else ("excused" if row.excused else "SURVIVES"),
            f"{killed.simulated:,}",
            f"{killed.by_property:,}" if killed.by_property else ("excused" if row.simulation.excused else "SURVIVES"),
            f"{killed.by_step:,}" if killed.by_step else "SURVIVES",
            "yes" if not killed.strange else f"NO ({killed.strange:,})",
        )
    console.print(table)
    for row in matrix.rows:
        if row.excused:
            console.print(f"{row.number} {row.id} is excused from TLC: {row.excused}")
        if row.simulation.excused:
            console.print(f"{row.number} {row.id} is excused from the traces: {row.simulation.excused}")
        if not matrix.row_ok(row):
            console.print(Text(f"{row.number} {row.id} is not as expected: {_why(matrix, row)}", style="bold red"))
    for name, one in matrix.clean.items():
        flagged = [f"{one.flags:,} of {one.traces:,} traces do not pass"] if one.flags else []
        for sentence in (*flagged, *one.by_clients):
            console.print(Text(f"{name}, unflawed: {sentence}", style="bold red"))
    good = sum(map(matrix.row_ok, matrix.rows))
    console.print(f"{good} of {len(matrix.rows)} rows as expected in {matrix.seconds:.1f} s")


def _why(matrix: Matrix, row: Row) -> str:
    outcome, killed = matrix.models[row.id], matrix.traces[row.id]
    reasons = []
    if not matrix.killed_by_tlc(row) and not row.excused:
        reasons.append(_not_by_tlc(row, outcome))
    if matrix.killed_by_tlc(row) and row.excused:
        reasons.append("TLC reaches it, so its excuse is stale")
    if killed.strange:
        reasons.append(f"{killed.strange} traces do not conform without the row's rules")
    if killed.undecided:
        reasons.append(f"{killed.undecided} traces are undecided")
    if not killed.simulated:
        reasons.append("nothing was simulated")
    elif not killed.ok and not killed.strange and not killed.undecided:
        reasons.append(_not_by_traces(killed))
    return "; ".join(reasons) or "unknown"


def _not_by_traces(killed: Killed) -> str:
    if not killed.row.simulation.excused:
        return "no trace shows it"
    if killed.by_property:
        return "the traces show it although it is excused"
    return "no trace has a wrong step, so the flaw may not be there"


def _not_by_tlc(row: Row, outcome: Outcome | None) -> str:
    if outcome is None:
        return f"its model {row.model} is not in the manifest" if row.model else "it names no model"
    return f"{row.model}: " + ("; ".join(outcome.problems) or f"{outcome.result.property} fell")
