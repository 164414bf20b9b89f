"""Symbols that axioms define: the least of a set of numbers, and folds of sequences of any length.

A definition names every number that its text reads and that is no part of it, and is for all of these at once. So two
places with the same text have the same symbols. It must have symbols that fulfil it for every such number, predicate
and operation that it reads, whatever state the solver looks at. So an argument is a symbol or its application, never a
sum or an IF: two arguments that depend on each other could not be chosen apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import z3

from tidemark_conformance.prove.terms import Symbolic, Term, as_bool, fresh, operator
from tidemark_conformance.prove.triggers import quantified

UNNAMED = "?"
"""The name of a symbol while its definition is read."""


@dataclass(frozen=True)
class Piece:
    """A part of a definition: `body` holds for all integers `bound`. `trigger`: the terms whose presence makes the
    solver try an instance, beside those found in the body; None: any of the body."""

    bound: tuple[Any, ...]
    body: Term
    trigger: tuple[Any, ...] | None = None


Build = Callable[[str, tuple[Term, ...]], tuple[Symbolic, list[Piece]]]
"""(the name of the symbols, their arguments) -> the value that is defined, and its definition."""


def define(
    build: Build, kind: str, known: dict[tuple[Any, ...], Any], side: list[Term], kept: list[Any]
) -> tuple[Symbolic, str]:
    """The value that a definition gives, and the name of its symbols; its axioms join `side`.

    `known`: the definitions so far, by their structure. `kept`: terms whose ids must not be given to others.
    """
    _, pieces = build(UNNAMED, ())
    bodies = [(piece, as_bool(piece.body)) for piece in pieces]
    arguments = _outside([body for _, body in bodies], [one for piece in pieces for one in piece.bound])
    kept += arguments
    structure = _structure([_closed(piece.bound, body) for piece, body in bodies], arguments)
    found = known.get((kind, structure))
    name = f"{kind}#{len(known)}" if found is None else found[0]
    value, pieces = build(name, tuple(arguments))
    if found is None:
        names = [fresh("a") for _ in arguments]
        moved = list(zip(arguments, names, strict=True))
        axioms = [_axiom(piece, moved) for piece in pieces]
        found = known[kind, structure] = name, axioms
    present = {one.get_id() for one in side if z3.is_expr(one)}
    side += [axiom for axiom in found[1] if axiom.get_id() not in present]
    return value, name


def symbol(name: str, args: tuple[Term, ...], sort: Any = None) -> Any:
    """A symbol of a definition, by default a number, at these arguments."""
    sort = z3.IntSort() if sort is None else sort
    return z3.Function(name, *([z3.IntSort()] * len(args)), sort)(*args) if args else z3.Const(name, sort)


def _axiom(piece: Piece, moved: list[tuple[Any, Any]]) -> Any:
    """A part of a definition for all arguments."""
    body = as_bool(piece.body)
    body = z3.substitute(body, *moved) if moved else body
    bound = (*(name for _, name in moved), *piece.bound)
    if not bound:
        return body
    if piece.trigger is None:
        return quantified(bound, body)
    terms = [z3.substitute(one, *moved) if moved else one for one in piece.trigger]
    return z3.ForAll(list(bound), body, patterns=[z3.MultiPattern(*terms)])


def _closed(bound: tuple[Any, ...], body: Any) -> Any:
    return z3.ForAll(list(bound), body) if bound else body


def _outside(bodies: list[Any], bound: list[Any]) -> list[Any]:
    """The numbers that a definition reads: the largest applications without its own symbols, each once, in order."""
    own = {one.get_id() for one in bound}
    verdicts: dict[int, bool] = {}
    found: dict[int, Any] = {}

    def inner(node: Any) -> bool:
        """Whether a term holds a bound integer or the symbol that is defined."""
        number = node.get_id()
        if number not in verdicts:
            verdicts[number] = (
                z3.is_var(node)
                or z3.is_quantifier(node)
                or number in own
                or (z3.is_app(node) and node.decl().name().startswith(UNNAMED))
                or any(inner(child) for child in node.children())
            )
        return verdicts[number]

    def visit(node: Any) -> None:
        if z3.is_quantifier(node):
            visit(node.body())
        elif z3.is_int(node) and operator(node) == z3.Z3_OP_UNINTERPRETED and not inner(node):
            found.setdefault(node.get_id(), node)
        elif z3.is_app(node):
            for child in node.children():
                visit(child)

    for body in bodies:
        visit(body)
    return list(found.values())


def _structure(bodies: list[Any], arguments: list[Any]) -> tuple[Any, ...]:
    """A definition as rows of operators and parts, the same for every choice of arguments and of bound names."""
    moved = [(one, z3.Int(f"argument!{at}")) for at, one in enumerate(arguments)]
    rows: list[tuple[Any, ...]] = []
    numbers: dict[int, int] = {}

    def row(node: Any) -> int:
        number = node.get_id()
        if number not in numbers:
            if z3.is_var(node):
                own: tuple[Any, ...] = ("bound", z3.get_var_index(node), node.sort().name())
            elif z3.is_quantifier(node):
                sorts = tuple(node.var_sort(at).name() for at in range(node.num_vars()))
                own = ("all" if node.is_forall() else "some", sorts, row(node.body()))
            else:
                of = node.decl()
                literal = str(node) if z3.is_int_value(node) else ""
                own = (of.name(), of.kind(), node.sort().name(), literal, *map(row, node.children()))
            rows.append(own)
            numbers[number] = len(rows)
        return numbers[number]

    # The terms are kept along: the solver gives the id of a term that is gone to another one.
    whole = [z3.substitute(body, *moved) if moved else body for body in bodies]
    roots = tuple(map(row, whole))
    return (*rows, roots)
