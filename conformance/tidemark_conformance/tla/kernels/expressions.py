"""Expressions of the IR to symbolic values and generated lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tidemark_conformance.tla.ir import (
    Case,
    Choose,
    Const,
    Except,
    Expr,
    Fold,
    FunctionLit,
    HasRule,
    If,
    Let,
    Lit,
    Local,
    Mark,
    Op,
    Quant,
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
from tidemark_conformance.tla.kernels import (
    bindings,
    choose,
    compound,
    eager,
    equality,
    folds,
    increments,
    iteration,
    membership,
    operators,
    quantifiers,
    ranks,
    storing,
    values,
)
from tidemark_conformance.tla.kernels.context import (
    CHANGED,
    Context,
    Env,
    Lazy,
    Mode,
    Operations,
    both,
    conjunction,
    negated,
    require,
)
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Enum,
    Filter,
    Flat,
    Image,
    Int,
    Literal,
    Mask,
    Origin,
    Place,
    Product,
    Rec,
    Records,
    Sequences,
    Symbol,
    Tup,
    Update,
)
from tidemark_conformance.tla.typeok import strip, type_of_function
from tidemark_conformance.tla.values import Fn, Value
from tidemark_conformance.tla.walk import free_locals, mentioned


def demand(c: Context, expr: Expr, env: Env) -> None:
    """The function that is being written returns False unless a boolean expression holds."""
    match expr:
        case Mark(_, loc, body):
            outer, c.loc = c.loc, loc
            demand(c, body, env)
            c.loc = outer
        case Op("and", args):
            for arg in args:
                demand(c, arg, env)
        case Op("eq", (a, b)):  # Where they are equal, every part has been looked at.
            require(c, equality.equal(c, evaluate(c, a, env, lazy=True), evaluate(c, b, env, lazy=True), must=True))
        case If(condition, then, orelse) if not _is_known(c, condition, env):
            name = c.named(bindings.predicate(c, condition, env))
            for header, branch in ((f"if {name}:", then), ("else:", orelse)):
                with c.block(header):
                    demand(c, branch, env)
        case _:
            require(c, bindings.predicate(c, expr, env))


def demand_again(c: Context, expr: Expr, env: Env, asked: increments.Asked) -> None:
    """As `demand`, of what a step can have broken: of a quantifier only the instances for which it changed what is
    `asked` of them."""
    match expr:
        case Mark(_, loc, body):
            outer, c.loc = c.loc, loc
            demand_again(c, body, env, asked)
            c.loc = outer
        case Quant("forall", binders, body):
            domain = evaluate(c, binders[0].domain, env)
            quantifiers.domains(c, binders[1:], env)
            touched = _touched(c, domain, expr, env, asked) if isinstance(domain, Mask) else None
            require(c, quantifiers.quantified(c, binders, body, env, False, touched))
        case _:
            demand(c, expr, env)


def definitions(env: Env) -> dict[int, Expr]:
    """The LET definitions of an environment."""
    return {uid: bound.value for uid, bound in env.items() if isinstance(bound, Lazy)}


def _touched(c: Context, domain: Mask, expr: Quant, env: Env, asked: increments.Asked) -> Mask | None:
    """The members of the first binder's domain that are `asked` for what changed; None where that is not known."""
    read = asked(expr, definitions(env), expr.binders[0].uid)
    if read is None:
        return None
    units = {name for name in read.indexed if increments.by_unit(c.layout, name, domain.kind)}
    if not units:
        return None
    others = increments.mask_of(c.layout, (read.whole | read.indexed) - units)
    dirty = " | ".join(f"p[{c.memory.dirty + index}]" for index in sorted(c.layout.index[name] for name in units))
    members = c.name("m")
    c.line(f"{members} = {domain.code}")
    with c.block(f"if p[{CHANGED}] & {others} == 0:" if others else "if True:"):
        c.line(f"{members} = {members} & ({dirty})")
    return Mask(members, domain.kind)


