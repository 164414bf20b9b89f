"""Reading and combining symbolic values: loads, conversions of scalars, fields, application, sequences, choices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tidemark_conformance.tla.kernels import equality, sets
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    SETS,
    Address,
    Atom,
    Bool,
    Choice,
    Enum,
    Gen,
    Int,
    Item,
    Literal,
    Mask,
    Origin,
    Place,
    Range,
    Rec,
    Run,
    Scalar,
    Seg,
    Symbol,
    Tup,
    Update,
    is_set,
    scaled,
)
from tidemark_conformance.tla.types import (
    TAtom,
    TBool,
    TFun,
    TInt,
    TRec,
    TSeq,
    TSet,
    TTuple,
    TUnion,
    Type,
    atom_name,
    canonical,
    enumerate_type,
    field_offset,
    join,
    size,
    slots,
    type_of_value,
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


def literal(c: Context, value: Value) -> Symbol:
    """A value known while generating."""
    match value:
        case bool():
            return Bool(str(value))
        case int():
            return Int(str(value), value, value)
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
                return Range(Int(str(low), low, low), Int(str(high), high, high))
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


def type_of(c: Context, value: Symbol) -> Type:
    """The type that a value certainly has."""
    match value:
        case Int(_, lo, hi):
            return TInt(lo, hi)
        case Bool():
            return TBool()
        case Atom(_, members):
            return TAtom(members)
        case Place(_, kind, _):
            return kind
        case Rec(fields):
            kinds = tuple((name, type_of(c, part)) for name, part in sorted(fields.items()))
            tag = dict(kinds).get("type")
            if isinstance(tag, TAtom) and all(isinstance(m, str) for m in tag.members):
                rest = tuple((name, kind) for name, kind in kinds if name != "type")
                return TUnion(((tag.members, rest),)) if len(tag.members) == 1 else TRec(kinds)
            return TRec(kinds)
        case Tup(items):
            return TTuple(tuple(type_of(c, item) for item in items)) if items else TSeq(TBool(), 0)
        case Update(base, _, _):
            return _type_of_update(c, value, type_of(c, base))
        case Choice(_, then, orelse):
            kinds2 = []
            for part in (then, orelse):
                with c.captured() as buffer:
                    kinds2.append(type_of(c, part()))
                c.drop(buffer)
            return join(kinds2[0], kinds2[1], c.loc)
        case Seg() | Literal():
            return _type_of_elements(c, value)
    kind = sets.universe(c, value)
    if kind is None:
        raise c.unsupported("a set whose elements are not known to be among 62 values is used as a value")
    return kind


def _type_of_update(c: Context, value: Update, base: Type) -> Type:
    with c.captured() as buffer:
        new = type_of(c, value.value())
    c.drop(buffer)
    match base:
        case TFun(domain, key, target):
            return TFun(domain, key, join(target, new, c.loc))
        case TSeq(elem, cap):
            return TSeq(join(elem, new, c.loc), cap)
        case TRec(fields):
            return TRec(tuple((n, join(k, new, c.loc) if n == value.key else k) for n, k in fields))
    return base


def _type_of_elements(c: Context, value: Seg | Literal) -> Type:
    if isinstance(value, Literal) and not isinstance(value.domain, Range):
        kind = sets.universe(c, value.domain)
        if kind is None:
            raise c.unsupported("a function whose domain is not known to be among 62 values is used as a value")
        with c.captured() as buffer:
            target = type_of(c, value.body(member_at(c, kind, "0")))
        c.drop(buffer)
        return TFun(kind.members, kind.elem, target)
    cap, elem = 0, cast("Type | None", None)
    for part in sequence_parts(c, value):
        with c.captured() as buffer:
            match part:
                case Run(place, _, _, most):
                    own = element_type(place.kind)
                case Item(item):
                    own, most = type_of(c, item), 1
                case Gen(_, element, known):
                    if known is None:
                        raise c.unsupported("a sequence of a length without a known bound is used as a value")
                    own, most = type_of(c, element("0")), known
        c.drop(buffer)
        cap += most
        elem = own if elem is None else join(elem, own, c.loc)
    return TSeq(elem or TBool(), cap)


def element_type(kind: Type) -> Type:
    """The element type of a sequence (or of a function on 1..n)."""
    if isinstance(kind, TSeq):
        return kind.elem
    return kind.range if isinstance(kind, TFun) else TBool()


def sequence_cap(kind: Type) -> int:
    """How many elements a sequence (or a function on 1..n) has at most."""
    return kind.cap if isinstance(kind, TSeq) else len(kind.domain) if isinstance(kind, TFun) else 0


# --- scalars --------------------------------------------------------------------------------------------------------


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
    """IF condition THEN then() ELSE orelse()."""
    if condition in ("True", "False"):
        return then() if condition == "True" else orelse()
    checked = c.checked
    with c.captured() as first:
        a = then()
    first.scope.end()
    with c.captured() as second:
        b = orelse()
    second.scope.end()
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
    if isinstance(a, Place) and isinstance(b, Place) and a.kind == b.kind and not first.lines and not second.lines:
        name = c.name("a")
        c.line(f"{name} = ({a.base}) if {condition} else ({b.base})")
        return Place(Address(0, (name,)), a.kind)
    c.checked = checked
    return Choice(c.named(condition), then, orelse)


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
    if (isinstance(a, scalars) or isinstance(b, scalars)) or is_set(a) != is_set(b):
        if not isinstance(a, Choice) and not isinstance(b, Choice):
            raise c.unsupported(f"two branches of unlike kinds, a {kind_name(a)} and a {kind_name(b)}")
    return None


# --- records --------------------------------------------------------------------------------------------------------


def field_names(value: Symbol) -> list[str] | None:
    """The fields that a record certainly has, None for a union or what is no record."""
    match value:
        case Rec(fields):
            return sorted(fields)
        case Place(_, TRec(fields2), _):
            return [name for name, _ in fields2]
        case Update(base, str(), _):
            return field_names(base)
    return None


def field(c: Context, value: Symbol, name: str) -> Symbol:
    """record.name; a field that is not there is an evaluation error (or a refusal, if that is certain)."""
    match value:
        case Rec(fields):
            if name in fields:
                return fields[name]
        case Place(base, TRec() as kind, _):
            found = field_offset(kind, name)
            if found is not None:
                return load(base.plus(found[0]), found[1])
        case Place(base, TUnion() as kind, _):
            return _union_field(c, base, kind, name)
        case Update(base2, key, new):
            return new() if key == name else field(c, base2, name)
        case Choice(condition, then, orelse):
            return choice(c, condition, lambda: field(c, then(), name), lambda: field(c, orelse(), name))
        case Literal() | Seg() | Tup():
            pass
        case Place(_, TFun(domain, _, _), _) if name in domain:
            return apply(c, value, Atom("0", (name,)))
    if isinstance(value, Literal):
        return apply(c, value, Atom("0", (name,)))
    raise c.unsupported(f"a value without a field `{name}` (a {kind_name(value)}) is asked for it")


def _union_field(c: Context, base: Address, kind: TUnion, name: str) -> Symbol:
    if name == "type":
        return load(base, kind.tags)
    found = [slot for slot in slots(kind) if slot.name == name]
    if not found:
        raise c.unsupported(f"no variant has a field `{name}`")
    total = len(kind.tags.members)
    result: Callable[[], Symbol] | None = None
    for slot in found:
        allowed = sum(1 << tag for tag in slot.tags)

        def here(slot_offset: int = slot.offset, slot_type: Type = slot.type) -> Symbol:
            return load(base.plus(slot_offset), slot_type)

        def checked(slot_offset: int = slot.offset, slot_type: Type = slot.type, mask: int = allowed) -> Symbol:
            guard = c.check(f"ix(p, 0, ({mask} >> p[{base}]) & 1)")
            name2 = c.named(guard, "z")
            return load(base.plus(slot_offset, name2), slot_type)

        if result is None:
            result = here if len(slot.tags) == total else checked
        else:
            other = result

            def either(mask: int = allowed, here: Callable[[], Symbol] = here, other: Callable[[], Symbol] = other) -> Symbol:
                return choice(c, c.named(f"(({mask} >> p[{base}]) & 1) != 0"), here, other)

            result = either
    if result is None:
        raise c.unsupported(f"no variant has a field `{name}`")
    return result()


def unchecked_field(base: Address, kind: TUnion, tag: int, name: str) -> Symbol:
    """A field of a union whose tag is known to be `tag`."""
    slot = next(slot for slot in slots(kind) if slot.name == name and tag in slot.tags)
    return load(base.plus(slot.offset), slot.type)


# --- functions and sequences ----------------------------------------------------------------------------------------


def position(c: Context, key: Symbol, members: tuple[Value, ...], elem: Type) -> tuple[str, bool]:
    """A value's index among the members of a universe, and whether it certainly is one (the text may be out of range)."""
    match key, elem:
        case Int(code, lo, hi, _), TInt():
            if contiguous(members):
                low, high = members[0], members[-1]
                total = lo is not None and hi is not None and low <= lo and hi <= high
                return fold(code if low == 0 else f"({code} + {-low})"), total
            low, high = members[0], members[-1]
            table = [members.index(i) if i in members else -1 for i in range(low, high + 1)]
            return f"lookup(p, {c.memory.table(table)}, {code} - {low}, {len(table)})", False
        case Bool(code), TBool():
            if len(members) == 2:
                return f"(1 if {code} else 0)", True
            return f"(0 if {code if members[0] else negate(code)} else -1)", False
        case Atom(), TAtom():
            return atom_index(c, key, members)
        case Choice(condition, then, orelse), _:
            both: list[bool] = []

            def side(part: Callable[[], Symbol]) -> Symbol:
                code, total = position(c, part(), members, elem)
                both.append(total)
                return Int(code)

            merged = choice(c, condition, lambda: side(then), lambda: side(orelse))
            return cast(Int, merged).code, all(both)
    return sets.rank(c, key, members, elem)


