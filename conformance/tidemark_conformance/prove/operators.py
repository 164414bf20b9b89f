"""TLA+'s own operators on symbolic values, and membership in the sets of TypeOK, which are never listed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import z3

from tidemark_conformance.prove.equality import choice, distinct, elements, member, merged, same, subset
from tidemark_conformance.prove.sets import difference, intersection, subsets, tuples, union
from tidemark_conformance.prove.sorts import sequence
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Atom,
    Filtered,
    Fun,
    Listed,
    Range,
    Rec,
    Symbolic,
    Term,
    UnlistedError,
    as_int,
    at_most,
    below,
    conj,
    disj,
    fresh,
    implies,
    is_fresh,
    kind,
    known,
    neg,
    numbers,
    over,
    settled,
    within,
)
from tidemark_conformance.prove.triggers import quantified
from tidemark_conformance.tla.ir import Expr, If, Let, Mark, Op, RecordSet, SetFilter
from tidemark_conformance.tla.typeok import bounded_sequences, strip, unfolded

if TYPE_CHECKING:
    from tidemark_conformance.prove.terms import Env, Meaning

_SETS = frozenset(["record_set", "function_set", "seq", "nat", "int", "boolean", "string"])


class Operators:
    """The part of the evaluator that knows each operator by its name."""

    value: Callable[[Expr, Any], Meaning]
    truth: Callable[[Expr, Any], tuple[Term, Term]]
    conjunction: Callable[[list[Callable[[], tuple[Term, Term]]]], tuple[Term, Term]]
    disjunction: Callable[[list[Callable[[], tuple[Term, Term]]]], tuple[Term, Term]]
    decided: Callable[[Term], Term]
    implied: Callable[[Term], Term]
    defining: Callable[[], Any]
    most_elements: int | None
    refuse: Callable[..., Exception]
    assuming: Any
    counted: Callable[[Term, int], Term]
    most: Callable[[Term], int | None]
    may_lift: Callable[[str], bool]
    ends_in_capacity: Callable[[Expr], bool]
    begins_in_capacity: Callable[[Expr], bool]
    sensed: Callable[[int], Any]
    reading: str
    side: list[Term]
    bound: list[Any]
    boundaries: dict[tuple[Any, ...], tuple[Term, Term]]
    kept: list[Any]

    def operator(self, name: str, args: tuple[Expr, ...], env: Env) -> Meaning:
        """The value of an operator's application."""
        logical = getattr(self, f"_{name}", None)
        if logical is not None:
            return logical(args, env)  # type: ignore[no-any-return]
        if name in _SETS:
            raise self.refuse(f"the set of this `{name}` as a value", "use it right of \\in only")
        values = [self.value(arg, env) for arg in args]
        ok = conj(*(good for _, good in values))
        if name in _TOTAL:
            return _TOTAL[name](*(value for value, _ in values)), ok
        if name in _RELATIONS:
            return conj(ok, _RELATIONS[name](*(value for value, _ in values))), ok
        found = getattr(self, f"of_{name}", None)
        if found is None:
            raise self.refuse(f"the operator {name}")
        value, good = found(*(value for value, _ in values))
        return value, conj(ok, self.decided(good))

    # Logic

    def _and(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        return self.conjunction([lambda arg=arg: self.truth(arg, env) for arg in args])  # type: ignore[misc]

    def _or(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        return self.disjunction([lambda arg=arg: self.truth(arg, env) for arg in args])  # type: ignore[misc]

    def _not(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        with self.sensed(-1):
            true, ok = self.truth(args[0], env)
        return conj(ok, neg(true)), ok

    def _implies(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        with self.sensed(-1):
            true, ok = self.truth(args[0], env)
        if true is False:
            return ok, ok
        with self.assuming(true):
            then, good = self.truth(args[1], env)
        return conj(ok, implies(true, then)), conj(ok, implies(true, good))

    def _iff(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        with self.sensed(0):
            (a, ok_a), (b, ok_b) = self.truth(args[0], env), self.truth(args[1], env)
        ok = conj(ok_a, ok_b)
        return conj(ok, same(a, b)), ok

    # Membership

    def _in(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        with self.sensed(0):
            item, ok = self.value(args[0], env)
        true, good = self.belongs(item, args[1], env)
        ok = conj(ok, good)
        return conj(ok, true), ok

    def _notin(self, args: tuple[Expr, ...], env: Env) -> tuple[Term, Term]:
        with self.sensed(-1):
            true, ok = self._in(args, env)
        return conj(ok, neg(true)), ok

    def belongs(self, item: Symbolic, expr: Expr, env: Env) -> tuple[Term, Term]:
        """Whether a value is an element of the set that an expression denotes, which need not be listed."""
        match expr:
            case Mark(_, _, body):
                return self.belongs(item, body, env)
            case Let() as let if isinstance(strip(let.body), Op | RecordSet | SetFilter):
                return self.belongs(item, unfolded(let), env)
            case Op("nat", ()):
                return at_most(0, item), True
            case Op("int", ()):
                as_int(item)
                return True, True
            case Op("boolean", ()):
                if item is not NOTHING and kind(item) != "boolean":
                    raise self.refuse("a value of another kind in BOOLEAN", "compare values of one kind")
                return True, True
            case Op("union", (a, b)):
                (x, good_x), (y, good_y) = self.belongs(item, a, env), self.belongs(item, b, env)
                return disj(x, y), conj(good_x, good_y)
            case Op("setminus" | "intersect" as name, (a, b)) if _unlisted(a) or _unlisted(b):
                (x, good_x), (y, good_y) = self.belongs(item, a, env), self.belongs(item, b, env)
                return conj(x, y if name == "intersect" else neg(y)), conj(good_x, good_y)
            case Op("powerset", (inner,)):
                found = [(guard, *self.belongs(element, inner, env)) for guard, element in elements(item)]
                return (
                    conj(*(implies(guard, true) for guard, true, _ in found)),
                    conj(*(good for _, _, good in found)),
                )
            case Op("function_set", (domain, target)):
                return self._of_functions(item, domain, target, env)
            case SetFilter() if (found_ := bounded_sequences(expr)) is not None:
                length, good = self.value(found_[1], env)
                item = as_array(item)
                true, fine = self._elements_in(item, found_[0], env)
                ends = conj(same(item.low, 1), at_most(0, item.last))
                if not (self.may_lift("exists") and self.ends_in_capacity(found_[1])):
                    ends = conj(ends, at_most(item.last, length))
                return conj(ends, true), conj(good, fine)
            case RecordSet(fields):
                return self._of_records(item, dict(fields), env)
            case Op("product", parts):
                item = as_array(item)
                whole = conj(same(item.low, 1), same(item.last, len(parts)))
                if whole is False:
                    return False, True
                each = [self.belongs(item.get(at + 1), part, env) for at, part in enumerate(parts)]
                return conj(whole, *(t for t, _ in each)), conj(*(implies(whole, g) for _, g in each))
            case Op("range", (low, high)):
                (a, ok_a), (b, ok_b) = self.value(low, env), self.value(high, env)
                lift = self.may_lift("exists")
                above = True if lift and self.begins_in_capacity(low) else at_most(a, item)
                below = True if lift and self.ends_in_capacity(high) else at_most(item, b)
                return conj(above, below), conj(ok_a, ok_b)
            case If(condition, then, orelse):
                with self.sensed(0):
                    true, ok = self.truth(condition, env)
                (a, good_a), (b, good_b) = self.belongs(item, then, env), self.belongs(item, orelse, env)
                return choice(true, a, b), conj(ok, choice(true, good_a, good_b))
        domain, ok = self.value(expr, env)
        return member(item, domain), ok

    def _of_functions(self, item: Symbolic, domain: Expr, target: Expr, env: Env) -> tuple[Term, Term]:
        keys, ok = self.value(domain, env)
        if item is NOTHING or kind(item) != "function":
            raise self.refuse("a value that is no function in a set of functions", "compare values of one kind")
        if isinstance(item, Rec) and isinstance(keys, Listed):
            names = [form.value for guard, form in keys.items if guard is True and isinstance(form, Atom)]
            if len(names) < len(keys.items):
                raise self.refuse("a record as a function over a set that is not known", "name the keys")
            if not set(names) <= set(item.fields):
                return False, ok
            here = [has if name in names else neg(has) for name, (_, has) in item.fields.items()]
            found = [self.belongs(item.fields[name][0], target, env) for name in names]
            return conj(*here, *(t for t, _ in found)), conj(ok, *(g for _, g in found))
        if isinstance(item, Fun):
            images = [self.belongs(image, target, env) for image in item.images]
            whole = same(Listed(tuple((True, form) for form in item.forms)), keys)
            return conj(whole, *(t for t, _ in images)), conj(ok, *(g for _, g in images))
        if isinstance(item, Arr):
            true, good = self._elements_in(item, target, env)
            return conj(same_domain(item, keys), true), conj(ok, good)
        raise self.refuse("a record in a set of functions", "use a set of records")

    def _elements_in(self, item: Arr, target: Expr, env: Env) -> tuple[Term, Term]:
        base = item.domain if self.reading == "free" else item.domain.exact
        goods: list[Term] = []

        def belongs(i: Term) -> Term:
            true, good = self.belongs(item.get(i), target, env)
            goods.append(good)
            return true

        true = over(base, belongs)
        if any(good is not True for good in goods):
            raise self.refuse("a set of TypeOK that may not exist", "use constant sets")
        return true, True

    def _of_records(self, item: Symbolic, fields: dict[str, Expr], env: Env) -> tuple[Term, Term]:
        if isinstance(item, Fun) and all(isinstance(key, str) for key in item.keys):
            item = Rec({str(key): (image, True) for key, image in zip(item.keys, item.images, strict=True)})
        if not isinstance(item, Rec):
            raise self.refuse("a value that is no record in a set of records", "compare values of one kind")
        parts: list[Term] = [neg(has) for name, (_, has) in item.fields.items() if name not in fields]
        goods: list[Term] = []
        for name, expr in fields.items():
            if name not in item.fields:
                return False, True
            value, has = item.fields[name]
            true, good = self.belongs(value, expr, env)
            parts += [has, true]
            goods.append(good)
        return conj(*parts), conj(*goods)

    # Functions and sequences

    def range(self, low: Expr, high: Expr, lift: bool, env: Env) -> Meaning:
        """low..high, without end where its text ends in a lifted capacity and `lift` says so."""
        (first, ok), (last, good) = self.value(low, env), self.value(high, env)
        first, last = settled(as_int(first)), as_int(last)
        if lift and self.ends_in_capacity(high):
            return Range(first, None, None, settled(last)), conj(ok, good)
        return Range(first, settled(last), self.most(last)), conj(ok, good)

    def of_cardinality(self, value: Symbolic) -> Meaning:
        base = value.base if isinstance(value, Filtered) else value
        if isinstance(base, Range) and numbers(base) is None:
            return self._boundary(value), True
        items = elements(value)
        return self.counted(distinct(value), len(items)), True

    def _boundary(self, value: Symbolic) -> Term:
        """How many elements {k \\in low..high : P(k)} has, where P holds up to some k and not after it.

        The term is fresh: at least 0, and at most all of them. An axiom asks that it is that k's place if P is such.
        """
        base = value if isinstance(value, Range) else value.base
        if base.high is None:
            raise self.refuse("the number of elements of an infinite set", "count elements of a..b")
        size = choice(at_most(base.low, base.high), settled(base.high - base.low + 1), 0)
        if isinstance(value, Range):
            return size
        probe = z3.Int("probe!")
        asked = value.holds(probe)[0]
        self.kept.append(asked)
        self.kept += [base.low, base.high]
        key = tuple(one.get_id() if z3.is_expr(one) else (type(one), one) for one in (base.low, base.high, asked))
        found = self.boundaries.get(key)
        if found is not None:
            if not any(found[1] is one for one in self.side):
                self.side.append(found[1])
            return found[0]
        name = f"count#{len(self.boundaries)}"
        bound = [*self.bound, *_others(self.bound, (base.low, base.high, asked))]
        sorts = [one.sort() for one in bound]
        count = z3.Function(name, *sorts, z3.IntSort())(*bound) if sorts else z3.Int(name)
        last = base.low - 1 + count
        j, k = fresh("j"), fresh("k")
        hold: Callable[[Term], Term] = lambda one: value.holds(one)[0]  # noqa: E731
        inside = conj(*within(k, base))
        ordered = z3.ForAll([j, k], implies(conj(at_most(base.low, j), j <= k, inside, hold(k)), hold(j)))
        upto = quantified((k,), implies(conj(inside, k <= last), hold(k)))
        after = quantified((k,), implies(conj(inside, k > last), neg(hold(k))))
        axiom = conj(count >= 0, at_most(count, size), implies(ordered, conj(upto, after)))
        axiom = z3.ForAll(bound, axiom) if sorts else axiom
        self.boundaries[key] = (count, axiom)
        self.side.append(axiom)
        return count

    def of_len(self, value: Symbolic) -> Meaning:
        if value is NOTHING:
            return 0, False
        value = as_array(value)
        if value.cap is not None and z3.is_expr(value.high):
            self.counted(value.high, value.cap)
        return value.last, same(value.low, 1)

    def of_append(self, value: Symbolic, item: Symbolic) -> Meaning:
        value = as_array(value)
        end = settled(value.last + 1)
        cap = None if value.cap is None else value.cap + 1

        def get(i: Term) -> Symbolic:
            return item if known(value.high) and value.high == 0 else choice(same(i, end), item, value.get(i))

        return Arr(1, end, get, cap, ordered=True), same(value.low, 1)

    def of_concat(self, a: Symbolic, b: Symbolic) -> Meaning:
        a, b = as_array(a), as_array(b)
        end = settled(a.last + b.last)
        cap = None if a.cap is None or b.cap is None else a.cap + b.cap

        def get(i: Term) -> Symbolic:
            inside = at_most(i, a.last)
            if inside is True or (known(b.high) and b.high == 0):
                return a.get(i)
            if inside is False or (known(a.high) and a.high == 0):
                return b.get(settled(i - a.last))
            return choice(inside, a.get(i), b.get(settled(i - a.last)))

        return Arr(1, end, get, cap, ordered=True), conj(same(a.low, 1), same(b.low, 1))

    def of_head(self, value: Symbolic) -> Meaning:
        value = as_array(value)
        return value.get(1), conj(same(value.low, 1), at_most(1, value.last))

    def of_tail(self, value: Symbolic) -> Meaning:
        value = as_array(value)
        end = settled(value.last - 1)
        ok = conj(same(value.low, 1), at_most(1, value.last))
        return Arr(1, end, lambda i: value.get(settled(i + 1)), value.cap, ordered=True), ok

    def of_subseq(self, value: Symbolic, first: Symbolic, last: Symbolic) -> Meaning:
        value, first, last = as_array(value), as_int(first), as_int(last)
        some = at_most(first, last)
        ordered = self.implied(at_most(settled(first - 1), last)) is True
        length = settled(choice(True if ordered else some, settled(last - first + 1), 0))
        caps = [cap for cap in (value.cap, self.most(last) if known(first) and first == 1 else None) if cap is not None]
        cap = min(caps) if caps else None
        before = self.most(length)
        if cap is not None and z3.is_expr(length) and (before is None or before > cap):
            length = self.counted(choice(at_most(length, cap), length, cap), cap)
        shift = settled(first - 1)
        good = conj(same(value.low, 1), implies(some, conj(at_most(1, first), at_most(last, value.last))))
        return Arr(1, length, lambda i: value.get(settled(i + shift)), cap, ordered=True), good

    def of_domain(self, value: Symbolic) -> Meaning:
        if isinstance(value, Fun):
            return Listed(tuple((True, form) for form in value.forms)), True
        if isinstance(value, Arr):
            return (value.domain if self.reading == "free" else value.domain.exact), True
        raise self.refuse("the DOMAIN of a record", "name the fields")

    def of_bigunion(self, value: Symbolic) -> Meaning:
        found = [(conj(guard, inner), item) for guard, part in elements(value) for inner, item in elements(part)]
        return merged(found), True

    def of_powerset(self, value: Symbolic) -> Meaning:
        return subsets(value), True

    def of_product(self, *values: Symbolic) -> Meaning:
        return tuples(values), True

    def of_isfiniteset(self, value: Symbolic) -> Meaning:
        return True, True

    def of_div(self, a: Symbolic, b: Symbolic) -> Meaning:
        if known(a) and known(b):
            return (a // b, True) if b > 0 else (0, False)
        return (a / b, True) if known(b) and b > 0 else self._refuse_division()

    def of_mod(self, a: Symbolic, b: Symbolic) -> Meaning:
        if known(a) and known(b):
            return (a % b, True) if b > 0 else (0, False)
        return (a % b, True) if known(b) and b > 0 else self._refuse_division()

    def _refuse_division(self) -> Meaning:
        raise self.refuse("a division by a number that is not a positive constant", "divide by a constant")


def as_array(value: Symbolic) -> Arr:
    """A function over listed numbers as one over a range. Raises UnlistedError for another value."""
    if isinstance(value, Arr):
        return value
    if value is NOTHING:
        return Arr(1, 0, lambda i: NOTHING, 0)
    if isinstance(value, Fun) and all(type(key) is int for key in value.keys):
        images = dict(zip(value.keys, value.images, strict=True))
        low = min(images, default=1)
        if sorted(images) == list(range(low, low + len(images))):
            cells = sequence([images[key] for key in sorted(images)])
            return Arr(low, low + len(images) - 1, lambda i: cells.get(settled(as_int(i) - low + 1)), len(images))
    raise UnlistedError("a value that is no sequence where one is needed")


def same_domain(item: Arr, keys: Symbolic) -> Term:
    """The proposition that these are the indices. A domain without end is only that of a function without end."""
    if isinstance(keys, Range) and keys.high is None:
        return conj(same(item.low, keys.low), same(item.end, keys.end)) if item.high is None else False
    if isinstance(keys, Range):
        return disj(
            conj(same(item.low, keys.low), same(item.last, keys.exact.high)),
            conj(below(item.last, item.low), below(keys.exact.high, keys.low)),
        )
    listed = elements(keys)
    if any(guard is not True or type(one) is not int for guard, one in listed):
        raise UnlistedError("the comparison of a function's domain with a set that depends on the state")
    found = {one for _, one in listed}
    low = min(found, default=1)
    if found != set(range(low, low + len(found))):
        return False
    if not found:
        return below(item.last, item.low)
    return conj(same(item.low, low), same(item.last, low + len(found) - 1))


def _others(bound: list[Any], terms: tuple[Term, ...]) -> list[Any]:
    """The bound variables in these terms that are not among `bound`."""
    seen = {one.get_id() for one in bound}
    found: list[Any] = []
    waiting = [one for one in terms if z3.is_expr(one)]
    while waiting:
        node = waiting.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if is_fresh(node):
            found.append(node)
        waiting += node.children() if z3.is_app(node) else [node.body()] if z3.is_quantifier(node) else []
    return sorted(found, key=str)


def _product(*sets: Symbolic) -> Listed:
    """The tuples of the elements of sets that can be listed."""
    rows = itertools.product(*map(elements, sets))
    return Listed(tuple((conj(*(true for true, _ in row)), sequence([item for _, item in row])) for row in rows))


def _unlisted(expr: Expr) -> bool:
    """Whether a text is a set that has no value here, only elements."""
    inner = strip(expr)
    if isinstance(inner, Op) and inner.name in ("union", "setminus", "intersect"):
        return any(map(_unlisted, inner.args))
    return isinstance(inner, RecordSet) or (isinstance(inner, Op) and inner.name in (*_SETS, "powerset"))


_TOTAL: dict[str, Callable[..., Symbolic]] = {
    "add": lambda a, b: settled(as_int(a) + as_int(b)),
    "sub": lambda a, b: settled(as_int(a) - as_int(b)),
    "mul": lambda a, b: settled(as_int(a) * as_int(b)),
    "neg": lambda a: settled(-as_int(a)),
    "product": _product,
    "union": union,
    "intersect": intersection,
    "setminus": difference,
}
_RELATIONS: dict[str, Callable[..., Term]] = {
    "eq": same,
    "ne": lambda a, b: neg(same(a, b)),
    "lt": below,
    "le": at_most,
    "gt": lambda a, b: below(b, a),
    "ge": lambda a, b: at_most(b, a),
    "subseteq": subset,
}
