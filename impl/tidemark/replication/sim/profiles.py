"""The events of nemesis and workload, and their weights: schedules are data.

A profile gives each kind of event a weight; kinds are methods of `run.Run`. An event that is not possible when its turn
comes is passed over, so weights are chances of being tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidemark.simulator.shared import Profile


@dataclass(frozen=True, slots=True)
class ReplicationProfile(Profile):
    """`skewed`: how many runs start with clocks apart. `reply_lost`: how often a client does not hear its
    acknowledgement. `slow`: how many disks are slow at the start. `prompt`: how often a step that waits for a disk or a
    lock goes on when its turn comes. `prelude`: a scenario that comes before the chaos.
    `acks`: the acks of produce requests, in equal shares."""

    skewed: int = 32
    reply_lost: int = 24
    slow: int = 16
    prompt: int = 32
    prelude: str = ""
    acks: tuple[str, ...] = ("all", "all", "all", "all", "all", "1", "all", "0")


CALM = {
    "fetch": 110,
    "produce": 26,
    "apply": 26,
    "alter": 18,
    "maintain_isr": 16,
    "purgatory": 16,
    "flush": 6,
    "checkpoint": 4,
}

CHAOS = ReplicationProfile(
    "chaos",
    {
        **CALM,
        "elect": 7,
        "pause": 2,
        "resume": 6,
        "cut": 2,
        "mend": 5,
        "expire": 9,
        "heartbeat": 6,
        "crash": 2,
        "start": 5,
        "stop": 2,
        "break_connection": 2,
        "slow_disk": 2,
        "skew": 1,
    },
)

ELECTIONS = ReplicationProfile(
    "elections",
    {
        "fetch": 100,
        "produce": 26,
        "apply": 20,
        "alter": 10,
        "maintain_isr": 14,
        "purgatory": 6,
        "flush": 3,
        "checkpoint": 2,
        "elect": 12,
        "pause": 2,
        "resume": 8,
        "lag": 6,
        "mend": 4,
        "expire": 6,
        "heartbeat": 6,
        "stop": 2,
        "start": 2,
        "break_connection": 2,
    },
    heals=48,
    skewed=64,
)
"""Leaders change often, and some brokers hear of it late."""

RESTARTS = ReplicationProfile(
    "restarts",
    {
        "fetch": 100,
        "produce": 22,
        "apply": 24,
        "load": 16,
        "alter": 7,
        "maintain_isr": 16,
        "purgatory": 6,
        "flush": 2,
        "checkpoint": 6,
        "elect": 4,
        "lag": 2,
        "mend": 4,
        "expire": 14,
        "heartbeat": 12,
        "crash": 7,
        "start": 14,
        "skew": 3,
    },
    heals=48,
)
"""Machines fail and come back, and the controller is slow to decide proposals. Brokers that register catch up
in steps."""

SLOW_CONTROLLER = ReplicationProfile(
    "slow-controller",
    {
        "fetch": 96,
        "produce": 18,
        "apply": 30,
        "alter": 4,
        "maintain_isr": 22,
        "purgatory": 2,
        "crash": 1,
        "crash_outsider": 12,
        "expire": 26,
        "heartbeat": 22,
        "start": 22,
    },
    heals=24,
    skewed=0,
)
"""The controller decides proposals late, while machines fail and come back quickly."""

LATE_READS = ReplicationProfile(
    "late-reads",
    {
        "fetch": 110,
        "produce": 34,
        "apply": 22,
        "alter": 8,
        "maintain_isr": 10,
        "purgatory": 4,
        "elect": 16,
        "lag": 8,
        "mend": 3,
        "slow_disk": 6,
        "expire": 2,
        "heartbeat": 2,
    },
    heals=32,
    slow=200,
)
"""Slow disks under frequent elections: the bytes of a response are read after the log was truncated and written
again."""

STALE_BYTES = ReplicationProfile(
    "stale-bytes",
    LATE_READS.weights,
    heals=64,
    slow=200,
    prelude="""
        produce B w acks=all
        produce B v acks=all
        elect A
        apply A
        produce A y acks=all
        produce A z acks=1
        apply C
        fetch C from=A max=1
        send C from=A
        answer C from=A late
        elect B
        apply B
        apply A
        fetch A from=B
        fetch A from=B
        fetch A from=B
        read C from=A
    """,
)
"""CAND-3 is about to happen: too rare to be met by chance (never in 20,000 traces of late reads)."""

STALE_EPOCHS = ReplicationProfile(
    "stale-epochs",
    LATE_READS.weights,
    heals=64,
    slow=200,
    prelude="""
        produce B u acks=1
        fetch C from=B
        elect A
        apply A
        produce A w acks=all
        produce A v acks=all
        elect B
        apply B
        apply C
        produce B x acks=1
        send C from=B
        answer C from=B late
        elect A
        apply A
        apply B
        fetch B from=A
        fetch B from=A
        fetch B from=A
        read C from=B
    """,
)
"""Row 139 is about to happen, one leader epoch later than CAND-3."""

CONSUMERS = ReplicationProfile(
    "consumers",
    {**ELECTIONS.weights, "crash": 2, "consume": 60},
    prelude="""
        produce B w acks=all
        fetch A from=B
        fetch C from=B
        fetch C from=B
        fetch A from=B
        consume B
        elect A
        apply A
    """,
)
"""A consumer has read what the old leader knows to be committed, and the new one not yet; leaders change often."""

CROWDED = ReplicationProfile(
    "crowded",
    {
        **ELECTIONS.weights,
        "crowd": 12,
        "stop_anyway": 4,
    },
    heals=48,
    prelude="""
        produce B w acks=1
        elect A
        apply A
        apply B
        send B from=A
        answer B from=A
        check B from=A
        elect C
        apply C
        apply A
        apply B
        produce C v acks=all
        fetch B from=C
        fetch B from=C
        fetch A from=C
    """,
)
"""Threads that let a lock go wait long until they have it again, and leaders change often. CAND-14 is half done at the
beginning: B is to truncate by an answer of A, and follows C meanwhile."""

LATE_COUNTS = ReplicationProfile(
    "late-counts",
    CROWDED.weights,
    heals=48,
    prelude="""
        produce B w acks=1
        fetch C from=B
        send C from=B
        answer C from=B uncounted
        elect A
        apply A
        apply C
        fetch C from=A
        elect B
        apply B
    """,
)
"""The same, and CAND-15 is about to happen: B leads again, and owes a count of the epoch before."""

LATE_WAITS = ReplicationProfile(
    "late-waits",
    CROWDED.weights,
    heals=48,
    prelude="""
        produce B r acks=all later
        elect A
        apply A
        apply B
        apply C
        produce A s acks=1
        fetch B from=A
        fetch B from=A
        fetch C from=A
        fetch B from=A
        elect B
        apply B
    """,
)
"""The same, and CAND-17 is about to happen: B leads again, and has truncated what a produce is to wait for."""

LATE_ANSWERS = ReplicationProfile(
    "late-answers",
    CROWDED.weights,
    heals=48,
    drawn=False,
    prelude="""
        produce B r acks=all
        elect A
        apply A
        apply B looking
        apply C
        produce A s acks=1
        fetch B from=A
        fetch B from=A
        fetch C from=A
    """,
)
"""The same, and CAND-18 is about to happen: B has truncated what a produce waits for that a thread looks at."""

PROFILES = {
    profile.name: profile
    for profile in (
        CHAOS,
        ELECTIONS,
        RESTARTS,
        SLOW_CONTROLLER,
        LATE_READS,
        STALE_BYTES,
        STALE_EPOCHS,
        CONSUMERS,
        CROWDED,
        LATE_COUNTS,
        LATE_WAITS,
        LATE_ANSWERS,
        ReplicationProfile("calm", CALM, heals=256, skewed=0, reply_lost=0),
    )
}

MIXES = {"mixed": ("chaos", "crowded", "elections", "late-waits", "restarts", "consumers", "late-reads", "stale-bytes")}
"""Profiles that take others in turns, seed by seed."""
