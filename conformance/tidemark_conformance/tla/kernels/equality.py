"""Comparing symbolic values structurally, and storing them into cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from tidemark_conformance.tla.kernels import sets, values
from tidemark_conformance.tla.kernels.context import Context, both, conjunction
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
    Place,
    Range,
    Rec,
    Run,
    Seg,
    Symbol,
    Tup,
    Update,
    is_set,
    scaled,
)
from tidemark_conformance.tla.layout import MAX_UNITS
from tidemark_conformance.tla.types import (
    Slot,
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
    is_scalar,
    size,
    slots,
)


def equal(c: Context, a: Symbol, b: Symbol) -> str:
    """The text of a = b. Values of unlike kinds are refused."""
    match a, b:
        case Int(), Int():
            return _equal_integers(a, b)
        case Bool(), Bool():
            if "True" in (a.code, b.code):
                return b.code if a.code == "True" else a.code
            return f"({a.code} == {b.code})"
        case Atom(), Atom():
            return _equal_atoms(c, a, b)
    if is_set(a) and is_set(b):
        return sets.equal_sets(c, a, b)
    if isinstance(a, Choice) or isinstance(b, Choice):
        return _equal_choice(c, a, b)
    scalar = (Int, Bool, Atom)
    if isinstance(a, scalar) or isinstance(b, scalar) or is_set(a) or is_set(b):
        raise c.unsupported(f"a {values.kind_name(a)} is compared with a {values.kind_name(b)}")
    if isinstance(b, Place) and not isinstance(a, Place):
        a, b = b, a
    if isinstance(a, Place) and isinstance(b, Place):
        return _equal_places(c, a, b)
    return _equal_virtual(c, a, b)


def _equal_integers(a: Int, b: Int) -> str:
    if a.code == b.code:
        return "True"
    if a.code.lstrip("-").isdigit() and b.code.lstrip("-").isdigit():
        return str(int(a.code) == int(b.code))
    return f"({a.code} == {b.code})"


def _equal_atoms(c: Context, a: Atom, b: Atom) -> str:
    if b.code.isdigit() and not a.code.isdigit():
        a, b = b, a
    code, total = values.atom_index(c, a, b.members)
    if code == "-1":
        return "False"
    if code == b.code:
        return "True"
    if code.isdigit() and b.code.isdigit():
        return "False"
    return f"({code} == {b.code})"


def _equal_choice(c: Context, a: Symbol, b: Symbol) -> str:
    if not isinstance(a, Choice):
        a, b = b, a
    pick = cast(Choice, a)
    return values.truth(
        c,
        values.choice(
            c, pick.condition, lambda: Bool(equal(c, pick.then(), b)), lambda: Bool(equal(c, pick.orelse(), b))
        ),
    )


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


def _equal_places(c: Context, a: Place, b: Place) -> str:
    x, y = a.origin, b.origin
    if x is not None and y is not None and x.variable == y.variable and x.primed != y.primed and x.unit == y.unit:
        return unchanged(c, x.variable, x.unit)
    if a.base == b.base and a.kind == b.kind:
        return "True"
    if a.kind == b.kind:
        if isinstance(a.kind, TSeq):
            width = size(a.kind.elem)
            count = f"p[{a.base}]" if width == 1 else f"p[{a.base}] * {width}"
            return both(f"(p[{a.base}] == p[{b.base}])", run_equal(c, a.base.plus(1), b.base.plus(1), count))
        return run_equal(c, a.base, b.base, str(size(a.kind)))
    return _equal_virtual(c, a, b)


def unchanged(c: Context, variable: int, unit: str | None) -> str:
    """Whether a variable (or one unit of it) is the same in both states, by the dirty masks."""
    cell = f"p[{c.memory.dirty + variable}]"
    if unit is None or c.layout.variables[variable].units > MAX_UNITS:
        if unit is not None:
            place = c.layout.variables[variable]
            offset, term = scaled(unit, place.unit_size)
            old = Address(c.memory.current + place.offset).plus(offset, term)
            new = Address(c.memory.next + place.offset).plus(offset, term)
            return f"({cell} == 0 or {run_equal(c, old, new, str(place.unit_size))})"
        return f"({cell} == 0)"
    return f"(({cell} >> {unit}) & 1 == 0)"


def _equal_virtual(c: Context, a: Symbol, b: Symbol) -> str:
    """Two compound values part by part; `a` is the place if there is one."""
    if isinstance(b, Update):
        special = _equal_update(c, a, b)
        if special is not None:
            return special
    if _is_record(a) or _is_record(b):
        return _equal_records(c, a, b)
    kinds = [v.kind for v in (a, b) if isinstance(v, Place)]
    if kinds and isinstance(kinds[0], TTuple):
        return _equal_tuples(c, kinds[0], a, b)
    domain = next((kind for kind in kinds if isinstance(kind, TFun)), None) or _function_kind(c, a, b)
    if domain is not None:
        return _equal_functions(c, domain, a, b)
    return _equal_sequences(c, a, b)


def _is_record(value: Symbol) -> bool:
    if isinstance(value, Update):
        return isinstance(value.key, str) or _is_record(value.base)
    return isinstance(value, Rec) or (isinstance(value, Place) and isinstance(value.kind, TRec | TUnion))


def _function_kind(c: Context, a: Symbol, b: Symbol) -> TFun | None:
    for value in (a, b):
        while isinstance(value, Update):
            value = value.base
        if isinstance(value, Place) and isinstance(value.kind, TFun):
            return value.kind
        if isinstance(value, Literal):
            kind = sets.universe(c, value.domain)
            if isinstance(value.domain, Mask) and kind is not None:
                return TFun(kind.members, kind.elem, TBool())
    return None


# --- records --------------------------------------------------------------------------------------------------------


def _equal_records(c: Context, a: Symbol, b: Symbol) -> str:
    names_a, names_b = values.field_names(a), values.field_names(b)
    if names_a is not None and names_b is not None:
        if names_a != names_b:
            return "False"
        return conjunction(c, [_same_field(c, a, b, name) for name in names_a])
    union, other = (a, b) if names_a is None else (b, a)
    if isinstance(union, Place) and isinstance(union.kind, TUnion):
        return _equal_union(c, union, other)
    raise c.unsupported("records of unlike kinds are compared")


def _same_field(c: Context, a: Symbol, b: Symbol, name: str) -> Callable[[], str]:
    return lambda: equal(c, values.field(c, a, name), values.field(c, b, name))


def _equal_union(c: Context, union: Place, other: Symbol) -> str:
    kind = cast(TUnion, union.kind)
    tag = values.field(c, other, "type")
    same_tag = equal(c, values.load(union.base, kind.tags), tag)
    names = values.field_names(other)
    parts: list[Callable[[], str]] = [lambda: same_tag]
    for tags, fields in kind.variants:
        own = sorted(["type", *(name for name, _ in fields)])
        parts.append(lambda tags=tags, fields=fields, own=own: _equal_variant(c, union, other, tags, own, names))  # type: ignore[misc]
    return conjunction(c, parts)


def _equal_variant(
    c: Context, union: Place, other: Symbol, tags: tuple[str, ...], own: list[str], names: list[str] | None
) -> str:
    """If the tag is one of a variant's (both sides have the same tag), its fields are equal."""
    kind = cast(TUnion, union.kind)
    tag = values.field(c, other, "type")
    is_one = [equal(c, tag, Atom("0", (name,))) for name in tags]
    if all(code == "False" for code in is_one):
        return "True"
    if names is not None and own != names:
        differs = both("True", " or ".join(code for code in is_one if code != "False"))
        return "False" if "True" in is_one else f"(not ({differs}))"
    index = kind.tags.members.index(tags[0])

    def fields_equal() -> Bool:
        parts: list[Callable[[], str]] = []
        for name in own:
            if name != "type":
                parts.append(
                    lambda name=name: equal(  # type: ignore[misc]
                        c, values.unchecked_field(union.base, kind, index, name), _plain_field(c, other, tags[0], name)
                    )
                )
        return Bool(conjunction(c, parts))

    if "True" in is_one:
        return fields_equal().code
    condition = c.named(" or ".join(code for code in is_one if code != "False"))
    return values.truth(c, values.choice(c, condition, fields_equal, lambda: Bool("True")))


