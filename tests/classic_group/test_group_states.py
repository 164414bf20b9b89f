"""The states of a classic group and their edges are those of ClassicGroup.tla."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.classic_group.coordinator import JoinVerdict
from tidemark.classic_group.states import TRANSITIONS, GroupEvent, GroupState, next_state
from tidemark.common.errors import BrokenInvariant
from tidemark.common.naming import snake_case

SPEC = Path(__file__).parent.parent.parent / "spec" / "classic_group"
TEXT = (SPEC / "ClassicGroup.tla").read_text()
PROPERTIES = (SPEC / "ClassicGroupProperties.tla").read_text()


def edges_of_spec() -> set[tuple[str, str]]:
    """`Edge(from, to)`, read from the text."""
    body = PROPERTIES[PROPERTIES.index("\nEdge(from, to)") : PROPERTIES.index("\nLegalEdge(")]
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


def test_every_verdict_names_its_handler() -> None:
    """That the coordinator has a handler for each of these actions is asked in test_names.py."""
    actions = re.findall(r"^\\\* (\w+)   who: .*code: classic_group/coordinator.py$", TEXT, re.MULTILINE)
    assert {verdict.value for verdict in JoinVerdict} <= set(map(snake_case, actions))
