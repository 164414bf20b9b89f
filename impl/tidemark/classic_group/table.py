"""Generations, and the ranks of time-outs: the classic group's abstraction takes them from the trace header."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidemark.classic_group.rebalance import GroupConfig
from tidemark.groups.table import HASTY, PATIENT, HeaderTable
from tidemark.trace.cells import CapacityExceeded

CLIENTS_RANKS = {ms: rank for rank, ms in enumerate((HASTY[0], PATIENT[0], HASTY[1], PATIENT[1]), 1)}
OWN_RANK = 5


class Ranks(dict[int, int]):
    """Milliseconds -> the rank by which the specification knows that time-out: a consumer's, or the coordinator's own.
    0: any other. `own`: whether milliseconds are of the coordinator."""

    def __init__(self, ranks: Mapping[int, int], own: Callable[[int], bool]) -> None:
        super().__init__(ranks)
        self._own = own

    def __missing__(self, milliseconds: int) -> int:
        found = self[milliseconds] = OWN_RANK if self._own(milliseconds) else 0
        return found


class Table(HeaderTable):
    """The header table of the groups, with the classic group's generations and time-outs."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        super().__init__(header)
        constants = header["constants"]
        self.max_generation: int = constants["MaxGeneration"]
        self.epoch_generations: int = constants["EpochGenerations"]
        config, timed = GroupConfig(), self.timed
        own = {config.new_member_join_timeout_ms, *range(1, config.initial_rebalance_delay_ms + 1)}
        self.ranks = Ranks(CLIENTS_RANKS if timed else {}, lambda milliseconds: timed and milliseconds in own)
        """How long a timer was set to, in milliseconds -> by rank."""

    def generation(self, generation: int) -> int:
        """A generation. Raises CapacityExceeded."""
        if generation > self.max_generation:
            raise CapacityExceeded("generations")
        return generation
