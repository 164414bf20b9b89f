"""One name in IdempotentProducer.tla and in the implementation: rules, actions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.client.producer import IdempotentProducer
from tidemark.idempotence.flaws import GUARDS, rules_without
from tidemark.idempotence.partition import Partition
from tidemark.idempotence.rules import RULES, Rules
from tidemark.removal import snake_case
from tidemark.sim.idempotence.cluster import ProducerCluster

TEXT = (Path(__file__).parent.parent.parent / "spec" / "idempotence" / "IdempotentProducer.tla").read_text()
RULES_OF_SPEC = re.findall(r'"(\w+)"', TEXT[TEXT.index("\nRules ==") : TEXT.index("\n\n", TEXT.index("\nRules =="))])
ACTIONS = dict(re.findall(r"^\\\* (\w+)   who: .*code: (\S+)", TEXT, re.MULTILINE))
OTHER_NAMES = {
    "AnswerDuplicate": "append_batch",
    "RejectBatch": "append_batch",
    "AppendLate": "append_batch",
    "DropLate": "handle_late",
    "CompleteProduce": "handle",
}
"""Several actions are outcomes of one handler, as the specification's text says."""

OWNERS: dict[str, type] = {
    "client/producer.py": IdempotentProducer,
    "idempotence/partition.py": Partition,
    "sim/idempotence/cluster.py": ProducerCluster,
}


def test_rules_have_the_same_names() -> None:
    assert [snake_case(rule) for rule in RULES_OF_SPEC] == list(RULES)


def test_every_rule_says_what_goes_wrong_without_it() -> None:
    for rule in RULES:
        assert "Without it" in " ".join(getattr(Rules(), rule).__doc__.split())


def test_every_rule_can_be_removed_and_no_other_changes() -> None:
    right = Rules()
    for rule in RULES_OF_SPEC:
        flawed = rules_without({rule})
        assert [one for one in RULES if getattr(flawed, one) is not getattr(right, one)] == [snake_case(rule)]
    assert set(RULES) >= GUARDS


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule Persist"):
        rules_without({"Persist"})


def test_every_action_has_a_handler_where_the_specification_says() -> None:
    assert len(ACTIONS) == 20
    missing = [
        action
        for action, where in ACTIONS.items()
        if not callable(getattr(OWNERS[where], OTHER_NAMES.get(action, snake_case(action)), None))
    ]
    assert missing == []
