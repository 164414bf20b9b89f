"""The Python backend against TLC: a table of expressions, errors, and whole state graphs of tricky modules."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
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


@pytest.mark.deep
def test_expressions_have_tlcs_values(tmp_path: Path) -> None:
    names = [f"E{number}" for number in range(len(TABLE))]
    spec = load(tmp_path, table_module(TABLE), CFG, "Table", names)
    lines: list[str] = []
    printing = "\n".join(f'ASSUME PrintT(<<"value", {n}, {name}>>)' for n, name in enumerate(names))
    text = table_module(TABLE).replace("Bounded\n", "Bounded, TLC\n") + "\n" + printing + "\n====\n"
    result = runner.run(tmp_path / "Table.tla", CFG, given={"Table": text}, on_print=lines.append)
    assert result.verdict == "holds"
    parts = re.split(r'<<\s*"value",\s*(\d+),', " ".join(lines))[1:]
    printed = {
        int(number): text.strip().removesuffix(">>") for number, text in zip(parts[::2], parts[1::2], strict=True)
    }
    assert len(printed) == len(TABLE)
    for number, expression in enumerate(TABLE):
        mine = evaluate_constant(spec.module.definitions[names[number]].body, spec.constants)
        assert mine == parse_value(printed[number]), expression


IN_ORDER = r"""
\E n \in Names : partial[n]
\A n \in Names : ~partial[n]
\E n \in Names \cup {"z"} : partial[n]
\E T \in SUBSET Names : T # {} /\ (\A n \in T : partial[n])
\E h \in [1..2 -> Names] : partial[h[1]]
\E r \in [n : Names, i : 1..2] : partial[r.n]
\E p \in Names \X (1..2) : partial[p[1]]
{n \in Names : n \notin DOMAIN partial} \subseteq {n \in Names : n = "b" /\ partial[n]}
FoldSet(LAMBDA e, acc : Append(acc, e), <<>>, Names) = <<x, "b", "c", "d", "e", "f", "g", "h">>
""".strip().splitlines()
"""Expressions that depend on the order in which the names "a" to "h" are taken, `partial` being a function on {"a"}."""


def test_sets_are_taken_in_canonical_order_under_any_hash_seed(tmp_path: Path) -> None:
    definitions = 'Names == {x, "b", "c", "d", "e", "f", "g", "h"}\npartial == [n \\in {"a"} |-> x = n]\n'
    text = HEAD.replace("0..1", '{"a"}').replace("x = 0", 'x = "a"').replace("1 - x", "x") + definitions
    load(tmp_path, text + "\n".join(f"E{number} == {line}" for number, line in enumerate(IN_ORDER)), CFG, "Table")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tidemark_conformance.tla import spec\n"
        "from tidemark_conformance.tla.python import EvaluationError, compile_python\n"
        "folder, count = Path(sys.argv[1]), int(sys.argv[2])\n"
        "names = [f'E{number}' for number in range(count)]\n"
        "checks = compile_python(spec.load(folder / 'Table.tla', folder / 'Table.cfg', also=names))\n"
        "for name in names:\n"
        "    try:\n"
        "        print(checks.invariant(name, {'x': 'a'}))\n"
        "    except EvaluationError as problem:\n"
        "        print(problem.message)\n"
    )
    printed = []
    for seed in ("1", "2", "3"):
        arguments = [sys.executable, "-c", program, str(tmp_path), str(len(IN_ORDER))]
        done = subprocess.run(
            arguments, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        printed.append(done.stdout.splitlines())
    assert printed[0] == ["True", "False", "True", "True", "True", "True", "True", OUTSIDE, "True"]
    assert printed[1:] == [printed[0]] * 2


OUTSIDE = '[a |-> TRUE] is applied to "b", which is outside its domain'


def test_what_tlc_reports_as_an_error_is_one(tmp_path: Path) -> None:
    names = [f"E{number}" for number in range(len(ERRORS))]
    spec = load(tmp_path, table_module(ERRORS), CFG, "Table", names)
    for name, expression in zip(names, ERRORS, strict=True):
        with pytest.raises(EvaluationError) as caught:
            evaluate_constant(spec.module.definitions[name].body, spec.constants)
        assert "Table.tla:" in caught.value.place, expression
        assert caught.value.operator == name


PART = r"""---- MODULE Part ----
EXTENDS Naturals
CONSTANT Step
VARIABLE P
Foo == P + Step
Bar(z) == LET w == Foo IN z + w + w
Grows == P' > P
Up == P' = Foo
===="""

GALLERY = r"""---- MODULE Gallery ----
EXTENDS Integers, Sequences, FiniteSets, Folds, Bounded
CONSTANTS Nodes, None, Without
VARIABLES count, log, link, mail, owner, seen, sum
vars == <<count, log, link, mail, owner, seen, sum>>
Ghosts == <<seen, sum>>
C == INSTANCE Part WITH P <- count, Step <- 1
Entry == [id : 0..2, tags : SUBSET {"a", "b"}]
Letter == [type : {"ask"}, from : Nodes] \cup [type : {"tell"}, from : Nodes, value : 0..3]
TypeOK ==
    /\ count \in 0..4
    /\ log \in [Nodes -> BoundedSeq(Entry, 2)]
    /\ link \in [Nodes -> [Nodes -> [on : BOOLEAN, load : 0..2]]]
    /\ mail \in SUBSET Letter
    /\ owner \in Nodes \cup {None}
    /\ seen \in SUBSET Nodes
    /\ sum \in 0..100
