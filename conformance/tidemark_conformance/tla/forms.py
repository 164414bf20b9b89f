"""The builtin forms of TLA+ -> IR: primes, connectives, IF, CASE, EXCEPT, binders, records.

Operators of values only stand in `scope.NATIVE`; the inlining of operators is in `elaborate.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tidemark_conformance.tla import sany, walk
from tidemark_conformance.tla.ir import (
    Binder,
    Case,
    Choose,
    Except,
    Expr,
    FunctionLit,
    HasRule,
    If,
    Lit,
    Mark,
    Op,
    Quant,
    RecordLit,
    RecordSet,
    RuleGuard,
    SetFilter,
    SetMap,
    Unchanged,
)
from tidemark_conformance.tla.scope import Context, Fixed, refuse

if TYPE_CHECKING:
    from tidemark_conformance.tla.elaborate import Elaborator


def _prime(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    return elaborator.expression(node.operands[0], replace(context, primed=True))


def _unchanged(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    return Unchanged(tuple(elaborator.variable_names(elaborator.inner(node.operands[0], context), node.loc)))


def _and(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    items: list[Expr] = []
    for operand in node.operands:
        expr = elaborator.expression(operand, context)
        plain = walk.strip(expr)
        if isinstance(plain, Op) and plain.name == "and" and plain is expr and not elaborator.is_argument(operand):
            items.extend(plain.args)
        else:
            items.append(Mark("", operand.loc, expr) if context.spine else expr)
    return walk.conjunction(_guards(items))


def _or(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    items: list[Expr] = []
    for operand in node.operands:
        expr = elaborator.expression(operand, context)
        items.extend(expr.args if isinstance(expr, Op) and expr.name == "or" else (expr,))
    return Op("or", tuple(items))


def _implies(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    left = elaborator.inner(node.operands[0], context)
    right = elaborator.expression(node.operands[1], context)
    rule = walk.strip(left)
    if isinstance(rule, HasRule):
        return RuleGuard(rule.rule, "implies", right)
    return Op("implies", (left, right))


def _if(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    condition, then, orelse = node.operands
    return If(
        elaborator.inner(condition, context),
        elaborator.expression(then, context),
        elaborator.expression(orelse, context),
    )


def _case(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    arms: list[tuple[Expr, Expr]] = []
    other: Expr | None = None
    for pair in node.operands:
        condition, value = pair.operands if isinstance(pair, sany.Apply) else (None, None)
        if condition is None or value is None:
            raise refuse(node.loc, "CASE has an arm without a condition", "write it as condition -> value")
        if isinstance(condition, sany.Other):
            other = elaborator.expression(value, context)
        else:
            arms.append((elaborator.inner(condition, context), elaborator.expression(value, context)))
    return Case(tuple(arms), other)


def _except(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    inner = replace(context, spine=False)
    base = elaborator.expression(node.operands[0], inner)
    for pair in node.operands[1:]:
        if not isinstance(pair, sany.Apply) or not isinstance(pair.operands[0], sany.Apply):
            raise refuse(node.loc, "EXCEPT has an update without a path", "write it as ![x] = value")
        path = tuple(elaborator.expression(part, inner) for part in pair.operands[0].operands)
        at = elaborator.local("@")
        value = elaborator.expression(pair.operands[1], replace(inner, at=at))
        base = Except(base, path, at.uid, value)
    return base


def _binders(elaborator: Elaborator, node: sany.Apply, context: Context) -> tuple[tuple[Binder, ...], Context]:
    """The binders of a node (its domains stand outside them), and the context of its body."""
    env = dict(context.env)
    binders: list[Binder] = []
    for bound in node.bounds:
        if bound.domain is None:
            raise refuse(node.loc, "an identifier has no domain", "bind it in a set: x \\in S")
        if bound.pattern:
            whole = elaborator.local("<<" + ",".join(elaborator.tables.entries[f].name for f in bound.formals) + ">>")
            binders.append(Binder(whole.uid, whole.name, elaborator.inner(bound.domain, context)))
            for index, formal in enumerate(bound.formals, 1):
                env[formal] = Fixed(Op("apply", (whole, Lit(index, "int"))))
            continue
        for formal in bound.formals:
            local = elaborator.local(elaborator.tables.entries[formal].name)
            binders.append(Binder(local.uid, local.name, elaborator.inner(bound.domain, context)))
            env[formal] = Fixed(local)
    return tuple(binders), replace(context, env=env)


def _body(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    return elaborator.inner(node.operands[0], context)


def _quantifier(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    name = elaborator.entry(node.operator, node.loc).name
    binders, inside = _binders(elaborator, node, context)
    kind = "forall" if name == "$BoundedForall" else "exists"
    return Quant(kind, binders, elaborator.expression(node.operands[0], inside))


def _choose(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    binders, inside = _binders(elaborator, node, context)
    return Choose(binders[0], _body(elaborator, node, inside))


def _filter(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    binders, inside = _binders(elaborator, node, context)
    return SetFilter(binders[0], _body(elaborator, node, inside))


def _set_map(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    binders, inside = _binders(elaborator, node, context)
    return SetMap(binders, _body(elaborator, node, inside))


def _function(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    binders, inside = _binders(elaborator, node, context)
    return FunctionLit(binders, _body(elaborator, node, inside))


def _record(elaborator: Elaborator, node: sany.Apply, context: Context) -> Expr:
    fields: list[tuple[str, Expr]] = []
    for pair in node.operands:
        if not isinstance(pair, sany.Apply) or not isinstance(pair.operands[0], sany.String):
            raise refuse(node.loc, "a record has a field without a name", "write it as name |-> value")
        fields.append((pair.operands[0].value, elaborator.inner(pair.operands[1], context)))
    is_set = elaborator.entry(node.operator, node.loc).name == "$SetOfRcds"
    return RecordSet(tuple(fields)) if is_set else RecordLit(tuple(fields))


def _guards(items: list[Expr]) -> list[Expr]:
    """Joins each `Has(r)` of a conjunction with the conjunct after it: together they decide."""
    joined: list[Expr] = []
    for item in reversed(items):
        rule = walk.strip(item)
        if isinstance(rule, HasRule) and joined and not isinstance(walk.strip(joined[-1]), (HasRule, RuleGuard)):
            guard: Expr = RuleGuard(rule.rule, "and", joined.pop())
            joined.append(replace(item, body=guard) if isinstance(item, Mark) else guard)
        else:
            joined.append(item)
    return joined[::-1]


Form = Callable[["Elaborator", sany.Apply, Context], Expr]

FORMS: dict[str, Form] = {
    "'": _prime,
    "UNCHANGED": _unchanged,
    "\\land": _and,
    "$ConjList": _and,
    "\\lor": _or,
    "$DisjList": _or,
    "=>": _implies,
    "$IfThenElse": _if,
    "$Case": _case,
    "$Except": _except,
    "$BoundedForall": _quantifier,
    "$BoundedExists": _quantifier,
    "$BoundedChoose": _choose,
    "$SubsetOf": _filter,
    "$SetOfAll": _set_map,
    "$FcnConstructor": _function,
    "$NonRecursiveFcnSpec": _function,
    "$RcdConstructor": _record,
    "$SetOfRcds": _record,
}
"""Builtin operators whose operands are more than values -> their IR."""
