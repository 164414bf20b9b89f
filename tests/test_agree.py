"""`tidemark agree`: both backends against TLC, and wrong backends against TLC."""

from __future__ import annotations

import argparse
import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from ledger import FLAWED, LEDGER, flawed_graph
from part_traces import two_phase_text
from tidemark_conformance.cli import main
from tidemark_conformance.commands import agree as command
from tidemark_conformance.errors import Unsupported, Unusable
from tidemark_conformance.paths import spec_root
from tidemark_conformance.report import agreed, generated
from tidemark_conformance.tla.spec import Specification, load
from tidemark_conformance.tlc import agree, backends, graph, manifest, mutants, nonedges, walks
from tidemark_conformance.verify import kept


@pytest.fixture
def dumped() -> graph.Graph:
    return flawed_graph()


@pytest.fixture
def spec() -> Specification:
    return load(LEDGER, FLAWED)


@pytest.mark.deep
def test_all_backends_agree_with_tlc(dumped: graph.Graph, spec: Specification) -> None:
    found = agree.compare("Ledger", dumped, spec.module.ghosts, backends.backends(spec))
    assert found.ok, [str(one.first) for one in found.comparisons]
    assert found.violating_states > 0
    assert found.non_edges >= found.edges
    python, kernels, terms = found.comparisons
    assert python.kinds == kernels.kinds
    assert python.left_out == kernels.left_out == 0
    assert terms.refused is None
    assert terms.compared + terms.left_out == python.compared
    assert set(terms.kinds) == set(python.kinds)
    assert set(python.kinds) == {
        *("domains", "states", "ghosts", "edges", "properties", "invariants after steps", "non-edges", "walks")
    }
    assert all(python.kinds.values())