def _is_known(c: Context, condition: Expr, env: Env) -> bool:
    """Whether a condition's truth is known while generating."""
    with c.only(Mode.TYPE):
        code = bindings.predicate(c, condition, env)
    return code in ("True", "False")


def evaluate(c: Context, expr: Expr, env: Env, lazy: bool = False) -> Symbol:
    """The symbolic value of an expression; lines that compute parts of it are written to the context.

    `lazy`: a function literal is evaluated only for the arguments that it is applied to (see `eager`).
    """
    if isinstance(expr, Mark):
        outer, c.loc = c.loc, expr.loc
        try:
            return evaluate(c, expr.body, env, lazy)
        finally:
            c.loc = outer
    hoisted = _hoisted(c, expr)
    if hoisted is not None:
        return hoisted
    handler = _HANDLERS.get(type(expr))
    if handler is None:
        raise c.unsupported(f"an expression of the form {type(expr).__name__}")
    return handler(c, expr, env, lazy) if isinstance(expr, _KEEP_LAZY) else handler(c, expr, env)


def _hoisted(c: Context, expr: Expr) -> Symbol | None:
    """A constant-level scalar as a run-time constant; a constant of another kind as a literal."""
    own = mentioned(expr)
    named = own.constants or own.rules
    if not own.closed or not named or own.guards or isinstance(expr, SetEnum | TupleLit):
        return None
    if isinstance(expr, Op) and expr.name in ("range", "function_set", "powerset", "record_set", "product"):
        return None
    if own.rules:
        known = isinstance(expr, HasRule) or _constant(c, expr) in (True, False)
        return Bool(f"({c.memory.hoist(expr)} != 0)") if known and _is_boolean(c, expr) else None
    value = _constant(c, expr)
    if value is None:
        return None
    if isinstance(value, bool):
        return Bool(f"({c.memory.hoist(expr)} != 0)")
    if isinstance(value, int):
        return Int(c.memory.hoist(expr), value, value)
    if isinstance(expr, FunctionLit) and isinstance(value, tuple | Fn) and value:
        function = type_of_function(expr, value, c.loc)
        return Place(Address(0, (c.rows(function, [value]),)), function)
    return values.literal(c, value)


def _is_boolean(c: Context, expr: Expr) -> bool:
    return isinstance(expr, HasRule) or type(_constant(c, expr)) is bool


def _constant(c: Context, expr: Expr) -> Value | None:
    """The value of a constant-level expression, None if it cannot be evaluated on its own."""
    try:
        return c.constant(expr)
    except Exception:
        return None


def literal(c: Context, expr: Lit, env: Env) -> Symbol:
    return values.literal(c, expr.value)


def _const(c: Context, expr: Const, env: Env) -> Symbol:
    if expr.name not in c.constants:
        raise c.unsupported(f"the constant {expr.name} has no value")
    return values.literal(c, c.constants[expr.name])


def _variable(c: Context, expr: Var, env: Env) -> Symbol:
    index = c.layout.index[expr.name]
    place = c.layout.variables[index]
    start = c.memory.next if expr.primed else c.memory.current
    return values.load(Address(start + place.offset), place.type, Origin(index, expr.primed))


def _let(c: Context, expr: Let, env: Env, lazy: bool) -> Symbol:
    return evaluate(c, expr.body, {**env, expr.uid: Lazy(expr.value, env)}, lazy)


def _parts_of(c: Context, expr: Op, env: Env) -> list[Callable[[], str]]:
    return [lambda arg=arg: bindings.predicate(c, arg, env) for arg in expr.args]  # type: ignore[misc]


def _rule_guard(c: Context, expr: RuleGuard, env: Env) -> Symbol:
    force = bindings.predicate(c, HasRule(expr.rule), env)
    implies = expr.connective == "implies"

    def counted() -> str:
        code = bindings.predicate(c, expr.predicate, env)
        if c.counting:
            code = c.named(code)
            c.count(expr, f"p[{c.memory.rules[expr.rule]} + (0 if {code} else 1)]")
        return code

    if implies:
        return Bool(conjunction(c, [lambda: negated(force), counted], "or"))
    return Bool(conjunction(c, [lambda: force, counted]))