Has(rule) == rule \notin Without
Room(n) == Len(log[n]) < 2
Owned(n) == owner = n
Init ==
    /\ count = 0
    /\ \E n \in Nodes \cup {None} : owner = n
    /\ log = [n \in Nodes |-> <<>>]
    /\ link = [a \in Nodes |-> [b \in Nodes |-> [on |-> a = b, load |-> 0]]]
    /\ mail = {}
    /\ seen = IF owner = None THEN {} ELSE {owner}
    /\ sum = 0
\* a prime reaches variables through by-name arguments, operators with LET inside, and INSTANCE
Keep(v) == v' = v
Bump(v, by) == v' = v + by
Total == LET lens == {Len(log[n]) : n \in Nodes} IN FoldSet(LAMBDA e, acc : e + acc, 0, lens)
Loads(l) == LET row(a) == {l[a][b].load : b \in Nodes} IN UNION {row(a) : a \in Nodes}
NextSum == LET t == Total + Total' IN IF Loads(link)' = Loads(link) THEN sum ELSE (sum + t) % 2
NextSeen(n) == IF owner' # owner THEN seen \cup {n} ELSE seen
GhostsStay == UNCHANGED <<seen, sum>>
Count ==
    /\ C!Bar(count) < 8
    /\ C!Up /\ C!Grows
    /\ (count + 1)' = C!Foo' /\ C!Bar(0)' > count
    /\ Keep(log) /\ Keep(link) /\ Keep(mail) /\ UNCHANGED owner
    /\ GhostsStay
Write(n, tag) ==
    LET id == Len(log[n])
        entry(t) == [id |-> id, tags |-> {t, tag}] IN
    /\ Has("Room") => Room(n)
    /\ \/ /\ tag = "a"
          /\ log' = [log EXCEPT ![n] = Append(@, entry("a"))]
       \/ /\ tag = "b" /\ count > 0
          /\ \E t \in {"a", "b"}, k \in {n} : log' = [log EXCEPT ![k] = Append(@, entry(t))]
    /\ IF Has("Owned") /\ Owned(n) THEN Bump(count, 1) /\ count < 3 ELSE count' = count
    /\ UNCHANGED <<<<link, mail>>, owner>>
    /\ sum' = NextSum /\ seen' = NextSeen(n)
Touch(a, b) ==
    LET old == link[a][b] IN
    /\ log[a] # <<>>
    /\ CASE old.on /\ old.load < 1 -> link' = [link EXCEPT ![a][b].load = @ + 1, ![b][a].on = ~@]
         [] ~old.on -> link' = [link EXCEPT ![a] = [@ EXCEPT ![b].on = TRUE]]
         [] OTHER -> FALSE
    /\ owner' = CHOOSE o \in {a, b} : o = b
    /\ UNCHANGED <<count, log, mail>>
    /\ LET fresh == {a, b} IN seen' = seen \cup (fresh \cap {owner'})
    /\ sum' = NextSum
Send(n) ==
    /\ \E m \in Letter :
        m = [type |-> "tell", from |-> n, value |-> Len(log[n])] /\ m \notin mail /\ mail' = mail \cup {m}
    /\ owner = n
    /\ UNCHANGED <<count, log, link, owner, seen, sum>>
