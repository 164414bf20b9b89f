"""A specification for the proof backend: its sorts, its symbolic state, and its actions as guarded updates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import z3

from tidemark_conformance.errors import Unusable
from tidemark_conformance.prove.equality import choice, elements, member, same
from tidemark_conformance.prove.evaluate import Evaluator
from tidemark_conformance.prove.sorts import Codes, Reader, Sort, Symbols, atoms, constant_form, refused
from tidemark_conformance.prove.terms import (
    NOTHING,
    Env,
    Filtered,
    Fun,
    Listed,
    Range,
    Symbolic,
    Term,
    Unbounded,
    conj,
    disj,
    implies,
    neg,
    reset,
)
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.python import evaluate_constant
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.typeok import conjuncts, strip
from tidemark_conformance.tla.values import Value, in_order

MOST_INSTANCES = 64
"""The most values of one parameter that are tried one by one."""

KEPT_BOUNDS = "KeptBounds"
"""The operator that names the capacities which a proof keeps."""
ANY_NUMBER = "AnyNumber"
"""The operator that names the numbers which a proof leaves open, each with its least value."""


@dataclass(frozen=True)
class Step:
    """An action with its parameters: it is a step where `guard` holds, to `next` (variable -> value).

    `given`: the facts about the parameters. `errorless`: the condition under which the action is evaluated without an
    error. `side`: axioms of fresh terms. `branches`: the conditions of the IFs that decide updates. `defined`: the
    condition under which the ghosts' next values exist. `picks`: whether symbols stand for the action's choices.
    """

    action: str
    params: dict[str, Symbolic]
    guard: Term
    next: dict[str, Symbolic]
    side: tuple[Term, ...]
    branches: tuple[Term, ...]
    defined: Term
    evaluator: Evaluator
    given: Term = True
    errorless: Term = True
    picks: bool = False

    @property
    def call(self) -> str:
        """The action as text, with the parameters that are known."""
        symbols = {name for name, value in self.params.items() if z3.is_expr(value) or isinstance(value, Fun)}
        shown = [
            name if name in symbols else str(getattr(value, "value", value)) for name, value in self.params.items()
        ]
        return f"{self.action}({', '.join(shown)})" if self.params else self.action


@dataclass
class Universe:
    """A specification with its capacities lifted.

    `infinite` False keeps the cfg's capacities as the ends of ranges, for comparisons with TLC: the sorts are the same.
    `kept`: capacities that stay bounded; `free`: other constants that are any number from this one on, whatever the cfg
    says. `without`: the rules that are not in force, by default the cfg's.
    """

    spec: Specification
    infinite: bool = True
    kept: frozenset[str] = frozenset()
    free: Mapping[str, int] = field(default_factory=dict)
    without: frozenset[str] | None = None
    codes: Codes = field(init=False)
    symbols: Symbols = field(init=False)
    boundaries: dict[tuple[Any, ...], tuple[Term, Term]] = field(default_factory=dict)
    kept_terms: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        reset()
        module = self.spec.module
        self.codes = Codes(atoms(module, self.spec.constants))
        self.symbols = Symbols(self.codes)
        given = {name for name, value in self.spec.config.constants.items() if type(value) is int}
        unknown = sorted(self.free.keys() - (given - self.lifted - self.kept))
        if unknown:
            raise Unusable(f"{ANY_NUMBER} names {unknown[0]}, no number of the cfg or a capacity: correct its name")

    @cached_property
    def lifted(self) -> frozenset[str]:
        """The constants whose limits are lifted."""
        numbers = {name for name, value in self.spec.constants.items() if type(value) is int and value >= 0}
        found = numbers if self.spec.capacities is None else numbers & self.spec.capacities
        unknown = sorted(self.kept - found)
        if unknown:
            raise Unusable(f"{KEPT_BOUNDS} names {unknown[0]}, which is no capacity: correct its name")
        return frozenset(found - self.kept)

    def constant(self, expr: ir.Expr) -> Value:
        """The value of a constant-level expression, by the cfg. Raises Unsupported where that is one value of many."""
        read = sorted(walk.constants_used(expr) & self.free.keys())
        if read:
            raise refused(f"a set or size that depends on {read[0]}", None, f"leave it out of {ANY_NUMBER}")
        return evaluate_constant(expr, self.spec.constants)

    @cached_property
    def sorts(self) -> dict[str, Sort]:
        """Variable -> sort, by TypeOK."""
        reader = Reader(self.constant, self.lifted, self.infinite)
        found: dict[str, Sort] = {}
        for conjunct, loc in conjuncts(self.spec.module.type_ok):
            match conjunct:
                case ir.Op("in", (target, domain)):
                    variable = strip(target)
                    if isinstance(variable, ir.Var) and not variable.primed and variable.name not in found:
                        found[variable.name] = reader.sort(domain, loc)
        missing = [name for name in self.spec.module.variables if name not in found]
        if missing:
            raise refused(f"the variable {missing[0]} without a conjunct of TypeOK", None, "add it")
        return {name: found[name] for name in self.spec.module.variables}

    @cached_property
    def constants(self) -> dict[str, Symbolic]:
        """Constant -> symbolic value."""
        found: dict[str, Symbolic] = {}
        for name, value in self.spec.constants.items():
            if name in self.lifted and self.infinite:
                found[name] = Unbounded(z3.Int(name))
            elif name in self.free and self.infinite:
                found[name] = z3.Int(name)
            else:
                found[name] = constant_form(value, self.codes)
        return found

    @property
    def assumed(self) -> list[Term]:
        """The facts about lifted capacities, none of which is negative, and about constants that are any number."""
        least = {**dict.fromkeys(self.lifted, 0), **self.free} if self.infinite else {}
        return [z3.Int(name) >= least[name] for name in self.constants if name in least]

    @cached_property
    def state(self) -> dict[str, Symbolic]:
        """Any state, well-typed or not."""
        return {name: self.symbols.make(sort, name) for name, sort in self.sorts.items()}

    def evaluator(self, state: Mapping[str, Symbolic], reading: str = "free") -> Evaluator:
        """An evaluator of expressions in a state. `reading`: free of lemmas, guard of actions, claim of properties."""
        without = self.spec.without if self.without is None else self.without
        found = Evaluator(
            state,
            self.constants,
            frozenset(without),
            self.symbols.caps,
            self.codes.atom,
            self.boundaries,
            self.kept_terms,
            self.symbols.lengths,
            reading,
        )
        found.orders = self.infinite
        if not self.infinite:
            found.most_elements = 2 * max((self.spec.constants[name] for name in self.lifted), default=0) + 2
        return found

    # Actions

    def instances(self, name: str) -> Iterator[dict[str, Symbolic]]:
        """The parameters of an action: a symbol for a number and for a function, else one by one."""
        action, functions = self.spec.action(name), self.parameters(name)
        columns: list[list[Symbolic]] = []
        for param in action.params:
            values = in_order(self.constant(param.domain))
            if values and all(type(value) is int for value in values):
                columns.append([z3.Int(f"{param.name}?")])
            elif param.name in functions:
                columns.append([self.symbols.make(functions[param.name], f"{param.name}?")])
            elif len(values) <= MOST_INSTANCES and not walk.constants_used(param.domain) & self.lifted:
                columns.append([constant_form(value, self.codes) for value in values])
            else:
                raise refused(f"the parameter {param.name} of {action.name}", action.loc, "give it fewer values")
        for row in itertools.product(*columns):
            yield {param.name: value for param, value in zip(action.params, row, strict=True)}

    def parameters(self, name: str) -> dict[str, Sort]:
        """The sorts of an action's parameters that are functions."""
        action, reader = self.spec.action(name), Reader(self.constant, self.lifted, self.infinite)
        sets = ((param.name, param.domain, strip(param.domain)) for param in action.params)
        return {
            one: reader.sort(domain, action.loc)
            for one, domain, inner in sets
            if isinstance(inner, ir.Op) and inner.name == "function_set"
        }

    def step(self, name: str, params: Mapping[str, Symbolic]) -> Step:
        """The action with these parameters from `state`."""
        action = self.spec.action(name)
        run = self.evaluator(self.state, "guard")
        run.recording = True
        env: dict[int, Any] = {param.uid: params[param.name] for param in action.params}
        guards: list[Term] = []
        with run.at(action.loc):
            for param in action.params:
                # As it is written: a parameter that ends in a capacity is up to that.
                with run.sensed(0):
                    true, _ = run.belongs(params[param.name], param.domain, {})
                guards.append(true)
            with run.assuming(conj(*guards)):
                updates = Updates(run, self)
                guard, errorless = updates.apply(action.body, env)
                following = updates.next
                missing = [v for v in self.spec.module.variables if v not in following and v not in action.ghosts]
                if missing:
                    raise run.refuse(f"{name}, which does not say what becomes of {missing[0]}", f"add {missing[0]}'")
                run.primed, run.recording = following, False
                defined: Term = True
                with run.assuming(guard):
                    ghosts: dict[str, Symbolic] = {}
                    for ghost, expr in action.ghosts.items():
                        with run.sensed(0):
                            value, ok = run.value(expr, env)
                        ghosts[ghost] = value
                        defined = conj(defined, run.decided(ok))
        everything = {**following, **ghosts}
        return Step(
            name,
            dict(params),
            conj(*guards, guard),
            {v: everything[v] for v in self.spec.module.variables},
            tuple(run.side),
            tuple(run.branches),
            defined,
            run,
            conj(*guards),
            errorless,
            updates.picks,
        )

    def initial(self) -> Step:
        """Init, as a step to `next` from nowhere: each variable that Init fixes by `v = e` has that value."""
        module = self.spec.module
        run = self.evaluator({}, "guard")
        with run.at(ir.Loc(module.name, 0)):
            updates = Initials(run, self)
            guard, errorless = updates.apply(module.init, {})
            found = updates.next
            missing = [v for v in module.variables if v not in found and v not in module.ghosts]
            if missing:
                raise run.refuse(f"Init, which does not say what {missing[0]} is", f"add {missing[0]} = e")
            run.state = found
            defined: Term = True
            for ghost, expr in module.initial_ghosts.items():
                with run.sensed(0):
                    value, ok = run.value(expr, {})
                found[ghost] = value
                defined = conj(defined, ok)
        return Step("Init", {}, guard, found, tuple(run.side), (), defined, run, True, errorless, updates.picks)


