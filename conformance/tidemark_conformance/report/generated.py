"""Text that is generated: between markers in Markdown files, from manifest, zoo, specifications and real runs.

    <!-- begin: models (make docs) -->
    ...
    <!-- end: models -->

Every generator's output is sorted by something that does not change from run to run. Its only clock times are those
of the recorded runs of `make check` (closing.py), `tidemark agree` (agreed.py) and `tidemark bench` (speed.py). Hunts
of rows are recorded, too (hunted.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from tidemark.common.transitions import Table

from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import golden_file, golden_root
from tidemark_conformance.paths import CHECKOUT
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.registry.anomalies import glossary
from tidemark_conformance.report import agreed, closing, finds, floors, hunted, speed, stories
from tidemark_conformance.report.markdown import table
from tidemark_conformance.report.rowless import rules_without_row
from tidemark_conformance.tlc import manifest as manifests

_BLOCK = re.compile(
    r"(?P<begin><!-- begin: (?P<name>[\w-]+) \(make docs\) -->\n)(?P<body>.*?)(?P<end><!-- end: (?P=name) -->)",
    re.DOTALL,
)

Generator = Callable[[], str]


def rewrite(text: str, generators: dict[str, Generator], where: str, only: Iterable[str] | None = None) -> str:
    """The text with every block's body made anew (`only`: of these names). Unusable for a name without a generator."""
    chosen = None if only is None else frozenset(only)

    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in generators:
            raise Unusable(
                f"{where} asks for {name}, which nothing generates; choose from {', '.join(sorted(generators))}"
            )
        if chosen is not None and name not in chosen:
            return match[0]
        return f"{match['begin']}{generators[name]().rstrip()}\n{match['end']}"

    return _BLOCK.sub(replaced, text)


def blocks(file: Path) -> list[str]:
    """The names of the blocks of a file, in its order."""
    return [match["name"] for match in _BLOCK.finditer(file.read_text(encoding="utf-8"))]


def models() -> str:
    """The models of the manifest with their expected findings."""
    return table(
        ("model", "tier", "expected", "scope", "distinct states", "depth"),
        (
            (
                f"`{model.name}`",
                model.tier,
                "holds" if model.expected == "holds" else f"`{model.property}` falls",
                model.scope,
                f"{model.distinct:,}" if model.distinct else "",
                model.depth or "",
            )
            for model in manifests.load().models
            if model.kind != "zoo"
        ),
    )


def rows() -> str:
    """The rows of the zoo: the rules removed, the property that must fall, how deep TLC must look."""
    depths = {model.name: model.depth for model in manifests.load().models}
    return table(
        ("row", "flaw", "rules removed", "property that falls", "states in TLC's counterexample", "harm"),
        (
            (
                row.number,
                f"{row.id}: {row.summary}",
                " ".join(f"`{rule}`" for rule in row.rules),
                f"`{row.property}`",
                depths.get(row.model) or "excused",
                row.harm,
            )
            for row in zoo.rows()
        ),
    )


def rules(protocol: str) -> str:
    """A protocol's rows of the zoo, by the rules that each removes: the harm without them, and the property that
    falls. Rules that no row removes come last."""
    own = [row for row in zoo.rows() if row.protocol == protocol]
    told = [(row.rules, row.summary, _linked(row), f"`{row.property}`") for row in own]
    told += rules_without_row(protocol)
    return table(
        ("rule", "without it", "row", "property that falls"),
        ((", ".join(f"`{rule}`" for rule in removed), *rest) for removed, *rest in told),
    )


def _linked(row: zoo.Row) -> str:
    """A row's number and id, with a link from a protocol's page to its golden scenario."""
    name = f"{row.number}, {row.id}"
    scenario = golden_file(row)
    if not scenario.is_file():
        return name
    return f"[{name}](../../traces/golden/{scenario.relative_to(golden_root()).as_posix()})"


def _rules() -> dict[str, Generator]:
    """A block per protocol that has rows in the zoo: `rules-<protocol>`."""
    return {f"rules-{name}": partial(rules, name) for name in sorted({row.protocol for row in zoo.rows()})}


def documents(root: Path) -> list[Path]:
    """The Markdown files of a checkout that may have generated blocks or pictures, README.md first."""
    ahead = [root / name for name in ("README.md", "ARCHITECTURE.md", "DIVERGENCES.md")]
    return [*ahead, *sorted((root / "docs").rglob("*.md"))]


def anomalies() -> str:
    """The table of names that history checkers use, with the properties whose fall may show as each."""
    known = glossary()
    told: dict[str, list[str]] = {name: [] for name in known.names}
    for specification, properties in known.properties.items():
        for name in known.names:
            fallen = ", ".join(f"`{one}`" for one, names in properties.items() if name in names)
            told[name] += [f"{specification}: {fallen}"] if fallen else []
    return table(
        ("in a client's history", "meaning", "may show once one of these has fallen"),
        (
            (
                f"`{one.name}`",
                f"{one.meaning}; none if {one.unless}" if one.unless else one.meaning,
                "<br>".join(told[one.name]) or f"allowed: {one.allowed}",
            )
            for one in known.names.values()
        ),
    )


def make_check() -> str:
    """The closing table of the last recorded run of `make check`."""
    return closing.recorded(CHECKOUT / closing.RECORD)


def agree() -> str:
    """The table of the last recorded run of `tidemark agree`, or a sentence that none is recorded."""
    file = CHECKOUT / agreed.RECORD
    return (
        table(agreed.HEADER, agreed.rows(file)) if file.is_file() else f"No whole run is kept in `{agreed.RECORD}`.\n"
    )


def bench() -> str:
    """The measures of the last recorded benches."""
    return speed.recorded(CHECKOUT / speed.RECORD)


def hunt_rows() -> str:
    """The rows of the zoo that hunts were measured on."""
    return table(hunted.HEADER, hunted.rows(CHECKOUT / hunted.RECORD, (row.id for row in zoo.rows())))


def _machines() -> dict[str, Generator]:
    """Pictures of the protocols' state machines, from the tables that their coordinators and consumers run by."""
    known = [one.descriptor() for one in protocols.protocols().values() if one.implementation]
    return {name: partial(_machine, table) for one in known for name, table in one.machines.items()}


def _machine(transitions: Table) -> str:
    """A picture of a state machine, and its table."""
    edges = [(start.value, event.value, step.to.value, step.why) for (start, event), step in transitions.items()]
    picture = [f"    {start} --> {to}: {event}" for start, event, to, _ in edges]
    rows = table(("state", "event", "next state", "why"), edges)
    return "\n".join(["```mermaid", "stateDiagram-v2", *picture, "```", "", rows])


def cheap() -> dict[str, Generator]:
    """Generators that need neither Spark nor TLC; a test compares the documents' blocks with them."""
    return {
        "agree": agree,
        "floors": floors.table,
        "anomalies": anomalies,
        "bench": bench,
        "hunt-rows": hunt_rows,
        "make-check": make_check,
        "models": models,
        "zoo-rows": rows,
        **_machines(),
        **_rules(),
        **finds.blocks(CHECKOUT),
        **stories.blocks(),
    }