Read(n) ==
    \E m \in mail :
        /\ m.type = "tell" /\ m.value > 0
        /\ mail' = {o \in mail : o # m} \cup {[type |-> "ask", from |-> m.from]}
        /\ log' = [log EXCEPT ![n] = SelectSeq(@, LAMBDA e : e.id + 1 # m.value)]
        /\ owner' = None
        /\ UNCHANGED <<count, link>>
ReadAll(n) == Read(n) /\ GhostsStay
Next ==
    \/ Count
    \/ \E n \in Nodes, tag \in {"a", "b"} : Write(n, tag)
    \/ \E a \in Nodes, b \in Nodes : Touch(a, b)
    \/ \E n \in Nodes : Send(n)
    \/ \E n \in Nodes : ReadAll(n)
Spec == Init /\ [][Next]_vars
Unlinked(a, b) == ~link[a][b].on /\ link[a][b].load = 0
Small ==
    /\ count <= 1 /\ Cardinality(mail) < 2 /\ seen # Nodes /\ \A n \in Nodes : Len(log[n]) < 3
    /\ \E n \in Nodes : log[n] = <<>> /\ \A o \in Nodes \ {n} : Unlinked(o, n) /\ Unlinked(n, o)
OwnerSeen == owner = None \/ owner \in seen
Symmetric == \A a, b \in Nodes : link[a][b].on = link[b][a].on
LogsSorted == \A n \in Nodes : \A i, j \in DOMAIN log[n] : i < j => log[n][i].id <= log[n][j].id
LoadSum == FoldSeq(LAMBDA e, acc : acc + e.id, 0, FoldSet(LAMBDA n, acc : log[n] \o acc, <<>>, Nodes)) < 1
CountGrows == [][count' >= count]_vars
OwnerRests == [][count' # count \/ log' # log]_<<owner>>
QuiescentMail == \A m \in mail : m.type = "ask"
Eventually == <>(mail # {})
===="""
GALLERY_CFG = """SPECIFICATION Spec
CONSTANTS Nodes = {n1, n2}
    None = None  Without = {%s}
CONSTRAINT Small
INVARIANTS TypeOK OwnerSeen Symmetric LogsSorted LoadSum
PROPERTIES CountGrows OwnerRests Eventually
"""


def test_agrees_with_tlc_on_a_gallery_of_constructs(tmp_path: Path) -> None:
    (tmp_path / "Part.tla").write_text(PART)
    spec = load(tmp_path, GALLERY, GALLERY_CFG % '"Room"', "Gallery")
    assert spec.temporal == ("Eventually",)
    dumped = graph.dump(spec.path, spec.cfg)
    result = agree.compare("Gallery", dumped, spec.module.ghosts, [backends.PythonBackend(spec)])
    assert result.ok, result.comparisons[0].first
    taken = {edge.action for edge in dumped.edges}
    assert taken == set(spec.action_names)
    assert dumped.broken["OwnerRests"]
    assert not dumped.broken["CountGrows"]
    assert result.violating_states
    assert result.non_edges >= result.edges


TWO_PHASE = spec_root() / "two_phase"
R1, R2, R3 = (ModelValue(name) for name in ("r1", "r2", "r3"))


def two_phase(cfg: str = "TwoPhase.cfg", counting: bool = False) -> tuple[PythonChecks, dict[str, Value]]:
    """The checks of two-phase commit and its initial state."""
    checks = compile_python(specs.load(TWO_PHASE / "TwoPhase.tla", TWO_PHASE / cfg), counting)
    working = Fn(dict.fromkeys((R1, R2, R3), "working"))
    state: dict[str, Value] = {
        "rmState": working,
        "tmState": "init",
        "tmPrepared": frozenset(),
        "messages": frozenset(),
    }
    return checks, {**state, **checks.initial_ghosts(state)}


def with_rm(state: dict[str, Value], **changes: str) -> dict[str, Value]:
    rm = {**state["rmState"], **{ModelValue(name): value for name, value in changes.items()}}
    return {**state, "rmState": Fn(rm)}


def test_checks_of_two_phase_commit() -> None:
    checks, state = two_phase()
    assert checks.init(state)
    assert state["decided"] == Fn(dict.fromkeys((R1, R2, R3), frozenset()))
    assert checks.parameters("RMReceiveDecision") == [[R1, R2, R3], ["aborted", "committed"]]
    assert ("TMDecide", ("aborted",)) in checks.enabled_actions(state)
    assert ("TMDecide", ("committed",)) not in checks.enabled_actions(state)
    aborted = with_rm(state, r1="aborted")
    assert checks.action("RMAbort", (R1,), state, aborted)
    assert not checks.action("RMAbort", (R2,), state, aborted)
    assert checks.ghosts("RMAbort", (R1,), state, aborted)["decided"][R1] == {"aborted"}
    assert checks.property("OutcomeIsFinal", state, aborted)
    assert not checks.property("OutcomeIsFinal", aborted, state)
    assert checks.property("OutcomeIsFinal", aborted, aborted)
    assert checks.quiescent("QuiescentAllDecided", aborted)
    assert not checks.quiescent("QuiescentAllDecided", {**aborted, "tmState": "aborted"})


def test_a_rule_that_is_not_in_force_does_not_block() -> None:
    right, state = two_phase()
    flawed, _ = two_phase("TwoPhaseFlawed.cfg")
    assert not right.enabling("TMDecide", ("committed",), state)
    assert flawed.enabling("TMDecide", ("committed",), state)


def test_explanations_name_rule_operator_and_line() -> None:
    checks, state = two_phase()
    text = (TWO_PHASE / "TwoPhase.tla").read_text().splitlines()
    prepared = with_rm(state, r1="prepared")
    findings = checks.explain_action("RMAbort", (R1,), prepared, with_rm(prepared, r2="aborted"))
    assert [finding.value for finding in findings] == [True, False, False, True]
    guard, update = findings[1], findings[2]
    assert (guard.name, guard.within[0][0]) == ("PreparedWaits", "RMAbort")
    assert text[guard.loc.line - 1].startswith("PreparedWaits(r) ==")
    assert guard.note == 'rule PreparedWaits; rmState[r] is "prepared", should be "working"'
    assert "rmState' = [rmState EXCEPT" in text[update.loc.line - 1]
    (finding,) = checks.explain_invariant("Consistency", with_rm(state, r2="committed", r3="aborted"))
    assert (finding.name, finding.value, finding.note) == ("Consistency", False, "r = r2, s = r3")
    blocked = checks.explain_action("RMReceiveDecision", (R1, "aborted"), state, {**state, "tmState": "aborted"})
    assert [finding.value for finding in blocked] == [False, True, False, False]
    assert blocked[3].note == 'tmState is "aborted", should stay "init"'


def test_rules_are_counted_only_where_asked_for() -> None:
    checks, state = two_phase(counting=True)
    prepared = with_rm(state, r1="prepared")
    assert checks.enabling("RMAbort", (R1,), state)
    assert not checks.enabling("RMAbort", (R1,), prepared)
    checks.explain_action("RMAbort", (R1,), prepared, prepared)
    assert checks.rule_counts["PreparedWaits"] == [1, 1]
    flawed, _ = two_phase("TwoPhaseFlawed.cfg", counting=True)
    flawed.enabling("TMDecide", ("committed",), state)
    assert flawed.rule_counts["CommitOnlyIfAllPrepared"] == [0, 0]


def test_errors_in_a_state_name_the_line() -> None:
    checks, state = two_phase()
    with pytest.raises(EvaluationError, match=r"TwoPhase.tla:\d+: .*outside its domain"):
        checks.invariant("Consistency", {**state, "rmState": Fn({R1: "working"})})
    with pytest.raises(EvaluationError, match="no variable messages"):
        checks.invariant("OneDecision", {"rmState": state["rmState"]})


def test_source_is_readable() -> None:
    checks, state = two_phase()
    checks.enabling("RMAbort", (R1,), state)
    assert re.search(r"def f\d+_enabling_RMAbort\(s, t, v\d+_r\)", checks.source())
    assert "# RMAbort, TwoPhase.tla:" in checks.source()


def test_a_specification_travels(tmp_path: Path) -> None:
    """Spark sends it to its workers: model values stay the same objects."""
    checks, state = two_phase()
    again, moved = pickle.loads(pickle.dumps((checks.spec, state)))
    assert again == checks.spec
    assert moved == state
    assert compile_python(again).init(moved)
