"""The accumulator under any sequence of events that Hypothesis makes up."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
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
    RECORD_BATCH_OVERHEAD,
    batch_size_upper_bound,
    record_size,
)

PARTITIONS = st.integers(0, 1)


class Gathering(RuleBasedStateMachine):
    """Records are numbered; a batch is compared with the records taken, in their order."""

    @initialize(linger=st.integers(0, 10), in_flight=st.integers(1, 3))
    def begin(self, linger: int, in_flight: int) -> None:
        self.config = AccumulatorConfig(
            batch_size=120,
            linger_ms=linger,
            buffer_memory=600,
            max_block_ms=30,
            max_request_size=400,
            max_in_flight=in_flight,
            delivery_timeout_ms=80,
            retry_backoff_ms=8,
            retry_backoff_max_ms=20,
        )
        self.one = RecordAccumulator(2, self.config)
        self.now = self.sent = 0
        self.taken: list[list[bytes]] = [[], []]
        self.over: list[Batch] = []
        self.flying: list[Batch] = []
        self.drained: list[list[Batch]] = [[], []]

    def take(self, partition: int, value: bytes | None, result: Appended | Waiting | Refusal) -> None:
        if isinstance(result, Appended):
            assert value is not None
            self.taken[partition].append(value)
            assert value in [record.value for record in result.batch.records]

    @rule(partition=PARTITIONS, length=st.integers(3, 450))
    def append(self, partition: int, length: int) -> None:
        self.sent += 1
        value = (b"%d." % self.sent).ljust(length, b"v")
        result = self.one.append(partition, None, value, self.now)
        assert (result is Refusal.RECORD_TOO_LARGE) == (batch_size_upper_bound(None, value) > 400)
        self.take(partition, value, result)

    @rule(by=st.integers(0, 15))
    def pass_time(self, by: int) -> None:
        self.now += by

    @rule()
    def pass_time_to_the_next(self) -> None:
        following = self.one.next_ready(self.now)
        if following is not None:
            before = self.one.ready(self.now)
            assert self.one.ready(following - 1) == before
            self.now = following
            assert set(before) < set(self.one.ready(self.now))

    @rule()
    def admit(self) -> None:
        for waiting, result in self.one.admit(self.now):
            assert (result is Refusal.BUFFER_EXHAUSTED) == (self.now >= waiting.until)
            self.take(waiting.partition, waiting.record.value, result)

    @rule(partition=PARTITIONS)
    def drain(self, partition: int) -> None:
        if partition not in self.one.ready(self.now):
            return
        batch = self.one.drain(partition)
        others = [each for each in self.flying if each.partition == partition]
        if batch in self.drained[partition]:
            assert self.now >= batch.retry_at
            assert all(each.number > batch.number for each in others)
        else:
            self.drained[partition].append(batch)
        self.flying.append(batch)
        assert len(others) < self.config.max_in_flight

    @precondition(lambda self: self.flying)
    @rule(which=st.integers(0, 5), word=st.integers(0, WORD - 1), again=st.booleans())
    def answer(self, which: int, word: int, again: bool) -> None:
        batch = self.flying.pop(which % len(self.flying))
        was_late = batch.expired
        kept = again and self.one.reenqueue(batch, self.now, word)
        if not again:
            self.one.complete(batch)
        if not kept and not was_late:
            self.over.append(batch)

    @rule()
    def expire(self) -> None:
        late = self.one.expire(self.now)
        assert all(self.now - batch.created >= 80 for batch in late)
        self.over.extend(late)
        assert all(self.now - batch.created < 80 for batch in self.one.incomplete())

    @rule()
    def flush(self) -> None:
        self.one.flush()
        assert self.one.flushing == bool(self.one.incomplete())

    @invariant()
    def all_memory_is_accounted_for(self) -> None:
        if not hasattr(self, "one"):
            return
        held = self.one.incomplete() + [batch for batch in self.flying if batch.expired]
        assert self.one.available_memory + sum(batch.memory for batch in held) == self.config.buffer_memory
        assert self.one.available_memory >= 0
        for batch in held:
            first = batch.records[0].timestamp
            exact = sum(
                record_size(offset, record.timestamp - first, None, record.value)
                for offset, record in enumerate(batch.records)
            )
            assert batch.size == RECORD_BATCH_OVERHEAD + exact <= batch.memory

    @invariant()
    def a_record_is_in_one_batch_and_in_its_place(self) -> None:
        if not hasattr(self, "one"):
            return
        everything = list(dict.fromkeys(chain(self.over, self.one.incomplete())))
        for partition, taken in enumerate(self.taken):
            here = [batch for batch in everything if batch.partition == partition]
            assert Counter(record.value for batch in here for record in batch.records) == Counter(taken)
            place = {value: number for number, value in enumerate(taken)}
            assert all(batch.number == number for number, batch in enumerate(self.drained[partition], 1))
            order = [place[record.value or b""] for batch in self.drained[partition] for record in batch.records]
            assert order == sorted(order)

    @invariant()
    def nobody_lingers_too_long(self) -> None:
        """A batch that no reply is waited for and no pause holds back is ready by its time."""
        if not hasattr(self, "one"):
            return
        flying = {batch.partition for batch in self.flying}
        waiting = [batch for batch in self.one.incomplete() if batch not in self.flying]
        for batch in waiting:
            if batch.partition not in flying and self.now >= max(batch.retry_at, batch.created + self.config.linger_ms):
                first = next(each for each in waiting if each.partition == batch.partition)
                assert batch.partition in self.one.ready(self.now) or first.retry_at > self.now

    def teardown(self) -> None:
        if not hasattr(self, "one"):
            return
        self.one.close()
        self.now += 1000
        for batch in self.flying:
            self.one.complete(batch)
        for partition in (0, 1):
            while self.one.loads()[partition]:
                assert partition in self.one.ready(self.now)
                self.one.complete(self.one.drain(partition))
        assert self.one.available_memory == self.config.buffer_memory
        assert not self.one.flushing


TestGathering = Gathering.TestCase
TestGathering.settings = settings(max_examples=150, stateful_step_count=40)
