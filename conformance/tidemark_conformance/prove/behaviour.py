"""The behaviours that a theorem is about: the cfg's SPECIFICATION, compared with the Init and Next that are compiled.

A proof judges Init and the actions of Next. So its claim is the cfg's only where SPECIFICATION is made of these, and
its box leaves no variable free. Fairness may follow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import sany
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.elaborate import Elaborator
from tidemark_conformance.tla.extract import HISTORY
from tidemark_conformance.tla.relation import Relation
from tidemark_conformance.tla.scope import Context, refuse
from tidemark_conformance.tla.spec import parsed


def require_behaviours(module: Path, config: Config) -> None:
    """Refuse a SPECIFICATION with other behaviours than those of Init and Next. Raises Unusable, with the line."""
    _, tables = parsed(module)
    relation = Relation(tables, config)
    history = tables.operator(HISTORY) is not None
    if config.specification is None:
        if history and (config.init or "Init", config.next or "Next") != ("Init", "Next"):
            raise Unusable(f"{config.path}: with {HISTORY} the proof is about Init and Next: name these")
        return
    _, spec = relation.definition(config.specification, "the cfg's SPECIFICATION")
    wanted = ["Init", "HistoryInit"] if history else []
    parts = relation.temporal_parts(spec.body)
    boxes = [box for part in parts if (box := relation.square(part)) is not None]
    if history:
        form = "Init /\\ HistoryInit /\\ [][Next /\\ HistoryNext]_<<vars, History>>"
        first = [name for part in parts if part.level <= 1 for name in _mentioned(relation, part)]
        second = list(_mentioned(relation, boxes[0].action)) if len(boxes) == 1 else []
        if sorted(first) != sorted(wanted) or sorted(second) != ["HistoryNext", "Next"]:
            raise refuse(spec.loc, f"{spec.name} is not {form}", "write it so (fairness may follow)")
    if len(boxes) != 1:
        raise refuse(spec.loc, f"{spec.name} is not Init /\\ [][Next]_vars", "write it so (fairness may follow)")
    elaborator = Elaborator(relation.tables)
    boxed = elaborator.variable_names(elaborator.expression(boxes[0].subscript, Context()), boxes[0].subscript.loc)
    declared = (entry for uid in tables.members if isinstance(entry := tables.entries[uid], sany.Declaration))
    free = [entry.name for entry in declared if entry.kind == "variable" and entry.name not in boxed]
    if free:
        raise refuse(spec.loc, f"the box of {spec.name} leaves {free[0]} free", "name every variable in its subscript")


def _mentioned(relation: Relation, node: sany.Node) -> Iterator[str]:
    """The operators that a conjunction of plain mentions names; "?" for another conjunct."""
    if isinstance(node, sany.Apply):
        entry = relation.tables.entries[node.operator]
        if entry.name in ("\\land", "$ConjList"):
            for operand in node.operands:
                yield from _mentioned(relation, operand)
            return
        if isinstance(entry, sany.Definition) and not node.operands:
            yield entry.name
            return
    yield "?"
