"""A row of the zoo that removes several rules needs each of them removed: with any one put back its model holds.

Else the row shows the other rules' flaw under this one's name. A row says which of its rules is superfluous to TLC, and
why it is removed all the same. Then the model must fall with it put back.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from pathlib import Path

import pytest
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.registry import zoo
from tidemark_conformance.tla import cfg
from tidemark_conformance.tlc import manifest, pins, runner, verify

BUDGET_S = 120.0
"""Of a model with a rule put back; each takes some seconds, and its verdict is cached."""
SEVERAL = [row for row in zoo.rows() if len(row.rules) > 1 and row.model]
CASES = [pytest.param(row, rule, id=f"{row.id}-{rule}") for row in SEVERAL for rule in row.rules]


def put_back(row: zoo.Row, rule: str, folder: Path) -> manifest.Model:
    """The row's model with one of its rules in force again; it should hold, with any number of states."""
    model = manifest.load().select([row.model])[0]
    text = model.cfg.read_text(encoding="utf-8")
    others = ", ".join(f'"{other}"' for other in row.rules if other != rule)
    changed, lines = re.subn(r"(?m)^( *Without = )\{.*\}$", rf"\g<1>{{{others}}}", text)
    assert lines == 1
    name = f"{model.name}-{rule}"
    file = folder / f"{name}.cfg"
    file.write_text(changed, encoding="utf-8")
    assert cfg.read(file).constants["Without"] == frozenset(row.rules) - {rule}
    expectation = {"kind": "safety", "expected": "holds", "property": None, "depth": None}
    checks = pins.stated(cfg.read(file))
    return dataclasses.replace(model, name=name, cfg=file, checks=checks, budget_s=BUDGET_S, **expectation)


@cache
def results(protocol: str) -> dict[tuple[str, str], runner.TlcResult]:
    """TLC's results for a protocol's rows with one rule put back each; models of one module share a Java process."""
    cases = [(row, rule) for row in SEVERAL if row.protocol == protocol for rule in row.rules]
    with temporary_folder("put-back-") as folder:
        outcomes = verify.verify([put_back(row, rule, folder) for row, rule in cases], cores=1)
    return {(row.id, rule): one.result for (row, rule), one in zip(cases, outcomes, strict=True)}


@pytest.mark.deep
@pytest.mark.parametrize(("row", "rule"), CASES)
def test_each_rule_is_needed_or_named_as_superfluous(row: zoo.Row, rule: str) -> None:
    found = results(row.protocol)[row.id, rule]
    assert (found.verdict, found.property) == (
        ("violates", row.property) if rule in row.superfluous else ("holds", None)
    )


@pytest.mark.parametrize("row", zoo.rows(), ids=lambda row: row.id)
def test_what_is_superfluous_is_one_of_several_rules_and_has_a_reason(row: zoo.Row) -> None:
    assert set(row.superfluous) <= set(row.rules if len(row.rules) > 1 else ())
    assert all(why.strip() for why in row.superfluous.values())
