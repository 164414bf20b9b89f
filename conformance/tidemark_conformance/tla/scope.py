"""The meaning of identifiers while expressions are elaborated, and the IR operators of TLA+'s own operators."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla import sany
from tidemark_conformance.tla.ir import Expr, Loc, Local

NATIVE = {
    "=": "eq",
    "/=": "ne",
    "\\lnot": "not",
    "\\equiv": "iff",
    "\\in": "in",
    "\\notin": "notin",
    "\\subseteq": "subseteq",
    "\\union": "union",
    "\\intersect": "intersect",
    "\\": "setminus",
    "SUBSET": "powerset",
    "UNION": "bigunion",
    "DOMAIN": "domain",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "$CartesianProd": "product",
    "$FcnApply": "apply",
    "$RcdSelect": "apply",
    "$SetOfFcns": "function_set",
}
"""SANY's builtins -> IR operators with the same operands."""

STANDARD_OPERATORS = {
    "Naturals": {
        "Nat": "nat",
        "+": "add",
        "-": "sub",
        "*": "mul",
        "<": "lt",
        ">": "gt",
        "\\leq": "le",
        "\\geq": "ge",
        "%": "mod",
        "\\div": "div",
        "..": "range",
    },
    "Integers": {"Int": "int", "-.": "neg"},
    "Sequences": {
        "Seq": "seq",
        "Len": "len",
        "\\o": "concat",
        "Append": "append",
        "Head": "head",
        "Tail": "tail",
        "SubSeq": "subseq",
    },
    "FiniteSets": {"Cardinality": "cardinality", "IsFiniteSet": "isfiniteset"},
}
"""Operators of the standard modules -> IR operators with the same operands."""


@dataclass(frozen=True)
class Context:
    """The context of an expression.

    `env`: uid of a formal or LET name -> its meaning here. `substitutions`: the same for INSTANCE, dynamically.
    `primed`: under a prime; `at`: the local for `@`. `spine`: on the way from a predicate's root through its
    connectives, where conjuncts get marks.
    """

    env: dict[int, Meaning] = field(default_factory=dict)
    substitutions: dict[int, Closure] = field(default_factory=dict)
    primed: bool = False
    at: Local | None = None
    spine: bool = False


@dataclass(frozen=True)
class Closure:
    """An expression (or operator argument) with the place it was written in."""

    node: sany.Node
    context: Context


@dataclass(frozen=True)
class Fixed:
    """An identifier that means this IR, primed or not: a bound identifier, or a part of one."""

    expr: Expr


@dataclass(frozen=True)
class Operator:
    """A definition (or builtin) with the place that its free names are looked up in."""

    uid: int
    context: Context


@dataclass(eq=False)
class Shared:
    """A name that becomes a `Let`: a LET definition, or an argument used more than once (then `argument`)."""

    local: Local
    closure: Closure
    value: Expr
    primed: bool
    stateful: bool
    argument: bool
    used: bool = False


Meaning = Closure | Fixed | Operator | Shared


def refuse(loc: Loc, what: str, advice: str) -> Unsupported:
    """The error for a construct outside the conventions: its place, its text, the remedy."""
    return Unsupported(f"{loc}: {what}: {advice}")


GENERAL_ADVICE = "express it with the means of docs/conventions.md"
SPOKEN = {
    "[]": "the temporal operator []",
    "<>": "the temporal operator <>",
    "~>": "the temporal operator ~>",
    "$WF": "fairness (WF)",
    "$SF": "fairness (SF)",
    "$SquareAct": "[A]_v",
    "$AngleAct": "<<A>>_v",
    "$RecursiveFcnSpec": "a recursive function",
    "$UnboundedChoose": "CHOOSE without a domain",
    "$UnboundedExists": "a quantifier without a domain",
    "$UnboundedForall": "a quantifier without a domain",
}
ADVICE = {
    "$RecursiveFcnSpec": "use FoldSet or FoldSeq of lib/Folds.tla",
    "$UnboundedChoose": "choose from a set",
    "$UnboundedExists": "quantify over a set",
    "$UnboundedForall": "quantify over a set",
}