def _plain_field(c: Context, value: Symbol, tag: str, name: str) -> Symbol:
    """A field of a record or union that is known to carry this tag."""
    if isinstance(value, Place) and isinstance(value.kind, TUnion) and tag in value.kind.tags.members:
        index = value.kind.tags.members.index(tag)
        if any(slot.name == name and index in slot.tags for slot in slots(value.kind)):
            return values.unchecked_field(value.base, value.kind, index, name)
    return values.field(c, value, name)


# --- tuples, functions, sequences -----------------------------------------------------------------------------------


def _equal_tuples(c: Context, kind: TTuple, a: Symbol, b: Symbol) -> str:
    count = len(kind.parts)
    total = values.length(c, b)
    if total.code.isdigit() and int(total.code) != count:
        return "False"

    def part(index: int) -> Callable[[], str]:
        key = Int(str(index), index, index)
        return lambda: equal(c, values.apply(c, a, key), values.apply(c, b, key))

    return conjunction(c, [lambda: equal(c, total, Int(str(count))), *(part(i + 1) for i in range(count))])


def loop(c: Context, count: str, body: Callable[[str], str]) -> str:
    """Whether the text that `body` gives for an index holds for all indices below `count`."""
    good, index = c.name("f"), c.name("i")
    c.line(f"{good} = True")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {count}:"):
        c.line(f"{good} = {body(index)}")
        c.line(f"if not {good}:")
        c.nest(["break"])
        c.line(f"{index} += 1")
    return good


