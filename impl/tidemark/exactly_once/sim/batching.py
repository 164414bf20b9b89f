"""Consume-transform-produce with results that have keys and go in batches to several partitions: each instance has a
connection to the leader of every one, on which several batches may be under way.

What an instance has under way beside (offsets, the end of its transaction) is one request at a time, as in
ExactlyOnceCluster, whose events these are; here `handle`, `receive_reply` and what goes wrong befall batches, too. An
instance's clock advances by a millisecond whenever its sender looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from tidemark.common.errors import Errors
from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.cluster import ExactlyOnceCluster
from tidemark.idempotence.messages import ProduceRequest, ProduceResponse
from tidemark.producer_batching.batching_producer import BatchingProducer
from tidemark.producer_batching.partitioner import partition_for_key
from tidemark.producer_batching.record_accumulator import AccumulatorConfig
from tidemark.producer_batching.sender import Sent

WINDOW = 5
"""So many batches of a producer a leader remembers."""
KEYS = 1_000
"""So many keys the records of an input partition have, in turn."""
VALUE = 100
"""The size of a result: its payload in decimal, with zeros before it."""


class Connection:
    """Of one instance to one leader. `requests`, `replies`: under way, with what the sender knows of each; `stray`:
    requests of earlier connections, for whose replies nobody waits."""

    __slots__ = ("replies", "requests", "stray")

    def __init__(self) -> None:
        self.requests: deque[tuple[Sent, ProduceRequest]] = deque()
        self.replies: deque[tuple[Sent, ProduceResponse]] = deque()
        self.stray: deque[ProduceRequest] = deque()

    def cut(self) -> list[Sent]:
        """It is gone, and another takes its place: what was in flight."""
        lost = [sent for sent, _ in (*self.replies, *self.requests)]
        self.stray.extend(request for _, request in self.requests)
        self.requests.clear()
        self.replies.clear()
        return lost


class BatchingCluster(ExactlyOnceCluster):
    """`outputs`: so many partitions of the results; `draw`: a number below 2^24, another with each call."""

    def __init__(
        self,
        inputs: Sequence[int],
        statics: Sequence[bool],
        rules: Rules,
        outputs: int,
        config: AccumulatorConfig,
        draw: Callable[[], int],
    ) -> None:
        self._config = config
        self._draw = draw
        self._producers: dict[int, BatchingProducer] = {}
        self._batches: list[list[tuple[int, int]]] = []
        super().__init__(inputs, statics, rules, outputs, WINDOW)
        self._clocks = [0] * len(statics)
        self._connections = [[Connection() for _ in range(outputs)] for _ in statics]

    def new_producer(self, number: int) -> BatchingProducer:
        """It gathers its results."""
        made = BatchingProducer(
            len(self.outputs),
            self.transactions,
            self.rules.for_sequences(),
            self._config,
        )
        self._producers[number] = made
        return made

    # --- what is in a batch -----------------------------------------------------------------------------------------

    def key(self, partition: int, offset: int) -> bytes:
        """The key of an input record, and of its result."""
        return b"%d" % self.payload(partition, offset % KEYS)

    def output_of(self, partition: int, offset: int) -> int:
        """By the key."""
        return partition_for_key(self.key(partition, offset), len(self.outputs))

    def results(self, payload: int) -> Sequence[tuple[int, int]]:
        """A batch's payload is its number among all requests."""
        return self._batches[payload]

    def _packed(self, sent: Sent) -> ProduceRequest:
        batch, request = sent
        self._batches.append([self.record(int(one.value or b"")) for one in batch.records])
        return request._replace(payload=len(self._batches) - 1)

    # --- the instances ----------------------------------------------------------------------------------------------

    def _send(self, i: int, p: int, payload: int) -> bool:
        producer, instance = self._producers[i], self.instances[i]
        key = self.key(p, instance.positions[p])
        if producer.blocked or not instance.take_record(p):
            return False
        producer.send(key, b"%0*d" % (VALUE, payload), self._clocks[i])
        return True

    def receive_reply(self, i: int) -> bool:
        """A reply arrives, and the sender has its turn; whether a reply has."""
        self._run_sender(i)
        return super().receive_reply(i)

    def _run_sender(self, i: int) -> None:
        producer, connections = self._producers[i], self._connections[i]
        self._clocks[i] += 1
        now = self._clocks[i]
        for connection in connections:
            while connection.replies:
                sent, response = connection.replies.popleft()
                producer.receive(sent, response, now, self._draw())
        for sent in producer.poll(now):
            connections[sent[0].partition].requests.append((sent, self._packed(sent)))

    def stall(self, i: int) -> bool:
        """A process stands still until delivery.timeout.ms is over for all that it has under way."""
        if not any(one.requests for one in self._connections[i]):
            return False
        self._clocks[i] += self._config.delivery_timeout_ms
        self.recorder.did("Stall", i)
        return True

    def repeat_request(self, i: int) -> bool:
        """Also, a connection is gone: its batches are sent again, and may arrive once more."""
        connection = self._any(i, lambda one: bool(one.requests or one.replies))
        if connection is None:
            return super().repeat_request(i)
        self._producers[i].disconnected([batch for batch, _ in connection.cut()], self._clocks[i], self._draw())
        self.recorder.did("Disconnect", i)
        return True

    def lose_late(self, i: int) -> bool:
        """Also, of batches."""
        connection = self._any(i, lambda one: bool(one.stray))
        if connection is None:
            return super().lose_late(i)
        connection.stray.popleft()
        return True

    def crash(self, i: int) -> bool:
        """Its connections end with it."""
        if not super().crash(i):
            return False
        for connection in self._connections[i]:
            connection.cut()
        return True

    def under_way(self) -> bool:
        """Also, of batches."""
        waits = any(one.requests or one.replies or one.stray for mine in self._connections for one in mine)
        return waits or super().under_way()

    def _any(self, i: int, which: Callable[[Connection], bool]) -> Connection | None:
        """One of an instance's connections of which that is so."""
        found = [one for one in self._connections[i] if which(one)]
        return found[self._draw() % len(found)] if found else None

    # --- partitions -------------------------------------------------------------------------------------------------

    def handle(self, i: int, is_late: bool) -> bool:
        """Also, a batch arrives."""
        if super().handle(i, is_late):
            return True
        connection = self._any(i, lambda one: bool(one.stray if is_late else one.requests))
        if connection is None:
            return False
        number = self._connections[i].index(connection)
        if is_late:
            self._deliver(i, number, connection.stray.popleft(), True)
        else:
            sent, request = connection.requests.popleft()
            connection.replies.append((sent, ProduceResponse(self._deliver(i, number, request, False))))
        return True

    def _deliver(self, i: int, number: int, request: ProduceRequest, is_late: bool) -> Errors:
        action, error = self._append_result(i, self.outputs[number], request)
        self.recorder.did("RefuseResult" if error.retriable else action, i, is_late)
        return error

    def refuse(self, i: int) -> bool:
        """A leader has too few replicas for a batch, which its producer sends again behind a pause."""
        connection = self._any(i, lambda one: bool(one.requests))
        if connection is None:
            return False
        sent, _ = connection.requests.popleft()
        connection.replies.append((sent, ProduceResponse(Errors.NOT_ENOUGH_REPLICAS)))
        self.recorder.did("RefuseResult", i, False)
        return True
