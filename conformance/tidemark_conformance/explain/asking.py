"""Where the implementation asks a rule: the functions that call it, found in the text of its package.

Nothing is listed by hand. A rule is a field of a class of rules (`Rules` of `tidemark.<protocol>.rules`), and a handler
that was given such an object asks `rules.reached_epoch_start(...)`. An object's class is known by its annotation; where
there is none, the classes of rules that the module imports decide.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tidemark_conformance.explain.source import Line
from tidemark_conformance.paths import spec_root

BEFORE, AFTER = 3, 2
"""So many lines of the function are shown before and after the one that asks."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Ask:
    """A function that asks a rule.

    `place`: `impl/package/module.py:line` of its first question. `function`: its name with its class's. `handlers`: the
    functions of its module that call it, directly or not, and have an action's name. Without any, they are the public
    ones; empty where it is itself one. `lines`: its text around each question.
    """

    place: str
    function: str
    handlers: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class _Module:
    """A module of the implementation: its dotted name, file, text, and the rules known in it.

    `imported`: names that it imports from modules of rules -> these. `typed`: names of variables, without underscores
    in front -> the modules of the rules' classes that annotate them. `fields`: names that are declared with a type.
    `read`: names of attributes -> where they are read, but not where they are given to another class of rules.
    """

    name: str
    file: Path
    lines: tuple[str, ...]
    tree: ast.Module
    imported: dict[str, str] = field(default_factory=dict)
    typed: dict[str, set[str]] = field(default_factory=dict)
    fields: set[str] = field(default_factory=set)
    read: dict[str, list[ast.Attribute]] = field(default_factory=dict)

    @property
    def of_rules(self) -> bool:
        """Whether it defines rules, or flawed ones."""
        return _is_of_rules(self.name) or self.name.endswith("flaws")


