"""Nemesis profiles of two-phase commit: how often each kind of event is tried. They are data."""

from __future__ import annotations

from tidemark.simulator.shared import Profile

CALM = {"prepare": 40, "collect": 60, "decide": 12, "carry_out": 30}

PROFILES = {
    profile.name: profile
    for profile in (
        Profile("calm", CALM, heals=256),
        Profile("chaos", {**CALM, "give_up": 8, "restart": 8}),
        Profile("crashes", {**CALM, "give_up": 2, "restart": 40}),
    )
}

MIXES = {"mixed": ("chaos", "crashes")}
"""Profiles that take others in turns, seed by seed."""
