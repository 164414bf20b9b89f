"""Functions: their values, their application, and EXCEPT; a sequence is one, and so is a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import z3

from tidemark_conformance.prove.equality import choice, elements, same
from tidemark_conformance.prove.folds import Folds
from tidemark_conformance.prove.sorts import known_value
from tidemark_conformance.prove.terms import (
    NOTHING,
    Arr,
    Atom,
    Env,
    Fun,
    Meaning,
    Range,
    Rec,
    Symbolic,
    Term,
    as_int,
    at_most,
    conj,
    disj,
    implies,
    known,
    settled,
    within,
)
from tidemark_conformance.tla.ir import Expr, FunctionLit


class Functions(Folds):
    """The part of the evaluator that knows functions."""

    caps: dict[int, int]
    lengths: set[str]
    later: Callable[[Callable[..., Any]], Callable[..., Any]]

    def function(self, expr: FunctionLit, env: Env) -> Meaning:
        if len(expr.binders) != 1:
            raise self.refuse("a function of several arguments", "nest functions of one argument")
        binder = expr.binders[0]
        domain, ok = self.domain(binder.domain, True, env)
        if isinstance(domain, Range):
            cap = None if domain.cap is None or domain.low != 1 else domain.cap
            cap = domain.high if type(domain.high) is int and domain.low == 1 else cap

            def image(i: Term) -> Symbolic:
                with self.assuming(*within(i, domain)):
                    return self.value(expr.body, {**env, binder.uid: i})[0]

            fine, _ = self.each(
                "forall", domain, binder.name, lambda x: (self.value(expr.body, {**env, binder.uid: x})[1], True)
            )
            low, high = domain.low, domain.high
            if z3.is_expr(high) and not self.reaches(low, high):
                high = choice(at_most(settled(low - 1), high), high, settled(low - 1))
            ordered = z3.is_expr(high) or (known(low) and known(high) and high >= low - 1)
            return Arr(low, high, self.later(image), cap, domain.end, ordered), conj(ok, fine)
        items = elements(domain)
        if any(guard is not True for guard, _ in items):
            raise self.refuse("a function over a set that depends on the state", "use a constant domain")
        images = [self.value(expr.body, {**env, binder.uid: item}) for _, item in items]
        forms = tuple(item for _, item in items)
        return Fun(tuple(map(self.plain, forms)), forms, tuple(v for v, _ in images)), conj(ok, *(g for _, g in images))

    def reaches(self, low: Term, high: Term) -> bool:
        """Whether the end of a range is known to be no less than the number before its start."""
        if known(low) and low == 1 and self.least(high) >= 0:
            return True
        return self.implied(at_most(settled(low - 1), high)) is True

    def least(self, term: Term) -> int:
        """A lower bound of a length or count term: 0 where it is known to be one, else -1."""
        return 0 if term.get_id() in self.caps or (z3.is_app(term) and term.decl().name() in self.lengths) else -1

    def plain(self, form: Symbolic) -> Any:
        """The TLA+ value of a known symbolic one, as a key."""
        found = known_value(form)
        if found is NOTHING:
            raise self.refuse("a function whose domain depends on the state", "use a constant domain")
        return found

    def applied(self, mapping: Expr, argument: Expr, env: Env) -> Meaning:
        function, ok = self.value(mapping, env)
        key, good = self.value(argument, env)
        value, fine = self.image(function, key)
        return value, conj(ok, good, self.decided(fine))

    def image(self, function: Symbolic, key: Symbolic) -> Meaning:
        """f[key], and whether key is in the domain."""
        if function is NOTHING or key is NOTHING:
            return NOTHING, False
        if isinstance(function, Rec):
            if not isinstance(key, Atom):
                raise self.refuse("a record's field that is computed", "name the field")
            return function.fields.get(key.value, (NOTHING, False))
        if isinstance(function, Arr):
            key = settled(as_int(key))
            inside = conj(*(self.decided(part) for part in within(key, function.domain)))
            return function.get(key), inside
        if isinstance(function, Fun):
            found: Symbolic = NOTHING
            conditions: list[Term] = []
            for form, image in zip(function.forms, function.images, strict=True):
                condition = same(key, form)
                if condition is True:
                    return image, True
                if condition is False:
                    continue
                found = image if found is NOTHING else choice(condition, image, found)
                conditions.append(condition)
            return found, disj(*conditions)
        raise self.refuse("an application of what is no function", "apply functions, sequences and records")

    def updated(self, base: Expr, path: tuple[Expr, ...], at: int, value: Expr, env: Env) -> Meaning:
        whole, ok = self.value(base, env)
        keys = [self.value(part, env) for part in path]
        result, good = self.replaced(whole, [key for key, _ in keys], lambda old: self.value(value, {**env, at: old}))
        return result, conj(ok, *(fine for _, fine in keys), good)

    def replaced(self, whole: Symbolic, keys: list[Symbolic], new: Callable[[Symbolic], Meaning]) -> Meaning:
        """[whole EXCEPT ![keys] = new(@)]: a key outside the domain changes nothing."""
        if not keys:
            return new(whole)
        key, rest = keys[0], keys[1:]
        if isinstance(whole, Rec):
            if not isinstance(key, Atom) or key.value not in whole.fields:
                return whole, True
            old, has = whole.fields[key.value]
            with self.assuming(has):
                value, ok = self.replaced(old, rest, new)
            return Rec({**whole.fields, key.value: (value, has)}), implies(has, ok)
        if isinstance(whole, Fun):
            images, goods = [], []
            for form, image in zip(whole.forms, whole.images, strict=True):
                condition = same(key, form)
                if condition is False:
                    images.append(image)
                    continue
                with self.assuming(condition):
                    value, ok = self.replaced(image, rest, new)
                images.append(choice(condition, value, image))
                goods.append(implies(condition, ok))
            return Fun(whole.keys, whole.forms, tuple(images)), conj(*goods)
        if isinstance(whole, Arr):
            key = settled(as_int(key))
            inside = conj(*within(key, whole.domain))
            if inside is False:
                return whole, True
            with self.assuming(inside):
                value, ok = self.replaced(whole.get(key), rest, new)
            return (
                replace(whole, get=lambda i: choice(same(i, key), value, whole.get(i))),
                implies(inside, ok),
            )
        raise self.refuse("EXCEPT on what is no function", "apply EXCEPT to functions and records")