def _is_of_rules(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last == "rules" or last.endswith("_rules")


def asks(package: str, rules: str, function: str, actions: Collection[str] = ()) -> tuple[Ask, ...]:
    """The functions of the package's distribution that ask `function`, a rule of the module `rules`, by place.

    `actions`: the handlers' names of those actions that have the rule. Modules of the package itself come first. Empty
    where the package is not installed.
    """
    modules = _modules(package.partition(".")[0])
    known: dict[str, set[str]] = {function: {rules}}
    for module in modules:
        for name, home in _given_to(module, function) if module.name == rules else ():
            known.setdefault(name, set()).add(home)
    homes = {
        name: [module.name for module in modules if _is_of_rules(module.name) and name in module.fields]
        for name in known
    }
    found: list[Ask] = []
    for module in sorted(modules, key=lambda module: (not module.name.startswith(f"{package}."), module.name)):
        if module.of_rules:
            continue
        chosen = [
            node
            for name, wanted in known.items()
            for node in module.read.get(name, ())
            if _is_asked(module, node, wanted, homes[name])
        ]
        found += _by_function(module, chosen, actions)
    return tuple(found)


# --- the modules ----------------------------------------------------------------------------------------------------


@cache
def _modules(package: str) -> tuple[_Module, ...]:
    """Every module of a top-level package, by its text."""
    spec = importlib.util.find_spec(package)
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    files = sorted((Path(root), file) for root in roots for file in Path(root).rglob("*.py"))
    return tuple(_module(package, root, file) for root, file in files)


def _module(package: str, root: Path, file: Path) -> _Module:
    text = file.read_text(encoding="utf-8")
    tree = ast.parse(text)
    parts = file.relative_to(root).with_suffix("").parts
    name = ".".join((package, *(part for part in parts if part != "__init__")))
    module = _Module(name, file, tuple(text.splitlines()), tree)
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and _is_of_rules(node.module):
            module.imported.update({alias.asname or alias.name: node.module for alias in node.names})
    given = {
        id(one.value)
        for node in nodes
        if isinstance(node, ast.Call) and _last(node.func) in module.imported
        for one in node.keywords
    }
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in given:
            module.read.setdefault(node.attr, []).append(node)
        elif isinstance(node, ast.arg) and node.annotation is not None:
            _type(module, node.arg, node.annotation)
        elif isinstance(node, ast.AnnAssign):
            module.fields.add(_last(node.target))
            _type(module, _last(node.target), node.annotation)
    return module


def _type(module: _Module, name: str, annotation: ast.expr) -> None:
    """Note the classes of rules in a variable's annotation."""
    for one in ast.walk(annotation):
        if isinstance(one, ast.Name) and one.id in module.imported:
            module.typed.setdefault(name.lstrip("_"), set()).add(module.imported[one.id])


def _last(node: ast.expr) -> str:
    """The last name of `rules` or `self._rules`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _given_to(module: _Module, function: str) -> Iterator[tuple[str, str]]:
    """The rules that this module makes of its own `function`, for others that ask it: their names in the classes of
    rules of other modules, and these modules."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and _last(node.func) in module.imported:
            for each in node.keywords:
                values = [one for one in ast.walk(each.value) if isinstance(one, ast.expr)]
                if each.arg is not None and any(_last(one) == function for one in values):
                    yield each.arg, module.imported[_last(node.func)]


# --- the questions --------------------------------------------------------------------------------------------------


def _is_asked(module: _Module, node: ast.Attribute, wanted: set[str], homes: list[str]) -> bool:
    """Whether the attribute is that of an object with the wanted rules."""
    owner = _last(node.value).lstrip("_")
    if known := module.typed.get(owner):
        return bool(known & wanted)
    if not owner.endswith("rules"):
        return False
    imported = set(module.imported.values())
    return bool(imported & wanted) if imported else len(homes) == 1


def _by_function(module: _Module, nodes: list[ast.Attribute], actions: Collection[str]) -> Iterator[Ask]:
    functions = list(_functions(module.tree))
    found: dict[str, tuple[Function, list[int]]] = {}
    for node in sorted(nodes, key=lambda node: node.lineno):
        around = [(name, one) for name, one in functions if one.lineno <= node.lineno <= (one.end_lineno or one.lineno)]
        if around:
            name, one = max(around, key=lambda pair: pair[1].lineno)
            found.setdefault(name, (one, []))[1].append(node.lineno)
    for name, (one, numbers) in found.items():
        first, last = one.lineno, one.end_lineno or one.lineno
        shown = sorted(
            {number for asked in numbers for number in range(max(first, asked - BEFORE), min(last, asked + AFTER) + 1)}
        )
        lines = tuple(Line(module.file.name, number, module.lines[number - 1]) for number in shown)
        place = f"{_place(module)}:{min(numbers)}"
        yield Ask(place, name, tuple(_handlers(functions, name, actions)), lines)


def _functions(tree: ast.AST, owner: str = "") -> Iterator[tuple[str, Function]]:
    """Every function and method with its qualified name; functions inside functions belong to these."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{owner}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{owner}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from _functions(node, owner)


def _handlers(functions: list[tuple[str, Function]], name: str, actions: Collection[str]) -> list[str]:
    """The functions that come to one by calls, nearest first: those with an action's name, else the public ones."""
    if _short(name) in actions:
        return []
    seen, todo = [name], [name]
    while todo:
        called = _short(todo.pop(0))
        for caller, one in functions:
            if caller not in seen and called in _called(one):
                seen.append(caller)
                todo.append(caller)
    callers = seen[1:]
    named = [caller for caller in callers if _short(caller) in actions]
    return named or [
        caller for caller in callers if not _short(caller).startswith("_") and _short(name).startswith("_")
    ]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _called(function: Function) -> set[str]:
    """The last names of what a function calls."""
    return {_last(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def _place(module: _Module) -> str:
    tree = spec_root().parent
    file = module.file.resolve()
    return str(file.relative_to(tree)) if file.is_relative_to(tree) else f"{module.name.replace('.', '/')}.py"
