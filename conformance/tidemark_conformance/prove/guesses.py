"""Few hypotheses first: those of the kept core, or those that proved other goals of the same lemma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidemark_conformance.prove import solving


class Guesses:
    """Few hypotheses that may suffice for a lemma's goals.

    `session`: makes a session of hypotheses, facts and a part of the limit. `known`: those that proved other goals of
    the lemma, the latest first; `learn` adds to it. `core`: the kept core, None where there is none.
    """

    def __init__(
        self,
        session: Callable[..., solving.Session],
        known: list[frozenset[str]],
        core: frozenset[str] | None,
        hypotheses: Mapping[str, Sequence[Any]],
        facts: Sequence[Any],
    ) -> None:
        self.session, self.known, self.hypotheses, self.facts = session, known, hypotheses, facts
        self.sessions: dict[frozenset[str], solving.Session] = {}
        self.core = core if core is not None and core <= set(hypotheses) else None

    def kept(self) -> solving.Session | None:
        """A session with the kept core, None without one."""
        if self.core is None or not self.hypotheses:
            return None
        if self.core not in self.sessions:
            chosen = {one: self.hypotheses[one] for one in sorted(self.core)}
            self.sessions[self.core] = self.session(chosen, self.facts)
        return self.sessions[self.core]

    def ask(self, goal: Any) -> solving.Answer:
        """The first guess that proves the goal."""
        answer = solving.Answer(False)
        if not self.hypotheses:
            return answer
        for guess in [self.core] if self.core is not None else self.known[:3]:
            if guess is None or not guess <= set(self.hypotheses):
                continue
            if guess not in self.sessions:
                chosen = {one: self.hypotheses[one] for one in sorted(guess)}
                self.sessions[guess] = self.session(chosen, self.facts, 1 if self.core else 4)
            answer = self.sessions[guess].ask(goal)
            if answer.proved:
                return answer
        return answer

    def learn(self, answer: solving.Answer) -> None:
        """Remembers the proofs of a goal, the latest first."""
        if answer.proved and answer.core not in self.known:
            self.known.insert(0, answer.core)
