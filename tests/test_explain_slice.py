"""The steps that a failure depends on: a run of its own by TLC's graph, of which no step can be left out."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import EXAMPLES, TwoPhase
from ledger import FLAWED, LEDGER, SOUND, flawed_graph
from part_traces import Event as Line
from part_traces import compiled, election, judge, lines
from test_hidden_traces import GOOD
from tidemark_conformance.cli import main
from tidemark_conformance.explain import slice as slices
from tidemark_conformance.explain.explaining import Explainer
from tidemark_conformance.explain.judge import Judgement, Key
from tidemark_conformance.explain.run import INITIAL, STEP, Event, Run
from tidemark_conformance.explain.slice import Slice, sliced
from tidemark_conformance.tla.spec import load
from tidemark_conformance.tla.values import Fn, Value
from tidemark_conformance.tlc import graph
from tidemark_conformance.tlc.graph import Graph

WALKS, LENGTH = 450, 14
State = dict[str, Value]


@cache
def explainer(cfg: Path) -> Explainer:
    return Explainer(load(LEDGER, cfg))


def frozen(state: State) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(state.items()))


class Known:
    """TLC's graph, asked by states."""

    def __init__(self, dumped: Graph) -> None:
        self.graph = dumped
        self.number = {frozen(state): at for at, state in enumerate(dumped.states)}
        self.edges: dict[int, list[tuple[str, tuple[Value, ...], int]]] = {}
        for edge in dumped.edges:
            self.edges.setdefault(edge.source, []).append((edge.action, edge.params, edge.target))

    def walk(self, random: Random) -> list[tuple[str, tuple[Value, ...], int]]:
        """A behaviour of TLC's; at times its last step has another's name, by which no step goes there."""
        at = random.choice(self.graph.initial)
        found: list[tuple[str, tuple[Value, ...], int]] = [("", (), at)]
        for _ in range(random.randint(3, LENGTH)):
            if not self.edges.get(at):
                break
            found.append(random.choice(self.edges[at]))
            at = found[-1][2]
        if random.random() < 0.7 and len(found) > 1:
            source = found[-2][2]
            named = {(edge.action, edge.params) for edge in self.graph.edges}
            wrong = sorted(one for one in named if (*one, at) not in self.edges[source])
            found[-1] = *random.choice(wrong), at
        return found


@cache
def known(cfg: Path) -> Known:
    return Known(flawed_graph() if cfg == FLAWED else graph.dump(LEDGER, cfg))


def run_of(walk: list[tuple[str, tuple[Value, ...], int]], cfg: Path) -> Run:
    carried = explainer(cfg).module.carried
    events = []
    for number, (action, params, at) in enumerate(walk):
        state = {name: known(cfg).graph.states[at][name] for name in carried}
        events.append(Event(number, STEP if number else INITIAL, "", action, params, state))
    return Run("t", "t", (), tuple(events), False, None)


@dataclass
class Failing:
    """A walk that fails, and its slice."""

    cfg: Path
    run: Run
    judgement: Judgement
    some: Slice | None

    @property
    def number(self) -> int:
        return min(self.judgement.first.values())

    @property
    def keys(self) -> set[Key]:
        return {key for key, at in self.judgement.first.items() if at == self.number}


@pytest.fixture(name="found", scope="module")
def _found() -> list[Failing]:
    found = []
    for seed in range(WALKS):
        cfg = FLAWED if seed % 3 == 0 else SOUND
        run = run_of(known(cfg).walk(Random(seed)), cfg)
        judgement = explainer(cfg).judge(run)
        if judgement.verdict == "fail":
            found.append(Failing(cfg, run, judgement, sliced(run, judgement, explainer(cfg))))
    return found


@pytest.mark.deep
def test_the_steps_alone_are_a_behaviour_of_tlcs_that_fails_in_the_same_way(found: list[Failing]) -> None:
    seen: Counter[str] = Counter()
    for one in found:
        some, ours = one.some, known(one.cfg)
        if some is None:
            continue
        assert some.kept[-1] == one.number
        assert list(some.kept) == sorted(set(some.kept))
        assert some.run.events[0].state == one.run.events[0].state
        last = len(some.kept)
        for at in range(1, last + 1):
            event, whole = some.run.events[at], one.run.events[some.kept[at - 1]]
            assert (event.action, event.params) == (whole.action, whole.params)
            source = ours.number.get(frozen(some.judgement.states[at - 1]))
            target = ours.number.get(frozen(some.judgement.states[at]))
            assert source is not None
            if not ours.graph.expanded[source]:
                seen["beyond TLC's constraint"] += 1
                continue
            legal = (event.action, event.params, target) in ours.edges[source]
            broken = any((source, target) in pairs for pairs in ours.graph.broken.values())
            if at < last:
                assert legal
                assert not broken
                seen["steps"] += 1
            else:
                assert legal is not any(kind == "not-a-step" for kind, _ in one.keys)
            for kind, name in one.keys if at == last else ():
                seen[kind] += 1
                if kind == "not-a-step":
                    assert not legal
                elif kind == "action-property":
                    assert broken
                else:
                    assert target is None or not ours.graph.predicates[name][target]
        seen["slices"] += 1
        seen["left out"] += one.number - last
    assert seen["slices"] >= 100
    assert seen["left out"] >= 300
    assert seen["steps"] >= 200
    assert min(seen["not-a-step"], seen["action-property"], seen["invariant"]) >= 10


