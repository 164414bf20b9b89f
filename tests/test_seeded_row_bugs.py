"""Numbers of the wider zoo (docs/zoo.md) that are flaws of an implementation alone. The auditor flags them, though no
rule is missing.

84 (KAFKA-9777): nobody is woken up to complete a transaction whose markers are all written. 93 (KAFKA-17877):
in Kafka one marker of a request counts twice, and the reply goes out before all are written. A marker is a request of
its own here. The nearest flaw is one answer that counts for two partitions: one without a marker counts as one with it.
37 (KAFKA-9752): a member that goes while the others join is not counted out, and the join phase waits on.
"""

from __future__ import annotations

import numpy as np
import pytest
from seeded_bugs import Bug
from simulated import SIMULATED
from tidemark.classic_group.coordinator import GroupCoordinator
from tidemark.classic_group.states import GroupState
from tidemark.groups.messages import MemberId
from tidemark.groups.purgatory import Outcome
from tidemark.transactions.coordinator import TransactionCoordinator
from tidemark.transactions.messages import WriteTxnMarkersResponse
from tidemark_conformance.tla.kernels import compile_kernels

SEEDS = range(60)
CALM = "calm"
BY_NAME = {one.protocol: one for one in SIMULATED}

_original_reply = TransactionCoordinator.receive_marker_reply
_original_expiry = GroupCoordinator.expire_session


def _counts_twice(self: TransactionCoordinator, partition: int, response: WriteTxnMarkersResponse) -> None:
    before = self.value.partitions
    _original_reply(self, partition, response)
    if self.value.partitions != before and self.value.partitions:
        self.value = self.value._replace(partitions=frozenset(sorted(self.value.partitions)[1:]))


def _never_woken(self: TransactionCoordinator) -> bool | None:
    return None


def _waits_on(self: GroupCoordinator, member_id: MemberId, now_ms: int) -> Outcome:
    if self.group.state is not GroupState.PREPARING_REBALANCE:
        return _original_expiry(self, member_id, now_ms)
    self._rebalance.remove(member_id)
    return self._purgatory.outcome()


COUNTED_TWICE = Bug("93: an answer counts for two", TransactionCoordinator, "receive_marker_reply", _counts_twice)
NOT_WOKEN = Bug("84: a completion is missed", TransactionCoordinator, "may_complete", _never_woken)
WAITS_ON = Bug("37: the join phase waits for who is gone", GroupCoordinator, "expire_session", _waits_on)


def falls(protocol: str, profile: str) -> set[str]:
    """The checks that are false in some trace of a protocol's runs."""
    one = BY_NAME[protocol]
    streams = [one.descriptor.simulate(seed, table=one.header, profile=profile).stream for seed in SEEDS]
    offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    kernels = compile_kernels(one.specification)
    result = kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets)
    return {name for name, column in zip(kernels.checks, result.first.T, strict=True) if (column >= 0).any()}


@pytest.mark.parametrize(("protocol", "profile"), [("transactions", CALM), ("classic-group", "mixed")])
def test_nothing_is_flagged_without_a_bug(protocol: str, profile: str) -> None:
    assert falls(protocol, profile) == set()


@pytest.mark.parametrize(
    ("protocol", "profile", "bug", "flagged"),
    [
        pytest.param("transactions", CALM, COUNTED_TWICE, {"not a step", "CompleteFollowsMarkers"}, id="93"),
        pytest.param("transactions", CALM, NOT_WOKEN, {"QuiescentNothingOpen", "QuiescentNothingInFlight"}, id="84"),
        pytest.param("classic-group", "mixed", WAITS_ON, {"not a step"}, id="37"),
    ],
)
def test_the_auditor_flags_it(protocol: str, profile: str, bug: Bug, flagged: set[str]) -> None:
    with bug.seeded():
        assert flagged <= falls(protocol, profile)
