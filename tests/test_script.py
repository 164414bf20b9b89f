"""Scenarios whose verbs are the actions of a specification (`tidemark.simulator.script`): the forms of a line, the
refused ones, and transcripts. One is that of an event that did not happen as its line says. The golden ones are in
test_golden.py.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from simulated import SIMULATED
from tidemark.classic_group.rules import Rules
from tidemark.classic_group.sim.scenario import STAGE
from tidemark.common.removal import rules_without
from tidemark.simulator.script import ScenarioError, Stage, run_script
from tidemark_conformance.registry.protocols import protocols


def stages() -> dict[str, Stage]:
    """The stage of every protocol that is driven by the names of its actions."""
    modules = {
        name: importlib.import_module(f"{known.package}.sim.scenario")
        for name, known in protocols().items()
        if known.scripted
    }
    return {name: module.STAGE for name, module in modules.items() if hasattr(module, "STAGE")}


STAGES = stages()


def header_of(name: str) -> dict[str, Any]:
    """The header of a protocol's traces."""
    return next(one.header for one in SIMULATED if one.protocol == name)


@pytest.fixture(scope="module")
def group() -> dict[str, Any]:
    """The header of the classic group."""
    return header_of("classic-group")


def test_the_classic_group_has_a_stage() -> None:
    assert STAGES["classic-group"] is STAGE


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_has_an_event_for_every_action(name: str) -> None:
    actions = {one["name"]: set(one["params"]) for one in header_of(name)["actions"]}
    assert set(STAGES[name].events) == set(actions)
    for action, event in STAGES[name].events.items():
        taken = event.__code__.co_varnames[1 : event.__code__.co_argcount]
        assert set(taken) <= actions[action], action


@pytest.mark.parametrize("name", STAGES)
def test_an_option_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(ScenarioError, match="line 1: 'begin weather=fine' lacks something"):
        run_script(STAGES[name], header_of(name), "begin weather=fine")


BEGINNING = """
StartConsumer c1 eager
SendJoin c1 b1
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Dance c1", "line 1: there is no action Dance"),
        ("StartConsumer c9 eager", "line 1: 'StartConsumer c9 eager': StartConsumer has no parameter c9"),
        ("StartConsumer c1", "line 1: 'StartConsumer c1' lacks something"),
        ("BecomeCoordinator b2 keep=99", "line 1: 'BecomeCoordinator b2 keep=99' lacks something"),
        ("BecomeCoordinator b2 keep=0 mood=3", "BecomeCoordinator has no parameter mood=3"),
        ("StartConsumer c1 eager\nbegin", "line 2: how it begins is said before the first event"),
        ("begin coordinator=b9", "line 1: 'begin coordinator=b9' lacks something"),
        ("begin partitions={p9}", "line 1: 'begin partitions={p9}' lacks something"),
        ("StartConsumer c1 eager\nexpect right: c1: m1", "line 2: expected c1: m1"),
        ("StartConsumer c1 eager\nexpect right: not c1: {}", "line 2: expected not c1: {}"),
        ("expect right: c9: m1", "line 1: 'expect right: c9: m1' lacks something"),
    ],
)
def test_a_line_that_says_nothing_is_refused(group: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        run_script(STAGE, group, text)
    assert message in str(refused.value)


def test_without_the_rules_every_line_happens_as_it_says(group: dict[str, Any]) -> None:
    flawed = rules_without(Rules, ("JoinNamesMemberId",))
    with pytest.raises(ScenarioError, match=r"line 4: IssueMemberId b1 c1   \(instead: AddMember b1 c1 m=1\)"):
        run_script(STAGE, group, f"{BEGINNING}IssueMemberId b1 c1", flawed)
    with pytest.raises(ScenarioError, match=r"line 4: AddMember b1 c1 m=2   \(instead: AddMember b1 c1 m=1\)"):
        run_script(STAGE, group, f"{BEGINNING}AddMember b1 c1 m=2", flawed)
    with pytest.raises(ScenarioError, match=r"line 4: CommitEntry b1   \(not possible\)"):
        run_script(STAGE, group, f"{BEGINNING}CommitEntry b1", flawed)


def test_with_the_rules_it_may_end_differently(group: dict[str, Any]) -> None:
    result = run_script(STAGE, group, f"{BEGINNING}AddMember b1 c1\nCommitEntry b1\nright: LoseMemberRpc c1")
    assert result.transcript.splitlines()[3:] == [
        "3-4   AddMember b1 c1   (instead: IssueMemberId b1 c1 m=1)  joining {}  Empty g0 m1?",
        "      CommitEntry b1   (not possible)                       joining {}  Empty g0 m1?",
        "5     LoseMemberRpc c1                                      joining {}  Empty g0 m1?",
    ]
    assert result.impossible == 1


def test_what_only_the_right_run_does_is_left_out_of_the_flawed_one(group: dict[str, Any]) -> None:
    text = f"{BEGINNING}right: LoseMemberRpc c1\nexpect right: c1: nonsense"
    result = run_script(STAGE, group, text, rules_without(Rules, ("JoinNamesMemberId",)))
    assert "LoseMemberRpc" not in result.transcript


def test_whoever_nothing_happens_to_has_no_column(group: dict[str, Any]) -> None:
    head = run_script(STAGE, group, BEGINNING).transcript.splitlines()[0]
    assert head.split() == ["step", "event", "c1"]


def test_sets_numbers_and_truth_values_are_said_by_name(group: dict[str, Any]) -> None:
    text = f"{BEGINNING}RepeatMemberRequest c1\nIssueMemberId late b1 c1 m=1\nChangeSubscription c1 {{p2,p1}}"
    shown = run_script(STAGE, group, text)
    assert shown.impossible == 0
    assert "instead" not in shown.transcript


WAITS = """
begin partitions={p1}
StartConsumer c1
SendHeartbeat c1 b1
AssignOnHeartbeat b1 c1
CommitEntry b1
ReceiveHeartbeat c1
AddPartition p2
wait MILLISECONDS
SendHeartbeat c1 b1
HandleHeartbeat b1 c1
"""


def test_time_goes_by_where_a_text_says_so() -> None:
    """A coordinator of KIP-848 looks for new partitions every few seconds."""
    soon, late = (
        run_script(STAGES["consumer-group"], header_of("consumer-group"), WAITS.replace("MILLISECONDS", milliseconds))
        for milliseconds in ("0", "10000")
    )
    assert "instead" not in soon.transcript
    assert "HandleHeartbeat b1 c1   (instead: AssignOnHeartbeat b1 c1)" in late.transcript


def test_a_wait_says_how_long_and_needs_a_clock(group: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match="line 1: 'wait' lacks something"):
        run_script(STAGE, group, "wait")
    with pytest.raises(ScenarioError, match="line 1: there is no action wait"):
        run_script(STAGES["offsets"], header_of("offsets"), "wait 1000")


def test_a_rule_that_refuses_is_told_from_what_cannot_be() -> None:
    header = header_of("idempotence")
    text = "GetProducerId c1\nSendBatch c1 p1 b1\nAppendBatch b1 c1 p1\nExpireProducer p1 pid=1\nBumpEpoch c1"
    shown = run_script(STAGES["idempotence"], header, text).transcript
    assert "ExpireProducer p1 pid=1   (a rule says no)" in shown
    assert "BumpEpoch c1   (not possible)" in shown
