r"""Variables that no trace carries: an action's conjuncts that determine them, in an order in which they can be
computed.

A conjunct `v' = e` determines v, and so do UNCHANGED, a LET around such conjuncts, and an IF or CASE of which every
branch has one. Of several conjuncts for one variable the first determines it, the others are compared with its value.
Everything else leaves the value open, or gives it twice, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Case, Expr, If, Let, Loc, Mark, Op, Quant, RuleGuard, Unchanged, Var
from tidemark_conformance.tla.scope import refuse

Split = tuple[Expr | None, dict[str, Expr]]
"""The rest of a predicate (None: nothing), and the values that it gives to variables."""


def split(expr: Expr, names: Collection[str], primed: bool) -> Split:
    """A predicate without the conjuncts that determine variables of `names`, and the values that these have.

    `primed`: the variables' next values are meant (an action), else their values (Init).
    """
    match expr:
        case Mark(_, _, body):
            return _wrapped(split(body, names, primed), lambda e: replace(expr, body=e))
        case Let(_, _, _, body):
            return _wrapped(split(body, names, primed), lambda e: walk.wrap_let(expr, e))
        case Unchanged(all_names) if primed:
            values: dict[str, Expr] = {name: Var(name, False) for name in all_names if name in names}
            rest = tuple(name for name in all_names if name not in values)
            return (Unchanged(rest) if rest else None), values
        case Op("eq", (left, right)):
            for side, value in ((left, right), (right, left)):
                target = walk.strip(side)
                if isinstance(target, Var) and target.primed == primed and target.name in names:
                    return None, {target.name: value}
        case Op("and", items):
            return _all(items, names, primed)
        case If(condition, then, orelse):
            return _branches((then, orelse), names, primed, lambda two: If(condition, two[0], two[1]))
        case Case(arms, other):
            guards = [guard for guard, _ in arms]
            bodies = [body for _, body in arms] + ([other] if other is not None else [])

            def build(parts: list[Expr]) -> Expr:
                last = parts[len(guards)] if other is not None else None
                return Case(tuple(zip(guards, parts, strict=False)), last)

            return _branches(tuple(bodies), names, primed, build)
    return expr, {}


def _wrapped(found: Split, wrap: Callable[[Expr], Expr]) -> Split:
    rest, values = found
    return (wrap(rest) if rest is not None else None), {name: wrap(value) for name, value in values.items()}


def _all(items: tuple[Expr, ...], names: Collection[str], primed: bool) -> Split:
    kept: list[Expr] = []
    values: dict[str, Expr] = {}
    for item in items:
        rest, found = split(item, set(names) - values.keys(), primed)
        values.update(found)
        if rest is not None:
            kept.append(rest)
    return (walk.conjunction(kept) if kept else None), values


def _branches(
    parts: tuple[Expr, ...], names: Collection[str], primed: bool, build: Callable[[list[Expr]], Expr]
) -> Split:
    """Variables that every branch determines are determined; a conjunct for another one stays where it is."""
    common = set(names).intersection(*(split(part, names, primed)[1] for part in parts))
    found = [split(part, common, primed) for part in parts]
    values = {name: build([one[name] for _, one in found]) for name in sorted(common)}
    if all(rest is None for rest, _ in found):
        return None, values
    return build([rest if rest is not None else walk.TRUE for rest, _ in found]), values


def ordered(values: dict[str, Expr], primed: bool, what: str, loc: Loc) -> dict[str, Expr]:
    """The values in an order in which each reads (primed, or in Init plain) none that comes after it.

    Raises Unsupported for a circle; `what` names the action or Init.
    """
    reads = {name: walk.variables_used(value, primed) & values.keys() for name, value in values.items()}
    done: dict[str, Expr] = {}
    while len(done) < len(values):
        ready = [name for name in values if name not in done and reads[name] <= done.keys()]
        if not ready:
            circle = [name for name in values if name not in done]
            mark = "'" if primed else ""
            raise refuse(
                loc,
                f"{what} gives {' and '.join(name + mark for name in circle)} by each other, a circle",
                f"let the value of one hidden variable read no {circle[0]}{mark}",
            )
        done.update((name, values[name]) for name in ready)
    return done


def refuse_open(body: Expr, name: str, primed: bool, what: str, loc: Loc) -> Exception:
    """The refusal of an action (or Init) that does not determine the hidden variable `name`, with its place."""
    shown = f"{name}'" if primed else name
    for place, construct in _open_places(body, name, primed, loc):
        return refuse(place, f"{what} does not determine the hidden variable {name}: {_why(construct, shown)}",
                      _advice(construct, name, shown))  # fmt: skip
    unchanged = f" or UNCHANGED {name}" if primed else ""
    return refuse(
        loc, f"{what} does not determine the hidden variable {name}: it has no conjunct for it",
        f"add {shown} = e{unchanged}"
    )  # fmt: skip


def _mentions(expr: Expr, name: str, primed: bool) -> bool:
    return any(
        (isinstance(node, Var) and node.name == name and node.primed == primed)
        or (primed and isinstance(node, Unchanged) and name in node.names)
        for node in walk.walk(expr)
    )


def _open_places(expr: Expr, name: str, primed: bool, loc: Loc) -> Iterator[tuple[Loc, Expr]]:
    """The constructs in a predicate that mention the variable without determining it, the outermost of each."""
    match expr:
        case Mark(_, here, body):
            yield from _open_places(body, name, primed, here)
        case Let(_, _, _, body):
            yield from _open_places(body, name, primed, loc)
        case Op("and", items):
            for item in items:
                yield from _open_places(item, name, primed, loc)
        case If(_, then, orelse):
            found = [part for part in (then, orelse) if _mentions(part, name, primed)]
            if len(found) == 2:
                for part in found:
                    if name not in split(part, {name}, primed)[1]:
                        yield from _open_places(part, name, primed, loc)
            elif found:
                yield walk.place(expr, lambda e: e is expr, loc) or loc, expr
        case _ if _mentions(expr, name, primed):
            yield loc, expr


def _why(construct: Expr, shown: str) -> str:
    match construct:
        case Op("or", _):
            return f"a disjunction may give {shown} two values"
        case Op("in", _):
            return f"{shown} \\in S leaves its value open"
        case Quant():
            return f"a quantifier around {shown} leaves its value open"
        case If() | Case():
            return f"a branch says nothing of {shown}"
        case RuleGuard() | Op("implies", _):
            return f"an implication or a rule's guard says something of {shown} only sometimes"
    return f"this conjunct mentions {shown} and is not of the form {shown} = e"


def _advice(construct: Expr, name: str, shown: str) -> str:
    match construct:
        case Op("or", _):
            return f"write {shown} = IF c THEN e ELSE f, or one action for each case"
        case Op("in", _) | Quant():
            return f"make the value a parameter x of the action (\\E x \\in S in Next) and write {shown} = x"
    return f"write one conjunct {shown} = e outside of it, with IF or CASE inside e"
