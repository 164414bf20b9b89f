"""Nemesis profiles of transactions: how often each kind of event is tried. They are data."""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.simulator.shared import Profile


@dataclass(frozen=True, slots=True)
class TransactionProfile(Profile):
    """`stale`: how often another broker is taken for the coordinator; `rivals`: how often the process that has nothing
    to do takes the transactional id over; `ends`: how often a process that may go on in its transaction ends it;
    `commits`: how many of 64 that it ends it commits; `offsets`: a partition is of __consumer_offsets."""

    stale: int = 12
    rivals: int = 4
    ends: int = 64
    commits: int = 48
    offsets: bool = False


CALM = {"client": 60, "rpc": 60, "batch": 70, "log": 60, "marker": 60, "replicate": 50}

CHAOS = TransactionProfile(
    "chaos",
    {
        **CALM,
        "time_out": 4,
        "fail": 6,
        "elect": 5,
        "resign": 5,
        "disconnect": 6,
        "give_up": 4,
        "late_rpc": 3,
        "late_batch": 5,
        "late_marker": 6,
        "lose": 6,
        "repeat": 16,
        "depose": 4,
        "crash": 3,
    },
    rivals=12,
)

FAIL_OVERS = TransactionProfile(
    "fail-overs",
    {**CALM, "log": 40, "elect": 20, "resign": 14, "fail": 8, "late_marker": 6, "lose": 8, "time_out": 5, "repeat": 6},
    stale=20,
)
"""Coordinators change often, and lose what is not committed."""

LATE = TransactionProfile(
    "late",
    {
        **CALM,
        "give_up": 14,
        "disconnect": 6,
        "late_rpc": 2,
        "late_batch": 12,
        "late_marker": 10,
        "repeat": 40,
        "lose": 8,
        "time_out": 4,
    },
)
"""Batches and markers arrive late, or twice."""

STRAGGLERS = TransactionProfile(
    "stragglers",
    {**CALM, "client": 90, "give_up": 6, "straggle": 90, "late_batch": 1},
    stale=0,
    rivals=1,
    ends=28,
    commits=32,
)
RESENT = TransactionProfile(
    "resent",
    {**CALM, "client": 90, "resend_end": 90, "straggle": 120},
    heals=48,
    stale=0,
    rivals=0,
    ends=24,
    commits=32,
)
"""Abandoned batches and EndTxn requests arrive when their process is in its next transaction."""

LOST = TransactionProfile(
    "lost",
    {**CALM, "client": 90, "marker": 110, "log": 20, "elect": 14, "resign": 10, "time_out": 12},
    stale=0,
    rivals=0,
    ends=24,
)
"""The coordinators' log is slow, and a new coordinator often lacks what the last one has appended."""

TAKEOVERS = TransactionProfile(
    "takeovers",
    {**CALM, "crash": 12, "late_rpc": 4, "late_batch": 6, "time_out": 6, "give_up": 4, "depose": 3},
    rivals=48,
)
"""Processes take the transactional id from each other."""

DEPOSED = TransactionProfile(
    "deposed",
    {**CALM, "replicate": 36, "depose": 20, "lose": 8, "repeat": 6, "late_marker": 4, "late_batch": 3, "fail": 4},
)
"""Partitions' leaders change often, and lose what is not committed."""

EXHAUSTED = TransactionProfile(
    "exhausted",
    {**CALM, "client": 90, "marker": 30, "time_out": 6, "crash": 12, "give_up": 4, "hurry": 120},
    stale=0,
    rivals=24,
    ends=160,
    commits=32,
)
"""Transactions are short, and end in every way: the epochs of a producer id run out while markers are on the way."""

CONSUMERS = TransactionProfile(
    "consumers",
    {**CALM, "replicate": 60, "fetch": 160, "lose_fetch": 4, "depose": 4, "time_out": 4, "give_up": 4},
    ends=80,
    commits=32,
)
"""Consumers read while transactions are written, committed and aborted. Elsewhere they read after healing only."""


