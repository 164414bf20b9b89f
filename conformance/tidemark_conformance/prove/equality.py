"""Equality of symbolic values, IF between them, and sets of them: of any shape, however each is written."""

from __future__ import annotations

from collections.abc import Iterable

import z3

from tidemark_conformance.prove.terms import (
    KINDS,
    NOTHING,
    Arr,
    Atom,
    Coded,
    Filtered,
    Fun,
    Listed,
    Range,
    Rec,
    Symbolic,
    Term,
    UnlistedError,
    as_code,
    as_int,
    as_term,
    below,
    compared,
    conj,
    disj,
    implies,
    is_set,
    kind,
    known,
    neg,
    numbers,
    over,
    total,
    within,
)
from tidemark_conformance.tla.values import ModelValue


def same(a: Symbolic, b: Symbolic) -> Term:
    """The proposition a = b. Raises UnlistedError for shapes that have no term for it."""
    if a is b:
        return True
    if a is NOTHING or b is NOTHING:
        return False
    if kind(a) != kind(b):
        if any(isinstance(one, Atom) and isinstance(one.value, ModelValue) for one in (a, b)):
            return False
        raise UnlistedError(f"the comparison of {KINDS[kind(a)]} with {KINDS[kind(b)]}")
    if is_set(a):
        return conj(subset(a, b), subset(b, a))
    if isinstance(a, Rec) and isinstance(b, Rec):
        return conj(*(_same_field(a, b, name) for name in sorted({*a.fields, *b.fields})))
    if isinstance(a, Fun) and isinstance(b, Fun):
        mine, other = _images(a), _images(b)
        return conj(*(same(image, other[key]) for key, image in mine.items())) if set(mine) == set(other) else False
    if isinstance(a, Arr) and isinstance(b, Arr):
        return _same_arrays(a, b)
    if isinstance(a, Fun | Arr) and isinstance(b, Fun | Arr):
        fun, arr = (a, b) if isinstance(a, Fun) else (b, a)
        return _same_listed(fun, arr)  # type: ignore[arg-type]
    if isinstance(a, Rec | Fun) and isinstance(b, Rec | Fun):
        return _same_keyed(a, b) if isinstance(a, Rec) else _same_keyed(b, a)  # type: ignore[arg-type]
    if isinstance(a, Rec | Fun | Arr):
        raise UnlistedError("the comparison of a record with a sequence")
    if isinstance(a, Atom | Coded):
        a, b = as_code(a), as_code(b)
    elif not isinstance(a, bool) and not isinstance(b, bool) and kind(a) == "number":
        a, b = as_int(a), as_int(b)
    if known(a) and known(b):
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        flag, term = (a, b) if isinstance(a, bool) else (b, a)
        return term if flag else neg(term)
    if z3.is_expr(a) and z3.is_expr(b) and a.eq(b):
        return True
    return compared(z3.Z3_mk_eq, a, b) if z3.is_expr(a) else compared(z3.Z3_mk_eq, b, a)


def _images(fun: Fun) -> dict[object, Symbolic]:
    """The images by what equal keys share."""
    return {key_of(form): image for form, image in zip(fun.forms, fun.images, strict=True)}


def _same_field(a: Rec, b: Rec, name: str) -> Term:
    if name not in a.fields or name not in b.fields:
        return neg((a.fields.get(name) or b.fields[name])[1])
    (x, has_x), (y, has_y) = a.fields[name], b.fields[name]
    return conj(same(has_x, has_y), implies(has_x, same(x, y)))


def _same_keyed(record: Rec, fun: Fun) -> Term:
    """A record is a function over the names of its fields."""
    images = dict(zip(fun.keys, fun.images, strict=True))
    if not set(images) <= set(record.fields):
        return False
    parts = (
        conj(has, same(value, images[name])) if name in images else neg(has)
        for name, (value, has) in record.fields.items()
    )
    return conj(*parts)


def _same_arrays(a: Arr, b: Arr) -> Term:
    """Functions over ranges are equal where these are, and the images; all functions over an empty range are."""
    ends = conj(same(a.low, b.low), same(a.last, b.last))
    alike: Term = False
    if ends is not False:
        alike = conj(ends, over(Range(a.low, a.last, _end(a, b)), lambda i: same(a.get(i), b.get(i))))
    if ends is True or (same(a.low, b.low) is True and _ordered(a) and _ordered(b)):
        return alike
    return disj(alike, conj(below(a.last, a.low), below(b.last, b.low)))


def _ordered(arr: Arr) -> bool:
    """Whether the end is known to be no less than the number before the start, as of a sequence."""
    return arr.ordered or (known(arr.low) and known(arr.last) and arr.last >= arr.low - 1)


