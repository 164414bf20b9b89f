"""The parts that explanations are made of: formulas as text, reads, the text of modules, delta debugging, shrinking."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tidemark_conformance.explain import load, shrink
from tidemark_conformance.explain.ddmin import ddmin
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.formula import formula
from tidemark_conformance.explain.load import Stored
from tidemark_conformance.explain.reads import Member, cell_text, reads, written
from tidemark_conformance.explain.record import Shrunk
from tidemark_conformance.explain.scope import Env, Scope
from tidemark_conformance.explain.source import Source
from tidemark_conformance.explain.state import shown_variables
from tidemark_conformance.explain.text import changes
from tidemark_conformance.explain.why import why
from tidemark_conformance.report.explanation import shrunk_sentence
from tidemark_conformance.tla import spec as specs
from tidemark_conformance.tla.ir import HasRule, Loc, Op
from tidemark_conformance.tla.kernels.stream import StreamWriter
from tidemark_conformance.tla.values import Fn, ModelValue
from tidemark_conformance.trace.parquet import PartWriter
from tidemark_conformance.trace.schema import Schema

R1, R2, R3 = (ModelValue(f"r{n}") for n in (1, 2, 3))

CONSTRUCTS = r"""
---- MODULE Constructs ----
EXTENDS Integers, Sequences, FiniteSets
VARIABLES f, q, m, n
vars == <<f, q, m, n>>
Message == [type : {"a"}, x : 0..3] \cup [type : {"b"}, who : SUBSET {"u", "v"}]
TypeOK ==
    /\ f \in [{"u", "v"} -> [count : 0..9, on : BOOLEAN]]
    /\ q \in {s \in Seq(0..3) : Len(s) <= 4}
    /\ m \in SUBSET Message
    /\ n \in -5..5
Init == f = [k \in {"u", "v"} |-> [count |-> 0, on |-> FALSE]] /\ q = <<>> /\ m = {} /\ n = 0
Step(k) ==
    /\ f[k].count < 9
    /\ f' = [f EXCEPT ![k].count = @ + 1, ![k].on = ~@]
    /\ UNCHANGED <<q, m, n>>
