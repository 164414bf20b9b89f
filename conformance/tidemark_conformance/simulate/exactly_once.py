"""The simulator of consume-transform-produce as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim import MIXES, PROFILES, ExactlyOnceSimulator, simulate
from tidemark.exactly_once.sim.scenario import STAGE
from tidemark.simulator.script import run_script

from tidemark_conformance.simulate.shared import Adapter

NODES = ("i1", "i2", "i3")
"""Where steps happen: at the instances, those of coordinators and leaders at the one that they are for; what the group
and the reader do happens nowhere."""

ADAPTER = Adapter("exactly once", simulate, Rules, frozenset({*PROFILES, *MIXES}), "or repeated results", "groups")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(ExactlyOnceSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
