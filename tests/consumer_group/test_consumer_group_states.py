"""The states of a KIP-848 group's members and consumers, and their edges, are those of ConsumerGroup848.tla."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.common.errors import BrokenInvariant
from tidemark.common.naming import snake_case
from tidemark.consumer_group import membership as consumer_group_membership
from tidemark.consumer_group import states
from tidemark.consumer_group.coordinator import HeartbeatVerdict

SPEC = Path(__file__).parent.parent.parent / "spec" / "consumer_group"
TEXT = (SPEC / "ConsumerGroup848.tla").read_text()
PROPERTIES = (SPEC / "ConsumerGroup848Properties.tla").read_text()


def named(what: str) -> set[str]:
    """The set of names that the specification defines as `what`."""
    said = re.search(rf"\n{what}\s*== \{{([^}}]*)\}}", TEXT)
    assert said is not None
    return set(re.findall(r"\w+", said.group(1)))


class TestStates:
    def test_members_have_the_specifications(self) -> None:
        assert {state.value for state in states.MemberState} == named("MemberStates")

    def test_consumers_have_the_specifications(self) -> None:
        assert {state.value for state in consumer_group_membership.MemberState} == named("ConsumerStates")

    def test_the_edges_of_members_are_the_specifications(self) -> None:
        """`LegalEdge` says, of each state, by what a member comes to it, from any other one."""
        body = PROPERTIES[PROPERTIES.index("\nLegalEdge(") : PROPERTIES.index("\nLegalStateEdgesStep")]
        reached = re.findall(r'new\.state = "(\w+)"\s*->', body)
        table = {
            (start.value, step.to.value) for (start, _), step in states.TRANSITIONS.items() if start is not step.to
        }
        assert len(table) == 6
        assert table == {(start, end) for end in reached for start in named("MemberStates") - {end}}

    def test_no_other_event_is_possible(self) -> None:
        consumer = consumer_group_membership.MemberState.STABLE
        with pytest.raises(BrokenInvariant, match="state STABLE has no event 'the reconciliation is over'"):
            consumer_group_membership.after(
                consumer_group_membership.TRANSITIONS,
                "a consumer",
                consumer,
                consumer_group_membership.MemberEvent.RECONCILED,
            )

    def test_every_transition_says_why(self) -> None:
        tables = [*states.TRANSITIONS.values(), *consumer_group_membership.TRANSITIONS.values()]
        assert all(len(transition.why.split()) > 5 for transition in tables)


def test_every_verdict_names_its_handler() -> None:
    """That the coordinator has a handler for each of these actions is asked in test_names.py."""
    actions = re.findall(r"^\\\* (\w+)   who: .*code: consumer_group/coordinator.py$", TEXT, re.MULTILINE)
    assert {verdict.value for verdict in HeartbeatVerdict} <= set(map(snake_case, actions))
