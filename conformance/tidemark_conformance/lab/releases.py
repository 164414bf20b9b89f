"""The releases of Kafka that can be run here: the jars of each, with their SHA-256, fetched once from Maven Central.

`releases/<version>.sha256` lists them as `sha256sum` does, by their paths in a Maven repository. A jar is trusted only
if it has that checksum, whenever it is used. So the repository may be any mirror (TIDEMARK_MAVEN).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tidemark.common.naming import instead

from tidemark_conformance import cache
from tidemark_conformance.errors import Unusable, writable

MIRROR = "TIDEMARK_MAVEN"
"""The environment variable that names another Maven repository."""
CENTRAL = "https://repo1.maven.org/maven2"
DEFAULT = "4.3.1"
PATIENCE_S = 60.0
"""Seconds without a byte, after which a download has failed."""
LISTS = Path(__file__).with_name("releases")


def known() -> list[str]:
    """The versions, the oldest first."""
    return sorted((file.stem for file in LISTS.glob("*.sha256")), key=lambda name: [*map(int, name.split("."))])


def jars(version: str) -> dict[str, str]:
    """The jars of a release: path in a Maven repository -> SHA-256 (hex). Unusable for one that has no list."""
    if version not in known():
        raise Unusable(f"Kafka {version} cannot be run here; {instead(version, known(), ', '.join(known()))}")
    lines = (LISTS / f"{version}.sha256").read_text(encoding="utf-8").splitlines()
    return {path: checksum for checksum, _, path in (line.partition("  ") for line in lines)}


def fetched(version: str, told: Callable[[int, int], None] = lambda done, total: None) -> Path:
    """The folder in the cache with all jars of a release; those that are missing or damaged are fetched. `told` hears
    how many of how many are there. Raises Unusable where a jar cannot be had."""
    wanted = jars(version)
    folder = cache.folder("kafka", version)
    for number, (path, checksum) in enumerate(wanted.items(), 1):
        file = folder / Path(path).name
        if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == checksum):
            _keep(_download(path, checksum), file)
        told(number, len(wanted))
    return folder


def _download(path: str, checksum: str) -> bytes:
    place = f"{os.environ.get(MIRROR, CENTRAL).rstrip('/')}/{path}"
    try:
        with urllib.request.urlopen(place, timeout=PATIENCE_S) as answer:
            content: bytes = answer.read()
    except (OSError, ValueError) as problem:
        said = problem.reason if isinstance(problem, urllib.error.URLError) else problem
        raise Unusable(
            f"{place} cannot be fetched ({said}): connect to the network, or name a mirror of Maven Central by {MIRROR}"
        ) from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise Unusable(f"{place} is not the released file, for its SHA-256 is not {checksum}: name another mirror")
    return content


def _keep(content: bytes, file: Path) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    with writable(file):
        try:
            draft.write_bytes(content)
            os.replace(draft, file)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
