"""One name in Offsets.tla and in the implementation: rules, actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.group.offset_coordinator import OffsetCoordinator
from tidemark.group.offset_flaws import GUARDS, rules_without
from tidemark.group.offset_rules import OFFSET_RULES, OffsetRules
from tidemark.removal import snake_case
from tidemark.sim.offsets.cluster import OffsetsCluster

TEXT = (Path(__file__).parent.parent.parent / "spec" / "group" / "Offsets.tla").read_text()
RULES_OF_SPEC = re.findall(r'"(\w+)"', TEXT[TEXT.index("\nRules ==") : TEXT.index("\n\n", TEXT.index("\nRules =="))])
HANDLERS = re.findall(r"^\\\* (\w+)   who: .*code: group/offset_coordinator.py$", TEXT, re.MULTILINE)
OTHERS = re.findall(r"^\\\* (\w+)   who: [^\n]*?(?<!coordinator.py)$", TEXT, re.MULTILINE)
PARTS_OF_A_DELIVERY = {
    "VerifyTxnOffsetCommit",
    "HandleTxnOffsetCommit",
    "RejectTxnOffsetCommit",
    "HandleMarker",
    "RejectMarker",
}


def test_rules_have_the_same_names() -> None:
    assert [snake_case(rule) for rule in RULES_OF_SPEC] == list(OFFSET_RULES)


def test_every_rule_says_what_goes_wrong_without_it() -> None:
    for rule in OFFSET_RULES:
        assert "Without it" in " ".join(getattr(OffsetRules(), rule).__doc__.split())


def test_every_rule_can_be_removed_and_no_other_changes() -> None:
    right = OffsetRules()
    for rule in RULES_OF_SPEC:
        flawed = rules_without({rule})
        changed = [one for one in OFFSET_RULES if getattr(flawed, one) is not getattr(right, one)]
        assert changed == [snake_case(rule)]
    assert set(OFFSET_RULES) >= GUARDS


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule Persist"):
        rules_without({"Persist"})


def test_every_action_of_the_coordinator_has_a_handler() -> None:
    assert len(HANDLERS) == 15
    assert [name for name in map(snake_case, HANDLERS) if not callable(getattr(OffsetCoordinator, name, None))] == []


def test_every_action_is_an_event_of_the_simulator() -> None:
    events = {snake_case(name) for name in {*HANDLERS, *OTHERS} - PARTS_OF_A_DELIVERY}
    assert len(events) == 23
    assert [name for name in sorted(events) if not callable(getattr(OffsetsCluster, name, None))] == []
