"""The compiler's only intermediate form: closed, inlined TLA+ expressions.

Closed: every operator that is not a builtin is inlined (a `Mark` keeps its name and place), and constants of the cfg
are `Const` nodes. Bound identifiers carry a unique `uid`, and a prime stands only on a variable (`Var.primed`). Nodes
are immutable and compared structurally; `Mark.loc` does not take part in a specification's hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NOT_A_STEP = "not a step"
"""The name of the check that a record is a step of its action, beside the names of properties."""


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in a module: file name without folder, 1-based line and column.

    `end`: line and column of the last character, where that is known; it does not count when places are compared.
    """

    module: str
    line: int
    column: int = 0
    end: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.module}.tla:{self.line}"


@dataclass(frozen=True)
class Expr:
    """Base of all expressions."""

    __slots__ = ("mentions",)
    """Beside its value: the names that occur in it, once `walk.mentioned` was asked for them."""


@dataclass(frozen=True, slots=True)
class Lit(Expr):
    """An integer, boolean or string literal. `kind` is "int", "bool" or "str" (so that TRUE is never 1)."""

    value: int | bool | str
    kind: str


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A CONSTANT of the specification, or a model value named in the text; its value comes from the cfg."""

    name: str


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """A state variable, in the state (`primed` False) or the next state."""

    name: str
    primed: bool


@dataclass(frozen=True, slots=True)
class Local(Expr):
    """A bound identifier: of a quantifier, CHOOSE, constructor, LET, EXCEPT's @, or an action's parameter."""

    uid: int
    name: str


@dataclass(frozen=True, slots=True)
class Binder:
    """`uid`/`name` ranges over the set `domain` (the domain may mention earlier locals, not this one)."""

    uid: int
    name: str
    domain: Expr


@dataclass(frozen=True, slots=True)
class Let(Expr):
    """A parameterless LET definition, evaluated at most once and only if needed.

    LET operators with parameters are inlined; an argument that an operator uses repeatedly becomes a Let as well.
    """

    uid: int
    name: str
    value: Expr
    body: Expr


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """A builtin operator. `name` is one of OPERATORS; `and`/`or` are n-ary and evaluate in order."""

    name: str
    args: tuple[Expr, ...]


OPERATORS = frozenset(
    # logic
    "and or not implies iff eq ne "  # noqa: SIM905
    # integers
    "add sub mul div mod neg lt le gt ge range "
    # sets
    "in notin subseteq union intersect setminus powerset bigunion cardinality isfiniteset "
    # sequences
    "len append head tail subseq concat seq "
    # functions and records
    "domain apply record_set function_set product "
    # Naturals, Integers, BOOLEAN, STRING as sets
    "nat int boolean string".split()
)
"""`apply` is f[x] (also a sequence index and, with a string literal, a record field).
`function_set` is [S -> T]; `product` is n-ary \\X; the `range` of a..b."""


@dataclass(frozen=True, slots=True)
class HasRule(Expr):
    """`Has("Rule")`, that is `"Rule" \\notin Without`: a run-time constant of the check."""

    rule: str


@dataclass(frozen=True, slots=True)
class RuleGuard(Expr):
    """A place where a safety rule decides: guard `Has(r) => P` (connective "implies") or case `Has(r) /\\ P` ("and").

    `predicate` is P. Coverage counts P's two sides, and only while the rule is in force.
    """

    rule: str
    connective: str
    predicate: Expr


@dataclass(frozen=True, slots=True)
class If(Expr):
    """IF `condition` THEN `then` ELSE `orelse`; only the branch that is taken is evaluated."""

    condition: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Case(Expr):
    """CASE p1 -> e1 [] ... [] OTHER -> `other` (None: no OTHER, no match is an evaluation error)."""

    arms: tuple[tuple[Expr, Expr], ...]
    other: Expr | None


@dataclass(frozen=True, slots=True)
class Quant(Expr):
    r"""`kind` is "forall" or "exists"."""

    kind: str
    binders: tuple[Binder, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Choose(Expr):
    """CHOOSE with a unique witness (two witnesses are an evaluation error, as is none)."""

    binder: Binder
    body: Expr


@dataclass(frozen=True, slots=True)
class SetEnum(Expr):
    """{a, b, ...}; no items: the empty set."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class SetFilter(Expr):
    """{x \\in S : P}"""

    binder: Binder
    body: Expr


