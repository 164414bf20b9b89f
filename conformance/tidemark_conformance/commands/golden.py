"""`tidemark golden [ROW...]`: run the golden scenarios and rewrite their transcripts.

A scenario stands in `traces/golden/<protocol>/<row>.txt`: a story, and the events that drive its protocol's simulator.
Below a marker line this command writes the transcript, once with the row's rules removed and once with all rules in
force. It holds the scenario to its row. The right specification refuses a step of the flawed run. The specification
without the row's rules takes every step, while the row's property falls. Nothing of the run with all rules is flagged.
A diff of these files is read by a person.

A protocol takes part where the registry names its descriptor.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidemark_conformance.console.progress import progress
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import Stage, golden_file, golden_root
from tidemark_conformance.explain.golden import stage as stage_of
from tidemark_conformance.explain.judge import NOT_A_STEP
from tidemark_conformance.explain.load import Stored
from tidemark_conformance.implementation import compiled
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import protocol
from tidemark_conformance.report import document
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.simulate import simulators

MARKER = "# ---- what happened (make golden) ----"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A run judged by one specification.

    `damage`: why it must not be judged ("" if it may). `refused`: the first record that is not a step, with its label
    (None: all are). `fallen`: per property that fell its first record, with its label. `steps`: the records after the
    initial one.
    """

    damage: str
    refused: tuple[int, str] | None
    fallen: dict[str, tuple[int, str]]
    steps: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark golden`."""
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows of the zoo, by id or number (all)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")


def run(args: argparse.Namespace) -> int:
    """0; 1 when a row has no scenario, a scenario does not show its row, or (with --check) a file is not up to date."""
    compiled.avoid()
    console = document.console()
    if golden_root().parent.parent != CHECKOUT or not golden_root().is_dir():
        raise Unusable(f"{golden_root()} is no folder of a checkout; run this in a checkout of Tidemark")
    rows = zoo.select(args.rows) if args.rows else with_scenarios()
    if not rows:
        raise Unusable(f"the zoo has no rows, so there is nothing to run; give it some in {zoo.ZOO}")
    wrong = 0
    with progress("golden scenarios", "scenarios") as bar:
        for done, row in enumerate(rows):
            bar.update(done, len(rows))
            complaint = rewrite(row, golden_file(row), args.check)
            if complaint:
                wrong += 1
                console.print(f"{row.id}: {complaint}")
    console.print(f"{counted(len(rows), 'golden scenario')}, {wrong} not as they should be")
    return 1 if wrong else 0


def with_scenarios() -> list[zoo.Row]:
    """The rows that have a scenario: those of the protocols that can run one. A row whose traces show nothing may do
    without."""
    return [
        row
        for row in zoo.rows()
        if protocol(row.protocol).scripted and (not row.simulation.excused or golden_file(row).is_file())
    ]


def rewrite(row: zoo.Row, file: Path, check: bool) -> str:
    """Run a row's scenario and write its transcript (`check`: only compare). Returns the fault, "" if there is none."""
    if not file.is_file():
        return f"there is no scenario {file.name} in {file.parent}; write one"
    old = file.read_text(encoding="utf-8")
    text, complaint = rewritten(row, old)
    if complaint or text == old:
        return complaint
    if check:
        return "its transcript is not up to date; run make golden"
    file.write_text(text, encoding="utf-8")
    return ""


def rewritten(row: zoo.Row, old: str) -> tuple[str, str]:
    """A scenario's file with a new transcript, and "" if it shows its row; else the file as it is, and why it does not.

    Raises Unusable for a protocol without transcripts.
    """
    known = protocol(row.protocol)
    if not known.scripted:
        raise Unusable(f"the protocol {row.protocol} names no descriptor in its protocol.toml; add one")
    stage = stage_of(row.protocol)
    scenario = partial(simulators.transcript, known, stage.header)
    text = old.partition(MARKER)[0].rstrip()
    try:
        flawed, flawed_shown = scenario(text, row.rules)
        right, right_shown = scenario(text, ())
    except Unusable as problem:
        return old, str(problem)
    refused, conforming = verdict(stage, flawed, ()), verdict(stage, flawed, row.rules)
    clean = verdict(stage, right, ())
    complaint = _complaint(row, refused, conforming, clean)
    if complaint or refused.refused is None:
        return old, complaint
    shown = [
        MARKER,
        f"# Without {', '.join(row.rules)}:",
        *_commented(flawed_shown),
        *_commented(f"Not a step of the right specification: {_place(refused.refused)}."),
        *_commented(f"A step without {_these(row)}, as all are; {row.property} falls: {_falls(row, conforming)}."),
        "#",
        "# With all rules in force:",
        *_commented(right_shown),
        *_commented(f"{clean.steps} steps, nothing flagged."),
    ]
    return "\n".join([text, "", *shown]) + "\n", ""


def verdict(stage: Stage, stream: bytes, without: Collection[str]) -> Verdict:
    """Judge one delta stream by the stage's specification without some rules."""
    _, trace, judgement = stage.judge(Stored("golden", stream, golden_root(), stage.header), without)
    found = {key: (number, trace.events[number].label) for key, number in judgement.first.items()}
    refused = found.pop((NOT_A_STEP, ""), None)
    return Verdict(
        judgement.reason, refused, {name: place for (_, name), place in found.items()}, len(trace.events) - 1
    )


def _complaint(row: zoo.Row, refused: Verdict, conforming: Verdict, clean: Verdict) -> str:
    """The reason why a scenario does not show its row."""
    damage = refused.damage or conforming.damage or clean.damage
    if damage:
        return f"its trace cannot be judged: {damage}"
    if refused.refused is None:
        return "every step of the flawed run is one of the right specification"
    if conforming.refused is not None:
        return f"{_place(conforming.refused)} is no step without {_these(row)} either"
    if row.property not in conforming.fallen:
        fallen = ", ".join(sorted(conforming.fallen)) or "nothing"
        return f"{row.property} does not fall without {_these(row)}; what falls: {fallen}"
    if clean.refused is not None:
        return f"with all rules in force {_place(clean.refused)} is not a step"
    if clean.fallen:
        name, place = min(clean.fallen.items(), key=lambda item: item[1][0])
        return f"with all rules in force {name} falls: {_place(place)}"
    return ""


def _falls(row: zoo.Row, conforming: Verdict) -> str:
    return _place(conforming.fallen[row.property])


def _these(row: zoo.Row) -> str:
    return "the rule" if len(row.rules) == 1 else "the rules"


def _place(found: tuple[int, str]) -> str:
    return f"step {found[0]}, {found[1]}"


def _commented(text: str) -> list[str]:
    return [f"#   {line}".rstrip() for line in text.splitlines()]
