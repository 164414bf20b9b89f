"""Loads, constants, scalars and choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tidemark_conformance.tla.kernels.context import Context, Impossible, both
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Enum,
    Int,
    Item,
    Mask,
    Origin,
    Place,
    Range,
    Rec,
    Scalar,
    Seg,
    Symbol,
    Tup,
    is_set,
    scaled,
)
from tidemark_conformance.tla.typeok import canonical, join, type_of_value
from tidemark_conformance.tla.types import (
    TAtom,
    TBool,
    TFun,
    TInt,
    TSeq,
    TSet,
    Type,
    size,
)
from tidemark_conformance.tla.values import ModelValue, Value

# --- loads and constants --------------------------------------------------------------------------------------------


def load(base: Address, kind: Type, origin: Origin | None = None) -> Symbol:
    """The value of a type whose cells start at `base`."""
    match kind:
        case TInt(lo, hi):
            return Int(f"p[{base}]", lo, hi)
        case TBool():
            return Bool(f"(p[{base}] != 0)")
        case TAtom(members):
            return Atom("0" if len(members) == 1 else f"p[{base}]", members)
        case TSet():
            return Mask(f"p[{base}]", kind)
    return Place(base, kind, origin)


LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
"""The integers that a cell holds."""


def number(c: Context, value: int) -> Int:
    """An integer known while generating. Raises Unsupported for one that needs more than 64 bits."""
    if not LEAST <= value <= GREATEST:
        raise c.unsupported(f"the number {str(value)[:40]}, which needs more than 64 bits")
    return Int(str(value), value, value)


def literal(c: Context, value: Value) -> Symbol:
    """A value known while generating."""
    match value:
        case bool():
            return Bool(str(value))
        case int():
            return number(c, value)
        case str() | ModelValue():
            return Atom("0", (value,))
        case frozenset():
            if not value:
                return Enum(())
            members, kind = canonical(value, c.loc)
            if len(members) <= 62:
                return Mask(str((1 << len(members)) - 1), TSet(kind, members))
            if isinstance(kind, TInt) and members == tuple(range(members[0], members[-1] + 1)):
                low, high = members[0], members[-1]
                return Range(number(c, low), number(c, high))
            return Enum(tuple(literal(c, member) for member in members))
        case ():
            return Tup(())
    kind = type_of_value(value, c.loc)
    return Place(Address(0, (c.rows(kind, [value]),)), kind)


def member_at(c: Context, kind: TSet, index: str) -> Symbol:
    """The member of a set's universe with this index (known to be one)."""
    members, elem = kind.members, kind.elem
    match elem:
        case TAtom():
            return Atom(index, members)
        case TBool() if len(members) == 2:
            return Bool(f"({index} != 0)")
        case TInt() if contiguous(members):
            low = members[0]
            code = index if low == 0 else f"({index} + {low})"
            return Int(fold(code), low, members[-1])
    offset, term = scaled(index, size(elem))
    return load(Address(offset, (c.rows(elem, members),)).plus(0, term), elem)


def contiguous(members: Sequence[Value]) -> bool:
    """Whether sorted integers have no gaps."""
    return bool(members) and type(members[0]) is int and members[-1] - members[0] + 1 == len(members)


def fold(code: str) -> str:
    """The text of a sum of two numbers, computed if it can be."""
    parts = code.strip("()").split(" + ")
    if len(parts) == 2 and all(part.lstrip("-").isdigit() for part in parts):
        return str(sum(map(int, parts)))
    return code


def element_type(kind: Type) -> Type:
    """The element type of a sequence (or of a function on 1..n)."""
    if isinstance(kind, TSeq):
        return kind.elem
    return kind.range if isinstance(kind, TFun) else TBool()


def sequence_cap(kind: Type) -> int:
    """How many elements a sequence (or a function on 1..n) has at most."""
    return kind.cap if isinstance(kind, TSeq) else len(kind.domain) if isinstance(kind, TFun) else 0


def integer(c: Context, value: Symbol) -> Int:
    """An integer operand."""
    if isinstance(value, Int):
        return value
    raise c.unsupported(f"an integer is expected, not a {kind_name(value)}")


def truth(c: Context, value: Symbol) -> str:
    """The text of a boolean operand."""
    if isinstance(value, Bool):
        return value.code
    raise c.unsupported(f"a boolean is expected, not a {kind_name(value)}")


def kind_name(value: Symbol) -> str:
    """A word for a value's kind, for messages."""
    if is_set(value):
        return "set"
    names: dict[type, str] = {Int: "number", Bool: "boolean", Atom: "string or model value", Rec: "record"}
    return names.get(type(value), "record, function or sequence")


def atom_index(c: Context, value: Atom, members: tuple[Value, ...]) -> tuple[str, bool]:
    """An atom's index among other members, and whether it is certainly there (the text is -1 where it is not)."""
    if value.members == members:
        return value.code, True
    mapping = [members.index(m) if m in members else -1 for m in value.members]
    if value.code.isdigit():
        index = mapping[int(value.code)]
        return str(index), index >= 0
    if all(index < 0 for index in mapping):
        return "-1", False
    total = all(index >= 0 for index in mapping)
    shift = mapping[0]
    if total and mapping == list(range(shift, shift + len(mapping))):
        return (value.code if shift == 0 else f"({value.code} + {shift})"), True
    return f"p[{c.memory.table(mapping)} + {value.code}]", total


