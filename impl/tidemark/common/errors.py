"""Kafka's error codes, by Kafka's names, and the exception for defects of this program.

An error is its name: a string, so it prints and compares as one. It carries the number that goes over the wire, and the
remedy. Expected outcomes are answered with one of these; they are never raised.
"""

from __future__ import annotations

from enum import Enum, StrEnum


class Remedy(Enum):
    """The remedy for the client that receives an error."""

    NOTHING = "nothing is wrong"
    RETRY = "the same request may succeed later, perhaps at another broker"
    ANOTHER_STEP = "never this request again, but another step of the protocol: rejoin, take an id, reset a position"
    FATAL = "only the application or its operator can help"


class Errors(StrEnum):
    """Kafka's `Errors`, those that the protocols here answer with, in the order of their numbers.

    RETRY is what Kafka's clients find in RetriableException; ANOTHER_STEP and FATAL divide the rest by what the
    consumer, the follower or the leader does with it.
    """

    __hash__ = str.__hash__  # Enum's own is slow

    code: int
    remedy: Remedy

    def __new__(cls, name: str, code: int, remedy: Remedy) -> Errors:
        """A member: its name as its value, its number, its remedy."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.code = code
        member.remedy = remedy
        return member

    @property
    def retriable(self) -> bool:
        """Whether the same request may be sent again."""
        return self.remedy is Remedy.RETRY

    @property
    def fatal(self) -> bool:
        """Whether nothing that the protocol can do helps."""
        return self.remedy is Remedy.FATAL

    @classmethod
    def for_code(cls, code: int) -> Errors:
        """The error with number `code`; UNKNOWN_SERVER_ERROR for a number that is not known here, as in Kafka."""
        return _BY_CODE.get(code, cls.UNKNOWN_SERVER_ERROR)

    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR", -1, Remedy.FATAL
    NONE = "NONE", 0, Remedy.NOTHING
    OFFSET_OUT_OF_RANGE = "OFFSET_OUT_OF_RANGE", 1, Remedy.ANOTHER_STEP
    UNKNOWN_TOPIC_OR_PARTITION = "UNKNOWN_TOPIC_OR_PARTITION", 3, Remedy.RETRY
    LEADER_NOT_AVAILABLE = "LEADER_NOT_AVAILABLE", 5, Remedy.RETRY
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER", 6, Remedy.RETRY
    REQUEST_TIMED_OUT = "REQUEST_TIMED_OUT", 7, Remedy.RETRY
    OFFSET_METADATA_TOO_LARGE = "OFFSET_METADATA_TOO_LARGE", 12, Remedy.FATAL
    NETWORK_EXCEPTION = "NETWORK_EXCEPTION", 13, Remedy.RETRY
    COORDINATOR_LOAD_IN_PROGRESS = "COORDINATOR_LOAD_IN_PROGRESS", 14, Remedy.RETRY
    COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE", 15, Remedy.RETRY
    NOT_COORDINATOR = "NOT_COORDINATOR", 16, Remedy.RETRY
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS", 19, Remedy.RETRY
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = "NOT_ENOUGH_REPLICAS_AFTER_APPEND", 20, Remedy.RETRY
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION", 22, Remedy.ANOTHER_STEP
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL", 23, Remedy.FATAL
    INVALID_GROUP_ID = "INVALID_GROUP_ID", 24, Remedy.FATAL
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID", 25, Remedy.ANOTHER_STEP
    INVALID_SESSION_TIMEOUT = "INVALID_SESSION_TIMEOUT", 26, Remedy.FATAL
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS", 27, Remedy.ANOTHER_STEP
    INVALID_COMMIT_OFFSET_SIZE = "INVALID_COMMIT_OFFSET_SIZE", 28, Remedy.FATAL
    NOT_CONTROLLER = "NOT_CONTROLLER", 41, Remedy.RETRY
    INVALID_REQUEST = "INVALID_REQUEST", 42, Remedy.FATAL
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER", 45, Remedy.ANOTHER_STEP
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH", 47, Remedy.ANOTHER_STEP
    INVALID_TXN_STATE = "INVALID_TXN_STATE", 48, Remedy.FATAL
    INVALID_PRODUCER_ID_MAPPING = "INVALID_PRODUCER_ID_MAPPING", 49, Remedy.FATAL
    CONCURRENT_TRANSACTIONS = "CONCURRENT_TRANSACTIONS", 51, Remedy.RETRY
    TRANSACTION_COORDINATOR_FENCED = "TRANSACTION_COORDINATOR_FENCED", 52, Remedy.FATAL
    OPERATION_NOT_ATTEMPTED = "OPERATION_NOT_ATTEMPTED", 55, Remedy.ANOTHER_STEP
    KAFKA_STORAGE_ERROR = "KAFKA_STORAGE_ERROR", 56, Remedy.RETRY
    NON_EMPTY_GROUP = "NON_EMPTY_GROUP", 68, Remedy.FATAL
    GROUP_ID_NOT_FOUND = "GROUP_ID_NOT_FOUND", 69, Remedy.FATAL
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH", 74, Remedy.RETRY
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH", 75, Remedy.RETRY
    STALE_BROKER_EPOCH = "STALE_BROKER_EPOCH", 77, Remedy.ANOTHER_STEP
    OFFSET_NOT_AVAILABLE = "OFFSET_NOT_AVAILABLE", 78, Remedy.RETRY
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED", 79, Remedy.ANOTHER_STEP
    PREFERRED_LEADER_NOT_AVAILABLE = "PREFERRED_LEADER_NOT_AVAILABLE", 80, Remedy.RETRY
    GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED", 81, Remedy.FATAL
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID", 82, Remedy.FATAL
    ELECTION_NOT_NEEDED = "ELECTION_NOT_NEEDED", 84, Remedy.RETRY
    GROUP_SUBSCRIBED_TO_TOPIC = "GROUP_SUBSCRIBED_TO_TOPIC", 86, Remedy.FATAL
    UNSTABLE_OFFSET_COMMIT = "UNSTABLE_OFFSET_COMMIT", 88, Remedy.RETRY
    PRODUCER_FENCED = "PRODUCER_FENCED", 90, Remedy.FATAL
    INVALID_UPDATE_VERSION = "INVALID_UPDATE_VERSION", 95, Remedy.ANOTHER_STEP
    UNKNOWN_TOPIC_ID = "UNKNOWN_TOPIC_ID", 100, Remedy.RETRY
    DUPLICATE_BROKER_REGISTRATION = "DUPLICATE_BROKER_REGISTRATION", 101, Remedy.ANOTHER_STEP
    INELIGIBLE_REPLICA = "INELIGIBLE_REPLICA", 107, Remedy.ANOTHER_STEP
    NEW_LEADER_ELECTED = "NEW_LEADER_ELECTED", 108, Remedy.ANOTHER_STEP
    FENCED_MEMBER_EPOCH = "FENCED_MEMBER_EPOCH", 110, Remedy.ANOTHER_STEP
    UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID", 111, Remedy.FATAL
    UNSUPPORTED_ASSIGNOR = "UNSUPPORTED_ASSIGNOR", 112, Remedy.FATAL
    STALE_MEMBER_EPOCH = "STALE_MEMBER_EPOCH", 113, Remedy.ANOTHER_STEP
    TRANSACTION_ABORTABLE = "TRANSACTION_ABORTABLE", 120, Remedy.ANOTHER_STEP


_BY_CODE = {error.code: error for error in Errors}

# Replication and the controller say their errors without the class.
NONE = Errors.NONE
NOT_LEADER_OR_FOLLOWER = Errors.NOT_LEADER_OR_FOLLOWER
FENCED_LEADER_EPOCH = Errors.FENCED_LEADER_EPOCH
UNKNOWN_LEADER_EPOCH = Errors.UNKNOWN_LEADER_EPOCH
OFFSET_OUT_OF_RANGE = Errors.OFFSET_OUT_OF_RANGE
NOT_ENOUGH_REPLICAS = Errors.NOT_ENOUGH_REPLICAS
NOT_ENOUGH_REPLICAS_AFTER_APPEND = Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
REQUEST_TIMED_OUT = Errors.REQUEST_TIMED_OUT
NOT_CONTROLLER = Errors.NOT_CONTROLLER
STALE_BROKER_EPOCH = Errors.STALE_BROKER_EPOCH
INVALID_REQUEST = Errors.INVALID_REQUEST
INVALID_UPDATE_VERSION = Errors.INVALID_UPDATE_VERSION
INELIGIBLE_REPLICA = Errors.INELIGIBLE_REPLICA
DUPLICATE_BROKER_REGISTRATION = Errors.DUPLICATE_BROKER_REGISTRATION
ELECTION_NOT_NEEDED = Errors.ELECTION_NOT_NEEDED
PREFERRED_LEADER_NOT_AVAILABLE = Errors.PREFERRED_LEADER_NOT_AVAILABLE


class BrokenInvariant(RuntimeError):
    """Something that cannot happen has happened: a defect of this program, never of its input."""


class UndeclaredChange(BrokenInvariant):
    """A step has changed state that its recorder was not told of; the message is one sentence."""
