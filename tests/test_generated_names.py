"""Names of generated source meet in no specification: those that once did, against TLC and through the command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.tla.python import names, runtime
from tidemark_conformance.tla.python.names import Namespace
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tlc import agree, backends, graph, mutants
from tidemark_conformance.trace.schema import schema_of
from trace_lines import signed, write

CLASH = r"""---- MODULE Clash ----
EXTENDS Integers
VARIABLE f
Pair == {<<1, 1>>, <<2, 2>>}
TypeOK == f \in [Pair -> (0..2) \X (0..20)]
D == { [k \in Pair |-> <<0, 1>>], [k \in Pair |-> <<0, 2>>], [k \in Pair |-> <<0, 3>>],
       [k \in Pair |-> <<0, 4>>], [k \in Pair |-> <<0, 5>>], [k \in Pair |-> <<0, 6>>],
       [k \in Pair |-> <<0, 7>>], [k \in Pair |-> <<0, 8>>], [k \in Pair |-> <<0, 9>>],
       [k \in Pair |-> <<0, 10>>], [k \in Pair |-> <<0, 11>>], [k \in Pair |-> <<0, 12>>] }
Init == f = [p \in Pair |-> <<0, 0>>] /\ \A q \in Pair : f[q][1] = 0 /\ \A r \in Pair : f[r][1] = 0
Set(g) == f' = g
Next == \E g \in D : Set(g)
FirstIsZero == \A p \in Pair : f[p][1] \in 0..2
===="""
"""Bound variables named `k` with every uid from 4 on, and as many constant parts, which were once called `k_4`."""

FAMILIES = r"""---- MODULE Families ----
EXTENDS Integers, FiniteSets
CONSTANTS N, Without, k_1, has_R
VARIABLES s, t, k
Has(rule) == rule \notin Without
TypeOK == s \in 0..3 /\ t \in 0..3 /\ k \in 0..3
Init == s = 0 /\ t = 0 /\ k = 0
R(v) == v < 2
RR == LET lazy == s + 1 IN s < 3 \/ lazy = 1
A(x) == /\ LET y == {z \in 0..3 : LET w == z + x IN w < 3 \/ w = 9} IN Cardinality(y) > 1 \/ y = {}
        /\ s' = (s + 1) % 3 /\ UNCHANGED <<t, k>>
A_1(x) == /\ Has("a-b") => R(t)
          /\ t' = (t + x + N) % 4 /\ UNCHANGED <<s, k>>
A_1_1(x) == /\ Has("a_b") => R(t)
            /\ k_1 # has_R
            /\ t' = (t + 3) % 4 /\ UNCHANGED <<s, k>>
B == UNCHANGED <<s, t>> /\ k' = IF Has("k_1") THEN 3 - k ELSE k
Next == (\E x \in 0..1 : A(x)) \/ (\E x \in 0..1 : A_1(x)) \/ (\E x \in 0..1 : A_1_1(x)) \/ B
Small == s + t < 6 /\ (R(s) \/ RR)
===="""
"""Actions `A`, `A_1`: the second was once the name of the first one's inner function; rules `a-b`, `a_b`; constants."""


RANKS = r"""---- MODULE Ranks ----
EXTENDS Integers
VARIABLES low, high
TypeOK == low \in SUBSET ((0..1) \X (0..1)) /\ high \in SUBSET ((5..6) \X (0..1))
Init == low = {} /\ high = {}
Low(i, j) == low' = low \cup {<<i, j>>} /\ UNCHANGED high
High(i, j) == high' = high \cup {<<i, j>>} /\ UNCHANGED low
Next == (\E i, j \in 0..1 : Low(i, j)) \/ (\E i \in 5..6, j \in 0..1 : High(i, j))
Same == \A p \in low : <<p[1] + 5, p[2]>> \in high
===="""
"""Sets of pairs with other bounds, whose members have the same numbers: two helpers had one name in the kernels."""


