"""The checks of each model's cfg, pinned in its manifest: a cfg that checks less, more or otherwise is refused.

TLC takes a check that a cfg leaves out for true, so without a pin an emptied cfg passes. The manifest's `checks` state,
per module, the checks that most of its models share. A model's own `checks` state how its cfg differs from those:

    "checks": {"m/MC.tla": {"INVARIANTS": ["TypeOK", "Safe"], "NEXT": "Next", "CONSTANTS": {"N": "3", "Without": "{}"}}}
    {"name": "MCSmall", ..., "checks": {"INVARIANTS": ["-Safe", "+Sound"], "VIEW": "Few", "CONSTANTS": {"N": "2"}}}

For a list a model states the names that it leaves out ("-") and those that it adds ("+"). For everything else it states
its own value, null for none. The order of a list has no meaning. `tidemark check --pin` writes all of this from the
cfgs as they are; a person reads the difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tlc.values import to_tla

LISTS = {
    "INVARIANTS": "invariants",
    "PROPERTIES": "properties",
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
}
SINGLES = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
    "CHECK_DEADLOCK": "check_deadlock",
}
CONSTANTS = "CONSTANTS"

Checks = dict[str, Any]
"""Statement -> its names (a list), its value (a string or a boolean) or, of CONSTANTS, name -> value as TLA+ text. A
statement that a cfg does not have is not there."""


def stated(config: cfg_files.Config) -> Checks:
    """The statements of a cfg: its checks, its behaviours, its constants."""
    found: Checks = {key: list(getattr(config, field)) for key, field in LISTS.items() if getattr(config, field)}
    found |= {key: getattr(config, field) for key, field in SINGLES.items() if getattr(config, field) is not None}
    constants = {name: to_tla(value) for name, value in config.constants.items()}
    constants |= {name: f"<- {operator}" for name, operator in config.substitutions.items()}
    return found | ({CONSTANTS: dict(sorted(constants.items()))} if constants else {})


def shared(many: Sequence[Checks]) -> Checks:
    """The statements that most models of a module share. A list holds the names that more than half of them have."""
    found: Checks = {}
    for key in LISTS:
        counted = Counter(name for one in many for name in one.get(key, ()))
        if names := [name for name, number in counted.items() if 2 * number > len(many)]:
            found[key] = names
    for key in SINGLES:
        if (value := _usual([one.get(key) for one in many])) is not None:
            found[key] = value
    names = sorted({name for one in many for name in one.get(CONSTANTS, ())})
    usual = {name: _usual([one.get(CONSTANTS, {}).get(name) for one in many]) for name in names}
    if constants := {name: value for name, value in usual.items() if value is not None}:
        found[CONSTANTS] = constants
    return found


def _usual(values: Sequence[Any]) -> Any:
    return Counter(values).most_common(1)[0][0]


def change(usual: Checks, own: Checks) -> Checks:
    """In what a model differs from its module's `usual` checks; `expanded` is the way back."""
    found: Checks = {}
    for key in LISTS:
        before, after = usual.get(key, []), own.get(key, [])
        marks = [f"-{name}" for name in before if name not in after]
        if marks := [*marks, *(f"+{name}" for name in after if name not in before)]:
            found[key] = marks
    for key in SINGLES:
        if usual.get(key) != own.get(key):
            found[key] = own.get(key)
    before, after = usual.get(CONSTANTS, {}), own.get(CONSTANTS, {})
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return found | ({CONSTANTS: {name: after.get(name) for name in names}} if names else {})


def expanded(usual: Checks, changed: Checks) -> Checks:
    """All that a model's pin says. Raises ValueError or TypeError, KeyError for a pin of another shape."""
    if unknown := sorted({*usual, *changed} - {*LISTS, *SINGLES, CONSTANTS}):
        raise ValueError(f"there is no statement {unknown[0]}")
    found: Checks = {}
    for key in LISTS:
        names = list(usual.get(key, []))
        for mark in changed.get(key, []):
            if mark[:1] == "-":
                names.remove(mark[1:])
            elif mark[:1] == "+":
                names.append(mark[1:])
            else:
                raise ValueError(f"{mark!r} begins with neither + nor -")
        if names:
            found[key] = names
    for key in SINGLES:
        if (value := changed.get(key, usual.get(key))) is not None:
            found[key] = value
    constants = {**usual.get(CONSTANTS, {}), **changed.get(CONSTANTS, {})}
    if constants := {name: value for name, value in sorted(constants.items()) if value is not None}:
        found[CONSTANTS] = constants
    return found


def differences(pinned: Checks, own: Checks) -> Iterable[str]:
    """Every way in which a cfg says something else than its pin, as parts of a sentence."""
    for key in LISTS:
        before, after = pinned.get(key, []), own.get(key, [])
        if lost := [name for name in before if name not in after]:
            yield f"{key} without {', '.join(lost)}"
        if new := [name for name in after if name not in before]:
            yield f"{key} with {', '.join(new)}"
    for key in SINGLES:
        if pinned.get(key) != own.get(key):
            yield f"{key} {_said(own.get(key))} in place of {_said(pinned.get(key))}"
    before, after = pinned.get(CONSTANTS, {}), own.get(CONSTANTS, {})
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            yield f"{name} = {_said(after.get(name))} in place of {_said(before.get(name))}"


def _said(value: Any) -> str:
    return "nothing" if value is None else str(value)


def require(name: str, cfg: Path, pinned: Checks, falls: str | None, manifest: str = "manifest.json") -> None:
    """Raises Unusable where the cfg of the model `name` differs from its pin. The same where it does not ask for the
    property that must fall (`falls`; None: none must)."""
    own = stated(cfg_files.read(cfg))
    found = list(differences(pinned, own))
    if falls is not None and falls not in [*own.get("INVARIANTS", ()), *own.get("PROPERTIES", ())]:
        found.append(f"nothing that asks for {falls}, which must fall")
    if found:
        raise Unusable(
            f"{cfg} does not check what {manifest} pins for {name}: it has {'; '.join(found)}; "
            "put it back, or pin the cfgs as they are with `tidemark check --pin` and review what that changes"
        )


def pin(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A manifest's document with the checks of all its models as their cfgs (below `folder`) state them now."""
    own = {model["name"]: stated(cfg_files.read(folder / model["cfg"])) for model in document["models"]}
    modules: dict[str, list[Checks]] = {}
    for model in document["models"]:
        modules.setdefault(model["module"], []).append(own[model["name"]])
    usual = {module: shared(many) for module, many in modules.items()}
    models = [{**model, "checks": change(usual[model["module"]], own[model["name"]])} for model in document["models"]]
    return {**document, "models": models, "checks": usual}
