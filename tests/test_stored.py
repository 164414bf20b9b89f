"""Pictures of stored state (explain/picturing.py, explain/stored.py, report/strips_svg.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tidemark_conformance.errors import Unusable
from tidemark_conformance.explain.golden import Stage
from tidemark_conformance.explain.picturing import Picture, definition, fallback, picture_of
from tidemark_conformance.explain.record import Diagram, StepView, Strip
from tidemark_conformance.explain.stored import with_strips
from tidemark_conformance.registry import protocols, zoo
from tidemark_conformance.report import generated, picture
from tidemark_conformance.report.diagram_svg import svg
from tidemark_conformance.tla.values import Fn, ModelValue, Value

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
WRONG = ("lost", "other", "twice", "contested")
SHOWN = {
    "CAND-1": "lost",
    "KIP-429": "contested",
    "KAFKA-16147": "contested",
    "KAFKA-5247": "",
    "no-idempotence": "twice",
    "KIP-890-b": "",
    "KIP-447-read-output": "twice",
}
"""A row of each protocol that docs/pictures.md shows, and how its picture shows the harm without words."""

stage = cache(Stage)


@cache
def golden(row_id: str, flawed: bool) -> tuple[Diagram, list[Mapping[str, Value]]]:
    """The diagram of a golden run, and the state after each record."""
    row = zoo.one(row_id)
    explainer, run, judgement = stage(row.protocol).golden(row, row.rules if flawed else ())
    drawn = explainer.explain(run, judgement, None).diagram
    assert drawn is not None
    return drawn, list(judgement.states)


def after(drawn: Diagram, step: int, lane: str, title: str) -> Strip:
    """The strip of a lane as a reader knows it after a step: the last that was drawn."""
    return [one for one in drawn.strips if (one.lane, one.title) == (lane, title) and one.step <= step][-1]


def hows(strip: Strip) -> list[str]:
    return [cell.how for cell in strip.cells]


# --- real runs ------------------------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("row", ["CAND-1", "CAND-4", "KIP-101", "KIP-279"])
@pytest.mark.parametrize("flawed", [True, False])
def test_each_brokers_lane_has_its_log_and_high_watermark_after_every_step(row: str, flawed: bool) -> None:
    drawn, states = golden(row, flawed)
    for number, state in enumerate(states):
        for broker, log in state["log"].items():
            strip = after(drawn, number, str(broker), "log")
            stored = [cell for cell in strip.cells if cell.how != "lost"]
            assert [cell.text for cell in stored] == [str(record["epoch"]) for record in log], (number, broker)
            assert [bar.at for bar in strip.bars] == [state["highWatermark"][broker]], (number, broker)
            assert strip.faded == (state["status"][broker] != "running"), (number, broker)


@pytest.mark.parametrize("row", ["KIP-279", "KIP-101-scenario-2"])
def test_records_of_one_epoch_have_one_colour_and_of_two_epochs_two(row: str) -> None:
    drawn, _ = golden(row, True)
    cells = {(cell.text, cell.colour) for strip in drawn.strips for cell in strip.cells}
    assert len(cells) == len({text for text, _ in cells}) == len({colour for _, colour in cells}) >= 2
    told = {line.number: line.text for line in drawn.legend if line.kind == "colour"}
    assert {(told[colour], text) for text, colour in cells} == {(f"leader epoch {text}", text) for text, _ in cells}


def test_a_lost_record_is_seen_where_the_elected_leader_lacks_it_and_from_there_on() -> None:
    drawn, states = golden("CAND-1", True)
    lost = {strip.step: strip.lane for strip in drawn.strips if "lost" in hows(strip)}
    elected = next(n for n, state in enumerate(states) if str(state["metadata"][-1]["leader"]) == "b3")
    assert lost == {elected: "b3", len(states) - 1: "b3"}
    strip = after(drawn, len(states) - 1, "b3", "log")
    assert (strip.marked, strip.tag, len(states[-1]["committed"])) == (True, "L3", len(strip.cells))


@pytest.mark.deep
@pytest.mark.parametrize(("row", "how"), SHOWN.items())
def test_a_picture_shows_the_harm_and_nothing_of_it_with_all_rules_in_force(row: str, how: str) -> None:
    flawed, _ = golden(row, True)
    found = {cell.how for strip in flawed.strips for cell in strip.cells if cell.how in WRONG}
    assert found == ({how} if how else set())
    assert {line.kind for line in flawed.legend if line.kind in WRONG} == found
    right, _ = golden(row, False)
    assert right.strips
    assert not [strip for strip in right.strips if strip.wrong]


@pytest.mark.parametrize("row", SHOWN)
def test_a_strip_is_drawn_where_a_step_changes_it_and_at_what_fails(row: str) -> None:
    drawn, _ = golden(row, True)
    first, last = drawn.rows[0].number, drawn.rows[-1].number
    for lane in drawn.lanes:
        steps = sorted({strip.step for strip in drawn.strips if strip.lane == lane})
        told = [[repr(s).partition("lane=")[2] for s in drawn.strips if (s.lane, s.step) == (lane, n)] for n in steps]
        for before, now, step in zip(told, told[1:], steps[1:], strict=False):
            assert before != now or step in {*drawn.failing, last}, (lane, step)
    assert {strip.step for strip in drawn.strips} >= {first, last, *drawn.failing}


@pytest.mark.parametrize("row", SHOWN)
def test_the_svg_has_the_cells_of_the_diagram(row: str) -> None:
    drawn, _ = golden(row, True)
    root = ElementTree.fromstring(svg(drawn))
    strips = [group for group in root.iter(f"{SVG}g") if (group.get("class") or "").startswith("strip")]
    assert len(strips) == len(drawn.strips)
    for group, strip in zip(strips, drawn.strips, strict=True):
        boxes = [rect.get("class", "").split() for rect in group.iter(f"{SVG}rect") if "cell" in rect.get("class", "")]
        assert [box[1] for box in boxes] == hows(strip)
        colours = [f"hue{cell.colour % 7}" if cell.colour >= 0 and cell.how != "lost" else "" for cell in strip.cells]
        assert [" ".join(box[2:]) for box in boxes] == colours
        assert len([path for path in group.iter(f"{SVG}path") if path.get("class") == "cross"]) == hows(strip).count(
            "lost"
        )
        bars = [line for line in group.iter(f"{SVG}line") if (line.get("class") or "").startswith("bar")]
        assert len(bars) == len(strip.bars)
    wide = float(root.get("width", "0"))
    assert all(
        float(rect.get("x", 0)) + float(rect.get("width", 0)) <= wide
        for rect in root.iter(f"{SVG}rect")
        if not rect.get("width", "").endswith("%")
    )


def test_every_protocol_has_a_picture_of_which_every_strip_is_seen() -> None:
    """A path that leads nowhere shows nothing: a name that is misspelt would be seen here."""
    shown: dict[str, set[str]] = {}
    linked = {row for file in generated.documents(ROOT) for row in picture.wanted(file.read_text())}
    others = sorted(row for row in linked if zoo.one(row).protocol not in {zoo.one(one).protocol for one in SHOWN})
    for row in (*SHOWN, "no-idempotence-output", *others):
        drawn, _ = golden(row, True)
        seen = {strip.title for strip in drawn.strips if strip.tag or any(cell.how != "absent" for cell in strip.cells)}
        shown.setdefault(zoo.one(row).protocol, set()).update(seen)
    assert shown.keys() == protocols.protocols().keys()
    for row in (*SHOWN, *others):
        name = zoo.one(row).protocol
        explainer, _, _ = stage(name).golden(zoo.one(row), ())
        assert explainer.picture is not None, name
        assert {one.title for one in explainer.picture.strips} == shown[name], name


# --- small states ---------------------------------------------------------------------------------------------------

A, B = ModelValue("a"), ModelValue("b")


def drawn_of(strip: dict[str, Any], *states: dict[str, Value], columns: tuple[str, ...] = ("a", "b")) -> Diagram:
    """A diagram of these states, one row each, with one strip's definition."""
    rows = tuple(
        StepView(number, "step" if number else "initial", "a", "Act", "Act", (), ()) for number in range(len(states))
    )
    return with_strips(Diagram(columns, rows, (), ()), Picture((definition(strip),)), dict(enumerate(states)))


