"""The findings of one part of an audit: small enough to send to the driver, which adds them up in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance.audit.result import by_number

EXAMPLES = 20
"""Failing traces kept by name per signature, and undecided ones per reason (all are counted)."""
REMEMBERED_IDS = 8_000_000
"""Trace ids remembered as 64-bit hashes (64 MiB) before duplicates are looked for in another way."""


Signature = tuple[int, int]
"""A failing check's index in `kernels.checks`, and for "not a step" the action claimed (-1: none); else -1."""


@dataclass(frozen=True, slots=True)
class Example:
    """One trace of a group. `step`: where it shows (-1: nowhere in particular).

    `stream` and `failures` (signature -> first step) are kept for the first traces of a group only (`Group.streams`).
    """

    trace: str
    step: int
    stream: bytes = field(default=b"", compare=False)
    failures: tuple[tuple[Signature, int], ...] = field(default=(), compare=False)


@dataclass(slots=True)
class Group:
    """Traces with the same outcome: how many, and the first few by id (`by_number`). `streams`: how many of these keep
    their streams."""

    traces: int = 0
    examples: list[Example] = field(default_factory=list)
    streams: int = 1

    def wants(self, trace: str) -> bool:
        """Whether this trace would be among the first few."""
        return len(self.examples) < EXAMPLES or by_number(trace) < by_number(self.examples[-1].trace)

    def add(self, example: Example, traces: int = 1) -> None:
        """Count traces and remember one of them."""
        self.traces += traces
        self._keep([*self.examples, example])

    def merge(self, other: Group) -> None:
        """Count another group's traces too."""
        self.traces += other.traces
        self._keep(self.examples + other.examples)

    def _keep(self, examples: list[Example]) -> None:
        ordered = sorted(examples, key=_order)[:EXAMPLES]
        rest = (Example(one.trace, one.step) if one.stream else one for one in ordered[self.streams :])
        self.examples = [*ordered[: self.streams], *rest]


def _order(example: Example) -> tuple[object, ...]:
    return by_number(example.trace), example.step


@dataclass(slots=True)
class Tally:
    """Counts over some traces. The order in which tallies are merged does not matter.

    `verdicts`: pass, fail, undecided. `stepless`: passing traces that took no step. `quiescent`: decided
    traces that declare their faults stopped. `actions`: taken, blocked. `rules`: held, blocked.
    `failures` by signature: a trace counts once under every check that fails in it.
    `undecided` by reason code. `refused`: sentences that void the audit. `headers`: the files whose header was met.
    `ids`: 64-bit hashes of the trace ids.
    """

    actions: NDArray[np.int64]
    rules: NDArray[np.int64]
    traces: int = 0
    steps: int = 0
    verdicts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(3, np.int64))
    stepless: int = 0
    quiescent: int = 0
    failures: dict[Signature, Group] = field(default_factory=dict)
    undecided: dict[int, Group] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    headers: set[str] = field(default_factory=set)
    ids: list[NDArray[np.int64]] = field(default_factory=list)
    wanted: int = 0
    sample: list[tuple[int, str, bytes]] = field(default_factory=list)
    told: NDArray[np.int64] = field(default_factory=lambda: np.zeros(2, np.int64))
    streams: int = 1

    @classmethod
    def empty(cls, actions: int, rules: int, wanted: int = 0, fields: int = 0, streams: int = 1) -> Tally:
        """Nothing counted yet, for a specification with that many actions, rules and fields of Observed. `streams`: how
        many failing traces of a signature keep theirs."""
        counts = np.zeros((actions, 2), np.int64), np.zeros((rules, 2), np.int64)
        return cls(*counts, wanted=wanted, told=np.zeros(fields + 2, np.int64), streams=streams)

    def failing(self, signature: Signature) -> Group:
        """The group of a signature, empty if it is new."""
        return self.failures.setdefault(signature, Group(streams=self.streams))

    def refuse(self, sentence: str) -> None:
        """Note a fault that voids the audit. Only the smallest few sentences are kept: one is enough for a message."""
        self.refused[sentence] = self.refused.get(sentence, 0) + 1
        if len(self.refused) > EXAMPLES:
            del self.refused[max(self.refused)]

    def merge(self, other: Tally) -> None:
        """Add another tally of the same specification."""
        self.traces += other.traces
        self.steps += other.steps
        self.verdicts += other.verdicts
        self.stepless += other.stepless
        self.quiescent += other.quiescent
        self.actions += other.actions
        self.rules += other.rules
        self.told += other.told
        for signature, group in other.failures.items():
            self.failing(signature).merge(group)
        for reason, group in other.undecided.items():
            self.undecided.setdefault(reason, Group()).merge(group)
        for sentence in other.refused:
            self.refuse(sentence)
        self.headers |= other.headers
        self.ids.extend(other.ids)
        self.keep_sample(other.sample)

    def keep_sample(self, more: list[tuple[int, str, bytes]]) -> None:
        """Offer passing traces to the sample."""
        self.sample = sorted([*self.sample, *more])[: self.wanted]


def has_duplicates(ids: Iterable[NDArray[np.int64]]) -> bool:
    """Whether a 64-bit hash occurs twice (then the ids themselves decide: two ids may share a hash)."""
    arrays = list(ids)
    if not arrays:
        return False
    hashes = np.concatenate(arrays)
    hashes.sort()
    return bool((hashes[1:] == hashes[:-1]).any())
