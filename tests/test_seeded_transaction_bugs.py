"""Two rows of the wider zoo that are flaws of an implementation alone: the auditor flags them, though no rule of
Transactions is missing. Row 84 (KAFKA-9777): nobody is woken up to complete a transaction whose markers are all
written. Row 93 (KAFKA-17877): in Kafka one marker of a request counts twice, and the reply goes out before all are
written; a marker is a request of its own here, so the nearest is one answer that counts for two partitions: one without
a marker counts as one with it."""

from __future__ import annotations

import numpy as np
import pytest
from seeded_bugs import Bug
from simulated import SIMULATED
from tidemark.transaction.coordinator import TransactionCoordinator
from tidemark.transaction.messages import WriteTxnMarkersResponse
from tidemark_conformance.tla.kernels import compile_kernels

SEEDS = range(60)
ONE = next(one for one in SIMULATED if one.protocol == "transactions")

_original_reply = TransactionCoordinator.receive_marker_reply


def _counts_twice(self: TransactionCoordinator, partition: int, response: WriteTxnMarkersResponse) -> None:
    before = self.value.partitions
    _original_reply(self, partition, response)
    if self.value.partitions != before and self.value.partitions:
        self.value = self.value._replace(partitions=frozenset(sorted(self.value.partitions)[1:]))


def _never_woken(self: TransactionCoordinator, written: bool) -> bool | None:
    return None


COUNTED_TWICE = Bug("row 93: an answer counts for two", TransactionCoordinator, "receive_marker_reply", _counts_twice)
NOT_WOKEN = Bug("row 84: a completion is missed", TransactionCoordinator, "may_complete", _never_woken)


def falls() -> set[str]:
    """What is false in some trace of `calm` runs."""
    streams = [ONE.package.simulate(seed, table=ONE.header, profile="calm").stream for seed in SEEDS]
    offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    kernels = compile_kernels(ONE.specification)
    result = kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets)
    return {name for name, column in zip(kernels.checks, result.first.T, strict=True) if (column >= 0).any()}


def test_nothing_is_flagged_without_a_bug() -> None:
    assert falls() == set()


@pytest.mark.parametrize(
    ("bug", "flagged"),
    [
        pytest.param(COUNTED_TWICE, {"not a step", "CompleteFollowsMarkers"}, id="93"),
        pytest.param(NOT_WOKEN, {"QuiescentNothingOpen", "QuiescentNothingInFlight"}, id="84"),
    ],
)
def test_the_auditor_flags_it(bug: Bug, flagged: set[str]) -> None:
    with bug.seeded():
        assert flagged <= falls()
