"""Nemesis profiles for committed offsets: how often what happens, as data; run.py says what each kind does."""

from __future__ import annotations

from tidemark.simulator.shared import Profile

CALM = {
    "commit_offset": 14,
    "commit_entry": 40,
    "producer": 60,
    "marker": 24,
    "rebalance": 5,
    "tick": 8,
    "expire": 8,
    "fetch": 8,
    "compact": 6,
}

CHAOS = Profile(
    "chaos",
    {**CALM, "delete": 4, "delete_group": 1, "drop_topic": 1, "give_up": 6, "late": 10, "repeat": 5, "lose": 3,
     "elect": 4, "resign": 5},
)  # fmt: skip

TRANSACTIONS = Profile(
    "transactions",
    {
        "commit_offset": 6, "commit_entry": 36, "producer": 80, "marker": 36, "rebalance": 4, "fetch": 6, "compact": 4,
        "delete": 1, "give_up": 12, "late": 16, "repeat": 12, "lose": 4, "elect": 3, "resign": 4,
    },
)  # fmt: skip
"""Transactions one after another, and requests and markers that come late."""

EXPIRY = Profile(
    "expiry",
    {
        "commit_offset": 16, "commit_entry": 40, "producer": 24, "marker": 10, "rebalance": 10, "tick": 30,
        "expire": 26, "fetch": 4, "compact": 6, "delete": 3, "delete_group": 1, "elect": 1, "resign": 2,
    },
)  # fmt: skip
"""Time passes: offsets and groups expire."""

FAIL_OVERS = Profile(
    "fail-overs",
    {**CALM, "commit_entry": 20, "elect": 16, "resign": 10, "late": 4, "give_up": 2, "fetch": 14, "delete": 3},
    heals=96,
)
"""The partition's leader changes often, and much waits to commit."""

SIMPLE = Profile(
    "simple",
    {
        "commit_entry": 40, "producer": 70, "marker": 32, "expire": 16, "tick": 6, "fetch": 8, "compact": 4, "elect": 2,
        "resign": 2, "commit_offset": 1, "delete": 1,
    },
)  # fmt: skip
"""A group without members, whose offsets are nearly all of transactions."""

PROFILES = {
    profile.name: profile
    for profile in (CHAOS, TRANSACTIONS, EXPIRY, FAIL_OVERS, SIMPLE, Profile("calm", CALM, heals=256))
}

MIXES = {"mixed": ("chaos", "transactions", "expiry", "fail-overs")}
"""Profiles that take others in turns, seed by seed."""
