"""One name in ConsumerGroup848.tla and in the implementation: states and their edges, rules, actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.client import modern_membership
from tidemark.client.modern_consumer import ModernConsumer
from tidemark.errors import BrokenInvariant
from tidemark.group.modern import states
from tidemark.group.modern.coordinator import HeartbeatVerdict, ModernCoordinator
from tidemark.group.modern.flaws import GUARDS, rules_without
from tidemark.group.modern.rules import RULES, Rules
from tidemark.removal import snake_case

SPEC = Path(__file__).parent.parent.parent / "spec" / "group"
TEXT = (SPEC / "ConsumerGroup848.tla").read_text()
PROPERTIES = (SPEC / "ConsumerGroup848Properties.tla").read_text()
RULES_OF_SPEC = re.findall(r'"(\w+)"', TEXT[TEXT.index("\nRules ==") : TEXT.index("\n\n", TEXT.index("\nRules =="))])


def handlers(file: str) -> list[str]:
    """The actions that the specification says this file has."""
    return re.findall(rf"^\\\* (\w+)   who: .*code: {file}$", TEXT, re.MULTILINE)


def named(what: str) -> set[str]:
    """The set of names that the specification defines as `what`."""
    said = re.search(rf"\n{what}\s*== \{{([^}}]*)\}}", TEXT)
    assert said is not None
    return set(re.findall(r"\w+", said.group(1)))


class TestStates:
    def test_members_have_the_specifications(self) -> None:
        assert {state.value for state in states.MemberState} == named("MemberStates")

    def test_consumers_have_the_specifications(self) -> None:
        assert {state.value for state in modern_membership.MemberState} == named("ConsumerStates")

    def test_the_edges_of_members_are_the_specifications(self) -> None:
        body = PROPERTIES[PROPERTIES.index("\nEdge(from, to)") : PROPERTIES.index("\nLegalStateEdgesStep")]
        lines = re.findall(r'from = "(\w+)"\s*-> to \\in \{([^}]*)\}', body)
        edges = {(start, end) for start, ends in lines for end in re.findall(r"\w+", ends)}
        table = {
            (start.value, step.to.value) for (start, _), step in states.TRANSITIONS.items() if start is not step.to
        }
        assert len(table) == 6
        assert table == edges

    def test_no_other_event_is_possible(self) -> None:
        consumer = modern_membership.MemberState.STABLE
        with pytest.raises(BrokenInvariant, match="state STABLE has no event 'the reconciliation is over'"):
            modern_membership.after(
                modern_membership.TRANSITIONS, "a consumer", consumer, modern_membership.MemberEvent.RECONCILED
            )

    def test_every_transition_says_why(self) -> None:
        tables = [*states.TRANSITIONS.values(), *modern_membership.TRANSITIONS.values()]
        assert all(len(transition.why.split()) > 5 for transition in tables)


class TestRules:
    def test_rules_have_the_same_names(self) -> None:
        assert sorted(snake_case(rule) for rule in RULES_OF_SPEC) == sorted(RULES)

    def test_every_rule_says_what_goes_wrong_without_it(self) -> None:
        silent = [rule for rule in RULES if "Without" not in " ".join(getattr(Rules(), rule).__doc__.split())]
        assert silent == []

    def test_every_rule_can_be_removed_and_no_other_changes(self) -> None:
        right = Rules()
        for rule in RULES_OF_SPEC:
            flawed = rules_without({rule})
            assert [one for one in RULES if getattr(flawed, one) is not getattr(right, one)] == [snake_case(rule)]
        assert set(RULES) >= GUARDS


class TestHandlers:
    def test_every_action_of_the_coordinator_has_a_handler(self) -> None:
        names = [snake_case(name) for name in handlers("group/modern/coordinator.py")]
        assert len(names) > 10
        assert [name for name in names if not callable(getattr(ModernCoordinator, name, None))] == []

    def test_every_action_of_the_consumer_has_a_handler(self) -> None:
        names = {snake_case(name) for name in handlers("client/modern_consumer.py")} - {"start_consumer"}
        assert len(names) > 9
        assert [name for name in sorted(names) if not callable(getattr(ModernConsumer, name, None))] == []

    def test_every_verdict_names_its_handler(self) -> None:
        assert {verdict.value for verdict in HeartbeatVerdict} <= set(
            map(snake_case, handlers("group/modern/coordinator.py"))
        )
