"""What the nemesis and the workload do, and how often: schedules are data.

A profile gives each kind of event a weight; kinds are methods of `run.Run`. An event that is not possible when its turn
comes is passed over, so weights are chances of being tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """`weights`: kind of event -> weight. Chances are of 256.

    `heals`: how many of 256 traces are healed at their end (the others stop in the midst of it); `skewed`: how many start
    with clocks apart; `reply_lost`: how often a client does not hear its acknowledgement.
    """

    name: str
    weights: dict[str, int]
    heals: int = 128
    skewed: int = 32
    reply_lost: int = 24
    acks: tuple[str, ...] = field(default=("all", "all", "all", "all", "all", "1", "all", "0"))


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

CHAOS = Profile(
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

PROFILES = {profile.name: profile for profile in (CHAOS, Profile("calm", CALM, heals=256, skewed=0, reply_lost=0))}
