"""Bugs in the keeping of offsets for the auditor to find: handlers changed at run time."""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.offsets.coordinator import OffsetCoordinator


def _keeps_empty_groups(self: OffsetCoordinator, now_ms: int) -> Any:
    if not any(self._expired(one, now_ms) for one in self.written.offsets):
        return None
    return _original_sweep(self, now_ms)


_original_sweep = OffsetCoordinator.expire_offsets

OFFSETS = {
    "group_without_offsets_never_swept": Bug(
        "the sweep leaves a group alone whose offsets are gone already",
        OffsetCoordinator,
        "expire_offsets",
        _keeps_empty_groups,
    ),
}