Next == \E k \in {"u", "v"} : Step(k)
I1 == \A a, b \in {"u", "v"} : f[a].on /\ (f[b].on \/ n >= -2 * 2 + 1) => a = b \/ n # 3 - (1 - n)
I2 == LET late == {x \in m : x.type = "b"} IN Cardinality(late) <= 2 /\ UNION {x.who : x \in late} \subseteq {"u", "v"}
I3 == (IF q = <<>> THEN 0 ELSE Head(q) + Len(Tail(q))) \in 0..9 /\ Append(q, 1) \o <<2, 3>> # <<>>
I4 == CASE n > 0 -> q # <<>> [] n < 0 -> DOMAIN f = {"u"} [] OTHER -> TRUE
I5 == \E s \in SUBSET {1, 2} : (s \cup {3}) \cap {1} = {} /\ {2} \ s # {} /\ ~(1 \in s <=> TRUE)
I6 == [k \in {"u", "v"} |-> n][CHOOSE k \in {"u", "v"} : k # "u"] = n /\ <<1, 2>> \in {1} \X {2, 3} /\ 7 \div 2 = 7 % 4
I7 == [type |-> "a", x |-> 1] \notin m /\ [f EXCEPT !["u"] = f["v"]]["u"].count = f["v"].count /\ SubSeq(q, 1, 0) = <<>>
====
"""
INVARIANTS = ["TypeOK", *(f"I{n}" for n in range(1, 8))]


def canonical(expr: Any) -> Any:
    return specs.canonical(expr)


def redefined(text: str, name: str, body: str) -> str:
    """The module with another body for a definition."""
    head, rest = text.split(f"\n{name} ==", 1)
    following = re.search(r"^\w+(\(\w\))? ==|^====", rest, re.MULTILINE)
    assert following is not None
    return f"{head}\n{name} == {body}\n{rest[following.start() :]}"


def test_formulas_read_back_as_themselves(tmp_path: Path) -> None:
    """A printed formula parses, and means the formula that was printed: the same IR, but for marks."""
    (tmp_path / "Constructs.tla").write_text(CONSTRUCTS)
    cfg = f"INIT Init\nNEXT Next\nINVARIANTS {' '.join(INVARIANTS)}\n"
    (tmp_path / "Constructs.cfg").write_text(cfg)
    first = specs.load(tmp_path / "Constructs.tla", tmp_path / "Constructs.cfg")
    text = CONSTRUCTS.replace("MODULE Constructs", "MODULE Printed")
    for name in INVARIANTS:
        text = redefined(text, name, formula(first.module.definitions[name].body, short=10_000))
    text = redefined(text, "Step(k)", formula(first.action("Step").body, short=10_000))
    (tmp_path / "Printed.tla").write_text(text)
    (tmp_path / "Printed.cfg").write_text(cfg)
    second = specs.load(tmp_path / "Printed.tla", tmp_path / "Printed.cfg")
    for name in INVARIANTS:
        before, after = (one.module.definitions[name].body for one in (first, second))
        assert canonical(after) == canonical(before), name
    assert canonical(second.action("Step").body) == canonical(first.action("Step").body)


def test_changes_are_named_part_by_part() -> None:
    old = {
        "f": Fn({"u": Fn({"x": 1, "y": (1, 2)}), "v": Fn({"type": "a", "x": 1})}),
        "s": frozenset({1, 2}),
        "q": (1,),
        "w": (0, 0),
    }
    new = {
        "f": Fn({"u": Fn({"x": 2, "y": (1,)}), "v": Fn({"type": "b", "x": 1})}),
        "s": frozenset({2, 3}),
        "q": (1, 5),
        "w": (0, 4),
    }
    found = [(change.unit, change.how, change.old, change.new) for change in changes(old, new)]
    assert found == [
        ("f.u.x", "set", "1", "2"),
        ("f.u.y", "truncated", "2", ""),
        ("f.v", "set", '[type |-> "a", x |-> 1]', '[type |-> "b", x |-> 1]'),
        ("s", "added", "", "3"),
        ("s", "removed", "1", ""),
        ("q", "appended", "", "5"),
        ("w[2]", "set", "0", "4"),
    ]


def state(**values: Any) -> dict[str, Any]:
    base = {
        "rmState": Fn(dict.fromkeys((R1, R2, R3), "working")),
        "tmState": "init",
        "tmPrepared": frozenset(),
        "messages": frozenset(),
        "decided": Fn(dict.fromkeys((R1, R2, R3), frozenset())),
    }
    return {**base, **values}


def test_a_long_record_is_shown_by_fields_and_equal_neighbours_once() -> None:
    """A coordinator with many absent members: only those that are there are told apart, and no other is left out."""
    absent = Fn({"present": False, "subscription": frozenset[Any](), "state": "not there, and never was"})
    member = Fn({"present": True, "subscription": frozenset({R1, R2}), "state": "waits for others to join"})
    group = Fn({"leader": 2, "members": (absent, absent, member, absent, absent, absent)})
    shown, folded = shown_variables({"group": group, "n": 1}, [("group", "members", 3)], ())
    (variable,) = shown
    places = [unit.name for unit in variable.units]
    assert places == [".leader", ".members[1..2]", ".members[3]", ".members[4..6]"]
    assert variable.folded == 0
    assert folded == ("n",)
    few, _ = shown_variables({"members": group["members"]}, [("members", 2), ("members", 5)], ())
    assert [unit.name for unit in few[0].units] == ["[2]", "[5]"]


def test_a_step_reads_what_its_formula_looks_at(two_phase: Any) -> None:
    explainer = Explainer(two_phase.specification)
    message = Fn({"type": "prepared", "rm": R2})
    before = state(messages=frozenset({message}))
    after = state(messages=frozenset({message}), tmPrepared=frozenset({R2}))
    action = two_phase.specification.action("TMReceivePrepared")
    env = Env().bind(action.params[0].uid, R2)
    found = reads(action.body, Scope(explainer.evaluator, before, after), env)
    assert list(found) == [("tmState",), ("messages", Member(message))]
    assert [cell_text(cell) for cell in found] == ["tmState", 'messages \\ni [rm |-> r2, type |-> "prepared"]']
    assert list(written(before, after)) == [("tmPrepared", Member(R2))]


def test_a_guard_that_asks_for_a_rule_alone_says_whether_it_is_in_force(two_phase: Any) -> None:
    specification = two_phase.specification
    scope = Scope(Explainer(specification).evaluator, {}, {})
    rule = "CommitOnlyIfAllPrepared"
    reason, _ = why(Op("not", (HasRule(rule),)), scope, Env(), Source(specification.sources))
    assert (reason.outcome, reason.text, reason.note) == ("false", f'~Has("{rule}")', f"the rule {rule} is in force")


def test_the_text_of_a_definition_comes_with_its_comment(two_phase: Any) -> None:
    source = Source(two_phase.specification.sources)
    place, last = two_phase.specification.places["PreparedWaits"]
    lines = source.definition(place)
    assert [line.text.split()[0] for line in lines] == ["\\*", "PreparedWaits(r)"]
    assert lines[-1].number == last == place.line
    (use,) = source.uses("PreparedWaits")
    assert source.enclosing(use) == "RMAbort"
    assert source.item(Loc("TwoPhase", use.number, 8)) == "PreparedWaits(r)"
    assert source.item(Loc("Nowhere", 1, 1)) == ""


@given(st.lists(st.booleans(), max_size=24))
def test_ddmin_finds_exactly_what_is_needed(needed: list[bool]) -> None:
    """Where all of some decisions are needed together, these are left."""
    wanted = {index for index, need in enumerate(needed) if need}
    asked: list[tuple[int, ...]] = []

    def fails(kept: Sequence[int]) -> bool:
        asked.append(tuple(kept))
        return wanted <= set(kept)

    found, trials, finished = ddmin(range(len(needed)), fails, 10_000)
    assert set(found) == wanted
    assert found == sorted(found)
    assert finished
    assert trials == len(asked) == len(set(asked))


@given(st.sets(st.integers(0, 11), min_size=1), st.sets(st.integers(0, 11), min_size=1))
def test_ddmin_is_minimal_by_single_decisions(one: set[int], other: set[int]) -> None:
    """Where either of two sets suffices, nothing of the answer can be left out."""

    def fails(kept: Sequence[int]) -> bool:
        return one <= set(kept) or other <= set(kept)

    found, _, _ = ddmin(range(12), fails, 10_000)
    assert fails(found)
    assert not any(fails([kept for kept in found if kept != dropped]) for dropped in found)


def test_ddmin_stops_at_its_budget() -> None:
    found, trials, finished = ddmin(range(64), lambda kept: {3, 40, 60} <= set(kept), 7)
    assert trials == 7
    assert not finished
    assert {3, 40, 60} <= set(found)


class Hasty:
    """A simulated run of two-phase commit as a list of attempts; its manager commits with any vote."""

    def __init__(self, schema: Schema, decisions: Sequence[str]) -> None:
        self.schema = schema
        self.decisions = decisions

    def stream(self, kept: Sequence[int]) -> bytes:
        names = self.schema.actions
        now = state()
        writer = StreamWriter(self.schema.layout.base_cells, self.schema.arities)
        writer.initial(self.schema.layout.encode(now, ghosts=False))
        for index in kept:
            kind, _, who = self.decisions[index].partition(" ")
            rm = ModelValue(who) if who else None
            done = self.attempt(kind, rm, now)
            if done is not None:
                action, params, now = done
                indices = self.schema.parameters[action].indices(action, params)
                node = 1 if rm is None or action == "TMReceivePrepared" else int(who[1:]) + 1
                writer.step(names.index(action), indices, node, self.schema.layout.encode(now, ghosts=False))
        return writer.end()

    @staticmethod
    def attempt(kind: str, rm: ModelValue | None, now: dict[str, Any]) -> tuple[str, tuple[Any, ...], Any] | None:
        message = Fn({"type": "prepared", "rm": rm})
        if kind == "prepare" and now["rmState"][rm] == "working":
            states = Fn({**now["rmState"], rm: "prepared"})
            return "RMPrepare", (rm,), {**now, "rmState": states, "messages": now["messages"] | {message}}
        if kind == "vote" and now["tmState"] == "init" and message in now["messages"]:
            return "TMReceivePrepared", (rm,), {**now, "tmPrepared": now["tmPrepared"] | {rm}}
        if kind == "commit" and now["tmState"] == "init" and now["tmPrepared"]:
            decision = Fn({"type": "decision", "outcome": "committed"})
            after = {**now, "tmState": "committed", "messages": now["messages"] | {decision}}
            return "TMDecide", ("committed",), after
        if kind == "restart":
            return "TMRestart", (), {**now, "tmPrepared": frozenset()}
        return None


DECISIONS = [
    "restart", "prepare r2", "commit", "vote r2", "restart", "prepare r1", "vote r1", "restart", "prepare r3",
    "vote r3", "vote r3", "vote r1", "commit", "restart",
]  # fmt: skip


def test_a_run_is_shrunk_to_what_it_needs(two_phase: Any, tmp_path: Path) -> None:
    explainer = Explainer(two_phase.specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])
    again = Hasty(schema, DECISIONS)
    run = load.decoded(Stored("t", again.stream(range(len(DECISIONS))), tmp_path / "t.parquet", header), schema)
    judgement = explainer.judge(run)
    assert judgement.verdict == "fail"
    shrunk = shrink.Shrinker(explainer, schema).shrink(run, judgement, header, again)
    assert [kind.split()[0] for kind in shrunk.kept] == ["prepare", "vote", "commit"]
    assert (shrunk.decisions_before, shrunk.decisions) == (14, 3)
    assert (shrunk.steps_before, shrunk.steps) == (12, 3)
    assert shrunk.diagram is not None
    assert [row.action for row in shrunk.diagram.rows] == ["", "RMPrepare", "TMReceivePrepared", "TMDecide"]
    assert not shrunk.note


class Mumbling(Hasty):
    """The manager does not even tell anybody where nobody has voted: no rule has it so."""

    @staticmethod
    def attempt(kind: str, rm: ModelValue | None, now: dict[str, Any]) -> tuple[str, tuple[Any, ...], Any] | None:
        if kind == "commit" and now["tmState"] == "init" and not now["tmPrepared"]:
            return "TMDecide", ("committed",), {**now, "tmState": "committed"}
        return Hasty.attempt(kind, rm, now)


def test_a_step_that_is_none_for_another_reason_is_no_smaller_run(two_phase: Any, tmp_path: Path) -> None:
    """To commit in silence is no step either, but by the effect; the run is shrunk to what the rule refuses."""
    explainer = Explainer(two_phase.specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])
    again = Mumbling(schema, ["prepare r1", "vote r1", "commit"])
    run = load.decoded(Stored("t", again.stream(range(3)), tmp_path / "t.parquet", header), schema)
    silent = load.decoded(Stored("t", again.stream([2]), tmp_path / "t.parquet", header), schema)
    shrinker = shrink.Shrinker(explainer, schema)
    signatures = [shrinker.signature(one, explainer.judge(one)) for one in (run, silent)]
    assert signatures == [
        ("not-a-step", "TMDecide", (("CommitOnlyIfAllPrepared",),)),
        ("not-a-step", "TMDecide", ()),
    ]
    found = shrinker.shrink(run, explainer.judge(run), header, again)
    assert found.kept == ("prepare r1", "vote r1", "commit")


class Unheard(Hasty):
    """Unless it is kept quiet, every resource manager prepares at once."""

    def stream(self, kept: Sequence[int]) -> bytes:
        taken = [self.decisions[index] for index in kept]
        if "quiet" not in taken:
            taken = ["prepare r1", "prepare r2", "prepare r3", *taken]
        return Hasty(self.schema, taken).stream(range(len(taken)))


def test_a_smaller_run_does_not_fail_later_than_the_smallest_before_it(two_phase: Any, tmp_path: Path) -> None:
    """Without the quiet fewer decisions fail, at step 5 as the whole run: too late once one is known that does at 3."""
    explainer = Explainer(two_phase.specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])
    again = Unheard(schema, ["prepare r2", "prepare r3", "prepare r1", "vote r1", "commit", "quiet"])
    run = load.decoded(Stored("t", again.stream(range(6)), tmp_path / "t.parquet", header), schema)
    found = shrink.Shrinker(explainer, schema).shrink(run, explainer.judge(run), header, again)
    assert found.kept == ("prepare r1", "vote r1", "commit", "quiet")
    assert (found.steps_before, found.steps) == (5, 3)


class Obeyed(Hasty):
    """A variant in which r1 learns any decision in the end, and r2 gives up."""

    def stream(self, kept: Sequence[int]) -> bytes:
        taken = [*(self.decisions[index] for index in kept), "learn r1", "give-up r2"]
        again = Obeyed(self.schema, taken)
        return Hasty.stream(again, range(len(taken)))

    @staticmethod
    def attempt(kind: str, rm: ModelValue | None, now: dict[str, Any]) -> tuple[str, tuple[Any, ...], Any] | None:
        if kind == "learn" and now["tmState"] == "committed":
            return "RMReceiveDecision", (rm, "committed"), {**now, "rmState": Fn({**now["rmState"], rm: "committed"})}
        if kind == "give-up" and now["rmState"][rm] == "working":
            return "RMAbort", (rm,), {**now, "rmState": Fn({**now["rmState"], rm: "aborted"})}
        return Hasty.attempt(kind, rm, now)


def test_a_shrunk_run_ends_with_its_failure_and_says_what_it_cost(two_phase: Any, tmp_path: Path) -> None:
    explainer = Explainer(two_phase.specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])
    again = Obeyed(schema, ["restart", "prepare r1", "restart", "vote r1", "vote r1", "commit"])
    run = load.decoded(Stored("t", again.stream(range(6)), tmp_path / "t.parquet", header), schema)
    judgement = explainer.judge(run)
    assert judgement.first == {("not-a-step", ""): 6, ("invariant", "Consistency"): 8}
    shrinker = shrink.Shrinker(explainer, schema)
    found = shrinker.shrink(run, judgement, header, again)
    assert (found.kept, found.note) == (("prepare r1", "vote r1", "commit"), "")
    assert (found.steps_before, found.steps) == (6, 3)
    assert found.diagram is not None
    assert [row.number for row in found.diagram.rows] == [0, 1, 2, 3]
    assert {arrow.target for arrow in found.diagram.arrows} == {2}, "of the vote; that of the decision comes later"
    heard: list[int] = []
    stopped = shrinker.shrink(run, judgement, header, again, 3, heard.append)
    assert heard == [*range(1, stopped.runs + 1)]
    assert stopped.note == "Stopped after 3 simulations: a smaller run may exist."
    assert stopped.runs == 3 + 2, "the whole run before, the smallest again"
    assert stopped.decisions > found.decisions


def test_a_run_that_fails_in_another_property_is_no_smaller_run(two_phase: Any, tmp_path: Path) -> None:
    """Where nothing is refused: r2 gives up after the commit, or the manager forgets that it committed, and aborts."""
    from tidemark_conformance.registry.specifications import with_rules_off

    specification = with_rules_off(two_phase.specification, frozenset(two_phase.specification.module.rules))
    explainer = Explainer(specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])

    def signature(*steps: tuple[str, tuple[Any, ...], dict[str, Any]]) -> Any:
        writer = StreamWriter(schema.layout.base_cells, schema.arities)
        now = state()
        writer.initial(schema.layout.encode(now, ghosts=False))
        for action, params, changed in steps:
            now = {**now, **changed}
            indices = schema.parameters[action].indices(action, params)
            writer.step(schema.actions.index(action), indices, 0, schema.layout.encode(now, ghosts=False))
        run = load.decoded(Stored("t", writer.end(), tmp_path / "t.parquet", header), schema)
        return shrink.Shrinker(explainer, schema).signature(run, explainer.judge(run))

    decisions = [Fn({"type": "decision", "outcome": outcome}) for outcome in ("committed", "aborted")]
    states = dict.fromkeys((R1, R2, R3), "working")
    commit = "TMDecide", ("committed",), {"tmState": "committed", "messages": frozenset(decisions[:1])}
    obey = "RMReceiveDecision", (R1, "committed"), {"rmState": Fn({**states, R1: "committed"})}
    give_up = "RMAbort", (R2,), {"rmState": Fn({**states, R1: "committed", R2: "aborted"})}
    restart = "TMRestart", (), {"tmState": "init"}
    abort = "TMDecide", ("aborted",), {"tmState": "aborted", "messages": frozenset(decisions)}
    assert signature(commit, obey) is None
    assert signature(commit, obey, give_up) == ("invariant", "Consistency", ())
    assert signature(commit, restart, abort) == ("invariant", "OneDecision", ())
    assert signature(commit, obey, give_up, restart, abort) == ("invariant", "Consistency", ()), "the first counts"


def test_a_run_that_does_not_repeat_is_not_shrunk(two_phase: Any, tmp_path: Path) -> None:
    explainer = Explainer(two_phase.specification)
    schema = two_phase.schema
    header = schema.with_nodes(["tm", "r1", "r2", "r3"])
    stream = Hasty(schema, DECISIONS).stream(range(len(DECISIONS)))
    run = load.decoded(Stored("t", stream, tmp_path / "t.parquet", header), schema)
    other = Hasty(schema, ["restart", "prepare r1"])
    shrunk = shrink.Shrinker(explainer, schema).shrink(run, explainer.judge(run), header, other)
    assert shrunk.diagram is None
    assert "does not fail in this way" in shrunk.note


def test_the_evaluator_judges_as_the_kernels_do(two_phase: Any) -> None:
    """Verdict and first failing record of every check, with all rules and without the one that the flaw breaks."""
    import numpy
    from tidemark_conformance.registry.specifications import with_rules_off
    from tidemark_conformance.tla.kernels import compile_kernels

    schema = two_phase.schema
    stored = [one for file in (two_phase.good, two_phase.hasty) for one in load.stored(file, schema)]
    data = numpy.frombuffer(b"".join(one.stream for one in stored), numpy.uint8)
    offsets = numpy.cumsum([0, *(len(one.stream) for one in stored)], dtype=numpy.int64)
    failing = 0
    for rules in (frozenset(), frozenset({"CommitOnlyIfAllPrepared"}), frozenset({"PreparedWaits", "KeepDecision"})):
        specification = with_rules_off(two_phase.specification, rules)
        kernels = compile_kernels(specification)
        found = kernels.check(data, offsets)
        judge = Explainer(specification).judge
        for index, one in enumerate(stored):
            judgement = judge(load.decoded(one, schema))
            first = {name or "not a step": number for (_, name), number in judgement.first.items()}
            assert judgement.verdict == ("pass", "fail", "undecided")[found.verdict[index]]
            columns = zip(kernels.checks, found.first[index], strict=True)
            assert first == {name: number for name, number in columns if number >= 0}
            failing += judgement.verdict == "fail"
    assert failing > 10


@pytest.mark.parametrize("name", ["trace.parquet", "trace.ndjson.gz"])
def test_every_form_of_trace_file_is_read(name: str, two_phase: Any, tmp_path: Path) -> None:
    import gzip

    schema = two_phase.schema
    if name.endswith(".parquet"):
        stream = Hasty(schema, DECISIONS).stream(range(len(DECISIONS)))
        with PartWriter(tmp_path / name, schema.with_nodes(["tm", "r1", "r2", "r3"])) as part:
            part.add("t", 13, stream)
    else:
        (tmp_path / name).write_bytes(gzip.compress(two_phase.hasty.read_bytes()))
    found = [load.decoded(one, schema) for one in load.stored(tmp_path / name, schema)]
    assert all(run.damage is None for run in found)
    assert len(found) == (1 if name.endswith(".parquet") else 30)
    verdicts = {Explainer(two_phase.specification).judge(run).verdict for run in found}
    assert "fail" in verdicts


def test_what_a_decision_is_stands_where_they_are_counted() -> None:
    shrunk = Shrunk("", decisions_before=40, decisions=7, steps_before=50, steps=9, runs=31)
    assert shrunk_sentence(shrunk) == (
        "7 of 40 decisions (the simulator's choices of what happens next) and 9 of 50 steps are enough "
        "(found by 31 simulations):"
    )
    none = Shrunk("", decisions_before=40, decisions=0, steps_before=50, steps=3, runs=3)
    assert shrunk_sentence(none).endswith("3 of 50 steps are enough (found by 3 simulations).")