def _end(a: Arr, b: Arr) -> int | None:
    caps = [arr.cap for arr in (a, b) if arr.cap is not None]
    return min(caps) if caps and a.low == 1 else None


def _same_listed(fun: Fun, arr: Arr) -> Term:
    keys = sorted(fun.keys) if all(type(key) is int for key in fun.keys) else None
    if keys is None or keys != list(range(keys[0] if keys else 1, (keys[-1] if keys else 0) + 1)):
        return False
    if not keys:
        return below(arr.last, arr.low)
    images = dict(zip(fun.keys, fun.images, strict=True))
    ends = conj(same(arr.low, keys[0]), same(arr.last, keys[-1]))
    return conj(ends, *(same(arr.get(key), images[key]) for key in keys)) if ends is not False else False


def choice(condition: Term, a: Symbolic, b: Symbolic) -> Symbolic:
    """IF condition THEN a ELSE b."""
    if condition is True or a is b or b is NOTHING:
        return a
    if condition is False or a is NOTHING:
        return b
    if isinstance(a, Range) and isinstance(b, Range):
        low = choice(condition, a.low, b.low)
        if a.high is None and b.high is None and same(a.end, b.end) is True:
            return Range(low, None, None, a.end)
        a, b = a.exact, b.exact
        cap = None if a.cap is None or b.cap is None else max(a.cap, b.cap)
        return Range(low, choice(condition, a.high, b.high), cap)
    if kind(a) != kind(b):
        raise UnlistedError(f"an IF that gives {KINDS[kind(a)]} or {KINDS[kind(b)]}")
    if unlisted(a) is not None and b == Listed(()):
        return filtered(a, condition)
    if unlisted(b) is not None and a == Listed(()):
        return filtered(b, neg(condition))
    if is_set(a) or is_set(b):
        left = [(conj(condition, guard), item) for guard, item in elements(a)]
        right = [(conj(neg(condition), guard), item) for guard, item in elements(b)]
        return merged([*left, *right])
    if isinstance(a, Rec) and isinstance(b, Rec):
        return Rec({name: _chosen_field(condition, a, b, name) for name in sorted({*a.fields, *b.fields})})
    if isinstance(a, Fun) and isinstance(b, Fun) and set(_images(a)) == set(_images(b)):
        other = _images(b)
        images = (choice(condition, image, other[key]) for key, image in _images(a).items())
        return Fun(a.keys, a.forms, tuple(images))
    if isinstance(a, Fun | Arr) and isinstance(b, Fun | Arr) and isinstance(a, Fun) != isinstance(b, Fun):
        a, b = listed_like(a, b), listed_like(b, a)
        return choice(condition, a, b)
    if isinstance(a, Arr) and isinstance(b, Arr):
        if (a.high is None) != (b.high is None) or (a.high is None and same(a.end, b.end) is not True):
            raise UnlistedError("an IF that gives functions over ranges with unlike capacities")
        high = None if a.high is None else choice(condition, a.high, b.high)
        cap = None if a.cap is None or b.cap is None else max(a.cap, b.cap)
        low, ordered = choice(condition, a.low, b.low), _ordered(a) and _ordered(b)
        return Arr(low, high, lambda i: choice(condition, a.get(i), b.get(i)), cap, a.end, ordered)
    if isinstance(a, Rec | Fun | Arr):
        raise UnlistedError("an IF that gives functions with unlike domains")
    if isinstance(a, Atom | Coded):
        if same(a, b) is True:
            return a
        return Coded(z3.If(condition, as_term(as_code(a)), as_term(as_code(b))))
    if known(a) and known(b) and type(a) is type(b) and a == b:
        return a
    if isinstance(a, bool) or isinstance(b, bool):
        return disj(conj(condition, a), conj(neg(condition), b))
    if kind(a) == "number":
        a, b = as_int(a), as_int(b)
    if z3.is_expr(a) and z3.is_expr(b) and a.eq(b):
        return a
    return z3.If(condition, as_term(a), as_term(b))


def unlisted(value: Symbolic) -> Range | None:
    """The range of a set of numbers that cannot be listed, None for another value."""
    base = value.base if isinstance(value, Filtered) else value
    return base if isinstance(base, Range) and numbers(base) is None else None


def filtered(value: Range | Filtered, condition: Term) -> Filtered:
    """A set of numbers where a condition holds, else the empty set."""
    own = value.holds if isinstance(value, Filtered) else lambda k: (True, True)
    base = value.base if isinstance(value, Filtered) else value
    return Filtered(base, lambda k: (conj(condition, own(k)[0]), implies(condition, own(k)[1])))


