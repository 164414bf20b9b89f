r"""The modules that a root module reaches through EXTENDS and INSTANCE, as text.

A run of TLC sees nothing but a staged copy of this closure. So a verdict cannot depend on a module that its cache key
does not hash. A module missed here would be missing there, and TLC would refuse.

Files are read anew each time. A result that depends on their text alone is computed once per text:
hundreds of models reach the same few modules.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tidemark_conformance import paths
from tidemark_conformance.errors import Unusable

STANDARD = frozenset({"Naturals", "Integers", "Reals", "Sequences", "FiniteSets", "Bags", "TLC", "TLCExt"})
"""The standard modules inside the jar."""

_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_OUTSIDE = re.compile(rf"{_STRING.pattern}|\\\*[^\n]*|\(\*")
"""Where a comment begins, and a string, in which none does."""
_INSIDE = re.compile(r"\(\*|\*\)")
_VISIBLE = re.compile(r"[^\n]")
_HEADER = re.compile(r"-{4,}\s*MODULE\s+(\w+)\s*-{4,}")
_EXTENDS = re.compile(r"\bEXTENDS\s+(\w+(?:\s*,\s*\w+)*)")
_INSTANCE = re.compile(r"\bINSTANCE\s+(\w+)")


@functools.lru_cache(maxsize=256)
def without_comments(text: str) -> str:
    r"""The text with `\* ...` and nested `(* ... *)` replaced by blanks; every other character keeps its place."""
    out: list[str] = []
    depth = at = 0
    while found := (_INSIDE if depth else _OUTSIDE).search(text, at):
        start, end = found.span()
        out.append(_blank(text[at:start]) if depth else text[at:start])
        if found[0] == "(*":
            depth += 1
        elif found[0] == "*)":
            depth -= 1
        out.append(found[0] if found[0][0] == '"' else _blank(found[0]))
        at = end
    out.append(_blank(text[at:]) if depth else text[at:])
    return "".join(out)


def _blank(text: str) -> str:
    return _VISIBLE.sub(" ", text)


@functools.lru_cache(maxsize=256)
def body(text: str) -> str:
    """The text without comments and without strings' contents (blanked in place)."""
    return _STRING.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', without_comments(text))


@functools.lru_cache(maxsize=256)
def references(text: str) -> frozenset[str]:
    """The modules named by EXTENDS and INSTANCE in a module's text, inner modules' own names left out."""
    plain = body(text)
    names = set(extended(text))
    names.update(found[1] for found in _INSTANCE.finditer(plain))
    return frozenset(names - set(_HEADER.findall(plain)))


def extended(text: str) -> list[str]:
    """The modules named by EXTENDS in a module's text, in its order."""
    return [name for found in _EXTENDS.finditer(body(text)) for name in re.findall(r"\w+", found[1])]


@functools.lru_cache(maxsize=256)
def _named(text: str) -> str | None:
    """The name in a module's first line; None without such a line."""
    header = _HEADER.search(without_comments(text))
    return header[1] if header else None


def library_path(root: Path, library: Iterable[Path] = ()) -> list[Path]:
    """Where a root module's references are looked up: its folder, the folder above, `library`, and `spec/lib`.

    A module below `spec/` finds those of the other protocols, too: a model may say that one protocol refines another.
    """
    folder = root.resolve().parent
    ordered = [folder, folder.parent, *(Path(place).resolve() for place in library), paths.spec_root() / "lib"]
    if folder.is_relative_to(paths.spec_root().resolve()):
        ordered += sorted(place for place in paths.spec_root().resolve().iterdir() if place.is_dir())
    return list(dict.fromkeys(ordered))


def closure(
    root: Path,
    library: Iterable[Path] = (),
    given: Mapping[str, str] | None = None,
    provided: Collection[str] = STANDARD,
) -> dict[str, tuple[Path, str]]:
    """Every module that `root` reaches, itself first: name -> (file, text); standard modules are left out.

    `provided`: the modules that need no file (for a run of TLC those of its jar, `toolchain.modules_of`). A file wins
    over them, except over the standard ones. `given` holds texts of generated modules by name, which win over files.
    Raises Unusable for a module that is nowhere and for a root whose name is not its file's.
    """
    given = given or {}
    if root.suffix != ".tla" or not (root.is_file() or root.stem in given):
        raise Unusable(f"{root} is not a TLA+ module: give the path of an existing .tla file")
    path = library_path(root, library)
    found: dict[str, tuple[Path, str]] = {}
    waiting = [(root.stem, root)]
    while waiting:
        name, by = waiting.pop(0)
        if name in found:
            continue
        looked_up = _look_up(name, by, root, path, given)
        if looked_up is None and name in provided:
            continue
        if looked_up is None:
            raise Unusable(
                f"{by.name} refers to module {name}, which is not beside it, above it or in spec/lib: "
                f"add {name}.tla to one of these folders"
            )
        file, text = looked_up
        if _named(text) != name:
            raise Unusable(f"{file} does not start with `---- MODULE {name} ----`: file and module must have one name")
        found[name] = (file, text)
        waiting.extend((reference, file) for reference in sorted(references(text) - STANDARD))
    return found


def _look_up(name: str, by: Path, root: Path, path: list[Path], given: Mapping[str, str]) -> tuple[Path, str] | None:
    if name in given:
        return Path(f"{name}.tla"), given[name]
    places = [root.parent] if name == root.stem else path
    for folder in places:
        file = folder / f"{name}.tla"
        if file.is_file():
            return file, file.read_text(encoding="utf-8")
    return None
