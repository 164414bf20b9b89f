"""The abstraction function: the variables of TwoPhaseCommit, read off the managers and the network.

| variable | in the implementation |
|---|---|
| `rmState` | a resource manager's outcome, or whether it has prepared |
| `tmState`, `tmPrepared` | the transaction manager's decision, and the promises that it has read |
| `messages` | all messages that the network was ever given |

Here are keys, plain values that mirror the variables' types, from which cells are made by trace/shapes.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from tidemark.trace.cells import Abstract
from tidemark.two_phase_commit.messages import Decision, Message, Outcome, Prepared
from tidemark.two_phase_commit.resource_manager import ResourceManager
from tidemark.two_phase_commit.transaction_manager import TransactionManager

Key = Any


class State(Protocol):
    """The readable parts of a run."""

    @property
    def transaction_manager(self) -> TransactionManager:
        """The transaction manager."""

    @property
    def resource_managers(self) -> Sequence[ResourceManager]:
        """The resource managers."""

    @property
    def messages(self) -> Collection[Message]:
        """All that was ever sent."""


class Table:
    """The parts of a trace header that simulator and abstraction need: the resource managers' names, and each message's
    place in the mask of a set of messages. Raises ValueError for a header of another specification."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        variables = header["variables"]
        if set(variables) != set(READS):
            raise ValueError("the header has other variables than two-phase commit")
        self.names: tuple[str, ...] = tuple(sorted(header["constants"]["RM"]))
        members = variables["messages"]["type"]["members"]
        self.bits = {self._message(member): 1 << place for place, member in enumerate(members)}

    def _message(self, member: Mapping[str, str]) -> Message:
        if member["type"] == "prepared":
            return Prepared(self.names.index(member["rm"]))
        return Decision(Outcome(member["outcome"]))


class Abstraction(Abstract):
    """The abstraction function of one run: every method reads the key of a unit."""

    __slots__ = ("_state", "_table")

    def __init__(self, table: Table, state: State) -> None:
        self._table = table
        self._state = state

    def rm_state(self, r: int) -> Key:
        """How far a resource manager is."""
        manager = self._state.resource_managers[r]
        return manager.outcome or ("prepared" if manager.prepared else "working")

    def tm_state(self) -> Key:
        """The decision of the transaction manager."""
        return self._state.transaction_manager.decision or "init"

    def tm_prepared(self) -> Key:
        """The resource managers whose promises it has read."""
        return sum(1 << r for r in self._state.transaction_manager.prepared)

    def messages(self) -> Key:
        """All that was ever sent."""
        return sum(self._table.bits[message] for message in self._state.messages)


READS: dict[str, Callable[..., Key]] = {
    "rmState": Abstraction.rm_state,
    "tmState": Abstraction.tm_state,
    "tmPrepared": Abstraction.tm_prepared,
    "messages": Abstraction.messages,
}
"""Variable -> the reader of the key of its unit."""

TOUCHES = {
    "RMPrepare": "rmState.r messages",
    "RMAbort": "rmState.r",
    "RMReceiveDecision": "rmState.r",
    "TMReceivePrepared": "tmPrepared",
    "TMDecide": "tmState messages",
    "TMRestart": "tmState tmPrepared",
}
"""The variables that each action's handler may change: a whole variable, or its part of the resource manager `r`."""

OF_THE_TRANSACTION_MANAGER = ("TMReceivePrepared", "TMDecide", "TMRestart")
"""These actions happen at it, whatever their parameters name."""
