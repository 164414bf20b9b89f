r"""The parts of a specification, found by the conventions: TypeOK, Init, the actions of Next, ghosts, properties.

Here the conventions of docs/conventions.md for a whole specification are enforced, with the module and line. They are
named actions with constant parameter domains, every variable's next value, and ghosts that nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import hidden, sany, walk
from tidemark_conformance.tla.cfg import Config
from tidemark_conformance.tla.elaborate import WITHOUT
from tidemark_conformance.tla.ir import (
    Action,
    Const,
    Expr,
    FunctionLit,
    Let,
    Lit,
    Loc,
    Mark,
    Module,
    Named,
    Observed,
    Op,
    Param,
    RecordLit,
    RecordSet,
    RuleGuard,
    SetEnum,
    SetFilter,
    SetMap,
    TupleLit,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.relation import Disjunct, Relation
from tidemark_conformance.tla.scope import Closure, Context, Fixed, refuse

SPINE = Context(spine=True)
_WHY = "which belongs to History"
HISTORY = "History"
"""The operator that lists variables of a proof: `HistoryInit` and `HistoryNext` say what they are in every run."""
CAPACITIES = "Capacities"
"""The operator that names the constants which only bound a trace (`limits.py`)."""


@dataclass(frozen=True)
class Extract:
    """The result of `extract`: the module, and the names in it by their roles.

    `temporal`: the cfg's properties that are no action properties; TLC alone checks them. `places`: every operator of
    the specification's own modules -> (place, last line of its text). `assumptions`: the ASSUMEs, which the constants
    of a cfg must fulfil. A constant that only assumptions mention is none of the module's.
    """

    module: Module
    invariants: tuple[str, ...]
    properties: tuple[str, ...]
    temporal: tuple[str, ...]
    quiescence: tuple[str, ...]
    environment: tuple[str, ...]
    places: dict[str, tuple[Loc, int]]
    assumptions: tuple[Named, ...]


def extract(tables: sany.Tables, config: Config, also: Iterable[str] = ()) -> Extract:
    """Compile what `config` asks of the parsed module; `also` names further parameterless operators to compile.

    Raises Unsupported (module and line) for what the conventions do not allow, Unusable for a cfg that does not fit.
    """
    return _Extractor(tables, config).extract(tuple(also))


def as_memberships(type_ok: Expr) -> Expr:
    """TypeOK with its conjuncts `v \\subseteq S` as the `v \\in SUBSET S` that they mean."""
    if isinstance(type_ok, Mark):
        return replace(type_ok, body=as_memberships(type_ok.body))
    if isinstance(type_ok, Op) and type_ok.name == "and":
        return replace(type_ok, args=tuple(as_memberships(part) for part in type_ok.args))
    if isinstance(type_ok, Op) and type_ok.name == "subseteq" and isinstance(walk.strip(type_ok.args[0]), Var):
        return Op("in", (type_ok.args[0], Op("powerset", (type_ok.args[1],))))
    return type_ok


_PREDICATES = frozenset(
    [
        "and",
        "or",
        "not",
        "implies",
        "iff",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "in",
        "notin",
        "subseteq",
        "isfiniteset",
        "apply",
        "head",
    ]
)


def _is_no_predicate(expr: Expr) -> bool:
    """Whether an expression certainly is a value of another kind than BOOLEAN."""
    if isinstance(expr, Lit):
        return expr.kind != "bool"
    if isinstance(expr, Op):
        return expr.name not in _PREDICATES
    return isinstance(expr, SetEnum | SetFilter | SetMap | RecordLit | RecordSet | TupleLit | FunctionLit)


class _Extractor:
    def __init__(self, tables: sany.Tables, config: Config) -> None:
        if tables.operator(HISTORY) is not None:
            config = replace(config, specification=None, init="Init", next="Next")
        self.relation = Relation(tables, config)
        self.tables = tables = self.relation.tables
        self.config = config
        self.elaborator = self.relation.elaborator
        declared = [e for uid in tables.members if isinstance(e := tables.entries[uid], sany.Declaration)]
        self.variables = [entry.name for entry in declared if entry.kind == "variable"]
        self.constants = [entry.name for entry in declared if entry.kind == "constant"]
        self.ghosts: tuple[str, ...] = ()
        self.hidden: tuple[str, ...] = ()
        self.first: dict[str, Expr] = {}
        self.following: dict[str, Expr] = {}

    # Definitions by name

    def expression(self, name: str, why: str, context: Context = SPINE) -> tuple[Expr, Loc]:
        """The closed body of a parameterless operator, under its mark."""
        uid, entry = self.relation.definition(name, why)
        call = sany.Apply(entry.loc, 0, uid, (), ())
        return self.elaborator.expression(call, context), entry.loc

    def named(self, name: str, why: str) -> Named:
        body, loc = self.expression(name, why)
        return Named(name, body, loc)

    # The whole

    def extract(self, also: tuple[str, ...]) -> Extract:
        self.check_constants()
        ghosts, history = self.listed("Ghosts", "the tuple of history variables"), self.history_names()
        self.ghosts = (*ghosts, *history)
        self.hidden = self.hidden_names()
        carried = [name for name in self.variables if name not in self.ghosts and name not in self.hidden]
        init_node, _ = self.relation.behaviour()
        type_ok = as_memberships(self.expression("TypeOK", "which the conventions ask for")[0])
        if history:
            type_ok = walk.conjunction([type_ok, as_memberships(self.expression("HistoryTypeOK", _WHY)[0])])
            self.first = self.split(self.expression("HistoryInit", _WHY)[0], primed=False)[1]
            self.following = self.split(self.expression("HistoryNext", _WHY)[0], primed=True)[1]
        init, initial_ghosts = self.initial(init_node)
        init_rest, initial_hidden = self.determined(init, False, "Init", init_node.loc)
        actions = tuple(self.action(one) for one in self.relation.disjuncts())
        observed = self.observed()
        definitions: dict[str, Named] = {}
        for name in self.config.invariants:
            definitions[name] = self.state_predicate(name, "an INVARIANT of the cfg")
        properties, temporal = self.properties(definitions)
        quiescence = self.by_prefix("Quiescent", definitions)
        environment = self.by_prefix("Environment", definitions)
        for constant, name in self.config.substitutions.items():
            if constant not in self.constants:
                continue  # an operator's override, which the tables hold
            definitions[name] = self.constant_definition(name, f"what the cfg puts for {constant}")
        if self.tables.operator(CAPACITIES) is not None:
            definitions[CAPACITIES] = self.constant_definition(CAPACITIES, "the names of constants that are capacities")
        for name in also:
            definitions.setdefault(name, self.named(name, "which was asked for"))
        bodies = [type_ok, init, *initial_ghosts.values(), *(named.body for named in definitions.values())]
        for action in actions:
            bodies += [action.body, *action.ghosts.values(), *(param.domain for param in action.params)]
        if observed is not None:
            bodies += [value for _, value in observed.fields]
            bodies += [observed.observer.domain] if observed.observer is not None else []
        module = Module(
            name=self.module_name(),
            constants=self.constants_of(bodies),
            variables=(*carried, *self.hidden, *self.ghosts),
            ghosts=self.ghosts,
            type_ok=type_ok,
            init=init,
            actions=actions,
            initial_ghosts=initial_ghosts,
            definitions=definitions,
            rules=self.rules_of(bodies),
            hidden=self.hidden,
            initial_hidden=initial_hidden,
            init_rest=init_rest,
            observed=observed,
        )
        return Extract(
            module=module,
            invariants=self.config.invariants,
            properties=properties,
            temporal=temporal,
            quiescence=quiescence,
            environment=environment,
            places=self.places(),
            assumptions=tuple(
                Named("ASSUME", self.elaborator.expression(node, Context()), loc)
                for loc, node in self.tables.assumptions
            ),
        )

    def check_constants(self) -> None:
        """Every constant has a value in the cfg."""
        given = {*self.config.constants, *self.config.substitutions}
        missing = [name for name in self.constants if name not in given]
        if missing:
            raise Unusable(f"{self.config.path} gives no value to the constant {missing[0]}: add it under CONSTANTS")

    def constants_of(self, bodies: list[Expr]) -> tuple[str, ...]:
        used = set[str]().union(*(walk.constants_used(body) for body in bodies))
        if WITHOUT in used:
            for body in bodies:
                found = walk.place(body, lambda e: e == Const(WITHOUT), Loc("?", 0))
                if found is not None:
                    raise refuse(found, f"{WITHOUT} is read otherwise than by Has", 'write Has("Rule")')
        return tuple(name for name in self.constants if name in used)

    @staticmethod
    def rules_of(bodies: list[Expr]) -> tuple[str, ...]:
        return tuple(sorted({rule for body in bodies for rule in walk.mentioned(body).rules}))

    def module_name(self) -> str:
        """The module that declares the variables: a model module that extends it bears its name."""
        for uid in self.tables.members:
            entry = self.tables.entries[uid]
            if isinstance(entry, sany.Declaration) and entry.kind == "variable":
                return entry.loc.module
        raise Unusable(f"module {self.tables.root} declares no variables: give the specification's module")

    def places(self) -> dict[str, tuple[Loc, int]]:
        found: dict[str, tuple[Loc, int]] = {}
        for uid in self.tables.members:
            entry = self.tables.entries[uid]
            if isinstance(entry, sany.Definition) and not self.elaborator.is_library(uid):
                found[entry.name] = (entry.loc, entry.last_line)
        return found

    def by_prefix(self, prefix: str, definitions: dict[str, Named]) -> tuple[str, ...]:
        """The parameterless operators whose names start so, compiled as state predicates."""
        names = self.relation.predicates(prefix)
        for name in names:
            definitions.setdefault(name, self.state_predicate(name, f"a {prefix}... predicate"))
        return names

    def state_predicate(self, name: str, why: str) -> Named:
        named = self.named(name, why)
        if walk.mentions_next(named.body):
            raise refuse(named.loc, f"{name} mentions the next state", f"it must be a state predicate, being {why}")
        if _is_no_predicate(walk.strip(named.body)):
            raise refuse(named.loc, f"{name} is neither TRUE nor FALSE", f"it must be a state predicate, being {why}")
        return named

    def constant_definition(self, name: str, why: str) -> Named:
        named = self.named(name, why)
        if walk.variables_used(named.body):
            raise refuse(named.loc, f"{name} mentions variables", f"it must be constant, being {why}")
        return named

    def listed(self, operator: str, what: str) -> tuple[str, ...]:
        """The variables in the tuple that a parameterless operator stands for; none if it is not defined."""
        if self.tables.operator(operator) is None:
            return ()
        expr, loc = self.expression(operator, what, Context())
        return tuple(self.elaborator.variable_names(expr, loc))

    def history_names(self) -> tuple[str, ...]:
        return self.listed(HISTORY, "the tuple of a proof's history variables")

    def hidden_names(self) -> tuple[str, ...]:
        names = self.listed("Hidden", "the tuple of variables that no trace carries")
        twice = [name for name in names if name in self.ghosts or names.count(name) > 1]
        if twice:
            _, entry = self.relation.definition("Hidden", "the tuple of variables that no trace carries")
            raise refuse(entry.loc, f"{twice[0]} is hidden and a ghost, or hidden twice", "name it once, in one tuple")
        return tuple(name for name in self.variables if name in names)

    # What a trace may tell of a state

    def observed(self) -> Observed | None:
        """`Observed`, where the specification hides variables: an operator without Hidden may have the name for another
        reason."""
        uid = self.tables.operator("Observed")
        if uid is None or self.tables.operator("Hidden") is None:
            return None
        entry = self.tables.entries[uid]
        if not isinstance(entry, sany.Definition) or entry.body is None:
            raise Unusable(f"module {self.tables.root} leaves Observed open: define it as a record")
        if len(entry.params) > 1:
            raise refuse(entry.loc, "Observed has more than one parameter", "write Observed(n) == [...] or Observed")
        observer: Param | None = None
        env: dict[int, Fixed | Closure] = {}
        if entry.params:
            formal = entry.params[0]
            local = self.elaborator.local(self.tables.entries[formal].name)
            env[formal] = Fixed(local)
            domain = self.constant_definition("Observers", "the set of those that Observed(n) is for").body
            observer = Param(local.uid, local.name, domain)
        whole = self.elaborator.expression(entry.body, Context(env=dict(env)))
        return Observed(observer, self.fields_of(whole, entry.loc), entry.loc)

    def fields_of(self, expr: Expr, loc: Loc) -> tuple[tuple[str, Expr], ...]:
        match expr:
            case Mark(_, here, body):
                return tuple((name, replace(expr, body=value)) for name, value in self.fields_of(body, here))
            case Let():
                return tuple((name, walk.wrap_let(expr, value)) for name, value in self.fields_of(expr.body, loc))
            case RecordLit(fields):
                for name, value in fields:
                    if walk.mentions_next(value):
                        raise refuse(loc, f"the field {name} of Observed mentions the next state", "drop the prime")
                    self.refuse_ghosts(value, loc, f"the field {name} of Observed")
                return fields
        raise refuse(loc, "Observed is no record", "write [field |-> e, ...], with IF inside the fields")

    def determined(self, body: Expr, primed: bool, what: str, loc: Loc) -> tuple[Expr, dict[str, Expr]]:
        """The rest of an action's or Init's formula beside the hidden variables, and the values that the formula gives
        to them."""
        rest, values = hidden.split(body, self.hidden, primed)
        for name in self.hidden:
            if name not in values:
                raise hidden.refuse_open(body, name, primed, what, loc)
        chosen = {name: values[name] for name in self.hidden}
        return (rest if rest is not None else walk.TRUE), hidden.ordered(chosen, primed, what, loc)

    # Init and Next

    def initial(self, node: sany.Node) -> tuple[Expr, dict[str, Expr]]:
        body = self.elaborator.expression(node, SPINE)
        rest, values = self.split(body, primed=False)
        values |= self.first
        init = rest if rest is not None else walk.TRUE
        self.refuse_ghosts(init, node.loc, "Init")
        for ghost in self.ghosts:
            if ghost not in values:
                raise refuse(node.loc, f"Init does not fix the ghost {ghost}", f"add the conjunct {ghost} = e")
            self.refuse_ghosts(values[ghost], node.loc, f"the first value of {ghost}")
        return init, values

    def action(self, disjunct: Disjunct) -> Action:
        entry = disjunct.definition
        if entry.body is None:
            raise refuse(disjunct.call.loc, f"{entry.name} has no definition", "define it")
        params: list[Param] = []
        env: dict[int, Fixed | Closure] = {}
        for formal, operand, node in zip(entry.params, disjunct.call.operands, disjunct.domains, strict=True):
            domain = self.elaborator.expression(node, Context())
            if walk.variables_used(domain) or walk.locals_used(domain) & self.elaborator.stateful:
                raise refuse(operand.loc, f"a parameter of {entry.name} ranges over a set that is not constant",
                             "use a constant set and a guard")  # fmt: skip
            local = self.elaborator.local(self.tables.entries[formal].name)
            env[formal] = Fixed(local)
            params.append(Param(local.uid, local.name, domain))
        body = self.elaborator.expression(entry.body, replace(SPINE, env=dict(env)))
        names = tuple(self.tables.entries[formal].name for formal in entry.params)
        return self.checked_action(entry, tuple(params), Mark(entry.name, entry.loc, body, names))

    def checked_action(self, entry: sany.Definition, params: tuple[Param, ...], whole: Expr) -> Action:
        rest, ghosts = self.split(whole, primed=True)
        ghosts |= self.following
        body = rest if rest is not None else walk.TRUE
        name = entry.name
        self.refuse_ghosts(body, entry.loc, name)
        for ghost in self.ghosts:
            if ghost not in ghosts:
                raise refuse(
                    entry.loc,
                    f"{name} has no conjunct of its own for the ghost {ghost}",
                    f"add {ghost}' = e or UNCHANGED {ghost} at its end, outside every disjunction and IF",
                )
            self.refuse_ghosts(ghosts[ghost], entry.loc, f"the next value of {ghost}", primed=True)
        determined = walk.variables_used(body, primed=True)
        open_ones = [v for v in self.variables if v not in self.ghosts and v not in determined]
        if open_ones:
            raise refuse(
                entry.loc, f"{name} does not say what becomes of {open_ones[0]}", f"add UNCHANGED {open_ones[0]}"
            )
        for conjunct in walk.conjuncts(body):
            guard = walk.strip(conjunct)
            if isinstance(guard, RuleGuard) and walk.mentions_next(guard):
                place = walk.place(conjunct, lambda e: isinstance(e, RuleGuard), entry.loc) or entry.loc
                raise refuse(
                    place, f"the guard {guard.rule} reads the next state", "let rule guards read the state only"
                )
        left, computed = self.determined(body, True, name, entry.loc)
        return Action(name, params, body, {g: ghosts[g] for g in self.ghosts}, entry.loc, computed, left)

    # Ghosts

    def split(self, expr: Expr, primed: bool) -> tuple[Expr | None, dict[str, Expr]]:
        """A conjunction without its conjuncts of ghosts, and the values that these give: ghost -> value."""
        if isinstance(expr, Mark):
            rest, values = self.split(expr.body, primed)
            return self.rewrap(rest, values, lambda e: replace(expr, body=e))
        if isinstance(expr, Let):
            rest, values = self.split(expr.body, primed)
            return self.rewrap(rest, values, lambda e: walk.wrap_let(expr, e))
        if isinstance(expr, Unchanged) and primed:
            values = {name: Var(name, False) for name in expr.names if name in self.ghosts}
            names = tuple(name for name in expr.names if name not in values)
            return (Unchanged(names) if names else None), dict(values)
        if isinstance(expr, Op) and expr.name == "eq":
            for left, right in (expr.args, expr.args[::-1]):
                target = walk.strip(left)
                if isinstance(target, Var) and target.primed == primed and target.name in self.ghosts:
                    return None, {target.name: right}
        if isinstance(expr, Op) and expr.name == "and":
            return self.split_all(expr.args, primed)
        return expr, {}

    @staticmethod
    def rewrap(
        rest: Expr | None, values: dict[str, Expr], wrap: Callable[[Expr], Expr]
    ) -> tuple[Expr | None, dict[str, Expr]]:
        return (wrap(rest) if rest is not None else None), {name: wrap(value) for name, value in values.items()}

    def split_all(self, items: tuple[Expr, ...], primed: bool) -> tuple[Expr | None, dict[str, Expr]]:
        kept: list[Expr] = []
        values: dict[str, Expr] = {}
        for item in items:
            rest, found = self.split(item, primed)
            for name in found:
                if name in values:
                    loc = item.loc if isinstance(item, Mark) else Loc(self.tables.root, 0)
                    raise refuse(loc, f"the ghost {name} is given twice", "keep one conjunct for it")
            values.update(found)
            if rest is not None:
                kept.append(rest)
        return (walk.conjunction(kept) if kept else None), values

    def refuse_ghosts(self, expr: Expr, loc: Loc, what: str, primed: bool | None = None) -> None:
        """Unsupported if `expr` mentions a ghost (`primed`: only in the next state)."""

        def mentions(node: Expr) -> bool:
            if isinstance(node, Var):
                return node.name in self.ghosts and primed in (None, node.primed)
            return isinstance(node, Unchanged) and any(name in self.ghosts for name in node.names)

        place = walk.place(expr, mentions, loc)
        if place is not None:
            raise refuse(
                place,
                f"{what} mentions a ghost where none may stand",
                "read ghosts in properties and in their own updates only, one top-level conjunct per ghost",
            )

    # Properties

    def properties(self, definitions: dict[str, Named]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Compiles the cfg's action properties; returns their names and those of the other temporal properties."""
        actions: list[str] = []
        others: list[str] = []
        for name in self.config.properties:
            box = self.relation.property(name)
            if box is None:
                others.append(name)
                continue
            _, entry = self.relation.definition(name, "a PROPERTY of the cfg")
            definitions[name] = self.action_property(name, entry.loc, box.action, box.subscript)
            actions.append(name)
        return tuple(actions), tuple(others)

    def action_property(self, name: str, loc: Loc, action: sany.Node, subscript: sany.Node) -> Named:
        body = self.elaborator.expression(action, SPINE)
        tracked = self.elaborator.variable_names(self.elaborator.expression(subscript, Context()), subscript.loc)
        if set(tracked) != set(self.variables):
            body = Op("or", (Unchanged(tuple(tracked)), body))
        return Named(name, Mark(name, loc, body), loc)