def _if(c: Context, expr: If, env: Env, lazy: bool) -> Symbol:
    condition = bindings.predicate(c, expr.condition, env)
    if condition not in ("True", "False"):
        condition = c.named(condition)
    then, orelse = (lambda: evaluate(c, expr.then, env, lazy)), (lambda: evaluate(c, expr.orelse, env, lazy))
    return values.choice(c, condition, then, orelse)


def _case(c: Context, expr: Case, env: Env, lazy: bool) -> Symbol:
    (condition, value), rest = expr.arms[0], expr.arms[1:]
    code = bindings.predicate(c, condition, env)
    if not rest and expr.other is None:
        c.errs()
        c.line(f"need(p, {code})")
        return evaluate(c, value, env, lazy)
    if code not in ("True", "False"):
        code = c.named(code)

    def otherwise() -> Symbol:
        if rest:
            return _case(c, Case(rest, expr.other), env, lazy)
        return evaluate(c, cast(Expr, expr.other), env, lazy)

    return values.choice(c, code, lambda: evaluate(c, value, env, lazy), otherwise)


def unchanged(c: Context, expr: Unchanged, env: Env) -> Symbol:
    code = "True"
    for name in expr.names:
        code = both(code, equality.unchanged(c, c.layout.index[name], None))
    return Bool(code)


def _set_enum(c: Context, expr: SetEnum, env: Env) -> Symbol:
    return Enum(tuple(evaluate(c, item, env) for item in expr.items))


def _set_filter(c: Context, expr: SetFilter, env: Env) -> Symbol:
    source = evaluate(c, expr.binder.domain, env)
    bindings.force(c, expr.body, env)
    uid = expr.binder.uid
    return eager.elements(c, Filter(source, lambda element: bindings.predicate(c, expr.body, {**env, uid: element})))


def _set_map(c: Context, expr: SetMap, env: Env) -> Symbol:
    bindings.force(c, expr.body, env)

    def bind(chosen: tuple[Symbol, ...]) -> Env:
        return {**env, **{b.uid: element for b, element in zip(expr.binders, chosen, strict=False)}}

    quantifiers.domains(c, expr.binders[1:], env)
    sources = tuple((lambda chosen, binder=binder: evaluate(c, binder.domain, bind(chosen))) for binder in expr.binders)
    image = Image(cast(Any, sources), lambda chosen: evaluate(c, expr.body, bind(chosen)))
    return eager.elements(c, image)


def _tuple(c: Context, expr: TupleLit, env: Env, lazy: bool) -> Symbol:
    return Tup(tuple(evaluate(c, item, env, lazy) for item in expr.items))


def _record(c: Context, expr: RecordLit, env: Env) -> Symbol:
    return Rec({name: evaluate(c, value, env) for name, value in expr.fields})


def _record_set(c: Context, expr: RecordSet, env: Env) -> Symbol:
    return Records({name: evaluate(c, value, env) for name, value in expr.fields})


def _function(c: Context, expr: FunctionLit, env: Env, lazy: bool) -> Symbol:
    literal = _literal(c, expr, env, lazy)
    return literal if lazy else eager.arguments(c, literal)


def _literal(c: Context, expr: FunctionLit, env: Env, lazy: bool) -> Literal:
    domains = [evaluate(c, binder.domain, env) for binder in expr.binders]
    bindings.force(c, expr.body, env)
    if len(domains) == 1:
        uid = expr.binders[0].uid
        return Literal(domains[0], lambda key: evaluate(c, expr.body, {**env, uid: key}, lazy))

    def body(key: Symbol) -> Symbol:
        inner = dict(env)
        for at, binder in enumerate(expr.binders):
            inner[binder.uid] = compound.apply(c, key, Int(str(at + 1), at + 1, at + 1))
        return evaluate(c, expr.body, inner, lazy)

    return Literal(Product(tuple(domains)), body)


def _except(c: Context, expr: Except, env: Env, lazy: bool) -> Symbol:
    base = evaluate(c, expr.base, env, lazy)
    return _update(c, expr, env, base, 0)


