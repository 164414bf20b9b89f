"""The descriptor of exactly once: nodes, profiles, simulator, stage, words and demonstration."""

from __future__ import annotations

from functools import partial

from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.demonstrated import DEMONSTRATED
from tidemark.exactly_once.sim.profiles import MIXES, PROFILES
from tidemark.exactly_once.sim.run import ExactlyOnceSimulator
from tidemark.exactly_once.sim.scenario import STAGE
from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script

NODES = ("i1", "i2", "i3")
"""Steps happen at the instances; steps of a coordinator or leader happen at the instance that they serve, those of the
group and the reader nowhere."""

PROTOCOL = Protocol(
    "exactly once",
    nodes=NODES,
    simulators=ExactlyOnceSimulator,
    rules=Rules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="or repeated results",
    healed="groups",
    demonstration=DEMONSTRATED,
)
