"""The index of a compound value in a universe, and the cells that it is computed from."""

from __future__ import annotations

from tidemark_conformance.tla.kernels import compound, equality, storing
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import Choice, Int, Place, Rec, Symbol
from tidemark_conformance.tla.types import TFun, TRec, TTuple, TUnion, Type, bounds, encode, is_scalar, size


def rank(c: Context, value: Symbol, members: tuple[object, ...], elem: Type) -> tuple[str, bool]:
    """The index of a compound value (or set) among the members of a universe: -1, and False, where it may be none."""
    limits = bounds(elem)
    if len(limits) > 16:
        raise c.unsupported("an element of a set (or key of a function) has more than 16 cells")
    span = 1
    for lo, hi in limits:
        span *= hi - lo + 1
    if span > 1 << 16:
        raise c.unsupported(
            f"elements of a set (or keys of a function) range over {span} combinations, more than 65536"
        )
    cells = cells_of(c, value, elem)
    if cells is None:
        return "-1", False
    total = isinstance(value, Place) and value.kind == elem and span == len(members)
    return f"{_rank_helper(c, members, elem)}(p, {', '.join(cells)})", total


def _rank_helper(c: Context, members: tuple[object, ...], elem: Type) -> str:
    limits = bounds(elem)
    span = 1
    for lo, hi in limits:
        span *= hi - lo + 1
    table = [-1] * span
    for index, member in enumerate(members):
        code = 0
        for cell, (lo, hi) in zip(encode(elem, member), limits, strict=True):
            code = code * (hi - lo + 1) + cell - lo
        table[code] = index
    place = c.memory.table(table)

    def text(name: str) -> str:
        names = [f"c{i}" for i in range(len(limits))]
        lines = [f'def {name}(p: "I64", {", ".join(names)}):']
        code = "0"
        for cell, (lo, hi) in zip(names, limits, strict=True):
            lines += [f"    if {cell} < {lo} or {cell} > {hi}:", "        return -1"]
            code = f"({code} * {hi - lo + 1} + {cell} - {lo})" if code != "0" else f"({cell} - {lo})"
        lines.append(f"    return p[{place} + {code}]")
        return "\n".join(lines)

    return c.helper("rank", (place, tuple(limits)), text)


def cells_of(c: Context, value: Symbol, kind: Type) -> list[str] | None:
    """The cells of a value in a type, without storing it; None if it certainly is no value of the type."""
    if is_scalar(kind):
        return [c.keep(storing.scalar_code(c, kind, value))]
    if isinstance(value, Place) and value.kind == kind:
        return [f"p[{value.base.plus(i)}]" for i in range(size(kind))]
    if isinstance(value, Choice):
        place = storing.materialize(c, value)
        if place.kind == kind:
            return cells_of(c, place, kind)
    parts: list[list[str] | None] = []
    inside = _on_its_domain(c, value, kind)
    if inside == "False":
        return None
    if inside != "True":
        return _stored_cells(c, value, kind, inside)
    match kind:
        case TRec(fields):
            names = compound.field_names(value)
            if names is not None and names != [name for name, _ in fields]:
                return None
            parts = [cells_of(c, compound.field(c, value, name), field) for name, field in fields]
        case TTuple(kinds):
            indices = [Int(str(i + 1), i + 1, i + 1) for i in range(len(kinds))]
            parts = [cells_of(c, compound.apply(c, value, i), k) for i, k in zip(indices, kinds, strict=True)]
        case TUnion() if isinstance(value, Rec | Place):
            cases = storing.variants_for(c, kind, value)
            if not cases:
                return None
            if len(cases) == 1 and cases[0][1] == "True":
                cells = [str(cases[0][0])] + ["0"] * (size(kind) - 1)
                for slot in cases[0][2]:
                    own = cells_of(c, compound.field(c, value, slot.name), slot.type)
                    if own is None:
                        return None
                    cells[slot.offset : slot.offset + len(own)] = own
                return cells
            return _stored_cells(c, value, kind)
        case _:
            return _stored_cells(c, value, kind)
    if any(part is None for part in parts):
        return None
    return [cell for part in parts for cell in part or []]


def _on_its_domain(c: Context, value: Symbol, kind: Type) -> str:
    """Whether a value has the length of a tuple's type, or the domain of a function's: else it is no value of it."""
    if isinstance(kind, TTuple):
        return equality.equal(c, compound.length(c, value), Int(str(len(kind.parts))))
    if isinstance(kind, TFun):
        return equality.has_domain(c, value, kind)
    return "True"


def _stored_cells(c: Context, value: Symbol, kind: Type, inside: str = "True") -> list[str]:
    """A value written to scratch to read its cells. One that does not fit, or is not `inside`, gets a first cell that
    no value has."""
    base = c.room(kind)
    saved, bad = c.name("o"), c.name("f")
    c.line(f"{bad} = True")
    with c.when(inside):
        c.line(f"{saved} = p[1]")
        c.line("p[1] = 0")
        storing.store(c, base, kind, value, checked=True)
        c.line(f"{bad} = p[1] != 0")
        c.line(f"p[1] = {saved}")
    first = c.named(f"(-(1 << 40) if {bad} else p[{base}])")
    return [first, *(f"p[{base.plus(i)}]" for i in range(1, size(kind)))]
