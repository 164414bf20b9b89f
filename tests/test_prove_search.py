"""`tidemark prove --search`: what is found is a run by the auditor and by TLC, and TLC finds none that is shorter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.java import toolchain
from tidemark_conformance.paths import spec_root
from tidemark_conformance.prove.proving import ERRORLESS
from tidemark_conformance.symbolic import search, witness
from tidemark_conformance.symbolic.beginning import beginning, with_room
from tidemark_conformance.tla.python import compile_python
from tidemark_conformance.tlc import runner, shared

MODELS = Path(__file__).parent / "models"
TWO_PHASE = spec_root() / "two_phase"
REPLICATION = spec_root() / "replication"
REFUSED = {"Bounds", "FreeBox", "HCore2", "NatAtom", "OneSided", "RecUnion", "SubsetMany"}
"""A search has no terms for these, or their SPECIFICATION is not Init and Next."""
OTHERWISE = {
    "Choose1": "CHOOSE has several witnesses, which the conventions forbid: an error at once",
    "ChooseHidden": "the same",
    "NoType": "a value leaves its type, which no invariant says: the search does not go on from there",
    "FunTuple": "TLC refuses an invariant that is FALSE",
}
SAMPLE = ["CapPlus", "Count", "Disj", "DivErr", "FoldSum", "FreshInit", "PickStateSet", "StepProp", "SymTwo"]
MOST = 8


def searched(module: Path, cfg: Path, steps: int, only: str | None = None) -> search.Searched:
    """A search from Init whose witness the reference evaluator takes."""
    spec = search.loaded(module, cfg)
    found = search.Search(spec, search.asked(spec, only)).run(steps)
    if found.witness is not None:
        assert witness.confirmed(found.witness, spec, compile_python(spec), True) == ""
    return found


@pytest.fixture(scope="module")
def java() -> Iterator[shared.Java]:
    """One Java for all of them."""
    pytest.importorskip(shared._CLIENT)
    jar = toolchain.find_jar(None)
    server = shared.server_jar(jar)
    assert server is not None
    found = shared.Java(jar, server)
    yield found
    found.close()


def agrees(name: str, java: shared.Java) -> None:
    """TLC's counterexample is as long as that of the search, and names a property that the search finds false as deep.

    Several may be false at one depth. Z3 shows one of them, TLC another, so TLC's is then asked for alone.
    """
    cfg = MODELS / "unproved" / f"{name}.cfg"
    module = cfg.with_suffix(".tla")
    options = runner.Options(budget_s=60)
    result = runner.run(module, cfg, options, library=[cfg.parent, spec_root() / "lib"], java=java)
    found = searched(module, cfg, MOST)
    assert found.verdict == search.FOUND
    assert found.witness is not None
    if result.verdict == "error":
        assert ERRORLESS in found.witness.fallen or found.depth == 0
        return
    assert (result.verdict, len(result.trace) - 1) == ("violates", found.depth)
    if result.property not in found.witness.fallen:
        found = searched(module, cfg, MOST, result.property)
        assert (found.verdict, found.depth) == (search.FOUND, len(result.trace) - 1)


@pytest.mark.parametrize("name", SAMPLE)
def test_tlc_finds_a_violation_as_deep(name: str, java: shared.Java) -> None:
    agrees(name, java)


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted({one.stem for one in (MODELS / "unproved").glob("*.cfg")} - {*SAMPLE}))
def test_tlc_finds_every_violation_as_deep(name: str, java: shared.Java) -> None:
    if name in REFUSED:
        with pytest.raises(Unusable, match=rf"{name}\.tla:\d+: "):
            searched(MODELS / "unproved" / f"{name}.tla", MODELS / "unproved" / f"{name}.cfg", MOST)
    elif name not in OTHERWISE:
        agrees(name, java)


@pytest.mark.parametrize("cfg", sorted((MODELS / "proved").glob("*.cfg")), ids=lambda cfg: cfg.stem)
def test_nothing_is_found_where_it_is_proved(cfg: Path) -> None:
    found = searched(cfg.with_suffix(".tla"), cfg, 3)
    assert (found.verdict, found.depth, found.witness) == (search.NOTHING, 3, None)
    assert found.instances > 0


@pytest.mark.parametrize(
    ("rule", "cfg", "name", "depth"),
    [
        ("CommitOnlyIfAllPrepared", "TwoPhase", "Consistency", 3),
        ("KeepDecision", "TwoPhaseForgets", "OneDecision", 7),
        ("PreparedWaits", "TwoPhaseForgets", "Consistency", 7),
    ],
)
def test_two_phase_commit_without_a_rule(
    rule: str, cfg: str, name: str, depth: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The auditor finds the same property false at the end of the run, and TLC has no other opinion."""
    files = ["--spec", str(TWO_PHASE / "TwoPhase.tla"), "--config", str(TWO_PHASE / f"{cfg}.cfg"), "--without", rule]
    out, said, audited = tmp_path / "out", tmp_path / "search.json", tmp_path / "audit.json"
    assert main(["prove", "--search", "10", *files, "-o", str(out), "--json", str(said)]) == 1
    document = json.loads(said.read_text(encoding="utf-8"))
    assert (document["schema"], document["ok"], document["verdict"]) == ("tidemark.search/1", False, "found")
    assert len(document["run"]) == document["depth"]
    assert (name in document["fallen"], document["depth"]) == (True, depth)
    assert f"found at depth {document['depth']}" in capsys.readouterr().out
    assert main(["audit", str(out), *files, "--oracle", "1", "--json", str(audited)]) == 1
    judged = json.loads(audited.read_text(encoding="utf-8"))
    first = {one["name"]: one["first"]["step"] for one in judged["failures"]}
    assert set(document["fallen"]) <= set(first)
    assert set(first.values()) == {document["depth"]}
    assert (judged["oracle"]["replayed"], judged["oracle"]["disagreements"]) == (1, 0)