def negate(code: str) -> str:
    """not code, in parentheses."""
    return f"(not {code})"


def apply(c: Context, function: Symbol, key: Symbol) -> Symbol:
    """function[key], a sequence's index and a record's field included."""
    if isinstance(key, Atom) and key.code.isdigit() and isinstance(key.members[int(key.code)], str):
        name = str(key.members[int(key.code)])
        if isinstance(function, Rec) or (isinstance(function, Place) and isinstance(function.kind, TRec | TUnion)):
            return field(c, function, name)
        if isinstance(function, Update) and isinstance(function.key, str):
            return field(c, function, name)
    match function:
        case Place(_, TFun(), _):
            return _apply_place(c, function, key)
        case Place(_, TSeq(), _) | Tup() | Seg():
            return _apply_sequence(c, function, integer(c, key))
        case Place(base, TTuple(parts), _):
            index = int(integer(c, key).code) - 1 if integer(c, key).code.isdigit() else -1
            if not 0 <= index < len(parts):
                if any(part != parts[0] for part in parts):
                    raise c.unsupported("an index that is no literal, into a tuple of unlike parts")
                at = c.named(c.check(f"ix(p, {integer(c, key).code} - 1, {len(parts)})"), "i")
                return load(base.plus(*scaled(at, size(parts[0]))), parts[0])
            return load(base.plus(sum(size(part) for part in parts[:index])), parts[index])
        case Literal(domain, body):
            kept = keep(c, key)
            inside = sets.member(c, kept, domain)
            if inside != "True":
                _need(c, inside)
            return body(kept)
        case Update(base2, own, new):
            return _apply_update(c, base2, own, new, key)
        case Choice(condition, then, orelse):
            kept2 = keep(c, key)
            return choice(c, condition, lambda: apply(c, then(), kept2), lambda: apply(c, orelse(), kept2))
    raise c.unsupported(f"a {kind_name(function)} is applied to an argument")


