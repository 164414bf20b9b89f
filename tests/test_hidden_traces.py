"""Traces that show a part: the computed values, the compared ones, and the text of a verdict."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from part_traces import Event, compiled, election, judge, lines, specification, stream
from tidemark_conformance.audit import oracle
from tidemark_conformance.audit.oracle import Judged
from tidemark_conformance.audit.result import Oracle
from tidemark_conformance.errors import Unusable
from tidemark_conformance.tla.kernels.driver import REASONS
from tidemark_conformance.tla.spec import Specification
from tidemark_conformance.tla.types import decode
from tidemark_conformance.tlc.backends import KernelsBackend
from tidemark_conformance.tlc.walks import Record, Walk
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


def test_a_walk_beyond_a_computed_capacity_is_undecided_and_names_the_variable() -> None:
    """The comparison with TLC replays walks, and must say what an audit says of them."""
    backend = KernelsBackend(election())
    zeros = [0] * backend.layout.cells
    state = {one.name: decode(one.type, zeros, one.offset) for one in backend.layout.variables}
    stands = (Record("Stand", (backend.domains("Stand")[0][0],), state),) * 7
    (found,) = backend.replay([Walk(state, stands, False, 0, {})])
    assert found == {"undecided: capacity exceeded by the computed term": 0}


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


# --- TLC's word -------------------------------------------------------------------------------------------------------

OUT_OF_ORDER = [GOOD[0], GOOD[1], GOOD[3], GOOD[4], GOOD[2], GOOD[6]]


def judged_by_tlc(spec: Specification, traces: list[list[Event]]) -> Oracle:
    """TLC's replay of these traces beside the kernels' verdicts."""
    kernels, schema = compiled(spec)
    names = {0: "not-a-step", **{1 + at: "invariant" for at in range(len(kernels.invariants))}}
    judged = []
    for number, events in enumerate(traces):
        data = stream(schema, events)
        found = kernels.check(np.frombuffer(data, np.uint8), np.array([0, len(data)]))
        failures = {}
        for at, step in enumerate(found.first[0].tolist()):
            name = kernels.checks[at]
            kind = "observation" if name.startswith("Observed.") else names.get(at, "action-property")
            if step >= 0:
                failures[kind, events[step].get("action", "") if at == 0 else name] = step
        judged.append(Judged(f"t{number}", data, failures))
    return oracle.compare(spec, schema, judged)[0]


def test_tlc_computes_what_is_hidden_and_compares_what_is_observed() -> None:
    wrong = [changed(*one) for one in WRONG]
    found = judged_by_tlc(election(), [GOOD, blind(GOOD), *wrong, OUT_OF_ORDER, blind(OUT_OF_ORDER)])
    assert (found.replayed, found.disagreements) == (len(wrong) + 4, ())


def test_tlc_contradicts_an_audit_that_believes_what_is_observed() -> None:
    _, schema = compiled(election())
    for events, step in ((changed(2, "after", "n2", "vote", "n2"), 2), (changed(3, "before", "n1", "backers", 2), 3)):
        found, _ = oracle.compare(election(), schema, [Judged("t", stream(schema, events), {})])
        (said,) = found.disagreements
        assert said.endswith(f"falls at step {step} in TLC and nowhere in the audit")
    found, _ = oracle.compare(election(), schema, [Judged("t", stream(schema, blind(OUT_OF_ORDER)), {})])
    assert found.disagreements == ("trace t: TLC rejects step 3, the audit takes every step",)


observed = st.sampled_from(
    [("term", value) for value in range(3)]
    + [("role", value) for value in ("follower", "candidate", "leader")]
    + [("vote", value) for value in ("nobody", "n1", "n2", "n3")]
    + [("backers", value) for value in range(4)]
)


def test_kernels_and_tlc_see_the_same_in_any_observation() -> None:
    """A hundred traces of one length, each with observations at random, right and wrong, in one run of TLC."""
    traces: list[list[Event]] = []

    @given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.sampled_from(["n1", "n2", "n3"]), observed)))
    @settings(max_examples=100, database=None)
    def collect(said: list[tuple[int, bool, str, tuple[str, Any]]]) -> None:
        events = blind(GOOD)
        for step, after, observer, (field, value) in said:
            side = "after" if after or step == 0 else "before"
            events[step].setdefault(side, {}).setdefault(observer, {})[field] = value
        traces.append(events)

    collect()
    verdicts = {judge(election(), events).verdict for events in traces}
    assert verdicts == {"pass", "fail"}
    found = judged_by_tlc(election(), traces)
    assert (found.replayed, found.disagreements) == (len(traces), ())
