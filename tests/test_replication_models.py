"""The models of replication in the manifest, held against each other; what TLC finds in them is `tidemark check`'s."""

from __future__ import annotations

from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tlc import manifest

REPLICATION = "replication"


def _liveness() -> list[manifest.Model]:
    return [model for model in manifest.load().models if model.kind == "liveness" and REPLICATION in model.module.parts]


def test_what_covers_replication_is_what_agree_compares() -> None:
    """Coverage asks for every action and both sides of every rule, so the graphs that agree compares have them."""
    models = manifest.load().models
    covering = {model.name for model in models if model.covers == REPLICATION}
    compared = {model.name for model in models if model.agree and REPLICATION in model.module.parts}
    assert covering
    assert covering <= compared
    fallen = [model for model in models if model.name in compared - covering]
    assert fallen
    assert all(model.expected == "violates" for model in fallen)


def test_only_flaw_actions_are_excused_from_coverage() -> None:
    folder = spec_root() / REPLICATION
    specification = load(
        folder / "ReplicationProperties.tla", folder / "ReplicationProperties.cfg", also=("FlawActions",)
    )
    flaws = compile_python(specification).constant(specification.module.definitions["FlawActions"].body)
    assert set(manifest.load().unreached[REPLICATION]) == {f"action {action}" for action in flaws}


def test_agree_compares_every_property_that_the_audit_checks() -> None:
    audited = cfg.read(spec_root() / REPLICATION / "ReplicationProperties.cfg")
    for model in manifest.load().models:
        if model.agree and REPLICATION in model.module.parts:
            parsed = cfg.read(model.cfg)
            assert parsed.invariants == audited.invariants, model.name
            assert parsed.properties == audited.properties, model.name


def test_every_liveness_property_that_holds_falls_without_a_part_of_the_fairness() -> None:
    models = [
        model for model in manifest.load().models if model.kind == "liveness" and REPLICATION in model.module.parts
    ]
    holding = {name for model in models if model.expected == "holds" for name in cfg.read(model.cfg).properties}
    falling = {model.property for model in models if model.expected == "violates"}
    assert len(holding) >= 3
    assert holding == falling


def test_no_liveness_model_is_cut_by_a_constraint() -> None:
    """A behaviour that a constraint ends has no infinite continuation, and satisfies every liveness property."""
    for model in _liveness():
        parsed = cfg.read(model.cfg)
        assert not parsed.constraints, model.name
        assert not parsed.action_constraints, model.name
