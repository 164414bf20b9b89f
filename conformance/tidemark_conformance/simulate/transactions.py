"""The simulator of transactions as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.simulator.script import run_script
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim import MIXES, PROFILES, simulate
from tidemark.transactions.sim.run import TransactionSimulator
from tidemark.transactions.sim.scenario import STAGE

from tidemark_conformance.simulate.shared import Adapter

NODES = ("b1", "b2", "b3", "c1", "c2")
"""Where steps happen: coordinators and processes; what partitions' leaders and the network do happens nowhere."""

ADAPTER = Adapter(
    "transactions", simulate, Rules, frozenset({*PROFILES, *MIXES}), "or torn transactions", "transactions"
)

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(TransactionSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
