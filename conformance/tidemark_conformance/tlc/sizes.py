"""Finds the causes of a large model: the variables with the most values by TypeOK, and the constants behind them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tidemark_conformance.tla.layout import layout_of
from tidemark_conformance.tla.python import compile_python

if TYPE_CHECKING:
    from tidemark_conformance.tla.spec import Specification

SHOWN = 3
"""Variables, and constants, that are named."""
COUNTED = 20
"""Bits up to which a number of values is written out."""


def advice(spec: Specification) -> str:
    """Advice on shrinking a model with too many states, as a part of a sentence."""
    layout = layout_of(spec.module, compile_python(spec).constant)
    bits: dict[str, float] = {}
    for variable in layout.variables:
        run = range(variable.offset, variable.offset + variable.size)
        bits[variable.name] = sum(math.log2(layout.highs[cell] - layout.lows[cell] + 1) for cell in run)
    largest = sorted(bits, key=lambda name: -bits[name])[:SHOWN]
    variables = ", ".join(f"{name} ({_count(bits[name])} values)" for name in largest if bits[name])
    sized = {name: len(value) for name, value in spec.constants.items() if isinstance(value, frozenset)}
    sized |= {name: value for name, value in spec.constants.items() if type(value) is int}
    big = sorted((name for name, size in sized.items() if size > 1), key=lambda name: -sized[name])[:SHOWN]
    constants = ", ".join(
        f"{name} ({sized[name]} elements)" if isinstance(spec.constants[name], frozenset) else f"{name} = {sized[name]}"
        for name in big
    )
    shrink = f"give the cfg smaller constants (now {constants})" if constants else "let TypeOK's sets be smaller"
    return (
        f"by TypeOK the largest variables are {variables}; {shrink}, or bound it with a CONSTRAINT "
        "(docs/bring-your-own-spec.md, step 1)"
    )


def _count(bits: float) -> str:
    return f"{round(2**bits):,}" if bits <= COUNTED else f"2^{round(bits)}"