@pytest.mark.deep
def test_terms_that_are_wrong_disagree_and_those_that_are_missing_are_refused(
    dumped: graph.Graph, spec: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = backends.Z3Backend(spec, 200)
    monkeypatch.setattr(wrong.checks, "invariant", lambda name, state: True)
    found = agree.compare("Ledger", dumped, spec.module.ghosts, [wrong])
    assert not found.ok
    monkeypatch.setattr(backends, "Z3Backend", _without_sorts)
    none = agree.compare("Ledger", dumped, spec.module.ghosts, backends.backends(spec, ["z3"]))
    assert none.comparisons[0].refused == "Ledger.tla:1: it cannot be expressed."
    assert none.comparisons[0].compared == 0


def _without_sorts(spec: Specification) -> agree.Backend:
    raise Unsupported("Ledger.tla:1: it cannot be expressed.")


def _first_true_is_false(answers: list[bool]) -> list[bool]:
    if True not in answers:
        return answers
    at = answers.index(True)
    return [*answers[:at], False, *answers[at + 1 :]]


def _first_false_is_true(answers: list[bool]) -> list[bool]:
    if False not in answers:
        return answers
    at = answers.index(False)
    return [*answers[:at], True, *answers[at + 1 :]]


def _forgets_ghosts(answers: list[Any]) -> list[Any]:
    return [*answers[:-1], {**answers[-1], "served": frozenset({"nothing"})}]


def _one_record_late(answers: list[dict[str, int]]) -> list[dict[str, int]]:
    at = next(at for at, first in enumerate(answers) if first)
    return [{name: where + (n == at) for name, where in first.items()} for n, first in enumerate(answers)]


@pytest.mark.parametrize(
    ("method", "change", "question"),
    [
        ("init", _first_false_is_true, "Init"),
        ("invariant", _first_true_is_false, "invariant TypeOK"),
        ("invariant_after", _first_true_is_false, "invariant TypeOK after a step"),
        ("invariant_after", _first_false_is_true, "invariant NothingFromNothing after a step"),
        ("quiescent", _first_false_is_true, "predicate QuiescentServed"),
        ("property", _first_false_is_true, "action property ThroughNobody"),
        ("action", _first_true_is_false, "step Lock"),
        ("action", _first_false_is_true, "step Lock"),
        ("ghosts", _forgets_ghosts, "the next ghosts of"),
        ("initial_ghosts", _forgets_ghosts, "the first values of the ghosts"),
        ("domains", lambda domains: [domain[:-1] for domain in domains], "the parameters' domains of Lock"),
        ("replay", _one_record_late, "the first failing records of"),
    ],
)
def test_one_wrong_answer_is_found(
    dumped: graph.Graph, spec: Specification, method: str, change: Callable[[Any], Any], question: str
) -> None:
    wrong = backends.PythonBackend(spec)
    right = getattr(wrong, method)

    def answer(*arguments: Any) -> Any:
        return change(right(*arguments)) if not _empty(arguments) else right(*arguments)

    setattr(wrong, method, answer)
    found = agree.compare("Ledger", dumped, spec.module.ghosts, [wrong])
    assert not found.ok
    assert found.comparisons[0].disagreements >= 1
    assert str(found.comparisons[0].first).startswith(question)


def _empty(arguments: Sequence[Any]) -> bool:
    return isinstance(arguments[-1], list) and not arguments[-1]


def test_a_disagreement_shows_state_and_action() -> None:
    shown = str(agree.Disagreement("step Lock(ann)", True, False, {"x": 1, "y": (1,)}, {"x": 2, "y": (1,)}))
    assert shown.splitlines() == [
        "step Lock(ann): TLC says TRUE, the backend says FALSE",
        "  state",
        "    x = 1",
        "    y = <<1>>",
        "  next state, as far as it differs",
        "    x' = 2",
    ]


def test_nothing_compared_is_no_agreement() -> None:
    nothing = agree.Agreement("X", 1, 0, 1, 1, 1, 1, 0, ("A",), (), (), 0.0)
    assert not nothing.ok


def test_an_action_that_no_model_of_a_specification_takes_is_named() -> None:
    def compared(model: str, taken: str, untaken: str) -> agree.Agreement:
        return agree.Agreement(model, 1, 0, 1, 1, 1, 3, 0, tuple(taken), tuple(untaken), (), 0.0)

    halves = [compared("One", "AB", "C"), compared("Two", "CA", "B")]
    assert agree.never_taken(halves) == []
    assert agree.never_taken(halves[:1]) == ["C"]
    assert agree.never_taken([*halves, compared("Other", "A", "D")]) == ["D"]


@pytest.mark.deep
def test_the_command_on_a_foreign_specification(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "agree.json"
    spec = Path(__file__).parent.parent / "spec" / "two_phase"
    given = ["--spec", str(spec / "TwoPhase.tla"), "--config", str(spec / "TwoPhaseFlawed.cfg"), "--json", str(target)]
    assert main(["agree", *given]) == 0
    document = json.loads(target.read_text())
    assert (document["schema"], document["ok"]) == ("tidemark.agree/1", True)
    model = document["models"][0]
    assert {"name", "states", "violating_states", "edges", "non_edges", "invariants", "actions", "backends"} <= set(
        model
    )
    assert (model["states"], model["violating_states"], model["edges"]) == (623, 90, 2218)
    for name in ("python", "kernels"):
        assert model["backends"][name]["compared"] > 2 * model["edges"]
        assert model["backends"][name]["disagreements"] == 0
    assert model["backends"]["numba"] == model["backends"]["kernels"]
    assert "0 differ" in capsys.readouterr().out


LARGE = r"""---- MODULE Large ----
EXTENDS Integers
CONSTANTS Node, Limit
VARIABLES f, n
TypeOK == f \in [Node -> 0..Limit] /\ n \in 0..3
Init == f = [i \in Node |-> 0] /\ n = 0
Up(i) == f[i] < Limit /\ f' = [f EXCEPT ![i] = @ + 1] /\ UNCHANGED n
Next == \E i \in Node : Up(i)
===="""


@pytest.mark.deep
def test_agree_says_how_far_tlc_is_and_what_makes_a_model_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was silent, and read dumps of any size."""
    monkeypatch.setattr(graph, "SAID_AFTER", 10)
    (tmp_path / "Large.tla").write_text(LARGE)
    (tmp_path / "Large.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT TypeOK\nCONSTANTS Node = {a, b}\nLimit = 6\n")
    given = ["agree", "--no-cache", "--backend", "python", "--spec", str(tmp_path / "Large.tla")]
    given += ["--config", str(tmp_path / "Large.cfg")]
    assert main(given) == 0
    assert "Large: TLC has seen 40 states, " in capsys.readouterr().err
    assert main([*given, "--states", "48"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("tidemark agree: Large has more than 48 states, too many")
    assert "largest variables are f (49 values), n (4 values)" in said
    assert "smaller constants (now Limit = 6, Node (2 elements))" in said


def test_the_command_refuses_half_a_specification(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "--spec", "X.tla"]) == 2
    assert "belong together" in capsys.readouterr().err


def test_the_command_fails_on_a_disagreement(
    dumped: graph.Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(graph, "dump", lambda *arguments, **more: dumped)
    monkeypatch.setattr(mutants, "judged", lambda *arguments, **more: mutants.Mutants())
    monkeypatch.setattr(
        backends.PythonBackend, "invariant", lambda self, name, states: [name == "TypeOK" for _ in states]
    )
    given = ["--spec", str(LEDGER), "--config", str(FLAWED), "--backend", "python", "--json", "-"]
    assert main(["agree", *given]) == 1
    out = capsys.readouterr()
    document = json.loads(out.out)
    assert document["ok"] is False
    assert document["models"][0]["backends"]["python"]["disagreements"] == 527 - 186
    assert "invariant NothingFromNothing: TLC says TRUE, the backend says FALSE" in out.err


def test_walks_over_the_same_steps_evaluate_them_once(spec: Specification, dumped: graph.Graph) -> None:
    ways = walks.walks(dumped, nonedges.near_misses(dumped, spec.module.ghosts))
    backend = backends.PythonBackend(spec)
    evaluated: list[object] = []
    right = backend.checks.action

    def counted(*asked: Any) -> bool:
        evaluated.append(asked)
        return right(*asked)

    backend.checks.action = counted  # type: ignore[method-assign]
    answers = backend.replay(ways)
    assert len(evaluated) < sum(len(way.records) for way in ways) / 2
    evaluated.clear()
    assert backend.replay(ways) == answers
    assert evaluated == []


# --- what the model never violates ------------------------------------------------------------------------------------

TWO_PHASE = spec_root() / "two_phase" / "TwoPhase.tla"
SOUND = TWO_PHASE.with_suffix(".cfg")


@functools.cache
def two_phase() -> tuple[Specification, graph.Graph, mutants.Mutants]:
    """Two-phase commit with all its rules: nothing falls in it."""
    spec = load(TWO_PHASE, SOUND)
    found = graph.dump(TWO_PHASE, SOUND)
    return spec, found, mutants.judged(spec, found)


@pytest.mark.deep
def test_what_never_falls_is_compared_on_changed_states_and_steps() -> None:
    spec, found, changed = two_phase()
    assert mutants.never_false(found) == (["Consistency", "OneDecision", "DecidedOnce"], ["OutcomeIsFinal"])
    for verdicts in (
        changed.predicates["Consistency"],
        changed.predicates["DecidedOnce"],
        *changed.properties.values(),
    ):
        assert verdicts.count(False) >= mutants.WANTED
        assert True in verdicts
    compared = agree.compare("TwoPhase", found, spec.module.ghosts, backends.backends(spec), changed)
    assert compared.ok, [str(one.first) for one in compared.comparisons]
    assert {"changed states", "changed steps"} <= compared.comparisons[0].kinds.keys()
    assert compared.unbroken == ()
    assert set(compared.broken) == {
        "Consistency",
        "OneDecision",
        "DecidedOnce",
        "OutcomeIsFinal",
        "QuiescentAllDecided",
    }


@pytest.mark.parametrize(
    ("method", "question"),
    [
        ("property", "action property OutcomeIsFinal on a changed step"),
        ("invariant", "Consistency in a changed state"),
        ("invariant_after", "invariant Consistency after a step"),
    ],
)
def test_a_backend_that_never_says_no_is_found(method: str, question: str) -> None:
    spec, found, changed = two_phase()
    agreeable = backends.PythonBackend(spec)
    setattr(agreeable, method, lambda name, asked: [True] * len(asked))
    blind = agree.compare("TwoPhase", found, spec.module.ghosts, [agreeable])
    assert blind.ok, "the model itself violates nothing"
    assert set(blind.unbroken) == {"Consistency", "OneDecision", "DecidedOnce", "OutcomeIsFinal"}
    seen = agree.compare("TwoPhase", found, spec.module.ghosts, [agreeable], changed)
    assert not seen.ok
    assert str(seen.comparisons[0].first).startswith(question)


@pytest.fixture(scope="module")
def hides(tmp_path_factory: pytest.TempPathFactory) -> tuple[Specification, graph.Graph]:
    """Two-phase commit that hides two of its variables, beside a ghost; a trace shows the others and the decision."""
    module = tmp_path_factory.mktemp("hiding") / "TwoPhase.tla"
    module.write_text(two_phase_text(["tmPrepared", "messages"], "decision |-> tmState"))
    return load(module, SOUND), graph.dump(module, SOUND)


@pytest.mark.deep
def test_hidden_variables_are_compared_on_every_edge_and_computed_on_walks(
    hides: tuple[Specification, graph.Graph],
) -> None:
    spec, found = hides
    compared = agree.compare("TwoPhase", found, spec.module.ghosts, backends.backends(spec), hidden=spec.module.hidden)
    assert compared.ok, [str(one.first) for one in compared.comparisons]
    for one in compared.comparisons:
        if one.left_out:
            assert one.kinds["hidden variables"] > 100
            assert one.kinds["walks"] > 10
            continue
        assert one.kinds["hidden variables"] == len(found.edges) + len(found.initial)
        assert one.kinds["walks"] > 100


@pytest.mark.parametrize("name", backends.NAMES)
def test_a_backend_that_computes_a_hidden_variable_wrongly_is_found(
    name: str, hides: tuple[Specification, graph.Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, found = hides
    (backend,) = backends.backends(spec, [name])
    monkeypatch.setattr(backend, "hidden", lambda action, attempts: [state for _, state, _ in attempts])
    compared = agree.compare("TwoPhase", found, spec.module.ghosts, [backend], hidden=spec.module.hidden)
    assert str(compared.comparisons[0].first).startswith("the next hidden variables of")


def test_near_misses_that_no_trace_shows_end_no_walk(hides: tuple[Specification, graph.Graph]) -> None:
    spec, found = hides
    module = spec.module
    misses = agree.near_misses(found, module.ghosts, 1)
    shown = agree.told_apart(found, misses, {*module.ghosts, *module.hidden})
    assert 0 < len(shown) < len(misses)
    assert agree.told_apart(found, misses, module.ghosts) == list(misses)


def test_the_search_is_the_same_every_time() -> None:
    spec, found, changed = two_phase()
    search = mutants.Search(spec, found, 1)
    assert search.states(mutants.never_false(found)[0]) == list(zip(changed.origins, changed.states, strict=True))


def test_tlc_that_cannot_judge_is_no_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, found, _ = two_phase()
    odd = [(found.states[0], {**found.states[0], "messages": frozenset({1})})]
    monkeypatch.setattr(mutants.Search, "states", lambda *_: odd)
    with pytest.raises(Unusable, match="TLC did not judge the 131 changed states of TwoPhase"):
        mutants.judged(spec, found)


def _compared(model: str, broken: Sequence[str], unbroken: Sequence[str], actions: str = "AB") -> agree.Agreement:
    sides = [agree.Comparison(name, compared=1) for name in backends.NAMES]
    return agree.Agreement(
        *(model, 1, 0, 1, 1, 1, 2, 0, tuple(actions), (), tuple(sides), 0.0),
        broken=tuple(broken),
        unbroken=tuple(unbroken),
    )


def test_a_property_that_no_model_of_a_specification_violates_is_named() -> None:
    halves = [_compared("One", ["Safe"], ["Final"]), _compared("Two", ["Final"], ["Safe"])]
    assert agree.never_false(halves) == []
    assert agree.never_false(halves[:1]) == ["Final"]
    assert agree.never_false([*halves, _compared("Other", [], ["Safe"], actions="ABC")]) == ["Safe"]


@pytest.mark.parametrize(("unbroken", "code"), [([], 0), (["Final"], 1)])
def test_a_whole_run_in_which_a_property_never_falls_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], unbroken: list[str], code: int
) -> None:
    monkeypatch.setattr(command, "_compare_all", lambda *_: ([_compared("One", ["Safe"], unbroken)], 0))
    given = argparse.Namespace(spec=None, config=None, model=None, json="-", record=False)
    assert command.run(given) == code
    out = capsys.readouterr()
    assert (json.loads(out.out)["ok"], json.loads(out.out)["never_false"]) == (code == 0, unbroken)
    assert ("compared only where they hold, in all models: Final" in out.err) is bool(unbroken)


def test_every_specification_with_models_has_some_for_agree() -> None:
    flagged = {model.name for model in manifest.load().models if model.agree}
    assert {"TwoPhase", "TwoPhaseFlawed", "TwoPhaseForgets", "MCAgreeElections", "MCAgreeIsr"} <= flagged


# --- what an earlier run has compared ---------------------------------------------------------------------------------


def _run(monkeypatch: pytest.MonkeyPatch, spec: Path, wrong: int = 0, no_cache: bool = False) -> tuple[int, int]:
    """The exit code of the command on a model, whose comparison is made up, and how often that was asked for."""
    asked: list[object] = []

    def compared(subject: Any, *_: Any) -> agree.Agreement:
        asked.append(subject)
        sides = [agree.Comparison(name, compared=9, disagreements=wrong) for name in backends.NAMES]
        return agree.Agreement(subject.name, 1, 0, 1, 1, 1, 2, 0, ("A",), (), tuple(sides), 5.0)

    monkeypatch.setattr(command, "_compare", compared)
    given = ["--spec", str(spec), "--config", str(spec.with_suffix(".cfg"))]
    return main(["agree", *given, *(["--no-cache"] if no_cache else [])]), len(asked)


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A specification of its own, and an empty cache."""
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    for file in (TWO_PHASE, SOUND):
        (tmp_path / file.name).write_text(file.read_text())
    return tmp_path / TWO_PHASE.name


def test_a_second_run_compares_nothing_and_says_so(
    copied: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, copied) == (0, 1)
    assert "earlier run" not in capsys.readouterr().out
    assert _run(monkeypatch, copied) == (0, 0)
    assert "1 of 1 models were compared by an earlier run" in capsys.readouterr().out
    assert _run(monkeypatch, copied, no_cache=True) == (0, 1)


@pytest.mark.parametrize("suffix", [".tla", ".cfg"])
def test_a_changed_model_is_compared_again(copied: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    assert _run(monkeypatch, copied) == (0, 1)
    changed = copied.with_suffix(suffix)
    changed.write_text(changed.read_text() + "\n")
    assert _run(monkeypatch, copied) == (0, 1)


def test_another_compiler_compares_again(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, copied) == (0, 1)
    monkeypatch.setattr(kept.cache, "code", lambda *modules: f"another {modules}")
    assert _run(monkeypatch, copied) == (0, 1)


def test_a_difference_is_not_kept(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _run(monkeypatch, copied, wrong=1) == (1, 1)
    assert _run(monkeypatch, copied, wrong=1) == (1, 1)


def test_models_of_one_specification_do_not_begin_together() -> None:
    subjects = [command._Subject(name, Path(f"{name[0]}.tla"), Path()) for name in ("A1", "A2", "A3", "B1", "C1", "C2")]
    assert [one.name for one in command._in_turn(subjects)] == ["A1", "B1", "C1", "A2", "C2", "A3"]


# --- the recorded run -------------------------------------------------------------------------------------------------


def test_a_whole_run_is_recorded_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "agree.json"
    monkeypatch.setattr(agreed, "RECORD", file)
    monkeypatch.setattr(command, "_compare_all", lambda *_: ([_compared("One", ["Safe"], [])], 0))
    assert main(["agree", "--record"]) == 0
    assert generated.agree().splitlines()[-2:] == [
        "| `One` | 1 | 0 | 1 | 1 | 3 | 1 | 0 | 1 of 1 | 0 |",
        "| all | 1 | 0 | 1 | 1 | 3 | 1 | 0 |  | 0 |",
    ]
    assert agreed.rows(file) == [
        ("`One`", "1", "0", "1", "1", "3", "1", "0", "1 of 1", "0"),
        ("all", "1", "0", "1", "1", "3", "1", "0", "", "0"),
    ]


@pytest.mark.parametrize("given", [["--model", "TwoPhase"], ["--backend", "python"]])
def test_only_a_whole_run_is_recorded(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "--record", *given]) == 2
    assert "whole run" in capsys.readouterr().err


def test_no_record_and_a_wrong_one_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "agree.json"
    monkeypatch.setattr(agreed, "RECORD", file)
    assert generated.agree() == f"No whole run is kept in `{file}`.\n"
    file.write_text('{"models": [{}]}')
    with pytest.raises(Unusable, match="make it by `tidemark agree --record`"):
        generated.agree()
