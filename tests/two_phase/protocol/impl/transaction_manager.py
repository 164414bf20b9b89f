"""The transaction manager: it collects promises and decides for all."""

from __future__ import annotations

from tidemark.two_phase_commit.messages import Decision, Outcome, Prepared, ResourceManagerId
from tidemark.two_phase_commit.rules import Rules


class TransactionManager:
    """The manager of one transaction. `asked`: how many resource managers take part; `prepared`: those whose promises
    it has read since it started; `decision`: None before it has decided."""

    __slots__ = ("_asked", "_rules", "decision", "prepared")

    def __init__(self, asked: int, rules: Rules) -> None:
        self._asked = asked
        self._rules = rules
        self.prepared: set[ResourceManagerId] = set()
        self.decision: Outcome | None = None

    def receive_prepared(self, promise: Prepared) -> bool:
        """It notes a promise; False if it has decided already."""
        if self.decision is not None:
            return False
        self.prepared.add(promise.sender)
        return True

    def decide(self, outcome: Outcome) -> Decision | None:
        """It decides, if it may; None if not. It must not have decided. Returns its message to everybody."""
        commits = outcome is Outcome.COMMITTED
        if commits and not self._rules.commit_only_if_all_prepared(self.prepared, self._asked):
            return None
        self.decision = outcome
        return Decision(outcome)

    def restart(self) -> None:
        """It crashes, and comes back with the contents of its disk: its decision, and no promise."""
        self.prepared.clear()
        if not self._rules.keep_decision(self.decision):
            self.decision = None
