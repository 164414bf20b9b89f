"""The simulator of committed offsets as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.offsets.rules import OffsetRules
from tidemark.offsets.sim import MIXES, PROFILES, OffsetsSimulator, simulate
from tidemark.offsets.sim.scenario import STAGE
from tidemark.simulator.script import run_script

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "t1", "t2")
"""Where steps happen: brokers and producers; what the clock, the cleaner and the network do happens nowhere."""

ADAPTER = Adapter("the offsets", simulate, OffsetRules, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(OffsetsSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
