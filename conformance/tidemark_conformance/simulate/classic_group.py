"""The classic group's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim import MIXES, PROFILES, simulate
from tidemark.classic_group.sim.run import GroupSimulator
from tidemark.classic_group.sim.scenario import STAGE
from tidemark.simulator.script import run_script

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Where steps happen: brokers and consumers; what the network does happens nowhere."""

ADAPTER = Adapter("the classic group", simulate, Rules, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(GroupSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
