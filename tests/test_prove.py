"""`tidemark prove`: proofs, refusals, and that a wrong lemma, a missing rule or too few lemmas fail."""

from __future__ import annotations

import concurrent.futures
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import z3
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.prove import (
    cores,
    counterexample,
    equality,
    inductive,
    proving,
    second,
    solving,
    symmetry,
    terms,
    working,
)
from tidemark_conformance.prove.universe import Universe
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tla.spec import load
from tidemark_conformance.verify import proved

TWO_PHASE = spec_root() / "two_phase"
BREAKS = {
    "CommitOnlyIfAllPrepared": ("CommitNeedsPromises", "TMDecide"),
    "KeepDecision": ("DecisionIsKept", "TMRestart"),
    "PreparedWaits": ("PromiseBinds", "RMAbort"),
}
"""Rule of two-phase commit -> the one condition that is open without it."""


def theorem(name: str) -> inductive.Theorem:
    module, cfg = inductive.modules()[name]
    return inductive.read(name, module, cfg)


@pytest.mark.parametrize("name", ["TwoPhaseInductive", "TwoPhaseInductiveFive", "TwoPhaseInductiveSeven"])
def test_two_phase_commit_is_proved(name: str) -> None:
    found = proving.Prover(theorem(name)).judge()
    assert found.closed
    assert len(found.conditions) == 72
    assert {"Consistency", "OneDecision", "DecidedOnce", "OutcomeIsFinal"} <= {one.lemma for one in found.conditions}
    assert sum(one.goals for one in found.conditions) > 40


@pytest.mark.parametrize("rule", BREAKS)
def test_without_a_rule_the_proof_fails_where_the_flaw_is(rule: str) -> None:
    found = proving.Prover(theorem("TwoPhaseInductive"), [rule]).judge()
    assert [(one.lemma, one.action) for one in found.open] == [BREAKS[rule]]


@pytest.mark.parametrize("rule", BREAKS)
def test_a_counterexample_to_induction_is_a_step_from_the_invariant_out_of_it(rule: str, tmp_path: Path) -> None:
    """The reference evaluator judges both states and the step."""
    claimed = theorem("TwoPhaseInductive")
    prover = proving.Prover(claimed, [rule])
    name, action = BREAKS[rule]
    lemma = next(one for one in claimed.lemmas if one.name == name)
    found = counterexample.find(prover, lemma, action)
    assert found is not None
    assert found.complete
    cfg = tmp_path / "without.cfg"
    text = (TWO_PHASE / "TwoPhaseInductive.cfg").read_text(encoding="utf-8")
    cfg.write_text(text.replace("Without = {}", f'Without = {{"{rule}"}}'), encoding="utf-8")
    spec = load(TWO_PHASE / "TwoPhaseInductive.tla", cfg, also=["Inductive", name])
    checks = compile_python(spec)
    assert checks.invariant("Inductive", found.before)
    assert checks.action(found.action, found.params, found.before, found.after)
    assert not checks.invariant(name, found.after)


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str, str], inductive.Theorem]:
    """Two-phase commit's theorem with one text of its module changed."""

    def change(old: str, new: str) -> inductive.Theorem:
        for file in TWO_PHASE.iterdir():
            if file.is_file():
                text = file.read_text(encoding="utf-8")
                if file.name == "TwoPhaseInductive.tla":
                    assert old in text
                    text = text.replace(old, new)
                (tmp_path / file.name).write_text(text, encoding="utf-8")
        return inductive.read("changed", tmp_path / "TwoPhaseInductive.tla", tmp_path / "TwoPhaseInductive.cfg")

    return change


def test_a_lemma_that_is_false_at_first_is_open_at_init(changed: Callable[[str, str], inductive.Theorem]) -> None:
    claimed = changed("DecidedIsNow == \\A r \\in RM :", 'DecidedIsNow == \\A r \\in RM : rmState[r] # "working" /\\')
    open_ = [(one.lemma, one.action) for one in proving.Prover(claimed).judge().open]
    assert ("DecidedIsNow", "Init") in open_


def test_an_invariant_without_a_lemma_is_not_inductive(changed: Callable[[str, str], inductive.Theorem]) -> None:
    found = proving.Prover(changed("    /\\ CommitNeedsPromises\n", "")).judge()
    assert {one.lemma for one in found.open} == {"Consistency"}


