"""The values that a trace may tell of a state beside its variables: `Observed`, its observers and the types of its
fields.

An integer that is observed has no bounds: a wrong one differs from the computed value, however large it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemark_conformance.tla.ir import Expr, Module, Observed
from tidemark_conformance.tla.kernels import expressions, universes, values
from tidemark_conformance.tla.kernels.context import Context, Env, Memory
from tidemark_conformance.tla.kernels.symbols import Address
from tidemark_conformance.tla.layout import Layout, parameters_of
from tidemark_conformance.tla.types import (
    Evaluate,
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TTuple,
    TUnion,
    Type,
    bounds,
    size,
    unsupported,
)
from tidemark_conformance.tla.values import ModelValue, Value

WIDEST = TInt(-(1 << 63), (1 << 63) - 1)
"""The integers that a cell holds."""


@dataclass(frozen=True, slots=True)
class Observables:
    """The observable values: every field of every observer, numbered observer by observer.

    `observers`: the set Observers in canonical order with their type, empty where Observed has no parameter. `keys`:
    their names in a trace. `fields`: their names and types, in the order of the text.
    """

    observers: tuple[Value, ...]
    kind: Type
    keys: tuple[str, ...]
    fields: tuple[tuple[str, Type], ...]

    @property
    def count(self) -> int:
        """How many observables there are."""
        return max(1, len(self.observers)) * len(self.fields)

    def name(self, number: int) -> str:
        """An observable as a text: `term of n1`."""
        observer, field = divmod(number, len(self.fields))
        name = self.fields[field][0]
        return f"{name} of {self.keys[observer]}" if self.keys else name


def observables_of(
    module: Module, layout: Layout, constant: Evaluate, constants: Mapping[str, Value]
) -> Observables | None:
    """The observables that the module's Observed defines; None where it has none.

    Raises Unsupported for observers that have no name in JSON, and for a field without a type.
    """
    observed = module.observed
    if observed is None:
        return None
    observers: tuple[Value, ...] = ()
    kind: Type = TBool()
    if observed.observer is not None:
        known = parameters_of([(observed.observer.name, observed.observer.domain)], constant, observed.loc)
        observers, kind = known.domains[0], known.types[0]
        if not isinstance(kind, TAtom | TInt):
            raise unsupported("Observers is no set of strings, model values or integers", observed.loc)
    context = Context(Memory(layout, 0, module.rules), constant, constants, expressions.OPERATIONS)
    fields = tuple((name, field_type(context, observed, value, kind)) for name, value in observed.fields)
    return Observables(observers, kind, tuple(_key(one) for one in observers), fields)


def _key(observer: Value) -> str:
    return observer.name if isinstance(observer, ModelValue) else str(observer)


def environment(observed: Observed, kind: Type) -> Env:
    """The text that the parameter of Observed stands for in the kernels."""
    if observed.observer is None:
        return {}
    return {observed.observer.uid: values.load(Address(0, ("OBSERVER",)), kind)}


def field_type(c: Context, observed: Observed, value: Expr, kind: Type) -> Type:
    """The type of a field of Observed, its integers without bounds; `kind`: the observers'."""
    c.loc = observed.loc
    with c.captured() as buffer:
        found = universes.type_of(c, expressions.evaluate(c, value, environment(observed, kind)))
    c.drop(buffer)
    return _unbounded(found, TInt(None, None))


def _unbounded(kind: Type, integer: TInt) -> Type:
    """The type with other integers, but for those among which a set's elements or a function's arguments are."""
    match kind:
        case TInt():
            return integer
        case TSeq(elem, cap):
            return TSeq(_unbounded(elem, integer), cap)
        case TFun(domain, key, target):
            return TFun(domain, key, _unbounded(target, integer))
        case TRec(fields):
            return TRec(tuple((name, _unbounded(part, integer)) for name, part in fields))
        case TTuple(parts):
            return TTuple(tuple(_unbounded(part, integer) for part in parts))
        case TUnion(variants):
            return TUnion(
                tuple((tags, tuple((name, _unbounded(part, integer)) for name, part in fields))
                      for tags, fields in variants)
            )  # fmt: skip
    return kind


def cell_bounds(kind: Type) -> list[tuple[int, int]]:
    """The least and greatest value of every cell of an observed value."""
    return list(bounds(_unbounded(kind, WIDEST), True))


def cells_of(kind: Type) -> int:
    """How many cells an observed value has."""
    return size(kind)