def test_a_search_goes_on_from_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--spec", str(TWO_PHASE / "TwoPhase.tla"), "--config", str(TWO_PHASE / "TwoPhaseForgets.cfg")]
    asked = ["prove", *files, "--property", "OneDecision"]
    assert main([*asked, "--search", "8", "-o", str(tmp_path / "first")]) == 1
    whole = json.loads(_audited(tmp_path / "first", files, tmp_path))
    trace = tmp_path / "first" / "witness.ndjson"
    steps = whole["steps"]
    assert main([*asked, "--search", "4", "--from", f"{trace}:{steps - 3}", "-o", str(tmp_path / "second")]) == 1
    assert "found at depth 3: OneDecision" in capsys.readouterr().out
    again = json.loads(_audited(tmp_path / "second", files, tmp_path))
    assert (again["steps"], again["failures"][0]["first"]["step"]) == (steps, steps)
    assert main([*asked, "--search", "2", "--from", f"{trace}:{steps - 3}"]) == 0
    assert "nothing within 2 steps" in capsys.readouterr().out
    assert main([*asked, "--search", "1", "--from", f"{trace}:{steps}"]) == 2
    assert f"OneDecision fails at step {steps} already" in capsys.readouterr().err


def _audited(folder: Path, files: list[str], at: Path) -> str:
    assert main(["audit", str(folder), *files, "--json", str(at / "audit.json")]) == 1
    return (at / "audit.json").read_text(encoding="utf-8")


def test_the_solvers_limit_leaves_a_depth_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    cfg = MODELS / "proved" / "Sifted.cfg"
    files = ["--spec", str(cfg.with_suffix(".tla")), "--config", str(cfg)]
    assert main(["prove", "--search", "8", *files, "--limit", "1000"]) == 3
    assert "unknown at depth 1 (the resource limit 1,000 is reached)" in capsys.readouterr().out


