"""Storing symbolic values into cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tidemark_conformance.tla.kernels import compound, segments, sets, universes, values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Gen,
    Int,
    Item,
    Mask,
    Place,
    Run,
    Symbol,
    Update,
    is_set,
    scaled,
)
from tidemark_conformance.tla.types import (
    Slot,
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    is_scalar,
    size,
    slots,
)


def materialize(c: Context, value: Symbol) -> Place:
    """A compound value as a place, in scratch if it is none yet."""
    if isinstance(value, Place):
        return value
    kind = universes.type_of(c, value)
    base = c.room(kind)
    store(c, base, kind, value, checked=False)
    return Place(base, kind)


def scalar_code(c: Context, kind: Type, value: Symbol) -> str:
    """The cell of a scalar value in a type's representation (out of range where it has none)."""
    match kind, value:
        case TInt(), Int():
            return value.code
        case TBool(), Bool():
            return f"(1 if {value.code} else 0)"
        case TAtom(members), Atom():
            return values.atom_index(c, value, members)[0]
        case TSet(), _ if is_set(value):
            return sets.to_mask(c, value, kind)
        case _, Choice(condition, then, orelse):
            return values.integer(
                c,
                values.choice(
                    c,
                    condition,
                    lambda: Int(scalar_code(c, kind, then)),
                    lambda: Int(scalar_code(c, kind, orelse)),
                ),
            ).code
    raise c.unsupported(f"a {values.kind_name(value)} where another kind is expected")


def store(c: Context, base: Address, kind: Type, value: Symbol, checked: bool = True) -> None:
    """Write a value's cells; `checked`: a value without cells in the type sets the overflow flag."""
    if isinstance(value, Choice) and not is_scalar(kind):
        for header, branch in ((f"if {value.condition}:", value.then), ("else:", value.orelse)):
            with c.block(header):
                store(c, base, kind, branch, checked)
        return
    if is_scalar(kind):
        _store_scalar(c, base, kind, value, checked)
        return
    if isinstance(value, Place) and value.kind == kind:
        if isinstance(kind, TSeq):
            c.line(f"copyseq(p, {base}, {value.base}, {size(kind.elem)}, {size(kind)})")
        else:
            c.line(f"copyrun(p, {base}, {value.base}, {size(kind)})")
        return
    if isinstance(value, Update) and _store_update(c, base, kind, value, checked):
        return
    match kind:
        case TSeq():
            _store_sequence(c, base, kind, value, checked)
        case TFun(domain, key, target):
            universe = TSet(key, domain)
            index = c.name("i")
            c.line(f"{index} = 0")
            with c.block(f"while {index} < {len(domain)}:"):
                offset, term = scaled(index, size(target))
                store(c, base.plus(offset, term), target, compound.at_index(c, value, universe, index), checked)
                c.line(f"{index} += 1")
        case TRec(fields):
            at = base
            for name, part in fields:
                store(c, at, part, compound.field(c, value, name), checked)
                at = at.plus(size(part))
        case TTuple(parts):
            at = base
            for i, part in enumerate(parts):
                store(c, at, part, compound.apply(c, value, Int(str(i + 1), i + 1, i + 1)), checked)
                at = at.plus(size(part))
        case TUnion():
            _store_union(c, base, kind, value, checked)


def _store_scalar(c: Context, base: Address, kind: Type, value: Symbol, checked: bool) -> None:
    code = scalar_code(c, kind, value)
    if not checked:
        c.line(f"p[{base}] = {code}")
        return
    match kind, value:
        case TInt(lo, hi), Int(_, low, high):
            fits = (
                None not in (lo, hi, low, high) and cast(int, lo) <= cast(int, low) and cast(int, high) <= cast(int, hi)
            )
            text = code if fits else f"fit(p, {code}, {lo}, {hi})"
        case TAtom(members), Atom():
            text = code if values.atom_index(c, value, members)[1] else f"fit(p, {code}, 0, {len(members) - 1})"
        case TSet(_, members), _:
            same = isinstance(value, Mask) and value.kind == kind
            text = code if same else f"fit(p, {code}, 0, {(1 << len(members)) - 1})"
        case _:
            text = code
    c.line(f"p[{base}] = {text}")


def _store_update(c: Context, base: Address, kind: Type, value: Update, checked: bool) -> bool:
    under, updates = compound.chain(value)
    if not isinstance(kind, TFun) or any(isinstance(update.key, str) for update in updates):
        return False
    store(c, base, kind, under, checked)
    for update in reversed(updates):
        index, inside = compound.update_index(c, kind, update)
        offset, term = scaled(index, size(kind.range))
        with c.when(inside):
            store(c, base.plus(offset, term), kind.range, update.value(), checked)
    return True