def test_a_property_that_does_not_follow_is_open(changed: Callable[[str, str], inductive.Theorem]) -> None:
    found = proving.Prover(changed("    /\\ DecidedIsNow\n", "")).judge()
    assert ("DecidedOnce", proving.ALWAYS) in {(one.lemma, one.action) for one in found.open}


def test_a_contradiction_enables_nothing(changed: Callable[[str, str], inductive.Theorem]) -> None:
    claimed = changed("ReadIsSent == ", 'ReadIsSent == tmState = "init" /\\ tmState = "aborted" /\\ ')
    prover = proving.Prover(claimed)
    assert {prover.enabled(action) for action in prover.actions()} == {"unsat"}
    assert ("ReadIsSent", "Init") in {(one.lemma, one.action) for one in prover.judge().open}


def test_each_action_is_enabled_in_some_state_of_the_invariant() -> None:
    prover = proving.Prover(theorem("TwoPhaseInductive"))
    assert {prover.enabled(action) for action in prover.actions()} == {"sat"}


COROLLARY = """\\* A resource manager commits by a decision, which needs all promises.
CommittedMeansPromised == \\A r, p \\in RM : rmState[r] = "committed" => Promise(p) \\in messages

\\* The transaction manager keeps its decision.
OneIsSent == ~(Decision("committed") \\in messages /\\ Decision("aborted") \\in messages)

\\* This is false.
NothingIsDecided == tmState = "init"

Corollaries == /\\ OneIsSent /\\ %s

Inductive =="""


def test_a_corollary_has_a_condition_of_its_own(changed: Callable[[str, str], inductive.Theorem]) -> None:
    prover = proving.Prover(changed("Inductive ==", COROLLARY % "CommittedMeansPromised"))
    found = prover.judge()
    assert found.closed
    assert len(found.conditions) == 74
    assert {"CommittedMeansPromised", "OneIsSent"} <= set(prover.hypotheses)


def test_a_false_corollary_keeps_the_theorem_open(changed: Callable[[str, str], inductive.Theorem]) -> None:
    found = proving.Prover(changed("Inductive ==", COROLLARY % "NothingIsDecided")).judge()
    assert ("NothingIsDecided", proving.ALWAYS) in {(one.lemma, one.action) for one in found.open}


def test_a_clause_keeps_its_term() -> None:
    """Z3 gives the id of a freed term to the next one. A clause was taken for unchanged by such an id."""
    prover = proving.Prover(theorem("TwoPhaseInductive"))
    assert all(one.body is one.body for found in prover.clauses.values() for one in found)


def test_a_lemma_without_a_reason_is_refused(changed: Callable[[str, str], inductive.Theorem]) -> None:
    with pytest.raises(Unusable, match="ReadIsSent has no sentence before it"):
        changed("\\* The transaction manager reads messages, and none is ever lost.\n", "")


def test_wrong_cores_prove_nothing_and_cost_only_time() -> None:
    prover = proving.Prover(theorem("TwoPhaseInductive"))
    wrong = {(one.name, action): frozenset({"TypeOK"}) for one in prover.theorem.lemmas for action in prover.actions()}
    assert prover.judge(wrong).closed
    without = proving.Prover(theorem("TwoPhaseInductive"), ["PreparedWaits"])
    assert [(one.lemma, one.action) for one in without.judge(wrong).open] == [BREAKS["PreparedWaits"]]


def test_cores_come_back_as_they_were_kept(tmp_path: Path) -> None:
    job = working.Job("TwoPhaseInductive", *map(str, inductive.modules()["TwoPhaseInductive"]))
    _, kept = working.judge(job, 1_000_000, cores.Kept(), lambda action, conditions: None)
    assert kept.cores
    assert not kept.open
    cores.write(tmp_path / "kept.json", kept)
    assert cores.read(tmp_path / "kept.json") == kept
    (tmp_path / "kept.json").write_text("{}", encoding="utf-8")
    with pytest.raises(Unusable, match="holds no cores"):
        cores.read(tmp_path / "kept.json")


def test_the_action_with_the_most_to_show_is_judged_first() -> None:
    lemmas = frozenset({"A", "B", "C"})
    kept = cores.Kept({("A", "Small"): frozenset(), ("A", "Large"): lemmas, ("B", "Large"): lemmas})
    assert working.longest_first(["Init", "Small", "Large"], kept) == ["Large", "Small", "Init"]