class Updates:
    r"""Walks an action's formula: conjuncts `v' = e` become updates, IFs merge, all else stays a condition.

    A choice that the formula leaves open is picked by fresh symbols: the element of `v' \in S` and of `\E x \in S`, the
    side of a disjunction. A formula is given as the condition under which it is true, and the one under which TLC
    evaluates it without an error. TLC tries every side and every element.
    """

    primed = True

    def __init__(self, run: Evaluator, universe: Universe) -> None:
        self.run, self.universe = run, universe
        self.next: dict[str, Symbolic] = {}
        self.picks = False

    def names(self, expr: ir.Expr) -> frozenset[str]:
        """The variables that a formula determines or reads so."""
        return walk.variables_used(expr, primed=True)

    def target(self, expr: ir.Expr) -> str | None:
        """The variable that `expr` is, if a conjunct `expr = e` determines it."""
        found = strip(expr)
        fits = isinstance(found, ir.Var) and found.primed == self.primed and found.name not in self.next
        return found.name if isinstance(found, ir.Var) and fits else None

    def known(self) -> None:
        """Tells the evaluator the variables determined so far."""
        self.run.primed = self.next

    def apply(self, expr: ir.Expr, env: Env) -> tuple[Term, Term]:
        """The conditions of a formula, true and without an error; `next` gains the updates."""
        run = self.run
        self.known()
        if not self.names(expr):
            return run.truth(expr, env)
        match expr:
            case ir.Mark(_, loc, body):
                with run.at(loc):
                    return self.apply(body, env)
            case ir.Let(uid, _, value, body):
                lazy = run.lazily(lambda: self._late(value, env), kept=not self.names(value))
                return self.apply(body, {**env, uid: lazy})
            case ir.Op("and", parts):
                return self.conjunction(parts, env)
            case ir.Op("or", parts):
                return self.disjunction(parts, env)
            case ir.Op("eq", (left, right)) if (name := self.target(left)) is not None:
                with run.sensed(0):
                    value, ok = run.value(right, env)
                self.next[name] = value
                return ok, ok
            case ir.Op("in", (left, domain)) if (name := self.target(left)) is not None:
                value, true, ok = self.element(domain, f"{name}'" if self.primed else name, env)
                self.next[name] = value
                return true, ok
            case ir.Quant("exists", binders, body):
                return self.exists(list(binders), body, env)
            case ir.Unchanged(names):
                return self.unchanged(names, env), True
            case ir.If(condition, then, orelse):
                return self.sides(condition, then, lambda: self.apply(orelse, env), env)
            case ir.Case(arms, other):
                return self.cases(arms, other, env)
        return self.condition(expr, env)

    def sides(
        self, condition: ir.Expr, then: ir.Expr, orelse: Callable[[], tuple[Term, Term]], env: Env
    ) -> tuple[Term, Term]:
        """IF."""
        run = self.run
        true, ok = run.decision(condition, env)
        true = run.settle_by_facts(true)
        if isinstance(true, bool):
            found, fine = self.apply(then, env) if true else orelse()
        else:
            run.branch(true)
            found, fine = self.merge(true, lambda: self.apply(then, env), orelse)
        return conj(ok, found), conj(ok, fine)

    def cases(self, arms: tuple[tuple[ir.Expr, ir.Expr], ...], other: ir.Expr | None, env: Env) -> tuple[Term, Term]:
        """CASE, whose first arm that is true counts; without OTHER it is an error if none is."""
        (condition, then), rest = arms[0], arms[1:]
        if rest:
            return self.sides(condition, then, lambda: self.cases(rest, other, env), env)
        if other is not None:
            return self.sides(condition, then, lambda: self.apply(other, env), env)
        true, ok = self.run.decision(condition, env)
        with self.run.assuming(true):
            found, fine = self.apply(then, env)
        return conj(true, found), conj(ok, true, implies(true, fine))

    def _late(self, value: ir.Expr, env: Env) -> Any:
        self.known()
        return self.run.value(value, env)

    def conjunction(self, parts: tuple[ir.Expr, ...], env: Env) -> tuple[Term, Term]:
        run = self.run
        condition: Term = True
        errorless: Term = True
        facts = run.facts
        try:
            for part in parts:
                one, ok = self.apply(part, env)
                errorless = conj(errorless, implies(condition, ok))
                condition = conj(condition, one)
                run.facts = run.facts.union(run._ids(one))
        finally:
            run.facts = facts
        return condition, errorless

    def disjunction(self, parts: tuple[ir.Expr, ...], env: Env) -> tuple[Term, Term]:
        """A side that is picked; each is tried, so that an error in any is one."""
        if len(parts) == 1:
            return self.apply(parts[0], env)
        self.picks = True
        pick = z3.Bool(self.universe.symbols.next_name("side"))
        return self.merge(pick, lambda: self.apply(parts[0], env), lambda: self.disjunction(parts[1:], env))

    def exists(self, binders: list[ir.Binder], body: ir.Expr, env: Env) -> tuple[Term, Term]:
        if not binders:
            return self.apply(body, env)
        binder = binders[0]
        value, true, ok = self.element(binder.domain, self.universe.symbols.next_name(binder.name), env)
        with self.run.assuming(true):
            found, fine = self.exists(binders[1:], body, {**env, binder.uid: value})
        return conj(true, found), conj(ok, implies(true, fine))

    def element(self, domain: ir.Expr, name: str, env: Env) -> tuple[Symbolic, Term, Term]:
        """Any element of a set, by symbols named `name`; the condition that it is one, and that the set exists."""
        run, self.picks = self.run, True
        inner = strip(domain)
        if walk.mentioned(domain).closed:
            reader = Reader(self.universe.constant, self.universe.lifted, self.universe.infinite)
            value = self.universe.symbols.make(reader.sort(domain, run.loc), name)
            true, ok = run.belongs(value, domain, env)
            return value, conj(ok, true), ok
        if isinstance(inner, ir.Op) and inner.name == "range":
            value = z3.Int(name)
            true, ok = run.belongs(value, inner, env)
            return value, conj(ok, true), ok
        if isinstance(inner, ir.Op) and inner.name == "powerset":
            with run.sensed(0):
                whole, ok = run.value(inner.args[0], env)
            items = [(conj(guard, z3.Bool(f"{name}.{at}")), item) for at, (guard, item) in enumerate(elements(whole))]
            return Listed(tuple(items)), ok, ok
        with run.sensed(0):
            whole, ok = run.value(domain, env)
        if isinstance(whole, Range | Filtered):
            value = z3.Int(name)
            return value, conj(ok, member(value, whole)), ok
        found, true = NOTHING, False
        pick = z3.Int(name)
        for at, (guard, item) in enumerate(elements(whole)):
            found = item if found is NOTHING else choice(same(pick, at), item, found)
            true = disj(true, conj(same(pick, at), guard))
        return found, conj(ok, true), ok

    def unchanged(self, names: tuple[str, ...], env: Env) -> Term:
        conditions: list[Term] = []
        for name in names:
            if name in self.next:
                conditions.append(self.run.truth(ir.Unchanged((name,)), env)[0])
            else:
                self.next[name] = self.run.state[name]
        return conj(*conditions)

    def merge(
        self, true: Term, then: Callable[[], tuple[Term, Term]], orelse: Callable[[], tuple[Term, Term]]
    ) -> tuple[Term, Term]:
        """Either side, which determine the same variables."""
        before = self.next
        self.next = dict(before)
        with self.run.assuming(true):
            first, fine = then()
        a = self.next
        self.next = dict(before)
        with self.run.assuming(neg(true)):
            second, good = orelse()
        b = self.next
        if set(a) != set(b):
            other = min(set(a) ^ set(b))
            prime = "'" if self.primed else ""
            raise self.run.refuse(
                f"a choice of which one side determines {other}{prime}", "let every side determine it"
            )
        self.next = {
            name: (a[name] if a[name] is b[name] else choice(true, a[name], b[name]))
            if name not in before
            else before[name]
            for name in a
        }
        self.known()
        return choice(true, first, second), choice(true, fine, good)

    def condition(self, expr: ir.Expr, env: Env) -> tuple[Term, Term]:
        """A formula of variables determined already."""
        missing = sorted(self.names(expr) - set(self.next))
        if missing:
            prime = "'" if self.primed else ""
            raise self.run.refuse(
                f"a formula that determines {missing[0]}{prime} otherwise than by = or \\in",
                f"write {missing[0]}{prime} = e or {missing[0]}{prime} \\in S before it",
            )
        return self.run.truth(expr, env)


class Initials(Updates):
    """The same for Init, whose variables are not primed."""

    primed = False

    def names(self, expr: ir.Expr) -> frozenset[str]:
        """The variables that a formula mentions."""
        return walk.variables_used(expr)

    def known(self) -> None:
        self.run.state = self.next
