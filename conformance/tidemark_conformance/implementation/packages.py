"""The packages of a simulator: where they are, and which modules they have."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from tidemark_conformance.errors import Unusable


def digest(package: str) -> str:
    """Of all files of a top-level package, but what Python itself has compiled of them."""
    hashed = hashlib.sha256()
    for place in sources(package):
        for file in [place] if place.is_file() else sorted(place.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                content = file.read_bytes()
                hashed.update(f"{file.relative_to(place)} {len(content)} ".encode() + content)
    return hashed.hexdigest()


def sources(name: str) -> list[Path]:
    """The folders of a top-level package, or the file of a module that is none. Raises Unusable if it is not here."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError) as problem:
        raise Unusable(f"the package {name} cannot be found ({problem}); install it") from problem
    if found is None:
        raise Unusable(f"the package {name} cannot be found; install it, or correct its name in protocol.toml")
    if found.submodule_search_locations is not None:
        return [Path(folder) for folder in found.submodule_search_locations]
    return [Path(found.origin)] if found.origin else []
