"""The models of each protocol in the manifest, held against each other. TLC's verdicts on them are
`tidemark check`'s."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from tidemark_conformance.java import modules
from tidemark_conformance.paths import spec_root
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tlc import manifest


@dataclass(frozen=True)
class Suite:
    """The models of a specification. `name`: the part of the manifest that they cover. `untried`: the rules that no
    model goes without. `elsewhere`: the sides of rules that only runs of another version show."""

    name: str
    properties: Path
    untried: frozenset[str]
    elsewhere: frozenset[str]

    @property
    def audited(self) -> cfg.Config:
        return cfg.read(self.properties.with_suffix(".cfg"))

    @cached_property
    def models(self) -> list[manifest.Model]:
        """Those whose modules the specification's properties are among."""
        return [model for model in manifest.load().models if self.properties.stem in modules.closure(model.module)]

    def liveness(self, expected: str) -> list[manifest.Model]:
        return [model for model in self.models if model.kind == "liveness" and model.expected == expected]


UNTRIED = {"replication": frozenset({"AlterOfBrokerEpoch", "MinIsrOnAppend"})}
ELSEWHERE = {"transactions": frozenset({"rule FenceOnce true"})}
SUITES = [
    Suite(name, one.spec, UNTRIED.get(name, frozenset()), ELSEWHERE.get(name, frozenset()))
    for name, one in protocols().items()
]
LIVE = {"replication", "classic-group", "consumer-group", "offsets", "idempotence", "transactions", "exactly-once"}
"""Protocols with at least three liveness properties."""
each = pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.name)


def test_every_configuration_of_a_model_is_in_the_manifest() -> None:
    """One that nobody runs says nothing."""
    known = {model.cfg for model in manifest.load().models}
    there = set(spec_root().glob("*/models/*.cfg"))
    assert there
    assert there <= known


@each
def test_what_covers_a_specification_is_what_agree_compares(suite: Suite) -> None:
    """Coverage asks for every action and both sides of every rule, so the graphs that agree compares have them."""
    covering = {model.name for model in suite.models if model.covers == suite.name}
    compared = {model.name for model in suite.models if model.agree}
    assert covering
    assert covering <= compared
    fallen = [model for model in suite.models if model.name in compared - covering]
    assert fallen
    assert all(model.expected == "violates" for model in fallen)


@each
def test_only_flaw_actions_are_excused_from_coverage(suite: Suite) -> None:
    specification = load(suite.properties, suite.properties.with_suffix(".cfg"), also=("FlawActions",))
    flaws = compile_python(specification).constant(specification.module.definitions["FlawActions"].body)
    excused = manifest.load().unreached.get(suite.name, {})
    assert set(excused) == {f"action {action}" for action in flaws} | suite.elsewhere


@each
def test_agree_compares_every_property_that_the_audit_checks(suite: Suite) -> None:
    for model in suite.models:
        if model.agree:
            parsed = cfg.read(model.cfg)
            assert parsed.invariants == suite.audited.invariants, model.name
            assert parsed.properties == suite.audited.properties, model.name


@each
def test_a_model_that_holds_has_every_property_of_the_audit(suite: Suite) -> None:
    """Some model of the tier `check` that is no graph for agree has it, and at no less than its own bounds."""
    large = [
        cfg.read(model.cfg)
        for model in suite.models
        if model.kind == "safety" and model.expected == "holds" and model.tier == "check" and not model.agree
    ]
    assert {name for parsed in large for name in parsed.invariants} >= set(suite.audited.invariants)
    assert {name for parsed in large for name in parsed.properties} >= set(suite.audited.properties)


@pytest.mark.deep
@each
def test_every_rule_is_needed_for_some_property(suite: Suite) -> None:
    """Some model falls without it."""
    specification = load(suite.properties, suite.properties.with_suffix(".cfg"), also=("Rules",))
    rules = compile_python(specification).constant(specification.module.definitions["Rules"].body)
    falling = [cfg.read(model.cfg) for model in suite.models if model.kind == "zoo"]
    removed = {rule for parsed in falling for rule in _names(parsed.constants.get("Without", frozenset()))}
    assert removed == _names(rules) - suite.untried
    pages = spec_root().parent / "docs" / "protocols"
    reasons = "".join(page.read_text(encoding="utf-8") for page in sorted(pages.glob("*.md")))
    assert [rule for rule in suite.untried if f"`{rule}`" not in reasons] == []


@each
def test_every_refinement_that_holds_can_fall(suite: Suite) -> None:
    """Some model falls by the steps of the abstract specification: no mapping makes everything a stutter."""
    parsed = [cfg.read(model.cfg) for model in suite.models if model.kind == "safety" and model.expected == "holds"]
    refined = {name for one in parsed for name in one.properties if name.endswith(("Refined", "Steps"))}
    kinds = ("zoo", "safety")
    falling = {model.property for model in suite.models if model.expected == "violates" and model.kind in kinds}
    assert {name.removesuffix("Refined").removesuffix("Steps") + "Steps" for name in refined} <= falling


def _names(value: Value) -> frozenset[str]:
    assert isinstance(value, frozenset)
    return frozenset(str(name) for name in value)


@each
def test_every_liveness_property_that_holds_falls_without_a_part_of_the_fairness(suite: Suite) -> None:
    holding = {name for model in suite.liveness("holds") for name in cfg.read(model.cfg).properties}
    falling = {model.property for model in suite.liveness("violates")}
    assert len(holding) >= (3 if suite.name in LIVE else 0)
    assert holding == falling


@each
def test_no_liveness_model_is_cut_by_a_constraint(suite: Suite) -> None:
    """A behaviour that a constraint ends has no infinite continuation, and satisfies every liveness property."""
    for model in suite.liveness("holds") + suite.liveness("violates"):
        parsed = cfg.read(model.cfg)
        assert not parsed.constraints, model.name
        assert not parsed.action_constraints, model.name
