"""Patterns of quantified hypotheses: the terms whose presence makes the solver try an instance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import z3

from tidemark_conformance.prove.terms import Term, app_arg, app_args, app_decl, ast_id, ast_kind, decl_kind

MOST_PATTERNS = 24
"""The most patterns of one hypothesis."""


def quantified(bound: tuple[Any, ...], body: Term) -> Any:
    """`body` for all integers `bound`, with patterns where there are terms for them."""
    if isinstance(body, bool):
        return z3.BoolVal(body)
    found = patterns(bound, body)
    return z3.ForAll(list(bound), body, patterns=found) if found else z3.ForAll(list(bound), body)


def patterns(bound: tuple[Any, ...], body: Any) -> list[Any]:
    """The patterns of a hypothesis: applications of functions to its integers, as few as cover all of these."""
    names = {one.get_id(): one for one in bound}
    found: dict[int, tuple[Any, frozenset[int]]] = {}
    for node in applications(body):
        used = _covered(node, names)
        if used:
            found[node.get_id()] = (node, used)
    apps = list(found.values())
    everything = frozenset(names)
    whole = [node for node, used in apps if used == everything]
    chosen = [z3.MultiPattern(node) for node in whole]
    if len(bound) > 1:
        columns = [[(node, used) for node, used in apps if key in used and used != everything][:8] for key in names]
        seen: set[frozenset[int]] = set()
        for row in itertools.product(*columns):
            ids = frozenset(node.get_id() for node, _ in row)
            if ids in seen or len(chosen) >= MOST_PATTERNS:
                continue
            seen.add(ids)
            chosen.append(z3.MultiPattern(*{node.get_id(): node for node, _ in row}.values()))
    return chosen[:MOST_PATTERNS]


def _covered(node: Any, names: dict[int, Any]) -> frozenset[int]:
    """The bound integers in an application, none if it is no pattern: it holds an operator that is interpreted."""
    used: set[int] = set()
    for argument in node.children():
        if argument.get_id() in names:
            used.add(argument.get_id())
        elif z3.is_int_value(argument) or (z3.is_const(argument) and z3.is_app(argument)):
            continue
        elif z3.is_app(argument) and argument.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            inner = _covered(argument, names)
            if not inner and _mentions(argument, names):
                return frozenset()
            used |= inner
        else:
            return frozenset()
    return frozenset(used)


def _mentions(node: Any, names: dict[int, Any]) -> bool:
    return any(z3.Z3_get_ast_id(node.ctx_ref(), one) in names for one in _nodes(node))


def applications(term: Any) -> list[Any]:
    """The applications of uninterpreted functions in a term outside its quantifiers, each once."""
    ctx = term.ctx_ref()
    found = []
    for node in _nodes(term):
        if ast_kind(ctx, node) == z3.Z3_APP_AST and app_args(ctx, node):
            of = app_decl(ctx, node)
            if decl_kind(ctx, of) == z3.Z3_OP_UNINTERPRETED:
                found.append(node)
    return [z3.ExprRef(node, term.ctx) for node in found]


def _nodes(term: Any) -> Iterator[Any]:
    """Every node of a term outside its quantifiers, once, as the library's handle: objects cost time."""
    ctx = term.ctx_ref()
    seen: set[int] = set()
    waiting = [term.as_ast()]
    while waiting:
        node = waiting.pop()
        number = ast_id(ctx, node)
        if number in seen:
            continue
        seen.add(number)
        yield node
        if ast_kind(ctx, node) == z3.Z3_APP_AST:
            parts = range(app_args(ctx, node))
            waiting += [app_arg(ctx, node, at) for at in reversed(parts)]
