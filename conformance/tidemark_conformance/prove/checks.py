"""The checks of a specification, answered by Z3 terms on known states. `tidemark agree` compares them with TLC.

The terms are those of proofs, but that ranges end at the cfg's capacities. A state is put into a term in the place of
its symbols. The rest is simplified, and where quantifiers remain, decided by the solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import z3

from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.prove.equality import same
from tidemark_conformance.prove.sorts import (
    SAtom,
    SBool,
    SFun,
    SInt,
    SMap,
    Sort,
    SRec,
    SSeq,
    SSet,
    STuple,
    Symbols,
    constant_form,
    read,
)
from tidemark_conformance.prove.terms import Symbolic, Term, UnlistedError, as_bool, conj
from tidemark_conformance.prove.universe import Step, Universe
from tidemark_conformance.tla import ir
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.values import Fn, Value, in_order, show

State = Mapping[str, Value]

RESOURCES = 50_000_000
"""The solver's resource limit for one question about known states."""


class Placed:
    """The symbols of one or more states with their values: constants, and tables of functions."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.scalars: dict[str, Value] = {}
        self.tables: dict[str, dict[tuple[int, ...], Value]] = {}

    def put(self, sort: Sort, name: str, value: Value, index: tuple[int, ...] = ()) -> None:
        """Gives the symbols of a variable named `name` the parts of a value. Raises Unusable for another kind."""
        match sort:
            case SInt() | SBool() if isinstance(value, bool | int):
                self._scalar(name, index, value)
            case SAtom():
                self._scalar(name, index, self.universe.codes.atom(value).code)
            case SSet(members) if isinstance(value, frozenset) and value <= set(members):
                for member in members:
                    self._scalar(f"{name}.{Symbols.label(member)}", index, member in value)
            case SSeq(elem, cap) if isinstance(value, tuple) and (cap is None or len(value) <= cap):
                self._scalar(f"{name}.len", index, len(value))
                for at, item in enumerate(value, 1):
                    if cap is None:
                        self.put(elem, name, item, (*index, at))
                    else:
                        self.put(elem, f"{name}.{at}", item, index)
            case SMap(_, _, image) if isinstance(value, tuple | Fn):
                items = enumerate(value, 1) if isinstance(value, tuple) else value.items()
                for key, item in items:
                    self.put(image, name, item, (*index, key))
            case SFun(keys, image) if isinstance(value, tuple | Fn) and len(value) == len(keys):
                for key in keys:
                    item = value[key - 1] if isinstance(value, tuple) else value[key]
                    self.put(image, f"{name}.{Symbols.label(key)}", item, index)
            case SRec(fields) if isinstance(value, Fn) and {*value} <= {field for field, _, _ in fields}:
                for field, part, _ in fields:
                    if field in value:
                        self.put(part, f"{name}.{field}", value[field], index)
            case STuple(parts) if isinstance(value, tuple) and len(value) == len(parts):
                for at, part in enumerate(parts):
                    self.put(part, f"{name}.{at + 1}", value[at], index)
            case _:
                raise Unusable(f"{name} = {show(value)} has no place in the sort that TypeOK gives it")

    def _scalar(self, name: str, index: tuple[int, ...], value: Value) -> None:
        if index:
            self.tables.setdefault(name, {})[index] = value
        else:
            self.scalars[name] = value

    def settle(self, term: Term, side: Sequence[Term] = (), picks: bool = False) -> Any:
        """The Python value of a term. Raises EvaluationError where the solver cannot tell, or the term is open.

        With `picks` a proposition is true if it is so for some values of the symbols that it leaves open.
        """
        if isinstance(term, bool | int):
            return term
        found = self.filled(term)
        plain = _plain(found)
        if plain is not None:
            return plain
        axioms = [self.filled(as_bool(axiom)) for axiom in side]
        if not z3.is_bool(found):
            return only_value(found, axioms)
        true = satisfiable(found, axioms)
        if picks and true != z3.unknown:
            return bool(true == z3.sat)
        false = satisfiable(z3.Not(found), axioms)
        if (true, false) == (z3.sat, z3.unsat):
            return True
        if (true, false) == (z3.unsat, z3.sat):
            return False
        raise EvaluationError("the solver does not decide this state's term")

    def filled(self, term: Any) -> Any:
        """A term with the values in the place of symbols, simplified."""
        scalars, functions = symbols(term)
        pairs = []
        for one in scalars:
            value = self.scalars.get(one.decl().name())
            if value is not None:
                pairs.append((one, z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)))
        found = z3.substitute(term, *pairs) if pairs else term
        tables = []
        for one in functions:
            table = self.tables.get(one.name())
            if table is not None:
                tables.append((one, _as_term(one, table)))
        if tables:
            found = z3.substitute_funs(found, *tables)
        return z3.simplify(found)


def _as_term(function: Any, table: Mapping[tuple[int, ...], Value]) -> Any:
    boolean = function.range() == z3.BoolSort()
    found: Any = z3.BoolVal(False) if boolean else z3.IntVal(0)
    arguments = [z3.Var(at, z3.IntSort()) for at in range(function.arity())]
    for index, value in sorted(table.items(), reverse=True):
        here = z3.And(*(argument == key for argument, key in zip(arguments, index, strict=True)))
        found = z3.If(here, z3.BoolVal(value) if boolean else z3.IntVal(value), found)
    return found


def _plain(term: Any) -> bool | int | None:
    if z3.is_true(term):
        return True
    if z3.is_false(term):
        return False
    return term.as_long() if z3.is_int_value(term) else None


def satisfiable(term: Any, axioms: Sequence[Any]) -> Any:
    """The solver's word on a proposition under axioms."""
    solver = z3.Solver()
    solver.set("rlimit", RESOURCES)
    solver.add(*axioms, term)
    return solver.check()


