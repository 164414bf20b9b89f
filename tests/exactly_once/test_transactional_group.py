"""The group whose members commit in transactions: its members, the commits it accepts, the offsets it tells."""

from __future__ import annotations

from typing import Any

import pytest
from tidemark.common.errors import Errors
from tidemark.exactly_once.flaws import asking, heeded
from tidemark.exactly_once.group import TransactionalGroup
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.rules import Rules
from tidemark.groups.messages import OffsetCommitRequest
from tidemark.groups.offset_records import OffsetOutcome, TxnOffsetCommitRequest, WriteTxnMarkerRequest
from tidemark.groups.partitions import UNKNOWN_MEMBER_ID
from tidemark.transactions.messages import AddPartitionsToTxnRequest

Members = dict[str, str]


def grouped(*names: str, rules: Rules | None = None) -> tuple[TransactionalGroup, Members]:
    """A group of four partitions in its first generation; a member whose name begins with s is static."""
    group = TransactionalGroup(rules or Rules(), "input", 4)
    members = {name: join(group, name if name[0] == "s" else None) for name in names}
    assert group.complete_join()
    return group, members


def join(group: TransactionalGroup, instance: str | None) -> str:
    """A new process joins; its member id."""
    member_id = group.join_group(UNKNOWN_MEMBER_ID, instance)
    assert not isinstance(member_id, Errors)
    return member_id


def commit(
    group: TransactionalGroup, member: str, generation: int = 1, instance: str | None = None, offset: int = 2
) -> TxnOffsetCommitRequest:
    """Offset 2 of the first partition, by producer 1 in epoch 0."""
    return TxnOffsetCommitRequest(1, 0, generation, group.partitions[0], offset, member, instance)


def stage(group: TransactionalGroup, member: str) -> None:
    """The offset is staged."""
    assert group.commit_transactional_offsets((commit(group, member),), Errors.NONE) is Errors.NONE


def test_partitions_go_round_the_members() -> None:
    group, members = grouped("a", "b", "c")
    assert group.generation == 1
    assert [group.assignment(members[name]) for name in "abc"] == [[0, 3], [1], [2]]
    assert not any(group.is_rebalancing(one, 1) for one in members.values())


def test_the_next_generation_is_of_those_who_have_joined() -> None:
    group, members = grouped("a", "b")
    assert not group.complete_join()
    assert group.join_group(members["a"], None) == members["a"]
    assert group.is_rebalancing(members["b"], 1)
    assert group.complete_join()
    assert (group.generation, list(group.members)) == (2, [members["a"]])
    assert group.assignment(members["a"]) == [0, 1, 2, 3]
    assert group.join_group(members["b"], None) is Errors.UNKNOWN_MEMBER_ID
    assert join(group, None) not in members.values()


def test_a_static_member_stays_though_it_has_not_joined() -> None:
    group, members = grouped("a", "s")
    group.join_group(members["a"], None)
    assert group.complete_join()
    assert list(group.members) == [members["a"], members["s"]]
    assert group.assignment(members["s"]) == [1, 3]


def test_a_new_process_takes_a_static_members_place_in_its_generation() -> None:
    group, members = grouped("a", "s")
    assert group.replace_member("x") is None
    new = group.replace_member("s")
    assert new not in (None, *members.values())
    assert group.generation == 1
    assert group.assignment(new or "") == [1, 3]
    assert not group.is_rebalancing(members["a"], 1)
    group.join_group(members["a"], None)
    assert group.replace_member("s") is None


def test_a_static_process_that_joins_anew_is_the_instances_member() -> None:
    group, members = grouped("a", "s")
    new = join(group, "s")
    assert members["s"] not in group.members
    assert group.instances == {"s": new}


def test_a_static_process_that_was_replaced_does_not_take_its_instance_back() -> None:
    group, members = grouped("a", "s")
    new = group.replace_member("s")
    assert group.join_group(members["s"], "s") is Errors.FENCED_INSTANCE_ID
    assert (group.instances, group.joined) == ({"s": new}, set())
    group.remove_member(new or "")
    assert group.join_group(members["s"], "s") is Errors.UNKNOWN_MEMBER_ID
    assert (group.instances, group.joined) == ({}, set())


@pytest.mark.parametrize("rule", ["MemberOfInstance", "CommitOfMember"])
def test_who_joins_is_checked_without_the_rules_of_commits(rule: str) -> None:
    group, members = grouped("a", "s", rules=PROTOCOL.rules_without({rule}))
    assert group.join_group(members["a"], "s") is Errors.FENCED_INSTANCE_ID
    assert group.join_group("nobody", None) is Errors.UNKNOWN_MEMBER_ID


