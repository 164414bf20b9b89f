"""A symbolic search for people and machines: the verdict, and the run that was found, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from tidemark_conformance.explain.text import changes, label, shorten, value_text
from tidemark_conformance.report.paragraphs import counted
from tidemark_conformance.trace.header import constant_json

if TYPE_CHECKING:
    from tidemark_conformance.symbolic.search import Searched
    from tidemark_conformance.symbolic.witness import Witness
    from tidemark_conformance.tla.spec import Specification

MOST_CHANGES = 8
"""The most changes that are shown of a step."""


@dataclass
class Result:
    """A search of `spec` to `steps` steps, with the capacities of `sized`, from Init or from `begin` ("TRACE:STEP").

    `trace`: the file with the run that was found; `command`: audits it.
    """

    spec: Specification
    sized: Specification
    steps: int
    begin: str | None
    found: Searched
    trace: Path | None = None
    command: str = ""

    @property
    def capacities(self) -> dict[str, Any]:
        """The numbers among the constants, of which capacities are some."""
        return {name: value for name, value in sorted(self.sized.constants.items()) if type(value) is int}


def document(result: Result) -> dict[str, Any]:
    """The document `tidemark.search/1`."""
    found, witness = result.found, result.found.witness
    return {
        "schema": "tidemark.search/1",
        "ok": found.verdict == "nothing",
        "name": result.spec.cfg.stem,
        "spec": result.spec.module.name,
        "without": sorted(result.spec.without),
        "from": result.begin,
        "properties": list(found.properties),
        "steps": result.steps,
        "verdict": found.verdict,
        "depth": found.depth,
        "why": found.why or None,
        "fallen": list(witness.fallen) if witness is not None else [],
        "run": [
            {"action": step.action, "params": [constant_json(one) for one in step.params]}
            for step in (witness.steps if witness is not None else ())
        ],
        "trace": str(result.trace) if result.trace is not None else None,
        "instances": found.instances,
        "cells": found.cells,
        "numbers": result.capacities,
        "built_s": round(found.built, 3),
        "depths_s": [round(one, 3) for one in found.seconds],
        "seconds": round(found.built + sum(found.seconds), 3),
    }


def render(result: Result, console: Console) -> None:
    """Prints the verdict, the run and how to judge it."""
    found = result.found
    rules = f" without {', '.join(sorted(result.spec.without))}" if result.spec.without else ""
    begin = f" from {result.begin}" if result.begin is not None else ""
    took = f"{found.built + sum(found.seconds):.1f} s, {found.built:.1f} of them for the terms"
    size = f"{counted(found.instances, 'instance')} of actions, {counted(found.cells, 'cell')}"
    if found.verdict == "nothing":
        said, style = f"nothing within {counted(found.depth, 'step')}", "green"
    elif found.verdict == "unknown":
        said, style = f"unknown at depth {found.depth} ({found.why})", "bold yellow"
    else:
        said, style = f"found at depth {found.depth}: {', '.join(_fallen(found.witness))}", "bold red"
    console.print(f"{result.spec.cfg.stem}{rules}{begin}: {said}", style=style)
    console.print(f"  {took}; {size}; looked for {', '.join(found.properties)}")
    numbers = ", ".join(f"{name} = {value}" for name, value in result.capacities.items())
    if numbers:
        console.print(f"  within {numbers}")
    if found.verdict == "found" and found.witness is not None:
        _run(result, found.witness, console)


def _fallen(witness: Witness | None) -> tuple[str, ...]:
    return witness.fallen if witness is not None else ()


def _run(result: Result, witness: Witness, console: Console) -> None:
    ghosts = result.spec.module.ghosts
    if result.begin is None:
        console.print("  0 the initial state")
        for name, value in witness.first.items():
            console.print(f"    {name} = {shorten(value_text(value), 150)}")
    states = witness.states
    for number, step in enumerate(witness.steps, 1):
        console.print(f"  {number} {label(step.action, step.params)}")
        for one in changes(states[number - 1], step.state, ghosts)[:MOST_CHANGES]:
            arrow = f"{one.old} -> {one.new}" if one.how == "set" else f"{one.how} {one.new or one.old}"
            console.print(f"    {one.unit}: {shorten(arrow, 140)}")
    if witness.erring is not None:
        tried = label(witness.erring.action, witness.erring.params)
        console.print(f"  In the last state {tried} has no value: its evaluation is an error.")
    console.print("  The reference evaluator takes every step, and finds the same.")
    if result.trace is not None:
        console.print(f"  Its trace is {result.trace}; `{result.command}` judges it.")
    elif result.command:
        console.print("  The last state has a value that no trace can hold, so there is no trace of it.")
