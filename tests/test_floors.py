"""No import runs up, and none goes round: the floors of both packages, as ARCHITECTURE.md prints them.

A floor is a folder, or a name for the modules that stand in no folder. A module may import from its own floor and from
the floors below it. A protocol's folder that the table does not name stands above all others, and nobody imports it: a
new protocol needs no line there. Imports for the type checker alone may go round within a folder, and never up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tidemark_conformance.report import floors

ROOT = Path(__file__).parent.parent
PACKAGES = {"tidemark": ROOT / "impl", "tidemark_conformance": ROOT / "conformance"}


def modules(package: str) -> dict[str, Path]:
    """The files of a package, by the module's name."""
    root = PACKAGES[package]
    named = {}
    for file in sorted((root / package).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return named


def imports(file: Path, known: Mapping[str, Path]) -> Iterator[tuple[str, bool]]:
    """The modules of `known` that a file imports, each with whether the type checker alone does."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typed = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file} imports from its neighbour without its whole name"
            below = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [*below, *([str(node.module)] if any(one not in known for one in below) else [])]
        yield from ((name, id(node) in typed) for name in names if name in known)


def graph(package: str, typed: bool) -> dict[str, set[str]]:
    """Module -> the modules that it imports. `typed`: also those imported for the type checker alone."""
    known = modules(package)
    return {
        name: {one for one, only in imports(file, known) if one != name and (typed or not only)}
        for name, file in known.items()
    }


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The nodes that reach themselves, together with those on the way: strongly connected parts of several nodes."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(start: str, following: Mapping[str, set[str]], into: list[str]) -> None:
        stack = [(start, iter(sorted(following.get(start, ()))))]
        seen.add(start)
        while stack:
            node, rest = stack[-1]
            step = next((one for one in rest if one not in seen), None)
            if step is None:
                stack.pop()
                into.append(node)
            else:
                seen.add(step)
                stack.append((step, iter(sorted(following.get(step, ())))))

    for node in edges:
        if node not in seen:
            visit(node, edges, order)
    back: dict[str, set[str]] = {node: set() for node in edges}
    for node, targets in edges.items():
        for target in targets:
            back[target].add(node)
    seen.clear()
    found = []
    for node in reversed(order):
        if node not in seen:
            part: list[str] = []
            visit(node, back, part)
            found.append(sorted(part))
    return [part for part in found if len(part) > 1]


def test_circles_are_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_has_its_floor(package: str) -> None:
    known = modules(package)
    found = {floors.floor(package, name) for name in known if name != package}
    assert floors.FLOORS[package].keys() <= found
    new = found - floors.FLOORS[package].keys()
    assert [one for one in new if package != "tidemark" or f"{package}.{one}.protocol" not in known] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_runs_up(package: str) -> None:
    height = {name: at for at, name in enumerate(floors.FLOORS[package])}
    top = len(height)  # of every folder without a floor of its own
    up = [
        f"{name} -> {target}"
        for name, targets in graph(package, typed=True).items()
        for target in targets
        if package not in (name, target)
        and (above := floors.floor(package, target)) != (here := floors.floor(package, name))
        and height.get(above, top) >= height.get(here, top)
    ]
    assert not up


@pytest.mark.parametrize("package", PACKAGES)
def test_no_import_goes_round(package: str) -> None:
    assert circles(graph(package, typed=False)) == []


BY_NAME = {
    "import_module": {
        "tidemark_conformance.registry.protocols": "what a protocol.toml names, and a protocol's own modules",
        "tidemark_conformance.cli": "a command's module, from above all floors",
        "tidemark_conformance.implementation.compiled": "the package whose modules it replaces",
        "tidemark_conformance.spark.bootstrap": "a worker's part of a job, whose package arrives with it",
    },
    "walk_packages": {"tidemark_conformance.registry.protocols": "a protocol's own modules"},
    "exec": {"tidemark_conformance.tla.python.checks": "Python made of a specification"},
    "eval": {
        "tidemark_conformance.tla.python.emit": "a constant of it",
        "tidemark_conformance.prove.counterexample": "Z3's models have a method of that name",
        "tidemark_conformance.symbolic.witness": "the same",
    },
}
"""Ways to import a module by a name that no import statement shows -> the modules that may use them, each with why."""
NOWHERE = {"__import__", "exec_module", "load_module", "runpy", "spec_from_file_location", "iter_modules", "zipimport"}
"""Further ones, which none may use."""


def words(file: Path) -> set[str]:
    """Every name in a file's code, and every string that is one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.alias):
            found |= {*node.name.split("."), *(node.asname or "").split(".")}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


def test_no_import_hides_in_a_name() -> None:
    """Else a module could reach any floor unseen. Where it is needed it is known, and no entry here is stale."""
    used: dict[str, set[str]] = {way: set() for way in (*BY_NAME, *NOWHERE)}
    for package in PACKAGES:
        for name, file in modules(package).items():
            for way in words(file) & used.keys():
                used[way].add(name)
    assert used == {way: set(BY_NAME.get(way, ())) for way in used}


def test_only_a_descriptor_and_a_simulator_reach_the_flaws() -> None:
    """Production reaches neither a flaws.py, nor the removal of rules, nor the simulator that makes flawed nodes."""
    for name, used in graph("tidemark", typed=True).items():
        last = name.rpartition(".")[2]
        simulated = last == "protocol" or ".sim." in f"{name}." or name.startswith("tidemark.compositions.")
        simulators = {one for one in used if ".sim." in f"{one}."}
        assert not simulators or simulated, f"{name} imports {sorted(simulators)}"
        flaws = {one for one in used if one.endswith(".flaws")}
        assert not flaws or simulated, f"{name} imports {sorted(flaws)}"
        removal = "tidemark.common.removal" in used
        assert not removal or last == "flaws" or name == "tidemark.simulator.protocol", f"{name} removes rules"


def test_the_implementation_knows_nothing_of_the_auditor() -> None:
    known = modules("tidemark_conformance")
    for file in modules("tidemark").values():
        assert not [name for name, _ in imports(file, known)], f"{file} imports from tidemark_conformance"
