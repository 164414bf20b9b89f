"""The hunt. A flaw is found within a bounded number of steps, and with all rules nothing is. One seed is one hunt, and
an interrupted hunt comes to the same result."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tidemark_conformance.cli import main
from tidemark_conformance.commands import hunt as command
from tidemark_conformance.explain.golden import golden_file
from tidemark_conformance.hunt import hunting, island
from tidemark_conformance.hunt.corpus import Kind
from tidemark_conformance.hunt.hunting import Hunted, hunt
from tidemark_conformance.hunt.island import Finding, Job, Part, Round
from tidemark_conformance.hunt.rows import taken
from tidemark_conformance.hunt.showing import complaints
from tidemark_conformance.hunt.target import known_as, target
from tidemark_conformance.hunt.traits import MOST_PAIRS, Sequence, Traits, homes, sequences
from tidemark_conformance.registry import zoo
from tidemark_conformance.registry.protocols import Protocol, protocols
from tidemark_conformance.report import hunted
from tidemark_conformance.simulate import simulators
from tidemark_conformance.simulate.generate import Simulated
from tidemark_conformance.tla.kernels.runtime import Reach
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.types import TAtom, TFun, TInt, TSeq, TTuple
from tidemark_conformance.trace.schema import schema_of

FLAW = "TruncateByEpoch"


def summary(found: Hunted) -> tuple[Any, ...]:
    """All that a hunt has found."""
    total = found.total
    return (
        total.steps,
        total.runs,
        found.growth,
        total.findings,
        total.falls,
        found.corpus.items(),
        {part: one.bits() for part, one in total.reach.items()},
        {part: one.tolist() for part, one in (*total.actions.items(), *total.rules.items())},
    )


def quarry(*without: str, seed: int = 1, until: str | None = None) -> Job:
    """The hunt for replication without some rules."""
    return target(known_as("replication"), without).job(seed, until)


# --- findings -------------------------------------------------------------------------------------------------------


def test_a_flaw_is_found_within_so_many_steps() -> None:
    """Row 1's property, with no profile made for it; this seed takes 970 steps."""
    found = hunt(quarry(FLAW, until="StrongIsr"), {}, steps=60_000)
    fallen = found.total.falls["", "StrongIsr"]
    assert fallen.steps < 30_000
    assert found.total.steps < 60_000  # it ended early


@pytest.mark.deep
def test_with_all_rules_nothing_is_found_and_coverage_grows() -> None:
    found = hunt(quarry(), {}, steps=60_000)
    assert not found.total.findings
    assert not found.total.falls
    assert 60_000 <= found.total.steps < 61_000
    plain, shapes = zip(*[(plain, shapes) for _, plain, shapes in found.growth], strict=True)
    assert list(plain) == sorted(plain)
    assert plain[-1] > plain[0] > 500
    assert shapes[-1] > shapes[0] > 1_000
    assert (found.total.actions[""][:, 0] > 0).sum() > 30


def test_findings_are_judged_by_the_specification_with_the_rules_that_are_there() -> None:
    """The right specification sees a step that is none in the flawed implementation."""
    flawed, right = target(known_as("replication"), (FLAW,)), target(known_as("replication"))
    job = Job(flawed.job(1).swarm, right.parts, 1, "")
    kinds = {kind for _, kind, _ in hunt(job, {}, steps=60_000).total.findings}
    assert "not-a-step" in kinds


@pytest.mark.deep
@pytest.mark.parametrize("name", ["composed", "composed-transactions"])
def test_a_composition_is_hunted_by_all_its_specifications(name: str) -> None:
    found = hunt(target(known_as(name)).job(1), {}, steps=4_000)
    assert not found.total.findings
    assert found.total.reach.keys() == known_as(name).parts.keys()  # type: ignore[union-attr]
    assert all(one.counts()[0] > 100 for one in found.total.reach.values())


# --- one seed, one hunt ---------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_one_seed_is_one_hunt_for_each_number_of_islands() -> None:
    once = hunt(quarry(FLAW), {}, steps=25_000)
    assert summary(once) == summary(hunt(quarry(FLAW), {}, steps=25_000))
    assert summary(once) != summary(hunt(quarry(FLAW, seed=2), {}, steps=25_000))
    two = hunt(quarry(FLAW), {}, steps=25_000, islands=2)
    assert summary(two) == summary(hunt(quarry(FLAW), {}, steps=25_000, islands=2))


