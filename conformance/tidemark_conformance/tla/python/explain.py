"""Finds the conjunct of a predicate that is false, and the false part inside it: the facts of an explanation, not its
words.

The predicate is taken apart along the text. Conjunctions, LET, rule guards, IF and CASE go by the branch taken,
implications by their consequent. Universal quantifiers go by their first counterexample. The rest is evaluated whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Case, Expr, If, Let, Loc, Local, Mark, Op, Quant, RuleGuard, Unchanged, Var
from tidemark_conformance.tla.python.runtime import EvaluationError
from tidemark_conformance.tla.values import Fn, Value, in_order, show

Evaluate = Callable[[Expr, Mapping[int, Value]], Value]
"""The value of an expression, given its free locals; raises EvaluationError."""


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One conjunct of a predicate and its truth (None: its evaluation failed, `note` says how).

    Of a false one, `name` and `loc` are the innermost false operator with a name and the innermost false place.
    `within` has the named operators around, outermost first. `note` tells the known facts: the rule, a counterexample's
    identifiers, the value that a variable should have. Of a true one they are its own.
    """

    name: str
    loc: Loc
    value: bool | None
    within: tuple[tuple[str, Loc], ...] = ()
    note: str = ""


def explain(
    expr: Expr, evaluate: Evaluate, given: Mapping[int, Value], loc: Loc, in_force: Callable[[str], bool]
) -> list[Conjunct]:
    """The conjuncts of `expr` in evaluation order. All are evaluated, also those behind the first false one."""
    explainer = _Explainer(evaluate, in_force)
    start = _Spot((), loc, (), dict(given), ())
    return [explainer.judge(part, start) for part in walk.conjuncts(expr)]


@dataclass(frozen=True)
class _Spot:
    """Where the explanation stands: operators entered, innermost place, LETs around, identifiers bound, notes."""

    names: tuple[tuple[str, Loc], ...]
    loc: Loc
    lets: tuple[Let, ...]
    given: Mapping[int, Value]
    notes: tuple[str, ...]

    def conjunct(self, value: bool | None, *notes: str) -> Conjunct:
        name = self.names[-1][0] if self.names else ""
        return Conjunct(name, self.loc, value, self.names[:-1], "; ".join((*self.notes, *notes)))


