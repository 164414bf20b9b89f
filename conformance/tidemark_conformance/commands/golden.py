"""`tidemark golden [ROW...]`: run the golden scenarios and rewrite their transcripts.

A scenario stands in `traces/golden/<row>.txt`, prose and events for its protocol's simulator. Below a marker line this
command writes what happened: with the row's rules removed, where the row's property must fall and every step must conform
to the specification without them, and with all rules in force. A diff of these files is read by a person.

The protocol takes part by `transcript = "package.module:function"` in `spec/protocols.toml`:
`function(header, text, without) -> (delta stream, transcript)`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console

from tidemark_conformance.check import zoo
from tidemark_conformance.check.protocols import protocols
from tidemark_conformance.check.specifications import with_rules_off
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.card import golden_root, registry, resolve
from tidemark_conformance.report.progress import progress
from tidemark_conformance.tla.kernels.runtime import NOT_A_STEP, compile_kernels
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.trace.schema import schema_of

MARKER = "# ---- what happened (make golden) ----"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark golden`."""
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows of the zoo, by id or number (all)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")


def run(args: argparse.Namespace) -> int:
    """0; 1 when a scenario does not show its row, or (with --check) a file is not up to date."""
    console = Console(highlight=False, soft_wrap=True)
    rows = [row for row in zoo.select(args.rows) if (golden_root() / f"{row.id}.txt").is_file()]
    if not rows:
        raise Unusable(f"{golden_root()} has no scenario of these rows; name a row that has one")
    wrong = 0
    with progress("golden scenarios") as bar:
        for done, row in enumerate(rows):
            bar.update(done, len(rows))
            file = golden_root() / f"{row.id}.txt"
            text, complaint = rewritten(row, file)
            stale = file.read_text(encoding="utf-8") != text
            if stale and not args.check:
                file.write_text(text, encoding="utf-8")
            if complaint or (stale and args.check):
                wrong += 1
                console.print(f"{row.id}: {complaint or 'its transcript is not up to date; run make golden'}")
    console.print(f"{len(rows)} golden scenarios, {wrong} not as they should be")
    return 1 if wrong else 0


def rewritten(row: zoo.Row, file: Path) -> tuple[str, str]:
    """The file's new text, and what is wrong with its scenario ("" if it shows what its row says)."""
    protocol = protocols()[row.protocol]
    entry = registry()[row.protocol]
    if "transcript" not in entry:
        raise Unusable(f"the protocol {row.protocol} names no transcript in spec/protocols.toml; add one")
    specification = load(protocol.spec, protocol.config)
    header = schema_of(specification).with_nodes(protocol.nodes()).to_json()
    scenario = resolve(entry["transcript"], row.protocol)
    text = file.read_text(encoding="utf-8").partition(MARKER)[0].rstrip()
    flawed, shown = scenario(header, text, row.rules)
    _, right = scenario(header, text, ())
    parts = [text, "", MARKER, f"# Without {', '.join(row.rules)}:", *_commented(shown)]
    parts += ["#", "# With all rules in force:", *_commented(right)]
    return "\n".join(parts) + "\n", _complaint(row, specification, flawed)


def _commented(text: str) -> list[str]:
    return [f"#   {line}".rstrip() for line in text.splitlines()]


def _complaint(row: zoo.Row, specification: Specification, stream: bytes) -> str:
    """What keeps a flawed scenario's trace from showing its row."""
    right = _first(with_rules_off(specification, frozenset()), stream)
    flawed = _first(with_rules_off(specification, frozenset(row.rules)), stream)
    if right[NOT_A_STEP] < 0:
        return "every step is one of the right specification"
    if flawed[NOT_A_STEP] >= 0:
        return f"step {flawed[NOT_A_STEP]} is none without the row's rules either"
    if flawed.get(row.property, -1) < 0:
        return f"{row.property} does not fall"
    return ""


def _first(specification: Specification, stream: bytes) -> dict[str, int]:
    """Per check the first record that fails, -1 none."""
    kernels = compile_kernels(specification)
    data = np.frombuffer(stream, np.uint8)
    result = kernels.check(data, np.array([0, len(stream)], np.int64))
    return {name: int(first) for name, first in zip(kernels.checks, result.first[0], strict=True)}
