"""The findings of a hunt, for people and for machines: each finding's first run shrunk and explained, and the command
that shows it again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from tidemark_conformance.audit.judge import judge_for
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.load import Stored, decoded
from tidemark_conformance.explain.record import Explanation
from tidemark_conformance.explain.shrink import Shrinker
from tidemark_conformance.hunt.hunting import Hunted
from tidemark_conformance.hunt.island import RUNS, Finding, Round, Signature
from tidemark_conformance.hunt.target import STEPS, Target
from tidemark_conformance.registry.protocols import Composition
from tidemark_conformance.report import explanation as text
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.simulate import simulators
from tidemark_conformance.trace.schema import schema_of

JUDGED = frozenset({"invariant", "action-property", "not-a-step", "quiescence"})
"""Kinds of findings that a specification's checks make: those that can be explained."""

ENOUGH = RUNS
"""Of so many runs some must be healed, and most judged to the end."""
MOST_CUT = 10
"""One run in so many may be cut at a capacity."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding with the explanation of its first run: None for a composition's, and for what no check found."""

    signature: Signature
    finding: Finding
    command: str
    explained: Explanation | None

    @property
    def shrunk_steps(self) -> int | None:
        """The steps of the smallest run that fails so."""
        shrunk = self.explained.shrunk if self.explained is not None else None
        return shrunk.steps if shrunk is not None and shrunk.runs else None


def shown(target: Target, found: Hunted, told: Callable[[int], None], most: int | None = None) -> list[Shown]:
    """The findings, in the order in which they came. `told` hears how many are explained; at most `most` are."""
    ordered = sorted(found.total.findings.items(), key=lambda item: (item[1].steps, item[0]))
    result = []
    for number, (signature, finding) in enumerate(ordered):
        explained = None
        if (most is None or number < most) and signature[1] in JUDGED and not isinstance(target.known, Composition):
            explained = _explained(target, finding)
        result.append(Shown(signature, finding, command(target, finding, signature), explained))
        told(number + 1)
    return result


def _explained(target: Target, finding: Finding) -> Explanation:
    specification, header = target.parts[0].specification, target.headers[""]
    name, schema = f"seed-{finding.seed}", schema_of(target.parts[0].specification)
    settings = {"profile": finding.world, "steps": STEPS, "without": target.without}
    known = target.known
    assert not isinstance(known, Composition)
    again = simulators.again(known, header, name, settings)
    stream = again.stream(range(len(again.decisions)))
    run = decoded(Stored(name, stream, Path(finding.world), header), schema)
    explainer = Explainer(specification)
    judgement = explainer.judge(run)
    explained = explainer.explain(run, judgement)
    if judgement.verdict != "fail":
        return explained
    return replace(explained, shrunk=Shrinker(explainer, schema).shrink(run, judgement, header, again))


def command(target: Target, finding: Finding, signature: Signature) -> str:
    """The command that simulates the first run of a finding again, and explains or audits it."""
    without = ["--without", ",".join(target.without)] if target.without else []
    words = ["tidemark", "simulate", target.known.name, "--traces", "1", "--seed", str(finding.seed)]
    words += ["--steps", str(STEPS), "--profile", finding.world, *without, "-o", "DIR"]
    part, kind, _ = signature
    folder = f"DIR/{part}" if part else "DIR"
    above = part == target.parts[0].name
    then = ["tidemark", "explain" if kind in JUDGED else "audit", folder, *(without if above else [])]
    return f"{shlex.join(words)} && {shlex.join(then)}"


def said(signature: Signature) -> str:
    """A finding's way to fail in words."""
    part, kind, name = signature
    what = {
        "not-a-step": f"{name} is not a step",
        "client": f"a client finds {name}",
        "undecided": f"a trace cannot be judged: {name}",
    }.get(kind, f"{name} falls")
    return f"{part}: {what}" if part else what


def complaints(target: Target, total: Round) -> Iterator[str]:
    """The reasons why "nothing found" would say too much: runs that were simulated, and hardly judged."""
    if total.runs < ENOUGH:
        return
    if target.parts[0].specification.quiescence and not total.healed:
        yield f"of {total.runs:,} runs no faults stopped, so no quiescence property has judged anything"
    if total.cut * MOST_CUT > total.runs:
        yield f"{total.cut:,} of {total.runs:,} runs were cut at a capacity, and their ends were not judged"


def coverage(target: Target, found: Hunted) -> dict[str, Any]:
    """Actions and rules with their counts, and how many features were reached."""
    actions: dict[str, int] = {}
    rules: dict[str, dict[str, int]] = {}
    several = len(target.parts) > 1
    for part in target.parts:
        kernels = judge_for(part.specification).kernels
        before = f"{part.name}: " if several else ""
        taken = _counts(found.total.actions, part.name, len(kernels.actions))
        asked = _counts(found.total.rules, part.name, len(kernels.rules))
        for name, (count, _) in zip(kernels.actions, taken, strict=True):
            actions[before + name] = count
        for name, (held, blocked) in zip(kernels.rules, asked, strict=True):
            rules[before + name] = {"held": held, "blocked": blocked}
    plain, shapes = (found.growth[-1][1:]) if found.growth else (0, 0)
    return {"actions": actions, "rules": rules, "features": plain, "shapes": shapes}


def _counts(counts: Mapping[str, NDArray[np.int64]], part: str, length: int) -> list[list[int]]:
    known = counts.get(part)
    return known.tolist() if known is not None else [[0, 0]] * length


def finding_document(one: Shown) -> dict[str, Any]:
    """A finding in a command's document."""
    part, kind, name = one.signature
    finding = one.finding
    return {
        "signature": said(one.signature),
        "part": part,
        "kind": kind,
        "name": name,
        "runs": finding.runs,
        "steps_until_first": finding.steps,
        "first": {"world": finding.world, "seed": finding.seed, "step": finding.step},
        "shrunk_steps": one.shrunk_steps,
        "command": one.command,
    }


def render(found: list[Shown], console: Console) -> None:
    """The findings for people."""
    for one in found:
        runs = counted(one.finding.runs, "run")
        line = f"{said(one.signature)}: {runs}, first after {one.finding.steps:,} steps"
        console.print(Text(line, style="bold red"))
        console.print(f"  {one.command}")
        if one.explained is not None:
            text.render(one.explained, console)
