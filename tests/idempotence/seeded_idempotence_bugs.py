"""Bugs in idempotence for the auditor to find: windows that are one too large, which no state of the specification has.

A recorder that stopped at such a state would make its trace UNDECIDED.
"""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig
from tidemark.idempotence.producer_state import ProducerStateManager

_original_manager = ProducerStateManager.__init__
_original_producer = IdempotentProducer.__init__


def _remembers_one_more(self: ProducerStateManager, rules: Any, window: int, *rest: Any) -> None:
    _original_manager(self, rules, window + 1, *rest)  # window


def _sends_one_more(self: IdempotentProducer, *arguments: Any) -> None:
    _original_producer(self, *arguments)
    config = self._config
    self._config = ProducerConfig(config.max_in_flight + 1, config.window + 1, config.max_sequence)


IDEMPOTENCE: dict[str, Bug] = {
    "window_of_one_batch_more": Bug(
        "a leader remembers one batch of a producer more than a window has",
        ProducerStateManager,
        "__init__",
        _remembers_one_more,
    ),
    "one_batch_more_in_flight": Bug(
        "a producer has one batch more in flight than max.in.flight.requests.per.connection",
        IdempotentProducer,
        "__init__",
        _sends_one_more,
    ),
}
