"""Folds over sets and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tidemark_conformance.tla.ir import (
    Fold,
)
from tidemark_conformance.tla.kernels import (
    bindings,
    compound,
    iteration,
    listing,
    segments,
    sets,
    storing,
    universes,
    values,
)
from tidemark_conformance.tla.kernels.context import Context, Env, Mode
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Filter,
    Int,
    Item,
    Mask,
    Place,
    Range,
    Run,
    Seg,
    Symbol,
    is_set,
)
from tidemark_conformance.tla.typeok import join
from tidemark_conformance.tla.types import TBool, TFun, TInt, TRec, TSeq, TSet, TTuple, Type, is_scalar


def fold(c: Context, expr: Fold, env: Env) -> Symbol:
    collection = c.evaluate(expr.collection, env)
    start = c.evaluate(expr.start, env)
    bindings.force(c, expr.body, env)
    if expr.kind == "set" and not isinstance(collection, Mask | Range):
        mask = sets.as_mask(c, collection)
        if mask is not None:
            collection = mask
        elif not isinstance(collection, Filter) or not isinstance(collection.source, Range):
            place = listing.listing(c, collection)
            if place is None:
                raise c.unsupported("a fold over a set that may have too many elements")
            collection = place
    collection = values.keep(c, collection)
    kind = _fold_type(c, expr, env, collection, universes.type_of(c, start))
    if is_scalar(kind):
        return _scalar_fold(c, expr, env, collection, start, kind)
    accumulator, following = Place(c.room(kind), kind), c.room(kind)
    storing.store(c, accumulator.base, kind, start, checked=False)

    def step(element: Symbol) -> None:
        inner = {**env, expr.element: element, expr.accumulator: accumulator}
        _accumulate(c, accumulator, following, c.evaluate(expr.body, inner))

    _each(c, expr, collection, step)
    return accumulator


def _accumulate(c: Context, accumulator: Place, following: Address, value: Symbol) -> None:
    """Write a fold's next value over the last one, of which it may be made."""
    if isinstance(value, Choice):
        for header, part in ((f"if {value.condition}:", value.then), ("else:", value.orelse)):
            with c.block(header):
                _accumulate(c, accumulator, following, part)
        return
    if isinstance(value, Place) and value.base == accumulator.base:
        return
    if isinstance(value, Seg) and isinstance(value.parts[0], Run) and value.parts[0].place.base == accumulator.base:
        first = value.parts[0]
        if first.start == "0" and first.count == f"p[{accumulator.base}]":
            storing.extend(c, accumulator, value.parts[1:])
            return
    storing.store(c, following, accumulator.kind, value, checked=False)
    storing.copy(c, accumulator.base, following, accumulator.kind)


def _fold_type(c: Context, expr: Fold, env: Env, collection: Symbol, kind: Type) -> Type:
    """The type of a fold's accumulator: joined with the body's until it no longer grows."""
    room: int | None = None
    for round_ in range(8):
        joined = _joined_with_body(c, expr, env, collection, kind)
        if isinstance(joined, TSeq) and isinstance(kind, TSeq):
            growth = joined.cap - kind.cap
            if room is None and round_ > 0 and growth > 0:
                room = joined.cap + growth * _most(c, collection)
            joined = joined if room is None else TSeq(joined.elem, room)
        if joined == kind:
            return kind
        kind = _widened(kind, joined) if round_ > 0 else joined
    raise c.unsupported("a fold whose value grows with every element without a known bound")


def _widened(old: Type, new: Type) -> Type:
    """`new` with the integers unbounded that are not those of `old`, so that a fold's type comes to rest."""
    match old, new:
        case TInt(), TInt():
            return new if old == new else TInt(None, None)
        case TSeq(), TSeq():
            return TSeq(_widened(old.elem, new.elem), new.cap)
        case TFun(), TFun() if old.domain == new.domain:
            return TFun(new.domain, new.key, _widened(old.range, new.range))
        case TTuple(), TTuple() if len(old.parts) == len(new.parts):
            return TTuple(tuple(_widened(x, y) for x, y in zip(old.parts, new.parts, strict=True)))
        case TRec(), TRec() if [name for name, _ in old.fields] == [name for name, _ in new.fields]:
            pairs = zip(old.fields, new.fields, strict=True)
            return TRec(tuple((name, _widened(x, y)) for (name, x), (_, y) in pairs))
    return new


def _most(c: Context, collection: Symbol) -> int:
    """How many elements a set or sequence has at most."""
    if is_set(collection):
        most = listing.most_elements(c, collection)
        if most is None:
            raise c.unsupported("a fold that grows with every element of a set without a known bound")
        return most
    return values.sequence_cap(universes.type_of(c, collection))


def _joined_with_body(c: Context, expr: Fold, env: Env, collection: Symbol, kind: Type) -> Type:
    found: list[Type] = []
    with c.only(Mode.TYPE):
        accumulator = _scalar("z", kind) if is_scalar(kind) else values.load(c.room(kind), kind)

        def step(element: Symbol) -> None:
            inner = {**env, expr.element: element, expr.accumulator: accumulator}
            found.append(universes.type_of(c, c.evaluate(expr.body, inner)))

        _each(c, expr, collection, step)
    joined = kind
    for own in found:
        joined = join(joined, own, c.loc)
    return joined


def _scalar(name: str, kind: Type) -> Symbol:
    match kind:
        case TInt(lo, hi):
            return Int(name, lo, hi)
        case TBool():
            return Bool(name)
        case TSet():
            return Mask(name, kind)
    return Atom(name, cast(Any, kind).members)


def _scalar_fold(c: Context, expr: Fold, env: Env, collection: Symbol, start: Symbol, kind: Type) -> Symbol:
    name = c.name("r")
    code = storing.scalar_code(c, kind, start)
    c.line(f"{name} = {start.code if isinstance(start, Bool) else code}")

    def step(element: Symbol) -> None:
        inner = {**env, expr.element: element, expr.accumulator: _scalar(name, kind)}
        value = c.evaluate(expr.body, inner)
        c.line(f"{name} = {value.code if isinstance(value, Bool) else storing.scalar_code(c, kind, value)}")

    _each(c, expr, collection, step)
    return _scalar(name, kind)


def _each(c: Context, expr: Fold, collection: Symbol, step: Callable[[Symbol], None]) -> None:
    if is_set(collection):
        iteration.iterate(c, collection, step, None)
        return
    for part in compound.sequence_parts(c, collection):
        if isinstance(part, Item):
            step(part.value)
            continue
        index = c.name("i")
        c.line(f"{index} = 0")
        with c.block(f"while {index} < {part.count}:"):
            step(segments.part_element(c, part, index))
            c.line(f"{index} += 1")
