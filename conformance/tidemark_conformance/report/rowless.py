"""The rules of a protocol that no row of the zoo removes, for the table on the protocol's page."""

from __future__ import annotations

import functools

from tidemark_conformance.explain import card
from tidemark_conformance.registry.protocols import protocols
from tidemark_conformance.tla import cfg
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tlc import manifest as manifests

Told = tuple[tuple[str, ...], str, str, str]
"""The rules that a model removes, the harm without them, the row (none), and the property that falls."""
NONE = "–"


def rules_without_row(protocol: str) -> list[Told]:
    """Each rule that no row removes, in the order of the specification, with the harm as `tidemark rule` tells it. The
    property is the one that falls in the model that removes this rule, and the fewest others."""
    falling = _falling(protocol)
    told = []
    for rule, harm in _rowless().get(protocol, ()):
        models = [one for one in falling if rule in one[0]]
        removed, fallen = min(models, key=lambda one: len(one[0]), default=(frozenset({rule}), ""))
        others = sorted(removed - {rule})
        told.append(((rule, *others), harm, NONE, f"`{fallen}`" if fallen else NONE))
    return told


@functools.cache
def _rowless() -> dict[str, list[tuple[str, str]]]:
    """By protocol its rules without a row, each with the harm without it."""
    of = {card.heading(home): home.specification.path for home in card.homes()}
    names = {entry.spec: name for name, entry in protocols().items()}
    found: dict[str, list[tuple[str, str]]] = {}
    for rule in card.listed():
        if not rule.rows and of[rule.of] in names:
            harm = rule.sentence.removesuffix(".")
            found.setdefault(names[of[rule.of]], []).append((rule.name, f"{harm[:1].lower()}{harm[1:]}"))
    return found


def _falling(protocol: str) -> list[tuple[frozenset[str], str]]:
    """The models of a protocol in which a property must fall: the rules that each removes, and the property."""
    folder = protocols()[protocol].spec.parent
    found = []
    for model in manifests.load().models:
        if model.kind == "zoo" and model.property is not None and folder in model.module.parents:
            removed = cfg.read(model.cfg).constants.get(WITHOUT)
            if isinstance(removed, frozenset):
                found.append((frozenset(map(str, removed)), model.property))
    return found
