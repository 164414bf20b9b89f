"""A long run in the terms of Delivery: what counts, in counters, so that its length does not matter.

| variable | what it is here |
|---|---|
| `Topics` | what has an order: of an input partition the records whose results go to one output partition, numbered |
| `input` | how many records each has |
| `open` | of the results that a producer has written in a transaction that is not decided, the first and the last |
| `committed` | what is below the group's offset, or below the one that a transaction to be committed has staged |
| `delivered`, `stray` | what the readers of the results have got: in order, and otherwise |

An action is one of these when the event that it stands for has happened: a result is written, a transaction decided,
a result returned. Nothing else is one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tidemark.exactly_once.sim.state import ExactlyOnceState
from tidemark.idempotence.messages import ProduceRequest
from tidemark.trace.cells import Abstract
from tidemark.trace.recorder import Plan, Recorder
from tidemark.transactions.states import TransactionState

TOUCHES = {
    "Process": "open.wp",
    "Commit": "open.w* committed",
    "Abort": "open.w*",
    "Deliver": "delivered.p stray.p",
}
NOTHING = (0, 0)
DECISIONS = {"HandleEndTxn", "FenceProducer", "AbortTimedOutTransaction"}
OFFSETS = {"HandleTxnOffsetCommit", "WriteMarker", "WriteLateMarker", "CommitOffset"}
"""The actions of ExactlyOnce that decide a transaction, and those after which other offsets may be committed."""


class DeliveryPlan(Plan):
    """The plan that the recorders of a trace header share. Raises ValueError for a header that is not Delivery's."""

    def __init__(self, header: Mapping[str, Any]) -> None:
        constants = header["constants"]
        self.workers: list[str] = sorted(constants["Workers"])
        self.topics: list[int] = sorted(constants["Topics"])
        parties: dict[str, Any] = {"w": self.workers, "p": self.topics}
        super().__init__(header, "delivery", READS, TOUCHES, parties, "w", ("Deliver",))


class Counters(Abstract):
    """The values of the variables."""

    __slots__ = ("committed", "delivered", "input", "open", "stray")

    def __init__(self, workers: int, topics: int) -> None:
        self.input: tuple[int, ...] = ()
        self.open = [[NOTHING] * topics for _ in range(workers)]
        self.committed = [0] * topics
        self.delivered = [0] * topics
        self.stray = [0] * topics


READS: dict[str, Callable[..., Any]] = {
    "input": lambda see: see.input,
    "open": lambda see, w, p: see.open[w][p],
    "committed": lambda see: tuple(see.committed),
    "delivered": lambda see, p: see.delivered[p],
    "stray": lambda see, p: see.stray[p],
}
"""Variable -> what reads the key of its unit."""


class DeliveryRecorder(Recorder):
    """Writes one trace of Delivery, and counts the actions of ExactlyOnce that it is told of."""

    __slots__ = ("_cluster", "_counters", "_ends", "_offsets_of", "_places", "_read", "counts", "returned")

    def __init__(self, plan: DeliveryPlan, cluster: ExactlyOnceState) -> None:
        self._counters = counters = Counters(len(plan.workers), len(plan.topics))
        super().__init__(plan, counters)
        self.counts: Counter[str] = Counter()
        self._cluster = cluster
        self.returned = 0
        self._read = [0 for _ in cluster.readers]
        self._ends = [len(output.log) for output in cluster.outputs]
        self._offsets_of: list[list[int]] = [[] for _ in range(len(cluster.inputs) * cluster.offsets)]
        self._places = [[self._place(p, offset) for offset in range(count)] for p, count in enumerate(cluster.inputs)]
        counters.input = (*map(len, self._offsets_of), *(0,) * (len(plan.topics) - len(self._offsets_of)))

    def did(self, *what: Any) -> None:
        """A handler has run: its action in the terms of Delivery, if it has one, is written."""
        action = what[0]
        self.counts[action] += 1
        if action == "AppendResult":
            self._written(what[1])
        elif action in DECISIONS:
            self._decided(what[1])
        elif action in OFFSETS:
            self._offsets(what[1])
        elif action == "ReadOutput":
            self._returned()

    def _place(self, p: int, offset: int) -> tuple[int, int]:
        """The next input record of a partition, as a topic and an offset here."""
        topic = p * self._cluster.offsets + self._cluster.output_of(p, offset)
        self._offsets_of[topic].append(offset)
        return topic, len(self._offsets_of[topic]) - 1

    def blocked(self, *what: Any) -> None:
        """A rule refused an action: nothing has happened."""

    def _written(self, worker: int) -> None:
        cluster, ends = self._cluster, self._ends
        entries = [one for number, output in enumerate(cluster.outputs) for one in output.log[ends[number] :]]
        self._ends = [len(output.log) for output in cluster.outputs]
        if cluster.coordinators[worker].value.state is TransactionState.PREPARE_ABORT:
            return  # of what is late and comes before the marker nothing becomes
        for entry in entries:
            if isinstance(entry, ProduceRequest):
                for p, offset in cluster.results(entry.payload):
                    self._process(worker, *self._places[p][offset])

    def _process(self, worker: int, topic: int, offset: int) -> None:
        begin, end = self._counters.open[worker][topic]
        self._counters.open[worker][topic] = (
            (offset, offset + 1) if begin == end else (min(begin, offset), max(end, offset + 1))
        )
        Recorder.did(self, "Process", worker, topic, offset)

    def _decided(self, worker: int) -> None:
        value = self._cluster.coordinators[worker].value
        something = any(one != NOTHING for one in self._counters.open[worker])
        self._counters.open[worker] = [NOTHING] * len(self._counters.committed)
        if value.state is TransactionState.PREPARE_COMMIT:
            self.counts["committed"] += 1
            self._counters.committed = self._what_counts()
            Recorder.did(self, "Commit", worker)
        elif something:
            self.counts["aborted"] += 1
            Recorder.did(self, "Abort", worker)

    def _what_counts(self) -> list[int]:
        """The offsets that are committed, or decided to be."""
        cluster = self._cluster
        known = cluster.group.offsets.committed
        found = [known.offsets[topic].offset if topic in known.offsets else 0 for topic in cluster.topics]
        for i, coordinator in enumerate(cluster.coordinators):
            if coordinator.value.state is TransactionState.PREPARE_COMMIT:
                for topic, staged in known.pending.get(i + 1, {}).items():
                    found[topic.partition] = staged.offset
        counts = [
            bisect_left(offsets, found[number // cluster.offsets]) for number, offsets in enumerate(self._offsets_of)
        ]
        return counts + [0] * (len(self._counters.committed) - len(counts))

    def _offsets(self, worker: int) -> None:
        """Offsets that change now, and not with a decision, are nothing that Delivery knows."""
        found = self._what_counts()
        if found != self._counters.committed:
            self._counters.committed = found
            Recorder.did(self, "Commit", worker)

    def _returned(self) -> None:
        cluster = self._cluster
        for number, reader in enumerate(cluster.readers):
            for payload in reader.returned[self._read[number] :]:
                for p, offset in cluster.results(payload):
                    self._deliver(number, *self._places[p][offset])
            self._read[number] = len(reader.returned)

    def _deliver(self, number: int, topic: int, offset: int) -> None:
        self.returned += 1
        if offset == self._counters.delivered[topic] and number == topic % self._cluster.offsets:
            self._counters.delivered[topic] += 1
        else:
            self._counters.stray[topic] += 1
        Recorder.did(self, "Deliver", topic, offset + 1)
