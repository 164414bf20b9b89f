"""Nemesis profiles of idempotent producers: how often each kind of event is tried. They are data."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.simulator.shared import Profile


@dataclass(frozen=True, slots=True)
class ProducerProfile(Profile):
    """`stale`: how often a producer sends to another broker than the one that leads."""

    stale: int = 24


CALM = {"send": 70, "resend": 30, "handle": 70, "receive": 50, "commit": 36, "sender": 20}

CHAOS = ProducerProfile(
    "chaos",
    {
        **CALM,
        "disconnect": 10,
        "late": 8,
        "elect": 8,
        "fail": 6,
        "expire": 6,
        "forget": 3,
        "crash": 1,
    },
)

FAIL_OVERS = ProducerProfile(
    "fail-overs",
    {**CALM, "commit": 20, "elect": 22, "disconnect": 14, "late": 6, "expire": 2, "fail": 2},
    stale=64,
)
"""Leaders change often, and lose what is not committed."""

GAPS = ProducerProfile(
    "gaps",
    {**CALM, "expire": 16, "disconnect": 16, "late": 12, "forget": 6, "fail": 6},
)
"""Batches expire in flight, and arrive late."""

LONG = ProducerProfile(
    "long",
    {**CALM, "send": 110, "handle": 110, "receive": 90, "commit": 70, "fail": 6, "forget": 40, "expire": 2, "late": 1},
    heals=96,
    stale=0,
)
"""Few faults, so that sequences wrap around; leaders forget who pauses."""

DOUBTS = ProducerProfile(
    "doubts",
    {**CALM, "send": 90, "handle": 110, "receive": 40, "commit": 50, "elect": 20, "disconnect": 12, "sender": 4},
    heals=96,
    stale=0,
)
"""Answers are lost, or say that the leader was deposed: the fate of a batch is not known, and later ones go on."""

PROFILES = {
    profile.name: profile
    for profile in (CHAOS, FAIL_OVERS, GAPS, LONG, DOUBTS, ProducerProfile("calm", CALM, heals=256, stale=0))
}

MIXES = {"mixed": ("chaos", "gaps", "fail-overs", "doubts", "long", "gaps")}
"""Profiles that take others in turns, seed by seed."""
