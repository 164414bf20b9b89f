"""A resource manager: it prepares, or gives up, and does what the transaction manager decides."""

from __future__ import annotations

from tidemark.two_phase_commit.messages import Decision, Outcome, Prepared, ResourceManagerId
from tidemark.two_phase_commit.rules import Rules


class ResourceManager:
    """One resource manager. `prepared`: it has promised to follow the decision; `outcome`: its own, None before."""

    __slots__ = ("_number", "_rules", "outcome", "prepared")

    def __init__(self, number: ResourceManagerId, rules: Rules) -> None:
        self._number = number
        self._rules = rules
        self.prepared = False
        self.outcome: Outcome | None = None

    def prepare(self) -> Prepared | None:
        """It promises, once, and as long as it has not given up. Returns its message to the transaction manager."""
        if self.prepared or self.outcome is not None:
            return None
        self.prepared = True
        return Prepared(self._number)

    def abort(self) -> bool:
        """It gives up alone, if it may; whether it does. It must not have an outcome."""
        if not self._rules.prepared_waits(self.prepared):
            return False
        self.outcome = Outcome.ABORTED
        return True

    def receive_decision(self, decision: Decision) -> bool:
        """It does as it is told; False if it had an outcome already."""
        if self.outcome is not None:
            return False
        self.outcome = decision.outcome
        return True
