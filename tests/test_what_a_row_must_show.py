"""The kill matrix's requirements on a row, each shown something that must not pass: no Spark, no TLC, streams by hand.

The rows include an implementation that does nothing, a flaw under another name, and traces that could not be judged.
Every one must turn its row red. The example is two-phase commit.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import two_phase_simulator
from rich.console import Console
from shown import RULE, SHOWN, cleaned, cut, hasty, killed, nothing, outcome, row, sound
from tidemark_conformance.errors import Unusable
from tidemark_conformance.registry.zoo import Row, Simulation
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tlc.verify import Outcome
from tidemark_conformance.verify import matrix
from tidemark_conformance.verify.matrix import Killed
from tidemark_conformance.verify.matrix_table import Matrix, Unflawed, render


def why(given: Row, found: Killed) -> str:
    """The printed matrix's reason why a row is not as expected."""
    console = Console(width=300, record=True, file=io.StringIO())
    shown = Matrix([given], {given.id: outcome(given.property)}, {given.id: found}, {}, 1.0)
    assert shown.ok == found.ok
    render(shown, console)
    lines = [line for line in console.export_text().splitlines() if "not as expected" in line]
    return lines[0].rstrip().rpartition(": ")[2] if lines else ""


def test_a_flaw_that_shows_itself_is_killed(specification: Specification) -> None:
    found = killed(specification, row(), nothing, hasty, hasty)
    assert (found.simulated, found.by_step, found.by_property, found.strange, found.undecided) == (3, 2, 2, 0, 0)
    assert (found.first, found.first_step, found.facts) == ("seed-1", 3, {"seeds": 3})
    assert found.ok
    assert why(row(), found) == ""


@pytest.mark.parametrize(
    ("given", "streams", "reason"),
    [
        (row(), [nothing, nothing], "no trace shows it"),
        (row(), [partial(hasty, harm=False)], "no trace shows it"),
        (row(prop="OneDecision"), [hasty], "no trace shows it"),
        (row(rules=["KeepDecision"]), [hasty], "1 traces do not conform without the row's rules"),
        (row(), [hasty, cut], "2 traces are undecided"),
        (row(unseen="too rare"), [partial(hasty, harm=False), cut], "2 traces are undecided"),
        (row(unseen="too rare"), [nothing], "no trace has a wrong step, so the flaw may not be there"),
        (row(unseen="too rare"), [hasty], "the traces show it although it is excused"),
        (row(rules=["KeepDecision"], unseen="too rare"), [hasty], "1 traces do not conform without the row's rules"),
    ],
    ids=[
        "an implementation that does nothing",
        "a difference that does no harm",
        "another property falls",
        "another rule is missing",
        "a trace is undecided (by both specifications)",
        "an undecided trace of an excused row",
        "an excused row whose flaw is not there",
        "an excuse that is stale",
        "an excused row whose traces are not of the flawed specification",
    ],
)
def test_a_row_that_is_not_as_expected(
    specification: Specification, given: Row, streams: list[Callable[[], bytes]], reason: str
) -> None:
    found = killed(specification, given, *streams)
    assert not found.ok
    assert why(given, found) == reason


def test_an_excused_row_of_which_the_wrong_step_is_seen(specification: Specification) -> None:
    assert killed(specification, row(unseen="too rare"), nothing, partial(hasty, harm=False)).ok


