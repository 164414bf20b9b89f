"""The simulator of idempotent producers as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.idempotence.rules import Rules
from tidemark.idempotence.sim import MIXES, PROFILES, simulate
from tidemark.idempotence.sim.run import ProducerSimulator
from tidemark.idempotence.sim.scenario import STAGE
from tidemark.simulator.script import run_script

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "c1", "c2")
"""Where steps happen: brokers and producers; what the network does happens nowhere."""

ADAPTER = Adapter("idempotence", simulate, Rules, frozenset({*PROFILES, *MIXES}), "or doubled batches", "producers")

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(ProducerSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