def test_who_is_removed_is_no_member_and_the_others_are_told() -> None:
    group, members = grouped("a", "s")
    group.remove_member(members["s"])
    assert group.is_rebalancing(members["a"], 1)
    assert group.instances == {}
    assert group.assignment(members["s"]) == [1, 3], "nobody else's before the next generation"
    group.remove_member(members["a"])
    assert group.complete_join()
    assert (group.generation, group.owner) == (2, [UNKNOWN_MEMBER_ID] * 4)
    assert not group.complete_join()


@pytest.mark.parametrize(
    ("name", "generation", "instance", "error"),
    [
        ("a", 1, None, Errors.NONE),
        ("s", 1, "s", Errors.NONE),
        ("a", 0, None, Errors.ILLEGAL_GENERATION),
        ("a", 1, "s", Errors.FENCED_INSTANCE_ID),
        ("a", 1, "t", Errors.UNKNOWN_MEMBER_ID),
        ("nobody", 1, None, Errors.UNKNOWN_MEMBER_ID),
        ("nobody", 0, "s", Errors.FENCED_INSTANCE_ID),
        ("", -1, None, Errors.NONE),
        ("", -1, "s", Errors.FENCED_INSTANCE_ID),
        ("", -1, "t", Errors.UNKNOWN_MEMBER_ID),
        ("", 1, None, Errors.UNKNOWN_MEMBER_ID),
        ("nobody", -1, None, Errors.UNKNOWN_MEMBER_ID),
        ("a", -1, None, Errors.ILLEGAL_GENERATION),
    ],
)
def test_who_may_commit(name: str, generation: int, instance: str | None, error: Errors) -> None:
    """In Kafka's order: the instance, the member, the generation; a client before KIP-447 names nothing."""
    group, members = grouped("a", "s")
    request = commit(group, members.get(name, name), generation, instance)
    assert group.offsets.group_error(request) is error
    assert group.commit_transactional_offsets((request,), Errors.NONE) is error


def test_of_a_request_that_is_refused_nothing_is_staged() -> None:
    group, members = grouped("a")
    refused, accepted = commit(group, members["a"], 0), commit(group, members["a"])
    following = accepted._replace(partition=group.partitions[1])
    assert group.commit_transactional_offsets((refused, following), Errors.NONE) is Errors.ILLEGAL_GENERATION
    assert [group.stable_offset(one) for one in group.partitions] == [0] * 4


@pytest.mark.parametrize(
    ("rule", "name", "generation", "instance"),
    [
        ("TxnCommitOfCurrentGeneration", "a", 0, None),
        ("CommitOfMember", "nobody", 1, None),
        ("MemberOfInstance", "a", 1, "s"),
    ],
)
def test_without_a_rule_others_may(rule: str, name: str, generation: int, instance: str | None) -> None:
    group, members = grouped("a", "s", rules=PROTOCOL.rules_without({rule}))
    assert group.offsets.group_error(commit(group, members.get(name, name), generation, instance)) is Errors.NONE


@pytest.mark.parametrize(("committed", "offset"), [(True, 2), (False, 0)])
def test_staged_offsets_are_told_to_nobody_before_the_marker(committed: bool, offset: int) -> None:
    group, members = grouped("a")
    stage(group, members["a"])
    assert group.stable_offset(group.partitions[0]) is None
    assert group.stable_offset(group.partitions[1]) == 0
    assert group.offset(group.partitions[0]) == 0
    group.end_transaction(WriteTxnMarkerRequest(1, 1, committed))
    assert group.stable_offset(group.partitions[0]) == group.offset(group.partitions[0]) == offset


def test_without_a_rule_a_new_owner_reads_from_before_the_transaction() -> None:
    group, members = grouped("a", rules=PROTOCOL.rules_without({"FetchOnlyStable"}))
    stage(group, members["a"])
    assert group.stable_offset(group.partitions[0]) == 0


def test_a_plain_commit_counts_at_once() -> None:
    group, members = grouped("a")
    offsets = {group.partitions[2]: 5}
    for member_id, generation, error in (
        (members["a"], 0, Errors.ILLEGAL_GENERATION),
        ("nobody", 1, Errors.UNKNOWN_MEMBER_ID),
    ):
        assert group.commit_offsets(OffsetCommitRequest(member_id, generation, offsets)) is error
    assert group.stable_offset(group.partitions[2]) == 0
    assert group.commit_offsets(OffsetCommitRequest(members["a"], 1, offsets)) is Errors.NONE
    assert group.stable_offset(group.partitions[2]) == 5


