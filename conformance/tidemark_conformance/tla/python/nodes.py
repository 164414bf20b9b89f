"""One function per kind of IR node: its Python text. A node or operator without one is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tidemark_conformance.tla import walk
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
from tidemark_conformance.tla.python import names
from tidemark_conformance.tla.python.shape import is_symbolic, union_parts

if TYPE_CHECKING:
    from tidemark_conformance.tla.python.emit import Emitter, Scope

Emit = Callable[["Emitter", Any, "Scope", int], str]


def _tuple(items: list[str]) -> str:
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


def _let(e: Emitter, x: Let, scope: Scope, depth: int) -> str:
    return e.lifted(x, scope)


def _if(e: Emitter, x: If, scope: Scope, depth: int) -> str:
    condition, then, orelse = (e.expr(part, scope, depth) for part in (x.condition, x.then, x.orelse))
    return f"({then} if {condition} else {orelse})"


def _case(e: Emitter, x: Case, scope: Scope, depth: int) -> str:
    text = "no_case()" if x.other is None else e.expr(x.other, scope, depth)
    for condition, value in reversed(x.arms):
        text = f"({e.expr(value, scope, depth)} if {e.expr(condition, scope, depth)} else {text})"
    return text


def _choose(e: Emitter, x: Choose, scope: Scope, depth: int) -> str:
    clauses, inner, bound = e.generators([x.binder], scope, depth)
    return f"choose({bound[0]} {clauses} if {e.expr(x.body, inner, depth)})"


def _filter(e: Emitter, x: SetFilter, scope: Scope, depth: int) -> str:
    if not is_symbolic(x):
        return e.expr(x, scope, depth)
    name = names.value(x.binder.uid, x.binder.name)
    body = e.expr(x.body, scope.bind(x.binder.uid, name), depth)
    return f"Filtered({e.described(x.binder.domain, scope, depth)}, lambda {name}: {body})"


def _set_map(e: Emitter, x: SetMap, scope: Scope, depth: int) -> str:
    clauses, inner, _ = e.generators(x.binders, scope, depth)
    return f"frozenset({e.expr(x.body, inner, depth)} {clauses})"


def _function(e: Emitter, x: FunctionLit, scope: Scope, depth: int) -> str:
    clauses, inner, bound = e.generators(x.binders, scope, depth)
    key = bound[0] if len(bound) == 1 else _tuple(bound)
    return f"function({{{key}: {e.expr(x.body, inner, depth)} {clauses}}})"


def _apply(e: Emitter, args: tuple[Expr, ...], scope: Scope, depth: int) -> str:
    return f"apply({applied(e, args[0], scope, depth)}, {e.expr(args[1], scope, depth)})"


def applied(e: Emitter, expr: Expr, scope: Scope, depth: int) -> str:
    """A function that is only applied: as in TLC, a literal is evaluated for these arguments alone."""
    inner = walk.strip(expr)
    if isinstance(inner, If):
        then, orelse = (applied(e, part, scope, depth) for part in (inner.then, inner.orelse))
        return f"({then} if {e.expr(inner.condition, scope, depth)} else {orelse})"
    if not isinstance(inner, FunctionLit) or len(inner.binders) > 1:
        return e.expr(expr, scope, depth)
    binder = inner.binders[0]
    name = names.value(binder.uid, binder.name)
    body = applied(e, inner.body, scope.bind(binder.uid, name), depth)
    return f"Applied({e.described(binder.domain, scope, depth)}, lambda {name}: {body})"


def _fields(e: Emitter, fields: tuple[tuple[str, Expr], ...], emit: Callable[[Expr], str]) -> str:
    return "{" + ", ".join(f"{name!r}: {emit(value)}" for name, value in fields) + "}"


def _record(e: Emitter, x: RecordLit, scope: Scope, depth: int) -> str:
    return f"Fn({_fields(e, x.fields, lambda value: e.expr(value, scope, depth))})"


def _record_set(e: Emitter, x: RecordSet, scope: Scope, depth: int) -> str:
    return f"Records({_fields(e, x.fields, lambda value: e.described(value, scope, depth))})"


def _except(e: Emitter, x: Except, scope: Scope, depth: int) -> str:
    at = names.value(x.at, "at")
    value = e.expr(x.value, scope.bind(x.at, at), depth)
    path = _tuple([e.expr(part, scope, depth) for part in x.path])
    return f"replace({e.expr(x.base, scope, depth)}, {path}, lambda {at}: {value})"


def _fold(e: Emitter, x: Fold, scope: Scope, depth: int) -> str:
    element, accumulator = names.value(x.element, "e"), names.value(x.accumulator, "acc")
    body = e.expr(x.body, scope.bind(x.element, element).bind(x.accumulator, accumulator), depth)
    start = e.expr(x.start, scope, depth)
    if x.kind == "seq":
        collection = f"sequence({e.expr(x.collection, scope, depth)})"
    else:
        collection = e.ordered(x.collection, scope, depth)
    return f"fold(lambda {element}, {accumulator}: {body}, {start}, {collection})"


def _guard(e: Emitter, x: RuleGuard, scope: Scope, depth: int) -> str:
    predicate = e.expr(x.predicate, scope, depth)
    if e.counting:
        predicate = f"tally({x.rule!r}, {predicate})"
    force = e.namespace.of(names.RULE, x.rule)
    return f"(not {force} or {predicate})" if x.connective == "implies" else f"({force} and {predicate})"


def _unchanged(e: Emitter, x: Unchanged, scope: Scope, depth: int) -> str:
    return "(" + (" and ".join(f"s[{name!r}] == t[{name!r}]" for name in x.names) or "True") + ")"


EMIT: dict[type, Emit] = {
    Lit: lambda e, x, scope, depth: repr(x.value),
    Const: lambda e, x, scope, depth: e.namespace.of(names.CONSTANT, x.name),
    Var: lambda e, x, scope, depth: f"{'t' if x.primed else 's'}[{x.name!r}]",
    Local: lambda e, x, scope, depth: scope.names[x.uid],
    Let: _let,
    Op: lambda e, x, scope, depth: e.op(x, scope, depth),
    HasRule: lambda e, x, scope, depth: e.namespace.of(names.RULE, x.rule),
    RuleGuard: _guard,
    If: _if,
    Case: _case,
    Quant: lambda e, x, scope, depth: e.quantifier(x, scope, depth),
    Choose: _choose,
    SetEnum: lambda e, x, scope, depth: "frozenset(" + _tuple([e.expr(i, scope, depth) for i in x.items]) + ")",
    SetFilter: _filter,
    SetMap: _set_map,
    TupleLit: lambda e, x, scope, depth: _tuple([e.expr(i, scope, depth) for i in x.items]),
    RecordLit: _record,
    RecordSet: _record_set,
    FunctionLit: _function,
    Except: _except,
    Fold: _fold,
    Unchanged: _unchanged,
}

EmitOp = Callable[["Emitter", tuple[Expr, ...], "Scope", int], str]


def _values(template: str) -> EmitOp:
    return lambda e, args, scope, depth: template.format(*(e.expr(arg, scope, depth) for arg in args))


def _sets(template: str) -> EmitOp:
    return lambda e, args, scope, depth: template.format(*(e.described(arg, scope, depth) for arg in args))


def _member(template: str) -> EmitOp:
    def emit(e: Emitter, args: tuple[Expr, ...], scope: Scope, depth: int) -> str:
        return template.format(e.expr(args[0], scope, depth), e.described(args[1], scope, depth))

    return emit


def _union(e: Emitter, args: tuple[Expr, ...], scope: Scope, depth: int) -> str:
    if any(is_symbolic(arg) for arg in args):
        return f"UnionOf({_tuple([e.described(arg, scope, depth) for arg in args])})"
    return "(" + " | ".join(e.expr(arg, scope, depth) for arg in args) + ")"


def _bigunion(e: Emitter, args: tuple[Expr, ...], scope: Scope, depth: int) -> str:
    parts = union_parts(Op("bigunion", args))
    if parts is None:
        return f"big_union({e.described(args[0], scope, depth)})"
    clauses, inner, _ = e.generators(parts.binders, scope, depth)
    return f"UnionOf([{e.described(parts.body, inner, depth)} {clauses}])"


OPERATORS: dict[str, EmitOp] = {
    "apply": _apply,
    "not": _values("(not {})"),
    "implies": _values("(not {} or {})"),
    "eq": _values("equal({}, {})"),
    "ne": _values("(not equal({}, {}))"),
    "neg": _values("(-{})"),
    "range": _values("Range({}, {})"),
    "in": _member("({} in {})"),
    "notin": _member("({} not in {})"),
    "subseteq": _member("subset({}, {})"),
    "union": _union,
    "intersect": _sets("intersection({}, {})"),
    "setminus": _sets("difference({}, {})"),
    "powerset": _sets("Powerset({})"),
    "bigunion": _bigunion,
    "isfiniteset": _sets("finite({})"),
    "len": _values("len(sequence({}))"),
    "append": _values("(*sequence({}), {})"),
    "concat": _values("(sequence({}) + sequence({}))"),
    "seq": _sets("Sequences({})"),
    "function_set": _sets("Functions({}, {})"),
    "product": lambda e, args, scope, depth: (
        "Product(" + ", ".join(e.described(arg, scope, depth) for arg in args) + ")"
    ),
    "nat": _values("NAT"),
    "int": _values("INT"),
    "boolean": _values("BOOLEAN"),
    "string": _values("STRING"),
}
