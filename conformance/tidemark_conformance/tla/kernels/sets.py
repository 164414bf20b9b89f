"""Sets as bit masks, and the universes that masks are over."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.kernels import compound, universes, values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    Choice,
    Enum,
    Flat,
    Infinite,
    Int,
    Join,
    Mask,
    Range,
    Symbol,
)
from tidemark_conformance.tla.types import (
    TSet,
)


def bit_of(c: Context, value: Symbol, kind: TSet) -> str:
    """1 shifted to a value's place in a universe; the bit OUTSIDE if it has none."""
    code, total = compound.position(c, value, kind.members, kind.elem)
    if code.isdigit():
        return str(1 << int(code))
    return f"(1 << {code})" if total else f"shl1({code})"


def to_mask(c: Context, value: Symbol, kind: TSet) -> str:
    """A set as a mask over a universe; elements that the universe does not have set the bit OUTSIDE."""
    match value:
        case Mask(code, own):
            return code if own == kind else _remapped(c, code, own, kind)
        case Enum(items):
            return " | ".join(bit_of(c, item, kind) for item in items).join("()") if items else "0"
        case Range(lo, hi) if values.contiguous(kind.members):
            low = kind.members[0]
            return f"rangemask({lo.code} - {low}, {hi.code} - {low}, {len(kind.members)})"
        case Join(left, right):
            return f"({to_mask(c, left, kind)} | {to_mask(c, right, kind)})"
        case Choice(condition, then, orelse):
            merged = values.choice(
                c, condition, lambda: Int(to_mask(c, then, kind)), lambda: Int(to_mask(c, orelse, kind))
            )
            return cast(Int, merged).code
        case Flat(inner):
            return _collect(c, inner, lambda element: to_mask(c, element, kind))
        case Infinite():
            raise c.unsupported("an infinite set is used as a value")
    return _collect(c, value, lambda element: bit_of(c, element, kind))


def _remapped(c: Context, code: str, own: TSet, kind: TSet) -> str:
    if not own.members:
        return "0"
    positions = {member: i for i, member in enumerate(kind.members)}
    mapping = [positions.get(member, -1) for member in own.members]
    shift = mapping[0]
    if shift >= 0 and mapping == list(range(shift, shift + len(mapping))):
        return f"({code} << {shift})" if shift else code
    return f"remap(p, {code}, {c.memory.table(mapping)})"


def _collect(c: Context, value: Symbol, bits: Callable[[Symbol], str]) -> str:
    mask = c.name("m")
    c.line(f"{mask} = 0")
    c.iterate(value, lambda element: c.line(f"{mask} |= {bits(element)}"), None)
    return mask


def as_mask(c: Context, value: Symbol) -> Mask | None:
    """A set as a mask over a universe of its own, None if it has none."""
    if isinstance(value, Mask):
        return value
    kind = universes.universe(c, value)
    return None if kind is None else Mask(to_mask(c, value, kind), kind)
