"""Folds over sets and sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tidemark_conformance.tla.ir import (
    Fold,
)
from tidemark_conformance.tla.kernels import compound, equality, expressions, iteration, listing, sets, storing, values
from tidemark_conformance.tla.kernels.context import Context
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
from tidemark_conformance.tla.types import TBool, TInt, TSeq, TSet, Type, is_scalar


def fold(c: Context, expr: Fold, env: expressions.Env) -> Symbol:
    collection = expressions.evaluate(c, expr.collection, env)
    start = expressions.evaluate(c, expr.start, env)
    expressions.force(c, expr.body, env)
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
    kind = _fold_type(c, expr, env, collection, values.type_of(c, start))
    if is_scalar(kind):
        return _scalar_fold(c, expr, env, collection, start, kind)
    accumulator, following = Place(c.room(kind), kind), c.room(kind)
    storing.store(c, accumulator.base, kind, start, checked=False)

    def step(element: Symbol) -> None:
        inner = {**env, expr.element: element, expr.accumulator: accumulator}
        _accumulate(c, accumulator, following, expressions.evaluate(c, expr.body, inner))

    _each(c, expr, collection, step)
    return accumulator


def _accumulate(c: Context, accumulator: Place, following: Address, value: Symbol) -> None:
    """Write a fold's next value over the last one, of which it may be made."""
    if isinstance(value, Choice):
        for header, part in ((f"if {value.condition}:", value.then), ("else:", value.orelse)):
            with c.block(header):
                _accumulate(c, accumulator, following, part())
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


def _fold_type(c: Context, expr: Fold, env: expressions.Env, collection: Symbol, kind: Type) -> Type:
    """The type of a fold's accumulator: joined with the body's until it no longer grows."""
    first = kind
    for round in range(4):
        joined = _joined_with_body(c, expr, env, collection, kind)
        if joined == kind:
            return kind
        if isinstance(joined, TInt):
            joined = TInt(None, None)
        if round == 1 and isinstance(joined, TSeq) and isinstance(kind, TSeq) and isinstance(first, TSeq):
            return TSeq(
                joined.elem, max(first.cap, 0) + _most(c, collection) * max(joined.cap - kind.cap, 0) + kind.cap
            )
        kind = joined
    raise c.unsupported("a fold whose value grows with every element without a known bound")


def _most(c: Context, collection: Symbol) -> int:
    """How many elements a set or sequence has at most."""
    if is_set(collection):
        most = listing.most_elements(c, collection)
        if most is None:
            raise c.unsupported("a fold that grows with every element of a set without a known bound")
        return most
    return values.sequence_cap(values.type_of(c, collection))


def _joined_with_body(c: Context, expr: Fold, env: expressions.Env, collection: Symbol, kind: Type) -> Type:
    found: list[Type] = []
    checked = c.checked
    with c.captured() as buffer:
        accumulator = _scalar("z", kind) if is_scalar(kind) else values.load(c.room(kind), kind)

        def step(element: Symbol) -> None:
            inner = {**env, expr.element: element, expr.accumulator: accumulator}
            found.append(values.type_of(c, expressions.evaluate(c, expr.body, inner)))

        _each(c, expr, collection, step)
    c.drop(buffer)
    c.checked = checked
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


def _scalar_fold(c: Context, expr: Fold, env: expressions.Env, collection: Symbol, start: Symbol, kind: Type) -> Symbol:
    name = c.name("r")
    code = storing.scalar_code(c, kind, start)
    c.line(f"{name} = {start.code if isinstance(start, Bool) else code}")

    def step(element: Symbol) -> None:
        inner = {**env, expr.element: element, expr.accumulator: _scalar(name, kind)}
        value = expressions.evaluate(c, expr.body, inner)
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
            step(equality.part_element(c, part, index))
            c.line(f"{index} += 1")