@pytest.mark.parametrize("transactional", [False, True])
def test_behind_a_refused_partition_none_is_committed(transactional: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first partition finds another broker to be the coordinator; behind that this one would take the others."""
    group, members = grouped("a")
    handler = "handle_txn_offset_commit" if transactional else "commit_offset"
    handled = getattr(group.offsets, handler)

    def deposed_at_first(*request: Any) -> OffsetOutcome:
        leads = group.offsets.epoch == 1
        if leads:
            group.offsets.resign()
        outcome = handled(*request)
        if leads:
            group.offsets.become_coordinator(2, 0, (), {})
        assert isinstance(outcome, OffsetOutcome)
        return outcome

    monkeypatch.setattr(group.offsets, handler, deposed_at_first)
    if transactional:
        first = commit(group, members["a"])
        error = group.commit_transactional_offsets((first, first._replace(partition=group.partitions[1])), Errors.NONE)
    else:
        error = group.commit_offsets(OffsetCommitRequest(members["a"], 1, dict.fromkeys(group.partitions, 5)))
    assert error is Errors.NOT_COORDINATOR
    assert [group.stable_offset(one) for one in group.partitions] == [0] * 4


@pytest.mark.parametrize("instance", [None, "s"])
@pytest.mark.parametrize("name", ["", "nobody"])
def test_a_group_without_members_takes_what_names_no_generation(name: str, instance: str | None) -> None:
    """A consumer that uses no group management, or an operator, commits into it; not beside members."""
    group, members = grouped("a")
    offsets = {group.partitions[0]: 5}
    plain, managed = (OffsetCommitRequest(name, generation, offsets, instance) for generation in (-1, 0))
    assert group.commit_offsets(plain) is Errors.UNKNOWN_MEMBER_ID
    group.remove_member(members["a"])
    assert group.commit_offsets(managed) is Errors.UNKNOWN_MEMBER_ID
    assert group.commit_offsets(plain) is Errors.NONE
    assert group.offset(group.partitions[0]) == 5
    assert group.commit_transactional_offsets((commit(group, name, -1, instance),), Errors.NONE) is Errors.NONE


@pytest.mark.parametrize(
    "without", [(), ("TxnCommitOfCurrentGeneration",), ("CommitOfMember",), ("MemberOfInstance",)], ids=str
)
def test_a_plain_commit_of_a_static_process_that_was_replaced_is_fenced(without: tuple[str, ...]) -> None:
    """The rules are those of transactional commits: without one of them a plain commit is checked all the same."""
    group, members = grouped("a", "s", rules=PROTOCOL.rules_without(without))
    new = group.replace_member("s") or ""
    offsets = {group.partitions[1]: 5}
    for member_id, generation, instance, error in (
        (members["s"], 1, "s", Errors.FENCED_INSTANCE_ID),
        (members["s"], 0, "s", Errors.FENCED_INSTANCE_ID),
        (members["s"], 1, None, Errors.UNKNOWN_MEMBER_ID),
        (new, 1, "t", Errors.UNKNOWN_MEMBER_ID),
        (new, 0, "s", Errors.ILLEGAL_GENERATION),
        (new, 1, "s", Errors.NONE),
    ):
        assert group.commit_offsets(OffsetCommitRequest(member_id, generation, offsets, instance)) is error


def test_an_older_epoch_is_refused_behind_a_marker() -> None:
    group, members = grouped("a")
    stage(group, members["a"])
    group.end_transaction(WriteTxnMarkerRequest(1, 1, True))
    request = commit(group, members["a"], offset=3)
    assert group.commit_transactional_offsets((request,), Errors.NONE) is Errors.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("without", "taken"), [((), False), (("VerifyTransaction",), True)])
def test_a_commit_that_the_transaction_coordinator_refuses_is_refused(without: tuple[str, ...], taken: bool) -> None:
    rules = PROTOCOL.rules_without(without)
    group, members = grouped("a", rules=asking(rules))
    request = commit(group, members["a"])
    assert group.verify_transactional_offsets((request,), 7) == AddPartitionsToTxnRequest(1, 0, 7)
    error = group.commit_transactional_offsets((request,), heeded(rules, Errors.PRODUCER_FENCED))
    assert error is (Errors.NONE if taken else Errors.INVALID_PRODUCER_EPOCH)
    stage(group, members["a"])
    assert group.verify_transactional_offsets((request,), 7) is None


def test_a_member_hears_of_a_complete_generation() -> None:
    group, members = grouped("a", "b")
    assert group.sync_group(members["a"]) == (1, [0, 2])
    group.join_group(members["a"], None)
    assert group.sync_group(members["a"]) is None
    assert group.sync_group("nobody") is None