def _equal_functions(c: Context, kind: TFun, a: Symbol, b: Symbol) -> str:
    universe = TSet(kind.key, kind.domain)
    full = Mask(str((1 << len(kind.domain)) - 1), universe) if len(kind.domain) <= 62 else None
    parts: list[Callable[[], str]] = []
    for value in (a, b):
        domain = domain_of(c, value)
        if isinstance(domain, Mask) and full is not None and domain.kind == universe and domain.code == full.code:
            continue
        if isinstance(value, Place) and isinstance(value.kind, TFun) and value.kind.domain == kind.domain:
            continue
        if full is None:
            raise c.unsupported("functions on more than 62 elements with unlike domains are compared")
        parts.append(lambda domain=domain: sets.equal_sets(c, full, domain))  # type: ignore[misc]

    def body(index: str) -> str:
        return equal(c, _at(c, a, universe, index), _at(c, b, universe, index))

    parts.append(lambda: loop(c, str(len(kind.domain)), body))
    return conjunction(c, parts)


def _at(c: Context, value: Symbol, universe: TSet, index: str) -> Symbol:
    if isinstance(value, Place) and isinstance(value.kind, TFun) and value.kind.domain == universe.members:
        return values.element_at(c, value, index)
    key = values.member_at(c, universe, index)
    if isinstance(value, Literal):
        return value.body(key)
    return values.apply(c, value, key)


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
            return values.choice(c, condition, lambda: domain_of(c, then()), lambda: domain_of(c, orelse()))
    names = values.field_names(value)
    if names is not None:
        return values.literal(c, frozenset(names))
    total = values.length(c, value)
    return Range(Int("1", 1, 1), total)


def _equal_sequences(c: Context, a: Symbol, b: Symbol) -> str:
    if isinstance(a, Place) and isinstance(a.kind, TSeq) and a.kind.cap == 0:
        a, b = b, a
    if not isinstance(a, Place):
        a, b = (a, b) if isinstance(a, Tup) and not a.items else (materialize(c, a), b)
    parts = values.sequence_parts(c, b)
    total = values.length(c, b)
    own = values.length(c, a)
    checks: list[Callable[[], str]] = [lambda: equal(c, own, total)]
    if isinstance(a, Place):
        at = "0"
        for part in parts:
            checks.append(lambda part=part, at=at: _equal_part(c, a, at, part))  # type: ignore[misc]
            at = advance(at, part)
    return conjunction(c, checks)


def advance(at: str, part: Run | Item | Gen) -> str:
    """The index behind a part that starts at index `at`."""
    count = "1" if isinstance(part, Item) else part.count
    if at == "0":
        return count
    return values.fold(f"({at} + {count})")


def _equal_part(c: Context, place: Place, at: str, part: Run | Item | Gen) -> str:
    match part:
        case Item(value):
            return equal(c, values.element_at(c, place, c.keep(at, "i")), value)
        case Run(source, start, count, _):
            elem = values.element_type(place.kind)
            if values.element_type(source.kind) == elem and not isinstance(elem, TInt) or (
                isinstance(elem, TInt) and isinstance(values.element_type(source.kind), TInt)
            ):
                width = size(elem)
                cells = str(int(count) * width) if count.isdigit() else count if width == 1 else f"({count}) * {width}"
                return run_equal(c, _run_base(place, at), _run_base(source, start), cells)
    first = c.keep(at, "i")
    return loop(c, c.keep(part.count, "n"), lambda i: equal(c, _element(c, place, first, i), part_element(c, part, i)))


