"""The simulator of committed offsets as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.group.offset_flaws import rules_without
from tidemark.sim.offsets import MIXES, PROFILES, OffsetsSimulator, simulate
from tidemark.sim.offsets.scenario import STAGE
from tidemark.sim.script import run_script

from tidemark_conformance.adapters.shared import Adapter

NODES = ("b1", "b2", "t1", "t2")
"""Where steps happen: brokers and producers; what the clock, the cleaner and the network do happens nowhere."""

ADAPTER = Adapter("the offsets", simulate, rules_without, frozenset({*PROFILES, *MIXES}), "offsets", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(OffsetsSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
