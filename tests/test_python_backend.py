"""The Python backend against TLC: a table of expressions, errors, and whole state graphs of tricky modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidemark_conformance.paths import spec_root
from tidemark_conformance.tla import spec as specs
from tidemark_conformance.tla.python import EvaluationError, PythonChecks, compile_python, evaluate_constant
from tidemark_conformance.tla.values import Fn, ModelValue, Value
from tidemark_conformance.tlc import agree, backends, graph, runner
from tidemark_conformance.tlc.values import parse_value

HEAD = """---- MODULE Table ----
EXTENDS Integers, Sequences, FiniteSets, Folds, Bounded
CONSTANTS Nodes, None
VARIABLE x
TypeOK == x \\in 0..1
Init == x = 0
Step == x' = 1 - x
Next == Step
Rec(a, b) == [a |-> a, b |-> b]
Twice(op(_), v) == op(op(v))
Min(S) == CHOOSE m \\in S : \\A n \\in S : m <= n
Sum(S) == FoldSet(LAMBDA e, acc : e + acc, 0, S)
Plus(e, acc) == e + acc
f == [i \\in 1..3 |-> i * i]
g == [n \\in {"p", "q"} |-> [u |-> 1, v |-> <<1, 2>>]]
m == [i \\in 0..2 |-> {i}]
Big(S) == Cardinality(S) > 1
"""
CFG = "INIT Init\nNEXT Next\nCONSTANTS Nodes = {n1, n2}\nNone = None\n"

TABLE = r"""
1 + 2 * 3 - 4
(-7) \div 2
7 \div (-2)
(-7) % 3
-(2 + 3)
2..5
5..2
{1, 2, 2}
{} = {1} \ {1}
{1, 2} \cup ({3} \cap {3, 4})
{1, 2} \subseteq 1..3
SUBSET {1, 2}
UNION {{1}, {2, 3}}
UNION {1..i : i \in 0..2}
Cardinality(SUBSET (1..4))
<<1, "a", TRUE>>
<<>>
Append(<<1>>, 2) \o <<3>>
Head(<<4, 5>>)
Tail(<<4, 5>>)
Len(<<1, 2, 3>>)
SubSeq(<<1, 2, 3, 4>>, 2, 3)
SubSeq(<<1, 2, 3, 4>>, 3, 2)
SubSeq(<<>>, 1, 0)
SelectSeq(<<1, 2, 3, 4>>, LAMBDA e : e % 2 = 0)
DOMAIN <<7, 8>>
DOMAIN [a |-> 1, b |-> 2]
f[2]
f
m
m[0]
g["p"].v[2]
g.q.u
[f EXCEPT ![2] = @ + 10]
[f EXCEPT ![2] = @ + 10, ![2] = @ * 2]
[f EXCEPT ![9] = 1]
[g EXCEPT !["p"].v[1] = 9, !["q"].u = @ + 1]
[g EXCEPT !["p"].nothing = 9]
[<<1, 2>> EXCEPT ![1] = 5]
[<<1, 2>> EXCEPT ![3] = 5]
[m EXCEPT ![0] = @ \cup {7}]
[[i \in {1}, j \in {2, 3} |-> i + j] EXCEPT ![1, 3] = 0]
[i \in {1}, j \in {2, 3} |-> i + j]
[i \in {1}, j \in {2, 3} |-> i + j][1, 2]
[<<i, j>> \in {1} \X {2, 3} |-> i * j]
{<<i, j>> \in (1..2) \X (1..2) : i < j}
{i + j : i, j \in 1..2}
{<<i, s>> : i \in 1..2, s \in {"a", "b"}}
{n \in Nodes \cup {None} : n # None}
[Nodes -> {0, 1}]
[a : {1, 2}, b : {"x"}]
{1} \X {2, 3} \X {"z"}
<<1, 2>> \in {1} \X {2}
[a |-> 1, b |-> 2] \in [a : {1}, b : 0..5]
[a |-> 1] \in [a : {1}, b : 0..5]
f \in [1..3 -> 0..9]
f \in [1..2 -> 0..9]
<<1, 2>> \in BoundedSeq({1, 2}, 2)
<<1, 2, 1>> \in BoundedSeq({1, 2}, 2)
<<>> \in BoundedSeq({1, 2}, 2)
UNION {[1..n -> {1}] : n \in 0..2}
<<1, 1>> \in UNION {[1..n -> {1}] : n \in 0..2}
<<1, 2>> \in Seq(Nat)
-1 \in Nat
-1 \in Int
"a" \in STRING
TRUE \in BOOLEAN
{{1}, {}} \subseteq SUBSET {1, 2}
[type |-> "a", x |-> 1] \in ([type : {"a"}, x : 0..1] \cup [type : {"b"}])
[type |-> "b"] \in ([type : {"a"}, x : 0..1] \cup [type : {"b"}])
3 \in {i \in 1..5 : i > 2}
\A i \in 1..3, j \in {1} : i >= j
\E i, j \in 1..3 : i + j = 6 /\ i # j
\E i \in 1..3 : i = 2 /\ f[i] = 4
\E i \in 1..3 : i = 7 /\ f[i] = 4
\A i \in {} : FALSE
CHOOSE i \in 1..5 : i * i = 16
Min({4, 3, 9})
IF 1 = 2 THEN "a" ELSE "b"
CASE 1 = 2 -> "a" [] 2 = 2 -> "b" [] OTHER -> "c"
CASE 1 = 2 -> "a" [] OTHER -> "c"
LET a == 5 b == a + 1 IN a * b
LET sq(v) == v * v IN sq(sq(2)) + sq(1)
LET a == f[9] IN FALSE /\ a = 1
LET a == f[9] IN TRUE \/ a = 1
FALSE => f[9] = 1
IF TRUE THEN 1 ELSE f[9]
Twice(LAMBDA v : v * 3, 2)
Rec(1 + 1, {2})
Rec(f[2], f[2]) = [b |-> 4, a |-> 4]
Sum({1, 2, 3}) + FoldSet(Plus, 10, {5})
FoldSet(LAMBDA e, acc : acc \cup {e * 2}, {}, 1..3)
FoldSeq(LAMBDA e, acc : Append(acc, e + Len(acc)), <<>>, <<5, 5, 5>>)
FoldSeq(Plus, 0, f)
TRUE <=> (1 = 1)
~(TRUE /\ FALSE) \/ FALSE
1 # 2 /\ "a" # "b" /\ {1} # {2}
None = None /\ None \notin Nodes
None # 3
None = "a"
<<1, 2>> = [i \in 1..2 |-> i]
[i \in 1..0 |-> i] = <<>>
[i \in 0..1 |-> i] = <<0, 1>>
Big({1, 2}) /\ ~Big({1})
LET h[i \in 1..2] == i + 1 IN h[2]
{s \in SUBSET (1..3) : Cardinality(s) = 2}
{h \in [1..2 -> 1..2] : h[1] # h[2]}
LET S == {1, 2, 3} IN {<<a, Cardinality({b \in S : b < a})>> : a \in S}
[i \in 1..2 |-> [j \in 1..i |-> i * j]]
LET r == [a |-> <<1>>] IN [r EXCEPT !.a = Append(@, Len(@))]
LET r == [a |-> [b |-> [c |-> 1]]] IN [r EXCEPT !.a.b.c = @ + 1, !.a.b = [@ EXCEPT !.c = @ * 10]]
IsFiniteSet({1})
"p" \in DOMAIN g
1..2 = {1, 2}
{1, 2} = 1..2
{1..2, {3}} = {{1, 2}, {3}}
[1..2 -> {0}] = {<<0, 0>>}
{<<>>, <<1>>} \subseteq BoundedSeq({1}, 1)
UNION {{i} \cup {i + 1} : i \in 1..2}
2 \in UNION {1..i : i \in 1..2}
(1..3) \ {2}
(1..3) \cap {2, 9}
{x_ \in 1..3 : \E y_ \in 1..3 : x_ + y_ = 4 /\ y_ > 1}
""".strip().splitlines()

ERRORS = r"""
f[9]
f["a"]
g["zz"]
[a |-> 1].b
Head(<<>>)
Tail(<<>>)
SubSeq(<<1>>, 1, 2)
1 \div 0
CHOOSE i \in {1} : i = 2
CASE 1 = 2 -> 3
1 = "a"
{1} = 1
LET a == f[9] IN a = a
\E i \in {1} : f[9] = i
5[1]
""".strip().splitlines()


def load(folder: Path, text: str, cfg: str, name: str, also: list[str] | None = None) -> specs.Specification:
    (folder / f"{name}.tla").write_text(text + "\n====\n")
    (folder / f"{name}.cfg").write_text(cfg)
    return specs.load(folder / f"{name}.tla", folder / f"{name}.cfg", also=also or [])


def table_module(expressions: list[str]) -> str:
    return HEAD + "\n".join(f"E{number} == {text}" for number, text in enumerate(expressions))


def test_expressions_have_tlcs_values(tmp_path: Path) -> None:
    names = [f"E{number}" for number in range(len(TABLE))]
    spec = load(tmp_path, table_module(TABLE), CFG, "Table", names)
    lines: list[str] = []
    printing = "\n".join(f'ASSUME PrintT(<<"value", {n}, {name}>>)' for n, name in enumerate(names))
    text = table_module(TABLE).replace("Bounded\n", "Bounded, TLC\n") + "\n" + printing + "\n====\n"
    result = runner.run(tmp_path / "Table.tla", CFG, given={"Table": text}, on_print=lines.append)
    assert result.verdict == "holds"
    parts = re.split(r'<<\s*"value",\s*(\d+),', " ".join(lines))[1:]
    printed = {int(number): text.strip().removesuffix(">>") for number, text in zip(parts[::2], parts[1::2], strict=True)}
    assert len(printed) == len(TABLE)
    for number, expression in enumerate(TABLE):
        mine = evaluate_constant(spec.module.definitions[names[number]].body, spec.constants)
        assert mine == parse_value(printed[number]), expression


def test_what_tlc_reports_as_an_error_is_one(tmp_path: Path) -> None:
    names = [f"E{number}" for number in range(len(ERRORS))]
    spec = load(tmp_path, table_module(ERRORS), CFG, "Table", names)
    for name, expression in zip(names, ERRORS, strict=True):
        with pytest.raises(EvaluationError) as caught:
            evaluate_constant(spec.module.definitions[name].body, spec.constants)
        assert "Table.tla:" in caught.value.place, expression
        assert caught.value.operator == name
