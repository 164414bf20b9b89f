"""The common part of all groups' nemesis profiles."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.simulator.shared import Profile


@dataclass(frozen=True, slots=True)
class GroupProfile(Profile):
    """`modes`: the assignors that the consumers of a run may have, one choice per run (numbers of cluster.ASSIGNORS).
    `stale`: how often a consumer looks its coordinator up and hears of another broker than the elected one (of 256).
    `disconnects`: how often it has lost the connection and looks its coordinator up before a request (of 256)."""

    modes: tuple[tuple[int, ...], ...] = ((0,), (0,), (1,), (1,), (0, 2), (2, 1), (2,), (0, 1))
    stale: int = 16
    disconnects: int = 0
