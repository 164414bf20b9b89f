"""The types of expressions, as far as their form tells: enough to say of most applications that they have a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla import walk
from tidemark_conformance.tla.ir import Expr, If, Lit, Local, Op, SetFilter, Var
from tidemark_conformance.tla.layout import Layout
from tidemark_conformance.tla.python import EvaluationError
from tidemark_conformance.tla.typeok import type_of_value
from tidemark_conformance.tla.types import Evaluate, TAtom, TBool, TFun, TInt, TRec, TSeq, TSet, TUnion, Type, slots
from tidemark_conformance.tla.values import Value

_UNBUILT = frozenset(["powerset", "function_set", "record_set", "product", "nat", "int", "seq", "string"])
"""Operators whose sets may be too large to be built for their type."""


@dataclass(frozen=True)
class Kinds:
    """Of one specification: the cells of its variables, and the evaluator of its constants."""

    layout: Layout
    constant: Evaluate

    def of(self, expr: Expr, meant: Callable[[Expr], Expr], domains: Mapping[int, Expr]) -> Type | None:
        """The type of an expression if it has a value; None: not known.

        `meant` finds what a name stands for, `domains` are the sets that bound identifiers are members of.
        """
        inner = meant(expr)
        if walk.mentioned(inner).constant:
            return self.of_constant(inner)
        match inner:
            case Var(name, _):
                return self.layout.by_name[name].type
            case Local(uid, _):
                found = self.of(domains[uid], meant, domains) if uid in domains else None
                return found.elem if isinstance(found, TSet) else None
            case Op("range", (first, last)):
                match self.of(first, meant, domains), self.of(last, meant, domains):
                    case TInt(low, _), TInt(_, high):
                        return TSet(TInt(low, high), ())
            case SetFilter(binder, _):
                return self.of(binder.domain, meant, domains)
            case If(_, then, orelse):
                found = self.of(then, meant, domains)
                return found if found == self.of(orelse, meant, domains) else None
            case Op("setminus" | "intersect", (whole, *_)):
                return self.of(whole, meant, domains)
            case Op("apply", (function, key)):
                match self.of(function, meant, domains), meant(key):
                    case TFun(_, _, result), _:
                        return result
                    case TSeq(element, _), _:
                        return element
                    case TRec(fields), Lit(str(field)):
                        return dict(fields).get(field)
                    case TUnion() as union, Lit("type"):
                        return union.tags
                    case TUnion() as union, Lit(str(field)):
                        among = {slot.type for slot in slots(union) if slot.name == field}
                        return among.pop() if len(among) == 1 else None
        return None

    def has(self, function: Type | None, key: Expr, kind: Type | None) -> bool:
        """Whether every value of a type is certainly applicable to a key of a type."""
        match function, key, kind:
            case TRec(fields), Lit(str(field)), _:
                return field in dict(fields)
            case TUnion() as union, Lit(str(field)), _:
                tags = {tag for slot in slots(union) if slot.name == field for tag in slot.tags}
                return field == "type" or len(tags) == len(union.tags.members)
            case TFun(domain, own, _), _, TAtom() | TInt() | TBool() if type(own) is type(kind):
                members = _members(kind)
                return members is not None and set(members) <= set(domain)
        return False

    def of_constant(self, expr: Expr) -> Type | None:
        """The type of a constant-level expression; None: not known, it may have no value."""
        if isinstance(expr, Op) and expr.name in _UNBUILT:
            return None
        try:
            return type_of_value(self.constant(expr))
        except (EvaluationError, Unusable):
            return None


def _members(kind: Type) -> tuple[Value, ...] | None:
    """The values of a scalar type."""
    match kind:
        case TAtom(members):
            return members
        case TBool():
            return (False, True)
        case TInt(int(low), int(high)):
            return tuple(range(low, high + 1))
    return None
