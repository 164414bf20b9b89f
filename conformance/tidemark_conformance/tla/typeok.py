"""The types of values and of TypeOK's sets, and how types join."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidemark_conformance.tla.ir import (
    Case,
    Const,
    Expr,
    FunctionLit,
    If,
    Let,
    Lit,
    Loc,
    Local,
    Mark,
    Op,
    RecordSet,
    SetEnum,
    SetFilter,
    SetMap,
)
from tidemark_conformance.tla.types import (
    MAX_SET,
    Evaluate,
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
    describe,
    enumerate_type,
    unsupported,
)
from tidemark_conformance.tla.values import Fn, ModelValue, Value, in_order
from tidemark_conformance.tla.walk import map_children


def canonical(values: Iterable[Value], loc: Loc | None = None) -> tuple[tuple[Value, ...], Type]:
    """Values in canonical order, with the least type that holds them all."""
    distinct = set(values)
    return tuple(in_order(distinct)), type_of_values(distinct, loc)


def join(a: Type, b: Type, loc: Loc | None = None) -> Type:
    """The least type that holds the values of both; unlike representations raise Unsupported."""
    if a == b:
        return a
    match a, b:
        case TInt(), TInt():
            return TInt(_least(a.lo, b.lo, min), _least(a.hi, b.hi, max))
        case TAtom(), TAtom():
            return TAtom(tuple(sorted({*a.members, *b.members}, key=atom_name)))
        case TSet(), TSet():
            if not a.members or not b.members:
                return a if a.members else b
            members, kind = canonical({*a.members, *b.members}, loc)
            return TSet(kind, members)
        case TSeq(), TSeq():
            if a.cap == 0 or b.cap == 0:
                return a if b.cap == 0 else b
            return TSeq(join(a.elem, b.elem, loc), max(a.cap, b.cap))
        case TFun(), TFun() if a.domain == b.domain:
            return TFun(a.domain, a.key, join(a.range, b.range, loc))
        case TTuple(), TTuple() if len(a.parts) == len(b.parts):
            return TTuple(tuple(join(x, y, loc) for x, y in zip(a.parts, b.parts, strict=True)))
        case TTuple(), TTuple():
            return join(_as_sequence(a, loc), _as_sequence(b, loc), loc)
        case (TSeq(), TTuple()) | (TTuple(), TSeq()):
            seq, tup = (a, b) if isinstance(a, TSeq) else (b, a)
            return join(seq, _as_sequence(tup, loc), loc)  # type: ignore[arg-type]
        case ((TRec() | TUnion()), (TRec() | TUnion())):
            return _join_records(a, b, loc)
    raise unsupported(f"values of unlike kinds meet ({describe(a)} and {describe(b)})", loc)


def _least(x: int | None, y: int | None, pick: Callable[[int, int], int]) -> int | None:
    return None if x is None or y is None else pick(x, y)


def _as_sequence(kind: TTuple, loc: Loc | None) -> TSeq:
    elem = kind.parts[0]
    for part in kind.parts[1:]:
        elem = join(elem, part, loc)
    return TSeq(elem, len(kind.parts))


def _variants(kind: TRec | TUnion) -> tuple[tuple[tuple[str, ...], tuple[tuple[str, Type], ...]], ...]:
    if isinstance(kind, TUnion):
        return kind.variants
    tag = dict(kind.fields).get("type")
    if not isinstance(tag, TAtom):
        return ()
    return ((tag.members, tuple((name, field) for name, field in kind.fields if name != "type")),)


def _join_records(a: TRec | TUnion, b: TRec | TUnion, loc: Loc | None) -> Type:
    if isinstance(a, TRec) and isinstance(b, TRec) and [n for n, _ in a.fields] == [n for n, _ in b.fields]:
        return TRec(tuple((n, join(x, y, loc)) for (n, x), (_, y) in zip(a.fields, b.fields, strict=True)))
    known = {tag for tags, _ in (*_variants(a), *_variants(b)) for tag in tags}
    require_one_kind(TAtom(tuple(sorted(known, key=atom_name))), "the field `type`", loc)
    merged: list[tuple[tuple[str, ...], tuple[tuple[str, Type], ...]]] = []
    for tags, fields in (*_variants(a), *_variants(b)):
        same = next((i for i, (others, _) in enumerate(merged) if set(others) & set(tags)), None)
        if same is None:
            merged.append((tags, fields))
            continue
        known_tags, known_fields = merged[same]
        joined = join(TRec(known_fields), TRec(fields), loc)
        if not isinstance(joined, TRec):
            raise unsupported("two records with one `type` have different fields", loc)
        merged[same] = (tuple(sorted({*known_tags, *tags})), joined.fields)
    if not _variants(a) or not _variants(b):
        raise unsupported(f"records of unlike kinds meet without a field `type` ({describe(a)}; {describe(b)})", loc)
    return TUnion(tuple(sorted(merged, key=lambda variant: variant[0])))


def _require_other_tags(a: Type, b: Type, loc: Loc | None) -> None:
    """Refuse a union of two sets of records that share a tag: its type would hold records that are in neither set."""
    if not isinstance(a, TRec | TUnion) or not isinstance(b, TRec | TUnion):
        return
    left, right = ({tag for tags, _ in _variants(kind) for tag in tags} for kind in (a, b))
    shared = sorted(left & right, key=atom_name)
    if shared:
        raise unsupported(
            f"two sets of records with the `type` {atom_name(shared[0])} are united; "
            "write one set for each tag, or give them different tags",
            loc,
        )


def type_of_values(values: Iterable[Value], loc: Loc | None = None) -> Type:
    """The least type that holds all these values (at least one), in any order. The type of a set is its hashes', and
    the grouping of records' tags depends on the first ones."""
    kind: Type | None = None
    for value in in_order(set(values)):
        own = type_of_value(value, loc)
        kind = own if kind is None else join(kind, own, loc)
    if kind is None:
        return TAtom(())
    return kind