def test_what_ought_to_be_there_is_asked_of_the_lanes_that_hold_it() -> None:
    state = {"log": Fn({A: (1, 2), B: (1,)}), "sure": (1, 3, 4), "leader": A}
    drawn = drawn_of({"cells": "log[lane]", "agrees": "sure", "holds": ["leader = lane"]}, state)
    assert {strip.lane: hows(strip) for strip in drawn.strips} == {"a": ["stored", "other", "lost"], "b": ["stored"]}
    assert [cell.text for cell in drawn.strips[0].cells] == ["1", "2", "4"]


def test_elements_of_a_set_keep_their_places_and_two_owners_are_seen() -> None:
    one = {"own": Fn({A: frozenset({"p", "q"}), B: frozenset({"p"})}), "era": Fn({A: 1, B: 1})}
    two = {**one, "era": Fn({A: 1, B: 2})}
    drawn = drawn_of({"set": "own[lane]", "exclusive": "in {era[lane]}", "tag": [["", "e{era[lane]}"]]}, one, two)
    assert [hows(strip) for strip in drawn.strips if strip.step == 0] == [
        ["contested", "stored"],
        ["contested", "absent"],
    ]
    assert [hows(strip) for strip in drawn.strips if strip.step == 1] == [["stored", "stored"], ["stored", "absent"]]