@pytest.mark.deep
def test_on_spark_a_hunt_is_the_same(spark: Any) -> None:
    here = hunt(quarry(FLAW), {}, steps=12_000, islands=2)
    there = hunt(quarry(FLAW), {}, steps=12_000, islands=2, session=spark, packages=known_as("replication").packages())
    assert summary(here) == summary(there)


@pytest.mark.deep
def test_an_interrupted_hunt_comes_to_the_same_result(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    class Killed:
        def update(self, done: int, total: int | None) -> None:
            if done > 25_000:
                raise Enough

    whole = hunt(quarry(FLAW), {"seed": 1}, steps=90_000, folder=tmp_path / "whole")
    with pytest.raises(Enough):
        hunt(quarry(FLAW), {"seed": 1}, steps=90_000, folder=tmp_path / "killed", progress=Killed())
    kept = json.loads((tmp_path / "killed" / hunting.STATE).read_text())
    assert 0 < kept["steps"] < whole.total.steps
    again = hunt(quarry(FLAW), {"seed": 1}, steps=90_000, folder=tmp_path / "killed")
    assert summary(again) == summary(whole)


# --- the parts ------------------------------------------------------------------------------------------------------


def test_the_traits_of_a_late_read() -> None:
    """Row 139's schedule: the follower appends what was read late. Its epoch is below the fetch's, and above that of
    the record before it in the follower's log."""
    known = known_as("replication")
    assert isinstance(known, Protocol)
    row = zoo.one("139")
    header = schema_of(load(known.spec, known.config)).with_nodes(known.nodes())
    stream, _ = simulators.transcript(known, header, golden_file(row).read_text(encoding="utf-8"), row.rules)
    whole = quarry(*row.rules).parts[0]
    assert whole.whole is not None
    batch = island.batch_of([""], [stream])
    kernels = island.judge_for(whole.whole).kernels
    first = int(kernels.check(batch.data, batch.offsets, nodes=whole.nodes).first[0, island.NOT_A_STEP])
    fate, seen = Traits(whole.whole, {}).seen(stream, first)
    assert fate == "ReadFetch FollowerAppend"
    assert "fetch.@0.@1.batch.last.epoch fetch.@0.@1.epoch <" in seen
    assert "fetch.@0.@1.batch.last.epoch log.@0.last.epoch >" in seen
    assert "fetch.@0.@1.batch.last.epoch fetch.@0.@1.epoch <, fetch.@0.@1.batch.last.epoch log.@0.last.epoch >" in seen
    assert "fetch.@0.@1.batch.last.epoch fetch.@0.@1.epoch <, log.@0 log.@1 /" in seen, "the logs differ"
    assert not any(one.startswith("fetch.@0.@1.batch.last.epoch fetch.@0.@1.offset") for one in seen), "two units"
    traits = Traits(whole.whole, dict.fromkeys(seen[:3], 2) | dict.fromkeys(seen[4:], 3))
    assert traits.of(stream, first) == (fate, seen[3], 1)
    assert traits.of(stream, first) == (fate, seen[3], 2)
    traits.counts[seen[3]] += 5
    assert traits.of(stream, first) == (fate, seen[0], 5), "of equally rare ones the first"


@pytest.mark.parametrize("name", sorted(protocols()))
def test_the_traits_of_a_flaw_are_bounded(name: str) -> None:
    """The group of KIP-848 has ten thousand numbers to compare with ten thousand: 8 GiB of pairs."""
    known = known_as(name)
    whole = load(known.spec, known.config)  # type: ignore[union-attr]
    traits = Traits(whole, {})
    there = {home for one in traits.schema.layout.variables if one.carried for home in homes(one.type, (one.name,))}
    found = [traits.compared(home) for home in there]
    assert any(one.numbers for one in found)
    assert all(one.pairs <= MOST_PAIRS for one in found)


def test_sequences_are_ordered_by_what_begins_them() -> None:
    kind = TSeq(TTuple((TInt(0, 9), TInt(0, 9))), 3)
    left, right = Sequence(("log", "@a"), 0, 2, kind), Sequence(("log", "@b"), 7, 2, kind)

    def order(one: list[int], other: list[int]) -> str:
        cells = [len(one) // 2, *one, *[0] * (6 - len(one)), len(other) // 2, *other, *[0] * (6 - len(other))]
        return left.order(right, cells)

    assert order([], []) == order([1, 2, 3, 4], [1, 2, 3, 4]) == " ="
    assert order([], [1, 2]) == order([1, 2], [1, 2, 3, 4]) == " <"
    assert order([1, 2, 3, 4], [1, 2]) == " >"
    assert order([1, 2], [1, 3]) == order([1, 2, 3, 4], [1, 3]) == order([1, 2, 3, 4], [1, 2, 3, 5]) == " /"
    assert sequences(TFun(("a", "b"), TAtom(("a", "b")), kind), 0, ("log",)) == [left, right]


@pytest.mark.deep
def test_a_beginning_of_a_flaw_ends_before_the_record_that_a_removed_rule_forbids() -> None:
    one = quarry(FLAW, until=None)
    part = one.parts[0]
    assert part.whole is not None
    whole = island.judge_for(part.whole).kernels
    flaws = [item for item in hunt(one, {}, steps=20_000).corpus.items() if item.kind is Kind.FLAW]
    assert flaws
    for item in flaws[:20]:
        name, _, last = item.before.removesuffix("/").rpartition("@")
        seed, _, records = last.partition("#")
        streams = [one.swarm(f"swarm:{name}", int(seed))[""].stream]
        batch = island.batch_of([""], streams)
        first = whole.check(batch.data, batch.offsets, nodes=part.nodes).first[0, island.NOT_A_STEP]
        assert first == int(records) + 1
        assert Traits(part.whole, {}).seen(streams[0], int(first))[0] == item.fate
        assert item.trait[-1] in "<=>-/"
    assert not any(item.kind is Kind.FLAW for item in hunt(quarry(), {}, steps=20_000).corpus.items())


def test_rounds_of_several_islands_are_added_up() -> None:
    """Steps until a finding: those of the rounds before, and of this one for every island as many."""

    def part(steps: int, **findings: int) -> Round:
        found = Round(steps=100, runs=2, reach={"": Reach()})
        for name, runs in findings.items():
            found.findings["", "invariant", name] = Finding(runs, steps, f"swarm:{steps}", 1, 5)
            found.falls["", name] = Finding(runs, steps, f"swarm:{steps}", 1, 5)
        return found

    hunted = Hunted()
    hunted.add([part(50, A=1), part(30, A=2, B=1)])
    hunted.add([part(10, A=4), part(20, C=1)])
    assert {name: (one.runs, one.steps, one.world) for (_, _, name), one in hunted.total.findings.items()} == {
        "A": (7, 60, "swarm:30"),
        "B": (1, 60, "swarm:30"),
        "C": (1, 240, "swarm:20"),
    }
    assert hunted.total.falls["", "A"].steps == 60
    assert (hunted.total.steps, hunted.total.runs) == (400, 8)


def test_what_was_reached_before_is_no_news() -> None:
    """The kernels say of each stream whether it reached something first; bitmaps merge."""
    one = target(known_as("replication"))
    swarm, kernels = one.job(1).swarm, island.judge_for(one.parts[0].specification).kernels
    streams = [swarm("swarm:3", seed)[""].stream for seed in range(8)]
    batch = island.batch_of([""] * 8, streams)

    def news(reach: Reach) -> np.ndarray[Any, Any]:
        return kernels.check(batch.data, batch.offsets, nodes=one.parts[0].nodes, reach=reach).news

    fresh = Reach()
    first = news(fresh)
    assert first[0, 0] > 20 < first[0, 2]
    assert (first.sum(0)[[0, 2]] == fresh.counts()).all()
    lengths = [len(list(swarm("swarm:3", seed)[""].stream)) for seed in range(8)]
    assert all(0 <= row[1] < length and 0 <= row[3] < length for row, length in zip(first, lengths, strict=True))
    assert not news(fresh).any()
    assert not news(Reach(fresh.bits())).any()
    merged = Reach()
    merged.merge(fresh)
    assert not news(merged).any()
    without = kernels.check(batch.data, batch.offsets, nodes=one.parts[0].nodes)
    assert without.news.shape == (0, 4)


def test_a_clients_loss_and_an_undecided_trace_are_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    one = target(known_as("replication"))
    swarm = one.job(1).swarm

    def losing(world: str, seed: int) -> dict[str, Simulated]:
        run = swarm(world, seed)[""]
        return {"": Simulated(run.trace, run.stream[:-1], run.steps, {"bad.lost records": 2})}

    found = hunt(Job(losing, one.parts, 1, ""), {}, steps=500).total.findings
    assert {kind for _, kind, _ in found} == {"client", "undecided"}
    assert ("", "client", "lost records") in found


def test_kinds_of_checks() -> None:
    part: Part = target(known_as("replication")).parts[0]
    checks = island.judge_for(part.specification).kernels.checks
    kinds = {name: island.kind_of(part.specification, number) for number, name in enumerate(checks)}
    assert kinds["StrongIsr"] == "invariant"
    assert kinds[checks[0]] == "not-a-step"
    assert {kinds[one.name] for one in part.specification.properties} == {"action-property"}
    assert {kinds[one.name] for one in part.specification.quiescence} == {"quiescence"}


@pytest.mark.deep
def test_a_row_is_timed_beside_its_pinned_profile() -> None:
    known = known_as("replication")
    assert isinstance(known, Protocol)
    row = zoo.one("KIP-101")
    (found,) = taken(known, [row], 1, 60_000, hunting.Silent())
    assert found.hunted is not None
    assert 0 < found.hunted < 60_000
    assert found.pinned is not None
    assert found.pinned > 0
    run = target(known, row.rules).job(1).swarm(found.world, found.seed)[""]
    part = target(known, row.rules).parts[0]
    kernels = island.judge_for(part.specification).kernels
    batch = island.batch_of([""], [run.stream])
    first = kernels.check(batch.data, batch.offsets, nodes=part.nodes).first[0]
    assert first[kernels.checks.index(row.property)] >= 0


@pytest.mark.deep
def test_some_rows_are_hunted_and_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the record they take the place of older ones, and of no others."""
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    file = tmp_path / hunted.RECORD
    file.parent.mkdir()
    none = {"property": "StrongIsr", "steps": None, "most": 600_000, "pinned_steps": None, "first": None}
    ids = zoo.one("1").id, zoo.one("9").id
    hunted.record(
        [{"id": one, "number": number, **none} for one, number in zip(ids, (1, 9), strict=True)], "b", 2, file
    )
    assert main(["hunt", "replication", "--rows", "1", "--steps", "20000", "--seed", "1", "--record"]) == 0
    first, other = hunted.rows(file, ids)
    assert first[:4] == ("1", "replication", ids[0], f"`{zoo.one('1').property}`")
    assert int(first[4].replace(",", "")) < 20_000
    assert other == ("9", "b", ids[1], "`StrongIsr`", "– in 600,000 (seed 2)", "never")
    assert [row[0] for row in hunted.rows(file, ids[1:])] == ["9"], "a row that is no longer in the zoo is left out"
    file.write_text("{}")
    assert main(["hunt", "replication", "--rows", "1", "--record"]) == 2


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_the_command_finds_explains_and_says_how_to_see_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "hunt.json"
    words = ["hunt", "replication", "--without", FLAW, "--steps", "1500", "--seed", "1", "--json", str(out)]
    assert main(words) == 1
    said = capsys.readouterr().out
    document = json.loads(out.read_text())
    assert (document["schema"], document["ok"], document["without"]) == ("tidemark.hunt/1", False, [FLAW])
    assert document["steps"] >= 1500
    assert document["coverage"]["actions"]["HandleFetch"] > 0
    assert document["coverage"]["rules"]["AckAllOnlyBelowHw"]["held"] > 0
    found = document["findings"][0]
    assert found["signature"] in said
    assert found["command"] in said
    assert 0 < found["shrunk_steps"] <= found["first"]["step"]
    simulate, explain = found["command"].replace("DIR", str(tmp_path / "again")).split(" && ")
    assert main(simulate.split()[1:]) == 0
    assert main([*explain.split()[1:], "--no-shrink"]) == 1
    assert found["name"] in capsys.readouterr().out


def test_the_command_finds_nothing_with_all_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["hunt", "replication", "--steps", "11000", "--seed", "5", "-o", str(tmp_path / "kept"), "--json", "-"]
    assert main(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["ok"], first["findings"]) == (True, [])
    assert main(words) == 0
    again = json.loads(capsys.readouterr().out)
    different = {"seconds", "peak_rss_mib", "rss_mib"}
    assert {key: first[key] for key in first.keys() - different} == {
        key: again[key] for key in again.keys() - different
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("nothing", "no protocol is called nothing"),
        ("replication --steps 0", "--steps 0 cannot be; give 1 or more"),
        ("replication --minutes -1", "--minutes -1.0 cannot be; give more than 0"),
        ("replication --seed -3", "--seed -3"),
        ("replication --without ,", "names no rule"),
        ("replication --without Nothing --steps 5", "Nothing is no rule of Replication"),
        ("replication --flaw 9999 --steps 5", "the zoo has no row 9999"),
        ("offsets --flaw KIP-101 --steps 5", "tidemark hunt replication --flaw KIP-101"),
        ("composed --rows", "is a composition"),
        ("replication --rows --minutes 1", "--rows takes --steps and --seed"),
        ("replication --rows 9999", "the zoo has no row 9999"),
        ("offsets --rows KIP-101", "tidemark hunt replication --flaw KIP-101"),
        ("replication --record", "--record keeps the table of --rows"),
        ("all --without TruncateByEpoch", "all are hunted with all their rules"),
    ],
)
def test_bad_arguments_are_one_sentence(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hunt", *words.split()]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_two_budgets_are_one_too_many(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["hunt", "replication", "--minutes", "1", "--steps", "5"])
    assert ended.value.code == 2
    assert "--steps: not allowed with argument --minutes" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", '{"schema": "another"}'])
def test_a_folder_with_something_else_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / (hunting.STATE if content else "notes.txt")).write_text(content)
    assert main(["hunt", "replication", "--steps", "100", "-o", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err


@pytest.fixture(scope="module")
def kept_state(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The state of a hunt of one whole round."""
    folder = tmp_path_factory.mktemp("hunt") / "kept"
    assert main(["hunt", "replication", "--steps", "11000", "--seed", "5", "-o", str(folder), "--json", "-"]) == 0
    return (folder / hunting.STATE).read_text()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 10**12),
        ("steps", -(10**6)),
        ("steps", "x"),
        ("whole", -1),
        ("growth", [[1]]),
        ("findings", None),
        ("reach", {"": "%%%"}),
        ("actions", {"": [[0, 0]]}),
    ],
)
def test_an_edited_state_is_no_hunt(
    name: str, value: object, kept_state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = json.loads(kept_state)
    assert state[name] != value
    (tmp_path / hunting.STATE).write_text(json.dumps({**state, name: value}))
    assert main(["hunt", "replication", "--steps", "11000", "--seed", "5", "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert f"{tmp_path / hunting.STATE} is no state of a hunt of this version, or it was changed" in error
    assert len(error.strip().splitlines()) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == [hunting.STATE]


def test_a_state_without_a_part_is_no_hunt(kept_state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = json.loads(kept_state)
    del state["findings"]
    (tmp_path / hunting.STATE).write_text(json.dumps(state))
    assert main(["hunt", "replication", "--steps", "11000", "--seed", "5", "-o", str(tmp_path)]) == 2
    assert "or it was changed" in capsys.readouterr().err


def test_a_folder_holds_a_hunt_of_one_text(tmp_path: Path) -> None:
    """A property that has changed did not judge the runs before."""
    quarry = target(known_as("replication"))
    (part,) = quarry.parts
    sources = dict(part.specification.sources)
    changed = tmp_path / "ReplicationProperties.tla"
    changed.write_text(sources["ReplicationProperties"].read_text() + "\\* Another word.\n")
    sources["ReplicationProperties"] = changed
    other = replace(quarry, parts=(replace(part, specification=replace(part.specification, sources=sources)),))
    assert target(known_as("replication")).judged_by == quarry.judged_by != other.judged_by


def test_a_hunt_that_hardly_judges_complains() -> None:
    quarry = target(known_as("replication"))
    assert list(complaints(quarry, Round(runs=255, healed=0, cut=255))) == []
    assert list(complaints(quarry, Round(runs=300, healed=0, cut=30))) == [
        "of 300 runs no faults stopped, so no quiescence property has judged anything"
    ]
    assert list(complaints(quarry, Round(runs=300, healed=1, cut=31))) == [
        "31 of 300 runs were cut at a capacity, and their ends were not judged"
    ]


def test_a_folder_holds_one_hunt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["hunt", "replication", "--steps", "11000", "-o", str(tmp_path / "kept"), "--seed"]
    assert main([*words, "1"]) == 0
    capsys.readouterr()
    assert main([*words, "2"]) == 2
    assert "holds a hunt with other seed (there 1, here 2)" in capsys.readouterr().err


def test_a_folder_keeps_the_seed_and_the_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "kept"
    words = ["hunt", "replication", "--flaw", "17", "-o", str(folder), "--steps"]
    assert main([*words, "8000"]) == 1
    seed = json.loads((folder / "found.json").read_text())["seed"]
    assert f"seed {seed}" in capsys.readouterr().err
    assert main([*words, "11000"]) == 1
    found = json.loads((folder / "found.json").read_text())
    assert found["seed"] == seed
    assert "AckedOnLeader" in [one["name"] for one in found["findings"]]
