"""The behaviour of consume-transform-produce without some rules. Nothing in production imports this file; the simulator
does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidemark.common.errors import Errors
from tidemark.common.rule_kinds import is_rule
from tidemark.exactly_once.message_processor import MessageProcessor
from tidemark.exactly_once.rules import Rules
from tidemark.groups.partitions import TopicPartition
from tidemark.transactions.messages import EndTxnRequest, IsolationLevel
from tidemark.transactions.rules import verify_transaction
from tidemark.transactions.transactional_producer import ProducerState, TransactionalProducer


class CommitsAfterError(MessageProcessor):
    """A process whose producer has forgotten that a request of its transaction failed."""

    def send_end(self, committed: bool) -> EndTxnRequest | None:
        """A commit of what has failed, too."""
        producer = self.producer
        if not committed or producer.state is not ProducerState.ABORTABLE_ERROR:
            return super().send_end(committed)
        producer.state = ProducerState.IN_TRANSACTION
        request = producer.send_end_txn(committed)
        if request is None:
            producer.state = ProducerState.ABORTABLE_ERROR
        return request


def processor_of(
    topics: Sequence[TopicPartition], instance: str | None, rules: Rules, producer: TransactionalProducer
) -> MessageProcessor:
    """A process with these rules: without `commit_without_error`, one that commits after an error."""
    if is_rule(rules.commit_without_error):
        return MessageProcessor(topics, instance, rules, producer)
    return CommitsAfterError(topics, instance, rules, producer)


def isolation_level_of(rules: Rules) -> IsolationLevel:
    """isolation.level of the consumers of the results: without `read_committed`, read_uncommitted."""
    return IsolationLevel.READ_COMMITTED if is_rule(rules.read_committed) else IsolationLevel.READ_UNCOMMITTED


def asking(rules: Rules) -> Rules:
    """The rules of the group. Without `verify_transaction` it asks the transaction coordinator all the same, as the
    results' leader does: in version 2 the question takes the partition into the transaction."""
    return replace(rules, verify_transaction=verify_transaction)


def heeded(rules: Rules, answer: Errors) -> Errors:
    """The transaction coordinator's answer, as the group or the leader takes it: without `verify_transaction` neither
    heeds a refusal."""
    return answer if is_rule(rules.verify_transaction) else Errors.NONE


FLAWED = {
    "verify_transaction": heeded,
    "commit_without_error": CommitsAfterError,
    "read_committed": isolation_level_of,
}
"""Rule -> what stands in its place."""
