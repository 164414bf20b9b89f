"""The descriptor of the offsets: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim.profiles import MIXES, PROFILES
from tidemark.offsets.sim.run import OffsetsSimulator
from tidemark.offsets.sim.scenario import STAGE
from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script

NODES = ("b1", "b2", "t1", "t2")
"""Steps happen at brokers and producers; steps of the clock, the cleaner and the network happen nowhere."""

PROTOCOL = Protocol(
    "the offsets",
    nodes=NODES,
    simulators=OffsetsSimulator,
    rules=OffsetRules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="offsets",
    healed="groups",
)
