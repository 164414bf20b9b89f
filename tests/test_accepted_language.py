"""Agree, the audit's oracle and the compiler accept one language, and refuse everything else in one sentence.

Before, one of them accepted each specification here and another refused it, or refused it in words that did not help.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trace_lines
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla import spec as specs
from tidemark_conformance.tla.layout import layout_of
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.values import ModelValue
from tidemark_conformance.tlc import graph, oracle, replay_module
from tidemark_conformance.trace.schema import schema_of
from trace_lines import signed

PART = r"""---- MODULE Part ----
EXTENDS Naturals
VARIABLE x
Lost == x = 1
RECURSIVE Down(_)
Down(n) == IF n = 0 THEN 0 ELSE Down(n - 1)
Deep ==
    /\ Down(x) = 0
    /\ x' = 0
===="""

WIDE = r"""---- MODULE Wide ----
EXTENDS Integers, Sequences, FiniteSets
CONSTANTS Vectors, Names, Owners
VARIABLES x, seen, f, named
vars == <<x, seen, f, named>>
NoValue == CHOOSE v : v \notin Owners
Limit(n) == n + 1
Top == 9
Moves == \E i \in 1..2 : Up(i)
TypeOK ==
    /\ x \in 0..3
    /\ seen \subseteq 0..3
    /\ f \in [1..2 -> 0..1]
    /\ named \in [{"a", "b"} -> 0..1]
Init == x = 0 /\ seen = {} /\ f = [i \in 1..2 |-> 0] /\ named = [n \in {"a", "b"} |-> 0]
Up(i) == x + i <= Top /\ x' = Limit(x) % 4 /\ seen' = seen \cup {x} /\ UNCHANGED <<f, named>>
Down(i) == x - i >= 0 /\ NoValue \notin Owners /\ x' = x - i /\ seen' = seen \ {i} /\ UNCHANGED <<f, named>>
Put(v, i) == v[i] = 1 /\ f' = [v EXCEPT ![i] = 1 - f[i]] /\ UNCHANGED <<x, seen, named>>
Name(g, n) == g[n] = 1 /\ named' = g /\ UNCHANGED <<x, seen, f>>
Give(g, n) == g[n] = 0 /\ named' = [named EXCEPT ![n] = g[n]] /\ UNCHANGED <<x, seen, f>>
EnvironmentStep == x = 3 /\ x' = 0 /\ seen' = {} /\ UNCHANGED <<f, named>>
QuiescentPut(v) == f = v
EnvironmentPut(v) == f' = v
EnvironmentHolds == x <= 3
QuiescentSeen == 3 \notin seen
Next ==
    \/ \E i \in 1..2 : Up(i) \/ Down(i)
    \/ \E v \in Vectors, i \in 1..2 : Put(v, i)
    \/ \E g \in [{"a", "b"} -> 0..1], n \in {"a", "b"} : Name(g, n)
    \/ \E g \in Names : \E n \in {"a", "b"} : Give(g, n)
    \/ EnvironmentStep
Few == Cardinality(seen) <= 2
Rises == [][x' > x \/ x' = 0]_x
AllRise == Rises
MCVectors == [1..2 -> 0..1]
MCNames == [{"a", "b"} -> 0..1]
MCLimit(n) == n + 2
MCTop == 3
===="""

WIDE_CFG = r"""INIT Init
NEXT Next
CONSTANTS
    Vectors <- MCVectors
    Names <- MCNames
    Limit <- MCLimit
    Top <- MCTop
    NoValue = NoValue
    Owners = {o1, o2}