def only_value(term: Any, axioms: Sequence[Any]) -> int:
    """The one value of a number whose fresh symbols the axioms decide. Raises EvaluationError where they do not."""
    # This solver does not put the term in the value's place: a model has no number for a term with quantifiers.
    solver, value = z3.SimpleSolver(), z3.Int("value?")
    solver.set("rlimit", RESOURCES)
    solver.add(*axioms, value == term)
    if solver.check() == z3.sat:
        found = solver.model()[value]
        solver.add(value != found)
        if solver.check() == z3.unsat:
            return int(found.as_long())
    raise EvaluationError("the solver does not decide this state's number")


_known: dict[int, tuple[Any, list[Any], list[Any]]] = {}


def symbols(term: Any) -> tuple[list[Any], list[Any]]:
    """The uninterpreted constants and functions of a term; kept for terms that are asked again."""
    known = _known.get(term.get_id())
    if known is not None and known[0].eq(term):
        return known[1], known[2]
    scalars: dict[int, Any] = {}
    functions: dict[int, Any] = {}
    seen: set[int] = set()
    waiting = [term]
    while waiting:
        node = waiting.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_quantifier(node):
            waiting.append(node.body())
        elif z3.is_app(node):
            if node.decl().kind() == z3.Z3_OP_UNINTERPRETED:
                if node.num_args():
                    functions[node.decl().get_id()] = node.decl()
                else:
                    scalars[node.get_id()] = node
            waiting += node.children()
    _known[term.get_id()] = (term, list(scalars.values()), list(functions.values()))
    return list(scalars.values()), list(functions.values())


