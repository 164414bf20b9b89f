"""Every event that can happen to a transaction under simulation.

run.py chooses the next event. A method returns whether the event happened, or a rule refused it; the handler's end
tells the recorder its action of the specification.
"""

from __future__ import annotations

from tidemark.trace.recording import Recorder
from tidemark.two_phase_commit.messages import OUTCOMES, Decision, Message, Outcome, Prepared, ResourceManagerId
from tidemark.two_phase_commit.resource_manager import ResourceManager
from tidemark.two_phase_commit.rules import Rules
from tidemark.two_phase_commit.transaction_manager import TransactionManager


class TwoPhaseCommitCluster:
    """The managers of one transaction, and a network that loses nothing. `recorder` must be set before the first event.
    `messages`: all that was ever sent; each may be read any number of times. `told`: the decisions that the client was
    told."""

    __slots__ = ("messages", "recorder", "resource_managers", "told", "transaction_manager")

    recorder: Recorder

    def __init__(self, participants: int, rules: Rules) -> None:
        self.resource_managers = [ResourceManager(number, rules) for number in range(participants)]
        self.transaction_manager = TransactionManager(participants, rules)
        self.messages: set[Message] = set()
        self.told: list[Outcome] = []

    def lost(self) -> int:
        """How many resource managers did otherwise than the client was told."""
        outcomes = [manager.outcome for manager in self.resource_managers]
        return sum(outcome is not told for told in self.told for outcome in outcomes)

    # --- the resource managers --------------------------------------------------------------------------------------

    def prepare(self, r: ResourceManagerId) -> bool:
        """A resource manager prepares, and tells so."""
        promise = self.resource_managers[r].prepare()
        if promise is None:
            return False
        self.messages.add(promise)
        self.recorder.did("RMPrepare", r)
        return True

    def abort(self, r: ResourceManagerId) -> bool:
        """A resource manager gives up alone, or its promise holds it back."""
        manager = self.resource_managers[r]
        if manager.outcome is not None:
            return False
        if manager.abort():
            self.recorder.did("RMAbort", r)
        else:
            self.recorder.blocked("RMAbort", r)
        return True

    def receive_decision(self, r: ResourceManagerId, outcome: Outcome) -> bool:
        """A resource manager reads a decision."""
        decision = Decision(outcome)
        if decision not in self.messages or not self.resource_managers[r].receive_decision(decision):
            return False
        self.recorder.did("RMReceiveDecision", r, OUTCOMES.index(outcome))
        return True

    # --- the transaction manager ------------------------------------------------------------------------------------

    def receive_prepared(self, r: ResourceManagerId) -> bool:
        """The transaction manager reads a promise, perhaps not for the first time."""
        promise = Prepared(r)
        if promise not in self.messages or not self.transaction_manager.receive_prepared(promise):
            return False
        self.recorder.did("TMReceivePrepared", r)
        return True

    def decide(self, outcome: Outcome) -> bool:
        """The transaction manager decides and tells everybody, or a rule holds it back."""
        if self.transaction_manager.decision is not None:
            return False
        decision = self.transaction_manager.decide(outcome)
        if decision is None:
            self.recorder.blocked("TMDecide", OUTCOMES.index(outcome))
            return True
        self.messages.add(decision)
        self.told.append(outcome)
        self.recorder.did("TMDecide", OUTCOMES.index(outcome))
        return True

    def restart(self) -> bool:
        """The transaction manager crashes, and comes back."""
        self.transaction_manager.restart()
        self.recorder.did("TMRestart")
        return True