def test_a_known_open_condition_stays_open_untried() -> None:
    prover = proving.Prover(theorem("TwoPhaseInductive"))
    found = prover.judge(untried=[("DecisionIsKept", "TMRestart")])
    assert [one.open for one in found.open] == [[proving.UNTRIED]]
    assert not found.closed


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "action"),
    [
        *(("ReplicationInductive", action) for action in ("Init", "ReadFetch", "StopBroker", proving.ALWAYS)),
        *(("ReplicationCommitInductive", action) for action in ("CompleteProduce", proving.ALWAYS)),
    ],
)
def test_replication_is_proved_as_far_as_a_few_actions_go(name: str, action: str) -> None:
    """`make check` judges all of them."""
    module, cfg = inductive.modules()[name]
    kept = cores.read(cores.file_of(module, name))
    prover = working.prover(working.Job(name, str(module), str(cfg)), solving.LIMIT)
    found = prover.judge(kept.cores, only=lambda lemma, of: of == action)
    assert found.closed
    assert sum(one.goals for one in found.conditions) or action == "Init"


@pytest.mark.parametrize(
    ("name", "action"),
    [
        *(("IdempotentProducerInductive", one) for one in ("Init", "AppendLate", "ElectLeader", proving.ALWAYS)),
        *(("ConsumerGroup848Inductive", one) for one in ("Init", "ReceiveHeartbeat", "CommitEntry", proving.ALWAYS)),
    ],
)
def test_producers_and_groups_are_proved_as_far_as_a_few_actions_go(name: str, action: str) -> None:
    """`make check` judges all of them."""
    module, cfg = inductive.modules()[name]
    kept = cores.read(cores.file_of(module, name))
    prover = working.prover(working.Job(name, str(module), str(cfg)), solving.LIMIT)
    found = prover.judge(kept.cores, only=lambda lemma, of: of == action)
    assert found.closed
    assert sum(one.goals for one in found.conditions) or action == "Init"


@pytest.mark.parametrize(
    ("name", "rule", "lemma", "action"),
    [
        ("IdempotentProducerInductive", "FirstSequenceIsZero", "InFlightIsNotOvertaken", "AppendBatch"),
        ("IdempotentProducerInductive", "StateOutlivesRetries", "NoEntryIsLater", "ExpireProducer"),
        ("IdempotentProducerInductive", "EpochNotOlder", "AcceptedIsLater", proving.ALWAYS),
        ("ConsumerGroup848Inductive", "ReportWhatIsTaken", "HeartbeatIsOwn", "SendHeartbeat"),
        ("ConsumerGroup848Inductive", "CommitOfMember", "CommitOfOwner", "HandleCommit"),
        ("ConsumerGroup848Inductive", "JoinInNewEpoch", "ToldIsNotAbove", "BumpOnHeartbeat"),
        ("ReplicationInductive", "SliceNotTruncated", "RecordsContinueLog", "ReadFetch"),
        ("ReplicationCommitInductive", "AckAllOnlyBelowHw", "AckedIsCommitted", "CompleteProduce"),
    ],
)
def test_a_theorem_is_not_proved_without_a_rule(name: str, rule: str, lemma: str, action: str) -> None:
    prover = proving.Prover(theorem(name), [rule], limit=1_000_000)
    found = prover.judge(only=lambda of, after: (of, after) == (lemma, action))
    assert [(one.lemma, one.action) for one in found.open] == [(lemma, action)]


@pytest.mark.parametrize(
    ("protocol", "module", "said"),
    [
        ("transactions", "TransactionsProperties", r"Transactions\.tla:\d+: .* sets of numbers without a bound"),
        ("offsets", "OffsetsProperties", r"Offsets\.tla:\d+: .* a fold whose results are of another kind"),
    ],
)
def test_what_has_no_terms_is_refused_with_its_line(protocol: str, module: str, said: str) -> None:
    folder = spec_root() / protocol
    universe = Universe(load(folder / f"{module}.tla", folder / f"{module}.cfg"))

    def every_step() -> None:
        for action in universe.spec.module.actions:
            for params in universe.instances(action.name):
                universe.step(action.name, params)

    with pytest.raises(Unsupported, match=said):
        every_step()


def test_the_command_says_what_is_proved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "proof.json"
    assert main(["prove", "TwoPhaseInductive", "--mutants", "--json", str(file)]) == 0
    assert "proved for runs of any length: Consistency, OneDecision" in capsys.readouterr().out
    found = json.loads(file.read_text(encoding="utf-8"))
    assert (found["schema"], found["ok"]) == ("tidemark.prove/1", True)
    (proof,) = found["proofs"]
    assert (proof["closed"], proof["open"], proof["mutants"], proof["mutants_rejected"]) == (True, [], 3, 3)
    assert proof["bounded"] == ["RM has 3 elements"]


