"""A simulated run once more, with some of its events left out: what shrinking asks for, whatever the protocol.

Every event of a run comes from one random word. The events that are kept get the same words at the same times as
before, so that what is left behaves as it did as far as it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tidemark.sim.shared import WORD

OTHERS = "attempts that changed nothing"


class Replayed:
    """To be mixed into a protocol's run, before it: its words are given instead of drawn; `played` are those of them
    whose event may have done something.

    `FAULTS`: events that may have changed something although the run recorded nothing; `TICK_MS`: the run's own.
    """

    FAULTS: ClassVar[frozenset[str]] = frozenset()
    TICK_MS: ClassVar[int]

    words: Sequence[int]
    kept: frozenset[int]
    played: list[int]
    recorder: Any
    cluster: Any
    kinds: list[str]

    def given(self, words: Sequence[int], kept: frozenset[int]) -> None:
        """These words, of which those of the numbers `kept` are events."""
        self.words, self.kept, self.played = words, kept, []

    def _chaos(self, steps: int) -> None:
        recorder, cluster, kinds = self.recorder, self.cluster, self.kinds
        for number, word in enumerate(self.words):
            if recorder.records > steps:
                return
            if self.TICK_MS:
                cluster.now += self.TICK_MS * (1 + (word >> 40 & 7))
            if number in self.kept:
                before = recorder.records
                getattr(self, kinds[word & 255])(word >> 8)
                if recorder.records > before or kinds[word & 255] in self.FAULTS:
                    self.played.append(number)


class Again:
    """The repetition of one trace; a decision is an event that did something, the first one stands for all others.

    `original` makes the run as it was, `replayed` the same as a `Replayed` one, before they have begun.
    """

    def __init__(self, original: Callable[[], Any], replayed: Callable[[], Any]) -> None:
        self._replayed = replayed
        self._words = _drawn(original())
        everything = frozenset(range(len(self._words)))
        first = replayed()
        first.given(self._words, everything)
        first.run()
        self._kinds: list[str] = first.kinds
        self._numbers: list[int] = first.played
        self._others = everything - set(first.played)

    @property
    def decisions(self) -> Sequence[str]:
        """The kind of every event."""
        return [OTHERS, *(self._kinds[self._words[number] & 255] for number in self._numbers)]

    def stream(self, kept: Sequence[int]) -> bytes:
        """The trace with only these events (what happens in the healing follows from them)."""
        numbers = {self._numbers[index - 1] for index in kept if index}
        if 0 in kept:
            numbers |= self._others
        run = self._replayed()
        run.given(self._words, frozenset(numbers))
        stream: bytes = run.run().stream
        return stream


def _drawn(run: Any) -> list[int]:
    """The words that a run draws for its events, once it has begun."""
    words: list[int] = []
    bits = run._bits

    def noted(count: int) -> int:
        word: int = bits(count)
        if count == WORD:
            words.append(word)
        return word

    run._bits = noted
    run.run()
    return words