def test_a_rows_seeds_are_simulated_with_its_flaw(
    specification: Specification, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, with what the row gives the simulator, and nodes by the names that the protocol has."""

    def factory(header: dict[str, Any], **options: Any) -> Callable[[int], tuple[int, list[str], dict[str, Any]]]:
        return lambda seed: (seed, header["nodes"], options)

    monkeypatch.setattr(two_phase_simulator, "factory", factory)
    given = dataclasses.replace(row(), simulation=Simulation(700, 501, 33, {"profile": "late"}))
    tasks = list(matrix._tasks(given, SHOWN, specification))
    nodes = list(two_phase_simulator.NODES)
    assert {task.nodes for task in tasks} == {len(nodes)}
    asked = [task.simulate(seed) for task in tasks for seed in range(task.first, task.stop)]
    options = {"steps": 33, "flaw": "hasty", "profile": "late"}
    assert asked == [(seed, nodes, options) for seed in range(700, 1201)]


def test_a_property_that_nobody_checks_is_refused(specification: Specification) -> None:
    with pytest.raises(Unusable, match=r"expects Safety to fall, which TwoPhase\.cfg does not check"):
        killed(specification, row(prop="Safety"), hasty)


def test_a_wrong_step_is_counted_once_though_it_is_judged_twice(specification: Specification) -> None:
    found = killed(specification, row(rules=["KeepDecision"]), hasty)
    assert (found.by_step, found.strange) == (1, 1)


def test_what_strange_parts_add_up_to(specification: Specification) -> None:
    found = killed(specification, row(), hasty)
    strange = matrix.merge(row(), [found, dataclasses.replace(found, strange=1)])
    assert (strange.strange, strange.ok) == (1, False)
    assert not matrix.merge(row(), [found, dataclasses.replace(found, undecided=1)]).ok
    assert not matrix.merge(row(), []).ok
    unseen = row(unseen="too rare")
    assert why(unseen, matrix.merge(unseen, [])) == "nothing was simulated"


def test_the_first_trace_that_shows_a_row_is_the_first_by_its_number(specification: Specification) -> None:
    found = killed(specification, row(), hasty)
    parts = [dataclasses.replace(found, first=f"seed-{seed}", first_step=seed) for seed in (1003, 37, 250)]
    merged = matrix.merge(row(), [*parts, dataclasses.replace(found, first="", first_step=None)])
    assert (merged.first, merged.first_step) == ("seed-37", 37)


@pytest.mark.parametrize(
    ("excused", "by_tlc", "ok"),
    [
        ("", outcome(), True),
        ("", None, False),
        ("", outcome(fell="OneDecision"), False),
        ("", outcome(problems=("OneDecision fell, expected Consistency",)), False),
        ("its model takes a day", None, True),
        ("its model takes a day", outcome(), False),
    ],
)
def test_a_row_needs_both_sides(specification: Specification, excused: str, by_tlc: Outcome | None, ok: bool) -> None:
    given = dataclasses.replace(row(), excused=excused)
    good, bad = killed(specification, given, hasty), killed(specification, given, nothing)
    shown = Matrix([given], {given.id: by_tlc}, {given.id: good}, {}, 1.0)
    assert (shown.row_ok(given), shown.ok, shown.document()["ok"]) == (ok, ok, ok)
    assert not Matrix([given], {given.id: by_tlc}, {given.id: bad}, {}, 1.0).row_ok(given)


def test_every_column_of_the_matrix_has_its_own_number() -> None:
    given = row()
    found = Killed(given, 10, 4, 0, 2, "seed-1", 3, 0, {"seeds": 10}, 0.1)
    by_tlc = outcome(given.property)
    by_tlc = dataclasses.replace(by_tlc, result=dataclasses.replace(by_tlc.result, distinct=99, depth=6))
    shown = Matrix([given], {given.id: by_tlc}, {given.id: found}, {}, 1.0)
    console = Console(width=300, record=True, file=io.StringIO())
    render(shown, console)
    (line,) = (one.split() for one in console.export_text().splitlines() if one.startswith("7 "))
    assert line == ["7", "hasty", RULE, "Consistency", "6", "10", "2", "4", "yes"]
    (told,) = shown.document()["rows"]
    assert (told["spec"]["killed"], told["spec"]["depth"], told["spec"]["cached"]) == (True, 6, by_tlc.cached)
    traces = told["traces"]
    assert (traces["simulated"], traces["property_falls_in"], traces["not_a_step_in"]) == (10, 2, 4)
    assert (traces["first_failure"], traces["first_step"], traces["undecided"]) == ("seed-1", 3, 0)
    by_step = dataclasses.replace(found, by_property=0, strange=1)
    (told,) = Matrix([given], {given.id: by_tlc}, {given.id: by_step}, {}, 1.0).document()["rows"]
    told = told["traces"]
    assert (told["killed_by_property"], told["killed_by_step"], told["conforms_without_rules"]) == (False, True, False)


def test_all_of_a_rows_rules_are_out_of_force(specification: Specification) -> None:
    found = killed(specification, row(rules=["KeepDecision", RULE]), hasty)
    assert (found.by_step, found.strange, found.by_property) == (1, 0, 1)


def test_an_undecided_trace_is_a_flag_of_the_unflawed(specification: Specification) -> None:
    assert Unflawed.of(cleaned(specification, [*sound(), hasty(), cut()])).flags == 2


def test_no_row_and_a_flagged_clean_trace_are_no_success(specification: Specification) -> None:
    found = {"hasty": killed(specification, row(), hasty)}
    assert not Matrix([], {}, {}, {}, 1.0).ok
    assert Matrix([row()], {"hasty": outcome()}, found, {"two-phase": Unflawed(100, 0)}, 1.0).ok
    assert not Matrix([row()], {"hasty": outcome()}, found, {"two-phase": Unflawed(100, 1)}, 1.0).ok
    assert not Matrix([row()], {"hasty": outcome()}, found, {"two-phase": Unflawed(100, 0, ["1 x loss"])}, 1.0).ok
