"""The descriptor of the consumer group: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.consumer_group import membership, states
from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.sim.profiles import MIXES, PROFILES
from tidemark.consumer_group.sim.run import ConsumerGroupSimulator
from tidemark.consumer_group.sim.scenario import STAGE
from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Steps happen at brokers and consumers; the network's steps happen nowhere."""

PROTOCOL = Protocol(
    "the consumer group",
    nodes=NODES,
    simulators=ConsumerGroupSimulator,
    rules=Rules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="offsets",
    healed="groups",
    machines={"member-states": states.TRANSITIONS, "consumer-states": membership.TRANSITIONS},
    faults=("offset",),
)
