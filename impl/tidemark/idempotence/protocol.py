"""The descriptor of idempotence: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.idempotence.flaws import VARIANTS
from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim.profiles import MIXES, PROFILES
from tidemark.idempotence.sim.run import ProducerSimulator
from tidemark.idempotence.sim.scenario import STAGE
from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script

NODES = ("b1", "b2", "c1", "c2")
"""Steps happen at brokers and producers; the network's steps happen nowhere."""

PROTOCOL = Protocol(
    "idempotence",
    nodes=NODES,
    simulators=ProducerSimulator,
    rules=Rules,
    variants=VARIANTS,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="or doubled batches",
    healed="producers",
)
