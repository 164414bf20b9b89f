"""The checks of a specification as compiled Python: the API that agreement, explanations and tests call.

A state is a dict from variable to value (`tla.values`), ghosts included; parameters are a tuple of values in the
action's order. Source is generated and compiled for one check at a time, when it is first asked for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import ir, walk
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.python import names, runtime
from tidemark_conformance.tla.python.emit import Emitter, Place
from tidemark_conformance.tla.python.explain import Conjunct, explain
from tidemark_conformance.tla.python.runtime import EvaluationError, freeze
from tidemark_conformance.tla.values import Fn, Value, function, in_order

if TYPE_CHECKING:
    from tidemark_conformance.tla.spec import Specification

State = Mapping[str, Value]
Check = Callable[..., Any]

NOTHING: State = {}


class Compiler:
    """Turns closed IR into Python functions of (state, next state, locals...) in one namespace."""

    def __init__(
        self,
        title: str,
        constants: Mapping[str, Value],
        rules: Mapping[str, bool],
        tally: Callable[[str, bool], bool] | None,
    ) -> None:
        self.title = title
        self.counting = tally is not None
        self.places: dict[tuple[str, int], Place] = {}
        self.sources: dict[str, str] = {}
        self.count = 0
        own = {name: getattr(runtime, name) for name in dir(runtime) if name[0] != "_"}
        self.namespace = names.Namespace({**own, "Fn": Fn, "function": function, "tally": tally})
        for constant, value in constants.items():
            self.namespace.define(names.CONSTANT, constant, value)
        for rule, force in rules.items():
            self.namespace.define(names.RULE, rule, force)

    def compile(self, title: str, expr: ir.Expr, params: Mapping[int, str]) -> Check:
        """A function (s, t, *params) -> value of `expr`; `params` maps the uids of its free locals to their names."""
        emitter = Emitter(title, self.namespace, self.counting)
        name = emitter.function(expr, {uid: names.value(uid, given) for uid, given in params.items()})
        lines = [line for block in emitter.functions for line in (*block, ("", Place("", None)))]
        self.count += 1
        file = f"<{self.title} {title} {self.count}>"
        for number, (_, place) in enumerate(lines, 1):
            self.places[file, number] = place
        source = "\n".join(text for text, _ in lines) + "\n"
        self.sources[name] = source
        exec(compile(source, file, "exec"), self.namespace.globals)
        return self.guarded(self.namespace.globals[name])

    def source(self) -> str:
        """The source of all functions compiled so far, after the constants that they name."""
        lines = [f"{name} = {value!r}" for name, value in self.namespace.pooled().items()]
        return "\n".join(lines) + "\n\n\n" + "\n".join(self.sources.values())

    def guarded(self, check: Check) -> Check:
        """`check`, whose errors say in which operator and line they happened."""

        def run(s: State, t: State, *params: Value) -> Any:
            try:
                return check(s, t, *params)
            except EvaluationError as problem:
                raise self.placed(problem, problem.__traceback__) from None
            except KeyError as problem:
                error = EvaluationError(f"the state has no variable {problem.args[0]}")
                raise self.placed(error, problem.__traceback__) from problem
            except (TypeError, AttributeError) as problem:
                error = EvaluationError(f"an operator is given a value of the wrong kind ({problem})")
                raise self.placed(error, problem.__traceback__) from problem

        return run

    def placed(self, error: EvaluationError, trace: TracebackType | None) -> EvaluationError:
        while trace is not None:
            place = self.places.get((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
            if place is not None and place.loc is not None:
                error.operator, error.place = place.operator, str(place.loc)
            trace = trace.tb_next
        return error


def evaluate_constant(expr: ir.Expr, constants: Mapping[str, Value]) -> Value:
    """The value of a constant-level expression; EvaluationError if it has none."""
    without = constants.get(WITHOUT, frozenset())
    asked = walk.mentioned(expr).rules
    compiler = Compiler("constant", constants, {rule: rule not in without for rule in asked}, None)
    value = compiler.compile("constant", expr, {})(NOTHING, NOTHING)
    return freeze(value) if isinstance(value, runtime.Described) else value


class PythonChecks:
    """Every check of a specification, by name. All raise EvaluationError where TLC would report an error.

    With `counting`, `rule_counts` collects, for every rule in force, how often its predicate was true and false.
    """

    def __init__(self, spec: Specification, counting: bool = False) -> None:
        self.spec = spec
        self.module = spec.module
        self.rule_counts: dict[str, list[int]] = {rule: [0, 0] for rule in spec.module.rules}
        rules = {rule: rule not in spec.without for rule in spec.module.rules}
        self._compiler = Compiler(spec.module.name, spec.constants, rules, self._tally if counting else None)
        self._explainer = Compiler(spec.module.name, spec.constants, rules, None)
        self._known: dict[tuple[str, str], Check] = {}
        self._parts: dict[ir.Expr, tuple[tuple[int, ...], Check]] = {}
        self._actions = {action.name: action for action in spec.module.actions}
        self._named = dict(spec.module.definitions)
        self._parameters: dict[str, list[list[Value]]] = {}

    # Predicates

    def init(self, state: State) -> bool:
        """Is `state` an initial state, as far as its variables that are no ghosts go?"""
        return bool(self._check("init", "Init", self.module.init)(state, state))

    def initial_ghosts(self, state: State) -> dict[str, Value]:
        """The ghosts' first values, given the other variables."""
        return {
            ghost: self._check("initial", ghost, value)(state, state)
            for ghost, value in self.module.initial_ghosts.items()
        }

    def initial_hidden(self, state: State) -> dict[str, Value]:
        """The hidden variables' first values, given those that traces carry."""
        found: dict[str, Value] = {}
        for name, value in self.module.initial_hidden.items():
            whole = {**state, **found}
            found[name] = self._check("first", name, value)(whole, whole)
        return found

    def hidden(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The hidden variables after a step of the action; `next` needs the variables that traces carry."""
        action = self._action(name)
        found: dict[str, Value] = {}
        for variable, value in action.hidden.items():
            run = self._check(f"hidden_{variable}", name, value, action.params)
            found[variable] = run(state, {**next, **found}, *params)
        return found

    def observed(self, field: str, observer: Value | None, state: State) -> Value:
        """A field of Observed in a state, as `observer` sees it (None: Observed has no parameter)."""
        observed = self.module.observed
        if observed is None:
            raise Unusable(f"{self.module.name} defines no Observed beside Hidden: define it")
        params = [observed.observer] if observed.observer is not None else []
        run = self._check("observed", field, dict(observed.fields)[field], params)
        return run(state, state, *([observer] if params else []))

    def invariant(self, name: str, state: State) -> bool:
        """The state predicate `name`: an invariant, TypeOK, or any definition that was compiled."""
        return bool(self._check("invariant", name, self._predicate(name))(state, state))

    def quiescent(self, name: str, state: State) -> bool:
        """The quiescence predicate `name`."""
        return self.invariant(name, state)

    def property(self, name: str, state: State, next: State) -> bool:
        """The action property `name`, on one step; true of a step that changes no variable."""
        if all(state[variable] == next[variable] for variable in self.module.variables):
            return True
        return bool(self._check("property", name, self._predicate(name))(state, next))

    def action(self, name: str, params: Sequence[Value], state: State, next: State) -> bool:
        """Is (state, next) a step of the action with these parameters, its ghosts' conjuncts left out?"""
        action = self._action(name)
        return bool(self._check("action", name, action.body, action.params)(state, next, *params))

    def enabling(self, name: str, params: Sequence[Value], state: State) -> bool:
        """Do the action's conjuncts before its first primed variable hold?"""
        action = self._action(name)
        known = self._known.get(("enabling", name))
        if known is None:
            known = self._check("enabling", name, walk.enabling(action), action.params)
        return bool(known(state, state, *params))

    def ghosts(self, name: str, params: Sequence[Value], state: State, next: State) -> dict[str, Value]:
        """The ghosts after a step of the action: `state` with ghosts, `next` needs none."""
        action = self._action(name)
        return {
            ghost: self._check(f"ghost_{ghost}", name, value, action.params)(state, next, *params)
            for ghost, value in action.ghosts.items()
        }

    # Domains and constants

    def parameters(self, name: str) -> list[list[Value]]:
        """The domains of the action's parameters, each in canonical order."""
        known = self._parameters.get(name)
        if known is None:
            known = [in_order(self.constant(param.domain)) for param in self._action(name).params]
            self._parameters[name] = known
        return known

    def constant(self, expr: ir.Expr) -> Value:
        """The value of a constant-level expression."""
        return evaluate_constant(expr, self.spec.constants)

    def enabled_actions(self, state: State) -> list[tuple[str, tuple[Value, ...]]]:
        """Every action with parameters whose enabling conjuncts hold in `state`, in the order of Next."""
        found: list[tuple[str, tuple[Value, ...]]] = []
        for name in self._actions:
            for params in itertools.product(*self.parameters(name)):
                try:
                    if self.enabling(name, params, state):
                        found.append((name, params))
                except EvaluationError:
                    continue
        return found

    # Explanations

    def explain_action(self, name: str, params: Sequence[Value], state: State, next: State) -> list[Conjunct]:
        """The action's conjuncts in evaluation order, each with its truth and, if it is false, its false parts."""
        action = self._action(name)
        given = dict(zip((param.uid for param in action.params), params, strict=True))
        return explain(action.body, self._evaluator(state, next), given, action.loc, self._in_force)

    def explain_invariant(self, name: str, state: State) -> list[Conjunct]:
        """The same for an invariant or quiescence predicate."""
        body = self._predicate(name)
        return explain(body, self._evaluator(state, state), {}, self._place(name), self._in_force)

    def source(self) -> str:
        """All Python source generated so far, with the constant parts that were computed beforehand."""
        return self._compiler.source()

    # Inside

    def _tally(self, rule: str, predicate: bool) -> bool:
        self.rule_counts[rule][0 if predicate else 1] += 1
        return predicate

    def _in_force(self, rule: str) -> bool:
        return rule not in self.spec.without

    def _action(self, name: str) -> ir.Action:
        action = self._actions.get(name)
        return action if action is not None else self.spec.action(name)

    def _predicate(self, name: str) -> ir.Expr:
        if name in self._named:
            return self._named[name].body
        if name == "TypeOK":
            return self.module.type_ok
        raise Unusable(f"{self.module.name} has no compiled definition {name}: name it in the cfg")

    def _place(self, name: str) -> ir.Loc:
        return self._named[name].loc if name in self._named else ir.Loc(self.module.name, 0)

    def _check(self, kind: str, name: str, expr: ir.Expr, params: Sequence[ir.Param] = ()) -> Check:
        known = self._known.get((kind, name))
        if known is None:
            known = self._compiler.compile(f"{kind}_{name}", expr, {param.uid: param.name for param in params})
            self._known[kind, name] = known
        return known

    def _evaluator(self, state: State, next: State) -> Callable[[ir.Expr, Mapping[int, Value]], Value]:
        def evaluate(expr: ir.Expr, given: Mapping[int, Value]) -> Value:
            known = self._parts.get(expr)
            if known is None:
                uids = tuple(sorted(walk.free_locals(expr)))
                known = (uids, self._explainer.compile(f"part_{len(self._parts)}", expr, dict.fromkeys(uids, "x")))
                self._parts[expr] = known
            return known[1](state, next, *(given[uid] for uid in known[0]))

        return evaluate


def compile_python(spec: Specification, counting: bool = False) -> PythonChecks:
    """The Python backend of a specification; `counting` makes it count both sides of every rule."""
    return PythonChecks(spec, counting)
