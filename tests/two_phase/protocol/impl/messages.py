"""The messages between the managers."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

ResourceManagerId = int
"""From 0."""


class Outcome(Enum):
    """How a transaction ends; in the order of the names."""

    ABORTED = "aborted"
    COMMITTED = "committed"


OUTCOMES = tuple(Outcome)


class Prepared(NamedTuple):
    """A resource manager promises to do what the transaction manager decides."""

    sender: ResourceManagerId


class Decision(NamedTuple):
    """The transaction manager tells everybody how the transaction ends."""

    outcome: Outcome


Message = Prepared | Decision
