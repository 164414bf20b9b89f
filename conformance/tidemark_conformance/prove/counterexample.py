"""A counterexample to induction: a state of the invariant, and a step after which a lemma is false.

It is no run. Its first state may not be reachable, and then a lemma is missing that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import z3

from tidemark_conformance.prove import solving
from tidemark_conformance.prove.inductive import Lemma
from tidemark_conformance.prove.proving import INIT, Prover
from tidemark_conformance.prove.sorts import read
from tidemark_conformance.prove.terms import Atom, as_bool
from tidemark_conformance.prove.universe import Step
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tla.values import Value

SHOWN = 8
"""The most elements that are read of a function without end."""


@dataclass(frozen=True)
class Counterexample:
    """The lemma that is false in `after`, for the elements `path`; the step that leads there from `before`.

    `complete`: the solver has found a model. Otherwise it has given up on a quantifier, and this is its last attempt.
    """

    lemma: str
    path: tuple[str, ...]
    action: str
    params: tuple[Value, ...]
    before: Mapping[str, Value]
    after: Mapping[str, Value]
    complete: bool


def find(prover: Prover, lemma: Lemma, action: str, limit: int = solving.LIMIT) -> Counterexample | None:
    """A counterexample to a condition, None where the solver finds none within its limit."""
    best: Counterexample | None = None
    steps = (
        [prover.universe.initial()]
        if action == INIT
        else [prover.universe.step(action, params) for params in prover.instances(action)]
    )
    hypotheses = [] if action == INIT else [term for terms in prover.hypotheses.values() for term in terms]
    from tidemark_conformance.prove.proving import Condition

    for step in steps:
        goals, more = prover.goals(lemma, step, Condition(lemma.name, action))
        for goal in goals:
            facts = [step.guard, *prover.side, *step.side, *more]
            for part in goal.parts:
                verdict, model = solving.model(hypotheses, facts, part.body, limit)
                if model is None:
                    continue
                shown = _shown(prover, lemma.name, goal.path, step, model, verdict == "sat")
                if shown is not None and shown.complete:
                    return shown
                best = best or shown
    return best


def _shown(
    prover: Prover, lemma: str, path: tuple[str, ...], step: Step, model: Any, complete: bool
) -> Counterexample | None:
    universe = prover.universe

    def settle(term: Any) -> Any:
        if isinstance(term, bool | int):
            return term
        found = model.eval(as_bool(term) if isinstance(term, bool) else term, model_completion=True)
        if z3.is_int_value(found):
            return found.as_long()
        if z3.is_true(found) or z3.is_false(found):
            return z3.is_true(found)
        raise EvaluationError(f"the model leaves {found} open")

    def state(values: Mapping[str, Any]) -> dict[str, Value]:
        return {
            name: read(values[name], universe.sorts[name], universe.codes, settle, SHOWN)
            for name in universe.spec.module.variables
        }

    def parameter(name: str, value: Any) -> Value:
        if isinstance(value, Atom):
            return value.value
        if name in universe.parameters(step.action):
            return read(value, universe.parameters(step.action)[name], universe.codes, settle, SHOWN)
        return settle(value)

    try:
        params = tuple(parameter(name, value) for name, value in step.params.items())
        after = state(step.next)
        before = state(universe.state) if step.action != INIT else after
        return Counterexample(lemma, path, step.action, params, before, after, complete)
    except (EvaluationError, AttributeError):
        return None
