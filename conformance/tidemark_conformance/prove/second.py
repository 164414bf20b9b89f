"""A second solver's word: what Z3 has proved is asked of cvc5, by the text of the question.

The text is SMT-LIB 2.6, and holds the facts, the hypotheses of the proof's core and the negated goal. So the two share
the terms, and no line of a solver. The limit is cvc5's resource count, never time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LIMIT = 4_000_000
"""The resource limit of one question, in cvc5's units."""
AGREED, DENIED, GIVEN_UP = "unsat", "sat", "unknown"
_BAR = r"\|"
"""How Z3 writes the sign | within a quoted symbol, where SMT-LIB does not know it."""
_INSTEAD = "!bar!"


@dataclass(frozen=True)
class Counts:
    """Questions that cvc5 was asked: those that it proves, too, those that it denies, and those without an answer."""

    agreed: int = 0
    denied: int = 0
    given_up: int = 0

    @classmethod
    def of(cls, verdict: str) -> Counts:
        """One answer."""
        return cls(int(verdict == AGREED), int(verdict == DENIED), int(verdict not in (AGREED, DENIED)))

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.agreed + other.agreed, self.denied + other.denied, self.given_up + other.given_up)

    def __sub__(self, other: Counts) -> Counts:
        return Counts(self.agreed - other.agreed, self.denied - other.denied, self.given_up - other.given_up)

    @property
    def asked(self) -> int:
        """All questions."""
        return self.agreed + self.denied + self.given_up


class Second:
    """cvc5, and the counts of its answers so far."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit, self.counts = limit, Counts()

    def denies(self, terms: Iterable[Any]) -> bool:
        """Whether cvc5 has found values under which the terms, which contradict each other by Z3, are all true."""
        verdict = answer(text(terms), self.limit)
        self.counts += Counts.of(verdict)
        return verdict == DENIED


def text(terms: Iterable[Any]) -> str:
    """The question whether terms contradict each other, as SMT-LIB.

    Raises ValueError for a symbol whose name is not told apart from another's in SMT-LIB.
    """
    import z3

    question = z3.Solver()
    question.add(*terms)
    found = str(question.to_smt2())
    if _INSTEAD in found:
        raise ValueError(f"a symbol's name has {_INSTEAD} in it")
    return "(set-logic ALL)\n" + found.replace(_BAR, _INSTEAD)


def answer(question: str, limit: int = LIMIT) -> str:
    """cvc5's answer: "unsat", "sat", or else the reason why there is none."""
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("rlimit-per", str(limit))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, question, "question")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += command.invoke(solver, parser.getSymbolManager())
    return said.strip() or GIVEN_UP
