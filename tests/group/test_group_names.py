"""One name in ClassicGroup.tla and in the coordinator: states and their edges, rules, actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.errors import BrokenInvariant
from tidemark.group.coordinator import GroupCoordinator, JoinVerdict
from tidemark.group.flaws import GUARDS, rules_without
from tidemark.group.rules import RULES, Rules
from tidemark.group.states import TRANSITIONS, GroupEvent, GroupState, next_state
from tidemark.removal import snake_case

SPEC = Path(__file__).parent.parent.parent / "spec" / "group"
TEXT = (SPEC / "ClassicGroup.tla").read_text()
PROPERTIES = (SPEC / "ClassicGroupProperties.tla").read_text()
RULES_OF_SPEC = re.findall(r'"(\w+)"', TEXT[TEXT.index("\nRules ==") : TEXT.index("\n\n", TEXT.index("\nRules =="))])
HANDLERS = re.findall(r"^\\\* (\w+)   who: .*code: group/coordinator.py$", TEXT, re.MULTILINE)


def edges_of_spec() -> set[tuple[str, str]]:
    """`Edge(from, to)`, read from the text."""
    body = PROPERTIES[PROPERTIES.index("\nEdge(from, to)") : PROPERTIES.index("\n\\* One handler may prepare")]
    lines = re.findall(r'from = "(\w+)"\s*-> to (?:= "(\w+)"|\\in \{([^}]*)\})', body)
    return {(start, end) for start, one, many in lines for end in ([one] if one else re.findall(r"\w+", many))}


class TestStates:
    def test_the_states_are_the_specifications(self) -> None:
        said = re.search(r"\nStates\s+== \{([^}]*)\}", TEXT)
        assert said is not None
        assert {state.value for state in GroupState} == set(re.findall(r"\w+", said.group(1)))

    def test_the_edges_are_the_specifications(self) -> None:
        """Loading and unloading apart, which the specification allows beside `Edge`."""
        dead = GroupState.DEAD
        table = {
            (start.value, transition.to.value)
            for (start, _), transition in TRANSITIONS.items()
            if dead not in (start, transition.to)
        }
        assert len(table) == 6
        assert table == edges_of_spec()

    def test_a_group_is_loaded_and_unloaded(self) -> None:
        dead = GroupState.DEAD
        assert {to.to for (start, _), to in TRANSITIONS.items() if start is dead} == {
            GroupState.EMPTY,
            GroupState.STABLE,
        }
        assert {start for (start, _), to in TRANSITIONS.items() if to.to is dead} == set(GroupState) - {dead}

    def test_no_other_event_is_possible(self) -> None:
        with pytest.raises(BrokenInvariant, match="state Empty has no event 'the assignment has committed'"):
            next_state(GroupState.EMPTY, GroupEvent.ASSIGNED)

    def test_every_transition_says_why(self) -> None:
        assert all(len(transition.why.split()) > 5 for transition in TRANSITIONS.values())


class TestRules:
    def test_rules_have_the_same_names(self) -> None:
        assert [snake_case(rule) for rule in RULES_OF_SPEC] == list(RULES)

    def test_every_rule_says_what_goes_wrong_without_it(self) -> None:
        for rule in RULES:
            assert "Without it" in " ".join(getattr(Rules(), rule).__doc__.split())

    def test_every_rule_can_be_removed_and_no_other_changes(self) -> None:
        right = Rules()
        for rule in RULES_OF_SPEC:
            flawed = rules_without({rule})
            assert [one for one in RULES if getattr(flawed, one) is not getattr(right, one)] == [snake_case(rule)]
        assert set(RULES) >= GUARDS

    def test_an_unknown_rule_is_refused(self) -> None:
        with pytest.raises(ValueError, match="no rule Persist"):
            rules_without({"Persist"})


class TestHandlers:
    def test_every_action_of_the_coordinator_has_a_handler(self) -> None:
        assert len(HANDLERS) == 18
        assert [name for name in map(snake_case, HANDLERS) if not callable(getattr(GroupCoordinator, name, None))] == []

    def test_every_verdict_names_its_handler(self) -> None:
        assert {verdict.value for verdict in JoinVerdict} <= set(map(snake_case, HANDLERS))
