"""The cfgs of the audit check every property that the text of a specification has, with all rules in force."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark_conformance.registry.protocols import Protocol, compositions, protocols
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.spec import load

PROTOCOLS = list(protocols().values())
OTHER_SIZES = [(one, config) for one in PROTOCOLS for config in one.sizes.values()] + [
    (part, part.config) for composition in compositions().values() for part in composition.parts.values()
]


CONVENTIONAL = {"TypeOK", "Spec", "vars", "Ghosts", "Rules", "FlawActions"}
"""Definitions of docs/conventions.md that are no properties: of one module they stand beside them."""


def properties(module: Path) -> set[str]:
    """The definitions of a module that have no parameters and that the module uses nowhere: its properties."""
    text = re.sub(r"\\\*.*|\(\*.*?\*\)", "", module.read_text())
    names = re.findall(r"^(\w+)\s*==", text, re.MULTILINE)
    return {name for name in names if len(re.findall(rf"\b{name}\b", text)) == 1} - CONVENTIONAL


@pytest.mark.parametrize("one", PROTOCOLS, ids=lambda one: one.name)
def test_every_property_of_the_text_is_audited(one: Protocol) -> None:
    audited = cfg.read(one.config)
    specification = load(one.spec, one.config)
    found = [named.name for named in (*specification.quiescence, *specification.environment)]
    assert properties(one.spec) == {*audited.invariants, *audited.properties, *found} - CONVENTIONAL
    assert not specification.temporal
    assert audited.constants["Without"] == frozenset()


@pytest.mark.parametrize(("one", "config"), OTHER_SIZES, ids=lambda one: getattr(one, "stem", getattr(one, "name", "")))
def test_another_size_is_audited_for_the_same(one: Protocol, config: Path) -> None:
    audited, other = cfg.read(protocols()[one.name].config), cfg.read(config)
    assert (other.invariants, other.properties) == (audited.invariants, audited.properties)
    assert other.constants["Without"] == frozenset()
