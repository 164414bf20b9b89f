"""The descriptor of transactions: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script
from tidemark.transactions.rules import Rules
from tidemark.transactions.sim.profiles import MIXES, PROFILES
from tidemark.transactions.sim.run import TransactionSimulator
from tidemark.transactions.sim.scenario import STAGE

NODES = ("b1", "b2", "b3", "c1", "c2")
"""Steps happen at coordinators and processes; steps of partitions' leaders and of the network happen nowhere."""

PROTOCOL = Protocol(
    "transactions",
    nodes=NODES,
    simulators=TransactionSimulator,
    rules=Rules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="or torn transactions",
    healed="transactions",
)