def _run_base(place: Place, start: str) -> Address:
    offset, term = scaled(start, size(values.element_type(place.kind)))
    return place.base.plus((1 if isinstance(place.kind, TSeq) else 0) + offset, term)


def _element(c: Context, place: Place, first: str, index: str) -> Symbol:
    return values.element_at(c, place, index if first == "0" else f"({first} + {index})")


def part_element(c: Context, part: Run | Gen, index: str) -> Symbol:
    """The element of a sequence's part at an index within it."""
    if isinstance(part, Run):
        return _element(c, part.place, part.start, index)
    return part.element(index)


# --- EXCEPT ---------------------------------------------------------------------------------------------------------


def chain(value: Update) -> tuple[Symbol, list[Update]]:
    """The base under nested EXCEPTs of one function, and the updates from the last to the first."""
    updates = [value]
    base = value.base
    while isinstance(base, Update):
        updates.append(base)
        base = base.base
    return base, updates


def _equal_update(c: Context, a: Symbol, b: Update) -> str | None:
    """place = [base EXCEPT ...] where both are functions (or sequences, or records) of one type in the memory."""
    base, updates = chain(b)
    if not isinstance(a, Place) or not isinstance(base, Place) or a.kind != base.kind:
        return None
    if isinstance(a.kind, TFun):
        return _equal_function_update(c, a, base, updates)
    if isinstance(a.kind, TSeq) and len(updates) == 1:
        key = values.integer(c, cast(Symbol, updates[0].key))
        total = f"p[{base.base}]"
        index = c.named(c.check(f"ix(p, {key.code} - 1, {total})"), "i")
        width = size(a.kind.elem)
        parts: list[Callable[[], str]] = [
            lambda: f"(p[{a.base}] == {total})",
            lambda: f"eqexcept(p, {a.base.plus(1)}, {base.base.plus(1)}, {total}, {width}, {index})",
            lambda: equal(c, values.element_at(c, a, index), updates[0].value()),
        ]
        return conjunction(c, parts)
    return None


def _equal_function_update(c: Context, a: Place, base: Place, updates: Sequence[Update]) -> str:
    kind = cast(TFun, a.kind)
    indices = [update_index(c, kind, update) for update in updates]
    parts: list[Callable[[], str]] = [lambda: _others_unchanged(c, a, base, indices)]
    for i, update in enumerate(updates):
        later = indices[:i]

        def compare(update: Update = update, index: str = indices[i], later: list[str] = later) -> str:
            def here() -> Bool:
                return Bool(equal(c, values.element_at(c, a, index), update.value()))

            hidden = [code for other in later for code in [_equal_integers(Int(index), Int(other))] if code != "False"]
            if not hidden:
                return here().code
            if "True" in hidden:
                return "True"
            return values.truth(c, values.choice(c, c.named(" or ".join(hidden)), lambda: Bool("True"), here))

        parts.append(compare)
    return conjunction(c, parts)


def update_index(c: Context, kind: TFun, update: Update) -> str:
    """The index of an update's key in the domain; a key outside it is an evaluation error."""
    code, total = values.position(c, cast(Symbol, update.key), kind.domain, kind.key)
    if not total:
        code = c.check(f"ix(p, {code}, {len(kind.domain)})")
    return c.named(code, "i") if not total else c.keep(code, "i")


def _others_unchanged(c: Context, a: Place, base: Place, indices: Sequence[str]) -> str:
    """All elements but those of `indices` are the same in two functions of one type."""
    kind = cast(TFun, a.kind)
    x, y = a.origin, base.origin
    whole = x is not None and y is not None and x.variable == y.variable and x.primed != y.primed
    if whole and x is not None and x.unit is None and len(kind.domain) <= MAX_UNITS:
        mask = " | ".join(f"(1 << {index})" for index in dict.fromkeys(indices))
        return f"(p[{c.memory.dirty + x.variable}] & ~({mask}) == 0)"
    width = size(kind.range)
    distinct = list(dict.fromkeys(indices))
    if len(distinct) == 1:
        return f"eqexcept(p, {a.base}, {base.base}, {len(kind.domain)}, {width}, {distinct[0]})"

    def body(index: str) -> str:
        skipped = " or ".join(f"{index} == {other}" for other in distinct)
        offset, term = scaled(index, width)
        same = run_equal(c, a.base.plus(offset, term), base.base.plus(offset, term), str(width))
        return f"({skipped} or {same})"

    return loop(c, str(len(kind.domain)), body)


