"""Every rule decides something. Without it the implementation takes a step that the right specification refuses. All
its steps are those of the specification without the rule.

The kill matrix asks this of the zoo's rows and their properties. Here it is asked of every rule of every protocol, with
as few traces as it takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from simulated import SIMULATED, Simulated
from tidemark_conformance.registry import zoo
from tidemark_conformance.tla.kernels.runtime import compile_kernels

pytestmark = pytest.mark.as_users_have_it

BY_NAME = {one.protocol: one for one in SIMULATED}
AT_ONCE, MOST = 50, 400
"""Traces that are judged together, and of one profile at most."""

UNSHOWN = {
    ("consumer-group", "CommitOfHeldPartition"): "with every other rule in force a member commits in its epoch what it "
    "holds; it does not without ReportWhatIsTaken (MCConsumerGroupCommitOfHeldPartition)",
    (
        "replication",
        "NoBatchAboveFetchEpoch",
    ): "with SliceNotTruncated what is sent late is what was validated; it counts without SliceNotTruncated (row 12)",
    ("replication", "TailEpochMonotone"): "with SliceNotTruncated what is sent late is what was validated; it counts "
    "without SliceNotTruncated (row 104)",
    ("offsets", "MarkerEndsOlderEpoch"): "a copy of a marker has to arrive in the next transaction of its producer: "
    "rarer than this; make check asks that both sides of the rule are seen",
    (
        "transactions",
        "FenceOnTimeOut",
    ): "version 2 takes another epoch at every end of a transaction; it counts without "
    "EpochPerTransaction (MCTxnRow69)",
    (
        "transactions",
        "FenceOnce",
    ): "a rule of version 1, where an epoch that could not be written stays in memory; it counts without "
    "EpochPerTransaction (MCTxnRow80)",
    (
        "transactions",
        "BumpAfterDoubt",
    ): "version 2 never bumps by InitProducerId; it counts without EpochPerTransaction (MCTxnRow71)",
    (
        "transactions",
        "VerificationGuard",
    ): "in version 2 the batch is stale before its guard is looked at, but for copies of markers two or more epochs "
    "old, which are rare (MCTxnGuard); it counts without EpochPerTransaction (MCTxnRow73)",
    ("exactly-once", "EpochNotOlder"): "what is of an older epoch is refused by the coordinator, too, which is asked "
    "first; it counts without VerifyTransaction (row 131)",
    (
        "exactly-once",
        "MemberOfInstance",
    ): "a process that was replaced is no member either, and nobody hears with "
    "which error it is refused; it counts without CommitOfMember (row 121)",
}
"""Rules whose absence so few traces do not show, each with its reason; they are asked for twice AT_ONCE traces."""


def plans(one: Simulated, rule: str) -> Iterator[dict[str, Any]]:
    """How to simulate, the likeliest first: as the rule's row of the zoo does, else every profile."""
    for row in zoo.rows():
        if row.protocol == one.protocol and row.rules == (rule,):
            plan = row.simulation
            for first in range(plan.first_seed, plan.first_seed + min(plan.count, MOST), AT_ONCE):
                yield {"first": first, "steps": plan.steps, **plan.options}
    for first in range(0, 2 * AT_ONCE if (one.protocol, rule) in UNSHOWN else MOST, AT_ONCE):
        for profile in one.profiles:
            yield {"first": first, "profile": profile}


@lru_cache(maxsize=2)
def kernels_of(protocol: str, without: frozenset[str]) -> Any:
    """The kernels of a protocol's specification without some rules; those of one test, and those with all rules."""
    specification = BY_NAME[protocol].specification
    constants = {**specification.constants, "Without": without}
    return compile_kernels(dataclasses.replace(specification, constants=constants))


def not_steps(one: Simulated, without: frozenset[str], streams: list[bytes]) -> int:
    """How many traces have a step that is none of the specification without some rules."""
    kernels = kernels_of(one.protocol, without)
    offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    return int((kernels.check(np.frombuffer(b"".join(streams), np.uint8), offsets).first[:, 0] >= 0).sum())


@pytest.mark.parametrize(
    ("one", "rule"),
    [pytest.param(one, rule, id=f"{one.protocol}-{rule}") for one in SIMULATED for rule in one.rules],
)
def test_without_it_a_step_is_refused_and_all_conform(one: Simulated, rule: str) -> None:
    rules, removed = one.descriptor.rules_without({rule}), frozenset({rule})
    shown = False
    for plan in plans(one, rule):
        first = plan.pop("first")
        seeds = range(first, first + AT_ONCE)
        streams = [one.descriptor.simulate(seed, table=one.header, rules=rules, **plan).stream for seed in seeds]
        assert not_steps(one, removed, streams) == 0, plan
        shown = not_steps(one, frozenset(), streams) > 0
        if shown:
            break
    assert shown != ((one.protocol, rule) in UNSHOWN)
