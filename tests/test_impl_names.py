"""One name in the specification and in the implementation: actions and rules, both directions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tidemark.controller.replication_control import ReplicationControl
from tidemark.log.log import Log
from tidemark.removal import snake_case
from tidemark.replication.broker import Broker
from tidemark.replication.fetcher import ReplicaFetcher
from tidemark.replication.flaws import COMPUTED, GUARDS, rules_without
from tidemark.replication.partition import Partition
from tidemark.replication.purgatory import ProducePurgatory
from tidemark.replication.rules import COMPUTATIONS, RULES, Rules
from tidemark.sim.cluster import Cluster

TEXT = (Path(__file__).parent.parent / "spec" / "replication" / "Replication.tla").read_text()
ACTIONS = sorted(set(re.findall(r"^ {4}\\/ (?:\\E [^:]*: )?(\w+)", TEXT[TEXT.index("\nNext ==") :], re.MULTILINE)))
RULES_OF_SPEC = re.findall(r'"(\w+)"', TEXT[TEXT.index("\nRules ==") : TEXT.index("\n\n", TEXT.index("\nRules =="))])

BY_CLASS: dict[type, set[str]] = {
    ReplicationControl: {
        "elect_leader", "fence_broker", "unfence_broker", "register_broker", "controlled_shutdown",
        "handle_alter_partition",
    },
    Partition: {
        "apply_metadata", "append_record", "handle_fetch", "validate_fetch", "read_fetch", "answer_diverging",
        "reject_fetch", "shrink_isr", "expand_isr", "resend_alter_partition", "handle_alter_partition_reply",
    },
    ReplicaFetcher: {
        "send_fetch", "follower_append", "follower_truncate", "follower_adopt_hw", "follower_out_of_range",
    },
    ProducePurgatory: {"complete_produce", "fail_produce"},
    Log: {"flush_log"},
    Broker: {"stop_broker"},
    Cluster: {"lose_fetch", "lose_alter_partition", "crash_broker"},
}  # fmt: skip
ELSEWHERE = {"drop_fetch_response", "checkpoint_high_watermark"}
"""A response that is dropped is dropped by doing nothing; the checkpoint is the log's."""


def test_every_action_has_a_handler_of_its_name() -> None:
    assert len(ACTIONS) > 25
    handlers = set().union(*BY_CLASS.values()) | ELSEWHERE
    assert {snake_case(action) for action in ACTIONS} == handlers


@pytest.mark.parametrize(("owner", "names"), BY_CLASS.items(), ids=lambda one: getattr(one, "__name__", ""))
def test_every_named_handler_is_there(owner: type, names: set[str]) -> None:
    assert [name for name in sorted(names) if not callable(getattr(owner, name, None))] == []


def test_rules_have_the_same_names() -> None:
    assert [snake_case(rule) for rule in RULES_OF_SPEC] == list(RULES)


def test_every_rule_says_what_goes_wrong_without_it() -> None:
    for rule in RULES:
        assert "Without it" in (getattr(Rules(), rule).__doc__ or "") or "Without" in getattr(Rules(), rule).__doc__


def test_every_rule_can_be_removed_and_no_other_changes() -> None:
    right = Rules()
    for rule in RULES:
        flawed = rules_without({rule})
        changed = {name for name in (*RULES, *COMPUTATIONS) if getattr(flawed, name) is not getattr(right, name)}
        assert changed == {rule} | ({COMPUTED[rule][0]} if rule in COMPUTED else set())
    assert set(RULES) >= GUARDS


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no rule Truncate"):
        rules_without({"Truncate"})