# --- storing --------------------------------------------------------------------------------------------------------


def materialize(c: Context, value: Symbol) -> Place:
    """A compound value as a place, in scratch if it is none yet."""
    if isinstance(value, Place):
        return value
    kind = values.type_of(c, value)
    base = c.room(kind)
    store(c, base, kind, value, checked=False)
    return Place(base, kind)


def scalar_code(c: Context, kind: Type, value: Symbol) -> str:
    """The cell of a scalar value in a type's representation (out of range where it has none)."""
    match kind, value:
        case TInt(), Int():
            return value.code
        case TBool(), Bool():
            return f"(1 if {value.code} else 0)"
        case TAtom(members), Atom():
            return values.atom_index(c, value, members)[0]
        case TSet(), _ if is_set(value):
            return sets.to_mask(c, value, kind)
        case _, Choice(condition, then, orelse):
            return values.integer(
                c,
                values.choice(
                    c,
                    condition,
                    lambda: Int(scalar_code(c, kind, then())),
                    lambda: Int(scalar_code(c, kind, orelse())),
                ),
            ).code
    raise c.unsupported(f"a {values.kind_name(value)} where another kind is expected")


def store(c: Context, base: Address, kind: Type, value: Symbol, checked: bool = True) -> None:
    """Write a value's cells; `checked`: a value without cells in the type sets the overflow flag."""
    if isinstance(value, Choice) and not is_scalar(kind):
        for header, part in ((f"if {value.condition}:", value.then), ("else:", value.orelse)):
            with c.block(header):
                store(c, base, kind, part(), checked)
        return
    if is_scalar(kind):
        _store_scalar(c, base, kind, value, checked)
        return
    if isinstance(value, Place) and value.kind == kind:
        if isinstance(kind, TSeq):
            c.line(f"copyseq(p, {base}, {value.base}, {size(kind.elem)}, {size(kind)})")
        else:
            c.line(f"copyrun(p, {base}, {value.base}, {size(kind)})")
        return
    if isinstance(value, Update) and _store_update(c, base, kind, value, checked):
        return
    match kind:
        case TSeq():
            _store_sequence(c, base, kind, value, checked)
        case TFun(domain, key, target):
            universe = TSet(key, domain)
            index = c.name("i")
            c.line(f"{index} = 0")
            with c.block(f"while {index} < {len(domain)}:"):
                offset, term = scaled(index, size(target))
                store(c, base.plus(offset, term), target, _at(c, value, universe, index), checked)
                c.line(f"{index} += 1")
        case TRec(fields):
            at = base
            for name, part in fields:
                store(c, at, part, values.field(c, value, name), checked)
                at = at.plus(size(part))
        case TTuple(parts):
            at = base
            for i, part in enumerate(parts):
                store(c, at, part, values.apply(c, value, Int(str(i + 1), i + 1, i + 1)), checked)
                at = at.plus(size(part))
        case TUnion():
            _store_union(c, base, kind, value, checked)


def _store_scalar(c: Context, base: Address, kind: Type, value: Symbol, checked: bool) -> None:
    code = scalar_code(c, kind, value)
    if not checked:
        c.line(f"p[{base}] = {code}")
        return
    match kind, value:
        case TInt(lo, hi), Int(_, low, high):
            fits = None not in (lo, hi, low, high) and cast(int, lo) <= cast(int, low) and cast(int, high) <= cast(int, hi)
            text = code if fits else f"fit(p, {code}, {lo}, {hi})"
        case TAtom(members), Atom():
            text = code if values.atom_index(c, value, members)[1] else f"fit(p, {code}, 0, {len(members) - 1})"
        case TSet(_, members), _:
            same = isinstance(value, Mask) and value.kind == kind
            text = code if same else f"fit(p, {code}, 0, {(1 << len(members)) - 1})"
        case _:
            text = code
    c.line(f"p[{base}] = {text}")


def _store_update(c: Context, base: Address, kind: Type, value: Update, checked: bool) -> bool:
    under, updates = chain(value)
    if not isinstance(kind, TFun) or any(isinstance(update.key, str) for update in updates):
        return False
    store(c, base, kind, under, checked)
    for update in reversed(updates):
        offset, term = scaled(update_index(c, kind, update), size(kind.range))
        store(c, base.plus(offset, term), kind.range, update.value(), checked)
    return True


