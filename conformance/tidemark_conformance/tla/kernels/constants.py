"""The constants in capitals that the driver's text names, and the tables in the memory that some of them point to."""

from __future__ import annotations

from collections.abc import Mapping

from tidemark_conformance.tla import limits
from tidemark_conformance.tla.ir import Action
from tidemark_conformance.tla.kernels import shapes
from tidemark_conformance.tla.kernels.context import BLOCKED, CHANGED, HIDDEN, LAST, OBSERVER, OVERFLOWING, SEEN, Memory
from tidemark_conformance.tla.kernels.driver import CAPACITY, WRONG
from tidemark_conformance.tla.kernels.driver.reading import crc_tables
from tidemark_conformance.tla.kernels.source import Source
from tidemark_conformance.tla.layout import Variable
from tidemark_conformance.tla.observations import cell_bounds, cells_of
from tidemark_conformance.tla.types import encode, is_scalar, size

PARAMETER_ROW = 5
"""Numbers that the driver knows of each parameter: how many values, where, how wide, and why others are no values."""


def constants_of(source: Source, memory: Memory, most: int, trees: Mapping[str, limits.Tree]) -> dict[str, int]:
    """Every constant that the driver's text names: numbers of things, and offsets into the memory, in which the tables
    get their places. `most`: parameters of an action, at most; `trees`: the limits of the variables."""
    layout = source.layout
    row = 1 + PARAMETER_ROW * most
    actions: list[int] = []
    for action in source.module.actions:
        actions += _parameter_row(source, memory, action, row)
    beyond = [reasons for variable in layout.variables for reasons in _beyond(variable, trees)]
    cells = [
        (low, high, variable, unit, *reasons)
        for low, high, variable, unit, reasons in zip(
            layout.lows, layout.highs, layout.variable_of, layout.unit_of, beyond, strict=True
        )
    ]
    tables = {
        "ACTION_TABLE": actions,
        "CELL_TABLE": [number for row in cells for number in row],
        "VARIABLE_TABLE": [cell for v in layout.variables for cell in (v.offset, v.size)],
        "CRC": crc_tables(),
        "OBSERVABLE_TABLE": [0],
        "LIMIT_TABLE": [0],
        **_observation_tables(source),
    }
    places = {name: int(memory.table(rows or [0]).split()[-1]) for name, rows in tables.items()}
    plan = memory.plan()
    observables = source.observables
    fields = len(observables.fields) if observables is not None else 0
    widest = max((cells_of(kind) for _, kind in observables.fields), default=0) if observables is not None else 0
    first_field = 1 + len(source.invariants) + len(source.properties) + len(source.quiescence)
    checks = first_field + fields
    extra = plan["SIZE"]
    names = {name: plan["TABLES"] + at for name, at in places.items()}
    names |= {
        "TABLES": plan["TABLES"],
        "SCRATCH": plan["SCRATCH"],
        "POSITION": 5,
        "LISTED": 6,
        "BLOCKED": BLOCKED,
        "CHANGED": CHANGED,
        "CURRENT": memory.current,
        "NEXT": memory.next,
        "DIRTY": memory.dirty,
        "PARAMETERS": memory.parameters,
        "PARAMETER_COUNT": max(most, 1),
        "CONSTANTS": memory.constants,
        "COVERAGE": memory.coverage,
        "CELLS": layout.cells,
        "BASE_CELLS": layout.base_cells,
        "VARIABLES": len(layout.variables),
        "CARRIED": sum(1 for v in layout.variables if v.carried),
        "HIDDEN_VARIABLES": sum(1 for v in layout.variables if v.hidden),
        "GHOSTS": sum(1 for v in layout.variables if v.ghost),
        "FIRST_GHOST": layout.first_ghost,
        "HIDDEN": HIDDEN,
        "OVERFLOWING": OVERFLOWING,
        "OBSERVER": OBSERVER,
        "LAST": LAST,
        "SEEN": SEEN,
        "OBSERVABLES": observables.count if observables is not None else 0,
        "FIELDS": fields,
        "FIRST_FIELD": first_field,
        "ACTIONS": len(source.module.actions),
        "ACTION_ROW": row,
        "PARAMETER_ROW": PARAMETER_ROW,
        "CELL_ROW": 6,
        "WRONG": WRONG,
        "TYPE_OK": _type_ok(source),
        "CHECKS": checks,
        "FIRSTS": extra,
        "TAKEN": extra + checks,
        "LIST": extra + checks + 2 * len(source.module.actions),
    }
    names["TOLD"] = names["LIST"] + layout.cells
    names["LAST_TOLD"] = names["TOLD"] + fields + 2
    names["OBSERVED"] = names["LAST_TOLD"] + fields
    names["RULES"] = len(memory.rules)
    names["REACHED"] = names["OBSERVED"] + widest
    names["SIZE"] = names["REACHED"] + 3 + 2 * names["RULES"] + 64
    return names


def _beyond(variable: Variable, trees: Mapping[str, limits.Tree]) -> list[tuple[int, int]]:
    """Per cell of a variable the reasons of a value below, and above, its limits."""
    cells = limits.cells(variable.type, trees.get(variable.name))
    return [(shapes.reason(cell, below=True), shapes.reason(cell, below=False)) for cell in cells]


def _type_ok(source: Source) -> int:
    """The number of the check that a wrong value makes false: TypeOK, or none but the step if it is not asked."""
    names = [one.name for one in source.invariants]
    return 1 + names.index("TypeOK") if "TypeOK" in names else 0


def _parameter_row(source: Source, memory: Memory, action: Action, length: int) -> list[int]:
    parameters = source.parameters[action.name]
    row = [len(parameters.names)]
    for param, domain, kind in zip(action.params, parameters.domains, parameters.types, strict=True):
        table = memory.table([cell for value in domain for cell in encode(kind, value)])
        ends = limits.of_domain(param.domain, source.constant, source.capacities)
        row += [len(domain), int(table.split()[-1]), 0 if is_scalar(kind) else size(kind)]
        row += [CAPACITY if limit.capacities else WRONG for limit in (ends.low, ends.high)]
    return row + [0] * (length - len(row))


def _observation_tables(source: Source) -> dict[str, list[int]]:
    """Per observable its field, its observer's cell, its number of cells and the row of their bounds."""
    observables = source.observables
    if observables is None:
        return {}
    bounds: list[int] = []
    starts: list[int] = []
    for _, kind in observables.fields:
        starts.append(len(bounds))
        bounds += [number for pair in cell_bounds(kind) for number in pair]
    rows: list[int] = []
    for observer in observables.observers or (False,):
        cell = encode(observables.kind, observer)[0]
        for i, (_, kind) in enumerate(observables.fields):
            rows += [i, cell, cells_of(kind), starts[i]]
    return {"OBSERVABLE_TABLE": rows, "LIMIT_TABLE": bounds}