def _update(c: Context, expr: Except, env: Env, base: Symbol, at: int) -> Symbol:
    if isinstance(base, Choice):
        then, orelse = base.then, base.orelse
        return values.choice(
            c,
            base.condition,
            lambda: _update(c, expr, env, then, at),
            lambda: _update(c, expr, env, orelse, at),
        )
    key: Symbol | str = values.keep(c, evaluate(c, expr.path[at], env))
    if isinstance(key, Atom) and key.code.isdigit() and compound.is_record(base):
        key = str(key.members[int(key.code)])

    def old() -> Symbol:
        return compound.field(c, base, key) if isinstance(key, str) else compound.apply(c, base, key)

    def new() -> Symbol:
        if at + 1 < len(expr.path):
            return _update(c, expr, env, old(), at + 1)
        return evaluate(c, expr.value, {**env, expr.at: old()} if _uses_old(expr) else env)

    return eager.update(c, Update(base, key, new))


def _uses_old(expr: Except) -> bool:
    return expr.at in free_locals(expr.value)


def _operator(c: Context, expr: Op, env: Env, lazy: bool) -> Symbol:
    name, args = expr.name, expr.args
    if name in ("and", "or"):
        return Bool(conjunction(c, _parts_of(c, expr, env), name))
    if name == "implies":
        return Bool(
            conjunction(
                c,
                [lambda: negated(bindings.predicate(c, args[0], env)), lambda: bindings.predicate(c, args[1], env)],
                "or",
            )
        )
    if name == "not":
        return Bool(negated(bindings.predicate(c, args[0], env)))
    if name == "in" and membership.by_layout(c, args):
        return Bool("True")
    if name in ("eq", "ne"):
        code = equality.equal(c, evaluate(c, args[0], env), evaluate(c, args[1], env))
        return Bool(code if name == "eq" else negated(code))
    if name == "bigunion":
        return _bigunion(c, args[0], env)
    operands = [evaluate(c, arg, env, lazy=name == "apply" and arg is args[0]) for arg in args]
    handler = operators.OPERATORS.get(name)
    if handler is None:
        raise c.unsupported(f"the operator {name}")
    result = handler(c, *operands)
    return result if lazy or not isinstance(result, Literal) else eager.arguments(c, result)


def _bigunion(c: Context, inner: Expr, env: Env) -> Symbol:
    family = strip(inner)
    if isinstance(family, SetMap) and len(family.binders) == 1:
        binder = family.binders[0]
        match strip(family.body), strip(binder.domain):
            case Op("function_set", (domain, target)), Op("range", (Lit(0, "int"), high)):
                match strip(domain):
                    case Op("range", (Lit(1, "int"), Local(uid, _))) if uid == binder.uid:
                        cap = values.integer(c, evaluate(c, high, env))
                        return Sequences(evaluate(c, target, env), cap)
    return Flat(evaluate(c, inner, env))


_HANDLERS: dict[type, Callable[..., Symbol]] = {
    Lit: literal,
    Const: _const,
    Var: _variable,
    Local: bindings.local,
    Let: _let,
    Op: _operator,
    HasRule: lambda c, expr, env: Bool(f"({c.memory.hoist(expr)} != 0)"),
    RuleGuard: _rule_guard,
    If: _if,
    Case: _case,
    Quant: quantifiers.quantifier,
    Choose: lambda c, expr, env: choose.choose(c, expr, env),
    SetEnum: _set_enum,
    SetFilter: _set_filter,
    SetMap: _set_map,
    TupleLit: _tuple,
    RecordLit: _record,
    RecordSet: _record_set,
    FunctionLit: _function,
    Except: _except,
    Fold: folds.fold,
    Unchanged: unchanged,
}
_KEEP_LAZY = (Local, Let, If, Case, Op, TupleLit, FunctionLit, Except)

OPERATIONS = Operations(equality.equal, membership.member, ranks.rank, iteration.iterate, storing.materialize, evaluate)
"""The operations that the modules below ask of the context."""
