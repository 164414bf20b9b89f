"""The accumulator: worked examples of Kafka's settings. `test_any_accumulation.py` has any sequence of events."""

from __future__ import annotations

import pytest
from tidemark.producer_batching.record_accumulator import (
    WORD,
    AccumulatorConfig,
    Appended,
    Batch,
    RecordAccumulator,
    Refusal,
    Waiting,
)
from tidemark.producer_batching.record_sizes import (
    MAX_RECORD_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    batch_size_upper_bound,
    record_size,
    size_of_varint,
)

MIDDLE = WORD // 2
"""No jitter."""
FILLS = b"v" * 15
"""A batch of 100 bytes holds one such record: 61 + 22, for which 61 + 39 are allocated."""


def appended(one: RecordAccumulator, partition: int, value: bytes, now: int = 0) -> Appended:
    """A record that is taken at once."""
    result = one.append(partition, None, value, now)
    assert isinstance(result, Appended)
    return result


def batches(one: RecordAccumulator, partition: int, count: int, now: int = 0) -> list[Batch]:
    """So many in flight, of a record each."""
    found = []
    for number in range(count):
        appended(one, partition, b"%d" % number, now)
        one.flush()
        assert partition in one.ready(now)
        found.append(one.drain(partition))
    return found


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "size"), [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (-65, 2), (8191, 2), (8192, 3), (2**31 - 1, 5)]
)
def test_size_of_varint(number: int, size: int) -> None:
    """ByteUtilsTest.testSizeOfVarint's borders: 7 bits a byte, signs in turn."""
    assert size_of_varint(number) == size


def test_size_of_a_record() -> None:
    """length 1, attributes 1, timestamp 1, offset 1, key -1: 1, value 1 + 3, headers 1."""
    assert record_size(0, 0, None, b"abc") == 10
    assert record_size(0, 0, b"", b"abc") == 10
    assert record_size(64, 64, b"k" * 64, b"v" * 64) == 2 + 1 + 2 + 2 + 2 + 64 + 2 + 64 + 1
    longest = record_size(2**31 - 1, 2**63 - 1, b"k", b"v" * 2**20)
    assert RECORD_BATCH_OVERHEAD + longest <= batch_size_upper_bound(b"k", b"v" * 2**20)
    assert batch_size_upper_bound(None, None) == RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + 3


# --- batch.size and linger.ms ----------------------------------------------------------------------------------------


def test_a_full_batch_does_not_linger() -> None:
    """Nine records of ten bytes behind 61 fill 151 bytes."""
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=151, linger_ms=5))
    for number in range(9):
        assert one.ready(0) == []
        result = appended(one, 0, b"abc")
        assert (result.new, result.full) == (number == 0, number == 8)
        assert result.size == (71 if number == 0 else 10)
    assert one.ready(0) == [0]
    assert appended(one, 0, b"abc").new
    assert one.loads() == {0: 2}
    assert one.drain(0).size == 151
    assert one.ready(4) == []
    assert one.next_ready(0) == 5
    assert one.ready(5) == [0]


def test_a_batch_lingers_from_its_first_record() -> None:
    one = RecordAccumulator(2, AccumulatorConfig(linger_ms=5))
    appended(one, 1, b"a", 10)
    appended(one, 1, b"b", 14)
    appended(one, 0, b"c", 12)
    assert one.ready(14) == []
    assert one.next_ready(14) == 15
    assert one.ready(15) == [1]
    assert one.next_ready(15) == 17
    assert [record.value for record in one.drain(1).records] == [b"a", b"b"]


def test_without_a_batch_size_each_record_has_a_batch() -> None:
    """batch.size=0 turns batching off: memory is allocated for one record."""
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=0))
    assert all(appended(one, 0, b"v" * 20).new for _ in range(3))
    assert one.loads() == {0: 3}


def test_a_large_record_gets_a_batch_of_its_own() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=100, max_request_size=1000))
    assert appended(one, 0, b"small").new
    large = appended(one, 0, b"v" * 500)
    assert (large.new, large.full) == (True, True)
    assert large.batch.size == RECORD_BATCH_OVERHEAD + record_size(0, 0, None, b"v" * 500)
    assert large.batch.memory == batch_size_upper_bound(None, b"v" * 500)
    assert appended(one, 0, b"again small").new
    assert one.append(0, None, b"v" * 1000, 0) is Refusal.RECORD_TOO_LARGE
    assert one.loads() == {0: 3}


def test_flush_hurries_what_is_there_and_what_comes() -> None:
    one = RecordAccumulator(2, AccumulatorConfig(linger_ms=1000))
    appended(one, 0, b"a")
    one.flush()
    appended(one, 1, b"b")
    assert one.ready(0) == [0, 1]
    one.drain(1)
    assert one.flushing
    one.complete(one.drain(0))
    assert not one.flushing


def test_close_hurries_and_refuses() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(linger_ms=1000, buffer_memory=100, batch_size=100))
    appended(one, 0, FILLS)
    waiting = one.append(0, None, FILLS, 0)
    assert one.close() == [waiting]
    assert one.admit(0) == []
    assert one.ready(0) == [0]
    assert one.append(0, None, b"", 0) is Refusal.CLOSED
    one.complete(one.drain(0))
    assert one.admit(0) == [], "there is memory, and nobody waits any more"


