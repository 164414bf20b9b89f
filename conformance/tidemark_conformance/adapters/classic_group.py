"""The classic group's simulator as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.group.flaws import rules_without
from tidemark.sim.group import MIXES, PROFILES, simulate
from tidemark.sim.group.run import GroupSimulator
from tidemark.sim.group.scenario import STAGE
from tidemark.sim.script import run_script

from tidemark_conformance.adapters.shared import Adapter

NODES = ("b1", "b2", "c1", "c2", "s1", "s2")
"""Where steps happen: brokers and consumers; what the network does happens nowhere."""

ADAPTER = Adapter("the classic group", simulate, rules_without, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(GroupSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
