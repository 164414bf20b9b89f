r"""What a step must change to break an action property, as far as its form tells.

`\A b : epoch'[b] = epoch[b] => \A m : new.state # old.state => ...` holds of a step that leaves the states as they are,
whatever else it changes; so does `\A c : rpc[c].type = "sent" /\ rpc'[c].type = "answered" => ...` of one that leaves
rpc[c]. A form that tells nothing costs time only: such a conjunct is asked of every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidemark_conformance.tla.ir import (
    Expr,
    If,
    Let,
    Lit,
    Local,
    Mark,
    Op,
    Quant,
    RuleGuard,
    SetEnum,
    SetFilter,
    Unchanged,
)
from tidemark_conformance.tla.kernels import alike
from tidemark_conformance.tla.kernels.increments import Readings, readings
from tidemark_conformance.tla.walk import strip

_Facts = tuple[tuple[Expr, frozenset[str]], ...]
"""Expressions, each with the literals of which one is its value."""

_NOTHING = Readings(frozenset(), frozenset())


def needed(expr: Expr, definitions: Mapping[int, Expr], uid: int | None = None) -> Readings | None:
    """What a step must change to make a property false; None: any step may, as far as its form tells.

    `definitions`: LET definitions around it; `uid`: the identifier that may index (as in `readings`).
    """
    return _Steps(definitions, uid).holds(expr, ())


class _Steps:
    """Steps that leave as they are the variables of an answer: of those an expression is certainly true, false, empty.

    An answer of None: of no such steps. `facts` hold in the state and in the next state.
    """

    def __init__(self, definitions: Mapping[int, Expr], uid: int | None) -> None:
        self._definitions = dict(definitions)
        self._uid = uid
        self._forms: dict[int, tuple[Expr, str]] = {}

    def holds(self, expr: Expr, facts: _Facts) -> Readings | None:
        """The variables for an expression to be true where the facts are."""
        match self._seen_through(expr):
            case Lit(True, "bool"):
                return _NOTHING
            case Op("and", args):
                return _all(self.holds(arg, facts) for arg in args)
            case Op("or", args):
                return _least(self.holds(arg, facts) for arg in args)
            case Op("implies", (condition, then)):
                return _least([self.falls(condition, facts), self.holds(then, (*facts, *self._says(condition)))])
            case Op("not", (inner,)):
                return self.falls(inner, facts)
            case Op("eq" | "le" | "ge" | "subseteq" | "iff", (a, b)) if self._form(a) == self._form(b):
                return self._read(a)
            case Quant("forall", binders, body):
                return _least([self.holds(body, facts), *(self._empty(binder.domain) for binder in binders)])
            case If(condition, then, orelse):
                branches = self.holds(then, facts), self.holds(orelse, facts)
                return self._decided(condition, *branches, facts)
            case RuleGuard(_, "implies", predicate):
                return self.holds(predicate, facts)
            case Unchanged(names):
                return Readings(frozenset(names), frozenset())
        return None

    def falls(self, expr: Expr, facts: _Facts) -> Readings | None:
        """The variables for an expression to be false where the facts are true."""
        match self._seen_through(expr):
            case Lit(False, "bool"):
                return _NOTHING
            case Op("and", args):
                found: list[Readings | None] = []
                for arg in args:
                    found.append(self.falls(arg, facts))
                    facts = (*facts, *self._says(arg))
                return _least(found)
            case Op("or", args):
                return _all(self.falls(arg, facts) for arg in args)
            case Op("not", (inner,)):
                return self.holds(inner, facts)
            case Op("ne" | "lt" | "gt", (a, b)) if self._form(a) == self._form(b):
                return self._read(a)
            case Op("eq" | "in") as claim:
                empty = self._empty(claim.args[1]) if claim.name == "in" else None
                return _least([empty, *(self._denied(about, literals, facts) for about, literals in self._says(claim))])
            case Quant("exists", binders, body):
                return _least([self.falls(body, facts), *(self._empty(binder.domain) for binder in binders)])
            case If(condition, then, orelse):
                branches = self.falls(then, facts), self.falls(orelse, facts)
                return self._decided(condition, *branches, facts)
            case RuleGuard(_, "and", predicate):
                return self.falls(predicate, facts)
        return None

    def _decided(
        self, condition: Expr, then: Readings | None, orelse: Readings | None, facts: _Facts
    ) -> Readings | None:
        """The variables for a choice, by those of its branches: of both, or of the one that is certainly taken."""
        first, second = self.holds(condition, facts), self.falls(condition, facts)
        return _least([_all([then, orelse]), _all([first, then]), _all([second, orelse])])

    def _denied(self, about: Expr, literals: frozenset[str], facts: _Facts) -> Readings | None:
        """The variables for an expression to be none of some literals, as a fact says that it is another."""
        form = self._form(about)
        denied = any(form == self._form(known) and not literals & values for known, values in facts)
        return self._read(about) if denied else None

    def _says(self, expr: Expr) -> _Facts:
        """The facts that an expression states if it is true."""
        match self._seen_through(expr):
            case Op("and", args):
                return tuple(fact for arg in args for fact in self._says(arg))
            case Op("eq", (a, b)):
                return tuple((x, frozenset([repr(strip(y))])) for x, y in ((a, b), (b, a)) if isinstance(strip(y), Lit))
            case Op("in", (a, collection)):
                match self._seen_through(collection):
                    case SetEnum(items) if all(isinstance(strip(item), Lit) for item in items):
                        return ((a, frozenset(repr(strip(item)) for item in items)),)
        return ()

    def _empty(self, expr: Expr) -> Readings | None:
        """The variables for a set to be empty."""
        match self._seen_through(expr):
            case SetEnum(()):
                return _NOTHING
            case Op("setminus", (a, b)):
                return _least([self._empty(a), self._read(a) if self._form(a) in self._within(b) else None])
            case Op("intersect", args):
                return _least(map(self._empty, args))
            case Op("union", args):
                return _all(map(self._empty, args))
            case SetFilter(binder, body):
                return _least([self._empty(binder.domain), self.falls(body, ())])
        return None

    def _within(self, expr: Expr) -> set[str]:
        """The forms of sets that are subsets of a set."""
        inner = self._seen_through(expr)
        found = {self._form(inner)}
        if isinstance(inner, Op) and inner.name == "union":
            found = found.union(*map(self._within, inner.args))
        return found

    def _seen_through(self, expr: Expr) -> Expr:
        """An expression without marks, definitions and names of definitions around it."""
        while True:
            match expr:
                case Mark(_, _, body):
                    expr = body
                case Let(uid, _, value, body):
                    self._definitions[uid] = value
                    expr = body
                case Local(uid, _) if uid in self._definitions:
                    expr = self._definitions[uid]
                case _:
                    return expr

    def _form(self, expr: Expr) -> str:
        known = self._forms.get(id(expr))
        if known is None or known[0] is not expr:
            known = expr, alike.text(alike.unprimed(expr, self._definitions), {})
            self._forms[id(expr)] = known
        return known[1]

    def _read(self, expr: Expr) -> Readings:
        return readings(expr, self._definitions, self._uid)


def _all(answers: Iterable[Readings | None]) -> Readings | None:
    """The variables of all answers."""
    whole: frozenset[str] = frozenset()
    indexed: frozenset[str] = frozenset()
    for answer in answers:
        if answer is None:
            return None
        whole |= answer.whole
        indexed |= answer.indexed
    return Readings(whole, indexed - whole)


def _least(answers: Iterable[Readings | None]) -> Readings | None:
    """The answer with the fewest variables, those that any change concerns counted first."""
    found = [answer for answer in answers if answer is not None]
    return min(found, key=lambda answer: (len(answer.whole), len(answer.indexed)), default=None)