def _need(c: Context, condition: str) -> None:
    """Raise an evaluation error unless a condition holds."""
    c.checked += 1
    with c.block(f"if not {condition}:"):
        c.line("p[0] = 1")


def _apply_place(c: Context, function: Place, key: Symbol) -> Symbol:
    kind = cast(TFun, function.kind)
    code, total = position(c, key, kind.domain, kind.key)
    if not total:
        code = c.named(c.check(f"ix(p, {code}, {len(kind.domain)})"), "i")
    return element_at(c, function, code)


def element_at(c: Context, function: Place, index: str) -> Symbol:
    """The value of a function at the index of a domain element, or a sequence's element at a 0-based index."""
    first = 1 if isinstance(function.kind, TSeq) else 0
    elem = element_type(function.kind)
    offset, term = scaled(index, size(elem))
    origin = function.origin
    unit = None
    if origin is not None and origin.unit is None and isinstance(function.kind, TFun):
        unit = Origin(origin.variable, origin.primed, index)
    return load(function.base.plus(first + offset, term), elem, unit)


def _apply_sequence(c: Context, sequence: Symbol, key: Int) -> Symbol:
    if isinstance(sequence, Tup):
        if key.code.isdigit():
            if 1 <= int(key.code) <= len(sequence.items):
                return sequence.items[int(key.code) - 1]
            raise c.unsupported("an index beyond a tuple's end")
        if not sequence.items:
            raise c.unsupported("an index into the empty sequence")
    total = length(c, sequence).code
    if key.below is not None and key.below == total and key.lo is not None and key.lo >= 1:
        return element(c, sequence, fold(f"({key.code} + -1)"))
    index = c.named(c.check(f"ix(p, {key.code} - 1, {total})"), "i")
    return element(c, sequence, index)