class Z3Checks:
    """The API of `PythonChecks` that `tidemark agree` needs, answered by terms.

    A check may have no terms with every capacity lifted: a fold of a sequence of any length. It is then asked with all
    of them kept; `bounded` names it. Raises Unsupported, with the line, for a check that has no terms then either.
    """

    def __init__(self, spec: Specification) -> None:
        self.spec, self.module = spec, spec.module
        self.lifted = Terms(spec, frozenset())
        self.bounded: dict[str, str] = {}
        self._kept: Terms | None = None

    @property
    def kept(self) -> Terms:
        """The terms with every capacity kept."""
        if self._kept is None:
            self._kept = Terms(self.spec, self.lifted.universe.lifted)
        return self._kept

    def _ask(self, name: str, question: Callable[[Terms], Any]) -> Any:
        if name not in self.bounded:
            try:
                return question(self.lifted)
            except (Unsupported, UnlistedError) as problem:
                self.bounded[name] = str(problem)
        try:
            return question(self.kept)
        except UnlistedError as problem:
            raise Unsupported(f"{name}: {problem}, and there are no terms for that") from problem

    def parameters(self, name: str) -> list[list[Value]]:
        """The domains of the action's parameters, each in canonical order."""
        universe = self.lifted.universe
        return [in_order(universe.constant(param.domain)) for param in self.spec.action(name).params]

    def init(self, state: State) -> bool:
        """Is `state` an initial state, as far as its variables that are no ghosts go?"""
        return bool(self._ask("Init", lambda terms: terms.init(state)))

    def invariant(self, name: str, state: State) -> bool:
        """The state predicate `name`."""
        return bool(self._ask(name, lambda terms: terms.invariant(name, state)))

    quiescent = invariant

    def property(self, name: str, state: State, next: State) -> bool:
        """The action property `name`, on one step; true of a step that changes no variable."""
        return bool(self._ask(name, lambda terms: terms.property(name, state, next)))

    def action(self, name: str, params: Sequence[Value], state: State, next: State) -> bool:
        """Is (state, next) a step of the action with these parameters, its ghosts' conjuncts left out?"""
        return bool(self._ask(name, lambda terms: terms.action(name, params, state, next)))

    def ghosts(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The ghosts after a step of the action: `state` with ghosts, `next` needs none."""
        return dict(self._ask(name, lambda terms: terms.ghosts(name, params, state, next)))

    def hidden(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The hidden variables after a step of the action."""
        return dict(self._ask(name, lambda terms: terms.hidden(name, params, state, next)))

    def initial_ghosts(self, state: State) -> dict[str, Value]:
        """The ghosts' first values, given the other variables."""
        return dict(self._ask("Init", lambda terms: terms.initial(self.module.initial_ghosts, state)))

    def initial_hidden(self, state: State) -> dict[str, Value]:
        """The hidden variables' first values, given those that traces carry."""
        return dict(self._ask("Init", lambda terms: terms.initial(self.module.initial_hidden, state)))


class Terms:
    """The terms of a specification, with some capacities kept, and the states that are put into them."""

    def __init__(self, spec: Specification, kept: frozenset[str]) -> None:
        self.spec, self.module = spec, spec.module
        self.universe = Universe(spec, infinite=False, kept=kept)
        self.next = {name: self.universe.symbols.make(sort, f"{name}'") for name, sort in self.universe.sorts.items()}
        self._predicates: dict[str, tuple[Term, list[Term]]] = {}
        self._steps: dict[tuple[str, tuple[Any, ...]], Step] = {}
        self._wholes: dict[tuple[str, tuple[Any, ...]], Term] = {}
        self._states: dict[tuple[int, str], tuple[State, Placed]] = {}

    def init(self, state: State) -> bool:
        """Is `state` an initial state, as far as its variables that are no ghosts go?"""
        term, side = self._predicate("Init", self.module.init, primed=False)
        return bool(self._placed(state).settle(term, side))

    def invariant(self, name: str, state: State) -> bool:
        """The state predicate `name`. Raises EvaluationError where the solver cannot tell."""
        term, side = self._predicate(name, self._named(name), primed=False)
        return bool(self._placed(state).settle(term, side))

    def property(self, name: str, state: State, next: State) -> bool:
        """The action property `name`, on one step; true of a step that changes no variable."""
        if all(state[variable] == next[variable] for variable in self.module.variables):
            return True
        term, side = self._predicate(f"[]{name}", self._named(name), primed=True)
        return bool(self._placed(state, next).settle(term, side))

    def action(self, name: str, params: Sequence[Value], state: State, next: State) -> bool:
        """Is (state, next) a step of the action with these parameters, its ghosts' conjuncts left out?"""
        step, placed = self._step(name, params, self._placed(state, next))
        key = (name, self._fixed(name, params))
        if key not in self._wholes:
            kept = [v for v in self.module.variables if v not in self.module.ghosts]
            self._wholes[key] = conj(step.guard, *(same(step.next[v], self.next[v]) for v in kept))
        return bool(placed.settle(self._wholes[key], step.side, step.picks))

    def ghosts(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The ghosts after a step of the action: `state` with ghosts, `next` needs none."""
        step, placed = self._step(name, params, self._placed(state, {**state, **next}))
        found = dict(step.next)
        run = step.evaluator
        if step.picks:
            run.primed = self.next
            action = self.spec.action(name)
            env = {param.uid: step.params[param.name] for param in action.params}
            found.update({ghost: run.value(expr, env)[0] for ghost, expr in action.ghosts.items()})
        return {ghost: self._read(found[ghost], ghost, placed, tuple(run.side)) for ghost in self.module.ghosts}

    def hidden(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The hidden variables after a step of the action."""
        step, placed = self._step(name, params, self._placed(state, {**state, **next}))
        if step.picks and self.module.hidden:
            raise Unsupported(f"{name} leaves a choice, and there are no terms for the hidden variables after it.")
        return {one: self._read(step.next[one], one, placed, step.side) for one in self.module.hidden}

    # Inside

    def initial(self, values: Mapping[str, ir.Expr], state: State) -> dict[str, Value]:
        """The first values of ghosts or hidden variables, in their order."""
        found: dict[str, Value] = {}
        for name, expr in values.items():
            run = self.universe.evaluator(self.universe.state)
            value, _ = run.value(expr, {})
            found[name] = self._read(value, name, self._placed({**state, **found}), run.side)
        return found

    def _read(self, value: Symbolic, name: str, placed: Placed, side: Sequence[Term]) -> Value:
        return read(value, self.universe.sorts[name], self.universe.codes, lambda term: placed.settle(term, side))

    def _named(self, name: str) -> ir.Expr:
        if name in self.module.definitions:
            return self.module.definitions[name].body
        if name == "TypeOK":
            return self.module.type_ok
        raise Unusable(f"{self.module.name} has no compiled predicate {name}")

    def _predicate(self, key: str, expr: ir.Expr, primed: bool) -> tuple[Term, list[Term]]:
        known = self._predicates.get(key)
        if known is None:
            run = self.universe.evaluator(self.universe.state)
            run.primed = self.next if primed else {}
            known = self._predicates[key] = (run.truth(expr, {})[0], run.side)
        return known

    def _fixed(self, name: str, params: Sequence[Value]) -> tuple[Any, ...]:
        """The parameters that the terms of an action are made for; None for one that is a symbol."""
        first, functions = next(iter(self.universe.instances(name))), self.universe.parameters(name)
        return tuple(
            None if z3.is_expr(form) or one in functions else value
            for (one, form), value in zip(first.items(), params, strict=True)
        )

    def _step(self, name: str, params: Sequence[Value], placed: Placed) -> tuple[Step, Placed]:
        fixed = self._fixed(name, params)
        step = self._steps.get((name, fixed))
        names = [param.name for param in self.spec.action(name).params]
        functions = self.universe.parameters(name)
        if step is None:
            symbols = next(iter(self.universe.instances(name)))
            forms = {
                one: symbols[one] if value is None else constant_form(value, self.universe.codes)
                for one, value in zip(names, fixed, strict=True)
            }
            step = self._steps[name, fixed] = self.universe.step(name, forms)
        if None in fixed:
            moved = Placed(self.universe)
            moved.tables, moved.scalars = dict(placed.tables), dict(placed.scalars)
            for one, value, own in zip(names, params, fixed, strict=True):
                if own is None:
                    moved.put(functions.get(one, SInt()), f"{one}?", value)
            placed = moved
        return step, placed

    def _placed(self, state: State, next: State | None = None) -> Placed:
        found = Placed(self.universe)
        for one, prime in ((state, ""), (next, "'")):
            if one is None:
                continue
            own = self._one(one, prime)
            found.scalars.update(own.scalars)
            found.tables.update(own.tables)
        return found

    def _one(self, state: State, prime: str) -> Placed:
        known = self._states.get((id(state), prime))
        if known is not None and known[0] is state:
            return known[1]
        own = Placed(self.universe)
        for name, sort in self.universe.sorts.items():
            if name in state:
                own.put(sort, f"{name}{prime}", state[name])
        if len(self._states) > 4096:
            self._states.clear()
        self._states[id(state), prime] = (state, own)
        return own