def test_close_hurries_what_lingers() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(linger_ms=1000))
    appended(one, 0, b"")
    assert one.ready(0) == []
    one.close()
    assert one.ready(0) == [0]


def test_what_is_behind_another_batch_wakes_the_sender() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=100, linger_ms=1000))
    assert [appended(one, 0, value).full for value in (FILLS, FILLS, b"")] == [False, True, True]
    assert not one.append(0, None, b"", 0).batch.full  # type: ignore[union-attr]


def test_a_later_record_is_larger() -> None:
    """Times are relative to the first record's: 64 ms take a byte more."""
    one = RecordAccumulator(1, AccumulatorConfig())
    _, same, later = (appended(one, 0, b"x", now).size for now in (0, 0, 64))
    assert later == same + 1


# --- buffer.memory and max.block.ms ----------------------------------------------------------------------------------


def full(records: int) -> tuple[RecordAccumulator, list[Waiting]]:
    """Memory for two batches, both taken, and so many records that wait since 0, 10, ..."""
    one = RecordAccumulator(2, AccumulatorConfig(batch_size=100, buffer_memory=200, max_block_ms=60, linger_ms=1000))
    for partition in (0, 1):
        appended(one, partition, FILLS)
    assert (one.available_memory, one.ready(0)) == (0, [])
    waiting = [one.append(0, None, FILLS, 10 * number) for number in range(records)]
    assert all(isinstance(each, Waiting) for each in waiting)
    return one, [each for each in waiting if isinstance(each, Waiting)]


def test_without_memory_everything_is_sent_and_records_wait() -> None:
    one, (first, second) = full(2)
    assert one.ready(20) == [0, 1]
    assert one.admit(20) == []
    one.complete(one.drain(1))
    ((admitted, result),) = one.admit(30)
    assert admitted is first
    assert isinstance(result, Appended)
    assert (result.new, result.batch.created) == (True, 30)
    one.complete(one.drain(0))
    ((admitted, result),) = one.admit(40)
    assert admitted is second
    assert isinstance(result, Appended)
    assert one.admit(50) == []


def test_a_record_waits_no_longer_than_max_block_ms() -> None:
    one, (first, second) = full(2)
    assert (first.until, second.until) == (60, 70)
    one.complete(one.drain(1))
    told = one.admit(60)
    assert told[0] == (first, Refusal.BUFFER_EXHAUSTED)
    assert (told[1][0], len(told)) == (second, 2)
    assert isinstance(told[1][1], Appended)


def test_those_who_wait_share_a_batch() -> None:
    one, (first,) = full(1)
    second = one.append(0, None, b"", 10)
    assert isinstance(second, Waiting)
    for partition in (0, 1):
        one.complete(one.drain(partition))
    told = one.admit(20)
    assert [waiting for waiting, _ in told] == [first, second]
    assert [isinstance(result, Appended) and result.new for _, result in told] == [True, False]
    assert one.available_memory == 100


def test_a_small_record_does_not_overtake_a_large_one() -> None:
    one = RecordAccumulator(2, AccumulatorConfig(batch_size=100, buffer_memory=300, linger_ms=1000))
    for _ in range(3):
        appended(one, 0, FILLS)
    large, small = one.append(1, None, b"v" * 110, 0), one.append(1, None, b"v", 0)
    one.complete(one.drain(0))
    assert one.admit(0) == []
    one.complete(one.drain(0))
    ((admitted, _),) = one.admit(0)
    assert admitted is large
    one.complete(one.drain(0))
    ((admitted, _),) = one.admit(0)
    assert admitted is small


def test_memory_that_has_come_back_is_for_those_who_wait() -> None:
    one, (first,) = full(1)
    one.complete(one.drain(0))
    second = one.append(0, None, FILLS, 20)
    assert isinstance(second, Waiting)
    ((admitted, _),) = one.admit(20)
    assert admitted is first


def test_a_batch_without_room_takes_nothing_more() -> None:
    """Not even one smaller than the record for which it had no room, and which waits."""
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=100, buffer_memory=100))
    last = appended(one, 0, FILLS).batch
    assert not last.full
    assert isinstance(one.append(0, None, FILLS, 0), Waiting)
    assert last.full
    assert isinstance(one.append(0, None, b"", 0), Waiting)


def test_the_memory_holds_a_batch() -> None:
    with pytest.raises(ValueError, match=r"batch\.size 11 is more than buffer\.memory 10"):
        RecordAccumulator(1, AccumulatorConfig(batch_size=11, buffer_memory=10))


def test_what_was_not_sent_is_dropped_with_its_memory() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(batch_size=100))
    (sent,) = batches(one, 0, 1)
    before = one.available_memory
    assert one.reenqueue(sent, 0, MIDDLE)
    appended(one, 0, FILLS)
    one.flush()
    one.abort_undrained()
    assert (one.incomplete(), one.available_memory) == ([sent], before)
    one.complete(one.drain(0))
    assert not one.flushing