def type_of_value(value: Value, loc: Loc | None = None) -> Type:
    """The least type that holds this value."""
    match value:
        case bool():
            return TBool()
        case int():
            return TInt(value, value)
        case str() | ModelValue():
            return TAtom((value,))
        case frozenset():
            members, kind = canonical(value, loc)
            if len(members) > MAX_SET:
                raise unsupported(f"a set of {len(members)} elements, more than {MAX_SET}", loc)
            return TSet(kind, members)
        case tuple():
            return TTuple(tuple(type_of_value(part, loc) for part in value)) if value else TSeq(TBool(), 0)
        case Fn():
            if all(isinstance(key, str) for key in value):
                return TRec(tuple(sorted((key, type_of_value(part, loc)) for key, part in value.items())))
            domain, key = canonical(value, loc)
            return TFun(domain, key, type_of_values(value.values(), loc))
    raise unsupported(f"a value of an unknown kind ({value!r})", loc)


def type_of_function(expr: FunctionLit, value: Value, loc: Loc | None = None) -> TFun:
    """The type of a constant [x \\in S |-> e] with this value (not of an empty S).

    Its text says that it is a function: its value alone could as well be a sequence or, on strings, a record.
    """
    parts = list(value if isinstance(value, tuple) else value.values())
    domain, key = canonical(range(1, len(value) + 1) if isinstance(value, tuple) else value, loc)
    inner = strip(expr.body)
    if not isinstance(inner, FunctionLit) or not all(isinstance(part, tuple | Fn) and part for part in parts):
        return TFun(domain, key, type_of_values(parts, loc))
    kind: Type = type_of_function(inner, parts[0], loc)
    for part in parts[1:]:
        kind = join(kind, type_of_function(inner, part, loc), loc)
    return TFun(domain, key, kind)


def conjuncts(expr: Expr, loc: Loc | None = None) -> list[tuple[Expr, Loc | None]]:
    """The top-level conjuncts of a predicate each with its innermost marked place."""
    if isinstance(expr, Mark):
        return conjuncts(expr.body, expr.loc)
    if isinstance(expr, Op) and expr.name == "and":
        return [item for arg in expr.args for item in conjuncts(arg, loc)]
    return [(expr, loc)]


def strip(expr: Expr) -> Expr:
    """The expression under its marks."""
    while isinstance(expr, Mark):
        expr = expr.body
    return expr


def type_of_set(expr: Expr, constant: Evaluate, loc: Loc | None = None) -> Type:
    """The type whose values are the elements of a constant-level set expression of TypeOK."""
    while isinstance(expr, Mark):
        loc = expr.loc
        expr = expr.body
    match expr:
        case Op("boolean", ()):
            return TBool()
        case Op("range", (low, high)):
            return TInt(constant(low), constant(high))
        case Op("union", (a, b)):
            left, right = type_of_set(a, constant, loc), type_of_set(b, constant, loc)
            _require_other_tags(left, right, loc)
            return join(left, right, loc)
        case Op("powerset", (inner,)):
            elem = type_of_set(inner, constant, loc)
            members, elem = _members(inner, elem, constant, loc)
            if len(members) > MAX_SET:
                raise unsupported(f"SUBSET of a set of {len(members)} elements, more than {MAX_SET}", loc)
            return TSet(elem, members)
        case Op("product", parts):
            return TTuple(tuple(type_of_set(part, constant, loc) for part in parts))
        case Op("function_set", (domain, target)):
            keys, key = canonical(constant(domain), loc)
            return TFun(keys, key, type_of_set(target, constant, loc))
        case Op("bigunion", (SetMap() as family,)) | Op("bigunion", (Mark(body=SetMap() as family),)):
            return _bounded_sequence(family, constant, loc)
        case SetFilter() if (found := bounded_sequences(expr)) is not None:
            return TSeq(type_of_set(found[0], constant, loc), constant(found[1]))
        case RecordSet(fields):
            return TRec(tuple(sorted((name, type_of_set(part, constant, loc)) for name, part in fields)))
        case If(condition, then, orelse):
            return type_of_set(then if constant(condition) else orelse, constant, loc)
        case Op("int" | "nat" | "string" | "seq", _):
            raise unsupported("TypeOK uses an infinite set (Int, Nat, Seq or STRING)", loc)
        case Let():
            return type_of_set(unfolded(expr), constant, loc)
        case SetEnum() | Const() | Op() | SetFilter() | SetMap() | Lit() | Local() | Case():
            return type_of_values(constant(expr), loc)
    raise unsupported("TypeOK uses a set of an unknown form", loc)


