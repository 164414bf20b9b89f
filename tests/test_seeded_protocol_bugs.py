"""The auditor against bugs of each protocol (the tables of seeded_group_bugs.py, seeded_idempotence_bugs.py,
seeded_offset_bugs.py, seeded_replication_bugs.py and seeded_transaction_bugs.py): each is flagged within `TRACES`."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from seeded_bugs import Bug
from seeded_group_bugs import CLASSIC, MODERN, TIMEOUTS
from seeded_idempotence_bugs import IDEMPOTENCE
from seeded_offset_bugs import OFFSETS
from seeded_replication_bugs import REPLICATION
from seeded_transaction_bugs import EXACTLY_ONCE, TRANSACTIONS
from simulated import SIMULATED
from tidemark.classic_group.group import ClassicGroup
from tidemark_conformance.tla.kernels import compile_kernels

TRACES, CHUNK = 600, 60
BY_NAME = {one.protocol: one for one in SIMULATED}
SEEDED = [
    *[("classic-group", name, bug) for name, bug in CLASSIC.items()],
    *[
        ("classic-group", name, Bug(name, ClassicGroup, "rebalance_timeout_ms", cast(Any, property(of))))
        for name, of in TIMEOUTS.items()
    ],
    *[("consumer-group", name, bug) for name, bug in MODERN.items()],
    *[("idempotence", name, bug) for name, bug in IDEMPOTENCE.items()],
    *[("offsets", name, bug) for name, bug in OFFSETS.items()],
    *[("replication", name, bug) for name, bug in REPLICATION.items()],
    *[("transactions", name, bug) for name, bug in TRANSACTIONS.items()],
    *[("exactly-once", name, bug) for name, bug in EXACTLY_ONCE.items()],
]


@cache
def kernels_of(protocol: str) -> Any:
    """The auditor's kernels."""
    return compile_kernels(BY_NAME[protocol].specification)


def flagged(protocol: str, start: int) -> int:
    """How many traces of a chunk fail."""
    one, seeds = BY_NAME[protocol], range(start, start + CHUNK)
    streams = [one.descriptor.simulate(seed, table=one.header, profile="mixed").stream for seed in seeds]
    ends = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    verdict = kernels_of(protocol).check(np.frombuffer(b"".join(streams), np.uint8), ends).verdict
    return int((verdict == 1).sum())


@pytest.mark.parametrize("protocol", sorted({protocol for protocol, _, _ in SEEDED}))
def test_nothing_is_flagged_without_a_bug(protocol: str) -> None:
    assert flagged(protocol, 0) == 0


@pytest.mark.parametrize(("protocol", "name", "bug"), SEEDED, ids=[name for _, name, _ in SEEDED])
def test_a_bug_is_flagged(protocol: str, name: str, bug: Bug, capsys: pytest.CaptureFixture[str]) -> None:
    found = judged = 0
    with bug.seeded():
        while not found and judged < TRACES:
            found = flagged(protocol, judged)
            judged += CHUNK
    with capsys.disabled():
        print(f"\n{name}: {found} of {judged} traces flagged")
    assert found
