"""Corollaries over numbers from a known one on: each number is shown from all smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from tidemark_conformance.prove.clauses import Clause
from tidemark_conformance.prove.equality import same
from tidemark_conformance.prove.recursive import unfolded
from tidemark_conformance.prove.terms import Term, as_bool, below, conj, implies, operator
from tidemark_conformance.prove.triggers import quantified

MEASURE = z3.Int("measure?")
"""The number for which an induction shows a corollary."""


def smaller(parts: Sequence[Clause]) -> list[Any]:
    """The clauses for all numbers below MEASURE, of those whose first bound number counts from a known one on."""
    return [
        quantified(one.bound, as_bool(implies(below(one.bound[0], MEASURE), one.body)))
        for one in parts
        if is_counted(one)
    ]


def at_measure(part: Clause) -> Term:
    """A clause as the goal of an induction: for MEASURE, at which folds are unfolded, or as it is."""
    if not is_counted(part):
        return part.body
    return implies(conj(unfolded(part.bound[0]), same(part.bound[0], MEASURE)), part.body)


def is_counted(part: Clause) -> bool:
    """Whether the first number that a clause binds begins at a known one."""
    if not part.bound:
        return False
    first = part.bound[0]
    return any(
        operator(one) == z3.Z3_OP_GE and one.arg(0).eq(first) and z3.is_int_value(one.arg(1)) for one in part.given
    )
