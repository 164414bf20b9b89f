"""Records through accumulator and sequences into a leader's log, over connections that break: each there once, in
order."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from hypothesis import given, settings
from hypothesis import strategies as st
from tidemark.common.errors import Errors
from tidemark.idempotence.messages import ProduceResponse
from tidemark.idempotence.partition import MIN_IN_SYNC_REPLICAS, Parked, Partition
from tidemark.idempotence.producer import IdempotentProducer, ProducerConfig
from tidemark.idempotence.protocol import PROTOCOL
from tidemark.idempotence.sim.disk import Disk
from tidemark.producer_batching.partitioner import partition_for_key
from tidemark.producer_batching.record_accumulator import WORD, AccumulatorConfig, Appended, RecordAccumulator
from tidemark.producer_batching.sender import Over, Sender, Sent

PARTITIONS = 2
WINDOW = 3
LAST = 2**31 - 1


class Line:
    """A process and its leaders, a connection to each: requests go one after the other, replies come back so."""

    def __init__(self, delivery_timeout: int, without: Collection[str] = ()) -> None:
        config = AccumulatorConfig(
            batch_size=120, linger_ms=3, max_in_flight=WINDOW, delivery_timeout_ms=delivery_timeout, retry_backoff_ms=2
        )
        rules = PROTOCOL.rules_without(without)
        self.accumulator = RecordAccumulator(PARTITIONS, config)
        self.memory = self.accumulator.available_memory
        producer = IdempotentProducer(PARTITIONS, rules, ProducerConfig(WINDOW, WINDOW, LAST))
        producer.get_producer_id(1)
        self.sender = Sender(producer, self.accumulator)
        self.leaders = [Partition(rules, WINDOW, LAST, 0, Disk()) for _ in range(PARTITIONS)]
        self.requests: list[deque[Sent]] = [deque() for _ in range(PARTITIONS)]
        self.replies: list[deque[tuple[Sent, ProduceResponse]]] = [deque() for _ in range(PARTITIONS)]
        self.taken: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self.told: dict[bytes, Errors] = {}
        self.contents: dict[tuple[int, int], list[bytes]] = {}
        self.now = 0

    def send(self, length: int) -> None:
        key = b"%d" % sum(map(len, self.taken))
        partition = partition_for_key(key, PARTITIONS)
        assert isinstance(self.accumulator.append(partition, key, b"v" * length, self.now), Appended)
        self.taken[partition].append(key)

    def poll(self) -> None:
        for batch, request in self.sender.poll(self.now):
            keys = [record.key or b"" for record in batch.records]
            assert self.contents.setdefault((batch.partition, batch.number), keys) == keys
            self.requests[batch.partition].append((batch, request))

    def flush_and_poll(self) -> None:
        self.accumulator.flush()
        self.poll()

    def arrive(self, partition: int, refused: bool = False) -> None:
        if self.requests[partition]:
            sent, leader = self.requests[partition].popleft(), self.leaders[partition]
            leader.update_isr(MIN_IN_SYNC_REPLICAS - refused)
            answer = leader.append_batch(sent[1], self.now)
            if isinstance(answer, Parked):
                leader.advance_high_watermark(len(leader.log))
                answer = ProduceResponse(Errors.NONE, answer.offset)
            self.replies[partition].append((sent, answer))

    def reply(self, partition: int, word: int) -> None:
        if self.replies[partition]:
            self.hear(self.sender.receive(*self.replies[partition].popleft(), self.now, word))

    def cut(self, partition: int, word: int) -> None:
        lost = [sent for sent, _ in self.replies[partition]] + list(self.requests[partition])
        self.replies[partition].clear()
        self.requests[partition].clear()
        self.hear(self.sender.disconnected([batch for batch, _ in lost], self.now, word))

    def hear(self, over: Over) -> None:
        for batch, error in over:
            for record in batch.records:
                assert record.key is not None
                assert record.key not in self.told
                self.told[record.key] = error

    def settle(self) -> None:
        """Nothing goes wrong any more."""
        for _ in range(400):
            self.now += 1
            self.poll()
            for partition in range(PARTITIONS):
                self.arrive(partition)
                self.reply(partition, 0)

    def log(self, partition: int) -> list[bytes]:
        return [key for one in self.leaders[partition].log for key in self.contents[partition, one.request.payload]]


EVENTS = st.lists(st.tuples(st.sampled_from("ssssppppaaaarrrcft"), st.integers(0, WORD - 1)), max_size=120)


def played(line: Line, events: list[tuple[str, int]]) -> Line:
    for kind, word in events:
        partition = word % PARTITIONS
        match kind:
            case "s":
                line.send(word % 60)
            case "p":
                line.poll()
            case "a":
                line.arrive(partition)
            case "r":
                line.reply(partition, word)
            case "c":
                line.cut(partition, word)
            case "f":
                line.arrive(partition, refused=True)
            case "t":
                line.now += 1 + word % 5
    line.settle()
    return line


@settings(max_examples=200)
@given(EVENTS)
def test_every_record_is_there_once_in_order(events: list[tuple[str, int]]) -> None:
    line = played(Line(100_000), events)
    assert [line.log(partition) for partition in range(PARTITIONS)] == line.taken
    assert set(line.told.values()) <= {Errors.NONE}
    assert len(line.told) == sum(map(len, line.taken))
    assert line.accumulator.available_memory == line.memory


@settings(max_examples=200)
@given(EVENTS)
def test_what_is_late_is_told_and_the_rest_is_there_once_in_order(events: list[tuple[str, int]]) -> None:
    line = played(Line(12), events)
    for partition, taken in enumerate(line.taken):
        log = line.log(partition)
        assert log == [key for key in taken if key in set(log)]
        assert {key for key in taken if line.told[key] is Errors.NONE} <= set(log)
    assert line.accumulator.available_memory == line.memory


def one_reply_lost(line: Line) -> Line:
    """The first batch is in the log, the news of it is not."""
    line.send(1)
    line.flush_and_poll()
    for partition in range(PARTITIONS):
        line.arrive(partition)
        line.cut(partition, 0)
    return line


def test_without_the_leaders_part_a_lost_reply_is_a_record_twice() -> None:
    for without, times in ((set(), 1), ({"RecognizeDuplicate", "InSequence"}, 2)):
        line = one_reply_lost(Line(100_000, without))
        line.settle()
        assert line.told == {b"0": Errors.NONE}
        assert line.log(0) + line.log(1) == [b"0"] * times


def test_nobody_knows_of_what_is_late() -> None:
    """It is in the log, and the application hears that it has failed; later batches get another epoch."""
    line = one_reply_lost(Line(12))
    line.now = 12
    (partition,) = (number for number, taken in enumerate(line.taken) if taken)
    line.cut(partition, 0)
    assert line.told == {b"0": Errors.REQUEST_TIMED_OUT}
    line.accumulator.append(partition, b"behind", b"", line.now)
    line.settle()
    assert line.log(partition) == [b"0", b"behind"]
    assert line.told[b"behind"] is Errors.NONE
    assert [one.request.producer_epoch for one in line.leaders[partition].log] == [0, 1]


def test_a_reply_that_is_late_frees_the_memory() -> None:
    line = Line(12)
    line.send(1)
    line.flush_and_poll()
    (partition,) = (number for number, taken in enumerate(line.taken) if taken)
    line.arrive(partition)
    line.now = 12
    line.reply(partition, 0)
    assert line.told == {b"0": Errors.REQUEST_TIMED_OUT}
    assert line.accumulator.available_memory == line.memory


def test_a_reply_tells_of_what_is_late_elsewhere() -> None:
    line = Line(12)
    line.send(1)
    line.flush_and_poll()
    (other,) = (number for number, taken in enumerate(line.taken) if not taken)
    line.now = 5
    while not line.taken[other]:
        line.send(1)
    line.flush_and_poll()
    line.arrive(other)
    line.now = 12
    line.reply(other, 0)
    assert line.told == {b"0": Errors.REQUEST_TIMED_OUT, line.taken[other][0]: Errors.NONE}


def test_sequences_begin_again_when_nothing_is_in_flight() -> None:
    """DrainBeforeWrap: the sender asks the rules before each new batch."""
    config = AccumulatorConfig(linger_ms=0)
    accumulator = RecordAccumulator(1, config)
    producer = IdempotentProducer(1, PROTOCOL.rules_without(()), ProducerConfig(5, 5, 2))
    producer.get_producer_id(1)
    sender = Sender(producer, accumulator)

    def sent() -> list[Sent]:
        accumulator.append(0, None, b"", 0)
        return sender.poll(0)

    flying = [one for _ in range(3) for one in sent()]
    assert [request.sequence for _, request in flying] == [0, 1, 2]
    assert sent() == []
    for one in flying:
        assert sender.poll(0) == []
        sender.receive(one, ProduceResponse(Errors.NONE), 0, 0)
    ((_, request),) = sender.poll(0)
    assert request.sequence == 0
