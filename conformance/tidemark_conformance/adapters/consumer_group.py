"""The simulator of a KIP-848 group as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.group.modern.flaws import rules_without
from tidemark.sim.modern import MIXES, PROFILES, simulate
from tidemark.sim.modern.run import ModernSimulator
from tidemark.sim.modern.scenario import STAGE
from tidemark.sim.script import run_script

from tidemark_conformance.adapters.shared import Adapter

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Where steps happen: brokers and consumers; what the network does happens nowhere."""

ADAPTER = Adapter("the consumer group", simulate, rules_without, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(ModernSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
