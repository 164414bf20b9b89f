"""Records, functions and sequences: fields, application, lengths, sequences as their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.kernels import values
from tidemark_conformance.tla.kernels.context import Context
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
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
    Seg,
    Symbol,
    Tup,
    Update,
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
    field_offset,
    size,
    slots,
)
from tidemark_conformance.tla.values import Value

# --- loads and constants --------------------------------------------------------------------------------------------


def field_names(value: Symbol) -> list[str] | None:
    """The fields that a record certainly has, None for a union or another kind of value."""
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
                return values.load(base.plus(found[0]), found[1])
        case Place(base, TUnion() as kind, _):
            return _union_field(c, base, kind, name)
        case Update(base2, str() as key, new):
            return new() if key == name else field(c, base2, name)
        case Update():
            return apply(c, value, Atom("0", (name,)))
        case Choice(condition, then, orelse):
            return values.choice(c, condition, lambda: field(c, then, name), lambda: field(c, orelse, name))
        case Literal() | Seg() | Tup():
            pass
        case Place(_, TFun(domain, _, _), _) if name in domain:
            return apply(c, value, Atom("0", (name,)))
    if isinstance(value, Literal):
        return apply(c, value, Atom("0", (name,)))
    raise c.impossible(f"a value without a field `{name}` (a {values.kind_name(value)}) is asked for it")


def _union_field(c: Context, base: Address, kind: TUnion, name: str) -> Symbol:
    if name == "type":
        return values.load(base, kind.tags)
    found = [slot for slot in slots(kind) if slot.name == name]
    if not found:
        raise c.impossible(f"no variant has a field `{name}`")
    total = len(kind.tags.members)
    result: Callable[[], Symbol] | None = None
    for slot in found:
        allowed = sum(1 << tag for tag in slot.tags)

        def here(slot_offset: int = slot.offset, slot_type: Type = slot.type) -> Symbol:
            return values.load(base.plus(slot_offset), slot_type)

        def checked(slot_offset: int = slot.offset, slot_type: Type = slot.type, mask: int = allowed) -> Symbol:
            name2 = c.check(f"ix(p, 0, ({mask} >> p[{base}]) & 1)", "z")
            return values.load(base.plus(slot_offset, name2), slot_type)

        if result is None:
            result = here if len(slot.tags) == total else checked
        else:
            other = result

            def either(
                mask: int = allowed, here: Callable[[], Symbol] = here, other: Callable[[], Symbol] = other
            ) -> Symbol:
                return values.choice(c, c.named(f"(({mask} >> p[{base}]) & 1) != 0"), here, other)

            result = either
    if result is None:
        raise c.impossible(f"no variant has a field `{name}`")
    return result()


def unchecked_field(base: Address, kind: TUnion, tag: int, name: str) -> Symbol:
    """A field of a union whose tag is known to be `tag`."""
    slot = next(slot for slot in slots(kind) if slot.name == name and tag in slot.tags)
    return values.load(base.plus(slot.offset), slot.type)


def position(c: Context, key: Symbol, members: tuple[Value, ...], elem: Type) -> tuple[str, bool]:
    """A value's index among a universe's members, and whether it certainly is one (else maybe no index)."""
    if not members:
        return "-1", False
    match key, elem:
        case Int(code, lo, hi, _), TInt():
            if values.contiguous(members):
                low, high = members[0], members[-1]
                total = lo is not None and hi is not None and low <= lo and hi <= high
                return values.fold(code if low == 0 else f"({code} + {-low})"), total
            low, high = members[0], members[-1]
            table = [members.index(i) if i in members else -1 for i in range(low, high + 1)]
            return f"lookup(p, {c.memory.table(table)}, {code} - {low}, {len(table)})", False
        case Bool(code), TBool():
            if len(members) == 2:
                return f"(1 if {code} else 0)", True
            return f"(0 if {code if members[0] else negate(code)} else -1)", False
        case Atom(), TAtom():
            return values.atom_index(c, key, members)
        case Choice(condition, then, orelse), _:
            both: list[bool] = []

            def side(part: Symbol) -> Symbol:
                code, total = position(c, part, members, elem)
                both.append(total)
                return Int(code)

            merged = values.choice(c, condition, lambda: side(then), lambda: side(orelse))
            return cast(Int, merged).code, all(both)
    return c.rank(key, members, elem)


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
            return _apply_sequence(c, function, values.integer(c, key))
        case Place(base, TTuple(parts), _):
            index = int(values.integer(c, key).code) - 1 if values.integer(c, key).code.isdigit() else -1
            if not 0 <= index < len(parts):
                at = c.check(f"ix(p, {values.integer(c, key).code} - 1, {len(parts)})", "i")
                if any(part != parts[0] for part in parts):
                    return _part_at(c, base, parts, at, 0)
                return values.load(base.plus(*scaled(at, size(parts[0]))), parts[0])
            return values.load(base.plus(sum(size(part) for part in parts[:index])), parts[index])
        case Rec() | Place(_, TRec(), _) if isinstance(key, Atom):
            names = field_names(function) or []
            code, certain = values.atom_index(c, key, tuple(names))
            at = c.named(code, "i") if certain else c.check(f"ix(p, {code}, {len(names)})", "i")
            return _field_at(c, function, names, at)
        case Literal(domain, body):
            kept = values.keep(c, key)
            inside = c.member(kept, domain)
            if inside != "True":
                _need(c, inside)
            return body(kept)
        case Update(base2, own, new):
            return _apply_update(c, base2, own, new, key)
        case Choice(condition, then, orelse):
            kept2 = values.keep(c, key)
            return values.choice(c, condition, lambda: apply(c, then, kept2), lambda: apply(c, orelse, kept2))
    raise c.unsupported(f"a {values.kind_name(function)} is applied to an argument")


def _part_at(c: Context, base: Address, parts: tuple[Type, ...], at: str, first: int) -> Symbol:
    """The part of a tuple at an index that is known to be inside, and not before `first`."""
    here = values.load(base.plus(sum(size(part) for part in parts[:first])), parts[first])
    if first == len(parts) - 1:
        return here
    rest = first + 1
    return values.choice(c, c.named(f"({at} == {first})"), lambda: here, lambda: _part_at(c, base, parts, at, rest))


def _field_at(c: Context, record: Symbol, names: list[str], at: str) -> Symbol:
    """A record's field by the index of its name: a function on strings may be in the memory as a record."""
    here, rest = names[0], names[1:]
    if not rest:
        return field(c, record, here)
    first = c.named(f"({at} == 0)")
    after = c.named(f"({at} - 1)")
    return values.choice(c, first, lambda: field(c, record, here), lambda: _field_at(c, record, rest, after))


