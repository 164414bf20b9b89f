r"""The parts of a predicate that must be looked at again after a step, given that it held before.

A conjunct none of whose variables changed still holds. So does an instance of `\A x \in S : P(x)` for which P reads
nothing that changed. Variables that it reads as v[x] are asked by their dirty bits; of others any change counts. And of
`\A x, y \in S : P(x, y) => x = y`, where P(x, y) is P(y, x), one of each two instances is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tidemark_conformance.tla.ir import Binder, Expr, Local, Op, Unchanged, Var
from tidemark_conformance.tla.kernels import alike
from tidemark_conformance.tla.layout import MAX_UNITS, Layout
from tidemark_conformance.tla.types import TFun, TSet
from tidemark_conformance.tla.walk import children, strip


@dataclass(frozen=True, slots=True)
class Readings:
    """The variables that an expression reads: `indexed` only as v[x], x being one bound identifier, `whole` others."""

    whole: frozenset[str]
    indexed: frozenset[str]


Asked = Callable[[Expr, Mapping[int, Expr], int | None], Readings | None]
"""Of an expression, the LET definitions around it and an identifier that may index: the variables that count."""


def readings(expr: Expr, definitions: Mapping[int, Expr], uid: int | None = None) -> Readings:
    """The variables that an expression reads, by the LET definitions around it too; `uid`: the identifier that may
    index."""
    whole: set[str] = set()
    indexed: set[str] = set()
    seen: set[int] = set()

    def visit(node: Expr) -> None:
        match node:
            case Var(name, _):
                whole.add(name)
            case Unchanged(names):
                whole.update(names)
            case Op("apply", (function, Local(key, _))) if key == uid and isinstance(strip(function), Var):
                indexed.add(strip(function).name)  # type: ignore[attr-defined]
            case Local(key, _) if key in definitions and key not in seen:
                seen.add(key)
                visit(definitions[key])
            case _:
                for part in children(node):
                    visit(part)

    visit(expr)
    return Readings(frozenset(whole), frozenset(indexed - whole))


def mask_of(layout: Layout, names: Iterable[str]) -> int:
    """The bits of variables among those that changed (past the 61st they share one)."""
    mask = 0
    for name in names:
        mask |= 1 << min(layout.index[name], 61)
    return mask


def by_unit(layout: Layout, name: str, kind: TSet) -> bool:
    """Whether a variable's dirty bits stand for the members of a set, in its order."""
    variable = layout.by_name[name]
    own = variable.type
    return isinstance(own, TFun) and own.domain == kind.members and own.key == kind.elem and variable.units <= MAX_UNITS


def one_of_two(binders: tuple[Binder, ...], body: Expr) -> bool:
    r"""Whether `\A x, y \in S : body` is symmetric in its two elements."""
    if len(binders) != 2 or strip(binders[0].domain) != strip(binders[1].domain):
        return False
    a, b = binders[0].uid, binders[1].uid
    match strip(body):
        case Op("implies", (condition, conclusion)):
            match strip(conclusion):
                case Op("eq", (Local(x, _), Local(y, _))) if {x, y} == {a, b}:
                    turned = {a: "y", b: "x"}
                    pair = frozenset(turned)
                    return alike.text(condition, {a: "x", b: "y"}, pair) == alike.text(condition, turned, pair)
    return False
