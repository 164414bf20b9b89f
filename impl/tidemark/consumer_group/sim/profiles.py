"""Nemesis profiles for KIP-848 groups: how often each kind of event happens, as data. run.py defines the kinds."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.groups.sim.profiles import GroupProfile


@dataclass(frozen=True, slots=True)
class ConsumerGroupProfile(GroupProfile):
    """`intervals_ms`: the assignment intervals that the coordinators of a run may have, in equal shares (milliseconds;
    0: no target assignment waits)."""

    intervals_ms: tuple[int, ...] = (0,)


CALM = {
    "heartbeat": 150,
    "reconcile": 44,
    "offset": 24,
    "poll": 16,
    "commit_entry": 40,
    "start": 14,
}

CHAOS = ConsumerGroupProfile(
    "chaos",
    {
        **CALM,
        "crash": 2,
        "leave": 4,
        "subscribe": 6,
        "add_partition": 3,
        "expire": 4,
        "elect": 4,
        "resign": 4,
        "repeat": 6,
        "stray": 9,
        "lose": 5,
    },
)

FAIL_OVERS = ConsumerGroupProfile(
    "fail-overs",
    {
        **CALM,
        "commit_entry": 14,
        "expire": 3,
        "elect": 14,
        "resign": 6,
        "repeat": 4,
        "stray": 6,
        "lose": 4,
        "crash": 1,
    },
    heals=96,
    stale=64,
)
"""The partition's leader changes often, and some hear of it late."""

RESTARTS = ConsumerGroupProfile(
    "restarts",
    {
        **CALM,
        "start": 22,
        "crash": 8,
        "leave": 9,
        "expire": 5,
        "repeat": 5,
        "stray": 10,
        "lose": 6,
        "elect": 2,
        "resign": 2,
    },
)
"""Processes end and come back."""

MOVES = ConsumerGroupProfile(
    "moves",
    {
        **CALM,
        "heartbeat": 170,
        "reconcile": 24,
        "subscribe": 16,
        "add_partition": 5,
        "repeat": 7,
        "stray": 8,
        "lose": 4,
    },
    heals=96,
)
"""Partitions move from consumer to consumer, and rebalance listeners take their time."""

LATE = ConsumerGroupProfile(
    "late",
    {
        "heartbeat": 120,
        "reconcile": 40,
        "offset": 50,
        "poll": 30,
        "commit_entry": 40,
        "start": 14,
        "subscribe": 10,
        "add_partition": 3,
        "expire": 4,
        "leave": 6,
        "crash": 2,
        "repeat": 30,
        "stray": 6,
        "lose": 8,
    },
    heals=64,
)
"""Requests arrive twice, the second time late: commits above all, while their partitions move on."""

BATCHES = ConsumerGroupProfile(
    "batches",
    {
        **CALM,
        "crash": 2,
        "leave": 4,
        "subscribe": 10,
        "add_partition": 3,
        "expire": 4,
        "elect": 3,
        "resign": 3,
        "repeat": 5,
        "stray": 8,
        "lose": 4,
    },
    intervals_ms=(1_000, 4_000, 16_000),
)
"""Target assignments wait until an interval has passed since the last one (KIP-1263)."""

DEPOSED = ConsumerGroupProfile(
    "deposed",
    {
        "heartbeat": 100,
        "reconcile": 16,
        "offset": 48,
        "poll": 16,
        "commit_entry": 40,
        "start": 12,
        "elect": 3,
        "lose": 12,
    },
    heals=64,
    drawn=False,
    stale=64,
    disconnects=128,
)
"""A deposed coordinator does not hear of it. Consumers ask now it and now its successor, and commit much."""

REJOINS = ConsumerGroupProfile(
    "rejoins",
    {
        "heartbeat": 60,
        "reconcile": 60,
        "commit_entry": 90,
        "start": 8,
        "expire": 8,
        "repeat": 15,
        "stray": 8,
    },
    heals=64,
    leanings={"heartbeat": (0, 1, 1), "reconcile": (0, 1), "repeat": (0,), "start": (0, 1), "stray": (0,)},
    drawn=False,
    intervals_ms=(8_000,),
)
"""One consumer says little, and its requests arrive twice. Sessions end while the next target assignment waits."""

PROFILES = {
    profile.name: profile
    for profile in (
        CHAOS,
        FAIL_OVERS,
        RESTARTS,
        MOVES,
        LATE,
        BATCHES,
        DEPOSED,
        REJOINS,
        ConsumerGroupProfile("calm", CALM, heals=256, stale=0),
    )
}

MIXES = {
    "mixed": (
        "chaos", "moves", "fail-overs", "late", "restarts", "chaos", "late", "moves",
        "chaos", "moves", "fail-overs", "late", "restarts", "batches", "late", "batches",
    ),
}  # fmt: skip
"""Profiles that take others in turns, seed by seed."""