def module(folder: Path, text: str, cfg: str) -> Specification:
    found = re.search(r"MODULE (\w+)", text)
    assert found
    file = folder / f"{found[1]}.tla"
    file.write_text(text + "\n")
    file.with_suffix(".cfg").write_text(cfg)
    return load(file, file.with_suffix(".cfg"))


def agreed(spec: Specification) -> agree.Agreement:
    dumped = graph.dump(spec.path, spec.cfg)
    found = agree.compare("it", dumped, spec.module.ghosts, backends.backends(spec), mutants.judged(spec, dumped))
    assert found.ok, [str(one.first) for one in found.comparisons]
    return found


@pytest.mark.deep
def test_a_bound_k_is_no_constant_part(tmp_path: Path) -> None:
    assert agreed(module(tmp_path, CLASH, "INIT Init\nNEXT Next\nINVARIANTS TypeOK FirstIsZero\n")).states == 13


@pytest.mark.deep
def test_helpers_of_kernels_are_told_apart_by_all_that_they_do(tmp_path: Path) -> None:
    assert agreed(module(tmp_path, RANKS, "INIT Init\nNEXT Next\nINVARIANTS TypeOK Same\n")).states == 256


@pytest.mark.deep
@pytest.mark.parametrize("without", ["", '"a-b"', '"a_b"', '"a-b", "k_1"'])
def test_actions_rules_and_constants_keep_their_own_names(tmp_path: Path, without: str) -> None:
    cfg = f"INIT Init\nNEXT Next\nINVARIANTS TypeOK Small\nCONSTANTS N = 1 k_1 = 5 has_R = 7 Without = {{{without}}}\n"
    agreed(module(tmp_path, FAMILIES, cfg))


def test_no_name_of_the_runtime_has_the_form_of_a_generated_one() -> None:
    Namespace(dict.fromkeys(dir(runtime)))
    with pytest.raises(ValueError, match="k7_"):
        Namespace({"k7_": None})


def test_generated_names_are_given_once() -> None:
    namespace = Namespace({})
    hints = ["k", "k_1", "a-b", "a_b", "lambda", "None", "", "1a", "ä", "s", "I!Op"]
    given = [namespace.fresh(names.FUNCTION, hint) for hint in hints]
    given += [namespace.of(letter, hint) for letter in (names.CONSTANT, names.RULE, names.POOLED) for hint in hints]
    given += [make(uid, "k") for make in (names.value, names.lazy) for uid in range(-9, 40)]
    assert len(set(given)) == len(given)
    assert all(name.isidentifier() for name in given)
    assert namespace.of(names.RULE, "a-b") == namespace.of(names.RULE, "a-b")


IDENTITY = [[[1, 1], [1, 1]], [[2, 2], [2, 2]]]
FIRST = [[[1, 1], [0, 1]], [[2, 2], [0, 1]]]


@pytest.mark.deep
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("claimed", [IDENTITY, FIRST])
def test_a_trace_that_is_no_behaviour_of_clash_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], claimed: object
) -> None:
    """The identity was a member of D, in place of a constant function; it is none, whatever parameter is claimed."""
    spec = module(tmp_path, CLASH, "INIT Init\nNEXT Next\nINVARIANTS TypeOK FirstIsZero\n")
    lines: list[dict[str, Any]] = [
        {"trace": "t", "step": 0, "state": {"f": [[[1, 1], [0, 0]], [[2, 2], [0, 0]]]}},
        {"trace": "t", "step": 1, "action": "Set", "params": {"g": claimed}, "delta": {"f": IDENTITY}},
        {"trace": "t", "end": {"steps": 1}, "crc32c": ""},
    ]
    path = write(tmp_path / "wrong.ndjson", json.loads(schema_of(spec).with_nodes([]).text()), [signed(lines)])
    assert main(["audit", str(path), "--spec", str(spec.path), "--config", str(spec.cfg)]) == 1
    assert "Set" in capsys.readouterr().out
