"""How large the sets of TypeOK and of parameters' domains are, by their text, before anything of that size is built.

A count is an upper bound: a filtered set counts as the set that it filters, because all of that would be gone through.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemark_conformance.tla.ir import (
    Binder,
    Const,
    Expr,
    If,
    Let,
    Local,
    Op,
    RecordSet,
    SetEnum,
    SetFilter,
    SetMap,
)
from tidemark_conformance.tla.typeok import bounded_sequences, strip, unfolded
from tidemark_conformance.tla.types import Evaluate
from tidemark_conformance.tla.walk import walk

MAX_CELLS = 100_000
"""The most cells of a state."""

MAX_MEMBERS = 1_000_000
"""The most members of a set that is listed: a function's domain, a parameter's, a set of values."""

_MORE = MAX_MEMBERS + 1
"""Every count above the limit is this one, so that no number grows without end."""


def members(expr: Expr, constant: Evaluate) -> int:
    """How many members a constant set has at most, up to one above `MAX_MEMBERS`; 0 where its text does not say."""
    match strip(expr):
        case Op("boolean", _):
            return 2
        case Op("range", (low, high)):
            ends = constant(low), constant(high)
            return max(0, min(ends[1] - ends[0] + 1, _MORE)) if all(type(end) is int for end in ends) else 0
        case Op("powerset", (inner,)):
            return _power(2, members(inner, constant))
        case Op("function_set", (domain, target)):
            return _power(members(target, constant), members(domain, constant))
        case Op("product", parts):
            return _product(members(part, constant) for part in parts)
        case RecordSet(fields):
            return _product(members(part, constant) for _, part in fields)
        case Op("union", (a, b)):
            return min(members(a, constant) + members(b, constant), _MORE)
        case Op("intersect" | "setminus", (a, _)):
            return members(a, constant)
        case SetFilter(binder):
            return _of_binder(binder, constant)
        case SetMap(binders):
            return _product(_of_binder(binder, constant) for binder in binders)
        case SetEnum(items):
            return len(items)
        case If(condition, then, orelse):
            return members(then if constant(condition) else orelse, constant)
        case Let() as definition:
            return members(unfolded(definition), constant)
        case Const() as name:
            value = constant(name)
            return len(value) if isinstance(value, frozenset) else 0
    return 0


def _of_binder(binder: Binder, constant: Evaluate) -> int:
    """The members of a binder's domain; 0 where it depends on another binder."""
    if any(isinstance(node, Local) for node in walk(binder.domain)):
        return 0
    return members(binder.domain, constant)


def _power(base: int, exponent: int) -> int:
    return min(int(base ** min(exponent, _MORE.bit_length())), _MORE)


def _product(counts: Iterable[int]) -> int:
    total = 1
    for count in counts:
        total = min(total * count, _MORE)
    return total


def listed(expr: Expr, constant: Evaluate) -> int:
    """The members of the largest set that has to be listed to read the type of TypeOK's set `expr`, as `members`."""
    match strip(expr):
        case Op("boolean" | "range", _):
            return 0
        case Op("function_set", (domain, target)):
            return max(members(domain, constant), listed(target, constant))
        case Op("powerset", (inner,)):
            return max(members(inner, constant), listed(inner, constant))
        case Op("union" | "product", parts):
            return max(listed(part, constant) for part in parts)
        case RecordSet(fields):
            return max(listed(part, constant) for _, part in fields)
        case Op("bigunion", (family,)):
            match strip(family):
                case SetMap(_, body) if isinstance(each := strip(body), Op) and each.name == "function_set":
                    return listed(each.args[1], constant)
            return 0
        case SetFilter() as filtered if (sequences := bounded_sequences(filtered)) is not None:
            return listed(sequences[0], constant)
        case If(condition, then, orelse):
            return listed(then if constant(condition) else orelse, constant)
        case Let() as definition:
            return listed(unfolded(definition), constant)
    return members(expr, constant)
