"""The parts of a predicate that are evaluated again after a step. These tests ask expressions, before any kernel is
made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tidemark_conformance.tla.ir import Expr, Let, Quant
from tidemark_conformance.tla.kernels.increments import by_unit, mask_of, one_of_two, readings
from tidemark_conformance.tla.kernels.runtime import evaluator
from tidemark_conformance.tla.layout import MAX_UNITS, Layout, layout_of
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.types import TSet
from tidemark_conformance.tla.walk import strip

PAIRS = {
    "f[x] = f[y] => x = y": True,
    "f[x] + f[y] = 3 => y = x": True,
    "f[x] * f[y] # 3 => x = y": True,
    "{f[x]} \\cup {f[y]} = {1} => x = y": True,
    "f[x] > 2 /\\ f[y] > 2 => x = y": True,
    "on /\\ f[x] > 2 /\\ f[y] > 2 => x = y": True,
    "(\\E z \\in Node \\ {x} : f[z] = 1) /\\ (\\E z \\in Node \\ {y} : f[z] = 1) => x = y": True,
    "(LET v == f[x] IN v + v * v > 1) /\\ (LET w == f[y] IN w + w * w > 1) => x = y": True,
    "[r[x] EXCEPT !.a = 1] = [r[y] EXCEPT !.a = 1] => x = y": True,
    "f[x] < f[y] => x = y": False,
    "f[x] - f[y] = 1 => x = y": False,
    "f[x] > 2 \\/ f[y] > 2 => x = y": False,
    "(f[x] > 2 => f[y] > 2) => x = y": False,
    "f[x] > 2 /\\ g[y] > 2 => x = y": False,
    "f[x] > 2 /\\ f[y] > 1 => x = y": False,
    "f[x] > 2 /\\ f'[y] > 2 => x = y": False,
    "r[x].a = 1 /\\ r[y].b = 1 => x = y": False,
    "[r[x] EXCEPT !.a = 1] = [r[y] EXCEPT !.b = 1] => x = y": False,
    "d[x][y] = 1 => x = y": False,
    "d[x][y] = 1 /\\ d[y][x] = 1 => x = y": False,  # an error of the first, the second not asked
    "f[x] = 1 /\\ (\\E z \\in Node \\ {x} : g[z] = 1) /\\ f[y] = 1 => x = y": False,
    "(\\E z \\in Node \\ {x} : f[z] = 1) /\\ (\\E z \\in Node \\ {who} : f[z] = 1) => x = y": False,
    "(\\A z \\in Node : f[x] > g[z]) /\\ (\\E z \\in Node : f[y] > g[z]) => x = y": False,
    "f[x] = f[y] => x = who": False,
    "f[x] = f[y] => x # y": False,
    "f[x] = f[y] /\\ x = y": False,
}
MODULE = (
    f"""---- MODULE Sums ----
EXTENDS Integers
CONSTANTS Node, Other
VARIABLES f, g, r, d, who, on, some, far, long
vars == <<f, g, r, d, who, on, some, far, long>>
TypeOK == /\\ f \\in [Node -> 0..3] /\\ g \\in [Node -> 0..3] /\\ r \\in [Node -> [a : 0..3, b : 0..3]]
          /\\ d \\in [Node -> [Node -> 0..3]] /\\ who \\in Node /\\ on \\in BOOLEAN /\\ some \\in SUBSET Node
          /\\ far \\in [Other -> 0..3] /\\ long \\in [1..{MAX_UNITS + 1} -> 0..1]
Init == /\\ f = [x \\in Node |-> 0] /\\ g = f /\\ r = [x \\in Node |-> [a |-> 0, b |-> 0]]
        /\\ d = [x \\in Node |-> f] /\\ who \\in Node /\\ on = FALSE /\\ some = {{}}
        /\\ far = [x \\in Other |-> 0] /\\ long = [x \\in 1..{MAX_UNITS + 1} |-> 0]
Turn == on' = ~on /\\ UNCHANGED <<f, g, r, d, who, some, far, long>>
Next == Turn
"""
    + "".join(f"P{at} == [][\\A x, y \\in Node : {text}]_vars\n" for at, text in enumerate(PAIRS))
    + """
