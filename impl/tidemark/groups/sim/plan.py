"""A recorder's plan for a group of either protocol: brokers `b` and consumers `c`, and what each action touches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.classic_group.layout import HeaderTable
from tidemark.trace.units import Kind, UnitPlan

NETWORK = ("Repeat", "Lose")
"""Actions that begin so happen nowhere; so does one of a partition (`AddPartition`), whose parameter is no node."""


class NodePlan(UnitPlan):
    """What the recorders of a trace header share. `of`: of what kind the units of each variable are; `touching`: what
    each action may change: a variable, or its part of the broker `b`, the consumer `c`, everybody (`*`).

    Raises ValueError for a header of other variables.
    """

    def __init__(
        self, header: Mapping[str, Any], table: HeaderTable, of: Mapping[str, Kind], touching: Mapping[str, str]
    ) -> None:
        parties = {"b": table.brokers, "c": table.clients}
        super().__init__(header, table.protocol, of, touching, parties, "bc", lambda action: action.startswith(NETWORK))
