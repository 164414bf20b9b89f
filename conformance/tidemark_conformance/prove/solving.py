"""Questions to the solver: is a goal implied by hypotheses, by which of them, and the counterexample.

The limit is the solver's resource count, never time, so that a machine's speed decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from tidemark_conformance.prove.second import Second
from tidemark_conformance.prove.terms import as_bool, implies
from tidemark_conformance.prove.triggers import applications

LIMIT = 24_000_000
"""The resource limit of one question."""


@dataclass(frozen=True)
class Answer:
    """`proved`; `core`: the names of the hypotheses used; `why`: the solver's word where it did not prove the goal."""

    proved: bool
    core: frozenset[str] = frozenset()
    why: str = ""


class Session:
    """Questions under fixed facts (an action's guard) and named hypotheses.

    Each has a context of its own. So the solver sees the same terms in the same order, whatever was asked before.
    `second`: a second solver, which is asked what was proved.
    """

    def __init__(
        self,
        hypotheses: Mapping[str, Sequence[Any]],
        facts: Iterable[Any],
        limit: int = LIMIT,
        models: bool = False,
        second: Second | None = None,
    ) -> None:
        facts = list(facts)
        self.hypotheses, self.facts, self.second = hypotheses, facts, second
        self.patient: Session | None = None
        self.solver, self.limit = solver(limit, models, z3.Context()), limit
        used = {name: z3.Bool(f"use {name}") for name in hypotheses}
        self.literals = {name: literal.translate(self.solver.ctx) for name, literal in used.items()}
        named = (as_bool(implies(used[name], term)) for name, terms in hypotheses.items() for term in terms)
        self._add([*named, *map(as_bool, facts)])

    def _add(self, terms: Sequence[Any]) -> None:
        """Asserts terms in the session's context. They are translated as one, since they share most of their parts, and
        asserted past the checks of z3's Python: hypotheses are many."""
        whole = z3.And(z3.BoolVal(True), *terms).translate(self.solver.ctx)
        for at in range(whole.num_args()):
            z3.Z3_solver_assert(whole.ctx_ref(), self.solver.solver, z3.Z3_get_app_arg(whole.ctx_ref(), whole.ast, at))

    def ask(self, goal: Any, more: Iterable[Any] = (), part: int = 1) -> Answer:
        """Whether hypotheses and facts (and `more` facts) imply the goal, with one `part` of the limit."""
        self.solver.set("rlimit", self.limit // part)
        self.solver.push()
        own = [*map(as_bool, more), z3.Not(as_bool(goal)), *_named(as_bool(goal))]
        self._add(own)
        found = self.solver.check(*self.literals.values())
        if found == z3.unsat:
            used = {str(one) for one in self.solver.unsat_core()}
            answer = Answer(True, frozenset(name for name, literal in self.literals.items() if str(literal) in used))
            if self.second is not None and self._denied(answer, own, self.second):
                answer = Answer(False, why="cvc5 denies it")
        else:
            answer = Answer(False, why=str(found) if found == z3.sat else self.solver.reason_unknown())
        self.solver.pop()
        return answer

    def _denied(self, proved: Answer, own: Sequence[Any], second: Second) -> bool:
        """Whether the second solver denies what its core has proved."""
        hypotheses = [as_bool(term) for name in sorted(proved.core) for term in self.hypotheses[name]]
        return second.denies([*hypotheses, *map(as_bool, self.facts), *own])

    def insist(self, goal: Any, more: Iterable[Any] = ()) -> Answer:
        """The same by a solver that tries instances of its own where patterns give none."""
        if self.patient is None:
            self.patient = Session(self.hypotheses, self.facts, self.limit, models=True, second=self.second)
        return self.patient.ask(goal, more)


def _named(goal: Any) -> list[Any]:
    """Names for the goal's applications: hypotheses are tried on them in every case, also where the goal is decided
    without them."""
    return [node == z3.Const(f"term {at}", node.sort()) for at, node in enumerate(applications(goal))]


def solver(limit: int, models: bool = False, context: z3.Context | None = None) -> Any:
    """A solver by patterns alone; with `models` one that also tries to build a model."""
    found = z3.Solver(ctx=context)
    found.set("smt.mbqi", models)
    found.set("rlimit", limit)
    found.set("smt.random_seed", 1)
    return found


def model(hypotheses: Iterable[Any], facts: Iterable[Any], goal: Any, limit: int) -> tuple[str, Any]:
    """("sat", a model in which all but the goal hold), ("unsat", None), or ("unknown", the solver's last attempt)."""
    one = solver(limit, models=True)
    for term in (*hypotheses, *facts):
        one.add(as_bool(term))
    one.add(z3.Not(as_bool(goal)))
    found = one.check()
    if found == z3.unsat:
        return "unsat", None
    try:
        return str(found), one.model()
    except z3.Z3Exception:
        return str(found), None
