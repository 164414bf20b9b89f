"""The arguments of an inlined operator as text: only for the labels of marks, nothing is decided by it.

A formal parameter is printed as its argument. So a text holds the names that are bound around the whole formula, as the
IR does.
"""

from __future__ import annotations

from tidemark_conformance.tla import sany
from tidemark_conformance.tla.ir import Local, Var
from tidemark_conformance.tla.scope import Closure, Context, Fixed, Meaning, Operator

LONG = 40
"""An argument with more characters is printed as "..."."""
ELSE = "..."

_INFIX = {
    "/=": "#",
    "\\union": "\\cup",
    "\\intersect": "\\cap",
    "\\land": "/\\",
    "\\lor": "\\/",
    "\\equiv": "<=>",
}
"""Infix operators that are printed in another way than SANY names them."""
_PREFIX = {"SUBSET": "SUBSET ", "UNION": "UNION ", "DOMAIN": "DOMAIN ", "\\lnot": "~", "-.": "-"}
_AROUND = {"$Tuple": ("<<", ">>"), "$SetEnumerate": ("{", "}")}


def argument(meaning: Meaning, tables: sany.Tables) -> str:
    """The text of an operator's argument for one of its parameters; ELSE for a long one."""
    text = _meaning(meaning, tables)
    return text if len(text) <= LONG and ELSE not in text else ELSE


def _meaning(meaning: Meaning, tables: sany.Tables) -> str:
    if isinstance(meaning, Closure):
        return _text(meaning.node, meaning.context, tables)
    if isinstance(meaning, Operator):
        return _name(meaning.uid, tables)
    if isinstance(meaning, Fixed):
        return meaning.expr.name if isinstance(meaning.expr, Local | Var) else ELSE
    return _meaning(meaning.closure, tables) if meaning.argument else meaning.local.name


def _name(uid: int, tables: sany.Tables) -> str:
    entry = tables.entries.get(uid)
    return entry.name if entry is not None else ELSE


def _text(node: sany.Node, context: Context, tables: sany.Tables) -> str:
    if isinstance(node, sany.Numeral):
        return str(node.value)
    if isinstance(node, sany.String):
        return f'"{node.value}"'
    if isinstance(node, sany.At):
        return "@"
    if isinstance(node, sany.OperatorArgument | sany.Apply):
        meaning = context.env.get(node.operator) or context.substitutions.get(node.operator)
        given = node.operands if isinstance(node, sany.Apply) else ()
        if meaning is not None and not given:
            return _meaning(meaning, tables)
        if isinstance(node, sany.Apply) and not node.bounds:
            return _applied(node, context, tables)
        return ELSE if given else _name(node.operator, tables)
    return ELSE


def _applied(node: sany.Apply, context: Context, tables: sany.Tables) -> str:
    """An operator without bound identifiers, applied."""
    name = _name(node.operator, tables)
    texts = [_text(operand, context, tables) for operand in node.operands]
    match (name, texts):
        case ("$FcnApply", [function, key]):
            return f"{function}[{key.removeprefix('<<').removesuffix('>>') if key.startswith('<<') else key}]"
        case ("$RcdSelect", [record, field]):
            return f"{record}.{field.strip(chr(34))}"
        case ("'", [primed]):
            return f"{primed}'"
        case (_, [left, right]) if not (name[0].isalpha() or name[0] == "$"):
            left, right = (f"({text})" if " " in text and text[-1] not in ")]>}" else text for text in (left, right))
            return f"{left} {_INFIX.get(name, name)} {right}"
        case (_, [operand]) if name in _PREFIX:
            return f"{_PREFIX[name]}{operand}"
    if name in _AROUND:
        opening, closing = _AROUND[name]
        return f"{opening}{', '.join(texts)}{closing}"
    if name[0] == "$":
        return ELSE
    return f"{name}({', '.join(texts)})" if texts else name