def test_no_step_of_them_can_be_left_out(found: list[Failing]) -> None:
    tried = 0
    for one in found:
        if one.some is None:
            continue
        slicing = slices._Slicing(one.run, one.judgement, explainer(one.cfg), one.number, one.keys)
        for left in one.some.kept[:-1]:
            alone = slicing.alone([kept for kept in one.some.kept if kept != left])
            assert alone is None or slicing.parted(alone, explainer(one.cfg).judge(alone)) is not None
            tried += 1
    assert tried >= 200


def test_a_search_that_forgets_steps_shows_nothing_wrong(found: list[Failing], monkeypatch: pytest.MonkeyPatch) -> None:
    """The judgement of the steps alone decides, not the search."""
    monkeypatch.setattr(slices._Slicing, "dependencies", lambda self: [self.number])
    seen: Counter[str] = Counter()
    for one in found:
        some = sliced(one.run, one.judgement, explainer(one.cfg))
        if some is not None:
            assert one.some is not None
            assert len(one.some.kept) == 1
        seen["alone" if some is not None else "refused"] += one.some is not None
    assert min(seen.values()) >= 20


def test_a_change_is_put_where_it_was_and_nowhere_else() -> None:
    inner = Fn({"a": 1, "b": 2})
    value = Fn({1: frozenset({1}), 2: inner})
    assert slices._put(value, (1, slices.Member(2)), Fn({1: frozenset({2}), 2: inner})) == Fn(
        {1: frozenset({1, 2}), 2: inner}
    )
    with pytest.raises(slices._Elsewhere):
        slices._put(value, (3,), Fn({3: 1}))


def test_the_command_shows_them_counts_the_others_and_shows_all_if_asked(
    two_phase: TwoPhase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def explained(*more: str) -> tuple[dict[str, Any], str]:
        target = tmp_path / "e.json"
        arguments = ["explain", str(two_phase.hasty), "--trace", trace, "--json", str(target), *more]
        assert main(arguments) == 1
        return json.loads(target.read_text()), " ".join(capsys.readouterr().out.split())

    assert main(["audit", str(two_phase.hasty), "--local", "--json", str(tmp_path / "a.json")]) == 1
    failures = json.loads((tmp_path / "a.json").read_text())["failures"]
    refused = next(one for one in failures if one["kind"] == "not-a-step")
    trace, number = max(((one["trace"], one["step"]) for one in refused["examples"]), key=lambda one: int(one[1]))
    capsys.readouterr()
    page = tmp_path / "e.html"
    document, text = explained("-o", str(page))
    kept = document["sliced"]["kept"]
    assert (kept[-1], document["sliced"]["left_out"]) == (number, number - len(kept))
    shown = [row["number"] for row in document["diagram"]["rows"]]
    assert [row for row in shown if row <= number] == [0, *kept]
    assert all(one["source"] in shown and one["target"] in shown for one in document["diagram"]["arrows"])
    assert "the steps that it depends on" in text
    left = document["sliced"]["left_out"]
    assert left > 0
    assert f"{left} step{'' if left == 1 else 's'} before it {'is' if left == 1 else 'are'} left out" in text
    assert "The steps that it depends on" in page.read_text()
    whole, text = explained("--all")
    assert whole["sliced"] is None
    assert [row["number"] for row in whole["diagram"]["rows"]][: number + 1] == list(range(number + 1))
    assert "left out" not in text
    assert explained("--no-shrink")[0]["sliced"] is None


def test_hidden_variables_are_computed_from_the_steps_that_are_left(tmp_path: Path) -> None:
    """The kernels judge the steps alone as they judge the whole trace."""
    _, schema = compiled(election())
    wrong: list[Line] = [
        {"action": "Stand", "params": {"n": "n3"}},
        {"action": "Grant", "params": {"n": "n2", "c": "n3", "t": 1}},
    ]
    events = [*GOOD[:3], {"action": "Restart", "params": {"n": "n1"}}, *wrong]
    file = tmp_path / "t.ndjson"
    file.write_bytes(b"".join(line + b"\n" for line in [schema.header.text().encode(), *lines(events)]))
    asked = ["--spec", str(EXAMPLES / "election" / "Election.tla"), "--config"]
    target = tmp_path / "e.json"
    assert main(["explain", str(file), *asked, str(EXAMPLES / "election" / "Election.cfg"), "--json", str(target)]) == 1
    document = json.loads(target.read_text())
    kept = document["sliced"]["kept"]
    assert kept[-1] == len(events) - 1
    assert document["sliced"]["left_out"] > 0
    alone = [events[0], *({**events[at], "before": {}, "after": {}} for at in kept)]
    told = [{key: value for key, value in one.items() if key not in ("before", "after")} for one in alone[1:]]
    judged = judge(election(), [events[0], *told])
    assert judged.verdict == "fail"
    assert set(judged.first.values()) == {len(kept)}
