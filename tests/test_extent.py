"""A TypeOK, or a parameter, of absurd size is refused with its variable and line before anything large is built."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla import extent
from tidemark_conformance.tla.ir import Expr, Op
from tidemark_conformance.tla.layout import Layout
from tidemark_conformance.tla.python import evaluate_constant
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tla.typeok import conjuncts
from tidemark_conformance.tla.values import Value
from tidemark_conformance.trace.schema import schema_of

TEXT = """---- MODULE Wide ----
EXTENDS Integers, Sequences, FiniteSets, Bounded
CONSTANT Top
Large == {n \\in 0..Top : n %% 2 = 0}
VARIABLES x, y
TypeOK ==
    /\\ x \\in 0..3
    /\\ y \\in %s
Init == x = 0
Set(n) == x' = n /\\ y' = y
Next == \\E n \\in %s : Set(n)
====
"""


def _load(folder: Path, kind: str, domain: str = "0..3") -> Specification:
    (folder / "Wide.tla").write_text(TEXT % (kind, domain))
    (folder / "Wide.cfg").write_text("INIT Init\nNEXT Next\nCONSTANT Top = 3000000\n")
    return load(folder / "Wide.tla", folder / "Wide.cfg")


def _layout(folder: Path, kind: str, domain: str = "0..3") -> Layout:
    return schema_of(_load(folder, kind, domain)).layout


LISTED = "TypeOK's set for y lists more than 1,000,000 members"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("[SUBSET (1..24) -> 0..1]", LISTED),
        ("[[1..3 -> 1..200] -> 0..1]", LISTED),
        ("[(1..2000) \\X (1..2000) -> 0..1]", LISTED),
        ("[[a : 1..2000, b : SUBSET {1, 2}, c : 1..200] -> 0..1]", LISTED),
        ("[{<<i, j>> : i \\in 1..2000, j \\in 1..2000} -> 0..1]", LISTED),
        ("[BOOLEAN -> [Large -> 0..1]]", LISTED),
        ("Large", LISTED),
        ("[s : 0..2, t : Large \\cup {5}]", LISTED),
        ("BoundedSeq([0..Top -> 0..1], 2)", LISTED),
        ("SUBSET (IF Top > 9 THEN Large ELSE {1})", LISTED),
        ("LET all == 0..Top IN [all -> BOOLEAN]", LISTED),
        ("BoundedSeq(0..1, 30000000)", "y takes 30,000,001 cells, more than 100,000"),
        ("[1..400 -> [1..400 -> 0..1]]", "y takes 160,000 cells, more than 100,000"),
        ("[1..99999 -> 0..Top]", None),
        ("[1..100000 -> 0..Top]", "TypeOK's state takes 100,001 cells, more than 100,000"),
    ],
)
def test_a_variable_of_absurd_size_is_refused(tmp_path: Path, kind: str, message: str | None) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if message is None:
        assert _layout(tmp_path, kind).cells == 100_000
        return
    with pytest.raises(Unsupported, match=rf"^Wide\.tla:8: {message}"):
        _layout(tmp_path, kind)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_a_parameter_of_absurd_size_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        Unsupported, match=r"^Wide\.tla:10: the domain of parameter n lists more than 1,000,000 members"
    ):
        _layout(tmp_path, "0..1", "0..Top")


@pytest.mark.parametrize(
    "text",
    [
        "{n \\in 1..30 : n > 3}",
        "[1..3 -> {5, 7}]",
        "SUBSET (1..5)",
        "(1..3) \\X BOOLEAN",
        "[a : 1..3, b : {2}]",
        "(1..3) \\cup {2, 8}",
        "(1..9) \\ {2, 8}",
        "{n % 2 : n \\in 1..7}",
        "5..2",
    ],
)
def test_a_count_is_no_less_than_the_members(tmp_path: Path, text: str) -> None:
    specification = _load(tmp_path, text)

    def constant(expr: Expr) -> Value:
        return evaluate_constant(expr, specification.constants)

    (chosen,) = (
        expr.args[1]
        for expr, _ in conjuncts(specification.module.type_ok)[1:]
        if isinstance(expr, Op) and expr.name == "in"
    )
    assert len(constant(chosen)) <= extent.members(chosen, constant) <= 32