def test_open_ranges_duplicates_and_values_that_are_none() -> None:
    record = [Fn({"type": "data", "id": 1}), Fn({"type": "data", "id": 1}), Fn({"type": "marker"})]
    state = {
        "log": Fn({"p": tuple(record)}),
        "entry": Fn({"p": (Fn({"first": -1}), Fn({"first": 1}))}),
        "at": Fn({"p": -1, "q": 3}),
    }
    log = {
        "cells": "log[lane]",
        "text": {"data": "{it.id}", "marker": "end"},
        "unique": ["it.id"],
        "open": {"over": "entry[lane]", "first": "it.first"},
    }
    strip = drawn_of(log, state, columns=("p",)).strips[0]
    assert [(cell.text, cell.how) for cell in strip.cells] == [("1", "twice"), ("1", "twice"), ("end", "stored")]
    assert strip.spans == (1,)
    values = {"lane": "p", "values": "at", "text": "{key}={it}", "none": ["it = -1"]}
    assert [(c.text, c.how) for c in drawn_of(values, state, columns=("p",)).strips[0].cells] == [
        ("", "absent"),
        ("q=3", "stored"),
    ]
    assert [c.text for c in drawn_of({**values, "brief": True}, state, columns=("p",)).strips[0].cells] == ["q=3"]


def test_a_foreign_specification_shows_what_it_has_per_node() -> None:
    state = {
        "log": Fn({A: (7,), B: ()}),
        "mode": Fn({A: "up", B: "down"}),
        "clock": 3,
        "other": Fn({"x": 1}),
        "old": Fn({A: 1, B: 2}),
    }
    picture = fallback(state, ("a", "b"), ("old",))
    assert [one.title for one in picture.strips] == ["log", "mode"]
    rows = (StepView(0, "initial", "", "initial state", "", (), ()),)
    drawn = with_strips(Diagram(("a", "b"), rows, (), ()), picture, {0: state})
    assert [(s.lane, s.title, s.tag, [c.text for c in s.cells]) for s in drawn.strips] == [
        ("a", "log", "", ["7"]),
        ("a", "mode", "up", []),
        ("b", "log", "", []),
        ("b", "mode", "down", []),
    ]
    assert not drawn.whole


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[strip]]\ncells = "logs[lane]"\n', "logs in 'logs[lane]' is no variable of the specification"),
        ('[[strip]]\ncells = "log[lane]"\ntag = [["", "{what.x}"]]\n', "what in 'what.x' is no variable"),
        ('[[strip]]\ncells = "log[lane]"\nbar = "hw"\n', "a strip has no bar; its keys are agrees, "),
        ('[[strip]]\ncells = "log[lane"\n', "'log[lane' is no path into a state"),
        ('[[strip]]\ncells = "log[lane]"\nmarked = ["log"]\n', "'log' is no condition"),
        ('[[strip]]\ncells = "log[lane]"\nmarked = "log = lane"\n', "marked of a strip is a list of conditions"),
        ('[[strip]]\ntitle = "all"\ncells = "log"\n', "the strip 'all' has no lanes"),
        ("strip = 3\n", "is no table of strips"),
        ("[[strip]\n", "is no table of strips"),
    ],
)
def test_a_picture_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "Some.picture.toml").write_text(text)
    with pytest.raises(Unusable, match=re.escape(problem)) as caught:
        picture_of([tmp_path / "SomeProperties.tla", tmp_path / "Some.tla"], ["log"])
    assert "Some.picture.toml" in str(caught.value)


def test_a_module_without_a_picture_has_none(tmp_path: Path) -> None:
    assert picture_of([tmp_path / "Some.tla"], ["log"]) is None