THREADS = TransactionProfile(
    "threads",
    {**CALM, "client": 80, "second": 60, "clock": 10, "fail": 12, "time_out": 10, "elect": 4, "resign": 4},
    stale=0,
    rivals=8,
)
"""A coordinator's threads overtake each other, its clock goes back, and its log fails."""

EXPIRY = TransactionProfile(
    "expiry",
    {**FAIL_OVERS.weights, "expire": 40, "late_marker": 20, "lose": 20},
    stale=8,
)
"""Partitions forget producers, while coordinators change and markers come late."""

UNWRITTEN = TransactionProfile("unwritten", {**CALM, "log": 20, "fail": 30, "time_out": 30}, stale=0, rivals=24)
"""The coordinators' log mostly fails, when transactions time out, too."""

OFFSETS = TransactionProfile(
    "offsets",
    {
        **CALM,
        "reconnect": 8,
        "refuse": 8,
        "late_batch": 8,
        "straggle": 24,
        "disconnect": 6,
        "late_rpc": 4,
        "elect": 4,
        "resign": 4,
        "fail": 4,
        "time_out": 4,
        "depose": 4,
        "repeat": 6,
        "late_marker": 4,
        "crash": 3,
    },
    rivals=12,
    offsets=True,
)
"""One of the two partitions is of __consumer_offsets; its group refuses, and connections to it fail."""

LATE_OFFSETS = TransactionProfile(
    "late-offsets",
    {**CALM, "client": 90, "reconnect": 20, "straggle": 90, "refuse": 2},
    stale=0,
    rivals=1,
    ends=28,
    commits=32,
    offsets=True,
)
"""Requests of a failed connection arrive when their process is in its next transaction."""

UNHEARD = TransactionProfile(
    "unheard",
    {
        **CALM,
        "client": 90,
        "rpc": 110,
        "log": 110,
        "marker": 110,
        "give_up": 60,
        "disconnect": 60,
        "elect": 14,
        "resign": 14,
    },
    stale=0,
    rivals=0,
    ends=160,
    commits=32,
)
"""Processes give batches up, and do not hear what a coordinator has answered when another one takes its place."""

OVERTAKEN = TransactionProfile(
    "overtaken",
    {**CALM, "client": 90, "marker": 30, "repeat": 120, "overtake": 200, "time_out": 3, "give_up": 4},
    ends=160,
    stale=0,
    rivals=1,
    commits=32,
)
"""Transactions are short, and copies of their markers arrive while a batch of a later one is verified."""

STALE = TransactionProfile(
    "stale",
    {"client": 120, "rpc": 120, "batch": 120, "log": 120, "marker": 120, "replicate": 50, "elect": 10, "reconnect": 6},
    heals=32,
    drawn=False,
    stale=110,
    rivals=0,
    ends=120,
    commits=62,
    offsets=True,
)
"""A deposed coordinator never hears of it before the healing, and of ten requests four go to one. Transactions are
short, and one of the two partitions is of __consumer_offsets."""

PROFILES = {
    profile.name: profile
    for profile in (
        CHAOS,
        FAIL_OVERS,
        LATE,
        STRAGGLERS,
        RESENT,
        LOST,
        TAKEOVERS,
        DEPOSED,
        EXHAUSTED,
        CONSUMERS,
        THREADS,
        EXPIRY,
        UNWRITTEN,
        OFFSETS,
        LATE_OFFSETS,
        UNHEARD,
        OVERTAKEN,
        STALE,
        TransactionProfile("calm", CALM, heals=256, stale=0, rivals=2),
    )
}

MIXES = {
    "mixed": (
        "chaos",
        "late",
        "fail-overs",
        "takeovers",
        "deposed",
        "stragglers",
        "consumers",
        "lost",
        "resent",
        "exhausted",
        "threads",
        "expiry",
        "offsets",
        "overtaken",
    )
}
"""Profiles that take others in turns, seed by seed."""
