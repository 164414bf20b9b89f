"""Loops over sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.kernels import sets, values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    Choice,
    Enum,
    Filter,
    Flat,
    Image,
    Int,
    Join,
    Mask,
    Product,
    Range,
    Rec,
    Records,
    Subsets,
    Symbol,
    Tup,
)
from tidemark_conformance.tla.types import (
    TSet,
)


def iterate(c: Context, value: Symbol, body: Callable[[Symbol], None], stop: str | None) -> None:
    """Write a loop over a set's elements in canonical order (an image's or union's elements may come more than once).

    `stop`: a condition that `body` may make true; the loops around end then.
    """
    match value:
        case Mask(code, kind):
            _iterate_mask(c, code, kind, body, stop)
        case Range(lo, hi):
            _iterate_range(c, lo, hi, body, stop)
        case Enum(items):
            _iterate_items(c, items, body, stop)
        case Filter(source, test):

            def tested(element: Symbol) -> None:
                with c.block(f"if {test(element)}:"):
                    body(element)

            iterate(c, source, tested, stop)
        case Image(sources, image):
            _iterate_image(c, sources, image, (), body, stop)
        case Join(left, right):
            mask = sets.as_mask(c, value)
            if mask is not None:
                _iterate_mask(c, c.named(mask.code, "m"), mask.kind, body, stop)
                return
            iterate(c, left, body, stop)
            with c.block(f"if not ({stop}):" if stop else "if True:"):
                iterate(c, right, body, stop)
        case Flat(inner):
            iterate(c, inner, lambda element: iterate(c, element, body, stop), stop)
        case Choice(condition, then, orelse):
            mask = sets.as_mask(c, value)
            if mask is not None:
                _iterate_mask(c, c.named(mask.code, "m"), mask.kind, body, stop)
                return
            for header, part in ((f"if {condition}:", then), ("else:", orelse)):
                with c.block(header):
                    iterate(c, part, body, stop)
        case Subsets(source):
            _iterate_subsets(c, source, body, stop)
        case Product(parts):
            _iterate_product(c, parts, (), body, stop)
        case Records(fields):
            names = sorted(fields)
            parts2 = tuple(fields[name] for name in names)
            _iterate_product(
                c,
                parts2,
                (),
                lambda element: body(Rec(dict(zip(names, cast("Tup", element).items, strict=True)))),
                stop,
            )
        case _:
            raise c.unsupported("a set that cannot be enumerated is quantified over")


def _stop(c: Context, stop: str | None) -> None:
    if stop:
        c.line(f"if {stop}:")
        c.nest(["break"])


def _iterate_mask(c: Context, code: str, kind: TSet, body: Callable[[Symbol], None], stop: str | None) -> None:
    count = len(kind.members)
    if count == 0 or code == "0":
        return
    index = c.name("i")
    if code == str((1 << count) - 1):
        c.line(f"{index} = 0")
        with c.block(f"while {index} < {count}:"):
            body(values.member_at(c, kind, index))
            _stop(c, stop)
            c.line(f"{index} += 1")
        return
    rest = c.name("m")
    c.line(f"{rest} = {code}")
    with c.block(f"while {rest} != 0:"):
        c.line(f"{index} = ctz({rest})")
        c.line(f"{rest} = {rest} & ({rest} - 1)")
        body(values.member_at(c, kind, index))
        _stop(c, stop)


def _iterate_range(c: Context, lo: Int, hi: Int, body: Callable[[Symbol], None], stop: str | None) -> None:
    index = c.name("i")
    last = c.keep(hi.code)
    c.line(f"{index} = {lo.code}")
    with c.block(f"while {index} <= {last}:"):
        body(Int(index, lo.lo, hi.hi, last))
        _stop(c, stop)
        c.line(f"{index} += 1")


def _iterate_items(c: Context, items: tuple[Symbol, ...], body: Callable[[Symbol], None], stop: str | None) -> None:
    if len(items) <= 1:
        for item in items:
            body(item)
        return
    index = c.name("i")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {len(items)}:"):
        chosen = _pick(c, items, index, 0)
        body(values.keep(c, chosen))
        _stop(c, stop)
        c.line(f"{index} += 1")


def _pick(c: Context, items: tuple[Symbol, ...], index: str, at: int) -> Symbol:
    if at == len(items) - 1:
        return items[at]
    return values.choice(c, f"({index} == {at})", lambda: items[at], lambda: _pick(c, items, index, at + 1))


def _iterate_image(
    c: Context,
    sources: tuple[Callable[[tuple[Symbol, ...]], Symbol], ...],
    image: Callable[[tuple[Symbol, ...]], Symbol],
    chosen: tuple[Symbol, ...],
    body: Callable[[Symbol], None],
    stop: str | None,
) -> None:
    if len(chosen) == len(sources):
        body(image(chosen))
        return
    source = sources[len(chosen)](chosen)
    iterate(c, source, lambda element: _iterate_image(c, sources, image, (*chosen, element), body, stop), stop)


def _iterate_subsets(c: Context, source: Symbol, body: Callable[[Symbol], None], stop: str | None) -> None:
    mask = sets.as_mask(c, source)
    if mask is None:
        raise c.unsupported("SUBSET of a set whose elements are not known to be among 62 values")
    whole, part, more = c.named(mask.code, "m"), c.name("m"), c.name("f")
    c.line(f"{part} = 0")
    c.line(f"{more} = True")
    with c.block(f"while {more}:"):
        body(Mask(part, mask.kind))
        _stop(c, stop)
        c.line(f"{more} = {part} != {whole}")
        c.line(f"{part} = ({part} - {whole}) & {whole}")


def _iterate_product(
    c: Context,
    parts: tuple[Symbol, ...],
    chosen: tuple[Symbol, ...],
    body: Callable[[Symbol], None],
    stop: str | None,
) -> None:
    if len(chosen) == len(parts):
        body(Tup(chosen))
        return
    iterate(c, parts[len(chosen)], lambda element: _iterate_product(c, parts, (*chosen, element), body, stop), stop)


def exists(c: Context, value: Symbol, test: Callable[[Symbol], str], wanted: bool = True) -> str:
    """Whether some element satisfies `test`; with `wanted` False: whether all do."""
    found = c.name("f")
    c.line(f"{found} = {not wanted}")
    stop = found if wanted else f"not {found}"

    def body(element: Symbol) -> None:
        c.line(f"{found} = {test(element)}")

    iterate(c, value, body, stop)
    return found


def loop(c: Context, count: str, body: Callable[[str], str]) -> str:
    """Whether the text that `body` gives for an index holds for all indices below `count`."""
    good, index = c.name("f"), c.name("i")
    c.line(f"{good} = True")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {count}:"):
        c.line(f"{good} = {body(index)}")
        c.line(f"if not {good}:")
        c.nest(["break"])
        c.line(f"{index} += 1")
    return good
