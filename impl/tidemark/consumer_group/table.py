"""The values that the abstraction of a KIP-848 group takes from a trace header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.consumer_group.coordinator import ConsumerGroupConfig
from tidemark.groups.table import HASTY, PATIENT, HeaderTable


class ConsumerGroupTable(HeaderTable):
    """A header's table. `ranks`: how long a timer was set to, in milliseconds -> by rank."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        super().__init__(header)
        self.max_group_epoch: int = header["constants"]["MaxGroupEpoch"]
        self.ranks: dict[int, int] = {}
        if self.timed:
            lengths = HASTY.rebalance_ms, PATIENT.rebalance_ms, ConsumerGroupConfig().session_timeout_ms
            self.ranks = {milliseconds: rank for rank, milliseconds in enumerate(lengths, 1)}