INVARIANTS TypeOK Few
PROPERTY AllRise
"""


def write(folder: Path, text: str, cfg: str) -> tuple[Path, Path]:
    name = text.split()[2]
    (folder / "Part.tla").write_text(PART)
    (folder / f"{name}.tla").write_text(text.replace("Moves == \\E i \\in 1..2 : Up(i)\n", "") + "\n")
    (folder / f"{name}.cfg").write_text(cfg)
    return folder / f"{name}.tla", folder / f"{name}.cfg"


@pytest.mark.deep
def test_agree_on_what_the_conventions_allow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    r"""Several actions under one \E, \subseteq, sets of functions, overrides, no Without, an action Environment..."""
    spec, cfg = write(tmp_path, WIDE, WIDE_CFG)
    target = tmp_path / "agree.json"
    given = ["agree", "--no-cache", "--spec", str(spec), "--config", str(cfg), "--json", str(target)]
    assert main(given) == 0, capsys.readouterr()
    (model,) = json.loads(target.read_text())["models"]
    assert (model["untaken"], model["unbroken"]) == ([], [])
    compared = {name: one["compared"] for name, one in model["backends"].items()}
    assert compared.pop("z3", 1) > 0  # a sample
    assert all(number > model["edges"] for number in compared.values())
    loaded = specs.load(spec, cfg)
    assert loaded.action_names == ["Up", "Down", "Put", "Name", "Give", "EnvironmentStep"]
    assert [one.name for one in loaded.environment] == ["EnvironmentHolds"]
    assert [one.name for one in loaded.quiescence] == ["QuiescentSeen"]
    assert loaded.constants["NoValue"] == ModelValue("NoValue")
    assert loaded.temporal == ()


@pytest.mark.deep
def test_the_oracle_needs_no_constant_without(tmp_path: Path) -> None:
    spec, cfg = write(tmp_path, WIDE, WIDE_CFG)
    dumped = graph.dump(spec, cfg)
    edge = next(one for one in dumped.edges if one.action == "Up" and one.source in dumped.initial)
    step = replay_module.Step("Up", edge.params, dumped.states[edge.target])
    trace = replay_module.Trace("t", dumped.states[edge.source], [step])
    wrong = replay_module.Trace("w", dumped.states[edge.source], [replay_module.Step("Down", edge.params, step.state)])
    replays = oracle.replay(spec, cfg, (), [trace, wrong], constants={"Without": frozenset()})
    assert [one.rejected for one in replays.traces] == [None, 1]


SMALL = r"""---- MODULE Small ----
EXTENDS Integers, FiniteSets
VARIABLES z, bag
I == INSTANCE Part WITH x <- z
TypeOK == z \in 0..2 /\ bag \in SUBSET (0..2)
Init == z = 0 /\ bag = {}
Op(n) == n
Other(n, m) == n
Step == z' = Op(z) /\ UNCHANGED bag
Next == Step
===="""
SMALL_CFG = "INIT Init\nNEXT Next\nINVARIANT TypeOK\n"


@pytest.mark.parametrize(
    ("old", "new", "more", "said"),
    [
        ("Next == Step", "Next == Step \\/ I!Lost", "", r"Part\.tla:4: I!Lost does not say what becomes of z: add"),
        ("Next == Step", "Next == Step \\/ I!Deep", "", r"Part\.tla:8: Down is RECURSIVE: use FoldSet"),
        ("Next == Step", "Next == Step \\/ z' = 1", "", r"Small\.tla:10: Next has a disjunct .*: write \\E p"),
        ("bag \\in SUBSET (0..2)", "\\A b \\in bag : b \\in 0..2", "", r"Small\.tla:5: .* write `bag \\in SUBSET S`"),
        ("bag \\in SUBSET (0..2)", "IsFiniteSet(bag)", "", r"write `bag \\in S`, or `bag \\in SUBSET S` where"),
        ("", "", "CONSTANT Nothing = 1\n", r"Small\.cfg:\d+: Nothing is given a value, but is no constant and no"),
        ("", "", "CONSTANT Op = 1\n", r"Small\.tla:7: Op has parameters, but the cfg gives it a value: write Op <-"),
        ("", "", "CONSTANT Op <- Other\n", r"Small\.tla:8: Other has 2 parameters, Op, .*, 1: give both the same"),
        ("", "", "CONSTANT Op <- Others\n", r"Small\.cfg puts Others for Op, but Small does not define Others: def"),
        ("Other(n, m) == n", "Other(n) == Op(n)", "CONSTANT Op <- Other\n", r"Small\.tla:8: Other stands for Op .*by"),
        ("Step ==", "QuiescentEnd == z' = z\nStep ==", "", r"Small\.tla:9: QuiescentEnd is named as a state .*none"),
        ("Step ==", "EnvironmentSet == {z}\nStep ==", "", r"Small\.tla:9: EnvironmentSet is neither TRUE nor FAL"),
    ],
)  # fmt: skip
def test_refusals_say_where_and_what_to_write(tmp_path: Path, old: str, new: str, more: str, said: str) -> None:
    """One rule decides: the compiler and the dump of TLC's graph refuse in the same words, but for TypeOK's layout."""
    spec, cfg = write(tmp_path, SMALL.replace(old, new), SMALL_CFG + more)
    with pytest.raises((Unsupported, Unusable), match=said):
        _layout(spec, cfg)


def _layout(spec: Path, cfg: Path) -> None:
    loaded = specs.load(spec, cfg)
    layout_of(loaded.module, compile_python(loaded).constant)


@pytest.mark.parametrize("next_", ["Step \\/ z' = 1", "\\E i \\in {1} : Step", "LET s == Step IN s"])
def test_agree_and_the_compiler_refuse_in_the_same_words(tmp_path: Path, next_: str) -> None:
    spec, cfg = write(tmp_path, SMALL.replace("Next == Step", f"Next == {next_}"), SMALL_CFG)
    with pytest.raises(Unsupported) as compiled:
        specs.load(spec, cfg)
    with pytest.raises(Unsupported) as dumped:
        graph.dump(spec, cfg)
    assert str(dumped.value) == str(compiled.value)
    assert str(compiled.value).startswith("Small.tla:10: ")


def test_subseteq_and_subset_are_one_specification(tmp_path: Path) -> None:
    one = specs.load(*write(tmp_path, SMALL, SMALL_CFG))
    two = specs.load(*write(tmp_path, SMALL.replace("bag \\in SUBSET (0..2)", "bag \\subseteq 0..2"), SMALL_CFG))
    assert one.hash == two.hash


@pytest.mark.deep
@pytest.mark.usefixtures("spark")
def test_audit_with_the_oracle_and_explain_need_no_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`audit --oracle` put a value for Without into TLC's cfg, whether the specification declared it or not."""
    spec, cfg = write(tmp_path, SMALL, SMALL_CFG)
    loaded = specs.load(spec, cfg)
    header = json.loads(schema_of(loaded).with_nodes([]).text())
    first = {"step": 0, "state": {"z": 0, "bag": []}}
    still = {"step": 1, "action": "Step", "params": {}, "delta": {}}
    moved = {**still, "delta": {"z": 1}}
    end = {"end": {"steps": 1}, "crc32c": ""}
    traces = [
        signed([{"trace": name, **line} for line in (first, step, end)])
        for name, step in zip("ab", (still, moved), strict=True)
    ]
    path = trace_lines.write(tmp_path / "traces.ndjson", header, traces)
    target = tmp_path / "audit.json"
    given = ["--spec", str(spec), "--config", str(cfg)]
    assert main(["audit", str(path), *given, "--oracle", "2", "--json", str(target)]) == 1
    document = json.loads(target.read_text())
    assert document["verdicts"] == {"pass": 1, "fail": 1, "undecided": 0}
    assert document["oracle"]["replayed"] == 2
    assert not document["oracle"]["disagreements"]
    capsys.readouterr()
    assert main(["explain", str(path), "--trace", "b", *given]) == 1
    assert "z" in capsys.readouterr().out
