r"""The variables that a step must change to break an action property, as far as its form tells.

`\A b : epoch'[b] = epoch[b] => \A m : new.state # old.state => ...` holds of a step that leaves the states as they are,
even if it changes anything else. So does `\A c : rpc[c].type = "sent" /\ rpc'[c].type = "answered" => ...` of one that
leaves rpc[c]. The expressions evaluated of such a step must have a value: an evaluation error breaks the property. A
form that tells nothing costs time only: such a conjunct is asked of every step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidemark_conformance.tla.ir import (
    OPERATORS,
    Binder,
    Case,
    Choose,
    Except,
    Expr,
    Fold,
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
from tidemark_conformance.tla.kernels import alike, choose
from tidemark_conformance.tla.kernels.increments import Readings, readings
from tidemark_conformance.tla.kernels.kinds import Kinds
from tidemark_conformance.tla.types import Type
from tidemark_conformance.tla.walk import children, inside, mentioned, strip, walk

_Facts = tuple[tuple[Expr, frozenset[str]], ...]
"""Expressions, each with the literals of which one is its value."""

_NOTHING = Readings(frozenset(), frozenset())

_TOTAL = OPERATORS - {"apply", "div", "mod", "head", "tail", "subseq"}
"""Operators that have a value of all operands for which they are meant."""


def needed(kinds: Kinds, expr: Expr, definitions: Mapping[int, Expr], uid: int | None = None) -> Readings | None:
    """The variables that a step must change to make a property false, or an error. None: any step may, as far as its
    form tells.

    `definitions`: LET definitions around it; `uid`: the identifier that may index (as in `readings`).
    """
    return _Steps(kinds, expr, definitions, uid).holds(expr, ())


class _Steps:
    """Steps that leave as they are the variables of an answer. Of those an expression is certainly true, false, empty,
    or has a value at all.

    An answer of None: of no such steps. `facts` hold in the state and in the next state.
    """

    def __init__(self, kinds: Kinds, expr: Expr, definitions: Mapping[int, Expr], uid: int | None) -> None:
        self._kinds = kinds
        self._definitions = dict(definitions)
        self._domains = {
            binder.uid: binder.domain
            for around in (expr, *definitions.values())
            for node in walk(around)
            for binder in inside(node)
            if isinstance(binder, Binder)
        }
        self._uid = uid
        self._forms: dict[int, tuple[Expr, str]] = {}
        self._values: dict[int, tuple[Expr, Readings | None]] = {}

    def holds(self, expr: Expr, facts: _Facts) -> Readings | None:
        """The variables for an expression to be true where the facts are."""
        match self._seen_through(expr):
            case Lit(True, "bool"):
                return _NOTHING
            case Op("and", args):
                return _all(self.holds(arg, facts) for arg in args)
            case Op("or", args):
                before = (map(self.valued, args[:at]) for at in range(len(args)))
                return _least(_all([*known, self.holds(arg, facts)]) for known, arg in zip(before, args, strict=True))
            case Op("implies", (condition, then)):
                follows = self.holds(then, (*facts, *self._says(condition)))
                return _least([self.falls(condition, facts), _all([self.valued(condition), follows])])
            case Op("not", (inner,)):
                return self.falls(inner, facts)
            case Op("eq" | "le" | "ge" | "subseteq" | "iff", (a, b)) if self._form(a) == self._form(b):
                return _all([self._read(a), self.valued(a), self.valued(b)])
            case Quant("forall", binders, body):
                return self._without_members(binders, self.holds(body, facts))
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
                for at, arg in enumerate(args):
                    found.append(_all([*map(self.valued, args[:at]), self.falls(arg, facts)]))
                    facts = (*facts, *self._says(arg))
                return _least(found)
            case Op("or", args):
                return _all(self.falls(arg, facts) for arg in args)
            case Op("not", (inner,)):
                return self.holds(inner, facts)
            case Op("ne" | "lt" | "gt", (a, b)) if self._form(a) == self._form(b):
                return _all([self._read(a), self.valued(a), self.valued(b)])
            case Op("eq" | "in") as claim:
                empty = self._empty(claim.args[1]) if claim.name == "in" else None
                denied = _least(self._denied(about, literals, facts) for about, literals in self._says(claim))
                return _all([_least([empty, denied]), *map(self.valued, claim.args)])
            case Quant("exists", binders, body):
                return self._without_members(binders, self.falls(body, facts))
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
        either = _all([self.valued(condition), then, orelse])
        return _least([either, _all([first, then]), _all([second, orelse])])

    def _without_members(self, binders: Sequence[Binder], of_each: Readings | None) -> Readings | None:
        """The variables for a quantifier, by those for each instance: as many, or those for it to have none."""
        domains = [binder.domain for binder in binders]
        return _all([_least([of_each, *map(self._empty, domains)]), *map(self.valued, domains)])

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
                none = _least([self._empty(a), self._read(a) if self._form(a) in self._within(b) else None])
                return _all([none, self.valued(a), self.valued(b)])
            case Op("intersect", args):
                return _all([_least(map(self._empty, args)), *map(self.valued, args)])
            case Op("union", args):
                return _all(map(self._empty, args))
            case SetFilter(binder, body):
                return self._without_members([binder], self.falls(body, ()))
        return None

    def valued(self, expr: Expr) -> Readings | None:
        """The variables on which it depends whether an expression has a value at all, rather than an evaluation
        error."""
        inner = self._seen_through(expr)
        known = self._values.get(id(inner))
        if known is None or known[0] is not inner:
            known = self._values[id(inner)] = inner, self._valued(inner)
        return known[1]

    def _valued(self, inner: Expr) -> Readings | None:
        match inner:
            case Op("apply", (function, key)):
                return _all([self._in_domain(function, key), self.valued(function), self.valued(key)])
            case Op(name, args) if name in _TOTAL:
                return _all(map(self.valued, args))
            case Choose(binder, _) if choose.extreme(inner) is not None:
                return self.valued(binder.domain) if choose.has_elements(binder.domain, self._seen_through) else None
            case Case(_, None) | Choose() | Fold() | Except() | Op():
                constant = mentioned(inner).constant and self._kinds.of_constant(inner) is not None
                return _NOTHING if constant else None
        return _all(map(self.valued, children(inner)))

    def _in_domain(self, function: Expr, key: Expr) -> Readings | None:
        """The variables for a function to be applicable to a key; that of a sequence, to `i` of `1..Len(s)`."""
        if self._kinds.has(self._kind(function), self._seen_through(key), self._kind(key)):
            return _NOTHING
        match self._seen_through(key):
            case Local(uid, _) if uid in self._domains:
                match self._seen_through(self._domains[uid]):
                    case Op("range", (first, last)) if self._seen_through(first) == Lit(1, "int"):
                        match self._seen_through(last):
                            case Op("len", (sequence,)) if self._form(sequence) == self._form(function):
                                same = self._seen_through(sequence) == self._seen_through(function)
                                return _NOTHING if same else self._read(function)
        return None

    def _kind(self, expr: Expr) -> Type | None:
        return self._kinds.of(expr, self._seen_through, self._domains)

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
