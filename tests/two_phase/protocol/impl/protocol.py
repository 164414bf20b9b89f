"""The descriptor of two-phase commit: nodes, profiles, simulator, stage and words."""

from __future__ import annotations

from functools import partial

from tidemark.simulator.protocol import Protocol
from tidemark.simulator.script import run_script
from tidemark.two_phase_commit.rules import Rules
from tidemark.two_phase_commit.sim.profiles import MIXES, PROFILES
from tidemark.two_phase_commit.sim.run import TwoPhaseCommitSimulator
from tidemark.two_phase_commit.sim.scenario import STAGE

NODES = ("r1", "r2", "r3", "tm")
"""The resource managers, and the transaction manager behind them."""

PROTOCOL = Protocol(
    "two-phase commit",
    nodes=NODES,
    simulators=TwoPhaseCommitSimulator,
    rules=Rules,
    profiles=(*PROFILES, *MIXES),
    scenario=partial(run_script, STAGE),
    lost="decisions",
    healed="transactions",
)
