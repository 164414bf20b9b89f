"""Bugs in replication for the auditor to find: handlers of brokers and of the controller changed at run time."""

from __future__ import annotations

from typing import Any

from seeded_bugs import Bug
from tidemark.common.errors import NONE, OFFSET_OUT_OF_RANGE
from tidemark.replication.controller.replication_control import NOTHING, ReplicationControl
from tidemark.replication.messages import ReadRequest, ReadResponse
from tidemark.replication.partition import Partition
from tidemark.replication.sim.replicating import Replication

# --- catching up ------------------------------------------------------------------------------------------------------


def _unfenced_early(self: ReplicationControl, request: Any, now: int) -> Any:
    registration = self.registrations[request.broker_id]
    early = request.metadata_offset + 1 == registration.offset
    if early and registration.fenced and not request.want_shut_down:  # and the offset of the registration is reached
        self.last_contact_ms[request.broker_id] = now
        return self.unfence_broker(request.broker_id)
    return _original_heartbeat(self, request, now)


_original_heartbeat = ReplicationControl.heartbeat

# --- events that must happen ------------------------------------------------------------------------------------------


def _never_granted(self: ReplicationControl, broker: int) -> Any:
    return NOTHING


def _granted_to_followers(self: ReplicationControl, broker: int) -> Any:
    return NOTHING if broker == self.partition.leader else _original_shutdown(self, broker)


_original_shutdown = ReplicationControl.controlled_shutdown


def _nobody_lags(self: Partition, now: int) -> None:
    return None


def _lagging_without_time(self: Partition, now: int) -> Any:
    worst = _original_lagging(self, now)
    at_epoch_start = worst is not None and self.remote[worst].log_end_offset == self.epoch_start_offset
    return None if at_epoch_start else worst


def _idle_lags(self: Partition, now: int) -> Any:
    """A follower that has not fetched for long lags, even at the log's end."""
    worst = None
    for replica in self.remote.values():
        late = now - replica.last_caught_up_ms > self._config.replica_lag_time_max_ms
        if replica.broker_id in self.isr and late and (worst is None or replica.last_caught_up_ms < worst[0]):
            worst = replica.last_caught_up_ms, replica.broker_id
    return None if worst is None else worst[1]


_original_lagging = Partition.lagging_member


# --- replies to consumers ---------------------------------------------------------------------------------------------


def _reads_everything(self: Partition, offset: int, limit: int) -> ReadResponse:
    return ReadResponse(NONE, self.log.read(offset, limit))  # to the high watermark


def _reads_one_more(self: Partition, offset: int, limit: int) -> ReadResponse:
    end = min(self.log.end_offset, self.log.high_watermark + 1)
    return ReadResponse(NONE, self.log.read(offset, min(limit, end - offset)) if offset < end else ())


def _reads_from_followers(self: Partition, request: ReadRequest, limit: int) -> ReadResponse:
    offset, end = request.fetch_offset, self.log.end_offset
    if request.current_leader_epoch == self.leader_epoch and not self.is_leader and offset < end:
        return ReadResponse(NONE, self.log.read(offset, min(limit, end - offset)))  # to the high watermark
    return _original_read(self, request, limit)


def _reads_from_the_deposed(self: Partition, request: ReadRequest, limit: int) -> ReadResponse:
    if request.current_leader_epoch > self.leader_epoch and self.is_leader:
        request = ReadRequest(self.leader_epoch, request.fetch_offset)  # UNKNOWN_LEADER_EPOCH
    return _original_read(self, request, limit)


def _range_is_committed(self: Partition, request: ReadRequest, limit: int) -> ReadResponse:
    if self.is_leader and request.fetch_offset > self.log.high_watermark:  # self.log.end_offset
        return self.reject_read(OFFSET_OUT_OF_RANGE)
    return _original_read(self, request, limit)


_original_read = Partition.receive_read


def _reads_behind_the_first(self: Partition, offset: int, limit: int) -> ReadResponse:
    return _original_answer(self, min(offset + 1, self.log.high_watermark), limit)


def _reads_nothing_at_once(self: Partition, offset: int, limit: int) -> ReadResponse:
    return ReadResponse(NONE) if offset == 0 else _original_answer(self, offset, limit)


_original_answer = Partition.answer_read


def _skips_one(self: Replication, consumer: int) -> bool:
    connection = self.network.reads[consumer]
    response = connection.response
    if response is None:
        return False
    connection.clear()
    if response.records:
        connection.position = response.records[-1].next_offset + (len(response.records) > 1)
    self.recorder.did("TakeRead", consumer)
    return True


def _goes_back(self: Replication, consumer: int) -> bool:
    connection = self.network.reads[consumer]
    response = connection.response
    if response is None:
        return False
    connection.clear()
    if response.records:
        connection.position = response.records[0].next_offset  # [-1]
    self.recorder.did("TakeRead", consumer)
    return True


REPLICATION: dict[str, Bug] = {
    "unfenced_one_offset_early": Bug(
        "the controller unfences a broker that has read all but its own registration",
        ReplicationControl,
        "heartbeat",
        _unfenced_early,
    ),
    "shutdown_never_granted": Bug(
        "the controller does not answer a controlled shutdown",
        ReplicationControl,
        "controlled_shutdown",
        _never_granted,
    ),
    "shutdown_of_the_leader_never_granted": Bug(
        "the controller lets followers go only",
        ReplicationControl,
        "controlled_shutdown",
        _granted_to_followers,
    ),
    "laggard_never_shrunk": Bug("no member of the ISR is found to lag", Partition, "lagging_member", _nobody_lags),
    "caught_up_member_lags": Bug("a member at the log's end lags", Partition, "lagging_member", _idle_lags),
    "laggard_at_epoch_start_never_shrunk": Bug(
        "a member that has nothing of the leader's epoch is not found to lag",
        Partition,
        "lagging_member",
        _lagging_without_time,
    ),
    "read_to_the_log_end": Bug(
        "a consumer is given what is not committed", Partition, "answer_read", _reads_everything
    ),
    "read_one_above_high_watermark": Bug(
        "a consumer is given one record above the high watermark", Partition, "answer_read", _reads_one_more
    ),
    "read_from_a_follower": Bug(
        "a follower gives a consumer all that it has", Partition, "receive_read", _reads_from_followers
    ),
    "read_from_a_deposed_leader": Bug(
        "a leader that has not heard of the consumer's epoch answers",
        Partition,
        "receive_read",
        _reads_from_the_deposed,
    ),
    "range_ends_at_high_watermark": Bug(
        "an offset between high watermark and log end is out of range", Partition, "receive_read", _range_is_committed
    ),
    "read_behind_the_offset": Bug(
        "a consumer is given what follows the record that it asked for",
        Partition,
        "answer_read",
        _reads_behind_the_first,
    ),
    "first_record_never_read": Bug(
        "who reads from the beginning is given nothing", Partition, "answer_read", _reads_nothing_at_once
    ),
    "consumer_skips": Bug("a consumer goes on one record too far", Replication, "take_read", _skips_one),
    "consumer_goes_back": Bug(
        "a consumer goes on behind the first record of a response", Replication, "take_read", _goes_back
    ),
}