def listed_like(value: Fun | Arr, other: Fun | Arr) -> Fun:
    """A function over the known numbers that are the keys of `other`, listed as that is."""
    if isinstance(value, Fun):
        return value
    if isinstance(other, Fun) and type(value.low) is int and type(value.high) is int:
        keys = [form if type(form) is int else None for form in other.forms]
        if keys == list(range(value.low, value.high + 1)):
            return Fun(other.keys, other.forms, tuple(value.get(key) for key in keys))
    raise UnlistedError("an IF that gives functions with unlike domains")


def _chosen_field(condition: Term, a: Rec, b: Rec, name: str) -> tuple[Symbolic, Term]:
    if name not in a.fields:
        value, has = b.fields[name]
        return value, conj(neg(condition), has)
    if name not in b.fields:
        value, has = a.fields[name]
        return value, conj(condition, has)
    (x, has_x), (y, has_y) = a.fields[name], b.fields[name]
    return choice(condition, x, y), choice(condition, has_x, has_y)


def merged(items: Iterable[tuple[Term, Symbolic]]) -> Listed:
    """A set of (condition, element) pairs, equal known elements put together, false ones left out."""
    found: dict[object, tuple[Term, Symbolic]] = {}
    for guard, item in items:
        if guard is False:
            continue
        key = key_of(item)
        key = ("?", len(found)) if key is None else key
        before = found.get(key)
        found[key] = (guard, item) if before is None else (disj(before[0], guard), item)
    return Listed(tuple(found.values()))


def key_of(item: Symbolic) -> object:
    """Something hashable that equal known values share, None for a value that is not known."""
    if isinstance(item, Atom):
        return ("atom", item.value)
    if isinstance(item, bool | int):
        return (type(item).__name__, item)
    if isinstance(item, Rec):
        if any(has is not True for _, has in item.fields.values()):
            return None
        return _key_of_function((("atom", name), value) for name, (value, _) in item.fields.items())
    if isinstance(item, Arr) and type(item.low) is int and type(item.high) is int and item.high - item.low < 64:
        return _key_of_function((("int", i), item.get(i)) for i in range(item.low, item.high + 1))
    if isinstance(item, Fun):
        return _key_of_function((key_of(form), image) for form, image in zip(item.forms, item.images, strict=True))
    if isinstance(item, Listed) and all(guard is True for guard, _ in item.items):
        inner = [key_of(element) for _, element in item.items]
        return None if any(part is None for part in inner) else ("set", frozenset(inner))
    return None


def _key_of_function(pairs: Iterable[tuple[object, Symbolic]]) -> object:
    """The key of a function, however it is represented."""
    found = [(key, key_of(image)) for key, image in pairs]
    return None if any(key is None or image is None for key, image in found) else ("function", frozenset(found))


def elements(value: Symbolic) -> list[tuple[Term, Symbolic]]:
    """A set's (condition, element) pairs. Raises UnlistedError for a set that cannot be listed."""
    if isinstance(value, Listed):
        return list(value.items)
    if isinstance(value, Range):
        listed = numbers(value)
        if listed is not None:
            return [(conj(*within(k, value)), k) for k in listed]
        raise UnlistedError("the elements of a range without a known end, one by one")
    if value is NOTHING:
        return []
    if isinstance(value, Filtered):
        return [(conj(guard, value.holds(k)[0]), k) for guard, k in elements(value.base)]
    raise UnlistedError("the elements of a value that is no set")


def member(item: Symbolic, value: Symbolic) -> Term:
    """The proposition that `item` is an element of the set."""
    if isinstance(value, Range):
        return conj(*within(item, value))
    if isinstance(value, Filtered):
        return conj(*within(item, value.base), value.holds(item)[0])
    key = key_of(item)
    found: list[Term] = []
    for guard, element in elements(value):
        other = key_of(element)
        if key is not None and other is not None:
            if key == other:
                found.append(guard)
            continue
        found.append(conj(guard, same(item, element)))
    return disj(*found)


def subset(a: Symbolic, b: Symbolic) -> Term:
    """The proposition that a is a subset of b."""
    if isinstance(a, Range | Filtered):
        base = a if isinstance(a, Range) else a.base
        if numbers(base) is None:
            guard = (lambda _: True) if isinstance(a, Range) else (lambda k: a.holds(k)[0])
            return over(base, lambda k: implies(guard(k), member(k, b)))
    return conj(*(implies(guard, member(item, b)) for guard, item in elements(a)))


def distinct(value: Symbolic) -> Term:
    """The number of elements of a set that can be listed."""
    items = elements(value)
    conditions: list[Term] = []
    for at, (guard, item) in enumerate(items):
        key = key_of(item)
        earlier = [
            conj(other_guard, same(item, other))
            for other_guard, other in items[:at]
            if key is None or key_of(other) is None
        ]
        conditions.append(conj(guard, neg(disj(*earlier))))
    return total(conditions)
