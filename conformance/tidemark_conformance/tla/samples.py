"""Values drawn from a type, and values near another one: tests and `tidemark agree` give them to the backends."""

from __future__ import annotations

import random

from tidemark_conformance.tla.types import TAtom, TBool, TFun, TInt, TRec, TSeq, TSet, TTuple, TUnion, Type
from tidemark_conformance.tla.values import Fn, Value, function


def value_of(kind: Type, draw: random.Random) -> Value:
    """A random value of a type."""
    match kind:
        case TInt(lo, hi):
            return draw.randint(lo or 0, hi or 0)
        case TBool():
            return draw.random() < 0.5
        case TAtom(members):
            return draw.choice(members)
        case TSet(_, members):
            likely = draw.choice([0.2, 0.5, 0.8])
            return frozenset(member for member in members if draw.random() < likely)
        case TSeq(elem, cap):
            return tuple(value_of(elem, draw) for _ in range(draw.randint(0, cap)))
        case TFun(domain, _, target):
            return function({key: value_of(target, draw) for key in domain})
        case TRec(fields):
            return Fn({name: value_of(part, draw) for name, part in fields})
        case TUnion(variants):
            tags, own = draw.choice(variants)
            return Fn({"type": draw.choice(tags), **{name: value_of(part, draw) for name, part in own}})
        case TTuple(parts):
            return tuple(value_of(part, draw) for part in parts)


def near(kind: Type, value: Value, draw: random.Random) -> Value:
    """A value of the type that mostly differs from `value` in one part."""
    chance = draw.random()
    if isinstance(kind, TFun) and chance < 0.8:
        mapping = dict(value) if isinstance(value, Fn) else dict(enumerate(value, 1))
        key = draw.choice(kind.domain)
        return function({**mapping, key: near(kind.range, mapping[key], draw)})
    if isinstance(kind, TSeq) and chance < 0.8:
        if chance < 0.25 and len(value) < kind.cap:
            return (*value, value_of(kind.elem, draw))
        if chance < 0.5:
            return value[1:] if chance < 0.4 else value[:-1]
        if value:
            at = draw.randrange(len(value))
            return (*value[:at], near(kind.elem, value[at], draw), *value[at + 1 :])
    if isinstance(kind, TSet) and chance < 0.7 and kind.members:
        return value ^ {draw.choice(kind.members)}
    if isinstance(kind, TRec) and chance < 0.8:
        name, part = draw.choice(kind.fields)
        return Fn({**value, name: near(part, value[name], draw)})
    if isinstance(kind, TUnion) and chance < 0.8:
        own = next(own for tags, own in kind.variants if value["type"] in tags)
        if own:
            name, part = draw.choice(own)
            return Fn({**value, name: near(part, value[name], draw)})
    if isinstance(kind, TTuple) and chance < 0.8:
        at = draw.randrange(len(value))
        return (*value[:at], near(kind.parts[at], value[at], draw), *value[at + 1 :])
    return value_of(kind, draw)
