"""Nemesis profiles of consume-transform-produce: how often each kind of event is tried. They are data."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.producer_batching.record_accumulator import AccumulatorConfig
from tidemark.simulator.shared import Profile


@dataclass(frozen=True, slots=True)
class ExactlyOnceProfile(Profile):
    """`ends`: how often an instance that has processed something commits how far it is; `aborts`: how often it aborts
    instead; `careless`: how often an instance tries what applications must not do; `copies`: how often a marker comes
    again; `polls`: how often an instance looks whether the group rebalances; `hasty`: how often the next generation
    does not wait for all members."""

    ends: int = 110
    aborts: int = 8
    careless: int = 6
    copies: int = 24
    polls: int = 40
    hasty: int = 32


CALM = {"work": 110, "serve": 110, "decide": 50, "group": 50, "read": 24}

CHAOS = ExactlyOnceProfile(
    "chaos",
    {
        **CALM,
        "strand": 4,
        "time_out": 2,
        "give_up": 3,
        "repeat": 8,
        "late": 8,
        "late_marker": 4,
        "strike": 8,
        "expire": 2,
        "rebalance": 3,
    },
)

LATE = ExactlyOnceProfile(
    "late",
    {**CALM, "give_up": 6, "repeat": 18, "late": 16, "late_marker": 4, "strike": 40, "time_out": 4, "strand": 3},
    copies=120,
    ends=70,
)
"""Requests and markers arrive late, or twice."""

REBALANCES = ExactlyOnceProfile(
    "rebalances",
    {**CALM, "expire": 6, "rebalance": 10, "crash": 1, "late": 6, "repeat": 4},
    polls=90,
    ends=60,
)
"""Members come, go, and are thought gone."""

ZOMBIES = ExactlyOnceProfile(
    "zombies",
    {**CALM, "expire": 10, "rebalance": 4, "time_out": 1, "give_up": 2, "late": 8},
    polls=6,
    ends=30,
)
"""Members that were removed seldom look, and go on."""

CRASHES = ExactlyOnceProfile(
    "crashes",
    {**CALM, "crash": 1, "strand": 20, "late": 30, "late_marker": 6, "expire": 2, "rebalance": 2, "time_out": 1},
    copies=48,
    ends=130,
)
"""Processes end and come back, with what they have sent still under way."""

CARELESS = ExactlyOnceProfile(
    "careless",
    {**CALM, "give_up": 8, "expire": 5, "rebalance": 2, "strand": 2, "late": 6, "time_out": 2},
    careless=64,
    aborts=32,
    ends=70,
)
"""Applications try what they must not do, and much goes wrong with them."""

SEVERAL_OFFSETS = ExactlyOnceProfile(
    "several-offsets",
    {**CALM, "group": 40, "repeat": 80, "late": 8, "go_on": 250},
    heals=64,
    silent=2,
    ends=255,
    aborts=2,
    careless=0,
    polls=10,
    drawn=False,
)
"""One instance sends its offsets after each result, goes on in the same transaction, and often sends requests again."""

DEMONSTRATION = ExactlyOnceProfile(
    "demonstration",
    {"work": 80, "serve": 70, "decide": 20, "group": 16, "read": 70},
    ends=4,
    aborts=0,
    careless=0,
    copies=16,
    polls=64,
    hasty=0,
)
"""A long run (demonstration.py): transactions of about sixty records."""

MISHAPS = {
    "give_up": 4,
    "repeat": 76,
    "late": 88,
    "late_marker": 47,
    "time_out": 1,
    "bury": 16,
    "slip": 2,
    "refuse": 14,
    "stall": 8,
}
"""The occasional faults of a long run, beside its crashes and rebalances."""

BATCHES = AccumulatorConfig(
    batch_size=1_024,
    linger_ms=10,
    buffer_memory=6 * 1_024,
    retry_backoff_ms=4,
    retry_backoff_max_ms=32,
    delivery_timeout_ms=200,
)
"""The settings of its producers, all small enough to count within a transaction."""

PROFILES = {
    profile.name: profile
    for profile in (
        CHAOS,
        LATE,
        REBALANCES,
        ZOMBIES,
        CRASHES,
        CARELESS,
        SEVERAL_OFFSETS,
        ExactlyOnceProfile("calm", CALM, heals=256, careless=0, aborts=2, copies=0),
    )
}

MIXES = {"mixed": ("chaos", "late", "rebalances", "zombies", "crashes", "careless", "several-offsets")}
"""Profiles that take others in turns, seed by seed."""
