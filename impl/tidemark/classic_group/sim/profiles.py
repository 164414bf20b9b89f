"""Nemesis profiles for groups: how often each kind of event happens, as data.

A profile weighs kinds of events; run.py says what each kind does.
"""

from __future__ import annotations

from tidemark.groups.sim.profiles import GroupProfile

CALM = {
    "member": 120,
    "heartbeat": 14,
    "offset": 24,
    "poll": 20,
    "revoked": 10,
    "commit_entry": 30,
    "start": 14,
    "end_join": 10,
    "notice": 3,
}

CHAOS = GroupProfile(
    "chaos",
    {
        **CALM,
        "crash": 3,
        "leave": 3,
        "subscribe": 4,
        "add_partition": 3,
        "expire": 4,
        "elect": 4,
        "resign": 4,
        "repeat": 6,
        "stray": 9,
        "lose": 5,
    },
)

FAIL_OVERS = GroupProfile(
    "fail-overs",
    {
        **CALM,
        "commit_entry": 12,
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

RESTARTS = GroupProfile(
    "restarts",
    {
        **CALM,
        "start": 26,
        "crash": 12,
        "leave": 6,
        "expire": 6,
        "repeat": 4,
        "stray": 8,
        "lose": 6,
        "elect": 2,
        "resign": 2,
    },
)
"""Processes end and come back."""

LEFT_BEHIND = GroupProfile(
    "left-behind",
    {
        "member": 110,
        "heartbeat": 2,
        "offset": 8,
        "poll": 8,
        "revoked": 22,
        "commit_entry": 34,
        "start": 16,
        "end_join": 26,
        "notice": 6,
        "subscribe": 12,
        "add_partition": 5,
        "lose": 4,
        "expire": 1,
        "crash": 1,
    },
    heals=96,
    modes=((0,), (0,), (0,), (0, 2)),
)
"""Cooperative consumers that hear late of a rebalance and join again with what they owned before it."""

CLAIMS = GroupProfile(
    "claims",
    {
        "member": 120,
        "heartbeat": 8,
        "offset": 4,
        "poll": 3,
        "revoked": 3,
        "commit_entry": 40,
        "start": 14,
        "end_join": 26,
        "notice": 4,
        "subscribe": 8,
        "add_partition": 4,
        "lose": 9,
        "repeat": 7,
        "stray": 6,
    },
    heals=32,
    modes=((0,),),
)
"""Cooperative consumers whose JoinGroups are lost and come late, so that their claims of partitions are out of date."""

HANDOVERS = GroupProfile(
    "handovers",
    {
        "member": 140,
        "heartbeat": 60,
        "offset": 1,
        "revoked": 2,
        "commit_entry": 60,
        "start": 6,
        "end_join": 6,
        "notice": 40,
        "add_partition": 60,
        "crash": 6,
    },
    heals=64,
    modes=((0,),),
    stale=0,
)
"""Topics come, cooperative consumers give partitions to each other, and some end before they have, and come back."""

COPIES = GroupProfile(
    "copies",
    {
        "member": 100,
        "heartbeat": 10,
        "offset": 2,
        "revoked": 4,
        "commit_entry": 16,
        "start": 10,
        "end_join": 6,
        "notice": 4,
        "subscribe": 8,
        "repeat": 60,
        "stray": 40,
    },
    heals=64,
)
"""JoinGroups and SyncGroups come twice, the second time while the first waits."""

DEPOSED = GroupProfile(
    "deposed",
    {
        **CALM,
        "offset": 48,
        "poll": 16,
        "elect": 4,
        "lose": 4,
        "leave": 2,
        "crash": 3,
    },
    heals=64,
    drawn=False,
    stale=96,
    disconnects=128,
)
"""A deposed coordinator does not hear of it. Consumers ask now it and now its successor, and commit much."""

PROFILES = {
    profile.name: profile
    for profile in (
        CHAOS,
        FAIL_OVERS,
        RESTARTS,
        LEFT_BEHIND,
        CLAIMS,
        HANDOVERS,
        COPIES,
        DEPOSED,
        GroupProfile("calm", CALM, heals=256, stale=0),
    )
}

MIXES = {"mixed": ("chaos", "left-behind", "fail-overs", "chaos", "restarts", "left-behind")}
"""Profiles that take others in turns, seed by seed."""
