"""The comparison of an audit with TLC's replay: it says nothing where they agree, and a sentence for every lie."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from tidemark_conformance.audit.oracle import Judged, compare, differences
from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tlc.oracle import Replay
from tidemark_conformance.trace.schema import schema_of

Failures = Mapping[tuple[str, str], int]
NO_STEP = ("not-a-step", "TMDecide")
SAFE = ("invariant", "Consistency")
FINAL = ("action-property", "OutcomeIsFinal")
REST = ("quiescence", "QuiescentAllDecided")


def replayed(accepted: int = 8, **found: dict[str, int]) -> Replay:
    """TLC's findings on a trace of 8 steps."""
    replay = Replay("t", 8, accepted)
    for family, first in found.items():
        setattr(replay, family, first)
    return replay


@pytest.mark.parametrize(
    ("failures", "replay"),
    [
        ({}, replayed()),
        ({SAFE: 3}, replayed(invariants={"Consistency": 3})),
        ({SAFE: 3, FINAL: 4}, replayed(invariants={"Consistency": 3}, properties={"OutcomeIsFinal": 4})),
        ({REST: 8}, replayed(quiescence={"QuiescentAllDecided": 8})),
        ({NO_STEP: 5, SAFE: 3}, replayed(4, invariants={"Consistency": 3})),
        ({NO_STEP: 5, SAFE: 7, REST: 8}, replayed(4)),  # TLC goes no further than the record that is no step
        ({NO_STEP: 5, SAFE: 5}, replayed(4)),
    ],
)
def test_what_agrees_is_passed_over(failures: Failures, replay: Replay) -> None:
    assert differences(Judged("t", b"", failures), replay) == []


@pytest.mark.parametrize(
    ("failures", "replay", "sentence"),
    [
        ({NO_STEP: 5}, replayed(), "TLC takes every step, the audit rejects step 5"),
        ({}, replayed(4), "TLC rejects step 5, the audit takes every step"),
        ({NO_STEP: 5}, replayed(3), "TLC rejects step 4, the audit rejects step 5"),
        ({NO_STEP: 1}, replayed(-1), "TLC rejects step 0, the audit rejects step 1"),
        ({SAFE: 3}, replayed(), "invariant Consistency falls nowhere in TLC and at step 3 in the audit"),
        ({}, replayed(invariants={"Consistency": 3}), "invariant Consistency falls at step 3 in TLC and nowhere in"),
        ({SAFE: 4}, replayed(invariants={"Consistency": 3}), "Consistency falls at step 3 in TLC and at step 4 in"),
        ({FINAL: 4}, replayed(), "action-property OutcomeIsFinal falls nowhere in TLC and at step 4 in the audit"),
        ({}, replayed(properties={"OutcomeIsFinal": 1}), "OutcomeIsFinal falls at step 1 in TLC and nowhere in"),
        ({SAFE: 3}, replayed(properties={"Consistency": 3}), "invariant Consistency falls nowhere in TLC"),
        ({REST: 8}, replayed(), "quiescence QuiescentAllDecided falls nowhere in TLC and at step 8 in the audit"),
        ({}, replayed(quiescence={"QuiescentAllDecided": 8}), "QuiescentAllDecided falls at step 8 in TLC and nowhere"),
        ({NO_STEP: 5, SAFE: 4}, replayed(4), "invariant Consistency falls nowhere in TLC and at step 4 in the audit"),
    ],
)
def test_a_difference_is_a_sentence(failures: Failures, replay: Replay, sentence: str) -> None:
    found = differences(Judged("t", b"", failures), replay)
    assert [one.startswith("trace t: ") for one in found] == [True] * len(found)
    assert any(sentence in one for one in found), found


def test_what_tlc_could_not_evaluate_is_told() -> None:
    replay = replayed(2)
    replay.errors.append("after record 2: the function has no such argument")
    (found,) = differences(Judged("t", b"", {}), replay)
    assert found.endswith("(TLC: after record 2: the function has no such argument)")


# --- forged verdicts of real traces, in TLC itself -----------------------------------------------------------------


@pytest.fixture(scope="module", name="specification")
def _specification() -> Specification:
    return load(spec_root() / "two_phase" / "TwoPhase.tla", spec_root() / "two_phase" / "TwoPhase.cfg")


def hasty(quiescent: bool) -> bytes:
    """r2 gives up, the manager commits all the same, r1 commits; r3 waits for ever."""
    out = StreamWriter(6, [1, 1, 1, 1, 0, 2])
    out.initial([3, 3, 3, 2, 0, 0])
    out.step(1, [1], 3, [(1, 0)])
    out.step(3, [1], 1, [(3, 1), (5, 2)])
    out.step(5, [0, 1], 2, [(0, 1)])
    return out.end(quiescent=quiescent)


def test_forged_verdicts_are_found(specification: Specification) -> None:
    right = {NO_STEP: 2, SAFE: 3}
    forged: list[tuple[str, Failures]] = [
        ("right", right),
        ("silent", {}),
        ("too many", {**right, FINAL: 1}),
        ("elsewhere", {NO_STEP: 3, SAFE: 3}),
    ]
    found, rate = compare(
        specification, schema_of(specification), [Judged(name, hasty(False), failures) for name, failures in forged]
    )
    assert (found.replayed, rate > 0) == (4, True)
    assert sorted(sentence.split(":")[0] for sentence in found.disagreements) == [
        "trace elsewhere",
        "trace silent",
        "trace too many",
    ]


def test_quiescence_is_compared_where_it_is_claimed(specification: Specification) -> None:

    without = {**specification.constants, "Without": frozenset({"CommitOnlyIfAllPrepared"})}
    flawed = dataclasses.replace(specification, constants=without)
    fell = {SAFE: 3, REST: 3}
    judged = [
        Judged("at rest", hasty(True), fell),
        Judged("busy", hasty(False), {SAFE: 3}),
        Judged("silent", hasty(True), {SAFE: 3}),
        Judged("forged", hasty(False), fell),
    ]
    found, _ = compare(flawed, schema_of(flawed), judged)
    assert sorted(found.disagreements) == [
        "trace forged: quiescence QuiescentAllDecided falls nowhere in TLC and at step 3 in the audit",
        "trace silent: quiescence QuiescentAllDecided falls at step 3 in TLC and nowhere in the audit",
    ]
