"""Error codes: one enum, by Kafka's names, with Kafka's numbers."""

from __future__ import annotations

import pickle

import pytest
from tidemark.common import errors
from tidemark.common.errors import Errors, Remedy


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UNKNOWN_SERVER_ERROR", -1), ("NONE", 0), ("OFFSET_OUT_OF_RANGE", 1), ("NOT_LEADER_OR_FOLLOWER", 6),
        ("COORDINATOR_LOAD_IN_PROGRESS", 14), ("COORDINATOR_NOT_AVAILABLE", 15), ("NOT_COORDINATOR", 16),
        ("ILLEGAL_GENERATION", 22), ("INCONSISTENT_GROUP_PROTOCOL", 23), ("UNKNOWN_MEMBER_ID", 25),
        ("REBALANCE_IN_PROGRESS", 27), ("FENCED_LEADER_EPOCH", 74), ("MEMBER_ID_REQUIRED", 79),
        ("GROUP_MAX_SIZE_REACHED", 81), ("FENCED_INSTANCE_ID", 82), ("UNSTABLE_OFFSET_COMMIT", 88),
        ("INELIGIBLE_REPLICA", 107), ("FENCED_MEMBER_EPOCH", 110), ("STALE_MEMBER_EPOCH", 113),
    ],
)  # fmt: skip
def test_kafkas_numbers(name: str, code: int) -> None:
    assert Errors[name].code == code
    assert Errors.for_code(code) is Errors[name]


def test_names_and_numbers_are_unique_and_ordered() -> None:
    assert [error.name for error in Errors] == [error.value for error in Errors]
    codes = [error.code for error in Errors]
    assert codes == sorted(set(codes))


def test_an_unknown_number_is_an_unknown_server_error() -> None:
    assert Errors.for_code(30_000) is Errors.UNKNOWN_SERVER_ERROR


def test_what_helps() -> None:
    assert not Errors.NONE.retriable
    assert not Errors.NONE.fatal
    assert {error for error in Errors if error.remedy is Remedy.NOTHING} == {Errors.NONE}
    # A coordinator moves or loads: ask again. A generation is over: rejoin. An instance is fenced: that is the end.
    assert Errors.NOT_COORDINATOR.retriable
    assert Errors.COORDINATOR_LOAD_IN_PROGRESS.retriable
    assert Errors.UNSTABLE_OFFSET_COMMIT.retriable
    assert Errors.ILLEGAL_GENERATION.remedy is Remedy.ANOTHER_STEP
    assert Errors.REBALANCE_IN_PROGRESS.remedy is Remedy.ANOTHER_STEP
    assert Errors.FENCED_INSTANCE_ID.fatal


def test_an_error_is_its_name() -> None:
    assert f"{Errors.NONE}" == str(Errors.NONE) == "NONE"
    assert Errors.NONE == "NONE"
    assert pickle.loads(pickle.dumps(Errors.NOT_CONTROLLER)) is Errors.NOT_CONTROLLER


def test_the_short_names_are_the_members() -> None:
    short = {name: said for name, said in vars(errors).items() if isinstance(said, Errors)}
    assert len(short) > 15
    assert all(said is Errors[name] for name, said in short.items())