def _apply_update(
    c: Context, base: Symbol, own: Symbol | str, new: Callable[[], Symbol], key: Symbol
) -> Symbol:
    if isinstance(own, str):
        raise c.unsupported("a record with an EXCEPT is applied to an argument that is no literal field")
    kept = keep(c, key)
    same = equality.equal(c, kept, own)
    return choice(c, same if same in ("True", "False") else c.named(same), new, lambda: apply(c, base, kept))


def length(c: Context, value: Symbol) -> Int:
    """Len(value)."""
    match value:
        case Place(base, TSeq(_, cap), _):
            return Int(f"p[{base}]" if cap else "0", 0, cap)
        case Place(_, TFun(domain, _, _), _) if domain == tuple(range(1, len(domain) + 1)):
            return Int(str(len(domain)), len(domain), len(domain))
        case Place(_, TTuple(parts), _):
            return Int(str(len(parts)), len(parts), len(parts))
        case Tup(items):
            return Int(str(len(items)), len(items), len(items))
        case Seg(parts2):
            return _sum_lengths(parts2)
        case Update(base2, _, _):
            return length(c, base2)
        case Literal(Range(lo, hi), _) if lo.code == "1":
            return Int(hi.code if hi.lo is not None and hi.lo >= 0 else f"({hi.code} if {hi.code} > 0 else 0)", 0, hi.hi)
        case Choice(condition, then, orelse):
            return integer(c, choice(c, condition, lambda: length(c, then()), lambda: length(c, orelse())))
    raise c.unsupported(f"Len of a {kind_name(value)}")