def _store_sequence(c: Context, base: Address, kind: TSeq, value: Symbol, checked: bool) -> None:
    total = c.keep(compound.length(c, value).code, "n")
    width = size(kind.elem)
    place = Place(base, kind)
    if checked:
        total = c.named(f"fit(p, {total}, 0, {kind.cap})", "n")
    c.line(f"p[{base}] = {total}")
    if checked:
        c.line("if p[1] == 0:")
    with c.captured() as buffer:
        at = "0"
        for part in compound.sequence_parts(c, value):
            _store_part(c, place, kind, at, part, checked)
            at = segments.advance(at, part)
        offset, term = scaled(total, width)
        rest = f"({kind.cap} - {total}) * {width}"
        c.line(f"zero(p, {base.plus(1 + offset, term)}, {rest})")
    buffer.scope.end()
    if checked:
        c.nest(buffer.lines)
    else:
        c.lines.extend(buffer.lines)


def extend(c: Context, sequence: Place, parts: Sequence[Run | Item | Gen]) -> None:
    """Write parts behind a sequence in scratch, which has room for them; its length comes last."""
    kind = cast(TSeq, sequence.kind)
    at = c.named(f"p[{sequence.base}]", "n")
    for part in parts:
        _store_part(c, sequence, kind, at, part, checked=False)
        at = c.keep(segments.advance(at, part), "n")
    c.line(f"p[{sequence.base}] = {at}")


def copy(c: Context, to: Address, source: Address, kind: Type) -> None:
    """Copy a value's cells within scratch, of a sequence those in use (the others are then not 0)."""
    if isinstance(kind, TSeq):
        width = size(kind.elem)
        used = f"p[{source}]" if width == 1 else f"p[{source}] * {width}"
        c.line(f"copyrun(p, {to}, {source}, 1 + {used})")
    else:
        c.line(f"copyrun(p, {to}, {source}, {size(kind)})")


def _store_part(c: Context, place: Place, kind: TSeq, at: str, part: Run | Item | Gen, checked: bool) -> None:
    width = size(kind.elem)
    if isinstance(part, Item):
        store(c, segments.run_base(place, c.keep(at, "i")), kind.elem, part.value, checked)
        return
    if isinstance(part, Run) and values.element_type(part.place.kind) == kind.elem:
        cells = part.count if width == 1 else f"({part.count}) * {width}"
        c.line(f"copyrun(p, {segments.run_base(place, at)}, {segments.run_base(part.place, part.start)}, {cells})")
        return
    index, count = c.name("i"), c.keep(part.count, "n")
    first = c.keep(at, "i")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {count}:"):
        target = segments.run_base(place, index if first == "0" else f"({first} + {index})")
        store(c, target, kind.elem, segments.part_element(c, part, index), checked)
        c.line(f"{index} += 1")


def variants_for(c: Context, kind: TUnion, value: Symbol) -> list[tuple[int, str, list[Slot]]]:
    """For each tag that a record may have: the tag's index, the condition that it has it, and its slots."""
    tag = compound.field(c, value, "type")
    names = compound.field_names(value)
    found = []
    for index, name in enumerate(kind.tags.members):
        condition = c.equal(tag, Atom("0", (name,)))
        own = [slot for slot in slots(kind) if index in slot.tags]
        if condition != "False" and (names is None or sorted(["type", *(s.name for s in own)]) == names):
            found.append((index, condition, own))
    return found


def _store_union(c: Context, base: Address, kind: TUnion, value: Symbol, checked: bool) -> None:
    c.line(f"zero(p, {base}, {size(kind)})")
    cases = variants_for(c, kind, value)
    if len(cases) == 1 and cases[0][1] == "True":
        _store_variant(c, base, kind, value, cases[0], checked)
        return
    stored = c.name("f")
    c.line(f"{stored} = False")
    for case in cases:
        with c.block(f"if {case[1]}:"):
            _store_variant(c, base, kind, value, case, checked)
            c.line(f"{stored} = True")
    c.line(f"if not {stored}:")
    c.nest(["p[1] = 1"])


def _store_variant(
    c: Context, base: Address, kind: TUnion, value: Symbol, case: tuple[int, str, list[Slot]], checked: bool
) -> None:
    index, _, own = case
    c.line(f"p[{base}] = {index}")
    for slot in own:
        part = compound.plain_field(c, value, str(kind.tags.members[index]), slot.name)
        store(c, base.plus(slot.offset), slot.type, part, checked)