def test_a_value_beyond_its_type_falls_with_typeok(tmp_path: Path) -> None:
    """No trace has the value as it is: the auditor reads it as one that the type does not contain."""
    cfg = MODELS / "unproved" / "Disj.cfg"
    found = searched(cfg.with_suffix(".tla"), cfg, 1)
    assert found.witness is not None
    assert found.witness.states[-1] == {"x": frozenset({3})}
    assert "Inductive" in found.witness.fallen


PAIRS = """---- MODULE Pairs ----
EXTENDS Naturals, FiniteSets
VARIABLES x
TypeOK == x \\in 0..5
Init == x = 0
Up == x < 5 /\\ x' = x + 1
Next == Up
Few == Cardinality({p \\in {1, 2} \\X {1, 2, 3} : p[1] + p[2] <= x}) < 3
Spec == Init /\\ [][Next]_x
====
"""


def test_a_product_is_listed(tmp_path: Path) -> None:
    """Three of the six pairs have a sum of at most 3."""
    module, cfg = tmp_path / "Pairs.tla", tmp_path / "Pairs.cfg"
    module.write_text(PAIRS, encoding="utf-8")
    cfg.write_text("SPECIFICATION Spec\nINVARIANTS TypeOK Few\n", encoding="utf-8")
    found = searched(module, cfg, 5)
    assert (found.verdict, found.depth) == (search.FOUND, 3)
    assert found.witness is not None
    assert found.witness.fallen == ("Few",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--search", "3"], "--search needs a specification"),
        (["TwoPhaseInductive", "--search", "-1"], "--search -1 is no number of steps"),
        (
            ["TwoPhaseInductive", "--search", "3", "--property", "Nothing"],
            "--property Nothing is no INVARIANT",
        ),
        (["TwoPhaseInductive", "--search", "3", "--mutants"], "--mutants is of proofs"),
        (["TwoPhaseInductive", "--search", "3", "--from", "trace.ndjson"], "names no step: give TRACE:STEP"),
        (["--search", "3", "--from", "Nothing:1"], "the zoo has no row Nothing"),
        (["TwoPhaseInductive", "--property", "Consistency"], "--property is of --search"),
        (["TwoPhaseInductive", "--search", "3", "--without", "Nothing"], "Nothing is no rule of TwoPhase"),
    ],
)
def test_bad_arguments_get_one_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.deep
@pytest.mark.parametrize(
    ("place", "name", "depth"), [("acks-1:2", "AckedOnLeader", 1), ("CAND-3-first-repair:25", "LogMatching", 3)]
)
def test_replication_falls_a_few_steps_after_a_golden_scenario(
    place: str, name: str, depth: int, tmp_path: Path
) -> None:
    """Rows 17 and 139 without their rules: the property falls, and the auditor and TLC say so."""
    out, said, audited = tmp_path / "out", tmp_path / "search.json", tmp_path / "audit.json"
    asked = ["prove", "--search", str(depth), "--from", place, "--property", name]
    assert main([*asked, "-o", str(out), "--json", str(said)]) == 1
    found = json.loads(said.read_text(encoding="utf-8"))
    assert (found["depth"], found["fallen"]) == (depth, [name])
    rules = ",".join(found["without"])
    assert main(["audit", str(out), "--without", rules, "--oracle", "1", "--json", str(audited)]) == 1
    judged = json.loads(audited.read_text(encoding="utf-8"))
    first = {one["name"]: one["first"]["step"] for one in judged["failures"]}
    assert first[name] == int(place.partition(":")[2]) + depth
    assert (judged["oracle"]["replayed"], judged["oracle"]["disagreements"]) == (1, 0)


def test_capacities_are_no_larger_than_the_search_needs() -> None:
    begun = beginning("acks-1:2", None, None)
    sized = with_room(begun.spec, begun.state, 2)
    assert sized.constants["MaxMetadata"] == 3
    assert sized.constants["Brokers"] == begun.spec.constants["Brokers"]
    assert all(sized.constants[name] <= begun.spec.constants[name] for name in begun.spec.capacities or ())