@dataclass(frozen=True, slots=True)
class SetMap(Expr):
    """{e : x \\in S, ...}"""

    binders: tuple[Binder, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class TupleLit(Expr):
    """<<a, b, ...>>: a sequence or a tuple, as the types say."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class RecordLit(Expr):
    """[a |-> e, b |-> f]: names and values, in the order of the text."""

    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class RecordSet(Expr):
    """[a : S, b : T]"""

    fields: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True)
class FunctionLit(Expr):
    """[x \\in S |-> e]; several binders make a function on tuples."""

    binders: tuple[Binder, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Except(Expr):
    """[base EXCEPT !path = value]: one update (several are nested Excepts). `at` is the uid of @ inside `value`."""

    base: Expr
    path: tuple[Expr, ...]
    at: int
    value: Expr


@dataclass(frozen=True, slots=True)
class Fold(Expr):
    """A fold of the fold library: of `body` (over `element`, `accumulator`) from `start`. `kind` is "set" or "seq".

    A set is folded in an order that must not matter; a sequence from its first element to its last.
    """

    kind: str
    collection: Expr
    start: Expr
    element: int
    accumulator: int
    body: Expr


@dataclass(frozen=True, slots=True)
class Unchanged(Expr):
    """UNCHANGED of the variables named, in the order written."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark(Expr):
    """An inlined operator or a conjunct: only for labels and explanations, no meaning of its own.

    `name` is the operator's and `loc` its definition; an empty name marks a conjunct where it stands in the text.
    `arguments`: those of the operator, as texts; they take part in no comparison, hash or key.
    """

    name: str
    loc: Loc
    body: Expr
    arguments: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def call(self) -> str:
        """The operator as it is used, `LegalEdge(b, c)`."""
        return f"{self.name}({', '.join(self.arguments)})" if self.arguments else self.name


@dataclass(frozen=True, slots=True)
class Param:
    """A formal parameter of an action; its domain is a constant set."""

    uid: int
    name: str
    domain: Expr


@dataclass(frozen=True, slots=True)
class Action:
    """A named disjunct of Next.

    `body` is the action as a predicate over (state, parameters, next state) without the conjuncts of ghost variables.
    `ghosts` maps each ghost variable to the expression of its next value, over (variables, variables', parameters).
    `hidden` maps each hidden variable to the expression of its next value, in an order in which each reads none that
    comes after it. `rest` is `body` without these conjuncts (`body` itself, where nothing is hidden).
    """

    name: str
    params: tuple[Param, ...]
    body: Expr
    ghosts: dict[str, Expr]
    loc: Loc
    hidden: dict[str, Expr] = field(default_factory=dict)
    rest: Expr = Lit(True, "bool")


@dataclass(frozen=True, slots=True)
class Named:
    r"""A named predicate: an invariant, an action property, a quiescence predicate, or a constant's definition.

    An action property `[][Q]_v` has the body Q if v holds every variable. It is true of a step that changes nothing,
    which the evaluators see to. With fewer variables in v the body says so itself (`UNCHANGED v \/ Q`).
    """

    name: str
    body: Expr
    loc: Loc


@dataclass(frozen=True, slots=True)
class Observed:
    """The values that a trace may tell of a state: `Observed(n) == [field |-> e, ...]`, for every n of `Observers`.

    `observer` is n with the constant set Observers, None where Observed has no parameter.
    """

    observer: Param | None
    fields: tuple[tuple[str, Expr], ...]
    loc: Loc


@dataclass(frozen=True, slots=True)
class Module:
    """A whole specification in IR, still without a cfg's constants.

    `variables` holds them all in declared order, but the hidden ones behind those that traces carry, and the ghosts
    last. `init` has no conjunct of a ghost: `initial_ghosts` maps each ghost to the expression of its first value, over
    the other variables. `initial_hidden` and `init_rest` are to `init` as `Action.hidden` and `rest` to an action's
    body. `observed`: the facts of a state that traces may tell beside the variables that they carry. `definitions`
    holds the closed bodies of parameterless operators that a cfg may name (invariants, properties). `constants` are
    those that anything here mentions, `Without` left out.
    """

    name: str
    constants: tuple[str, ...]
    variables: tuple[str, ...]
    ghosts: tuple[str, ...]
    type_ok: Expr
    init: Expr
    actions: tuple[Action, ...]
    initial_ghosts: dict[str, Expr] = field(default_factory=dict)
    definitions: dict[str, Named] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    initial_hidden: dict[str, Expr] = field(default_factory=dict)
    init_rest: Expr = Lit(True, "bool")
    observed: Observed | None = None

    @property
    def carried(self) -> tuple[str, ...]:
        """The variables that traces carry: neither hidden nor ghosts."""
        return tuple(name for name in self.variables if name not in self.hidden and name not in self.ghosts)