Apart == [][\\A x \\in Node, y \\in some : f[x] = f[y] => x = y]_vars
Three == [][\\A x, y, z \\in Node : f[x] = f[y] => x = y]_vars
Others == [][\\A z, w \\in Node : \\A x, y \\in Node : f[x] = f[z] /\\ f[y] = f[w] => x = y]_vars
Outer == [][\\A z \\in Node : \\A x, y \\in Node : f[x] = f[y] => x = z]_vars
Same == [][\\A x, y \\in some : f[x] = f[y] => x = y]_vars
R1 == [][\\A x \\in Node : f[x] > 1 => g[x] > 1]_vars
R2 == [][\\A x \\in Node : f[x] > 1 => \\E y \\in Node : f[y] = 0]_vars
R3 == [][\\A x \\in Node : f[x] > 1 => g[who] > 1]_vars
R4 == [][\\A x \\in some : \\A y \\in Node : d[x][y] > 1 => on]_vars
R5 == [][\\A x \\in Node : LET v == f[x] + g[who] IN v > 1]_vars
R6 == [][\\A x \\in Node : f[x] > 1 => UNCHANGED <<g, on>>]_vars
R7 == [][LET all == {f[z] : z \\in Node} IN \\A x \\in Node : g[x] \\in all]_vars
====
"""
)
CFG = "INIT Init\nNEXT Next\nCONSTANTS Node = {a, b} Other = {b, c}\nPROPERTIES\n"


@pytest.fixture(scope="module", name="sums")
def _sums(tmp_path_factory: pytest.TempPathFactory) -> Specification:
    folder = tmp_path_factory.mktemp("sums")
    names = [f"P{at}" for at in range(len(PAIRS))] + [
        "Apart",
        "Three",
        "Outer",
        "Others",
        "Same",
        *(f"R{at}" for at in range(1, 8)),
    ]
    (folder / "Sums.tla").write_text(MODULE)
    (folder / "Sums.cfg").write_text(CFG + "\n".join(names) + "\n")
    return load(folder / "Sums.tla", folder / "Sums.cfg")


@pytest.fixture(scope="module", name="layout")
def _layout(sums: Specification) -> Layout:
    return layout_of(sums.module, evaluator(sums, compile_python(sums).constant))


def bodies(sums: Specification) -> dict[str, Expr]:
    return {one.name: strip(one.body) for one in sums.properties}


def test_one_of_two_instances_is_enough_only_where_they_say_the_same(sums: Specification) -> None:
    found = {}
    for at, text in enumerate(PAIRS):
        body = bodies(sums)[f"P{at}"]
        assert isinstance(body, Quant)
        found[text] = one_of_two(body.binders, body.body)
    assert found == PAIRS
    for name, enough in (("Apart", False), ("Three", False), ("Same", True)):
        body = bodies(sums)[name]
        assert isinstance(body, Quant)
        assert one_of_two(body.binders, body.body) is enough, name
    for name in ("Outer", "Others"):
        outer = bodies(sums)[name]
        assert isinstance(outer, Quant)
        inner = strip(outer.body)
        assert isinstance(inner, Quant)
        assert not one_of_two(inner.binders, inner.body), name


@pytest.mark.parametrize(
    ("name", "whole", "indexed"),
    [
        ("R1", set(), {"f", "g"}),
        ("R2", {"f"}, set()),
        ("R3", {"g", "who"}, {"f"}),
        ("R4", {"some", "on"}, {"d"}),
        ("R5", {"g", "who"}, {"f"}),
        ("R6", {"g", "on"}, {"f"}),
    ],
)
def test_what_an_instance_reads(name: str, whole: set[str], indexed: set[str], sums: Specification) -> None:
    body = bodies(sums)[name]
    assert isinstance(body, Quant)
    found = readings(body, {}, body.binders[0].uid)
    assert (found.whole, found.indexed) == (whole, indexed)
    assert readings(body, {}).whole == whole | indexed


def test_what_is_read_by_definitions_around_counts(sums: Specification) -> None:
    outer = bodies(sums)["R7"]
    assert isinstance(outer, Let)
    inner = strip(outer.body)
    assert isinstance(inner, Quant)
    found = readings(inner, {outer.uid: outer.value}, inner.binders[0].uid)
    assert (found.whole, found.indexed) == ({"f"}, {"g"})


def test_every_variable_has_its_bit(layout: Layout) -> None:
    assert mask_of(layout, ()) == 0
    assert mask_of(layout, ("f", "who", "on")) == sum(1 << layout.index[name] for name in ("f", "who", "on"))


def test_variables_past_the_last_bit_share_it() -> None:
    wide: Any = SimpleNamespace(index={f"v{at}": at for at in range(70)})
    assert mask_of(wide, ("v60",)) == 1 << 60
    assert mask_of(wide, ("v61",)) == mask_of(wide, ("v69",)) == mask_of(wide, ("v62", "v65")) == 1 << 61


def test_dirty_bits_stand_for_members_of_the_domain_itself(layout: Layout) -> None:
    """Another set's members have other numbers; if there are too many units, one bit stands for all."""
    kind = layout.by_name["some"].type
    assert isinstance(kind, TSet)
    fits = {name: by_unit(layout, name, kind) for name in ("f", "d", "far", "who", "some", "long")}
    assert fits == {"f": True, "d": True, "far": False, "who": False, "some": False, "long": False}
    assert not by_unit(layout, "f", TSet(kind.elem, kind.members[::-1]))
    long = layout.by_name["long"].type
    assert not by_unit(layout, "long", TSet(long.key, long.domain))  # type: ignore[union-attr]
