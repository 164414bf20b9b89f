"""Definitions as text, and full state graphs out of TLC."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger import GHOSTS, LEDGER, SOUND, flawed_graph
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.tla import cfg as cfg_files
from tidemark_conformance.tla.values import ModelValue
from tidemark_conformance.tlc import definitions, graph, nonedges, walks
from tidemark_conformance.tlc.runner import TlcResult

MODULE = r"""---- MODULE M ----
EXTENDS Naturals
CONSTANTS RM, S, T
VARIABLES a, b
x == [r \in RM |-> 1]
A(r) == UNCHANGED <<a, b>>
B == A(1)
C(o, r, s) == A(r)
D(v, r) == A(r)
E(p, q) == A(p)
F(r) == A(r)
G == A(1)
Both(r) == A(r)
Init == a = 0 /\ b = 0
Next ==
    \/ \E r \in RM : A(r)   \* \/ no disjunct
    \/ B
    \/ \E r, s \in RM, o \in {"a", "\\/"} \cup {"c"} : C(o, r, s)
    \/ \E r \in RM : \E v \in [a : S, b : T] : D(v, r)
    \/ \E p \in {<<y, w>> : y \in 1..2, w \in {3}}, q \in 1..2 : E(p, q)
    \/ (\E r \in RM : (F(r) \/ Both(r)))
    \/ (G)
Spec == Init /\ [][Next]_<<a, b>>
P == [][\A r \in RM :
          /\ x[r] = 1
          /\ a = b]_<<a, b>>
