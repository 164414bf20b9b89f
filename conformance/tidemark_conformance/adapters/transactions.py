"""The simulator of transactions as `spec/protocols.toml` wants it."""

from __future__ import annotations

from functools import partial

from tidemark.sim.script import run_script
from tidemark.sim.transaction import MIXES, PROFILES, simulate
from tidemark.sim.transaction.run import TransactionSimulator
from tidemark.sim.transaction.scenario import STAGE
from tidemark.transaction.flaws import rules_without

from tidemark_conformance.adapters.shared import Adapter

NODES = ("b1", "b2", "b3", "c1", "c2")
"""Where steps happen: coordinators and processes; what partitions' leaders and the network do happens nowhere."""

ADAPTER = Adapter(
    "transactions", simulate, rules_without, frozenset({*PROFILES, *MIXES}), "or torn transactions", "transactions"
)

simulator = ADAPTER.simulator


resimulation = ADAPTER.resimulation(TransactionSimulator)

transcript = ADAPTER.transcript(partial(run_script, STAGE))
