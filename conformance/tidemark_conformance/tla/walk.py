"""Views of IR that every backend needs: walking it, the names in it, its conjuncts, the conditions that enable an
action."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

from tidemark_conformance.tla.ir import (
    Action,
    Binder,
    Choose,
    Const,
    Except,
    Expr,
    Fold,
    FunctionLit,
    HasRule,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    Quant,
    RuleGuard,
    SetFilter,
    SetMap,
    Unchanged,
    Var,
)

T = TypeVar("T")
TRUE = Lit(True, "bool")


_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(cls: type[Expr]) -> tuple[str, ...]:
    known = _FIELDS.get(cls)
    if known is None:
        known = _FIELDS[cls] = tuple(field.name for field in dataclasses.fields(cls))
    return known


def inside(expr: Expr) -> Iterator[Expr | Binder]:
    """The direct subexpressions, binders as what they are, in the order of the fields."""
    for name in _fields(type(expr)):
        yield from _members(getattr(expr, name))


def _members(value: object) -> Iterator[Expr | Binder]:
    if isinstance(value, Expr | Binder):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _members(item)


def children(expr: Expr) -> Iterator[Expr]:
    """The direct subexpressions, domains of binders included, in the order of the fields."""
    for part in inside(expr):
        yield part.domain if isinstance(part, Binder) else part


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and all its subexpressions, parents first."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(children(node))))


def _rebuild(value: object, change: Callable[[Expr], Expr]) -> object:
    if isinstance(value, Expr):
        return change(value)
    if isinstance(value, Binder):
        return Binder(value.uid, value.name, change(value.domain))
    if isinstance(value, tuple):
        return tuple(_rebuild(item, change) for item in value)
    return value


def map_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """`expr` with `change` applied to each direct subexpression (and domain)."""
    cls = type(expr)
    return cls(**{name: _rebuild(getattr(expr, name), change) for name in _fields(cls)})


def strip(expr: Expr) -> Expr:
    """`expr` without the marks around it (those inside stay)."""
    while isinstance(expr, Mark):
        expr = expr.body
    return expr


def without_marks(expr: Expr) -> Expr:
    """`expr` with no mark anywhere."""
    return map_children(strip(expr), without_marks)


@dataclasses.dataclass(frozen=True, slots=True)
class Mentioned:
    """The names in an expression: its locals by uid, those that it does not bind, its variables in the state and in the
    next one. Then constants of the cfg, rules that it asks for, and those of them whose guards count."""

    locals: frozenset[int] = frozenset()
    free: frozenset[int] = frozenset()
    now: frozenset[str] = frozenset()
    next: frozenset[str] = frozenset()
    constants: frozenset[str] = frozenset()
    rules: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()

    @property
    def stateless(self) -> bool:
        """Whether the value is the same in all states, but for free locals."""
        return not (self.now or self.next)

    @property
    def closed(self) -> bool:
        """Whether the value is the same in all states, with nothing bound outside."""
        return self.stateless and not self.free

    @property
    def constant(self) -> bool:
        """Whether the value is the same in all states, under any set of rules, with nothing bound outside."""
        return self.closed and not self.rules


_NOTHING = Mentioned()


def mentioned(expr: Expr) -> Mentioned:
    """The names in an expression. Each node is asked once and keeps its answer."""
    found: Mentioned | None = getattr(expr, "mentions", None)
    if found is not None:
        return found
    if isinstance(expr, Local):
        found = Mentioned(locals=frozenset({expr.uid}), free=frozenset({expr.uid}))
    elif isinstance(expr, Var):
        name = frozenset({expr.name})
        found = Mentioned(next=name) if expr.primed else Mentioned(now=name)
    elif isinstance(expr, Unchanged):
        names = frozenset(expr.names)
        found = Mentioned(now=names, next=names)
    elif isinstance(expr, Const):
        found = Mentioned(constants=frozenset({expr.name}))
    else:
        parts = [mentioned(child) for child in children(expr)]
        found = _joined(parts)
        bound = found.free.intersection(bound_by(expr))
        if bound:
            found = dataclasses.replace(found, free=found.free - bound)
        if isinstance(expr, HasRule | RuleGuard):
            guards = found.guards | {expr.rule} if isinstance(expr, RuleGuard) else found.guards
            found = dataclasses.replace(found, rules=found.rules | {expr.rule}, guards=guards)
    object.__setattr__(expr, "mentions", found)
    return found


def _joined(parts: list[Mentioned]) -> Mentioned:
    """All names of the parts, in one of their own sets where that has them all: most parts say nothing new."""
    found = parts[0] if parts else _NOTHING
    for part in parts[1:]:
        if part is not found and part is not _NOTHING:
            found = Mentioned(
                _union(found.locals, part.locals),
                _union(found.free, part.free),
                _union(found.now, part.now),
                _union(found.next, part.next),
                _union(found.constants, part.constants),
                _union(found.rules, part.rules),
                _union(found.guards, part.guards),
            )
    return found


def _union(one: frozenset[T], other: frozenset[T]) -> frozenset[T]:
    return one if other <= one else other if one <= other else one | other


def locals_used(expr: Expr) -> frozenset[int]:
    """The uids of all locals that occur in `expr`, bound inside or not."""
    return mentioned(expr).locals


def bound_by(expr: Expr) -> list[int]:
    """The uids that `expr` itself binds."""
    if isinstance(expr, (Quant, SetMap, FunctionLit)):
        return [binder.uid for binder in expr.binders]
    if isinstance(expr, (Choose, SetFilter)):
        return [expr.binder.uid]
    if isinstance(expr, Let):
        return [expr.uid]
    if isinstance(expr, Except):
        return [expr.at]
    if isinstance(expr, Fold):
        return [expr.element, expr.accumulator]
    return []


def free_locals(expr: Expr) -> frozenset[int]:
    """The uids of the locals that `expr` uses but does not bind (every binder has a uid of its own)."""
    return mentioned(expr).free


def constants_used(expr: Expr) -> frozenset[str]:
    return mentioned(expr).constants


def variables_used(expr: Expr, primed: bool | None = None) -> frozenset[str]:
    """The variables that `expr` mentions: in the state (`primed` False), in the next state (True), or either (None).

    UNCHANGED mentions its variables in both.
    """
    found = mentioned(expr)
    return found.now | found.next if primed is None else found.next if primed else found.now


def mentions_next(expr: Expr) -> bool:
    """Does a primed variable occur in `expr`?"""
    return bool(mentioned(expr).next)


def conjunction(items: list[Expr]) -> Expr:
    """The conjunction of `items` in order: TRUE of none, the item itself of one."""
    if not items:
        return TRUE
    return items[0] if len(items) == 1 else Op("and", tuple(items))


def wrap_let(let: Let, body: Expr) -> Expr:
    """`body` under the definition of `let`, or `body` itself where it does not use it."""
    return Let(let.uid, let.name, let.value, body) if let.uid in locals_used(body) else body


def conjuncts(expr: Expr) -> list[Expr]:
    """The conjuncts of `expr` in evaluation order, seen through marks and LET; each keeps its marks and definitions.

    A definition that several conjuncts use is repeated for each of them.
    """
    if isinstance(expr, Mark):
        return [dataclasses.replace(expr, body=part) for part in conjuncts(expr.body)]
    if isinstance(expr, Let):
        return [wrap_let(expr, part) for part in conjuncts(expr.body)]
    if isinstance(expr, Op) and expr.name == "and":
        return [part for item in expr.args for part in conjuncts(item)]
    return [expr]


def _enabling(expr: Expr) -> tuple[Expr, bool]:
    """The part of a conjunction before its first primed variable; and whether that is all of it."""
    if isinstance(expr, Mark):
        body, whole = _enabling(expr.body)
        return dataclasses.replace(expr, body=body), whole
    if isinstance(expr, Let):
        body, whole = _enabling(expr.body)
        return wrap_let(expr, body), whole
    if isinstance(expr, Op) and expr.name == "and":
        items: list[Expr] = []
        for item in expr.args:
            part, whole = _enabling(item)
            if strip(part) != TRUE:
                items.append(part)
            if not whole:
                return conjunction(items), False
        return conjunction(items), True
    if not mentions_next(expr):
        return expr, True
    return TRUE, False


def enabling(action: Action) -> Expr:
    """The condition on the state under which `action` is tried: its conjuncts before the first primed variable.

    A state predicate over the action's parameters, seen through marks, LET and operators of conjunctions.
    """
    return _enabling(action.body)[0]


def guard_rules(action: Action) -> list[str]:
    """The rules that the guards of an action ask for, in force or not, by name."""
    return sorted(mentioned(enabling(action)).rules)


def place(expr: Expr, wanted: Callable[[Expr], bool], loc: Loc) -> Loc | None:
    """The innermost marked place of the first subexpression that is `wanted`; `loc` is the place of `expr` itself."""
    if isinstance(expr, Mark):
        loc = expr.loc
    if wanted(expr):
        return loc
    for child in children(expr):
        found = place(child, wanted, loc)
        if found is not None:
            return found
    return None
