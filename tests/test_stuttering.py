"""A step that breaks an action property must change some part of it. For random expressions a step that changes no such
part must keep the property, and have a value."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from kernel_reference import MODELS
from tidemark_conformance.tla.ir import (
    Binder,
    Choose,
    Const,
    Except,
    Expr,
    FunctionLit,
    If,
    Let,
    Lit,
    Local,
    Op,
    Quant,
    SetEnum,
    SetFilter,
    SetMap,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.kernels import stuttering
from tidemark_conformance.tla.kernels.kinds import Kinds
from tidemark_conformance.tla.kernels.runtime import evaluator
from tidemark_conformance.tla.layout import layout_of
from tidemark_conformance.tla.python import EvaluationError, compile_python
from tidemark_conformance.tla.python.checks import Compiler
from tidemark_conformance.tla.samples import value_of
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.values import Value, function
from tidemark_conformance.tla.walk import map_children

TAGS = [Lit(tag, "str") for tag in ("idle", "req", "ack", "rep")]
COUNT = 1000
PAIRS = 30
Env = tuple[tuple[Local, str], ...]
State = dict[str, Value]


class Writer:
    """Writes random expressions over Alphabet's variables; `depth` bounds how deep they nest."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.uids = itertools.count(1_000_000)

    def var(self, name: str) -> Var:
        return Var(name, self.draw.random() < 0.5)

    def of(self, function: Expr, key: Expr) -> Expr:
        return Op("apply", (function, key))

    def write(self, kind: str, env: Env, depth: int) -> Expr:
        """An expression of a kind: "int", "node", "seq", "fun", "slot", "nodes", "ints" or "bool"."""
        known = [local for local, own in env if own == kind]
        if known and self.draw.random() < 0.6:
            return self.draw.choice(known)
        if depth > 0 and self.draw.random() < 0.2:
            if self.draw.random() < 0.5:
                parts = self.write("bool", env, depth - 1), self.write(kind, env, depth - 1)
                return If(*parts, self.write(kind, env, depth - 1))
            other = self.draw.choice(["int", "nodes", "bool", "fun", "slot"])
            value, name = self.write(other, env, depth - 1), Local(next(self.uids), other)
            return Let(name.uid, name.name, value, self.write(kind, (*env, (name, other)), depth - 1))
        return self.draw.choice(getattr(self, f"_{kind}")(env, depth))()

    def binder(self, kind: str, env: Env, depth: int) -> tuple[Binder, Env]:
        """A binder over a set, and the names inside it."""
        domain, name = self.write(f"{kind}s", env, depth - 1), Local(next(self.uids), kind)
        return Binder(name.uid, name.name, domain), (*env, (name, kind))

    def twins(self, expr: Expr) -> tuple[Expr, Expr]:
        """An expression, and the same with other primes and other names of its bound identifiers."""
        names: dict[int, int] = {}

        def change(node: Expr) -> Expr:
            if isinstance(node, Var):
                return self.var(node.name)
            if isinstance(node, Local):
                return replace(node, uid=names.get(node.uid, node.uid))
            for uid in [getattr(node, "uid", None), *(one.uid for one in getattr(node, "binders", ()))]:
                if uid is not None:
                    names[uid] = next(self.uids)
            if isinstance(node, Choose | SetFilter):
                names[node.binder.uid] = next(self.uids)
            made = map_children(node, change)
            if isinstance(made, Let):
                return replace(made, uid=names[made.uid])
            if isinstance(made, Choose | SetFilter):
                return replace(made, binder=replace(made.binder, uid=names[made.binder.uid]))
            if isinstance(made, Quant | SetMap | FunctionLit):
                return replace(made, binders=tuple(replace(one, uid=names[one.uid]) for one in made.binders))
            return made

        both = expr, change(expr)
        return both if self.draw.random() < 0.5 else both[::-1]

    def _node(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        plain = [lambda: self.var("who"), lambda: self.of(self.var("pair"), Lit(2, "int"))]
        return plain if depth <= 0 else [*plain, lambda: self._chosen("node", env, depth)]

    def _chosen(self, kind: str, env: Env, depth: int) -> Expr:
        binder, inner = self.binder(kind, env, depth)
        if kind == "node":
            return Choose(binder, self.write("bool", inner, depth - 1))
        other = Local(next(self.uids), kind)
        greatest = Op(self.draw.choice(["le", "ge"]), (inner[-1][0], other))
        return Choose(binder, Quant("forall", (Binder(other.uid, kind, binder.domain),), greatest))

    def _int(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        inner = depth - 1
        plain: list[Callable[[], Expr]] = [
            lambda: self.var("n"),
            lambda: Lit(self.draw.randrange(4), "int"),
            lambda: self.of(self.var("fun"), self.write("node", env, 0)),
            lambda: self.of(self.var("row"), Lit(self.draw.randint(1, 3), "int")),
        ]
        return plain if depth <= 0 else [
            *plain,
            lambda: Op(self.draw.choice(["add", "mul", "div"]), tuple(self.write("int", env, inner) for _ in "ab")),
            lambda: Op("cardinality", (self.write("nodes", env, inner),)),
            lambda: Op("len", (self.write("seq", env, inner),)),
            lambda: Op("head", (self.write("seq", env, inner),)),
            lambda: self.of(self.write("fun", env, inner), self.write("node", env, inner)),
            lambda: self.of(self.write("slot", env, inner), Lit("epoch", "str")),
            lambda: self.of(self.write("seq", env, inner), self.write("int", env, 0)),
            lambda: self._chosen("int", env, depth),
        ]  # fmt: skip

    def _seq(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        inner = depth - 1
        return [lambda: self.var("seq")] if depth <= 0 else [
            lambda: self.var("seq"),
            lambda: Op("append", (self.write("seq", env, inner), self.write("int", env, 0))),
            lambda: Op("tail", (self.write("seq", env, inner),)),
        ]  # fmt: skip

    def _fun(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        plain = [lambda: self.var("fun"), lambda: self.of(self.var("deep"), self.write("node", env, 0))]
        return plain if depth <= 0 else [*plain, lambda: self._updated(env, depth), lambda: self._built(env, depth)]

    def _updated(self, env: Env, depth: int) -> Expr:
        base, key = self.write("fun", env, depth - 1), self.write("node", env, depth - 1)
        return Except(base, (key,), next(self.uids), self.write("int", env, depth - 1))

    def _built(self, env: Env, depth: int) -> Expr:
        name = Local(next(self.uids), "node")
        body = self.write("int", (*env, (name, "node")), depth - 1)
        return FunctionLit((Binder(name.uid, name.name, Const("Node")),), body)

    def _slot(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        return [lambda: self.of(self.var("slot"), self.write("node", env, 0))]

    def _sets(self, kind: str, env: Env, depth: int) -> list[Callable[[], Expr]]:
        inner = depth - 1
        return [
            lambda: Op(self.draw.choice(["union", "intersect"]), tuple(self.write(kind, env, inner) for _ in "ab")),
            lambda: Op("setminus", self.twins(self.write(kind, env, inner))),
            lambda: SetEnum(tuple(self.write(kind[:-1], env, inner) for _ in range(self.draw.randrange(3)))),
            lambda: self._filtered(kind[:-1], env, depth),
        ]

    def _filtered(self, kind: str, env: Env, depth: int) -> Expr:
        binder, inside = self.binder(kind, env, depth)
        return SetFilter(binder, self.write("bool", inside, depth - 1))

    def _nodes(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        plain: list[Callable[[], Expr]] = [lambda: self.var("set"), lambda: Const("Node")]
        return plain if depth <= 0 else plain + self._sets("nodes", env, depth)

    def _ints(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        plain: list[Callable[[], Expr]] = [
            lambda: self.var("nums"),
            lambda: Op("range", (Lit(1, "int"), Op("len", (self.write("seq", env, 0),)))),
        ]
        return plain if depth <= 0 else [*plain, *self._sets("ints", env, depth), lambda: self._mapped(env, depth)]

    def _mapped(self, env: Env, depth: int) -> Expr:
        binder, inside = self.binder("node", env, depth)
        return SetMap((binder,), self.write("int", inside, depth - 1))

    def _tag(self, env: Env, depth: int) -> Expr:
        return self.of(self.write("slot", env, min(depth, 1)), Lit("type", "str"))

    def _quantified(self, env: Env, depth: int) -> Expr:
        binder, inside = self.binder(self.draw.choice(["node", "int"]), env, depth)
        return Quant(self.draw.choice(["forall", "exists"]), (binder,), self.write("bool", inside, depth - 1))

    def _compared(self, env: Env, depth: int) -> Expr:
        kind = self.draw.choice(["int", "int", "node", "seq", "fun", "slot", "nodes", "ints", "bool"])
        names = {"int": ["le", "lt", "ge", "gt"], "nodes": ["subseteq"], "ints": ["subseteq"], "bool": ["iff"]}
        name = self.draw.choice(["eq", "ne", *names.get(kind, [])])
        one, other = self.twins(self.write(kind, env, depth - 1))
        if self.draw.random() < 0.7:
            return Op(name, (one, other))
        old, new = Local(next(self.uids), "old"), Local(next(self.uids), "new")
        return Let(old.uid, "old", one, Let(new.uid, "new", other, Op(name, (old, new))))

    def _turned(self, env: Env, depth: int) -> Expr:
        tag, other = self.twins(self._tag(env, depth))
        several = SetEnum(tuple(self.draw.sample(TAGS, self.draw.randrange(3))))
        return Op("and", (Op("eq", (tag, self.draw.choice(TAGS))), Op("in", (other, several))))

    def _bool(self, env: Env, depth: int) -> list[Callable[[], Expr]]:
        inner = depth - 1
        plain: list[Callable[[], Expr]] = [
            lambda: self.var("flag"),
            lambda: Op("eq", (self._tag(env, 0), self.draw.choice(TAGS))),
            lambda: Op("eq", self.twins(self.var("n"))),
        ]
        return plain if depth <= 0 else [
            *[lambda: self._compared(env, depth)] * 4,
            *[lambda: Op("implies", (self.write("bool", env, inner), self.write("bool", env, inner)))] * 3,
            *[lambda: self._quantified(env, depth)] * 2,
            lambda: self._turned(env, depth),
            lambda: Op(self.draw.choice(["and", "or"]), tuple(self.write("bool", env, inner) for _ in "abc")),
            lambda: Op("not", (self.write("bool", env, inner),)),
            lambda: Op("in", (self.write("node", env, inner), self.write("nodes", env, inner))),
            lambda: Unchanged(tuple(self.draw.sample(["fun", "n", "slot", "set", "log"], 2))),
        ]  # fmt: skip


def _found(check: Callable[..., Value], *arguments: Value) -> Value:
    """A check's value; "error" if it has none."""
    try:
        return check(*arguments)
    except EvaluationError:
        return "error"


@pytest.mark.parametrize("indexed", [False, True])
def test_steps_that_leave_what_is_needed_as_it_is_keep_a_property(*, indexed: bool) -> None:
    """Of a quantifier, too, whose instance reads v[x] and finds that unchanged, even if the others change."""
    spec = load(MODELS / "Alphabet.tla", MODELS / "Alphabet.cfg")
    constant = evaluator(spec, compile_python(spec).constant)
    kinds = Kinds(layout_of(spec.module, constant), constant)
    draw, seen = random.Random(int(indexed)), Counter[str]()
    pool = [{one.name: value_of(one.type, draw) for one in kinds.layout.variables} for _ in range(60)]
    instance = Local(1, "x")
    for seed in range(COUNT):
        body = Writer(seed).write("bool", ((instance, "node"),) if indexed else (), 2 + seed % 3)
        asked = Quant("forall", (Binder(instance.uid, "x", Const("Node")),), body) if indexed else body
        needed = stuttering.needed(kinds, asked, {}, instance.uid if indexed else None)
        if needed is None:
            seen["asked of every step"] += 1
            continue
        seen["of some"] += 1
        check = Compiler("", spec.constants, {}, None).compile("check", body, {instance.uid: "x"} if indexed else {})
        for _ in range(PAIRS):
            before, other = draw.choice(pool), draw.choice(pool)
            after = {**other, **{name: before[name] for name in needed.whole}}
            x = draw.choice(sorted(before["fun"]))
            for name in needed.indexed:
                after[name] = function({**other[name], x: before[name][x]})
            assert _found(check, before, after, *([x] if indexed else [])) is True, (seed, body, needed, before, after)
    assert min(seen["of some"], seen["asked of every step"]) > COUNT // 5, seen
