"""Generated specifications with awkward names, against TLC: domains, layout, Init, states, edges and near misses,
invariants and action properties, for both backends.

`TIDEMARK_GENERATED=300 pytest tests/test_generated_specs.py` holds 300 modules against TLC in place of a few.
"""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest
from generated_specs import Writer
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tidemark_conformance.tla.layout import layout_of
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tlc import agree, backends, graph, mutants

MODULES = int(os.environ.get("TIDEMARK_GENERATED", "3"))


def held_against_tlc(seed: int) -> agree.Agreement:
    """The comparison of one generated module."""
    text, cfg = Writer(random.Random(seed)).module("Generated")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Generated.tla"
        file.write_text(text)
        file.with_suffix(".cfg").write_text(cfg)
        spec = load(file, file.with_suffix(".cfg"))
        dumped = graph.dump(spec.path, spec.cfg)
        layout = layout_of(spec.module, compile_python(spec).constant)
        for state in dumped.states:
            assert layout.decode(layout.encode(state)) == state
        changed = mutants.judged(spec, dumped)
        return agree.compare("Generated", dumped, spec.module.ghosts, backends.backends(spec), changed)


FOUND = r"""---- MODULE Found ----
EXTENDS Integers, Sequences, FiniteSets, Folds, Bounded
CONSTANT N
VARIABLES q, f
TypeOK == q \in BoundedSeq(0..1, 2) /\ f \in [{"a", "b"} -> 0..1]
Init == q \in {<<1>>} \cup {<<N % 2>>} /\ f = [k \in {"a", "b"} |-> 0]
Grow == q' = (IF Len(q) < 2 THEN Append(q, 0) ELSE <<>>) /\ UNCHANGED f
Put(g) == f' = g /\ f # g /\ UNCHANGED q
Take(r, i) == r[i] # 1 /\ q' = r /\ UNCHANGED f
Next == Grow \/ (\E g \in [{"a", "b"} -> 0..1] : Put(g)) \/ (\E r \in {<<1, 0>>, <<0, 0>>}, i \in 1..2 : Take(r, i))
OneOf == q \in ({<<1>>} \cup {<<0>>})
Constant == q \in ({<<1>>} \cup {<<N % 2>>})
Pairs == <<Len(q) % 2, N % 2>> = <<N % 2, Cardinality({N}) % 2>>
Nothing == {i \in {n + 1 : n \in {j \in {} : j = 1}} : i = 1} = {}
Same == [[k \in {"a", "b"} |-> N] EXCEPT !["b"] = (@ + 1) % 2] = f
Empty == q = SelectSeq(<<>>, LAMBDA e : e # 1)
Chosen == <<Len(q) % 2>> = (IF f["a"] = 0 THEN <<N, 1>> ELSE <<N % 2>>)
===="""
"""Defects that generated specifications have found. The kernels took `q \\in {<<1>>} \\cup {<<0>>}` for true of <<1,
0>>. They refused the others, or did not get over them."""


@pytest.mark.deep
def test_what_was_found_before(tmp_path: Path) -> None:
    (tmp_path / "Found.tla").write_text(FOUND)
    invariants = "TypeOK OneOf Constant Pairs Nothing Same Empty Chosen"
    (tmp_path / "Found.cfg").write_text(f"INIT Init\nNEXT Next\nCONSTANT N = 1\nINVARIANTS {invariants}\n")
    spec = load(tmp_path / "Found.tla", tmp_path / "Found.cfg")
    dumped = graph.dump(spec.path, spec.cfg)
    found = agree.compare("Found", dumped, (), backends.backends(spec), mutants.judged(spec, dumped))
    assert found.ok, [str(one.first) for one in found.comparisons]
    assert set(found.unbroken) == {"Nothing"}


@pytest.mark.deep
@settings(max_examples=MODULES, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
@given(st.integers(min_value=0, max_value=1_000_000))
def test_generated_specifications_agree_with_tlc(seed: int) -> None:
    found = held_against_tlc(seed)
    assert found.ok, (seed, [str(one.first) for one in found.comparisons])
    assert all(found.comparisons[0].kinds.values())
