"""The builtin operators on symbolic values."""

from __future__ import annotations

import operator
from collections.abc import Callable

from tidemark_conformance.tla.kernels import compound, membership, values
from tidemark_conformance.tla.kernels.context import Context, negated
from tidemark_conformance.tla.kernels.symbols import (
    Bool,
    Functions,
    Infinite,
    Int,
    Item,
    Mask,
    Product,
    Range,
    Seg,
    Sequences,
    Subsets,
    Symbol,
)
from tidemark_conformance.tla.types import (
    TBool,
    TSet,
)

_CHECKED = {"+": "plus", "-": "minus", "*": "times"}
"""The helpers that raise an evaluation error where a result needs more than 64 bits."""


def arithmetic(c: Context, symbol: str, x: Int, y: Int) -> Int:
    """A sum, difference or product. A result beyond 64 bits is an evaluation error; where the operands' intervals show
    that there is none, nobody looks."""
    if x.code.lstrip("-").isdigit() and y.code.lstrip("-").isdigit():
        return values.number(
            c, {"+": operator.add, "-": operator.sub, "*": operator.mul}[symbol](int(x.code), int(y.code))
        )
    lo, hi = _interval(symbol, x, y)
    if lo is not None and hi is not None and lo >= values.LEAST and hi <= values.GREATEST:
        return Int(f"({x.code} {symbol} {y.code})", lo, hi)
    code = c.check(f"{_CHECKED[symbol]}(p, {x.code}, {y.code})")
    return Int(code, None if lo is None else max(lo, values.LEAST), None if hi is None else min(hi, values.GREATEST))


def _arithmetic(symbol: str) -> Callable[[Context, Symbol, Symbol], Symbol]:
    return lambda c, a, b: arithmetic(c, symbol, values.integer(c, a), values.integer(c, b))


def _interval(symbol: str, x: Int, y: Int) -> tuple[int | None, int | None]:
    if symbol == "+":
        return _plus(x.lo, y.lo), _plus(x.hi, y.hi)
    if symbol == "-":
        return _plus(x.lo, None if y.hi is None else -y.hi), _plus(x.hi, None if y.lo is None else -y.lo)
    if x.lo is None or x.hi is None or y.lo is None or y.hi is None:
        return None, None
    corners = [a * b for a in (x.lo, x.hi) for b in (y.lo, y.hi)]
    return min(corners), max(corners)


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b


def _division(name: str) -> Callable[[Context, Symbol, Symbol], Symbol]:
    def combine(c: Context, a: Symbol, b: Symbol) -> Symbol:
        x, y = values.integer(c, a), values.integer(c, b)
        lo, hi = (0, None if y.hi is None else y.hi - 1) if name == "modulo" else (None, None)
        if name == "floordiv" and x.lo is not None and x.lo >= 0 and y.lo is not None and y.lo >= 1:
            lo, hi = 0, x.hi
        code = f"{name}(p, {x.code}, {y.code})"
        return Int(code if y.lo is not None and y.lo >= 1 else c.check(code), lo, hi)

    return combine


def _comparison(symbol: str) -> Callable[[Context, Symbol, Symbol], Symbol]:
    return lambda c, a, b: Bool(f"({values.integer(c, a).code} {symbol} {values.integer(c, b).code})")


def _negative(c: Context, a: Symbol) -> Symbol:
    return arithmetic(c, "-", Int("0", 0, 0), values.integer(c, a))


def _append(c: Context, sequence: Symbol, item: Symbol) -> Symbol:
    return Seg((*compound.sequence_parts(c, sequence), Item(item)))


def _concat(c: Context, a: Symbol, b: Symbol) -> Symbol:
    return Seg((*compound.sequence_parts(c, a), *compound.sequence_parts(c, b)))


def _head(c: Context, sequence: Symbol) -> Symbol:
    return compound.apply(c, sequence, Int("1", 1, 1))


def _tail(c: Context, sequence: Symbol) -> Symbol:
    total = compound.length(c, sequence)
    c.errs()
    c.line(f"need(p, {total.code} > 0)")
    return compound.subsequence(c, sequence, Int("2", 2, 2), Int(total.code, 0, total.hi, total.code))


def _subseq(c: Context, sequence: Symbol, low: Symbol, high: Symbol) -> Symbol:
    return compound.subsequence(c, sequence, values.integer(c, low), values.integer(c, high))


OPERATORS: dict[str, Callable[..., Symbol]] = {
    "iff": lambda c, a, b: Bool(f"({values.truth(c, a)} == {values.truth(c, b)})"),
    "add": _arithmetic("+"),
    "sub": _arithmetic("-"),
    "mul": _arithmetic("*"),
    "div": _division("floordiv"),
    "mod": _division("modulo"),
    "neg": _negative,
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "range": lambda c, a, b: Range(values.integer(c, a), values.integer(c, b)),
    "in": lambda c, a, b: Bool(membership.member(c, a, b)),
    "notin": lambda c, a, b: Bool(negated(membership.member(c, a, b))),
    "subseteq": lambda c, a, b: Bool(membership.subset(c, a, b)),
    "union": lambda c, a, b: membership.union(c, a, b),
    "intersect": lambda c, a, b: membership.intersection(c, a, b),
    "setminus": lambda c, a, b: membership.difference(c, a, b),
    "powerset": lambda c, a: Subsets(a),
    "cardinality": lambda c, a: membership.count(c, a),
    "isfiniteset": lambda c, a: Bool(str(membership.finite(a))),
    "len": lambda c, a: compound.length(c, a),
    "append": _append,
    "head": _head,
    "tail": _tail,
    "subseq": _subseq,
    "concat": _concat,
    "seq": lambda c, a: Sequences(a, None),
    "domain": lambda c, a: compound.domain_of(c, a),
    "apply": lambda c, a, b: compound.apply(c, a, b),
    "function_set": lambda c, a, b: Functions(a, b),
    "product": lambda c, *parts: Product(parts),
    "nat": lambda c: Infinite("nat"),
    "int": lambda c: Infinite("int"),
    "string": lambda c: Infinite("string"),
    "boolean": lambda c: Mask("3", TSet(TBool(), (False, True))),
}
