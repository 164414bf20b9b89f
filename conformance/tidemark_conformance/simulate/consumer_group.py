"""The simulator of a KIP-848 group as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.consumer_group.rules import Rules
from tidemark.consumer_group.sim import MIXES, PROFILES, simulate
from tidemark.consumer_group.sim.run import ModernSimulator
from tidemark.consumer_group.sim.scenario import STAGE
from tidemark.simulator.script import run_script

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Where steps happen: brokers and consumers; what the network does happens nowhere."""

ADAPTER = Adapter("the consumer group", simulate, Rules, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(ModernSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
