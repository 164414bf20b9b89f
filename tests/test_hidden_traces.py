"""Traces that show a part: what is computed, what is compared, and what a verdict says."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES
from part_traces import Event, compiled, election, judge, lines, specification, stream
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.driver import REASONS
from tidemark_conformance.trace.lines import split_traces
from tidemark_conformance.trace.ndjson import LineReader

GOOD: list[Event] = [
    {"after": {"n1": {"term": 0, "role": "follower"}, "n3": {"vote": "nobody"}}},
    {
        "action": "Stand",
        "params": {"n": "n1"},
        "before": {"n1": {"term": 0}},
        "after": {"n1": {"term": 1, "role": "candidate", "vote": "n1"}},
    },
    {"action": "Grant", "params": {"n": "n2", "c": "n1", "t": 1}, "after": {"n2": {"term": 1, "vote": "n1"}}},
    {"action": "Lead", "params": {"n": "n1"}, "blocked": True, "before": {"n1": {"backers": 1}}},
    {"action": "Count", "params": {"n": "n1", "v": "n2"}, "after": {"n1": {"backers": 2}}},
    {"before": {"n1": {"backers": 2}}, "after": {"n1": {"backers": 2}}},
    {"action": "Lead", "params": {"n": "n1"}, "after": {"n1": {"role": "leader"}}},
]


def changed(step: int, side: str, observer: str, field: str, value: Any) -> list[Event]:
    events = copy.deepcopy(GOOD)
    events[step].setdefault(side, {}).setdefault(observer, {})[field] = value
    return events


def blind(events: list[Event]) -> list[Event]:
    return [{key: value for key, value in event.items() if key not in ("before", "after")} for event in events]


def test_a_good_trace_passes_and_its_observations_are_counted() -> None:
    found = judge(election(), GOOD)
    assert (found.verdict, found.first) == ("pass", {})
    assert found.told == (3, 3, 3, 3, 7, 0)


def test_a_trace_that_observes_nothing_passes_as_one_that_is_silent() -> None:
    found = judge(election(), blind(GOOD))
    assert (found.verdict, found.told) == ("pass", (0, 0, 0, 0, 7, 1))


WRONG = [
    (0, "after", "n1", "term", 1),
    (0, "after", "n3", "vote", "n1"),
    (1, "before", "n1", "role", "leader"),
    (1, "after", "n1", "term", 10**30),
    (1, "after", "n1", "term", -(2**63)),
    (2, "after", "n2", "vote", "n2"),
    (2, "after", "n1", "vote", "n4"),
    (3, "before", "n1", "backers", 2),
    (3, "after", "n1", "backers", 2),
    (4, "before", "n1", "backers", 2),
    (5, "after", "n2", "term", 0),
    (6, "after", "n1", "role", "king"),
    (6, "after", "n2", "role", "leader"),
]


@pytest.mark.parametrize(("step", "side", "observer", "field", "value"), WRONG)
def test_a_wrong_observation_fails_at_its_step(step: int, side: str, observer: str, field: str, value: Any) -> None:
    found = judge(election(), changed(step, side, observer, field, value))
    assert (found.verdict, found.first) == ("fail", {f"Observed.{field}": step})


@pytest.mark.parametrize("left_out", range(1, 7))
def test_a_step_that_is_left_out_is_noticed_where_something_depends_on_it(left_out: int) -> None:
    events = [event for step, event in enumerate(GOOD) if step != left_out]
    expected = {1: "not a step", 2: "not a step", 3: None, 4: "Observed.backers", 5: None, 6: None}[left_out]
    found = judge(election(), events)
    assert (expected in found.first) if expected else (found.verdict == "pass")
    assert (found.verdict == "fail") == (expected is not None)


def test_steps_in_another_order_are_no_steps() -> None:
    events = [GOOD[0], GOOD[1], GOOD[3], GOOD[4], GOOD[2], GOOD[6]]
    assert judge(election(), events).first["not a step"] == 3
    assert judge(election(), blind(events)).first["not a step"] == 3


def test_a_failed_action_is_taken_at_its_word_so_that_the_harm_is_seen() -> None:
    second: list[Event] = [
        {"action": "Stand", "params": {"n": "n3"}},
        {"action": "Grant", "params": {"n": "n2", "c": "n3", "t": 1}, "after": {"n2": {"vote": "n3"}}},
        {"action": "Count", "params": {"n": "n3", "v": "n2"}},
        {"action": "Lead", "params": {"n": "n3"}},
    ]
    found = judge(election(), [*GOOD, *second])
    assert (found.verdict, found.first) == ("fail", {"not a step": 8, "OneLeader": 10})


def test_a_computed_value_beyond_its_capacity_is_undecided_and_names_the_variable() -> None:
    stands: list[Event] = [{}, *[{"action": "Stand", "params": {"n": "n1"}}] * 7]
    found = judge(election(), stands)
    assert (found.verdict, found.reason) == ("undecided", "capacity exceeded by the computed term")
    assert judge(election(), stands[:7]).verdict == "pass"
    failing = [{"after": {"n1": {"term": 3}}}, *stands[1:]]
    assert judge(election(), failing).first == {"Observed.term": 0}
    assert judge(election(), failing).verdict == "fail"


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        ({"after": {"n1": {"term": "1"}}}, "an integer is expected"),
        ({"after": {"n1": {"role": 1}}}, "where one of"),
        ({"after": {"n9": {"term": 1}}}, "not among Observers"),
        ({"after": {"n1": {"log": 1}}}, "no field of Observed"),
        ({"after": {"n1": 1}}, "no object of the fields of Observed"),
        ({"before": [1]}, "no object of observers"),
        ({"action": "Stand", "params": {"n": "n1"}, "delta": {"term": {"n1": 1}}}, "term is a hidden variable"),
    ],
)
def test_lines_that_mean_nothing_are_refused(event: Event, complaint: str) -> None:
    schema = compiled(election())[1]
    with pytest.raises(Unusable, match=complaint):
        stream(schema, [{}, event])


def test_the_first_record_has_no_before() -> None:
    schema = compiled(election())[1]
    with pytest.raises(Unusable, match="a first step has no key 'before'"):
        stream(schema, [{"before": {"n1": {"term": 0}}}])


def test_a_rule_in_a_hidden_variables_update_is_counted_once_a_step(tmp_path: Path) -> None:
    text = (EXAMPLES / "election" / "Election.tla").read_text()
    kept = "    /\\ UNCHANGED <<term, votedFor, requests, votes>>\n\nNext =="
    assert text.count(kept) == 1
    lost = '    /\\ votedFor\' = [votedFor EXCEPT ![n] = IF Has("Disk") /\\ Disk(n) THEN @ ELSE Nobody]\n'
    lost += "    /\\ UNCHANGED <<term, requests, votes>>\n\nNext =="
    text = text.replace(kept, lost).replace("Init ==", "Disk(n) == term[n] > 0\n\nInit ==", 1)
    spec = specification(tmp_path, "Election", text, EXAMPLES / "election" / "Election.cfg")
    events: list[Event] = [
        {},
        {"action": "Restart", "params": {"n": "n1"}},
        {"action": "Stand", "params": {"n": "n1"}},
        *[{"action": "Restart", "params": {"n": "n1"}, "after": {"n1": {"vote": "n1"}}}] * 2,
        {"action": "Lead", "params": {"n": "n1"}, "blocked": True},
    ]
    kernels, schema = compiled(spec)
    data = stream(schema, events)
    found = kernels.check(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
    assert found.verdict.tolist() == [0]
    assert dict(zip(kernels.rules, found.rules.tolist(), strict=True))["Disk"] == [2, 1]


def test_a_truncated_trace_is_undecided() -> None:
    schema = compiled(election())[1]
    for cut in range(1, len(GOOD) + 1):
        (raw,) = split_traces(lines(GOOD)[:cut])
        data = LineReader(schema, (), "test").stream(raw)[1]
        assert _verdict(data) == ("undecided", "no end record")
    whole = stream(schema, GOOD)
    for size in range(len(whole)):
        assert _verdict(whole[:size])[0] == "undecided"


def _verdict(data: bytes) -> tuple[str, str]:
    found = compiled(election())[0].check(np.frombuffer(data or b"\0", np.uint8), np.array([0, len(data)]))
    return ("pass", "fail", "undecided")[found.verdict[0]], REASONS[found.reason[0]]