class _Explainer:
    def __init__(self, evaluate: Evaluate, in_force: Callable[[str], bool]) -> None:
        self.evaluate = evaluate
        self.in_force = in_force

    def value(self, expr: Expr, spot: _Spot) -> Value:
        for let in reversed(spot.lets):
            expr = walk.wrap_let(let, expr)
        return self.evaluate(expr, spot.given)

    def judge(self, expr: Expr, spot: _Spot) -> Conjunct:
        spot, inner = self.enter(expr, spot)
        try:
            if self.value(inner, spot) is True:
                return spot.conjunct(True)
            return self.blame(inner, spot)
        except EvaluationError as problem:
            return spot.conjunct(None, problem.message + (f" ({problem.place})" if problem.place else ""))

    def enter(self, expr: Expr, spot: _Spot) -> tuple[_Spot, Expr]:
        """Through marks and LET, which change the place in the text but not the truth."""
        while isinstance(expr, (Mark, Let)):
            if isinstance(expr, Let):
                spot = replace(spot, lets=(*spot.lets, expr))
            else:
                names = (*spot.names, (expr.name, expr.loc)) if expr.name else spot.names
                spot = replace(spot, names=names, loc=expr.loc)
            expr = expr.body
        return spot, expr

    def blame(self, expr: Expr, spot: _Spot) -> Conjunct:
        """The part that is false inside `expr`, which is false."""
        spot, expr = self.enter(expr, spot)
        if isinstance(expr, Op) and expr.name == "and":
            for part in expr.args:
                if self.value(part, spot) is not True:
                    return self.blame(part, spot)
        if isinstance(expr, Op) and expr.name == "implies":
            return self.blame(expr.args[1], spot)
        if isinstance(expr, RuleGuard):
            if not self.in_force(expr.rule):
                return spot.conjunct(False, f"the rule {expr.rule} is not in force")
            return self.blame(expr.predicate, replace(spot, notes=(*spot.notes, f"rule {expr.rule}")))
        if isinstance(expr, If):
            return self.blame(expr.then if self.value(expr.condition, spot) else expr.orelse, spot)
        if isinstance(expr, Case):
            for condition, arm in expr.arms:
                if self.value(condition, spot):
                    return self.blame(arm, spot)
            if expr.other is not None:
                return self.blame(expr.other, spot)
        if isinstance(expr, Quant) and expr.kind == "forall":
            return self.counterexample(expr, spot)
        return spot.conjunct(False, *self.notes(expr, spot))

    def counterexample(self, expr: Quant, spot: _Spot) -> Conjunct:
        domains = [in_order(self.value(binder.domain, spot)) for binder in expr.binders]
        for values in _product(domains):
            bound = {binder.uid: value for binder, value in zip(expr.binders, values, strict=True)}
            inner = replace(spot, given={**spot.given, **bound})
            if self.value(expr.body, inner) is not True:
                shown = ", ".join(f"{b.name} = {show(v)}" for b, v in zip(expr.binders, values, strict=True))
                return self.blame(expr.body, replace(inner, notes=(*spot.notes, shown)))
        return spot.conjunct(False)

    def notes(self, expr: Expr, spot: _Spot) -> Iterator[str]:
        """Notes on a false leaf. For `v' = e`: where the two sides differ. For UNCHANGED: the variables that
        changed."""
        if isinstance(expr, Unchanged):
            for name in expr.names:
                old, new = self.value(Var(name, False), spot), self.value(Var(name, True), spot)
                if old != new:
                    yield _difference(name, "should stay", new, old)
        elif isinstance(expr, Op) and expr.name == "eq":
            for left, right in (expr.args, expr.args[::-1]):
                side = walk.strip(left)
                if isinstance(side, (Var, Local)) or _is_path(side):
                    name = _written(side)
                    yield _difference(name, "should be", self.value(left, spot), self.value(right, spot))
                    return


def _product(domains: list[list[Value]]) -> Iterator[tuple[Value, ...]]:
    if not domains:
        yield ()
        return
    for first in domains[0]:
        for rest in _product(domains[1:]):
            yield (first, *rest)


def _is_path(expr: Expr) -> bool:
    while isinstance(expr, Op) and expr.name == "apply":
        expr = walk.strip(expr.args[0])
    return isinstance(expr, Var)


def _written(expr: Expr) -> str:
    expr = walk.strip(expr)
    if isinstance(expr, Var):
        return expr.name + ("'" if expr.primed else "")
    if isinstance(expr, Local):
        return expr.name
    if isinstance(expr, Op) and expr.name == "apply":
        argument = walk.strip(expr.args[1])
        return f"{_written(expr.args[0])}[{getattr(argument, 'name', getattr(argument, 'value', '...'))}]"
    return "..."


def _difference(name: str, verb: str, actual: Value, wanted: Value) -> str:
    """Where two values differ, as deep as they have the same shape."""
    path = name
    while True:
        fields: list[tuple[str, Value, Value]] = []
        if isinstance(actual, Fn) and isinstance(wanted, Fn) and actual.keys() == wanted.keys():
            for key in in_order(actual):
                fields.append((f".{key}" if isinstance(key, str) else f"[{show(key)}]", actual[key], wanted[key]))
        elif isinstance(actual, tuple) and isinstance(wanted, tuple) and len(actual) == len(wanted):
            fields = [(f"[{i}]", a, w) for i, (a, w) in enumerate(zip(actual, wanted, strict=True), 1)]
        differing = [field for field in fields if field[1] != field[2]]
        if len(differing) != 1:
            return f"{path} is {show(actual)}, {verb} {show(wanted)}"
        part, actual, wanted = differing[0]
        path += part
