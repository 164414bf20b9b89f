"""Is a violation of a property within K steps of Init, or of a given state? Bounded model checking by Z3.

The step relation is repeated, one step more at a time. After each step the solver is asked for a run whose last state,
or last step, violates a property. Capacities are kept, as in TLC. A run ends where a value leaves its type.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import z3

from tidemark_conformance.errors import Unusable
from tidemark_conformance.prove.behaviour import require_behaviours
from tidemark_conformance.prove.proving import ERRORLESS
from tidemark_conformance.prove.symmetry import exchangeable, representatives
from tidemark_conformance.prove.terms import Term, as_bool, conj, disj, neg
from tidemark_conformance.prove.universe import Universe
from tidemark_conformance.prove.unrolling import Unrolling
from tidemark_conformance.symbolic.witness import Witness, read, settled
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.values import Value

LIMIT = 400_000_000
"""The resource limit of the solver for one depth."""
TACTICS = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "simplify", "smt")
FOUND, NOTHING, UNKNOWN = "found", "nothing", "unknown"
INVARIANT, STEP, ERROR = "invariant", "step", "error"


@dataclass(frozen=True)
class Claim:
    """A property that is looked for: the condition under which it falls in the last state, or in the last step.

    `typed`: it says TypeOK, and falls where a value leaves its type.
    """

    name: str
    kind: str
    falls: Term
    typed: bool = False


@dataclass
class Searched:
    """The result: `found` at `depth` steps with a witness; `nothing` within `depth` steps; or `unknown` at `depth`.

    `seconds`: of each depth from 0. `built`: of the terms. `instances`: of actions. `cells`: of a state.
    """

    verdict: str
    depth: int
    properties: tuple[str, ...]
    witness: Witness | None = None
    why: str = ""
    built: float = 0.0
    seconds: list[float] = field(default_factory=list)
    instances: int = 0
    cells: int = 0


class Search:
    """The questions about runs of one specification, from Init or from a state.

    `names`: the properties that are looked for, of the cfg's INVARIANTs and PROPERTIES, and `no error`. `start`: the
    first state, every variable included.
    """

    def __init__(
        self,
        spec: Specification,
        names: Sequence[str],
        start: Mapping[str, Value] | None = None,
        limit: int = LIMIT,
    ) -> None:
        began = time.monotonic()
        self.spec, self.start, self.limit = spec, start, limit
        lifted = Universe(spec, infinite=False).lifted
        self.unrolling = Unrolling(Universe(spec, infinite=False, kept=lifted))
        self.claims = [self._claim(name) for name in names]
        config, definitions = spec.config, spec.module.definitions
        predicate = self.unrolling.predicate
        self.expanded = conj(*(predicate(definitions[one].body) for one in config.constraints))
        self.allowed = conj(*(predicate(definitions[one].body, True) for one in config.action_constraints))
        self.relation, self.fits = conj(*self.unrolling.relation()), self.unrolling.fits()
        self.side = conj(*self.unrolling.side)
        self.result = Searched(NOTHING, 0, tuple(names), built=time.monotonic() - began)
        self.result.instances, self.result.cells = len(self.unrolling.instances), len(self.unrolling.pairs)

    def _claim(self, name: str) -> Claim:
        unrolling = self.unrolling
        if name == ERRORLESS:
            return Claim(name, ERROR, unrolling.failing())
        for one in self.spec.invariants:
            if one.name == name:
                typed = name == "TypeOK" or any(
                    isinstance(part, ir.Mark) and part.name == "TypeOK" for part in walk.walk(one.body)
                )
                return Claim(name, INVARIANT, neg(unrolling.predicate(one.body)), typed)
        body = next(one.body for one in self.spec.properties if one.name == name)
        return Claim(name, STEP, conj(neg(unrolling.predicate(body, True)), neg(unrolling.unchanged())))

    def run(
        self, steps: int, told: Callable[[int, str, float], None] = lambda depth, verdict, seconds: None
    ) -> Searched:
        """Looks for a violation after 0, 1, ... `steps` steps."""
        facts: list[Any] = []
        for depth in range(steps + 1):
            began = time.monotonic()
            facts += map(as_bool, self._step(depth))
            falls = [(claim, term) for claim in self.claims if (term := self._falls(claim, depth)) is not False]
            # A new solver each time: it computes with the values that the facts fix, which an incremental one does not.
            solver = self._solver()
            solver.add(*facts, as_bool(disj(*(term for _, term in falls))))
            found = solver.check()
            self.result.seconds.append(time.monotonic() - began)
            self.result.depth = depth
            if told is not None:
                told(depth, str(found), self.result.seconds[-1])
            if found == z3.sat:
                self._found(solver.model(), depth, falls)
                break
            if found == z3.unknown:
                why = solver.reason_unknown()
                limited = "canceled" in why or "resource" in why
                self.result.verdict = UNKNOWN
                self.result.why = f"the resource limit {self.limit:,} is reached" if limited else why
                break
            facts += [z3.Not(as_bool(term)) for _, term in falls]
        return self.result

    def _solver(self) -> Any:
        found = z3.Then(*TACTICS).solver()
        found.set("rlimit", self.limit)
        found.set("random_seed", 1)
        return found

    def _step(self, depth: int) -> Iterable[Term]:
        """The facts of the state after so many steps."""
        unrolling = self.unrolling
        if depth == 0:
            yield unrolling.at(self.side, 0)
            yield from unrolling.begins() if self.start is None else unrolling.state_is(self.start)
            return
        yield unrolling.at(conj(self.relation, self.expanded), depth - 1)
        yield unrolling.at(self.side, depth)
        yield self._fits(depth - 1)
        if depth == 1 and self.start is None:
            yield unrolling.at(self._representatives(), 0)
        if depth > 1:
            yield unrolling.at(self.allowed, depth - 2)

    def _representatives(self) -> Term:
        """The first step is one of those that exchanges of model values carry into each other: Init, the actions and
        the properties stay as they are by them, so a run has such a copy. A fold of a set may not, by its order."""
        unrolling, spec = self.unrolling, self.spec
        named = [*spec.config.constraints, *spec.config.action_constraints]
        claims = [one.body for one in (*spec.invariants, *spec.properties) if one.name in self.result.properties]
        claims += [spec.module.definitions[one].body for one in named]
        texts = [spec.module.init, *claims, *(action.body for action in spec.module.actions)]
        texts += [*spec.module.initial_ghosts.values()]
        texts += [expr for action in spec.module.actions for expr in action.ghosts.values()]
        if any(isinstance(part, ir.Fold) and part.kind == "set" for text in texts for part in walk.walk(text)):
            return True
        swaps = exchangeable(spec, claims)
        chosen: list[Term] = []
        for action in spec.action_names:
            own = [(at, one) for at, one in enumerate(unrolling.instances) if one.step.action == action]
            first = representatives([one.step.params for _, one in own], swaps)
            chosen += [unrolling.picked == at for at, one in own if any(one.step.params is each for each in first)]
        return disj(*chosen) if len(chosen) < len(unrolling.instances) else True

    def _falls(self, claim: Claim, depth: int) -> Term:
        """The condition that a claim falls in the state after so many steps, or in the step to it."""
        if claim.kind == STEP and depth == 0:
            return False
        falls = self.unrolling.at(claim.falls, depth - 1 if claim.kind == STEP else depth)
        fits = self._fits(depth)
        return disj(falls, neg(fits)) if claim.typed else conj(falls, fits)

    def _fits(self, depth: int) -> Term:
        """The condition that the state after so many steps has cells."""
        if depth:
            return self.unrolling.at(self.fits, depth - 1)
        return True if self.start is not None else self.unrolling.at(self.unrolling.first.fits, 0)

    def _found(self, model: Any, depth: int, falls: Sequence[tuple[Claim, Term]]) -> None:
        try:
            fallen = [claim.name for claim, term in falls if settled(model, as_bool(term))]
            self.result.witness = read(self.unrolling, model, depth, fallen, self.start)
        except (z3.Z3Exception, EvaluationError) as problem:
            self.result.verdict, self.result.why = UNKNOWN, f"the model cannot be read: {problem}"
            return
        self.result.verdict = FOUND


def loaded(module: Path, cfg: Path) -> Specification:
    """A specification with the texts of its cfg's constraints. Raises Unusable where the cfg's SPECIFICATION is not
    Init and Next."""
    config = cfg_files.read(cfg)
    require_behaviours(module, config)
    return load(module, cfg, also=[*config.constraints, *config.action_constraints])


def asked(spec: Specification, name: str | None) -> list[str]:
    """The properties to look for: one by its name, or all of the cfg, and that TLC evaluates actions without an error.

    Raises Unusable for a name that the cfg does not list, and for a cfg that lists none.
    """
    known = [one.name for one in (*spec.invariants, *spec.properties)]
    if name is None:
        return [*known, ERRORLESS]
    if name not in [*known, ERRORLESS]:
        raise Unusable(f"--property {name} is no INVARIANT or PROPERTY of {spec.cfg}: it has {', '.join(known)}")
    return [name]
