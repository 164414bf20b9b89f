"""The descriptor of the classic group: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.classic_group import states
from tidemark.classic_group.flaws import VARIANTS
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.profiles import MIXES, PROFILES
from tidemark.classic_group.sim.run import GroupSimulator
from tidemark.classic_group.sim.scenario import STAGE
from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Steps happen at brokers and consumers; the network's steps happen nowhere."""

PROTOCOL = Protocol(
    "the classic group",
    nodes=NODES,
    simulators=GroupSimulator,
    rules=Rules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="offsets",
    variants=VARIANTS,
    healed="groups",
    machines={"group-states": states.TRANSITIONS},
    faults=("end_join", "heartbeat", "member", "offset"),
)
