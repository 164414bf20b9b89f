"""One simulated run of two-phase commit: the event that each kind tries, and the end of a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidemark.simulator.running import RunBase, SimulatorBase
from tidemark.simulator.shared import Profile
from tidemark.simulator.worlds import Mix
from tidemark.trace.recorder import Plan, Recorder
from tidemark.two_phase_commit.abstraction import OF_THE_TRANSACTION_MANAGER, READS, TOUCHES, Abstraction, Table
from tidemark.two_phase_commit.messages import OUTCOMES, Outcome
from tidemark.two_phase_commit.rules import Rules
from tidemark.two_phase_commit.sim.cluster import TwoPhaseCommitCluster
from tidemark.two_phase_commit.sim.profiles import MIXES, PROFILES


class TwoPhaseCommitSimulator(SimulatorBase):
    """Everything that runs of one kind share. Call `run(seed)`.

    Raises ValueError for a header of another specification, or a profile that there is not.
    """

    def __init__(
        self, header: Mapping[str, Any], *, steps: int = 50, profile: str = "mixed", rules: Rules | None = None
    ) -> None:
        super().__init__(TwoPhaseCommitRun, Mix(profile, PROFILES, MIXES), steps)
        self.table = table = Table(header)
        parties = {"r": table.names}
        self.plan = Plan(header, "two-phase commit", READS, TOUCHES, parties, "r", (), OF_THE_TRANSACTION_MANAGER)
        self.rules = rules if rules is not None else Rules()


class TwoPhaseCommitRun(RunBase[TwoPhaseCommitCluster, Profile]):
    """The state of one run."""

    def __init__(self, simulator: TwoPhaseCommitSimulator, seed: int) -> None:
        super().__init__(simulator, seed)
        self._participants = len(simulator.table.names)
        self.cluster = TwoPhaseCommitCluster(self._participants, simulator.rules)
        self.recorder = Recorder(simulator.plan, Abstraction(simulator.table, self.cluster))
        self.cluster.recorder = self.recorder

    def heal(self) -> bool:
        """Nobody crashes any more, and every message is read; whether everybody has an outcome then."""
        cluster, manager = self.cluster, self.cluster.transaction_manager
        for r in range(self._participants):
            cluster.receive_prepared(r)
        if manager.decision is None:
            all_prepared = len(manager.prepared) == self._participants
            cluster.decide(Outcome.COMMITTED if all_prepared else Outcome.ABORTED)
        for r in range(self._participants):
            for outcome in OUTCOMES:
                cluster.receive_decision(r, outcome)
        return all(one.outcome is not None for one in cluster.resource_managers)

    def acked(self) -> int:
        """How many decisions the client was told."""
        return len(self.cluster.told)

    def lost(self) -> int:
        """How many resource managers did otherwise."""
        return self.cluster.lost()

    # --- events -----------------------------------------------------------------------------------------------------

    def prepare(self, word: int) -> bool:
        """A resource manager prepares."""
        return self.cluster.prepare(word % self._participants)

    def give_up(self, word: int) -> bool:
        """A resource manager gives up, or would like to."""
        return self.cluster.abort(word % self._participants)

    def collect(self, word: int) -> bool:
        """The transaction manager reads a promise."""
        return self.cluster.receive_prepared(word % self._participants)

    def decide(self, word: int) -> bool:
        """The transaction manager decides: mostly to commit, if it may."""
        return self.cluster.decide(Outcome.COMMITTED if word & 7 else Outcome.ABORTED)

    def carry_out(self, word: int) -> bool:
        """A resource manager reads a decision."""
        return self.cluster.receive_decision((word >> 1) % self._participants, OUTCOMES[word & 1])

    def restart(self, word: int) -> bool:
        """The transaction manager crashes, if it has something to forget."""
        return bool(self.cluster.transaction_manager.prepared) and self.cluster.restart()
