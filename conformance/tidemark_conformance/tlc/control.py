"""A run that must fall, asked of a Java that models share after each "holds" in it.

A run begins there with TLC's static state put back (`tlc.shared`). If that should ever miss something by which TLC
leaves properties out, then a "holds" would say nothing. So a "holds" is believed only if the next run in the same Java
still sees a property fall at the right depth. The property has the same form: invariant, action property or temporal.
"""

from __future__ import annotations

from pathlib import Path

from tidemark_conformance.tlc import runner, shared
from tidemark_conformance.tlc.manifest import Model

NAME = "TidemarkControl"
TEXT = rf"""---- MODULE {NAME} ----
EXTENDS Naturals
VARIABLE count
Init == count = 0
Up == count < 3 /\ count' = count + 1
Fair == Init /\ [][Up]_count /\ WF_count(Up)
Small == count <= 3
Low == count < 2
Slow == [][count' < 2]_count
Home == []<>(count = 0)
====
"""
CONTROLS = {
    "invariant": ("INIT Init NEXT Up INVARIANTS Small Low", "Low", 3),
    "action-property": ("INIT Init NEXT Up INVARIANT Small PROPERTY Slow", "Slow", 3),
    "temporal": ("SPECIFICATION Fair INVARIANT Small PROPERTY Home", None, 4),
}
"""The form that must fall -> the cfg, the name that TLC gives (a temporal property has none), and how many states the
counterexample has."""


def form(model: Model, has_properties: bool) -> str:
    """The form of property that the control of a model has."""
    return "temporal" if model.kind == "liveness" else "action-property" if has_properties else "invariant"


def falls(java: shared.Java, jar: Path, which: str) -> bool:
    """Whether the control falls in this Java as it must. Raises Unusable where TLC cannot run in it."""
    cfg, name, states = CONTROLS[which]
    options = runner.Options(budget_s=60.0)
    found = runner.run(Path(f"{NAME}.tla"), f"{cfg}\n", options, jar=jar, given={NAME: TEXT}, java=java)
    return (found.verdict, found.kind, found.property, found.depth) == ("violates", which, name, states)
