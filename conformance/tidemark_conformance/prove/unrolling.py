"""One step of a specification as a relation of cells, to be repeated: for a search, not for a proof.

The terms are those of proofs with every capacity kept, so that a state is a list of scalars (cells) and no quantifier
is left where the text's ranges end. A number picks the instance of an action. A cell's next value is that of the
instance picked, else the cell itself. Copies of the relation differ by the step's number in the names of symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from tidemark_conformance.errors import Unusable
from tidemark_conformance.prove.checks import symbols
from tidemark_conformance.prove.equality import member, same, subset
from tidemark_conformance.prove.sorts import (
    SAtom,
    SBool,
    SFun,
    SInt,
    Sort,
    SRec,
    SSeq,
    SSet,
    STuple,
    constant_form,
    refused,
)
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Fun,
    Listed,
    Rec,
    Symbolic,
    Term,
    as_bool,
    as_code,
    as_int,
    as_term,
    at_most,
    conj,
    disj,
    implies,
    known,
    neg,
)
from tidemark_conformance.prove.universe import Step, Universe
from tidemark_conformance.tla import ir
from tidemark_conformance.tla.values import Value

PICKED = "instance?"
"""The number of the instance that a step takes."""


@dataclass
class Cells:
    """The cells of a value in the form of its variable: `terms` by the cells' symbols, and the condition under which
    the value has these cells alone (`fits`). A value beyond a capacity does not fit."""

    universe: Universe
    terms: list[tuple[Any, Term]] = field(default_factory=list)
    fits: Term = True

    def put(self, sort: Sort, symbol: Symbolic, value: Symbolic, where: Term = True) -> None:
        """Adds the cells of a value; it is one where `where` holds. Raises Unsupported for a value of another kind."""
        if value is NOTHING or value is symbol:
            return
        match sort:
            case SInt():
                self._scalar(symbol, as_int(value))
            case SBool():
                self._scalar(symbol, value)
            case SAtom():
                self._scalar(symbol.term, as_code(value))
            case SSet():
                forms = [item for _, item in symbol.items]
                for true, item in symbol.items:
                    self._scalar(true, member(item, value))
                self.require(implies(where, subset(value, Listed(tuple((True, form) for form in forms)))))
            case SSeq(elem, int(cap)):
                length = _length(value)
                self._scalar(symbol.high, length)
                self.require(implies(where, at_most(length, cap)))
                for at in range(1, min(cap, length) + 1 if known(length) else cap + 1):
                    self.put(elem, symbol.get(at), _image(value, at), conj(where, at_most(at, length)))
            case SFun(keys, image):
                for key, own in zip(symbol.keys, symbol.images, strict=True):
                    self.put(image, own, _image(value, key), where)
                self.require(implies(where, self._domain(value, keys)))
            case SRec(fields):
                self._record(fields, symbol, value, where)
            case STuple(parts):
                for at, part in enumerate(parts, 1):
                    self.put(part, symbol.get(at), _image(value, at), where)
            case _:
                raise refused("a capacity that a search does not keep", None, "bound it in TypeOK")

    def require(self, condition: Term) -> None:
        """A condition of `fits`."""
        self.fits = conj(self.fits, condition)

    def _scalar(self, symbol: Any, term: Term) -> None:
        if not (z3.is_expr(term) and term.eq(symbol)):
            self.terms.append((symbol, term))

    def _record(self, fields: Sequence[tuple[str, Sort, Any]], symbol: Rec, value: Symbolic, where: Term) -> None:
        if isinstance(value, Fun):
            value = Rec({str(key): (image, True) for key, image in zip(value.keys, value.images, strict=True)})
        kinds = {name: part for name, part, _ in fields}
        tag = value.fields["type"][0] if "type" in value.fields else None
        for name, part, tags in fields:
            found, has = value.fields.get(name, (NOTHING, False))
            code = as_code(tag) if isinstance(kinds.get("type"), SAtom) and tag is not None else None
            wanted = True if code is None else self.universe.symbols.tagged(as_term(code), tags, tuple(fields))
            self.require(implies(where, same(has, _settled(wanted))))
            self.put(part, symbol.fields[name][0], found, conj(where, has))
        for name, (_, has) in value.fields.items():
            if name not in kinds:
                self.require(implies(where, neg(has)))

    def _domain(self, value: Symbolic, keys: Sequence[Value]) -> Term:
        if isinstance(value, Fun | Rec):
            return {*(value.keys if isinstance(value, Fun) else value.fields)} == {*keys}
        listed = sorted(keys)
        return conj(same(value.low, listed[0]), same(value.last, listed[-1])) if listed else False


def _settled(term: Term) -> Term:
    """A proposition with its constants computed."""
    found = z3.simplify(term) if z3.is_expr(term) else term
    return True if z3.is_true(found) else False if z3.is_false(found) else term


def _length(value: Symbolic) -> Term:
    return len(value.keys) if isinstance(value, Fun) else value.high


def _image(value: Symbolic, key: Value) -> Symbolic:
    """The value of a function at a known argument; NOTHING where it has none."""
    if isinstance(value, Arr):
        return value.get(key)
    if isinstance(value, Rec):
        return value.fields.get(key, (NOTHING, False))[0]
    return next((image for own, image in zip(value.keys, value.images, strict=True) if own == key), NOTHING)


@dataclass(frozen=True)
class Instance:
    """An action with its parameters, as the step that it makes and the cells that it changes."""

    step: Step
    enabled: Term
    cells: Cells


class Unrolling:
    """The step relation of a specification, and copies of it and of predicates for the steps of a run."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        # Not by the names with a prime: those are of the choices that an action makes.
        self.next = {name: universe.symbols.make(sort, f"{name}+") for name, sort in universe.sorts.items()}
        self.side: list[Term] = []
        self.pairs = list(self._pairs())
        self.initial = universe.initial()
        self.first = self._cells(self.initial.next)
        self.side += self.initial.evaluator.side
        self.instances: list[Instance] = []
        for action in universe.spec.action_names:
            self.instances += [one for params in universe.instances(action) if (one := self._instance(action, params))]
        self.picked = z3.Int(PICKED)
        self._names: dict[int, dict[str, Any]] = {}

    def _pairs(self) -> Iterator[tuple[Any, Any]]:
        """The cells of a state with those of the next one."""
        for name, sort in self.universe.sorts.items():
            cells = Cells(self.universe)
            cells.put(sort, self.universe.state[name], self.next[name])
            yield from cells.terms

    def _cells(self, values: Mapping[str, Symbolic]) -> Cells:
        found = Cells(self.universe)
        for name, sort in self.universe.sorts.items():
            if values[name] is not self.universe.state[name]:
                found.put(sort, self.universe.state[name], values[name])
        return found

    def _instance(self, action: str, params: Mapping[str, Symbolic]) -> Instance | None:
        step = self.universe.step(action, params)
        errorless = conj(step.errorless, implies(step.guard, step.defined))
        enabled = conj(step.guard, step.defined)
        if enabled is False and errorless is True:
            return None
        cells = self._cells(step.next)
        self.side += step.evaluator.side
        return Instance(step, enabled, cells)

    # Terms over a state and the next one

    def predicate(self, expr: ir.Expr, primed: bool = False) -> Term:
        """A predicate of a state, or with `primed` of a step; false where TLC reports an error."""
        run = self.universe.evaluator(self.universe.state, "claim")
        run.primed = self.next if primed else {}
        found = run.truth(expr, {})[0]
        self.side += run.side
        return found

    def relation(self) -> list[Term]:
        """A step of the instance that is picked."""
        changes: dict[int, list[tuple[int, Term]]] = {}
        parts: list[Term] = [self.picked >= 0, self.picked < len(self.instances)]
        for number, one in enumerate(self.instances):
            parts.append(implies(self.picked == number, one.enabled))
            for cell, term in one.cells.terms:
                changes.setdefault(cell.get_id(), []).append((number, term))
        for cell, following in self.pairs:
            value = cell
            for number, term in reversed(changes.get(cell.get_id(), [])):
                value = z3.If(self.picked == number, as_bool(term) if z3.is_bool(cell) else as_term(term), value)
            parts.append(following == value)
        return parts

    def fits(self) -> Term:
        """The condition that the state after the step has cells."""
        return conj(*(implies(self.picked == at, one.cells.fits) for at, one in enumerate(self.instances)))

    def unchanged(self) -> Term:
        """The condition that a step changes no cell."""
        return conj(*(cell == following for cell, following in self.pairs))

    def failing(self) -> Term:
        """The condition that TLC reports an error when it tries an action in a state."""
        return disj(*(self.fails(one) for one in self.instances))

    @staticmethod
    def fails(one: Instance) -> Term:
        """The same for one instance."""
        step = one.step
        return disj(conj(step.given, neg(step.errorless)), conj(step.guard, neg(step.defined)))

    # Copies

    def at(self, term: Term, step: int) -> Any:
        """A term over a state (and the next one) as that of the state after so many steps (and one more)."""
        term = as_bool(term) if isinstance(term, bool) else as_term(term)
        names = self._names.setdefault(step, {})
        scalars, functions = symbols(term)
        if not names:
            names.update({str(cell): self._copy(cell, step) for cell, _ in self.pairs})
            names.update({str(own): self._copy(cell, step + 1) for cell, own in self.pairs})
        swaps = [(one, names.setdefault(str(one), self._copy(one, step))) for one in scalars]
        found = z3.substitute(term, *swaps) if swaps else term
        renamed = [(one, self._function(one, step)) for one in functions]
        return z3.substitute_funs(found, *renamed) if renamed else found

    @staticmethod
    def _copy(symbol: Any, step: int) -> Any:
        return z3.Const(f"{symbol}@{step}", symbol.sort())

    @staticmethod
    def _function(symbol: Any, step: int) -> Any:
        sorts = [symbol.domain(at) for at in range(symbol.arity())]
        copy = z3.Function(f"{symbol.name()}@{step}", *sorts, symbol.range())
        return copy(*(z3.Var(at, sort) for at, sort in enumerate(sorts)))

    def begins(self) -> Iterator[Any]:
        """The state after no step satisfies Init."""
        yield self.at(conj(self.initial.guard, self.initial.defined), 0)
        yield from self._equal(self.first, 0)

    def state_is(self, state: Mapping[str, Value]) -> Iterator[Any]:
        """The state after no step has these values. Raises Unusable for one that is beyond a capacity."""
        cells = self._cells({name: constant_form(state[name], self.universe.codes) for name in self.universe.sorts})
        if cells.fits is not True:
            raise Unusable(
                "the state from which the search is to begin is beyond a capacity: give a cfg with larger ones"
            )
        yield from self._equal(cells, 0)

    def _equal(self, cells: Cells, step: int) -> Iterator[Any]:
        for cell, term in cells.terms:
            yield self.at(cell, step) == self.at(term, step)
