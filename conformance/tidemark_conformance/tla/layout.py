"""A state as a vector of int64 cells: variables in declared order (hidden ones and ghosts last), each a fixed run.

Equal states are equal vectors, because unused cells are 0. A *unit* is one element of a variable's outermost function
(or the whole variable). A delta names units, and a dirty bit stands for one. Nothing here needs numpy or llvmlite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import extent
from tidemark_conformance.tla.ir import Binder, Expr, Loc, Module, Op, Quant, Var
from tidemark_conformance.tla.typeok import canonical, conjuncts, require_one_kind, strip, type_of_set
from tidemark_conformance.tla.types import (
    Evaluate,
    Misfit,
    TFun,
    Type,
    bounds,
    decode,
    describe,
    encode,
    size,
    unsupported,
)
from tidemark_conformance.tla.values import Value
from tidemark_conformance.tla.walk import variables_used

MAX_UNITS = 62
"""A variable with more units than this has one dirty bit for all of them."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable's place: its run is cells[offset : offset + size], `units` runs of `unit_size` cells each."""

    name: str
    type: Type
    ghost: bool
    offset: int
    size: int
    units: int
    unit_size: int
    hidden: bool = False

    @property
    def carried(self) -> bool:
        """Whether traces carry the variable; the others are computed."""
        return not self.ghost and not self.hidden

    @property
    def bits(self) -> int:
        """How many dirty bits the variable has (its units, or 1 when they are too many)."""
        return self.units if self.units <= MAX_UNITS else 1


@dataclass(frozen=True, slots=True)
class Parameters:
    """An action's parameter domains, each in canonical order, with their types; a record's parameter is an index."""

    names: tuple[str, ...]
    domains: tuple[tuple[Value, ...], ...]
    types: tuple[Type, ...]

    def indices(self, action: str, values: Sequence[Value]) -> list[int]:
        """The indices of parameter values in their domains. Raises Unusable for a value outside its domain."""
        if len(values) != len(self.names):
            raise Unusable(f"action {action} takes {len(self.names)} parameters, not {len(values)}: check the trace.")
        result = []
        for name, domain, value in zip(self.names, self.domains, values, strict=True):
            index = next((i for i, v in enumerate(domain) if v == value and type(v) is type(value)), None)
            if index is None:
                raise Unusable(f"action {action}: parameter {name} = {value!r} is outside its domain: check the trace.")
            result.append(index)
        return result