def _need(c: Context, condition: str) -> None:
    """Raise an evaluation error unless a condition holds."""
    c.errs()
    with c.block(f"if not {condition}:"):
        c.line("p[0] = 1")


def _apply_place(c: Context, function: Place, key: Symbol) -> Symbol:
    kind = cast(TFun, function.kind)
    code, total = position(c, key, kind.domain, kind.key)
    if not total:
        code = c.check(f"ix(p, {code}, {len(kind.domain)})", "i")
    return element_at(c, function, code)


def element_at(c: Context, function: Place, index: str) -> Symbol:
    """The value of a function at the index of a domain element, or a sequence's element at a 0-based index."""
    first = 1 if isinstance(function.kind, TSeq) else 0
    elem = values.element_type(function.kind)
    offset, term = scaled(index, size(elem))
    origin = function.origin
    unit = None
    if origin is not None and origin.unit is None and isinstance(function.kind, TFun):
        unit = Origin(origin.variable, origin.primed, index)
    return values.load(function.base.plus(first + offset, term), elem, unit)


def _apply_sequence(c: Context, sequence: Symbol, key: Int) -> Symbol:
    if isinstance(sequence, Tup):
        if key.code.isdigit():
            if 1 <= int(key.code) <= len(sequence.items):
                return sequence.items[int(key.code) - 1]
            raise c.impossible("an index beyond a tuple's end")
        if not sequence.items:
            raise c.impossible("an index into the empty sequence")
    total = length(c, sequence).code
    if key.below is not None and key.below == total and key.lo is not None and key.lo >= 1:
        return element(c, sequence, values.fold(f"({key.code} + -1)"))
    index = c.check(f"ix(p, {key.code} - 1, {total})", "i")
    return element(c, sequence, index)


def _apply_update(c: Context, base: Symbol, own: Symbol | str, new: Callable[[], Symbol], key: Symbol) -> Symbol:
    if isinstance(own, str):
        raise c.unsupported("a record with an EXCEPT is applied to an argument that is no literal field")
    kept = values.keep(c, key)
    same = c.equal(kept, own)

    def updated() -> Symbol:
        inside = c.member(kept, domain_of(c, base))
        if inside != "True":
            _need(c, inside)
        if isinstance(base, Literal):
            base.body(kept)  # TLC asks for the old value, too.
        return new()

    return values.choice(c, same if same in ("True", "False") else c.named(same), updated, lambda: apply(c, base, kept))


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
            return Int(
                hi.code if hi.lo is not None and hi.lo >= 0 else f"({hi.code} if {hi.code} > 0 else 0)", 0, hi.hi
            )
        case Choice(condition, then, orelse):
            chosen = values.choice(c, condition, lambda: length(c, then), lambda: length(c, orelse))
            return values.integer(c, chosen)
    raise c.unsupported(f"Len of a {values.kind_name(value)}")


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
    """A sequence as its parts; those that are certainly empty have no element, and are left out."""
    match value:
        case Seg(parts):
            return [part for part in parts if isinstance(part, Item) or part.most != 0]
        case Tup(items):
            return [Item(item) for item in items]
        case Place(_, TSeq() | TFun(), _):
            cap = values.sequence_cap(value.kind)
            return [Run(value, "0", length(c, value).code, cap)] if cap else []
        case Choice():
            place = c.materialize(value)
            cap = values.sequence_cap(place.kind)
            return [Run(place, "0", length(c, place).code, cap)] if cap else []
    total = length(c, value)
    count = c.keep(total.code)
    below = count
    return [Gen(count, lambda index: apply(c, value, Int(values.fold(f"({index} + 1)"), 1, None, below)), total.hi)]


