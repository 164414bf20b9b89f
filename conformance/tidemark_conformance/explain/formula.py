r"""Expressions of the IR as TLA+ text.

Inlining has replaced every operator by its body. A `Mark` may remember the name of an operator inside a longer formula.
There a body longer than `SHORT` is printed as that name with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable

from tidemark_conformance.tla.ir import (
    Binder,
    Case,
    Choose,
    Const,
    Except,
    Expr,
    Fold,
    FunctionLit,
    HasRule,
    If,
    Let,
    Lit,
    Local,
    Mark,
    Op,
    Quant,
    RecordLit,
    RecordSet,
    RuleGuard,
    SetEnum,
    SetFilter,
    SetMap,
    TupleLit,
    Unchanged,
    Var,
)
from tidemark_conformance.tla.walk import strip

SHORT = 48
"""A body of at most so many characters is printed in place of its operator's name."""

Name = Callable[[int, str], str]
"""How a bound identifier is printed, given its uid and name."""

OPEN, IMPLIES, JUNCTION, NOT, COMPARE, UNITE, RANGE, ADD, MULTIPLY, NEGATE, APPLY, ATOM = range(12)

_INFIX = {
    "implies": ("=>", IMPLIES),
    "iff": ("<=>", IMPLIES),
    "eq": ("=", COMPARE),
    "ne": ("#", COMPARE),
    "lt": ("<", COMPARE),
    "le": ("<=", COMPARE),
    "gt": (">", COMPARE),
    "ge": (">=", COMPARE),
    "in": ("\\in", COMPARE),
    "notin": ("\\notin", COMPARE),
    "subseteq": ("\\subseteq", COMPARE),
    "union": ("\\cup", UNITE),
    "intersect": ("\\cap", UNITE),
    "setminus": ("\\", UNITE),
    "concat": ("\\o", UNITE),
    "product": ("\\X", UNITE),
    "range": ("..", RANGE),
    "add": ("+", ADD),
    "sub": ("-", ADD),
    "mul": ("*", MULTIPLY),
    "div": ("\\div", MULTIPLY),
    "mod": ("%", MULTIPLY),
}
_PREFIX = {"powerset": "SUBSET", "bigunion": "UNION", "domain": "DOMAIN"}
_CALL = {
    "cardinality": "Cardinality",
    "isfiniteset": "IsFiniteSet",
    "len": "Len",
    "append": "Append",
    "head": "Head",
    "tail": "Tail",
    "subseq": "SubSeq",
    "seq": "Seq",
}
_CONSTANT = {"nat": "Nat", "int": "Int", "boolean": "BOOLEAN", "string": "STRING"}


def by_name(_uid: int, name: str) -> str:
    """Every bound identifier under its own name."""
    return name


def formula(expr: Expr, name: Name = by_name, short: int = SHORT) -> str:
    """The expression as one line of TLA+; `name` prints bound identifiers, `short` as the module says."""
    return _Printer(name, short).text(strip(expr))


