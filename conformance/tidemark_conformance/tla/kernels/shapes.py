"""Checks that cells are a value's: unused ones 0, used ones within bounds that padding hides."""

from __future__ import annotations

from tidemark_conformance.tla import limits
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.driver import CAPACITY, MALFORMED, WRONG
from tidemark_conformance.tla.kernels.symbols import Address, scaled
from tidemark_conformance.tla.types import (
    TFun,
    TInt,
    TRec,
    TSeq,
    TTuple,
    TUnion,
    Type,
    bounds,
    size,
    slots,
)


def shaped(kind: Type) -> bool:
    """Whether a type has cells that may be unused, or elements that need not have all bounds."""
    match kind:
        case TSeq() | TUnion():
            return True
        case TFun(_, _, target):
            return shaped(target)
        case TRec(fields):
            return any(shaped(part) for _, part in fields)
        case TTuple(parts):
            return any(shaped(part) for part in parts)
    return False


def reason(cell: limits.Cell, below: bool) -> int:
    """Why a stream is not decided, or wrong, whose cell is below (or above) its limits."""
    if cell.ends is None or (below and cell.noun):
        return MALFORMED
    limit = cell.ends.low if below else cell.ends.high
    return CAPACITY if limit.capacities else WRONG


def shape(c: Context, base: Address, kind: Type, tree: limits.Tree, padded: bool = False) -> None:
    """Lines that return the reason when cells are no value's: bounds that padding hid, unused cells that are not 0."""
    match kind:
        case TSeq(elem, cap):
            width = size(elem)
            total = c.name("n")
            c.line(f"{total} = p[{base}]")
            if _needs_shape(elem):
                index = c.name("i")
                c.line(f"{index} = 0")
                with c.block(f"while {index} < {total}:"):
                    offset, term = scaled(index, width)
                    shape(c, base.plus(1 + offset, term), elem, limits.element(tree), True)
                    c.line(f"{index} += 1")
            offset, term = scaled(total, width)
            c.line(f"if nonzero(p, {base.plus(1 + offset, term)}, {base.plus(1 + cap * width)}):")
            c.nest(["return 4"])
        case TFun(domain, _, target) if _needs_shape(target) or shaped(target):
            index = c.name("i")
            c.line(f"{index} = 0")
            with c.block(f"while {index} < {len(domain)}:"):
                offset, term = scaled(index, size(target))
                shape(c, base.plus(offset, term), target, limits.element(tree), padded)
                c.line(f"{index} += 1")
        case TRec(fields):
            for name, part in fields:
                shape(c, base, part, limits.within(tree, name), padded)
                base = base.plus(size(part))
        case TTuple(parts):
            for number, part in enumerate(parts):
                shape(c, base, part, limits.within(tree, number), padded)
                base = base.plus(size(part))
        case TUnion():
            _shape_union(c, base, kind, tree)
        case TInt(lo, hi) if padded and lo is not None and hi is not None and (lo > 0 or hi < 0):
            cell = limits.Cell(tree if isinstance(tree, limits.Ends) else None, "")
            for test, below in ((f"< {lo}", True), (f"> {hi}", False)):
                c.line(f"if p[{base}] {test}:")
                c.nest([f"return {reason(cell, below)}"])


def _needs_shape(kind: Type) -> bool:
    return shaped(kind) or any(lo > 0 or hi < 0 for lo, hi in bounds(kind))


def _shape_union(c: Context, base: Address, kind: TUnion, tree: limits.Tree) -> None:
    tag = c.named(f"p[{base}]", "g")
    for slot in slots(kind):
        allowed = sum(1 << index for index in slot.tags)
        here = base.plus(slot.offset)
        if len(slot.tags) < len(kind.tags.members):
            c.line(f"if ({allowed} >> {tag}) & 1 == 0:")
            c.nest([f"if nonzero(p, {here}, {here.plus(size(slot.type))}):", "    return 4"])
        if _needs_shape(slot.type):
            with c.block(f"if ({allowed} >> {tag}) & 1 != 0:"):
                shape(c, here, slot.type, limits.of_slot(tree, kind, slot), True)
