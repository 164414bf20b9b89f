"""What simulated runs share, whatever the protocol: how chance decides, and what a run comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WORD = 48
"""Bits drawn a step: 8 for the kind of event, the rest for the event itself."""


@dataclass(slots=True)
class SimResult:
    """One trace.

    `stream`: its delta stream; `steps`: its records after the initial one, `changing` of which changed something;
    `acked`: how much clients were told to be safe (payloads acknowledged with acks=all; offset commits), `lost`: how
    much of it they did not find again (only after healing); `healed`: faults have stopped; `converged`: and the cluster
    came to rest; `capacity`: the trace was cut at a capacity.
    """

    seed: int
    stream: bytes
    steps: int
    changing: int
    acked: int
    lost: int
    healed: bool
    converged: bool
    capacity: bool


def weight_table(weights: Mapping[str, int]) -> list[str]:
    """256 kinds of events, each as often as its weight says."""
    total = sum(weights.values())
    table: list[str] = []
    done = 0
    for kind, weight in weights.items():
        done += weight
        table += [kind] * (done * 256 // total - len(table))
    return table