class _Printer:
    def __init__(self, name: Name, short: int) -> None:
        self.name = name
        self.short = short

    def text(self, expr: Expr, least: int = OPEN) -> str:
        """The expression, in parentheses if it binds weaker than `least`."""
        shown, level = self.print(expr)
        return shown if level >= least else f"({shown})"

    def print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Op():
                return self.operator(expr)
            case Lit(value, kind):
                return (str(value).upper() if kind == "bool" else f'"{value}"' if kind == "str" else str(value)), ATOM
            case Const(name):
                return name, ATOM
            case Var(name, primed):
                return name + "'" * primed, ATOM
            case Local(uid, name):
                return self.name(uid, name), ATOM
            case Mark(_, _, body):
                return self.mark(expr.call, body)
            case HasRule(rule):
                return f'Has("{rule}")', ATOM
            case RuleGuard(rule, connective, predicate):
                sign = "=>" if connective == "implies" else "/\\"
                return f'Has("{rule}") {sign} {self.text(predicate, JUNCTION + 1)}', IMPLIES
            case Unchanged(names):
                return f"UNCHANGED {names[0] if len(names) == 1 else '<<' + ', '.join(names) + '>>'}", NOT
            case If(condition, then, orelse):
                return f"IF {self.text(condition)} THEN {self.text(then)} ELSE {self.text(orelse)}", OPEN
            case Case(arms, other):
                shown = [f"{self.text(when, IMPLIES)} -> {self.text(value, IMPLIES)}" for when, value in arms]
                shown += [f"OTHER -> {self.text(other, IMPLIES)}"] if other is not None else []
                return "CASE " + " [] ".join(shown), OPEN
            case Let(_, name, value, body):
                return f"LET {name} == {self.text(value)} IN {self.text(body)}", OPEN
            case Quant(kind, binders, body):
                sign = "\\A" if kind == "forall" else "\\E"
                return f"{sign} {self.binders(binders)} : {self.text(body)}", OPEN
            case Choose(binder, body):
                return f"CHOOSE {self.binders((binder,))} : {self.text(body)}", OPEN
        return self.constructor(expr), ATOM

    def mark(self, call: str, body: Expr) -> tuple[str, int]:
        shown, level = self.print(body)
        if not call or len(shown) <= self.short:
            return shown, level
        return call, ATOM

    def operator(self, expr: Op) -> tuple[str, int]:
        name, args = expr.name, expr.args
        if name in ("and", "or"):
            sign = " /\\ " if name == "and" else " \\/ "
            return sign.join(self.text(arg, JUNCTION + 1) for arg in args), JUNCTION
        if name in _INFIX:
            sign, level = _INFIX[name]
            space = "" if name == "range" else " "
            return f"{space}{sign}{space}".join(self.text(arg, level + 1) for arg in args), level
        if name == "not":
            return f"~{self.text(args[0], COMPARE + 1)}", NOT
        if name == "neg":
            return f"-{self.text(args[0], NEGATE + 1)}", NEGATE
        if name in _PREFIX:
            return f"{_PREFIX[name]} {self.text(args[0], APPLY)}", NEGATE
        if name in _CALL:
            return f"{_CALL[name]}({', '.join(self.text(arg) for arg in args)})", ATOM
        if name == "apply":
            base = self.text(args[0], APPLY)
            if isinstance(args[1], Lit) and args[1].kind == "str" and str(args[1].value).isidentifier():
                return f"{base}.{args[1].value}", APPLY
            return f"{base}[{self.text(args[1])}]", APPLY
        if name == "function_set":
            return f"[{self.text(args[0])} -> {self.text(args[1])}]", ATOM
        if name == "record_set":
            return f"[{', '.join(self.text(arg) for arg in args)}]", ATOM
        return _CONSTANT.get(name, name), ATOM

    def constructor(self, expr: Expr) -> str:
        match expr:
            case SetEnum(items):
                return "{" + ", ".join(self.text(item) for item in items) + "}"
            case SetFilter(binder, body):
                return f"{{{self.binders((binder,))} : {self.text(body)}}}"
            case SetMap(binders, body):
                return f"{{{self.text(body)} : {self.binders(binders)}}}"
            case TupleLit(items):
                return "<<" + ", ".join(self.text(item) for item in items) + ">>"
            case RecordLit(fields):
                return "[" + ", ".join(f"{name} |-> {self.text(value)}" for name, value in fields) + "]"
            case RecordSet(fields):
                return "[" + ", ".join(f"{name} : {self.text(value)}" for name, value in fields) + "]"
            case FunctionLit(binders, body):
                return f"[{self.binders(binders)} |-> {self.text(body)}]"
            case Except():
                return self.exception(expr)
            case Fold(kind, collection, start, _, _, body):
                named = "FoldSet" if kind == "set" else "FoldSeq"
                return f"{named}(LAMBDA {self.text(body)}, {self.text(start)}, {self.text(collection)})"
        raise TypeError(f"no expression of the IR: {expr!r}")

    def exception(self, expr: Except) -> str:
        updates = []
        base: Expr = expr
        while isinstance(base, Except):
            path = "".join(
                f".{key.value}"
                if isinstance(key, Lit) and key.kind == "str" and str(key.value).isidentifier()
                else f"[{self.text(key)}]"
                for key in base.path
            )
            updates.append(f"!{path} = {_Printer(_at(base.at, self.name), self.short).text(base.value)}")
            base = base.base
        return f"[{self.text(base)} EXCEPT {', '.join(reversed(updates))}]"

    def binders(self, binders: tuple[Binder, ...]) -> str:
        shown: list[str] = []
        for number, binder in enumerate(binders):
            after = binders[number + 1].domain if number + 1 < len(binders) else None
            domain = "" if after == binder.domain else f" \\in {self.text(binder.domain, COMPARE + 1)}"
            shown.append(f"{binder.name}{domain}")
        return ", ".join(shown)


def _at(at: int, name: Name) -> Name:
    return lambda uid, own: "@" if uid == at else name(uid, own)
