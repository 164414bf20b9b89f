"""Parts of a value that TLC evaluates where the value is built, although nobody may ask for them.

The kernels write an element's or a result's code where it is asked for. Without a value it would be no error then if
nobody asks: `{1 \\div 0 : x \\in S}`. So what may raise an evaluation error is computed where TLC computes it, once.

TLC evaluates the items of a tuple, the fields of a record, and the new value of an EXCEPT. It evaluates the elements of
an enumerated, filtered or mapped set. It evaluates a function literal for all its arguments, unless the literal is
applied: then for the one argument. A filtered set whose source TLC does not enumerate (SUBSET, \\X, sets of records)
stays a description for it, too. `tests/test_erring.py` holds all this against TLC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.kernels import compound, iteration, sets, universes, values
from tidemark_conformance.tla.kernels.context import Context, Erring, Impossible, Mode, negated
from tidemark_conformance.tla.kernels.symbols import (
    Filter,
    Functions,
    Image,
    Infinite,
    Literal,
    Mask,
    Product,
    Records,
    Sequences,
    Subsets,
    Symbol,
    Update,
    is_set,
)
from tidemark_conformance.tla.types import is_scalar

_DESCRIBED = (Subsets, Product, Records, Functions, Sequences, Infinite)


def elements(c: Context, value: Filter | Image) -> Symbol:
    """A filtered or mapped set: its predicate, or its expression, is evaluated for every element of the source."""
    if isinstance(value, Filter) and isinstance(value.source, _DESCRIBED):
        return value
    return _whole(c, value, value)


def arguments(c: Context, value: Literal) -> Symbol:
    """A function literal that is not applied: its expression is evaluated for every element of the domain."""
    results = Image((lambda _: value.domain,), lambda chosen: value.body(chosen[0]))
    return _whole(c, value, results)


def update(c: Context, value: Update) -> Update:
    """A function or record with an EXCEPT: the new value is evaluated here if the key is in the domain, for all uses.

    One that raises no error and counts a rule's sides is evaluated where it is used.
    """
    if c.mode is Mode.TYPE:
        return value
    try:
        certain = not may_err(c, value.value)
    except Impossible:
        c.errs()
        c.line(f"need(p, {negated(_inside(c, value))})")
        return value
    inside = "True" if certain else _inside(c, value)
    with c.captured() as buffer:
        new = values.keep(c, value.value())
    if certain and c.counts(buffer):
        c.drop(buffer)
        return value
    if inside == "True":
        c.adopt(buffer)
    else:
        buffer.scope.end()
        c.line(f"if {inside}:")
        c.nest(buffer.lines or ["pass"])
    return replace(value, value=lambda: new)


def _inside(c: Context, value: Update) -> str:
    return "True" if isinstance(value.key, str) else c.member(value.key, compound.domain_of(c, value.base))


def asked(c: Context, write: Callable[[], object]) -> None:
    """Lines that are written for the error that they may raise, and only if they may."""
    if may_err(c, write):
        with c.block("if True:"):
            write()


def _whole(c: Context, value: Filter | Image | Literal, every: Filter | Image) -> Symbol:
    """The value, computed now if `every` element that it is made of may raise an error."""

    def each() -> None:
        iteration.iterate(c, every, lambda element: None, None)

    if not may_err(c, each):
        return value
    computed = _computed(c, value)
    if computed is None:
        with c.block("if True:"):
            each()
    return computed or value


def may_err(c: Context, write: Callable[[], object]) -> bool:
    """Whether lines may raise an evaluation error. Nobody asks that of an expression that is evaluated for its type."""
    if c.mode is Mode.TYPE:
        return False
    try:
        with c.only(Mode.PROBE):
            write()
    except Erring:
        if c.mode is Mode.PROBE:
            raise
        return True
    return False


def _computed(c: Context, value: Symbol) -> Symbol | None:
    """A value as a mask or in the memory; None where its type is not known."""
    with c.captured() as buffer:
        try:
            mask = sets.as_mask(c, value) if is_set(value) or is_scalar(universes.type_of(c, value)) else None
            found: Symbol | None = Mask(c.named(mask.code, "m"), mask.kind) if mask else None
            if not is_set(value) and not mask:
                found = c.materialize(value)
        except Unsupported:
            found = None
    if found is None:
        c.drop(buffer)
    else:
        c.adopt(buffer)
    return found
