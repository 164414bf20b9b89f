"""Reads the manifest of a folder of simulated traces (its `_manifest.json`), and advises the folder's auditor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import compositions
from tidemark_conformance.registry.specifications import SHIPPED, baselines
from tidemark_conformance.simulate.generate import MANIFEST
from tidemark_conformance.tla.spec import Specification


def settings_of(folder: Path) -> dict[str, Any] | None:
    """The settings of the run whose traces are in this folder; None where no manifest tells them."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
    except (OSError, ValueError):
        return None
    settings = manifest.get("settings") if isinstance(manifest, dict) else None
    return settings if isinstance(settings, dict) else None


def refuse_composition(path: Path) -> None:
    """Raises Unusable for a folder of a composition's runs: its parts are audited one by one."""
    parts = [one for one in sorted(path.iterdir()) if one.is_dir()] if os.path.isdir(path) else []
    known = compositions()
    of = [one for one in parts if (settings_of(one) or {}).get("protocol") in known]
    if len(of) > 1:
        raise Unusable(f"{path} holds the runs of a composition; give one of its parts: {', '.join(map(str, of))}")


def removed_from(folder: Path) -> frozenset[str]:
    """The rules without which the traces in a folder were simulated, as far as its manifest and the zoo tell."""
    settings = settings_of(folder) or {}
    rows = [row for row in zoo.rows() if settings.get("flaw") in (row.id, str(row.number))]
    rules = [rule for row in rows[:1] for rule in row.rules]
    return frozenset([*rules, *(settings.get("without") or ())])


def beyond(folder: Path, specification: Specification, chosen: Mapping[str, Any]) -> str:
    """A hint for failing traces that were simulated without the rules of another version; else "".

    It names the baseline that shows only the errors beyond that version. `chosen`: --baseline and --without.
    """
    removed = removed_from(folder)
    if not removed or any(chosen.values()):
        return ""
    named = baselines(specification)
    shipped = named.pop(SHIPPED, frozenset())
    fitting = [(len(rules), name) for name, rules in named.items() if rules - shipped and rules - shipped <= removed]
    if not fitting:
        return ""
    return (
        f"simulated without {', '.join(sorted(removed))}: --baseline {min(fitting)[1]} judges by that version's rules "
        "and shows what is wrong beyond it"
    )