Q == P
Live == [][Next]_<<a, b>> /\ WF_a(Next)
QuiescentOne == TRUE
QuiescentTwo(v) == v
===="""


def quoted(folder: Path, text: str = MODULE, cfg: str = "PROPERTIES P Q Live\n") -> definitions.Quoted:
    (folder / "M.tla").write_text(text)
    return definitions.Quoted(folder / "M.tla", cfg_files.parse(cfg))


def test_disjuncts_of_next(tmp_path: Path) -> None:
    found = quoted(tmp_path).disjuncts
    assert [(one.action, len(one.domains)) for one in found] == [
        *(("A", 1), ("B", 0), ("C", 3), ("D", 2), ("E", 2), ("F", 1), ("Both", 1), ("G", 0))
    ]
    texts = [[domain.strip() for domain in one.domains] for one in found]
    assert texts[2] == ['{"a", "\\\\/"} \\cup {"c"}', "RM", "RM"]
    assert texts[3] == ["[a : S, b : T]", "RM"]
    assert texts[4] == ["{<<y, w>> : y \\in 1..2, w \\in {3}}", "1..2"]
    assert texts[5] == texts[6] == ["RM"]


@pytest.mark.parametrize(
    "next_",
    [
        "Next == a' = b",
        "Next == \\E r \\in RM : (A(r) \\/ B)",
        "Next == B /\\ G",
        "Next == \\E r \\in RM, s \\in RM : C(r, s, 1)",
        "Next == \\E r \\in RM : A(1)",
        "Next == LET D1 == RM IN \\E r \\in D1 : A(r)",
    ],
)
def test_another_form_of_next_is_refused_with_its_line(tmp_path: Path, next_: str) -> None:
    text = MODULE[: MODULE.index("Next ==")] + next_ + "\nSpec == TRUE\n===="
    with pytest.raises(Unsupported, match=r"M\.tla:15: .*: \w+"):
        _ = quoted(tmp_path, text, "INIT Init\nNEXT Next\n").disjuncts


def test_action_properties_are_quoted_and_others_left_alone(tmp_path: Path) -> None:
    found = quoted(tmp_path)
    assert set(found.boxed) == {"P", "Q"}
    assert found.boxed["Q"] == found.boxed["P"]
    assert found.boxed["P"].subscript.strip() == "<<a, b>>"
    lines = found.boxed["P"].action.splitlines()
    assert lines[0].index("\\A") == 8
    assert lines[1:] == ["          /\\ x[r] = 1", "          /\\ a = b"]
    assert found.temporal == ("Live",)
    assert found.quiescence == ("QuiescentOne",)
    assert found.variables == ("a", "b")


@pytest.mark.parametrize(
    "domain", ["{z \\in RM : z = 1}", "LET z == RM IN z", "{n \\in RM : \\E k, z \\in RM : k = z}"]
)
def test_a_name_that_is_defined_further_down_is_not_quoted(tmp_path: Path, domain: str) -> None:
    """TLC could not parse the module that quotes it, and said so of a module that nobody had written."""
    text = MODULE.replace("\\E r \\in RM : A(r)", f"\\E r \\in ({domain}) : A(r)", 1)
    later = text.replace("QuiescentOne == TRUE", "QuiescentOne == TRUE\nz == 1")
    assert "A" in [one.action for one in quoted(tmp_path, text).disjuncts]
    with pytest.raises(Unsupported, match=r"M\.tla:16: z is bound here and defined further down: give one"):
        _ = quoted(tmp_path, later).disjuncts


def test_a_specification_names_init_and_next(tmp_path: Path) -> None:
    assert quoted(tmp_path, MODULE, "SPECIFICATION Spec\n").behaviour == ("Init", "Next")
    inline = MODULE.replace("Spec == Init", "Spec == (a = 0 /\\ b = 1)")
    first, following = quoted(tmp_path, inline, "SPECIFICATION Spec\n").behaviour
    assert (first.count("a = 0 /\\ b = 1"), following) == (1, "Next")


def test_all_of_a_specifications_initial_predicate_counts(tmp_path: Path) -> None:
    """Of two bullets in front of [][Next]_v the second was once left out, without a word."""
    start = "Spec == Init /\\ [][Next]"
    one = MODULE.replace(start, "Spec ==\n    /\\ a = 0 /\\ b = 1\n    /\\ [][Next]")
    assert "a = 0 /\\ b = 1" in quoted(tmp_path, one, "SPECIFICATION Spec\n").behaviour[0]
    two = MODULE.replace(start, "Spec ==\n    /\\ a = 0\n    /\\ b = 1\n    /\\ [][Next]")
    with pytest.raises(Unsupported, match=r"M\.tla:\d+: Spec is not Init"):
        _ = quoted(tmp_path, two, "SPECIFICATION Spec\n").behaviour


@pytest.mark.parametrize(
    ("verdict", "cure"), [("stopped", "bound it with a CONSTRAINT"), ("error", "a corrected model")]
)
def test_a_graph_that_is_not_finished_says_what_to_do(verdict: str, cure: str) -> None:
    with pytest.raises(Unusable, match=rf"graph of M: it took too long; .*{cure}"):
        graph._finished(TlcResult(verdict, reason="it took too long"), Path("M.tla"))


@pytest.fixture
def flawed() -> graph.Graph:
    return flawed_graph()


@pytest.mark.deep
def test_graph_has_violating_states_ground_edges_and_broken_properties(flawed: graph.Graph) -> None:
    assert (len(flawed.states), len(flawed.edges), len(flawed.initial)) == (527, 1054, 1)
    assert flawed.predicates["NothingFromNothing"].count(False) == 186
    assert all(flawed.predicates["TypeOK"])
    ann, bob = ModelValue("ann"), ModelValue("bob")
    assert flawed.domains == {
        "Lock": ((ann, bob),),
        "Unlock": (),
        "AskDeposit": ((ann, bob), (1,)),
        "AskMove": ((ann, bob), (ann, bob)),
        "Serve": (),
    }
    none = ModelValue("None")
    handed = {
        (edge.source, edge.target)
        for edge in flawed.edges
        if none not in (flawed.states[edge.source]["holder"], flawed.states[edge.target]["holder"])
        and flawed.states[edge.source]["holder"] != flawed.states[edge.target]["holder"]
    }
    assert flawed.broken == {"ThroughNobody": handed}
    assert handed


def test_states_outside_the_constraint_are_there_but_not_expanded(flawed: graph.Graph) -> None:
    assert [len(state["queue"]) <= 1 for state in flawed.states] == flawed.expanded
    assert all(flawed.expanded[edge.source] for edge in flawed.edges)
    assert not all(flawed.expanded)


def test_every_edge_is_what_its_label_says(flawed: graph.Graph) -> None:
    for edge in flawed.edges:
        before, after = flawed.states[edge.source], flawed.states[edge.target]
        if edge.action == "Lock":
            assert after["holder"] == edge.params[0]
        elif edge.action == "AskDeposit":
            order = after["queue"][-1]
            assert (order["to"], order["amount"]) == edge.params
        elif edge.action == "Serve":
            assert after["queue"] == before["queue"][1:]


def test_near_misses_are_no_edges_and_of_every_kind(flawed: graph.Graph) -> None:

    misses = nonedges.near_misses(flawed, GHOSTS)
    assert len(misses) >= len(flawed.edges)
    assert {miss.kind for miss in misses} == {"params", "action", "target", "variable", "cell"}

    def key(state: object) -> tuple[object, ...]:
        return tuple(value for name, value in state.items() if name not in GHOSTS)  # type: ignore[attr-defined]

    steps = {(e.source, e.action, e.params, key(flawed.states[e.target])) for e in flawed.edges}
    assert not any((miss.source, miss.action, miss.params, key(miss.next)) in steps for miss in misses)
    assert all(flawed.expanded[miss.source] for miss in misses)
    assert nonedges.near_misses(flawed, GHOSTS) == misses


def test_walks_follow_edges_and_carry_verdicts(flawed: graph.Graph) -> None:
    misses = nonedges.near_misses(flawed, GHOSTS)
    made = walks.walks(flawed, misses)
    by_identity = {id(state): at for at, state in enumerate(flawed.states)}
    linked = {(e.source, e.action, e.params, e.target) for e in flawed.edges}
    walked = set()
    for way in made:
        at = by_identity[id(way.initial)]
        assert at in flawed.initial
        for record in way.records[: way.known]:
            target = by_identity[id(record.next)]
            walked.add((at, record.action, record.params, target))
            at = target
        assert (walks.NOT_A_STEP in way.first) == (way.known < len(way.records))
    assert walked <= linked
    assert len(walked) > len(linked) / 2
    assert {name for way in made for name in way.first} >= {"NothingFromNothing", "ThroughNobody", "QuiescentServed"}


def test_what_hides_steps_is_refused(tmp_path: Path) -> None:
    cfg = tmp_path / "Ledger.cfg"
    cfg.write_text(SOUND.read_text() + "ACTION_CONSTRAINT Small\n")
    with pytest.raises(Unusable, match="ACTION_CONSTRAINT"):
        graph.dump(LEDGER, cfg)


def test_a_graph_that_tlc_cannot_finish_is_refused() -> None:
    with pytest.raises(Unusable, match=r"cannot dump the whole graph of Ledger.*budget"):
        graph.dump(LEDGER, SOUND, budget_s=0.3)


@pytest.mark.deep
def test_domains_are_enumerated_however_tlc_prints_them(tmp_path: Path) -> None:
    (tmp_path / "Wide.tla").write_text(
        "---- MODULE Wide ----\nEXTENDS Naturals\nCONSTANT Node\nVARIABLE x\nInit == x = {}\n"
        "Put(s, n) == x = {} /\\ n = 40 /\\ x' = s\nName(f) == x = Node /\\ f[1] = \"a\" /\\ x' = {}\n"
        "Next == \\/ \\E s \\in SUBSET Node, n \\in 1..40 : Put(s, n)\n"
        '        \\/ \\E f \\in [1..2 -> {"a", "b"}] : Name(f)\n====\n'
    )
    (tmp_path / "Wide.cfg").write_text("INIT Init\nNEXT Next\nCONSTANT Node = {n1, n2}\n")
    found = graph.dump(tmp_path / "Wide.tla", tmp_path / "Wide.cfg")
    one, two = ModelValue("n1"), ModelValue("n2")
    subsets = {frozenset(), frozenset({one}), frozenset({two}), frozenset({one, two})}
    assert set(found.domains["Put"][0]) == subsets
    assert found.domains["Put"][1] == tuple(range(1, 41))
    assert set(found.domains["Name"][0]) == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}
    assert len(found.states) == 4
    assert {edge.params for edge in found.edges if edge.action == "Name"} == {(("a", "a"),), (("a", "b"),)}


def test_a_dump_without_loops_is_refused() -> None:
    plan = graph._plan(LEDGER, SOUND)
    read = graph._Dump({"1": 0}, [{}], [0], [True], {}, 0.0)
    with pytest.raises(Unusable, match="was not asked about every state of Ledger"):
        graph._graph(plan, read, [], [], {}, 0.0)


def test_two_dumps_may_name_the_same_states_differently() -> None:
    one, two = {"x": 1, "y": 2}, {"x": 3, "y": 4}
    first = graph._Dump({"10": 0, "20": 1}, [one, two], [0], [True, True], {}, 0.0)
    again = graph._Dump({"7": 0, "8": 1}, [dict(reversed(two.items())), one], [1], [True, True], {}, 0.0)
    again.arrows["tm_bad_0"] = {("8", "7")}
    assert again.between("tm_bad_0", again.numbered_as(first)) == {(0, 1)}
    assert again.between("tm_bad_0") == {(1, 0)}
