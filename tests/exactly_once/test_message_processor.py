"""An instance that consumes, transforms and produces: the requests it may send in each state, and the effects of
replies."""

from __future__ import annotations

import pytest
from tidemark.common.errors import Errors
from tidemark.exactly_once.flaws import processor_of
from tidemark.exactly_once.message_processor import NO_POSITION, MessageProcessor
from tidemark.exactly_once.messages import Commits
from tidemark.exactly_once.protocol import PROTOCOL
from tidemark.exactly_once.rules import Rules
from tidemark.groups.messages import OffsetCommitRequest
from tidemark.groups.offset_records import ConsumerGroupMetadata
from tidemark.groups.partitions import TopicPartition
from tidemark.idempotence.messages import ProduceRequest
from tidemark.transactions.messages import CoordinatorResponse, EndTxnRequest
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer

TOPICS = (TopicPartition("input", 0), TopicPartition("input", 1))
ENDED = CoordinatorResponse(Errors.NONE, 1, 4)


def working(rules: Rules | None = None, instance: str | None = None) -> MessageProcessor:
    """Member 000007 of generation 5, which owns both partitions and stands at 3 and 0; producer 1 in epoch 3."""
    rules = rules or Rules()
    one = processor_of(TOPICS, instance, rules, TransactionalProducer(1, rules.for_transactions()))
    assert one.producer.send_init_producer_id() is not None
    one.producer.receive_init_producer_id(CoordinatorResponse(Errors.NONE, 1, 3))
    one.join("000007")
    one.sync(5, (0, 1))
    one.fetch_offset(0, 3)
    one.fetch_offset(1, 0)
    return one


def sent(one: MessageProcessor, partition: int = 0, payload: int = 9) -> ProduceRequest:
    """A result, acknowledged."""
    request = one.send_result(partition, payload)
    assert request is not None
    one.receive_reply(request, Errors.NONE)
    return request


def offsets(one: MessageProcessor) -> Commits:
    """The offsets of its transaction, as the member that it is."""
    requests = one.send_offsets(one.group_metadata())
    assert requests is not None
    return requests


def test_the_first_result_begins_the_transaction_and_positions_go_on() -> None:
    one = working()
    assert sent(one) == ProduceRequest(1, 3, 0, 9)
    assert one.producer.state is ProducerState.IN_TRANSACTION
    assert sent(one, 1, 8) == ProduceRequest(1, 3, 1, 8)
    assert (one.positions, one.processed) == ([4, 1], {0, 1})


def test_it_processes_what_it_owns_and_knows_its_place_in() -> None:
    one = working()
    one.sync(6, (1,))
    assert one.send_result(0, 9) is None
    one.sync(6, (0, 1))
    one.positions[0] = NO_POSITION
    assert one.send_result(0, 9) is None
    assert one.producer.state is ProducerState.READY


def test_offsets_are_those_of_the_transaction_and_name_the_member() -> None:
    one = working(instance="static")
    assert offsets(one) == ()
    sent(one)
    (request,) = offsets(one)
    assert (request.producer_id, request.producer_epoch, request.partition, request.offset) == (1, 3, TOPICS[0], 4)
    assert (request.member_id, request.generation_id, request.group_instance_id) == ("000007", 5, "static")


def test_it_commits_when_the_group_has_the_offsets() -> None:
    one = working()
    sent(one)
    assert one.send_end(True) is None
    one.receive_reply(offsets(one), Errors.NONE)
    assert one.sent
    assert offsets(one) == ()
    request = one.send_end(True)
    assert request == EndTxnRequest(1, 3, True)
    one.receive_reply(request, Errors.NONE, ENDED)
    assert (one.positions, one.processed, one.sent, one.producer.epoch) == ([4, 0], set(), False, 4)
    assert sent(one) == ProduceRequest(1, 4, 0, 9)


def test_after_more_results_it_sends_its_offsets_once_more_before_it_commits() -> None:
    one = working()
    sent(one)
    one.receive_reply(offsets(one), Errors.NONE)
    sent(one)
    assert one.send_end(True) is None
    (request,) = requests = offsets(one)
    assert request.offset == 5
    one.receive_reply(requests, Errors.NONE)
    assert one.send_end(True) == EndTxnRequest(1, 3, True)


def resent(rules: Rules | None = None) -> MessageProcessor:
    """It has sent offsets again, and then one more result."""
    one = working(rules)
    one.repeat_request(sent(one))
    assert not one.resent
    requests = offsets(one)
    one.repeat_request(requests)
    assert one.resent
    one.receive_reply(requests, Errors.NONE)
    sent(one)
    return one


def test_offsets_that_were_sent_again_are_the_last_of_the_transaction() -> None:
    one = resent()
    assert one.send_offsets(one.group_metadata()) is None
    request = one.send_end(False)
    assert request is not None
    one.repeat_request(request)
    one.receive_reply(request, Errors.NONE, ENDED)
    assert not one.resent
    one.fetch_offset(0, 3)
    sent(one)
    (offset,) = offsets(one)
    assert offset.offset == 4


