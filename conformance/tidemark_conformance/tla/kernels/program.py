"""The generated module of one specification: a small function per check, and dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from tidemark_conformance.tla import limits
from tidemark_conformance.tla.ir import (
    NOT_A_STEP,
    Action,
    Expr,
    HasRule,
    Let,
    Loc,
    Local,
    Mark,
    Named,
    Op,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.kernels import (
    compound,
    equality,
    expressions,
    increments,
    shapes,
    storing,
    stuttering,
    values,
)
from tidemark_conformance.tla.kernels.constants import constants_of
from tidemark_conformance.tla.kernels.context import (
    BLOCKED,
    CHANGED,
    COUNTED,
    HIDDEN,
    OVERFLOWING,
    Context,
    Env,
    Helpers,
    Lazy,
    Memory,
)
from tidemark_conformance.tla.kernels.driver import DRIVER
from tidemark_conformance.tla.kernels.kinds import Kinds
from tidemark_conformance.tla.kernels.prelude import PRELUDE
from tidemark_conformance.tla.kernels.source import Source
from tidemark_conformance.tla.kernels.symbols import Address, Choice, Place, Symbol, Update, scaled
from tidemark_conformance.tla.layout import MAX_UNITS, Variable
from tidemark_conformance.tla.observations import environment
from tidemark_conformance.tla.types import (
    TFun,
    is_scalar,
)
from tidemark_conformance.tla.walk import children, guard_rules

ANY_STEP = -1


@dataclass
class Program:
    """A generated module: its text, the constants it names, and the offsets by which a runner fills its memory.

    `checks`: the names of all checks in the order of their numbers. `history`: those that read a ghost. `hoisted`: the
    expressions of the run-time constants, in the order of their cells from `constants` on.
    """

    source: str
    names: dict[str, int]
    tables: list[int]
    hoisted: list[Expr]
    actions: list[str]
    invariants: list[str]
    properties: list[str]
    quiescence: list[str]
    rules: list[str]
    history: list[str]
    checks: list[str] = field(default_factory=list)


class Generator:
    """Generates the text of one specification's checks."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.layout = source.layout
        most = max((len(p.names) for p in source.parameters.values()), default=0)
        self.memory = Memory(source.layout, most, source.module.rules)
        self.most = most
        of_steps = partial(stuttering.needed, Kinds(source.layout, source.constant))
        self.asked: Mapping[str, increments.Asked] = {"invariants": increments.readings, "properties": of_steps}
        """The parts of a state, or of a step, for which checks of these kinds are asked again."""
        self.helpers: Helpers = {}
        self.limits = limits.trees(source.module, source.constant, source.capacities)
        self.functions: list[str] = []
        self.certain: set[str] = set()
        """Predicates that hold by the layout (TypeOK, mostly): nothing is left to evaluate."""

    def program(self) -> Program:
        """Generate everything."""
        source, module = self.source, self.source.module
        actions = [a.name for a in module.actions]
        for i, action in enumerate(module.actions):
            counted: list[Expr] | None = [] if module.hidden else None
            self._action(i, action, counted)
            self._hidden(i, action, counted)
            self._ghosts(i, action)
            self._refuses(i, action)
        self._dispatch("act", "check_action", len(actions))
        self._dispatch("refuses", "check_refuses", len(actions))
        self._dispatch("ghosts", "check_ghosts", len(actions))
        self._dispatch("hidden", "check_hidden", len(actions))
        self._observed()
        for kind, one, named, start in self._families():
            for i, predicate in enumerate(named):
                self._predicate(f"check_{one}_{i}", predicate.body, kind)
            self._dispatch(one, f"check_{one}", len(named))
            self._recorder(kind, one, named, start)
        self._predicate("initial", module.init_rest if module.hidden else module.init)
        self._initial_hidden()
        self._initial_ghosts()
        self._canonical()
        names = constants_of(source, self.memory, self.most, self.limits)
        text = (
            "\n\n".join(
                [PRELUDE.strip(), *(helper for _, helper in self.helpers.values()), *self.functions, DRIVER.strip()]
            )
            + "\n"
        )
        checks = [NOT_A_STEP]
        for named in (source.invariants, source.properties, source.quiescence):
            checks += [predicate.name for predicate in named]
        if source.observables is not None:
            checks += [observation(name) for name, _ in source.observables.fields]
        history = [
            predicate.name
            for _, one, named, _ in self._families()
            for i, predicate in enumerate(named)
            if self._reads_ghost(predicate.body) and f"check_{one}_{i}" not in self.certain
        ]
        return Program(
            text,
            names,
            self.memory.tables,
            self.memory.hoisted,
            actions,
            [p.name for p in source.invariants],
            [p.name for p in source.properties],
            [p.name for p in source.quiescence],
            list(module.rules),
            history,
            checks,
        )

    def _families(self) -> list[tuple[str, str, Sequence[Named], int]]:
        source = self.source
        first = 1
        second = first + len(source.invariants)
        third = second + len(source.properties)
        return [
            ("invariants", "invariant", source.invariants, first),
            ("properties", "property", source.properties, second),
            ("quiescence", "quiescent", source.quiescence, third),
        ]

    # --- functions ------------------------------------------------------------------------------------------------

    def _context(self) -> Context:
        context = Context(self.memory, self.source.constant, self.source.constants, expressions.OPERATIONS)
        context.helpers = self.helpers
        return context

    def _finish(self, name: str, c: Context, result: str, extra: str = "") -> None:
        lines = [f'def {name}(p: "I64"{extra}) -> bool:', *("    " + line for line in c.lines), f"    return {result}"]
        self.functions.append("\n".join(lines))

    def _predicate(self, name: str, body: Expr, kind: str = "") -> None:
        """`kind`: of an invariant, or a property that a step of nothing has, only what a step can have made false."""
        c = self._context()
        every = self._mask(body, kind)
        for expr, loc, env in _conjuncts(body, None, {}):
            c.loc = loc
            mask = self._mask(expr, kind, env)
            with c.when("True" if mask in (ANY_STEP, every) else f"p[{CHANGED}] & {mask} != 0"):
                if mask == ANY_STEP:
                    expressions.demand(c, expr, env)
                else:
                    expressions.demand_again(c, expr, env, self.asked[kind])
        if not c.lines:
            self.certain.add(name)
        self._finish(name, c, "p[0] == 0")

    def _environment(self, action: Action) -> dict[int, Symbol]:
        parameters = self.source.parameters[action.name]
        found: dict[int, Symbol] = {}
        for i, (param, kind) in enumerate(zip(action.params, parameters.types, strict=True)):
            cell = self.memory.parameters + i
            if is_scalar(kind):
                found[param.uid] = values.load(Address(cell), kind)
            else:
                found[param.uid] = Place(Address(0, (f"p[{cell}]",)), kind)
        return found

    def _action(self, index: int, action: Action, counted: list[Expr] | None) -> None:
        c = self._context()
        c.counting, c.counted = True, counted
        c.loc = action.loc
        if counted is not None:
            c.line(f"p[{COUNTED}] = 0")
        env = self._environment(action)
        some = bool(self.source.module.hidden)
        guards = _guards(action, env)
        for place, (expr, loc, inner) in enumerate(_conjuncts(action.rest if some else action.body, action.loc, env)):
            c.loc = loc
            if place == guards:
                self._compute(c, index, some)
            expressions.demand(c, expr, inner)
            guards = -1 if place == guards else guards
        if some and guards >= 0:
            self._compute(c, index, some)
        self._finish(f"check_action_{index}", c, "p[0] == 0")

    @staticmethod
    def _compute(c: Context, index: int, some: bool) -> None:
        """Behind an action's guards: an attempt ends here, and the hidden variables get their next values."""
        c.line(f"if p[{BLOCKED}] != 0:")
        c.nest(["return True"])
        if some:
            c.line("if p[0] != 0:")
            c.nest(["return False"])
            c.line("p[1] = 0")
            c.line(f"if not check_hidden_{index}(p) or p[1] != 0:")
            c.nest([f"return p[{HIDDEN}] != 2"])

    def _refuses(self, index: int, action: Action) -> None:
        """Whether an attempt at the action is refused by nothing but its guards: none of their rules is out of force.

        A node that keeps a rule although the check does without it is still right to refuse.
        """
        rules = [f"({self.memory.hoist(HasRule(rule))} != 0)" for rule in guard_rules(action)]
        self._finish(f"check_refuses_{index}", self._context(), " and ".join(rules) or "True")

    def _dispatch(self, name: str, target: str, count: int) -> None:
        lines = [f'def {name}(p: "I64", k) -> bool:']
        for i in range(count):
            lines += [f"    {'if' if i == 0 else 'elif'} k == {i}:", f"        return {target}_{i}(p)"]
        lines.append("    return False")
        self.functions.append("\n".join(lines))

    def _recorder(self, kind: str, one: str, named: Sequence[Named], start: int) -> None:
        """The function that evaluates the checks that may have changed and keeps the first failing record of each
        check."""
        lines = [f'def {kind}(p: "I64", number_, snapshot):']
        for i, predicate in enumerate(named):
            mask = self._mask(predicate.body, kind)
            if f"check_{one}_{i}" in self.certain:
                continue
            condition = f"p[FIRSTS + {start + i}] < 0"
            if mask != ANY_STEP:
                condition = f"p[{CHANGED}] & {mask} != 0 and {condition}"
            if self._reads_ghost(predicate.body):
                condition += " and snapshot == 0"
            lines += [
                f"    if {condition}:",
                "        p[0] = 0",
                f"        if not check_{one}_{i}(p) or p[0] != 0:",
                f"            p[FIRSTS + {start + i}] = number_",
            ]
        lines.append("    return 0")
        self.functions.append("\n".join(lines))

    def _mask(self, body: Expr, kind: str, env: Env | None = None) -> int:
        """The bits of the variables of which a step must change one to break a check; ANY_STEP: that is not known."""
        mask = 0
        for expr, _, inner in _conjuncts(body, None, env or {}):
            asked = self.asked[kind](expr, expressions.definitions(inner), None) if kind in self.asked else None
            one = increments.mask_of(self.layout, asked.whole | asked.indexed) if asked is not None else 0
            if not one:
                return ANY_STEP
            mask |= one
        return mask

    def _reads_ghost(self, body: Expr) -> bool:
        return any(self.layout.by_name[name].ghost for name in increments.readings(body, {}).whole)

    # --- ghosts ---------------------------------------------------------------------------------------------------

    def _ghosts(self, index: int, action: Action) -> None:
        c = self._context()
        env = self._environment(action)
        for variable in self.layout.variables:
            if variable.ghost and variable.name in action.ghosts:
                c.loc = action.loc
                self._assign(c, variable, expressions.evaluate(c, action.ghosts[variable.name], env))
        self._finish(f"check_ghosts_{index}", c, "p[0] == 0")

    def _hidden(self, index: int, action: Action, counted: list[Expr] | None) -> None:
        """`check_hidden(p)`: the hidden variables' next values; whether they have some, which fit. A LET around several
        updates is evaluated for each; rules in it are `counted` once."""
        c = self._context()
        c.counting, c.counted = True, counted
        env = self._environment(action)
        c.loc = action.loc
        c.line(f"p[{HIDDEN}] = 1")
        for name, value in action.hidden.items():
            variable = self.layout.by_name[name]
            self._assign(c, variable, expressions.evaluate(c, value, env))
            self._require_value(c, name)
        self._finish(f"check_hidden_{index}", c, "True")

    def _require_value(self, c: Context, name: str) -> None:
        c.line("if p[0] != 0:")
        c.nest([f"p[{HIDDEN}] = 2", "return False"])
        c.line("if p[1] != 0:")
        c.nest([f"p[{OVERFLOWING}] = {self.layout.index[name]}", "return False"])

    def _initial_hidden(self) -> None:
        c = self._context()
        for name, value in self.source.module.initial_hidden.items():
            variable = self.layout.by_name[name]
            base = self.memory.next + variable.offset
            storing.store(c, Address(base), variable.type, expressions.evaluate(c, value, {}))
            self._require_value(c, name)
            c.line(f"copyrun(p, {self.memory.current + variable.offset}, {base}, {variable.size})")
        self._finish("initial_hidden", c, "True")

    def _observed(self) -> None:
        """`field(p, k)`: whether the computed value of the k-th field equals the observed one."""
        observed, observables = self.source.module.observed, self.source.observables
        fields = observables.fields if observables is not None else ()
        for i, (_, kind) in enumerate(fields):
            if observed is None or observables is None:
                continue
            c = self._context()
            c.loc = observed.loc
            value = expressions.evaluate(c, observed.fields[i][1], environment(observed, observables.kind))
            told = values.load(Address(0, ("OBSERVED",)), kind)
            self._finish(f"check_field_{i}", c, f"p[0] == 0 and {equality.equal(c, value, told)}")
        self._dispatch("field", "check_field", len(fields))

    def _initial_ghosts(self) -> None:
        c = self._context()
        for variable in self.layout.variables:
            if variable.ghost:
                value = expressions.evaluate(c, self.source.module.initial_ghosts[variable.name], {})
                storing.store(c, Address(self.memory.next + variable.offset), variable.type, value)
                c.line(f"p[{self.memory.dirty + self.layout.index[variable.name]}] = -1")
        self._finish("initial_ghosts", c, "p[0] == 0")

    def _assign(self, c: Context, variable: Variable, value: Symbol) -> None:
        """Write a ghost's next value and mark the units that it changes (the next state still equals the current)."""
        number = self.layout.index[variable.name]
        base = Address(self.memory.next + variable.offset)
        if isinstance(value, Choice):
            for header, part in ((f"if {value.condition}:", value.then), ("else:", value.orelse)):
                with c.block(header):
                    self._assign(c, variable, part)
            return
        origin = value.origin if isinstance(value, Place) else None
        if origin is not None and origin.variable == number and origin.unit is None and not origin.primed:
            return
        if isinstance(value, Update) and isinstance(variable.type, TFun) and variable.units <= MAX_UNITS:
            under, updates = compound.chain(value)
            if isinstance(under, Place) and under.origin is not None and under.origin.variable == number:
                for update in reversed(updates):
                    unit, inside = compound.update_index(c, variable.type, update)
                    offset, term = scaled(unit, variable.unit_size)
                    with c.when(inside):
                        storing.store(c, base.plus(offset, term), variable.type.range, update.value())
                        self._mark(c, variable, f"{unit}", f"{unit} + 1")
                return
        storing.store(c, base, variable.type, value)
        self._mark(c, variable, "0", str(variable.units))

    def _mark(self, c: Context, variable: Variable, low: str, high: str) -> None:
        number = self.layout.index[variable.name]
        if variable.units > MAX_UNITS:
            low, high = "0", "1"
        width = variable.unit_size if variable.units <= MAX_UNITS else variable.size
        old, new = self.memory.current + variable.offset, self.memory.next + variable.offset
        flag = 1 << min(number, 61)
        c.line(f"mark(p, {old}, {new}, {low}, {high}, {width}, {self.memory.dirty + number}, {flag})")

    # --- shapes ---------------------------------------------------------------------------------------------------

    def _canonical(self) -> None:
        """`canonical(p)`: are unused cells of what a delta changed 0, used ones in bounds? 0 or the reason."""
        lines = ['def canonical(p: "I64"):']
        for number, variable in enumerate(self.layout.variables):
            if not variable.carried or not shapes.shaped(variable.type):
                continue
            self._shape_function(number, variable)
            lines += [
                f"    if p[{self.memory.dirty + number}] != 0:",
                f"        why = shape_{number}(p)",
                "        if why != 0:",
                "            return why",
            ]
        lines.append("    return 0")
        self.functions.append("\n".join(lines))

    def _shape_function(self, number: int, variable: Variable) -> None:
        c = self._context()
        kind = variable.type
        base = Address(self.memory.next + variable.offset)
        if isinstance(kind, TFun) and variable.units <= MAX_UNITS:
            c.line(f"m = p[{self.memory.dirty + number}]")
            with c.block("while m != 0:"):
                c.line("u = ctz(m)")
                c.line("m = m & (m - 1)")
                offset, term = scaled("u", variable.unit_size)
                shapes.shape(c, base.plus(offset, term), kind.range, limits.element(self.limits.get(variable.name)))
        else:
            shapes.shape(c, base, kind, self.limits.get(variable.name))
        lines = [f'def shape_{number}(p: "I64"):', *("    " + line for line in c.lines), "    return 0"]
        self.functions.append("\n".join(lines))