def element(c: Context, value: Symbol, index: str) -> Symbol:
    """A sequence's element at a 0-based index that is known to be inside."""
    match value:
        case Place(_, TSeq() | TFun(), _):
            return element_at(c, value, index)
        case Choice(condition, then, orelse):
            return values.choice(c, condition, lambda: element(c, then, index), lambda: element(c, orelse, index))
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

    return values.choice(c, c.named(f"({index} < {count})"), here, there)


def subsequence(c: Context, value: Symbol, low: Int, high: Int) -> Symbol:
    """SubSeq(value, low, high): empty if low > high, otherwise within 1..Len(value) or an evaluation error."""
    total = length(c, value)
    first, last = c.keep(low.code), c.keep(high.code)
    safe = (low.lo is not None and low.lo >= 1) and (high.below == total.code or last == total.code)
    if not safe:
        _need(c, f"({first} > {last} or ({first} >= 1 and {last} <= {total.code}))")
        count = c.named(
            f"({last} - {first} + 1 if ({first} <= {last} and {first} >= 1 and {last} <= {total.code}) else 0)"
        )
    else:
        count = c.named(f"({last} - {first} + 1 if {first} <= {last} else 0)")
    start = values.fold(f"({first} + -1)")
    most = _least(total.hi, high.hi)
    if most == 0:
        return Seg(())
    if isinstance(value, Place):
        return Seg((Run(value, start, count, values.sequence_cap(value.kind) if most is None else most),))
    parts = sequence_parts(c, value)
    if len(parts) == 1 and isinstance(parts[0], Run):
        run = parts[0]
        return Seg((Run(run.place, start if run.start == "0" else f"({run.start} + {start})", count, run.most),))
    kept = parts
    return Seg((Gen(count, lambda index: _element_of(c, kept, c.keep(f"{index} + {start}", "i")), most),))


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def domain_of(c: Context, value: Symbol) -> Symbol:
    """DOMAIN value."""
    match value:
        case Place(_, TFun(domain, key, _), _):
            if len(domain) <= 62:
                return Mask(str((1 << len(domain)) - 1), TSet(key, domain))
            return values.literal(c, frozenset(domain))
        case Literal(domain2, _):
            return domain2
        case Update(base, _, _):
            return domain_of(c, base)
        case Choice(condition, then, orelse):
            return values.choice(c, condition, lambda: domain_of(c, then), lambda: domain_of(c, orelse))
    names = field_names(value)
    if names is not None:
        return values.literal(c, frozenset(names))
    total = length(c, value)
    return Range(Int("1", 1, 1), total)


def at_index(c: Context, value: Symbol, universe: TSet, index: str) -> Symbol:
    """The value of a function at the member of a universe, its domain, with this index."""
    if isinstance(value, Place) and isinstance(value.kind, TFun) and value.kind.domain == universe.members:
        return element_at(c, value, index)
    key = values.member_at(c, universe, index)
    if isinstance(value, Literal):
        return value.body(key)
    return apply(c, value, key)


def plain_field(c: Context, value: Symbol, tag: str, name: str) -> Symbol:
    """A field of a record or union that is known to carry this tag."""
    if isinstance(value, Place) and isinstance(value.kind, TUnion) and tag in value.kind.tags.members:
        index = value.kind.tags.members.index(tag)
        if any(slot.name == name and index in slot.tags for slot in slots(value.kind)):
            return unchecked_field(value.base, value.kind, index, name)
    return field(c, value, name)


def chain(value: Update) -> tuple[Symbol, list[Update]]:
    """The base under nested EXCEPTs of one function, and the updates from the last to the first."""
    updates = [value]
    base = value.base
    while isinstance(base, Update):
        updates.append(base)
        base = base.base
    return base, updates


def update_index(c: Context, kind: TFun, update: Update) -> tuple[str, str]:
    """The index of an update's key in the domain, and the condition that it is there (else nothing is updated)."""
    code, total = position(c, cast(Symbol, update.key), kind.domain, kind.key)
    if total:
        return c.keep(code, "i"), "True"
    index = c.named(code, "i")
    return index, f"({index} >= 0 and {index} < {len(kind.domain)})"


def is_record(value: Symbol) -> bool:
    """Whether a value is certainly a record."""
    if isinstance(value, Update):
        return isinstance(value.key, str) or is_record(value.base)
    return isinstance(value, Rec) or (isinstance(value, Place) and isinstance(value.kind, TRec | TUnion))