def keep(c: Context, value: Symbol) -> Symbol:
    """The value with its scalars in locals, so that using it twice computes it once."""
    match value:
        case Int(code, lo, hi, below):
            return Int(c.keep(code), lo, hi, below)
        case Bool(code):
            return Bool(c.named(code))
        case Atom(code, members):
            return Atom(c.keep(code), members)
        case Mask(code, kind):
            return Mask(c.keep(code), kind)
        case Rec(fields):
            return Rec({name: keep(c, part) for name, part in fields.items()})
        case Tup(items):
            return Tup(tuple(keep(c, item) for item in items))
        case Enum(items):
            return Enum(tuple(keep(c, item) for item in items))
        case Range(lo_, hi_):
            return Range(cast(Int, keep(c, lo_)), cast(Int, keep(c, hi_)))
        case Seg(parts):
            return Seg(tuple(Item(keep(c, part.value)) if isinstance(part, Item) else part for part in parts))
        case Place(base, kind, origin):
            terms = tuple(term if "SCRATCH" in term or "TABLES" in term else c.keep(term) for term in base.terms)
            return Place(Address(base.constant, terms), kind, origin)
    return value


def choice(c: Context, condition: str, then: Callable[[], Symbol], orelse: Callable[[], Symbol]) -> Symbol:
    """IF condition THEN then() ELSE orelse(). The lines of both branches are written here, under the condition."""
    if condition in ("True", "False"):
        return then() if condition == "True" else orelse()
    with c.captured() as first:
        a = _possible(then)
    first.scope.end()
    with c.captured() as second:
        b = orelse() if a is None else _possible(orelse)
    second.scope.end()
    if a is None or b is None:
        return _only_branch(c, condition, then if b is None else orelse, b is None)
    merged = _merge(c, a, b)
    if merged is not None:
        kind, code_a, code_b = merged
        if not first.lines and not second.lines:
            return kind(f"({code_a} if {condition} else {code_b})")
        name = c.name()
        c.line(f"if {condition}:")
        c.nest([*first.lines, f"{name} = {code_a}"])
        c.line("else:")
        c.nest([*second.lines, f"{name} = {code_b}"])
        return kind(name)
    condition = c.named(condition)
    if isinstance(a, Place) and isinstance(b, Place) and a.kind == b.kind:
        name = c.name("a")
        _branch(c, condition, [*first.lines, f"{name} = {a.base}"], [*second.lines, f"{name} = {b.base}"])
        return Place(Address(0, (name,)), a.kind)
    _branch(c, condition, first.lines, second.lines)
    return Choice(condition, a, b)


def _branch(c: Context, condition: str, first: list[str], second: list[str]) -> None:
    if first:
        c.line(f"if {condition}:")
        c.nest(first)
    if second:
        c.line("else:" if first else f"if not {condition}:")
        c.nest(second)


def _possible(branch: Callable[[], Symbol]) -> Symbol | None:
    try:
        return branch()
    except Impossible:
        return None


def _only_branch(c: Context, condition: str, branch: Callable[[], Symbol], wanted: bool) -> Symbol:
    """The branch of an IF whose other branch has no value: to come there is an evaluation error."""
    c.errs()
    c.line(f"need(p, {condition})" if wanted else f"need(p, not {condition})")
    return branch()


def _merge(c: Context, a: Symbol, b: Symbol) -> tuple[Callable[[str], Scalar], str, str] | None:
    """How two branches become one scalar: its constructor and the branches' texts; None for compound values."""
    match a, b:
        case Int(), Int():
            kind = cast(TInt, join(TInt(a.lo, a.hi), TInt(b.lo, b.hi)))
            below = a.below if a.below == b.below else None
            return (lambda code: Int(code, kind.lo, kind.hi, below)), a.code, b.code
        case Bool(), Bool():
            return Bool, a.code, b.code
        case Atom(), Atom():
            members = cast(TAtom, join(TAtom(a.members), TAtom(b.members), c.loc)).members
            return (lambda code: Atom(code, members)), atom_index(c, a, members)[0], atom_index(c, b, members)[0]
        case (Mask(), Mask()) if a.kind == b.kind:
            return (lambda code: Mask(code, a.kind)), a.code, b.code
        case (Mask(), Enum(())):
            return (lambda code: Mask(code, a.kind)), a.code, "0"
        case (Enum(()), Mask()):
            return (lambda code: Mask(code, b.kind)), "0", b.code
    scalars = (Int, Bool, Atom)
    unlike = isinstance(a, scalars) or isinstance(b, scalars) or is_set(a) != is_set(b)
    if unlike and not isinstance(a, Choice) and not isinstance(b, Choice):
        raise c.unsupported(f"two branches of unlike kinds, a {kind_name(a)} and a {kind_name(b)}")
    return None


def run_equal(c: Context, a: Address, b: Address, count: str) -> str:
    """Whether two runs of cells are equal."""
    if count == "0":
        return "True"
    if count in ("1", "2"):
        code = "True"
        for i in range(int(count)):
            code = both(code, f"(p[{a.plus(i)}] == p[{b.plus(i)}])")
        return code
    return f"eqrun(p, {a}, {b}, {count})"