def require_one_kind(kind: Type, what: str, loc: Loc | None) -> None:
    """Refuse a type in which a string stands beside a model value: a trace's JSON writes the names of both alike."""
    match kind:
        case TAtom(members):
            string = next((member for member in members if isinstance(member, str)), None)
            other = next((member for member in members if isinstance(member, ModelValue)), None)
            if string is not None and other is not None:
                raise unsupported(
                    f'values of unlike kinds meet in {what} (the string "{string}" and the model value {other.name})',
                    loc,
                )
        case TSet(elem, _) | TSeq(elem, _):
            require_one_kind(elem, what, loc)
        case TFun(_, key, target):
            require_one_kind(key, what, loc)
            require_one_kind(target, what, loc)
        case TRec(fields):
            for _, part in fields:
                require_one_kind(part, what, loc)
        case TTuple(parts):
            for part in parts:
                require_one_kind(part, what, loc)
        case TUnion(variants):
            require_one_kind(kind.tags, what, loc)
            for _, fields in variants:
                require_one_kind(TRec(fields), what, loc)


def _members(expr: Expr, elem: Type, constant: Evaluate, loc: Loc | None) -> tuple[tuple[Value, ...], Type]:
    """The values of a set expression in canonical order; all values of its type if that is what the set is."""
    if exact(expr, constant):
        listed = enumerate_type(elem)
        if listed is None:
            raise unsupported(f"SUBSET of a set of more than {MAX_SET} elements", loc)
        return tuple(listed), elem
    return canonical(constant(expr), loc)


def unfolded(definition: Let) -> Expr:
    """The body of a LET with the definition put in for its name."""

    def put(expr: Expr) -> Expr:
        if isinstance(expr, Local) and expr.uid == definition.uid:
            return definition.value
        return map_children(expr, put)

    return put(definition.body)


def bounded_sequences(expr: SetFilter) -> tuple[Expr, Expr] | None:
    """S and n of {s \\in Seq(S) : Len(s) <= n}, None for another set."""
    match strip(expr.binder.domain), strip(expr.body):
        case Op("seq", (elem,)), Op("le", (Op("len", (Local(uid, _),)), cap)) if uid == expr.binder.uid:
            return elem, cap
    return None


def _bounded_sequence(family: SetMap, constant: Evaluate, loc: Loc | None) -> Type:
    """UNION {[1..m -> S] : m \\in 0..n}."""
    if len(family.binders) == 1:
        binder = family.binders[0]
        match strip(family.body), strip(binder.domain):
            case Op("function_set", (domain, target)), Op("range", (low, high)):
                match strip(domain):
                    case Op("range", (one, Local(uid, _))) if uid == binder.uid and constant(one) == 1:
                        if constant(low) == 0:
                            return TSeq(type_of_set(target, constant, loc), constant(high))
    raise unsupported("a UNION in TypeOK that is not UNION {[1..m -> S] : m \\in 0..n}", loc)


def exact(expr: Expr, constant: Evaluate) -> bool:
    """Whether a set of TypeOK holds every value that has cells in its type (so that the layout guarantees it)."""
    match strip(expr):
        case Let() as definition:
            return exact(unfolded(definition), constant)
        case Op("boolean" | "range", _):
            return True
        case Op("powerset", (inner,)):
            return isinstance(constant(inner), frozenset)
        case Op("union", (a, b)):
            kind = type_of_set(expr, constant)
            return exact(a, constant) and exact(b, constant) and isinstance(kind, TAtom | TUnion)
        case Op("product", parts):
            return all(exact(part, constant) for part in parts)
        case Op("function_set", (_, target)):
            return exact(target, constant)
        case Op("bigunion", (family,)):
            body = strip(family)
            match strip(body.body) if isinstance(body, SetMap) else None:
                case Op("function_set", (_, target)):
                    return exact(target, constant)
            return False
        case SetFilter() as filtered if (found := bounded_sequences(filtered)) is not None:
            return exact(found[0], constant)
        case RecordSet(fields):
            return all(exact(part, constant) for _, part in fields)
        case If(condition, then, orelse):
            return exact(then if constant(condition) else orelse, constant)
        case SetEnum() | Const() | Op():
            values = constant(expr)
            kind = type_of_values(values)
            return isinstance(kind, TAtom) or (
                isinstance(kind, TInt) and kind.lo is not None and kind.hi == kind.lo + len(values) - 1
            )
    return False