def _sum_lengths(parts: tuple[Run | Item | Gen, ...]) -> Int:
    fixed, codes, least, most = 0, [], 0, cast("int | None", 0)
    for part in parts:
        if isinstance(part, Item):
            fixed, least = fixed + 1, least + 1
            most = None if most is None else most + 1
            continue
        if part.count.isdigit():
            fixed += int(part.count)
        else:
            codes.append(part.count)
        most = None if most is None or part.most is None else most + part.most
    if not codes:
        return Int(str(fixed), fixed, fixed)
    text = " + ".join(codes + ([str(fixed)] if fixed else []))
    return Int(f"({text})" if len(codes) > 1 or fixed else text, least, most)


def sequence_parts(c: Context, value: Symbol) -> list[Run | Item | Gen]:
    """A sequence as its parts."""
    match value:
        case Seg(parts):
            return list(parts)
        case Tup(items):
            return [Item(item) for item in items]
        case Place(_, TSeq() | TFun(), _):
            cap = sequence_cap(value.kind)
            return [Run(value, "0", length(c, value).code, cap)] if cap else []
        case Choice():
            place = equality.materialize(c, value)
            return [Run(place, "0", length(c, place).code, sequence_cap(place.kind))]
    total = length(c, value)
    count = c.keep(total.code)
    below = count
    return [Gen(count, lambda index: apply(c, value, Int(fold(f"({index} + 1)"), 1, None, below)), total.hi)]


def element(c: Context, value: Symbol, index: str) -> Symbol:
    """A sequence's element at a 0-based index that is known to be inside."""
    match value:
        case Place(_, TSeq() | TFun(), _):
            return element_at(c, value, index)
        case Choice(condition, then, orelse):
            return choice(c, condition, lambda: element(c, then(), index), lambda: element(c, orelse(), index))
    parts = sequence_parts(c, value)
    return _element_of(c, parts, c.keep(index, "i"))


def _element_of(c: Context, parts: list[Run | Item | Gen], index: str) -> Symbol:
    part, rest = parts[0], parts[1:]

    def here() -> Symbol:
        match part:
            case Run(place, start, _, _):
                return element_at(c, place, index if start == "0" else f"({start} + {index})")
            case Item(value):
                return value
            case Gen(_, generate, _):
                return generate(index)

    if not rest:
        return here()
    count = "1" if isinstance(part, Item) else part.count

    def there() -> Symbol:
        return _element_of(c, rest, c.keep(f"{index} - {count}", "i"))

    return choice(c, c.named(f"({index} < {count})"), here, there)


def subsequence(c: Context, value: Symbol, low: Int, high: Int) -> Symbol:
    """SubSeq(value, low, high): empty if low > high, otherwise within 1..Len(value) or an evaluation error."""
    total = length(c, value)
    first, last = c.keep(low.code), c.keep(high.code)
    safe = (low.lo is not None and low.lo >= 1) and (high.below == total.code or last == total.code)
    if not safe:
        _need(c, f"({first} > {last} or ({first} >= 1 and {last} <= {total.code}))")
        count = c.named(f"({last} - {first} + 1 if ({first} <= {last} and {first} >= 1 and {last} <= {total.code}) else 0)")
    else:
        count = c.named(f"({last} - {first} + 1 if {first} <= {last} else 0)")
    start = fold(f"({first} + -1)")
    most = _least(total.hi, high.hi)
    if isinstance(value, Place):
        return Seg((Run(value, start, count, sequence_cap(value.kind) if most is None else most),))
    parts = sequence_parts(c, value)
    if len(parts) == 1 and isinstance(parts[0], Run):
        run = parts[0]
        return Seg((Run(run.place, start if run.start == "0" else f"({run.start} + {start})", count, run.most),))
    kept = parts
    return Seg((Gen(count, lambda index: _element_of(c, kept, c.keep(f"{index} + {start}", "i")), most),))


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def all_values(c: Context, kind: Type) -> TSet | None:
    """The universe of all values of a type, if it is small enough for a mask."""
    values = enumerate_type(kind)
    return None if values is None else TSet(kind, tuple(values))


def describe_atoms(members: Sequence[Value]) -> str:
    """Names of atoms, for messages."""
    return ", ".join(atom_name(member) for member in members)


_ = SETS