class Layout:
    """The cells of a specification's states.

    `variables` are in cell order. `cells` is their number. The first `base_cells` of them are those of the variables
    that traces carry, neither hidden nor ghosts. The others come behind them in this order, the ghosts from
    `first_ghost` on. `lows`/`highs` bound every cell (the capacities). `variable_of`/`unit_of` name a cell's variable
    and unit.
    """

    def __init__(
        self, types: Mapping[str, Type], variables: Sequence[str], ghosts: Sequence[str], hidden: Sequence[str] = ()
    ) -> None:
        order = sorted(variables, key=lambda name: 2 if name in ghosts else 1 if name in hidden else 0)
        self.variables: list[Variable] = []
        offset = 0
        for name in order:
            kind = types[name]
            units = len(kind.domain) if isinstance(kind, TFun) else 1
            width = size(kind)
            self.variables.append(
                Variable(
                    name, kind, name in ghosts, offset, width, units, width // units if units else 0, name in hidden
                )
            )
            offset += width
        self.cells = offset
        self.base_cells = sum(v.size for v in self.variables if v.carried)
        self.first_ghost = sum(v.size for v in self.variables if not v.ghost)
        self.by_name = {v.name: v for v in self.variables}
        self.index = {v.name: i for i, v in enumerate(self.variables)}
        self.lows = [lo for v in self.variables for lo, _ in bounds(v.type)]
        self.highs = [hi for v in self.variables for _, hi in bounds(v.type)]
        self.variable_of = [i for i, v in enumerate(self.variables) for _ in range(v.size)]
        self.unit_of = [
            (cell // v.unit_size if v.units <= MAX_UNITS else 0) for v in self.variables for cell in range(v.size)
        ]

    def encode(self, state: Mapping[str, Value], ghosts: bool = True) -> list[int]:
        """The cells of a state (`ghosts` False: of the variables that traces carry only).

        Raises Unusable when a variable is missing or a value does not fit its type.
        """
        cells: list[int] = []
        for variable in self.variables:
            if not ghosts and not variable.carried:
                continue
            if variable.name not in state:
                raise Unusable(f"the state has no variable {variable.name}: give every variable that traces carry.")
            try:
                cells += encode(variable.type, state[variable.name])
            except Misfit as problem:
                raise Unusable(f"variable {variable.name} does not fit TypeOK: {problem}.") from None
        return cells

    def fits(self, state: Mapping[str, Value]) -> bool:
        """Whether every variable's value has cells (is within the capacities)."""
        try:
            self.encode(state)
        except Unusable:
            return False
        return True

    def decode(self, cells: Sequence[int], ghosts: bool = True) -> dict[str, Value]:
        """The state of a cell vector (`ghosts` False: `cells` may end after those that traces carry)."""
        values = list(cells)
        chosen = [v for v in self.variables if ghosts or v.carried]
        try:
            return {v.name: decode(v.type, values, v.offset) for v in chosen}
        except Misfit as problem:
            raise Unusable(f"a cell vector is no state of the specification: {problem}.") from None

    def units(self, name: str) -> tuple[Value, ...] | None:
        """The keys of a variable's units (its outermost function's domain), None when it is one unit."""
        kind = self.by_name[name].type
        return kind.domain if isinstance(kind, TFun) else None

    def table(self) -> list[dict[str, Any]]:
        """The variable table of a trace's header: JSON-able, one entry per variable that traces carry."""
        return [
            {
                "name": v.name,
                "type": describe(v.type),
                "offset": v.offset,
                "cells": v.size,
                "units": v.units,
            }
            for v in self.variables
            if v.carried
        ]


def variable_types(module: Module, constant: Evaluate) -> dict[str, Type]:
    """The type that TypeOK gives each variable; `constant` evaluates constant-level expressions.

    A ghost without a conjunct, as every other variable, is refused: its cells need bounds as well. So is a variable
    that would take more members or cells than `extent` allows, before it is built.
    """
    types: dict[str, Type] = {}
    loc: Loc | None = None
    for expr, place in conjuncts(module.type_ok):
        loc = place or loc
        match expr:
            case Op("in", (left, right)):
                variable = strip(left)
                if isinstance(variable, Var) and not variable.primed:
                    if variable.name in types:
                        raise unsupported(f"TypeOK has two conjuncts for {variable.name}", place)
                    _require_few(f"TypeOK's set for {variable.name}", extent.listed(right, constant), loc)
                    kind = types[variable.name] = type_of_set(right, constant, place)
                    require_one_kind(kind, variable.name, loc)
                    if (cells := size(kind)) > extent.MAX_CELLS:
                        raise unsupported(
                            f"{variable.name} takes {cells:,} cells, more than {extent.MAX_CELLS:,}; "
                            "give it a smaller domain or shorter sequences",
                            loc,
                        )
    missing = [name for name in module.variables if name not in types]
    if missing:
        raise _without_a_set(module, missing[0], loc)
    cells = sum(map(size, types.values()))
    if cells > extent.MAX_CELLS:
        raise unsupported(f"TypeOK's state takes {cells:,} cells, more than {extent.MAX_CELLS:,}", loc)
    return types


def _require_few(what: str, count: int, loc: Loc | None) -> None:
    if count > extent.MAX_MEMBERS:
        raise unsupported(f"{what} lists more than {extent.MAX_MEMBERS:,} members; write a smaller set", loc)


def _without_a_set(module: Module, name: str, loc: Loc | None) -> Exception:
    """The refusal of a variable that TypeOK gives no set, with what to write for it."""
    advice = f"write `{name} \\in S`, or `{name} \\in SUBSET S` where its values are sets"
    for expr, place in conjuncts(module.type_ok):
        if name in variables_used(expr):
            loc = place or loc
        match expr:
            case Quant("forall", (Binder(domain=domain),), _) if strip(domain) == Var(name, False):
                advice = f"where all its elements are in S, write `{name} \\in SUBSET S`"
    return unsupported(f"TypeOK has no conjunct `{name} \\in <set>`, so it has no layout; {advice}", loc)


def layout_of(module: Module, constant: Evaluate) -> Layout:
    """The layout that a module's TypeOK decides under its constants."""
    return Layout(variable_types(module, constant), module.variables, module.ghosts, module.hidden)


def parameters_of(params: Sequence[tuple[str, Expr]], constant: Evaluate, loc: Loc | None) -> Parameters:
    """The canonical domains of an action's parameters, given as (name, domain expression)."""
    domains, types = [], []
    for name, domain in params:
        _require_few(f"the domain of parameter {name}", extent.members(domain, constant), loc)
        values = constant(domain)
        if not isinstance(values, frozenset) or not values:
            raise unsupported(f"the domain of parameter {name} is no finite set with an element", loc)
        members, kind = canonical(values, loc)
        require_one_kind(kind, f"parameter {name}", loc)
        domains.append(members)
        inner = strip(domain)
        # Its text says that these are functions: on strings their values alone could as well be records.
        functions = isinstance(inner, Op) and inner.name == "function_set"
        types.append(type_of_set(inner, constant, loc) if functions else kind)
    return Parameters(tuple(name for name, _ in params), tuple(domains), tuple(types))


def action_parameters(module: Module, constant: Evaluate) -> dict[str, Parameters]:
    """The parameters of every action, by action name in the order of Next."""
    return {
        action.name: parameters_of([(p.name, p.domain) for p in action.params], constant, action.loc)
        for action in module.actions
    }
