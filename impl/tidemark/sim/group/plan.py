"""A recorder's plan for a group of either protocol: brokers `b` and consumers `c`, and what each action touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.group.layout import HeaderTable
from tidemark.sim.units import Kind, Unit, UnitPlan

NETWORK = ("Repeat", "Lose", "Add")
"""Actions that begin so happen nowhere."""


class NodePlan(UnitPlan):
    """What the recorders of a trace header share. `of`: of what kind the units of each variable are; `touching`: what
    each action may change: a variable, or its part of the broker `b`, the consumer `c`, everybody (`*`).

    Raises ValueError for a header of other variables.
    """

    def __init__(
        self, header: Mapping[str, Any], table: HeaderTable, of: Mapping[str, Kind], touching: Mapping[str, str]
    ) -> None:
        brokers, clients = len(table.brokers), len(table.clients)
        if set(of) != set(table.variables):
            raise ValueError(f"the header has other variables than {table.protocol}")
        self.numbers: dict[str, list[int]] = {}
        units: list[Unit] = []
        for variable in sorted(of, key=table.offset):
            width = table.width(variable)
            count = int(table.variables[variable]["cells"]) // width
            self.numbers[variable] = list(range(len(units), len(units) + count))
            units += [Unit(table.offset(variable) + width * place, of[variable]) for place in range(count)]
        nodes = {"b": range(brokers), "c": range(brokers, brokers + clients)}
        super().__init__(header, units, nodes, lambda action: action.startswith(NETWORK))
        self.touched: dict[tuple[Any, ...], tuple[int, ...]] = {}
        self._protocol = table.protocol
        self._touching = touching
        self._formals = {action["name"]: tuple(action["params"]) for action in header["actions"]}

    def touches(self, what: tuple[Any, ...]) -> tuple[int, ...]:
        """The units that an action with these parameters may change. Raises ValueError for an unknown action."""
        name, *values = what
        if name not in self._touching or name not in self._formals:
            raise ValueError(f"{self._protocol} has no action {name}")
        given = dict(zip(self._formals[name], values, strict=False))
        found: set[int] = set()
        for variable, _, which in (one.partition(".") for one in self._touching[name].split()):
            numbers = self.numbers[variable]
            found.update([numbers[given[which]]] if which in ("b", "c") else numbers)
        touched = self.touched[what] = tuple(sorted(found))
        return touched
