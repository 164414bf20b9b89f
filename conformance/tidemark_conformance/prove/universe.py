"""A specification for the proof backend: its sorts, its symbolic state, and its actions as guarded updates."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import z3

from tidemark_conformance.errors import Unusable
from tidemark_conformance.prove.evaluate import Evaluator
from tidemark_conformance.prove.sorts import Codes, Reader, Sort, Symbols, constant_form, refused
from tidemark_conformance.prove.terms import Env, Symbolic, Term, Unbounded, choice, conj, neg, reset
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.python import evaluate_constant
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.typeok import conjuncts, strip
from tidemark_conformance.tla.values import ModelValue, Value, in_order

MOST_INSTANCES = 64
"""The most values of one parameter that are tried one by one."""

KEPT_BOUNDS = "KeptBounds"
"""The operator that names the capacities which a proof keeps."""


@dataclass(frozen=True)
class Step:
    """An action with its parameters: it is a step where `guard` holds, to `next` (variable -> value).

    `side`: axioms of fresh terms. `branches`: the conditions of the IFs that decide updates. `defined`: the condition
    under which the ghosts' next values exist.
    """

    action: str
    params: dict[str, Symbolic]
    guard: Term
    next: dict[str, Symbolic]
    side: tuple[Term, ...]
    branches: tuple[Term, ...]
    defined: Term
    evaluator: Evaluator

    @property
    def call(self) -> str:
        """The action as text, with the parameters that are known."""
        shown = ", ".join(str(getattr(value, "value", value)).removesuffix("?") for value in self.params.values())
        return f"{self.action}({shown})" if self.params else self.action


@dataclass
class Universe:
    """A specification with its capacities lifted.

    `infinite` False keeps the cfg's capacities as the ends of ranges, for comparisons with TLC: the sorts are the same.
    `kept`: capacities that stay bounded. `without`: the rules that are not in force, by default the cfg's.
    """

    spec: Specification
    infinite: bool = True
    kept: frozenset[str] = frozenset()
    without: frozenset[str] | None = None
    codes: Codes = field(init=False)
    symbols: Symbols = field(init=False)
    boundaries: dict[tuple[Any, ...], tuple[Term, Term]] = field(default_factory=dict)
    kept_terms: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        reset()
        module = self.spec.module
        self.codes = Codes(_atoms(module, self.spec.constants))
        self.symbols = Symbols(self.codes)

    @cached_property
    def lifted(self) -> frozenset[str]:
        """The constants whose limits are lifted."""
        numbers = {name for name, value in self.spec.constants.items() if type(value) is int}
        found = numbers if self.spec.capacities is None else numbers & self.spec.capacities
        unknown = sorted(self.kept - found)
        if unknown:
            raise Unusable(f"{KEPT_BOUNDS} names {unknown[0]}, which is no capacity: correct its name")
        return frozenset(found - self.kept)

    def constant(self, expr: ir.Expr) -> Value:
        """The value of a constant-level expression, by the cfg."""
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
            else:
                found[name] = constant_form(value, self.codes)
        return found

    @property
    def assumed(self) -> list[Term]:
        """The facts about lifted capacities as numbers: none is negative."""
        return [value.term >= 0 for value in self.constants.values() if isinstance(value, Unbounded)]

    @cached_property
    def state(self) -> dict[str, Symbolic]:
        """Any state, well-typed or not."""
        return {name: self.symbols.make(sort, name) for name, sort in self.sorts.items()}

    def evaluator(self, state: Mapping[str, Symbolic]) -> Evaluator:
        """An evaluator of expressions in a state."""
        without = self.spec.without if self.without is None else self.without
        return Evaluator(
            state,
            self.constants,
            frozenset(without),
            self.symbols.caps,
            self.codes.atom,
            self.boundaries,
            self.kept_terms,
        )

    # Actions

    def instances(self, name: str) -> Iterator[dict[str, Symbolic]]:
        """The parameters of an action: a symbol for a number, else one by one."""
        yield from self._instances(self.spec.action(name))

    def _instances(self, action: ir.Action) -> Iterator[dict[str, Symbolic]]:
        columns: list[list[Symbolic]] = []
        for param in action.params:
            values = in_order(self.constant(param.domain))
            if values and all(type(value) is int for value in values):
                columns.append([z3.Int(f"{param.name}?")])
            elif len(values) <= MOST_INSTANCES and not walk.constants_used(param.domain) & self.lifted:
                columns.append([constant_form(value, self.codes) for value in values])
            else:
                raise refused(f"the parameter {param.name} of {action.name}", action.loc, "give it fewer values")
        for row in itertools.product(*columns):
            yield {param.name: value for param, value in zip(action.params, row, strict=True)}

    def step(self, name: str, params: Mapping[str, Symbolic]) -> Step:
        """The action with these parameters from `state`."""
        action = self.spec.action(name)
        run = self.evaluator(self.state)
        run.recording = True
        env: dict[int, Any] = {param.uid: params[param.name] for param in action.params}
        guards: list[Term] = []
        with run.at(action.loc):
            for param in action.params:
                true, _ = run.belongs(params[param.name], param.domain, {})
                guards.append(true)
            with run.assuming(conj(*guards)):
                updates = Updates(run, self)
                guard = updates.apply(action.body, env)
                following = updates.next
                missing = [v for v in self.spec.module.variables if v not in following and v not in action.ghosts]
                if missing:
                    raise run.refuse(f"{name}, which does not say what becomes of {missing[0]}", f"add {missing[0]}'")
                run.primed, run.recording = following, False
                defined: Term = True
                with run.assuming(guard):
                    ghosts: dict[str, Symbolic] = {}
                    for ghost, expr in action.ghosts.items():
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
        )

    def initial(self) -> Step:
        """Init, as a step to `next` from nowhere: each variable that Init fixes by `v = e` has that value."""
        module = self.spec.module
        run = self.evaluator({})
        found: dict[str, Symbolic] = {}
        conditions: list[Term] = []
        with run.at(ir.Loc(module.name, 0)):
            updates = Initials(run, self, found)
            conditions.append(updates.apply(module.init, {}))
            run.state = found
            defined: Term = True
            for ghost, expr in module.initial_ghosts.items():
                value, ok = run.value(expr, {})
                found[ghost] = value
                defined = conj(defined, ok)
        return Step("Init", {}, conj(*conditions), found, tuple(run.side), (), defined, run)


class Updates:
    """Walks an action's formula: conjuncts `v' = e` become updates, IFs merge, all else stays a condition.

    A variable that a formula determines in another way becomes a fresh symbol under that formula's condition.
    """

    def __init__(self, run: Evaluator, universe: Universe) -> None:
        self.run, self.universe = run, universe
        self.next: dict[str, Symbolic] = {}

    def names(self, expr: ir.Expr) -> frozenset[str]:
        """The variables whose next value a formula mentions."""
        return walk.variables_used(expr, primed=True)

    def target(self, expr: ir.Expr) -> str | None:
        """The variable that `expr` is, if a conjunct `expr = e` determines it."""
        found = strip(expr)
        return found.name if isinstance(found, ir.Var) and found.primed and found.name not in self.next else None

    def apply(self, expr: ir.Expr, env: Env) -> Term:
        """The condition of a formula; `next` gains the updates."""
        run = self.run
        run.primed = self.next
        match expr:
            case ir.Mark(_, loc, body):
                with run.at(loc):
                    return self.apply(body, env)
            case ir.Let(uid, _, value, body) if self.names(body):
                if self.names(value):
                    lazy = run.lazily(lambda: self._late(value, env))
                else:
                    lazy = run.lazily(lambda: run.value(value, env))
                return self.apply(body, {**env, uid: lazy})
            case ir.Op("and", parts) if self.names(expr):
                condition: Term = True
                facts = run.facts
                try:
                    for part in parts:
                        one = self.apply(part, env)
                        condition = conj(condition, one)
                        run.facts = run.facts.union(run._ids(one))
                finally:
                    run.facts = facts
                return condition
            case ir.Op("eq", (left, right)) if (name := self.target(left)) is not None:
                value, ok = run.value(right, env)
                self.next[name] = value
                return ok
            case ir.Unchanged(names):
                return self.unchanged(names, env)
            case ir.If(condition_, then, orelse) if self.names(expr):
                true, ok = run.truth(condition_, env)
                true = run.settle_by_facts(true)
                if isinstance(true, bool):
                    return conj(ok, self.apply(then if true else orelse, env))
                return conj(
                    ok, self.merge(true, lambda: self.apply(then, env), lambda: self.apply(orelse, env), expr, env)
                )
        return self.condition(expr, env)

    def _late(self, value: ir.Expr, env: Env) -> Any:
        self.run.primed = self.next
        return self.run.value(value, env)

    def unchanged(self, names: tuple[str, ...], env: Env) -> Term:
        conditions: list[Term] = []
        for name in names:
            if name in self.next:
                conditions.append(self.run.truth(ir.Unchanged((name,)), env)[0])
            else:
                self.next[name] = self.run.state[name]
        return conj(*conditions)

    def merge(self, true: Term, then: Callable[[], Term], orelse: Callable[[], Term], expr: ir.Expr, env: Env) -> Term:
        before = self.next
        self.next = dict(before)
        with self.run.assuming(true):
            first = then()
        a = self.next
        self.next = dict(before)
        with self.run.assuming(neg(true)):
            second = orelse()
        b = self.next
        if set(a) != set(b):
            self.next = before
            return self.condition(expr, env)
        self.next = {
            name: (a[name] if a[name] is b[name] else choice(true, a[name], b[name]))
            if name not in before
            else before[name]
            for name in a
        }
        self.run.branch(true)
        self.run.primed = self.next
        return choice(true, first, second)

    def condition(self, expr: ir.Expr, env: Env) -> Term:
        """A formula as a condition; variables that it alone determines become fresh symbols."""
        for name in sorted(self.names(expr)):
            if name not in self.next:
                self.next[name] = self.universe.symbols.make(self.universe.sorts[name], f"{name}'")
        self.run.primed = self.next
        return self.run.truth(expr, env)[0]


class Initials(Updates):
    """The same for Init, whose variables are not primed."""

    def __init__(self, run: Evaluator, universe: Universe, found: dict[str, Symbolic]) -> None:
        super().__init__(run, universe)
        self.next = found
        self.picks = 0
        run.state = found

    def names(self, expr: ir.Expr) -> frozenset[str]:
        """The variables that a formula mentions."""
        return walk.variables_used(expr)

    def target(self, expr: ir.Expr) -> str | None:
        """The variable that `expr` is, if a conjunct `expr = e` determines it."""
        found = strip(expr)
        return found.name if isinstance(found, ir.Var) and found.name not in self.next else None

    def apply(self, expr: ir.Expr, env: Env) -> Term:
        """As of an action; `\\E x \\in S` becomes a choice of a known element, by a fresh number."""
        inner = strip(expr)
        if isinstance(inner, ir.Quant) and inner.kind == "exists" and len(inner.binders) == 1:
            binder = inner.binders[0]
            values = in_order(self.universe.constant(binder.domain))
            if values and not walk.variables_used(binder.domain):
                pick = z3.Int(f"{binder.name}?{self.picks}")
                self.picks += 1
                found = constant_form(values[0], self.universe.codes)
                for at, value in enumerate(values[1:], 1):
                    found = choice(pick == at, constant_form(value, self.universe.codes), found)
                body = self.apply(inner.body, {**env, binder.uid: found})
                return conj(pick >= 0, pick < len(values), body)
        before = dict(self.next)
        result = super().apply(expr, env)
        self.next.update({name: value for name, value in before.items() if name not in self.next})
        return result

    def merge(self, true: Term, then: Callable[[], Term], orelse: Callable[[], Term], expr: ir.Expr, env: Env) -> Term:
        raise self.run.refuse("an IF of Init that determines variables", "put the IF right of v =")

    def condition(self, expr: ir.Expr, env: Env) -> Term:
        for name in sorted(self.names(expr)):
            if name not in self.next:
                self.next[name] = self.universe.symbols.make(self.universe.sorts[name], name)
        return self.run.truth(expr, env)[0]


def _atoms(module: ir.Module, constants: Mapping[str, Value]) -> list[Value]:
    """The strings and model values of a specification."""
    found: set[Value] = set()

    def collect(value: Value) -> None:
        if isinstance(value, str | ModelValue):
            found.add(value)
        elif isinstance(value, frozenset | tuple):
            for item in value:
                collect(item)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                collect(key)
                collect(item)

    for name, value in constants.items():
        if name != WITHOUT:
            collect(value)
    bodies = [module.type_ok, module.init, *(action.body for action in module.actions)]
    for body in bodies:
        for node in walk.walk(body):
            if isinstance(node, ir.Lit) and node.kind == "str":
                found.add(node.value)
    return list(found)
