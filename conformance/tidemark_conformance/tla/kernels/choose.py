"""CHOOSE: the one witness of a predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tidemark_conformance.tla.ir import Choose, Expr, Local, Op, Quant, SetEnum
from tidemark_conformance.tla.kernels import bindings, equality, iteration, storing, universes, values
from tidemark_conformance.tla.kernels.context import Context, Env, Lazy
from tidemark_conformance.tla.kernels.symbols import (
    Address,
    Atom,
    Bool,
    Choice,
    Filter,
    Int,
    Join,
    Mask,
    Place,
    Range,
    Symbol,
)
from tidemark_conformance.tla.types import TInt
from tidemark_conformance.tla.walk import strip


def choose(c: Context, expr: Choose, env: Env) -> Symbol:
    """CHOOSE with its one witness; none, or two that differ, are an evaluation error."""
    domain = c.evaluate(expr.binder.domain, env)
    least = extreme(expr)
    kind = universes.universe(c, domain)
    if least is not None and kind is not None and isinstance(kind.elem, TInt):

        def meant(part: Expr) -> Expr:
            part = strip(part)
            while isinstance(part, Local) and isinstance(bound := env.get(part.uid), Lazy):
                part = strip(bound.value)
            return part

        return _least_or_greatest(c, domain, kind.elem, least, has_elements(expr.binder.domain, meant))
    if isinstance(domain, Filter | Join | Choice | Mask):
        domain = values.keep(c, domain)
    bindings.force(c, expr.body, env)
    found, witness = c.name("n"), c.name("w")
    c.line(f"{found} = 0")
    at = len(c.lines)
    chosen: list[Callable[[], Symbol]] = []

    def body(element: Symbol) -> None:
        code = bindings.predicate(c, expr.body, {**env, expr.binder.uid: element})
        with c.block(f"if {code}:"):
            start, assign, again = _witness(c, element, witness)
            if not chosen:
                c_lines.insert(at, start)
            chosen.append(again)
            with c.block(f"if {found} == 0:"):
                assign()
                c.line(f"{found} = 1")
            with c.block("else:"), c.block(f"if not {equality.equal(c, again(), element)}:"):
                c.line("p[0] = 1")

    c_lines = c.lines
    iteration.iterate(c, domain, body, None)
    c.errs()
    c.line(f"need(p, {found})")
    if not chosen:
        raise c.impossible("CHOOSE from a set that is always empty")
    results = [again() for again in chosen]
    kinds = [universes.type_of(c, result) for result in results]
    if len(results) > 1 and all(isinstance(kind, TInt) for kind in kinds):
        return Int(witness)
    if any(kind != kinds[0] for kind in kinds):
        raise c.unsupported("CHOOSE from a union of sets whose elements have unlike types")
    return results[0]


def extreme(expr: Choose) -> bool | None:
    r"""Whether CHOOSE m \in S : \A x \in S : m <= x is a set's least number; False: its greatest; None: neither."""
    match strip(expr.body):
        case Quant("forall", (binder,), body) if strip(binder.domain) == strip(expr.binder.domain):
            match strip(body):
                case Op("le" | "ge" as name, (Local(a, _), Local(b, _))) if {a, b} == {binder.uid, expr.binder.uid}:
                    return (name == "le") == (a == expr.binder.uid)
    return None


def _least_or_greatest(c: Context, domain: Symbol, kind: TInt, least: bool, certain: bool) -> Symbol:
    """The least, or the greatest, of a set of numbers, each looked at once. Of an empty set (unless it is `certain`
    that there are some) it is an evaluation error."""
    found, witness = c.name("n"), c.name("w")
    c.line(f"{found} = 0")
    c.line(f"{witness} = {kind.lo}")
    ascending = isinstance(domain, Mask | Range)

    def body(element: Symbol) -> None:
        number = cast(Int, element).code
        better = "True" if ascending else f"{found} == 0 or {number} {'<' if least else '>'} {witness}"
        with c.when(better):
            c.line(f"{witness} = {number}")
            c.line(f"{found} = 1")

    iteration.iterate(c, domain, body, f"{found} != 0" if ascending and least else None)
    if not certain:
        c.errs()
        c.line(f"need(p, {found})")
    return Int(witness, kind.lo, kind.hi)


def has_elements(expr: Expr, meant: Callable[[Expr], Expr]) -> bool:
    """Whether a set certainly has elements, by its form. `meant` finds what a name stands for."""
    match meant(expr):
        case SetEnum(items):
            return len(items) > 0
        case Op("union", args):
            return any(has_elements(arg, meant) for arg in args)
    return False


def _witness(c: Context, element: Symbol, name: str) -> tuple[str, Callable[[], None], Callable[[], Symbol]]:
    """How a loop's element is remembered: the first line, its assignment, and its value afterwards."""

    def remember(code: str) -> Callable[[], None]:
        return lambda: c.line(f"{name} = {code}")

    match element:
        case Int(code, lo, hi, below):
            return f"{name} = {lo if lo is not None else 0}", remember(code), lambda: Int(name, lo, hi, below)
        case Bool(code):
            return f"{name} = False", remember(code), lambda: Bool(name)
        case Atom(code, members):
            return f"{name} = 0", remember(code), lambda: Atom(name, members)
        case Mask(code, kind):
            return f"{name} = 0", remember(code), lambda: Mask(name, kind)
        case Place(base, kind2, _) if "SCRATCH" not in base.terms:  # else the next element may overwrite it
            return f"{name} = {c.memory.current}", remember(str(base)), lambda: Place(Address(0, (name,)), kind2)
    kind3 = universes.type_of(c, element)
    base2 = c.room(kind3)
    return (
        f"{name} = 0",
        lambda: storing.store(c, base2, kind3, element, checked=False),
        lambda: values.load(base2, kind3),
    )
