"""Constructs that the kernels refuse: loudly, with module and line, never by leaving a check out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tidemark_conformance.errors import Unsupported
from tidemark_conformance.tla.kernels import compile_kernels
from tidemark_conformance.tla.kernels.runtime import Kernels
from tidemark_conformance.tla.spec import load

TEXT = """---- MODULE Tiny ----
EXTENDS Integers, Sequences, FiniteSets, Folds
CONSTANT Node
VARIABLES n, who, seq, rec, fun
TypeOK ==
  /\\ n \\in 0..3
  /\\ who \\in Node
  /\\ seq \\in UNION {[1..m -> 0..3] : m \\in 0..2}
  /\\ rec \\in [a : 0..3, b : BOOLEAN]
  /\\ fun \\in [Node -> 0..3]
Init == n = 0
Inv == %s
Step == n' = 0 /\\ UNCHANGED <<who, seq, rec, fun>>
Next == Step
====
"""


def compile_invariant(folder: Path, text: str) -> Kernels:
    (folder / "Tiny.tla").write_text(TEXT % text)
    (folder / "Tiny.cfg").write_text("INIT Init\nNEXT Next\nCONSTANT Node = {a, b}\nINVARIANT Inv\n")
    return compile_kernels(load(folder / "Tiny.tla", folder / "Tiny.cfg"), folder / "kernels")


@pytest.mark.deep
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n = who", "a number is compared with a string or model value"),
        ("n = rec", "compared with a number|a number is compared"),
        ("rec.c = 1", "without a field `c`"),
        ("(IF rec.b THEN n ELSE who) = 1", "two branches of unlike kinds"),
        ("\\E k \\in Nat : k = n + 1 /\\ k > 2 /\\ \\A j \\in Int : j > k", "cannot be enumerated"),
        ("Cardinality(SUBSET (1..40)) > n", "too many elements"),
        ("Len(who) = 1", "Len of a string or model value"),
        ("n + rec.b = 1", "an integer is expected"),
        (
            "LET S == {j \\in n + 4..3 : j > 1} IN (CHOOSE k \\in S : k > 0) = 1",
            "CHOOSE from a set that is always empty",
        ),
        ("n => TRUE", "a boolean is expected"),
        ("\\E s \\in [Node -> 0..3] : s = seq \\/ s[who] = 1", "cannot be enumerated"),
    ],
)
def test_refused_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    """Line 12 is the invariant's."""
    with pytest.raises(Unsupported, match=rf"Tiny\.tla:12: .*({message})"):
        compile_invariant(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "holds"),
    [("\\E j \\in S : j = n", False), ("S = {j \\in 0..n : j > 5}", True), ("n \\notin S", True)],
)
def test_a_set_that_is_always_empty_has_no_members(tmp_path: Path, text: str, holds: bool) -> None:
    kernels = compile_invariant(tmp_path, "LET S == {j \\in n + 4..3 : seq # <<>> /\\ seq[1] = j} IN " + text)
    assert kernels.invariant("Inv", [0] * kernels.layout.cells) is holds
