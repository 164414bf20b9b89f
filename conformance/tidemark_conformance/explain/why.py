r"""Why a formula is false (or true): the walk from the formula down to the values that decide.

Only the logical skeleton is known here: junctions, quantifiers, IF, LET, the rules' guards. A `Scope`, that is the
compiler's own evaluator, gives the value of an expression, so no second meaning of TLA+ is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tidemark_conformance.explain.formula import formula
from tidemark_conformance.explain.reads import Cell, reads, written
from tidemark_conformance.explain.record import Reason, Shown
from tidemark_conformance.explain.scope import Env, EvaluationError, Scope
from tidemark_conformance.explain.source import Source
from tidemark_conformance.explain.text import changes, index, is_record, shorten, value_text
from tidemark_conformance.tla.ir import (
    Binder,
    Case,
    Const,
    Expr,
    FunctionLit,
    HasRule,
    If,
    Let,
    Loc,
    Local,
    Mark,
    Op,
    Quant,
    RecordSet,
    RuleGuard,
    SetEnum,
    SetFilter,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.values import Fn, Value, in_order
from tidemark_conformance.tla.walk import children, strip, variables_used, walk

TEXT = 400
"""Longer formulas and values are shortened in their middle to so many characters."""
NAMED = 140
"""The same for the text before a value, and for the condition that chose a branch."""
WITNESSES = 3
"""Of an unsatisfied \\E at most so many candidates are followed further."""
VALUES = 8
"""At most so many sub-values stand beside one formula."""


def why(expr: Expr, scope: Scope, env: Env, source: Source) -> tuple[Reason, tuple[Cell, ...]]:
    """Why the boolean `expr` has the value that it has in this scope; an evaluation error is a reason as well.

    A name that `env` binds is shown where the formula mentions it; `source` gives the text of conjuncts. Returned
    beside the reason: the parts of the state that decide, as cells of `reads`.
    """
    walking = _Walk(scope, source, env)
    reason = walking.reason(expr, env)
    return reason, tuple(walking.cells)


class _Walk:
    def __init__(self, scope: Scope, source: Source, params: Env) -> None:
        self.scope = scope
        self.source = source
        self.params = params
        self.cells: dict[Cell, None] = {}

    # --- the skeleton ---------------------------------------------------------------------------------------------

    def outcome(self, expr: Expr, env: Env) -> str:
        try:
            value = self.scope.value(expr, env)
        except EvaluationError:
            return "error"
        return "true" if value is True else "false" if value is False else "error"

    def reason(self, expr: Expr, env: Env) -> Reason:
        match expr:
            case Mark(_, loc, body):
                return self.marked(self.reason(body, env), expr.call, loc, expr)
            case Op("and" | "or", args):
                return self.junction(expr, args, env)
            case Op("not", (negated,)):
                inner = self.reason(negated, env)
                if inner.because or inner.operator:
                    return Reason(self.text(expr), self.outcome(expr, env), because=(inner,))
                return replace(inner, text=self.text(expr), outcome=self.outcome(expr, env))
            case Op("implies", (left, right)):
                return self.implication(expr, left, right, env)
            case RuleGuard():
                return self.guard(expr, env)
            case Quant():
                return self.quantifier(expr, env)
            case If(condition, then, orelse):
                return self.branch(expr, condition, then, orelse, env)
            case Case(arms, other):
                return self.case(expr, arms, other, env)
            case Let(uid, _, value, body):
                return self.reason(body, env.later(uid, value))
        return self.atom(expr, env)

    def marked(self, inner: Reason, name: str, loc: Loc, expr: Mark) -> Reason:
        """The reason of a body, under its operator as it is used, or with the place of a conjunct."""
        if not name:
            text = shorten(self.source.item(loc), TEXT) or self.text(expr)
            if inner.operator:
                return Reason(text, inner.outcome, place=str(loc), because=(inner,))
            return inner if inner.place else replace(inner, text=text, place=str(loc))
        if not inner.operator:
            return replace(inner, operator=name, place=inner.place or str(loc))
        return Reason(self.text(expr), inner.outcome, operator=name, place=str(loc), because=(inner,))

    def junction(self, expr: Op, args: Sequence[Expr], env: Env) -> Reason:
        decisive = "false" if expr.name == "and" else "true"
        for arg in args:
            outcome = self.outcome(arg, env)
            if outcome in (decisive, "error"):
                return self.reason(arg, env)
        return self.gathered(expr, [self.reason(arg, env) for arg in args], self.outcome(expr, env))

    def gathered(self, expr: Expr, reasons: Sequence[Reason], outcome: str, note: str = "") -> Reason:
        """One reason out of several that decide together: leaves give their values, others stay beneath."""
        text = self.text(expr)
        if all(not (reason.because or reason.operator or reason.bindings) for reason in reasons):
            values = dict.fromkeys(value for reason in reasons for value in reason.values)
            notes = dict.fromkeys(reason.note for reason in reasons if reason.note)
            return Reason(text, outcome, note="; ".join(notes) or note, values=tuple(islice(values, VALUES)))
        return Reason(text, outcome, note=note, because=tuple(reasons))

    def implication(self, expr: Expr, left: Expr, right: Expr, env: Env) -> Reason:
        outcome = self.outcome(expr, env)
        if self.outcome(left, env) != "true":
            return self.reason(left, env) if outcome == "error" else self.because(expr, [left], env, outcome)
        if _is_rule(left):
            return self.reason(right, env)
        if outcome != "false":
            return self.because(expr, [right], env, outcome)
        since = self.reason(left, env)
        if since.because or since.operator or since.note:
            return self.because(expr, [left, right], env, outcome)
        inner = self.reason(right, env)
        if inner.because or inner.operator or inner.bindings:
            return Reason(self.text(expr), outcome, values=since.values, because=(inner,))
        return replace(inner, text=self.text(expr), values=tuple(dict.fromkeys((*since.values, *inner.values))))

    def because(self, expr: Expr, deciding: Sequence[Expr], env: Env, outcome: str) -> Reason:
        return self.gathered(expr, [self.reason(part, env) for part in deciding], outcome)

    def guard(self, expr: RuleGuard, env: Env) -> Reason:
        in_force = self.scope.value(HasRule(expr.rule), env) is True
        if not in_force:
            return Reason(self.text(expr), self.outcome(expr, env), note=f"the rule {expr.rule} is not in force")
        inner = self.reason(expr.predicate, env)
        note = f"the rule {expr.rule} is in force" + (f"; {inner.note}" if inner.note else "")
        return replace(inner, note=note)

    def branch(self, expr: Expr, condition: Expr, then: Expr, orelse: Expr, env: Env) -> Reason:
        taken = self.outcome(condition, env)
        if taken == "error":
            return self.reason(condition, env)
        inner = self.reason(then if taken == "true" else orelse, env)
        side = "THEN" if taken == "true" else "ELSE"
        said = f"{side}, as {shorten(self.text(condition), NAMED)} is {taken}"
        return replace(inner, note=f"{said}; {inner.note}" if inner.note else said)

    def case(self, expr: Expr, arms: Sequence[tuple[Expr, Expr]], other: Expr | None, env: Env) -> Reason:
        for when, value in arms:
            outcome = self.outcome(when, env)
            if outcome == "error":
                return self.reason(when, env)
            if outcome == "true":
                inner = self.reason(value, env)
                said = f"CASE {shorten(self.text(when), NAMED)}"
                return replace(inner, note=f"{said}; {inner.note}" if inner.note else said)
        if other is None:
            return Reason(self.text(expr), "error", note="no CASE applies and there is no OTHER")
        return self.reason(other, env)

    # --- quantifiers ----------------------------------------------------------------------------------------------

    def quantifier(self, expr: Quant, env: Env) -> Reason:
        outcome = self.outcome(expr, env)
        decisive = "false" if expr.kind == "forall" else "true"
        candidates: list[tuple[Env, tuple[Shown, ...]]] = []
        try:
            for inner_env, bound in self.bindings(expr.binders, env):
                inner = self.outcome(expr.body, inner_env)
                if inner in (decisive, "error"):
                    reason = self.reason(expr.body, inner_env)
                    return self.bound(expr, outcome, bound, reason)
                candidates.append((inner_env, bound))
        except EvaluationError as problem:
            return Reason(self.text(expr), "error", note=str(problem))
        return self.exhausted(expr, outcome, candidates)

    def bound(self, expr: Expr, outcome: str, bound: tuple[Shown, ...], inner: Reason) -> Reason:
        if inner.because or inner.operator or inner.place:
            return Reason(self.text(expr), outcome, bindings=bound, because=(inner,))
        return Reason(self.text(expr), outcome, note=inner.note, bindings=bound + inner.bindings, values=inner.values)

    def exhausted(self, expr: Quant, outcome: str, candidates: list[tuple[Env, tuple[Shown, ...]]]) -> Reason:
        names = ", ".join(binder.name for binder in expr.binders)
        if not candidates:
            return Reason(self.text(expr), outcome, note=f"there is nothing that {names} could be")
        count = len(candidates)
        failing = "none of them makes it true" if count > 1 else "which does not make it true"
        said = failing if expr.kind == "exists" else "it holds of all" if count > 1 else "of which it holds"
        note = f"{names}: {count} candidate{'s' * (count > 1)}, {said}"
        if expr.kind == "forall":
            return Reason(self.text(expr), outcome, note=note)
        tried = []
        for inner_env, bound in candidates[:WITNESSES]:
            inner = self.reason(expr.body, inner_env)
            tried.append(replace(inner, bindings=bound + inner.bindings))
        return Reason(self.text(expr), outcome, note=note, because=tuple(tried))

    def bindings(
        self, binders: Sequence[Binder], env: Env, sofar: tuple[Shown, ...] = ()
    ) -> Iterator[tuple[Env, tuple[Shown, ...]]]:
        if not binders:
            yield env, sofar
            return
        first = binders[0]
        domain = self.scope.value(first.domain, env)
        if not isinstance(domain, frozenset):
            raise EvaluationError(f"{self.text(first.domain)} is no set that can be enumerated")
        for value in in_order(domain):
            shown = Shown(first.name, value_text(value))
            yield from self.bindings(binders[1:], env.bind(first.uid, value), (*sofar, shown))

    # --- the rest: atoms and their values -------------------------------------------------------------------------

    def atom(self, expr: Expr, env: Env) -> Reason:
        self.cells.update(reads(expr, self.scope, env))
        try:
            outcome = "true" if self.scope.value(expr, env) is True else "false"
        except EvaluationError as problem:
            shown = tuple(islice(dict.fromkeys(self.paths(expr, env)), VALUES))
            return Reason(self.text(expr), "error", note=str(problem), values=shown)
        match expr:
            case HasRule(rule):
                note = f"the rule {rule} is {'' if outcome == 'true' else 'not '}in force"
                return Reason(self.text(expr), outcome, note=note)
            case Unchanged(names):
                return self.unchanged(expr, names, outcome)
            case Op("eq", (Var(name, True), right)) if outcome == "false":
                return self.update(expr, name, right, env)
            case Op("in", (left, right)) if outcome == "false":
                if variables_used(right) or isinstance(strip(right), SetEnum | Const):
                    return Reason(self.text(expr), outcome, values=self.values(expr, env))
                place = self.path(left, env) or self.text(left)
                note = "; ".join(self.outside(place, self.scope.value(left, env), right, env))
                return Reason(self.text(expr), outcome, note=note, values=() if note else self.values(expr, env))
        return Reason(self.text(expr), outcome, values=self.values(expr, env))

    def unchanged(self, expr: Expr, names: Sequence[str], outcome: str) -> Reason:
        changed = [name for name in names if self.scope.state[name] != self.scope.next[name]]
        self.cells.update(dict.fromkeys(written(self.scope.state, {name: self.scope.next[name] for name in changed})))
        note = f"{', '.join(changed)} changed" if changed else ""
        return Reason(self.text(expr), outcome, note=note)

    def update(self, expr: Expr, name: str, right: Expr, env: Env) -> Reason:
        """`x' = e` that is false: where the next state differs from what the specification demands."""
        demanded = self.scope.value(right, env)
        for value in (demanded, self.scope.next[name]):
            self.cells.update(dict.fromkeys(written(self.scope.state, {name: value})))
        found = changes({name: demanded}, {name: self.scope.next[name]})
        values: list[Shown] = []
        notes: list[str] = []
        for change in found:
            unit = change.unit.replace(name, f"{name}'", 1)
            where = " at its end" if change.how in ("appended", "truncated") else ""
            if change.how == "set":
                values += [Shown(f"{unit} by the specification", change.old), Shown(f"{unit} in the trace", change.new)]
            else:
                verb, what = ("must not have", change.new) if change.new else ("lacks", change.old)
                notes.append(f"{unit} in the trace {verb} {shorten(what, TEXT)}{where}")
        shown = tuple(replace(value, value=shorten(value.value, TEXT)) for value in values[:VALUES])
        return Reason(self.text(expr), "false", note="; ".join(notes[:VALUES]), values=shown)

    def outside(self, path: str, value: Value, domain: Expr, env: Env) -> Iterator[str]:
        """Sentences that say which parts of a value are outside a set; none where they are no clearer than the
        value."""
        match domain:
            case Mark(_, _, body):
                yield from self.outside(path, value, body, env)
                return
            case Op("function_set", (keys, target)) if isinstance(value, Fn | tuple):
                pairs = dict(enumerate(value, 1)) if isinstance(value, tuple) else dict(value)
                if frozenset(pairs) == self.scope.value(keys, env):
                    for key in in_order(pairs):
                        yield from self.outside(index(path, key, is_record(value)), pairs[key], target, env)
                    return
            case RecordSet(fields) if isinstance(value, Fn) and set(value) == {name for name, _ in fields}:
                for name, target in fields:
                    yield from self.outside(f"{path}.{name}", value[name], target, env)
                return
            case SetFilter(binder, body):
                inner = env.bind(binder.uid, value)
                if self.outcome(body, inner) == "false":
                    yield f"{path} = {shorten(value_text(value), 120)} does not satisfy {self.text(body)}"
                return
            case Op("powerset", (whole,)) if isinstance(value, frozenset):
                beyond = [element for element in in_order(value) if not self.contains(element, whole, env)]
                if beyond:
                    yield f"{path} holds {shorten(value_text(beyond[0]), 120)}, which is not in {self.text(whole)}"
                return
        if not self.contains(value, domain, env):
            yield f"{path} = {shorten(value_text(value), 120)} is not in {shorten(self.text(domain), 120)}"

    def contains(self, value: Value, domain: Expr, env: Env) -> bool:
        uid = self.scope.fresh()
        inside = Op("in", (Local(uid, "value"), domain))
        return self.outcome(inside, env.bind(uid, value)) == "true"

    def values(self, expr: Expr, env: Env) -> tuple[Shown, ...]:
        """The values beside an atom: its sides where they are no plain paths, then the state that they read."""
        found: dict[Shown, None] = {}
        sides = expr.args if isinstance(expr, Op) else (expr,)
        for side in sides:
            plain = strip(side)
            if not any(isinstance(node, Var | Local | Const) for node in walk(plain)):
                continue
            if not _is_path(plain) and plain is not strip(expr):
                found.update(dict.fromkeys(self.shown(plain, env)))
            found.update(dict.fromkeys(self.paths(plain, env)))
        return tuple(islice(found, VALUES))

    def shown(self, expr: Expr, env: Env) -> Iterator[Shown]:
        try:
            value = self.scope.value(expr, env)
        except EvaluationError:
            return
        yield Shown(shorten(self.text(expr), NAMED), shorten(value_text(value), TEXT))

    def paths(self, expr: Expr, env: Env) -> Iterator[Shown]:
        """The parts of the state that an expression reads, its LETs and constants; no binder is crossed."""
        plain = strip(expr)
        if _is_path(plain):
            name = self.path(plain, env)
            if name is not None:
                for shown in self.shown(plain, env):
                    yield Shown(name, shown.value)
                return
        if isinstance(plain, Quant | SetFilter | FunctionLit):
            binders: Iterable[Binder] = plain.binders if not isinstance(plain, SetFilter) else (plain.binder,)
            for binder in binders:
                yield from self.paths(binder.domain, env)
            return
        for child in children(plain):
            yield from self.paths(child, env)

    def path(self, expr: Expr, env: Env) -> str | None:
        """A variable or constant with its indices as values, `rmState[r1]`; None for a bound identifier alone."""
        plain = strip(expr)
        if isinstance(plain, Var):
            return plain.name + "'" * plain.primed
        if isinstance(plain, Const):
            return plain.name
        if isinstance(plain, Local):
            definition = env.definition(plain.uid)
            if definition is not None:
                return self.path(definition[0], definition[1]) or plain.name
            return plain.name if self.params.has(plain.uid) else None
        if isinstance(plain, Op) and plain.name == "apply":
            base = self.path(plain.args[0], env)
            try:
                key = self.scope.value(plain.args[1], env)
                whole = self.scope.value(plain.args[0], env)
            except EvaluationError:
                return None
            return None if base is None else index(base, key, is_record(whole))
        return None

    def text(self, expr: Expr) -> str:
        return shorten(formula(expr), TEXT)


def _is_rule(expr: Expr) -> bool:
    return isinstance(strip(expr), HasRule)


def _is_path(expr: Expr) -> bool:
    plain = strip(expr)
    if isinstance(plain, Op) and plain.name == "apply":
        return _is_path(plain.args[0])
    return isinstance(plain, Var | Const | Local)