def _conjuncts(expr: Expr, loc: Loc | None, env: Env) -> Iterator[tuple[Expr, Loc | None, Env]]:
    """The conjuncts of a predicate in evaluation order, through marks and LET, each with its place and bindings."""
    match expr:
        case Mark(_, here, body):
            yield from _conjuncts(body, here, env)
        case Op("and", args):
            for arg in args:
                yield from _conjuncts(arg, loc, env)
        case Let(uid, _, value, body):
            yield from _conjuncts(body, loc, {**env, uid: Lazy(value, env)})
        case _:
            yield expr, loc, env


def observation(field: str) -> str:
    """The name of the check that compares a field of Observed."""
    return f"Observed.{field}"


def _guards(action: Action, env: Env) -> int:
    """How many conjuncts of an action stand before the first that mentions the next state, which nothing hides."""
    found = 0
    for expr, _, inner in _conjuncts(action.body, action.loc, env):
        if mentions_next(expr, inner):
            return found
        found += 1
    return found


def mentions_next(expr: Expr, env: Env) -> bool:
    """Whether an expression mentions the next state, by a definition that it uses too."""
    if isinstance(expr, Unchanged) or (isinstance(expr, Var) and expr.primed):
        return True
    bound = env.get(expr.uid) if isinstance(expr, Local) else None
    if isinstance(bound, Lazy) and mentions_next(bound.value, bound.env):
        return True
    return any(mentions_next(part, env) for part in children(expr))