def test_without_a_rule_other_offsets_follow_those_that_were_sent_again() -> None:
    one = resent(PROTOCOL.rules_without({"ResentOffsetsAreLast"}))
    (request,) = offsets(one)
    assert request.offset == 5


def test_what_is_aborted_is_read_again() -> None:
    one = working()
    sent(one)
    request = one.send_end(False)
    assert request is not None
    one.receive_reply(request, Errors.NONE, CoordinatorResponse(Errors.NONE, 1, 4))
    assert one.positions == [NO_POSITION, 0]


def test_without_a_rule_it_goes_on_behind_what_is_aborted() -> None:
    one = working(PROTOCOL.rules_without({"RewindAfterAbort"}))
    sent(one)
    request = one.send_end(False)
    assert request is not None
    one.receive_reply(request, Errors.NONE, ENDED)
    assert one.positions == [4, 0]


@pytest.mark.parametrize(
    "error",
    [Errors.ILLEGAL_GENERATION, Errors.UNKNOWN_MEMBER_ID, Errors.FENCED_INSTANCE_ID, Errors.TRANSACTION_ABORTABLE],
)
def test_who_is_not_the_groups_can_only_abort(error: Errors) -> None:
    """CommitFailedException."""
    one = working()
    sent(one)
    one.receive_reply(offsets(one), error)
    assert one.producer.state is ProducerState.ABORTABLE_ERROR
    assert not one.sent
    assert one.send_end(True) is None
    assert one.send_end(False) == EndTxnRequest(1, 3, False)


def test_who_is_fenced_is_done() -> None:
    one = working()
    sent(one)
    one.receive_reply(offsets(one), Errors.INVALID_PRODUCER_EPOCH)
    assert one.producer.state is ProducerState.FATAL_ERROR
    assert one.send_end(False) is None
    assert one.send_result(0, 9) is None


def test_an_end_that_is_refused_is_the_end_of_the_process() -> None:
    one = working()
    sent(one)
    request = one.send_end(False)
    assert request is not None
    one.receive_reply(request, Errors.PRODUCER_FENCED, CoordinatorResponse(Errors.PRODUCER_FENCED))
    assert one.producer.state is ProducerState.FATAL_ERROR
    assert one.processed == {0}


def test_what_is_given_up_can_only_be_aborted() -> None:
    one = working()
    sent(one)
    one.give_up_request()
    assert one.send_end(True) is None
    assert one.send_end(False) is not None


def test_without_a_rule_it_commits_what_has_failed() -> None:
    one = working(PROTOCOL.rules_without({"CommitWithoutError"}))
    sent(one)
    one.give_up_request()
    assert one.send_end(True) == EndTxnRequest(1, 3, True)


def test_it_gives_its_partitions_up_between_transactions() -> None:
    one = working()
    sent(one)
    assert not one.revoke()
    assert (one.owned, one.positions) == ({0, 1}, [4, 0])
    other = working()
    assert other.revoke()
    assert (other.owned, other.positions) == (frozenset(), [NO_POSITION, NO_POSITION])


def test_it_sends_no_offsets_by_group_id_alone() -> None:
    one = working()
    sent(one)
    assert one.has_offsets
    assert one.send_offsets(ConsumerGroupMetadata()) is None
    other = working(PROTOCOL.rules_without({"SendGroupMetadata"}))
    sent(other)
    found = other.send_offsets(ConsumerGroupMetadata())
    assert found is not None
    (nameless,) = found
    assert (nameless.member_id, nameless.generation_id, nameless.group_instance_id) == ("", -1, None)


def test_it_commits_offsets_between_transactions() -> None:
    one = working()
    one.sync(6, (1,))
    assert one.has_positions
    assert one.commit_offsets() == OffsetCommitRequest("000007", 6, {TOPICS[1]: 0})
    sent(one, 1)
    assert one.commit_offsets() is None
    other = working(PROTOCOL.rules_without({"CommitOutsideTransaction"}))
    sent(other)
    assert other.commit_offsets() == OffsetCommitRequest("000007", 5, {TOPICS[0]: 4, TOPICS[1]: 0})
    other.give_up_request()
    assert not other.has_positions


def test_it_knows_its_place_in_what_is_in_its_transaction() -> None:
    """It may have to give its partitions up in the midst of it, and goes on where it was if it gets them back."""
    one = working(PROTOCOL.rules_without({"RevokeOutsideTransaction"}))
    sent(one)
    assert one.revoke()
    assert (one.owned, one.positions) == (frozenset(), [4, NO_POSITION])


def test_who_joins_waits_for_a_generation() -> None:
    one = working()
    one.revoke()
    one.join("000008")
    assert (one.member_id, one.generation) == ("000008", -1)
    one.sync(6, (1,))
    assert (one.generation, one.owned, one.positions) == (6, {1}, [NO_POSITION, NO_POSITION])
    assert not one.is_new
