"""A consumer's positions: where they come from, how they move, and the commits of them."""

from __future__ import annotations

import pytest
from groups import parts
from tidemark.groups.subscription_state import NoOffsetForPartition, OffsetResetStrategy, SubscriptionState

P, Q = parts("t0p0 t1p0")


def owning_both(reset: OffsetResetStrategy = OffsetResetStrategy.EARLIEST) -> SubscriptionState:
    """A consumer of two topics that owns a partition of each."""
    state = SubscriptionState(["t0", "t1"], reset)
    state.assign_from_subscribed([Q, P])
    return state


def test_a_position_begins_at_the_committed_offset() -> None:
    state = owning_both()
    assert (state.owned, state.initializing(), state.position(P)) == ((P, Q), (P, Q), -1)
    assert state.all_consumed() == {}
    assert state.refresh_committed({P: 7, Q: None})
    assert (state.position(P), state.initializing(), state.awaiting_reset()) == (7, (), (Q,))
    assert state.fetchable() == (P,)
    state.on_reset_offset(Q, 0)
    assert state.all_consumed() == {P: 7, Q: 0}


def test_consuming_moves_the_position_and_not_what_is_committed() -> None:
    state = owning_both()
    state.refresh_committed({P: 7, Q: 0})
    assert state.consume(P, 7, 9)
    assert state.position(P) == 9
    # The committed offset is the coordinator's; a late answer with it does not turn the position back.
    state.refresh_committed({P: 7})
    assert state.position(P) == 9


@pytest.mark.parametrize("fetched_at", [6, 8])
def test_records_of_another_position_are_thrown_away(fetched_at: int) -> None:
    state = owning_both()
    state.seek(P, 7)
    assert not state.consume(P, fetched_at, 9)
    assert state.position(P) == 7


def test_what_is_owned_on_keeps_its_position() -> None:
    state = owning_both()
    state.refresh_committed({P: 7, Q: 3})
    state.pause(P)
    state.assign_from_subscribed([P])
    assert (state.position(P), state.position(Q), state.fetchable()) == (7, -1, ())
    state.assign_from_subscribed([P, Q])
    assert (state.position(P), state.initializing()) == (7, (Q,))
    state.assign_from_subscribed([Q])
    state.assign_from_subscribed([P])
    state.seek(P, 1)
    assert state.fetchable() == (P,)


def test_an_answer_to_an_earlier_assignment_is_dropped() -> None:
    state = owning_both()
    asked_under = state.assignment_id
    state.assign_from_subscribed([])
    state.assign_from_subscribed([P])
    assert not state.refresh_committed({P: 7}, asked_under)
    assert state.initializing() == (P,)
    assert state.refresh_committed({P: 11}, state.assignment_id)
    assert state.position(P) == 11


def test_answers_for_partitions_that_are_gone_are_dropped() -> None:
    state = owning_both()
    state.assign_from_subscribed([P])
    state.refresh_committed({Q: 5})
    state.on_reset_offset(Q, 5)
    assert not state.consume(Q, 5, 6)
    assert (state.owned, state.position(Q)) == ((P,), -1)


def test_pending_revocation_stops_the_application_but_not_the_commit() -> None:
    state = owning_both()
    state.refresh_committed({P: 7, Q: 3})
    state.mark_pending_revocation()
    assert not state.consume(P, 7, 8)
    assert state.fetchable() == ()
    assert state.all_consumed() == {P: 7, Q: 3}


def test_out_of_range() -> None:
    state = owning_both()
    state.seek(P, 99)
    state.request_reset(P)
    assert (state.all_consumed(), state.awaiting_reset()) == ({}, (P,))
    state.seek(P, 5)
    state.on_reset_offset(P, 0)
    assert state.position(P) == 5


def test_nothing_committed_and_no_reset_strategy() -> None:
    with pytest.raises(NoOffsetForPartition, match="t0-0 has no committed offset"):
        owning_both(OffsetResetStrategy.NONE).refresh_committed({P: None})


def test_what_the_application_may_not_do() -> None:
    state = SubscriptionState(["t0"])
    with pytest.raises(ValueError, match="not owned"):
        state.seek(P, 0)
    state.assign_from_subscribed([P])
    with pytest.raises(ValueError, match="offset -1"):
        state.seek(P, -1)
    assert [state.matches([P]), state.matches([P, Q])] == [True, False]