def _store_sequence(c: Context, base: Address, kind: TSeq, value: Symbol, checked: bool) -> None:
    total = c.keep(values.length(c, value).code, "n")
    width = size(kind.elem)
    place = Place(base, kind)
    if checked:
        total = c.named(f"fit(p, {total}, 0, {kind.cap})", "n")
    c.line(f"p[{base}] = {total}")
    if checked:
        c.line("if p[1] == 0:")
    with c.captured() as buffer:
        at = "0"
        for part in values.sequence_parts(c, value):
            _store_part(c, place, kind, at, part, checked)
            at = advance(at, part)
        offset, term = scaled(total, width)
        rest = f"({kind.cap} - {total}) * {width}"
        c.line(f"zero(p, {base.plus(1 + offset, term)}, {rest})")
    buffer.scope.end()
    if checked:
        c.nest(buffer.lines)
    else:
        c.lines.extend(buffer.lines)


def extend(c: Context, sequence: Place, parts: Sequence[Run | Item | Gen]) -> None:
    """Write parts behind a sequence in scratch, which has room for them; its length comes last."""
    kind = cast(TSeq, sequence.kind)
    at = c.named(f"p[{sequence.base}]", "n")
    for part in parts:
        _store_part(c, sequence, kind, at, part, checked=False)
        at = c.keep(advance(at, part), "n")
    c.line(f"p[{sequence.base}] = {at}")


def copy(c: Context, to: Address, source: Address, kind: Type) -> None:
    """Copy a value's cells within scratch, of a sequence those in use (the others are then not 0)."""
    if isinstance(kind, TSeq):
        width = size(kind.elem)
        used = f"p[{source}]" if width == 1 else f"p[{source}] * {width}"
        c.line(f"copyrun(p, {to}, {source}, 1 + {used})")
    else:
        c.line(f"copyrun(p, {to}, {source}, {size(kind)})")


def _store_part(c: Context, place: Place, kind: TSeq, at: str, part: Run | Item | Gen, checked: bool) -> None:
    width = size(kind.elem)
    if isinstance(part, Item):
        store(c, _run_base(place, c.keep(at, "i")), kind.elem, part.value, checked)
        return
    if isinstance(part, Run) and values.element_type(part.place.kind) == kind.elem:
        cells = part.count if width == 1 else f"({part.count}) * {width}"
        c.line(f"copyrun(p, {_run_base(place, at)}, {_run_base(part.place, part.start)}, {cells})")
        return
    index, count = c.name("i"), c.keep(part.count, "n")
    first = c.keep(at, "i")
    c.line(f"{index} = 0")
    with c.block(f"while {index} < {count}:"):
        target = _run_base(place, index if first == "0" else f"({first} + {index})")
        store(c, target, kind.elem, part_element(c, part, index), checked)
        c.line(f"{index} += 1")


def variants_for(c: Context, kind: TUnion, value: Symbol) -> list[tuple[int, str, list[Slot]]]:
    """For each tag that a record may have: the tag's index, the condition that it has it, and its slots."""
    tag = values.field(c, value, "type")
    names = values.field_names(value)
    found = []
    for index, name in enumerate(kind.tags.members):
        condition = equal(c, tag, Atom("0", (name,)))
        own = [slot for slot in slots(kind) if index in slot.tags]
        if condition != "False" and (names is None or sorted(["type", *(s.name for s in own)]) == names):
            found.append((index, condition, own))
    return found


def _store_union(c: Context, base: Address, kind: TUnion, value: Symbol, checked: bool) -> None:
    c.line(f"zero(p, {base}, {size(kind)})")
    cases = variants_for(c, kind, value)
    if len(cases) == 1 and cases[0][1] == "True":
        _store_variant(c, base, kind, value, cases[0], checked)
        return
    stored = c.name("f")
    c.line(f"{stored} = False")
    for case in cases:
        with c.block(f"if {case[1]}:"):
            _store_variant(c, base, kind, value, case, checked)
            c.line(f"{stored} = True")
    c.line(f"if not {stored}:")
    c.nest(["p[1] = 1"])


def _store_variant(
    c: Context, base: Address, kind: TUnion, value: Symbol, case: tuple[int, str, list[Slot]], checked: bool
) -> None:
    index, _, own = case
    c.line(f"p[{base}] = {index}")
    for slot in own:
        part = _plain_field(c, value, str(kind.tags.members[index]), slot.name)
        store(c, base.plus(slot.offset), slot.type, part, checked)


_ = Seg
