"""IR -> Python source.

A predicate becomes a function of `s` (the state) and `t` (the next state), both dicts from variable to value. Its
skeleton (conjunctions, IF, CASE, quantifiers, LET) is written as statements in return position. An expression that
needs statements inside becomes a local function of its own, with the identifiers it uses as parameters. Order of
evaluation is the text's. Every line remembers the operator that it comes from, for messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import (
    Binder,
    Case,
    Const,
    Expr,
    If,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    Quant,
    SetFilter,
    Var,
)
from tidemark_conformance.tla.python import names
from tidemark_conformance.tla.python.nodes import EMIT, OPERATORS, applied
from tidemark_conformance.tla.python.runtime import Described, Range, freeze, ordered
from tidemark_conformance.tla.python.shape import is_symbolic, one_point, only_applied, surely_uses

MAX_DEPTH = 24
"""How deep expressions nest on one line before a part of them becomes a function of its own."""

_INFIX = {
    "and": "and",
    "or": "or",
    "iff": "==",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_CALLS = {
    "div": "divide",
    "mod": "modulo",
    "cardinality": "cardinality",
    "domain": "domain",
    "head": "head",
    "tail": "tail",
    "subseq": "subsequence",
}


@dataclass
class Place:
    """Where a line of generated source comes from: the innermost named operator, and the innermost place."""

    operator: str
    loc: Loc | None


Lines = list[tuple[str, Place]]
"""Generated lines, each with the place it comes from."""


@dataclass
class Scope:
    """The locals in reach: uid -> the Python expression that reads them."""

    names: dict[int, str] = field(default_factory=dict)

    def bind(self, uid: int, text: str) -> Scope:
        return Scope({**self.names, uid: text})


class Emitter:
    """Collects the functions of one compiled expression, and the place of each of their lines.

    `title` is the hint in its functions' names. `namespace` is where the source will run (runtime, constants, rules);
    it names its functions and takes the constant parts that are computed beforehand. `counting` makes rule guards
    report the two sides of their predicate.
    """

    def __init__(self, title: str, namespace: names.Namespace, counting: bool = False) -> None:
        self.title = title
        self.namespace: names.Namespace = namespace
        self.counting = counting
        self.functions: list[Lines] = []
        self.place = Place("", None)

    # Functions

    def function(self, expr: Expr, params: dict[int, str], described: bool = False) -> str:
        """Emit `def name(s, t, params...)` that returns `expr` (a set maybe by description); returns its name."""
        name = self.namespace.fresh(names.FUNCTION, self.title)
        lines: Lines = []
        outer = self.place
        arguments = ", ".join(["s", "t", *params.values()])
        lines.append((f"def {name}({arguments}):", self.place))
        scope = Scope({uid: names.read(name) for uid, name in params.items()})
        self.returned(expr, scope, lines, 1, described)
        self.functions.append(lines)
        self.place = outer
        return name

    def lifted(self, expr: Expr, scope: Scope) -> str:
        """A call of a new function that computes `expr`; lazy definitions are passed on unevaluated."""
        free = walk.free_locals(expr)
        params = {uid: scope.names[uid].removesuffix("()") for uid in sorted(free)}
        name = self.function(expr, params, described=is_symbolic(expr))
        return f"{name}({', '.join(['s', 't', *params.values()])})"

    def line(self, lines: Lines, indent: int, text: str) -> None:
        lines.append(("    " * indent + text, self.place))

    def returned(self, expr: Expr, scope: Scope, lines: Lines, indent: int, described: bool = False) -> None:
        """Statements that return the value of `expr`; with `described` a set may be a description."""
        outer = self.place
        if isinstance(expr, Mark):
            self.enter(expr)
            if expr.name:
                self.line(lines, indent, f"# {expr.name}, {expr.loc}")
            self.returned(expr.body, scope, lines, indent, described)
        elif isinstance(expr, Let):
            self.returned(expr.body, self.definition(expr, scope, lines, indent), lines, indent, described)
        elif isinstance(expr, Op) and expr.name in ("and", "or"):
            word, verdict = ("not ", "False") if expr.name == "and" else ("", "True")
            for item in expr.args[:-1]:
                self.tested(item, expr.name, (word, verdict), scope, lines, indent)
            self.returned(expr.args[-1], scope, lines, indent)
        elif isinstance(expr, If):
            self.line(lines, indent, f"if {self.expr(expr.condition, scope)}:")
            self.returned(expr.then, scope, lines, indent + 1)
            self.returned(expr.orelse, scope, lines, indent)
        elif isinstance(expr, Case):
            for condition, value in expr.arms:
                self.line(lines, indent, f"if {self.expr(condition, scope)}:")
                self.returned(value, scope, lines, indent + 1)
            if expr.other is None:
                self.line(lines, indent, "return no_case()")
            else:
                self.returned(expr.other, scope, lines, indent)
        else:
            text = self.described(expr, scope) if described else self.expr(expr, scope)
            self.line(lines, indent, f"return {text}")
        self.place = outer

    def tested(
        self, item: Expr, connective: str, verdict: tuple[str, str], scope: Scope, lines: Lines, indent: int
    ) -> None:
        """Statements that return early if a part of a conjunction (disjunction) decides it, however nested."""
        outer = self.place
        self.enter(item)
        plain = walk.strip(item)
        if isinstance(plain, Op) and plain.name == connective:
            for part in plain.args:
                self.tested(part, connective, verdict, scope, lines, indent)
        else:
            where = f"  # {self.place.loc}" if isinstance(item, Mark) else ""
            self.line(lines, indent, f"if {verdict[0]}{self.expr(plain, scope)}:{where}")
            self.line(lines, indent + 1, f"return {verdict[1]}")
        self.place = outer

    def definition(self, let: Let, scope: Scope, lines: Lines, indent: int) -> Scope:
        """A LET definition as a statement: a plain value if the body surely needs it, else evaluated at first use."""
        outer = self.place
        self.enter(let.value)
        value = applied(self, let.value, scope, 0) if only_applied(let.uid, let.body) else self.expr(let.value, scope)
        if surely_uses(let.uid, let.body):
            name = names.value(let.uid, let.name)
            self.line(lines, indent, f"{name} = {value}")
        else:
            name = names.lazy(let.uid, let.name)
            self.line(lines, indent, f"{name} = Lazy(lambda: {value})")
        self.place = outer
        return scope.bind(let.uid, names.read(name))

    def enter(self, expr: Expr) -> None:
        while isinstance(expr, Mark):
            self.place = Place(expr.name or self.place.operator, expr.loc)
            expr = expr.body

    # Expressions

    def expr(self, expr: Expr, scope: Scope, depth: int = 0) -> str:
        """The value of `expr` as Python text: a real value, sets as frozensets."""
        plain = walk.strip(expr)
        if isinstance(plain, SetFilter):
            clauses, inner, bound = self.generators([plain.binder], scope, depth)
            return f"frozenset({bound[0]} {clauses} if {self.expr(plain.body, inner, depth)})"
        text = self.described(expr, scope, depth)
        if not is_symbolic(expr):
            return text
        value = self.namespace.globals.get(text)
        if isinstance(value, Range):
            return self.namespace.define(names.POOLED, f"freeze({text})", freeze(value))
        return f"freeze({text})"

    def described(self, expr: Expr, scope: Scope, depth: int = 0) -> str:
        """Like `expr`, but a set may be a description (for membership and iteration)."""
        if isinstance(expr, Mark):
            outer = self.place
            self.enter(expr)
            text = self.described(walk.strip(expr), scope, depth)
            self.place = outer
            return text
        if depth > MAX_DEPTH and not isinstance(expr, (Lit, Const, Var, Local)):
            return self.lifted(expr, scope)
        mentioned = walk.mentioned(expr)
        if mentioned.constant and not isinstance(expr, (Lit, Const)):
            return self.constant(expr, scope, depth)
        return self.plain(expr, scope, depth)

    def ordered(self, expr: Expr, scope: Scope, depth: int) -> str:
        """A set to iterate over in canonical order: a constant one is sorted now, a range is as it is."""
        text = self.described(expr, scope, depth)
        value = self.namespace.globals.get(text)
        if isinstance(value, frozenset):
            return self.namespace.define(names.POOLED, f"tuple(ordered({text}))", tuple(ordered(value)))
        if isinstance(value, Described) or text.startswith("Range("):
            return text
        return f"ordered({text})"

    def constant(self, expr: Expr, scope: Scope, depth: int) -> str:
        """A constant expression, computed now; one that has no value (or is an endless set) is left in place."""
        before = len(self.functions)
        text = self.plain(expr, scope, depth)
        if len(self.functions) > before:
            return text
        try:
            value = eval(text, self.namespace.globals)
        except Exception:
            return text
        return self.namespace.define(names.POOLED, text, value)

    def plain(self, expr: Expr, scope: Scope, depth: int) -> str:
        emit = EMIT.get(type(expr))
        if emit is None:
            raise Unsupported(f"{self.place.loc}: {type(expr).__name__} has no Python form: report it")
        return emit(self, expr, scope, depth + 1)

    def op(self, expr: Op, scope: Scope, depth: int) -> str:
        name = expr.name
        special = OPERATORS.get(name)
        if special is not None:
            return special(self, expr.args, scope, depth)
        values = [self.expr(arg, scope, depth) for arg in expr.args]
        if name in _INFIX:
            return "(" + f" {_INFIX[name]} ".join(values) + ")"
        if name in _CALLS:
            return f"{_CALLS[name]}({', '.join(values)})"
        raise Unsupported(f"{self.place.loc}: the operator {name} has no Python form: report it")

    # Binders

    def generators(self, binders: Iterable[Binder], scope: Scope, depth: int) -> tuple[str, Scope, list[str]]:
        """`for x in S for y in T` (domains stand outside all binders), the scope inside, the names."""
        inner = scope
        clauses: list[str] = []
        bound: list[str] = []
        first: list[tuple[str, str]] = []
        for binder in binders:
            name = names.value(binder.uid, binder.name)
            domain = self.ordered(binder.domain, scope, depth)
            if clauses and not domain.isidentifier():  # TLC evaluates all domains first
                first.append((names.domain(binder.uid, binder.name), f"list({domain})"))
                domain = first[-1][0]
            clauses.append(f"for {name} in {domain}")
            inner = inner.bind(binder.uid, name)
            bound.append(name)
        clauses[:0] = [f"for {name} in [{domain}]" for name, domain in first]
        return " ".join(clauses), inner, bound

    def quantifier(self, expr: Quant, scope: Scope, depth: int) -> str:
        if expr.kind == "exists":
            pointed = one_point(expr)
            if pointed is not None:
                return self.lifted_point(expr, pointed, scope)
        clauses, inner, _ = self.generators(expr.binders, scope, depth)
        word = "all" if expr.kind == "forall" else "any"
        return f"{word}({self.expr(expr.body, inner, depth)} {clauses})"

    def lifted_point(self, expr: Quant, value: Expr, scope: Scope) -> str:
        r"""\E x \in S : x = e /\ P, as a test of e instead of a search through S."""
        binder = expr.binders[0]
        domain = self.described(binder.domain, scope)
        local = Local(binder.uid, binder.name)
        test = Op("and", (Op("in", (local, binder.domain)), expr.body))
        inner = self.lifted(Let(binder.uid, binder.name, value, test), scope)
        return f"(nonempty({domain}) and {inner})"