# --- in flight, retries, delivery.timeout.ms -------------------------------------------------------------------------


def test_five_in_flight() -> None:
    one = RecordAccumulator(1, AccumulatorConfig())
    sent = batches(one, 0, 5)
    assert [batch.number for batch in sent] == [1, 2, 3, 4, 5]
    appended(one, 0, b"more")
    assert one.ready(100) == []
    assert one.next_ready(0) is None
    one.complete(sent[1])
    assert one.ready(100) == [0]


def test_one_in_flight_mutes_the_partition() -> None:
    one = RecordAccumulator(2, AccumulatorConfig(max_in_flight=1))
    (sent,) = batches(one, 0, 1)
    appended(one, 0, b"behind")
    appended(one, 1, b"elsewhere")
    assert one.ready(100) == [1]
    assert one.reenqueue(sent, 100, MIDDLE)
    assert one.ready(200) == [0, 1]
    assert one.drain(0) is sent


def test_retries_pause_longer_and_longer() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(retry_backoff_ms=100, retry_backoff_max_ms=1000))
    (sent,) = batches(one, 0, 1)
    now = 0
    for pause in (100, 200, 400, 800, 1000, 1000):
        assert one.reenqueue(sent, now, MIDDLE)
        one.flush()
        assert (one.ready(now + pause - 1), one.next_ready(now)) == ([], now + pause)
        now += pause
        assert one.ready(now) == [0]
        assert one.drain(0) is sent
    assert one.reenqueue(sent, now, 0)
    assert one.next_ready(now) == now + 800
    now += 800
    assert one.drain(0) is sent
    assert one.reenqueue(sent, now, WORD - 1)
    assert one.next_ready(now) == now + 1000, "jitter takes it no further"


@pytest.mark.parametrize(("word", "pause"), [(0, 80), (MIDDLE, 100), (WORD - 1, 119)])
def test_jitter(word: int, pause: int) -> None:
    one = RecordAccumulator(1, AccumulatorConfig())
    assert one.reenqueue(batches(one, 0, 1)[0], 0, word)
    assert one.next_ready(0) == pause


def test_retries_keep_their_order_with_idempotence() -> None:
    one = RecordAccumulator(1, AccumulatorConfig())
    first, second, third = batches(one, 0, 3)
    for batch in (second, third, first):
        assert one.reenqueue(batch, 0, 0)
    assert one.ready(100) == [0]
    assert one.drain(0) is first
    assert one.ready(100) == []
    one.complete(first)
    assert one.ready(100) == [0]
    assert one.drain(0) is second


def test_a_batch_that_was_sent_does_not_grow() -> None:
    one = RecordAccumulator(1, AccumulatorConfig())
    (sent,) = batches(one, 0, 1)
    assert one.reenqueue(sent, 0, 0)
    assert appended(one, 0, b"later").new
    assert len(sent.records) == 1


def test_retries_change_the_order_without_idempotence() -> None:
    """As the documentation of max.in.flight.requests.per.connection warns."""
    one = RecordAccumulator(1, AccumulatorConfig(enable_idempotence=False))
    first, second, third = batches(one, 0, 3)
    for batch in (first, third):
        assert one.reenqueue(batch, 0, 0)
    assert one.ready(100) == [0]
    assert [one.drain(0), one.drain(0)] == [third, first]
    one.complete(second)


def test_what_is_late_in_the_queue_is_given_up_with_its_memory() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(delivery_timeout_ms=50))
    before = one.available_memory
    late = appended(one, 0, b"late", 10).batch
    assert one.expire(59) == []
    assert one.expire(60) == [late]
    assert one.available_memory == before
    assert one.incomplete() == []


def test_all_that_is_late_in_a_queue_is_told_at_once() -> None:
    """And nothing that is not: a full batch behind another."""
    one = RecordAccumulator(1, AccumulatorConfig(delivery_timeout_ms=50, batch_size=200))
    first, second = (appended(one, 0, b"v" * 150, now).batch for now in (10, 11))
    third = appended(one, 0, b"v" * 150, 12).batch
    assert one.expire(61) == [first, second]
    assert one.incomplete() == [third]


def test_what_is_late_in_flight_keeps_its_memory_until_its_request_is_over() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(delivery_timeout_ms=50))
    before = one.available_memory
    first, second = batches(one, 0, 2)
    one.flush()
    assert one.expire(50) == [first, second]
    assert one.expire(51) == []
    assert one.incomplete() == []
    assert not one.flushing
    assert one.available_memory < before
    one.complete(first)
    assert not one.reenqueue(second, 60, 0)
    assert one.available_memory == before
    assert one.ready(10**6) == []


def test_what_is_late_is_not_retried() -> None:
    one = RecordAccumulator(1, AccumulatorConfig(delivery_timeout_ms=50))
    (sent,) = batches(one, 0, 1)
    assert not one.reenqueue(sent, 50, 0)
    assert (one.incomplete(), one.loads()) == ([], {0: 0})