def test_the_command_calls_nothing_open_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "TwoPhaseInductive", "--without", "PreparedWaits"]) == 3
    said = capsys.readouterr().out
    assert "no proof, as conditions are open" in said
    assert "This is no run" in said
    assert "proved" not in said.replace("proved  open", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Nothing"], "there is no theorem Nothing"),
        (["TwoPhaseInductive", "--without", "Nothing"], "--without names Nothing, which is no rule of TwoPhase"),
        (["--limit", "0"], "--limit 0 is no resource limit"),
        (["--spec", "a.tla"], "--spec and --config belong together"),
        (["--record", "--without", "KeepDecision"], "leave --without out"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_the_closing_table_names_what_is_finite_and_claims_no_open_theorem() -> None:
    safe = ("Consistency", "OneDecision")
    three = proved.Found("Three", safe, ("RM has 3 elements",), 65, ())
    five = proved.Found("Five", safe, ("RM has 5 elements", "Most = 2"), 1_065, ())
    open_ = proved.Found("Open", ("StrongIsr",), (), 9, (("Lemma", "Act"),))
    unfounded = proved.Found("Above", ("LogMatching",), (), 9, (), grounded=False)
    beside = proved.Found("Beside", ("Nothing",), ("RM has 4 elements",), 7, ())
    upon = proved.Found("Upon", ("More",), ("RM has 4 elements",), 8, ())
    assert proved.text([three, open_, five, unfounded, beside, upon]) == (
        "Open: no proof, open of 9: Lemma after Act. Above: no proof, as the theorem that it rests on is open. "
        "proved for runs of any length, 1,145 conditions: Consistency, OneDecision (finite: RM 3; or RM 5, Most 2); "
        "Nothing, More (finite: RM 4)"
    )
    assert [one.ok for one in (three, open_, five, unfounded)] == [True, False, True, False]


def test_a_theorem_is_no_proof_while_the_one_that_it_rests_on_is_open() -> None:
    above = theorem("ReplicationCoverageInductive")
    module, _ = inductive.modules()["ReplicationCoverageInductive"]
    for closed in (False, True):
        assert working.grounded(module, above, 1, {"ReplicationInductive": closed}) == closed


def test_a_theorem_is_judged_behind_those_that_it_rests_on() -> None:
    known = inductive.modules()
    chain = ["ReplicationInductive", "ReplicationCoverageInductive", "ReplicationCommitInductive"]
    assert [name for name in inductive.grounds_first(known) if name in chain] == chain
    ends = {name: known[name] for name in (chain[2], chain[0])}
    assert list(inductive.grounds_first(ends)) == [chain[0], chain[2]]


def test_terms_past_the_solvers_checks_are_the_ones_that_it_builds() -> None:
    p, q, x, y = z3.Bool("p"), z3.Bool("q"), z3.Int("x"), z3.Int("y")
    every = z3.ForAll([x], x >= y)
    for made, built in [
        (terms.conj(p, q), z3.And(p, q)),
        (terms.disj(p, q), z3.Or(p, q)),
        (terms.neg(p), z3.Not(p)),
        (terms.implies(p, q), z3.Implies(p, q)),
        (terms.at_most(3, x), x >= 3),
        (terms.at_most(x, y), x <= y),
        (equality.same(x, 3), x == 3),
        (terms.conj(z3.And(p, q), every), z3.And(p, q, every)),
    ]:
        assert made.eq(built)
    assert z3.is_quantifier(terms.neg(z3.Not(every)))
    assert z3.is_quantifier(terms.parts_of(z3.And(p, every))[1])
    assert [terms.operator(one) for one in (every, 7, z3.And(p, q))] == [-1, -1, z3.Z3_OP_AND]


@pytest.mark.deep
def test_the_largest_actions_are_judged_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Pool(concurrent.futures.ThreadPoolExecutor):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(1)

    def judged(job: working.Job, limit: int, action: str, kept: cores.Kept) -> tuple[list[object], dict[str, object]]:
        asked.append(action)
        return [], {}

    monkeypatch.setattr(concurrent.futures, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(working, "one", judged)
    monkeypatch.setattr(working.machine, "cores", lambda: 2)
    module, cfg = inductive.modules()["ReplicationInductive"]
    last = proving.Prover(theorem("ReplicationInductive")).actions()[-1]
    kept = cores.Kept({("TypeOK", last): frozenset({"TypeOK"})}, ())
    working.judge(working.Job("ReplicationInductive", str(module), str(cfg)), 1, kept, lambda action, conditions: None)
    assert asked[:2] == [last, proving.INIT]


@pytest.mark.deep
def test_under_other_rules_no_lemma_is_taken_from_another_theorem() -> None:
    above = theorem("ReplicationCoverageInductive")
    assert len(proving.Prover(above).given) > 20
    assert proving.Prover(above, ("SliceNotTruncated",)).given == frozenset()


MODELS = Path(__file__).parent / "models"
UNPROVED = MODELS / "unproved"
"""Specifications whose claim is false: an adversary's. TLC has found a run in which each falls, or an error."""
PROVED = MODELS / "proved"
"""Small specifications whose claims hold, of different forms. TLC finds no run in which one falls."""


def named(folder: Path) -> list[str]:
    return sorted(one.stem for one in folder.glob("*.cfg"))


LIMIT = "400000"
"""The solver's limit for each question about these small ones."""


def prove(folder: Path, name: str) -> int:
    given = ["--spec", str(folder / f"{name}.tla"), "--config", str(folder / f"{name}.cfg"), "--limit", LIMIT]
    return main(["prove", *given])


@pytest.mark.deep
@pytest.mark.parametrize("name", named(UNPROVED))
def test_no_false_invariant_is_called_proved(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(UNPROVED, name) in (2, 3)
    said = capsys.readouterr()
    assert "proved for runs" not in said.out
    assert "Traceback" not in said.err


@pytest.mark.deep
@pytest.mark.parametrize("name", named(PROVED))
def test_a_specification_of_ones_own_is_proved(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert prove(PROVED, name) == 0
    assert f"{name}: proved for runs of any length" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("FreeBox", r"FreeBox\.tla:9: the box of Spec leaves y free"),
        ("HCore2", r"HCore2\.tla:14: Spec is not Init"),
        ("NatAtom", r"NatAtom\.tla:14: .* a string or model value where a number is needed"),
        ("NoType", r"TypeOK is no conjunct of Inductive"),
        ("RecUnion", r"RecUnion\.tla:7: .* records with unlike fields that no tag tells apart"),
        ("RestsOther", r"rests on HistoryOther, whose variables or history are others"),
        ("RestsItself", r"rests on RestsItself, which rests on it"),
        ("SubsetMany", r"SubsetMany\.tla:13: .* SUBSET of a set of 7 elements as a value"),
        ("FoldMany", r"FoldMany\.tla:\d+: .* a fold of 5 elements whose order may matter"),
        ("OneSided", r"OneSided\.tla:\d+: .* one side determines y'"),
        ("Bounds", r"Bounds\.tla:\d+: .* determines x' otherwise than by ="),
    ],
)
def test_a_form_that_the_terms_do_not_have_is_refused_with_its_line(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prove(UNPROVED, name) == 2
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "action"), [("Choose1", "Next"), ("DivErr", "Next"), ("ChooseState", "Pick"), ("NotError", "A")]
)
def test_an_error_of_an_action_is_an_open_condition(name: str, action: str) -> None:
    claimed = inductive.read(name, UNPROVED / f"{name}.tla", UNPROVED / f"{name}.cfg")
    open_ = {(one.lemma, one.action) for one in proving.Prover(claimed).judge().open}
    assert (proving.ERRORLESS, action) in open_


def test_model_values_are_exchanged_where_every_constant_stays_the_same() -> None:
    def exchangeable(name: str) -> set[str]:
        claimed = inductive.read(name, UNPROVED / f"{name}.tla", UNPROVED / f"{name}.cfg")
        claims = [one.body for one in (*claimed.lemmas, *claimed.implied, *claimed.steps)]
        return {str(value) for value in symmetry.exchangeable(claimed.spec, claims)}

    assert exchangeable("SymPair") == {"s1", "s2", "s3"}
    assert exchangeable("SymFun") == set()
    assert exchangeable("SymNested") == set()
    assert exchangeable("SymQuorum") == set()


def test_a_goal_is_framed_only_if_its_own_term_is_a_hypothesis() -> None:
    """The solver gives the id of a term that is gone to another: CardBound's goals once counted as framed so."""
    claimed = inductive.read("CardBound", UNPROVED / "CardBound.tla", UNPROVED / "CardBound.cfg")
    prover = proving.Prover(claimed)
    step = prover.universe.step("A", {})
    condition = proving.Condition("Inv", "A")
    goals, _ = prover.goals(next(one for one in claimed.lemmas if one.name == "Inv"), step, condition)
    assert (len(goals), condition.framed) == (1, 0)


def test_verdicts_are_kept_only_if_all_is_proved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    open_ = proved.Found("Open", ("StrongIsr",), (), 9, (("Lemma", "Act"),))
    closed = proved.Found("Closed", ("Consistency",), (), 9, ())
    asked: list[list[proved.Found]] = []
    for found in ([open_], [closed], [closed], [closed]):
        monkeypatch.setattr(proved, "judge", lambda found=found: asked.append(found) or found)
        last = proved.fresh()
    assert asked == [[open_], [closed]]
    assert last == ([closed], True)
    assert proved.fresh(use=False) == ([closed], False)


SEEN_BESIDE = """
from tidemark_conformance.verify import proved
proved.judge = lambda: [proved.Found("Beside", ("Consistency",), (), 9, OPEN)]
"""


@pytest.mark.parametrize(
    ("process", "judged_here"),
    [
        (SEEN_BESIDE.replace("OPEN", "()") + proved.ALONE, False),
        (SEEN_BESIDE.replace("OPEN", '(("Lemma", "Act"),)') + proved.ALONE, True),
        (SEEN_BESIDE.replace("OPEN", "()") + proved.ALONE + "; raise SystemExit(1)", True),
    ],
)
def test_the_verdict_of_the_process_beside_is_believed_only_if_it_is_a_proof_and_the_process_ended_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, process: str, judged_here: bool
) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    monkeypatch.setattr(proved, "ALONE", process)
    here = [proved.Found("Here", ("Consistency",), (), 9, ())]
    monkeypatch.setattr(proved, "judge", lambda: here)
    with proved.beside() as judged:
        found, before = judged()
    assert (found == here) is judged_here
    assert found[0].name == ("Here" if judged_here else "Beside")
    assert not before
    with proved.beside() as judged:
        assert judged() == (found, True)
    monkeypatch.setattr(proved, "ALONE", "raise SystemExit(1)")
    with proved.beside(use=False) as judged:
        assert judged() == (here, False), "what is kept is not asked"


def test_a_second_solver_proves_the_same_and_is_believed_where_it_does_not() -> None:
    x, y = z3.Ints("x y|z")
    assert second.answer(second.text([x > y, y > x])) == second.AGREED
    assert second.answer(second.text([x > y])) == second.DENIED
    assert second.answer(second.text([x * x * y == 7 + y * y, x > y * x * y]), 1) not in (second.AGREED, second.DENIED)
    own = second.Second()
    prover = proving.Prover(theorem("TwoPhaseInductive"), second=own)
    result = prover.judge()
    assert result.closed
    assert sum((one.again for one in result.conditions), second.Counts()) == own.counts
    assert own.counts.agreed == own.counts.asked > len(prover.actions())


def test_a_question_of_several_conditions_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    name, action = "ReplicationInductive", "AnswerDiverging"
    kept = cores.read(cores.file_of(inductive.modules()[name][0], name))
    assert any(call.startswith(action) for lemma, call in kept.cores if lemma == proving.IMPOSSIBLE)
    monkeypatch.setattr(second, "answer", lambda question, limit: second.GIVEN_UP)
    own = second.Second()
    found = proving.Prover(theorem(name), second=own).judge(kept.cores, only=lambda lemma, of: of == action)
    assert sum((one.again for one in found.conditions), second.Counts()) == own.counts
    assert found.closed
    assert {one.lemma for one in found.conditions if one.unsure} == {one.lemma for one in found.conditions if one.core}


def test_what_a_second_solver_denies_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    real = solving.Session._add

    def deaf(self: solving.Session, terms: list[Any]) -> None:
        """Z3 is told of a contradiction that is in no question's text."""
        real(self, [*terms, z3.BoolVal(False)])

    monkeypatch.setattr(solving.Session, "_add", deaf)
    assert proving.Prover(theorem("TwoPhaseInductive"), ["PreparedWaits"]).judge().closed
    denied = proving.Prover(theorem("TwoPhaseInductive"), ["PreparedWaits"], second=second.Second()).judge()
    assert denied.open
    assert any("cvc5 denies it" in why for one in denied.open for why in one.open)
