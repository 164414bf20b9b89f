"""Puts a cfg's operators and values in place of a module's operators, as TLC does: it edits SANY's tables.

`Op <- Other` gives Op the definition of Other. `Op = value` makes a constant of it, as is usual with `NoValue == CHOOSE
v : v \\notin Value`. A value or operator for a declared CONSTANT is no override.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import sany
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.scope import refuse


def overridden(tables: sany.Tables, config: Config) -> sany.Tables:
    """The tables with the cfg's overrides. Raises Unusable (Unsupported) for one that TLC could not do either."""
    entries = dict(tables.entries)
    for name in (*config.constants, *config.substitutions):
        uid = tables.operator(name)
        entry = tables.entries.get(uid) if uid is not None else None
        if uid is None or entry is None or (isinstance(entry, sany.Declaration) and entry.kind == "variable"):
            raise unknown(config, name, tables.root)
        if not isinstance(entry, sany.Definition):
            continue
        if name in config.constants:
            if entry.params:
                raise refuse(
                    entry.loc, f"{name} has parameters, but the cfg gives it a value", f"write {name} <- Operator"
                )
            entries[uid] = sany.Declaration(name, "constant", 0, entry.loc)
            continue
        other = _other(tables, config, entry)
        entries[uid] = replace(other, name=name)
    _refuse_circles(tables, entries, config)
    return replace(tables, entries=entries)


def unknown(config: Config, name: str, root: str) -> Unusable:
    """The error for a value that a cfg gives to a name that the module does not have."""
    return Unusable(
        f"{config.path}:{config.lines[name]}: {name} is given a value, but is no constant and no operator of {root}: "
        "correct its name, or remove it"
    )


def require_known(config: Config, root: str, names: Collection[str]) -> None:
    """Raises Unusable for a constant of the cfg that is none of the `names` of the root module: TLC ignores it."""
    for name in config.constants:
        if name not in names:
            raise unknown(config, name, root)


def _other(tables: sany.Tables, config: Config, entry: sany.Definition) -> sany.Definition:
    name = config.substitutions[entry.name]
    uid = tables.operator(name)
    found = tables.entries.get(uid) if uid is not None else None
    if not isinstance(found, sany.Definition):
        raise Unusable(
            f"{config.path} puts {name} for {entry.name}, but {tables.root} does not define {name}: define it"
        )
    if len(found.params) != len(entry.params):
        raise refuse(
            found.loc,
            f"{name} has {len(found.params)} parameters, {entry.name}, for which the cfg puts it, {len(entry.params)}",
            "give both the same number",
        )
    return found


def _refuse_circles(tables: sany.Tables, entries: dict[int, sany.Entry], config: Config) -> None:
    """Raises Unsupported where an operator, put for another, is defined by that other one."""
    for name, other in config.substitutions.items():
        uid = tables.operator(name)
        entry = entries[uid] if uid is not None else None
        if isinstance(entry, sany.Definition) and uid in _reached(entries, entry):
            raise refuse(
                entry.loc,
                f"{other} stands for {name} in the cfg and is defined by it",
                f"define {other} without {name}",
            )


def _reached(entries: dict[int, sany.Entry], start: sany.Definition) -> set[int]:
    """The operators that a definition is made of, those that they are made of, and so on."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        body = waiting.pop().body
        for uid in _mentioned(body) if body is not None else ():
            if uid not in found:
                found.add(uid)
                entry = entries.get(uid)
                if isinstance(entry, sany.Definition):
                    waiting.append(entry)
    return found


def _mentioned(node: sany.Node) -> Iterator[int]:
    if isinstance(node, sany.Apply):
        yield node.operator
        for bound in node.bounds:
            if bound.domain is not None:
                yield from _mentioned(bound.domain)
        for operand in node.operands:
            yield from _mentioned(operand)
    elif isinstance(node, sany.LetIn):
        yield from node.definitions
        yield from _mentioned(node.body)
    elif isinstance(node, sany.OperatorArgument):
        yield node.operator
    elif isinstance(node, sany.Substitution):
        for _, value in node.substitutions:
            yield from _mentioned(value)
        yield from _mentioned(node.body)
