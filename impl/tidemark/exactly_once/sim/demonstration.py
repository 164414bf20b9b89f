"""A long run for people to follow: a pre-populated input, instances that process all of it, crashes and rebalances all
the while, and in the end a count of every record's results.

It is a run as all others, with a profile of its own and results in batches (batching.py): what happens next is chance's
choice, crashes and rebalances come at even distances. Its trace is one of Delivery.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from random import Random
from typing import Any

from tidemark.exactly_once.rules import Rules
from tidemark.exactly_once.sim.batching import BatchingCluster
from tidemark.exactly_once.sim.delivery import DeliveryPlan, DeliveryRecorder
from tidemark.exactly_once.sim.events import ExactlyOnceEvents
from tidemark.exactly_once.sim.healing import heal
from tidemark.exactly_once.sim.profiles import BATCHES, DEMONSTRATION, MISHAPS
from tidemark.simulator.shared import WORD, weight_table
from tidemark.transactions.transactional_producer import ProducerState

TOLD_EVERY = 5_000
"""Events between two reports of progress."""
MISHAP_EVERY = 50
"""Events between two that go wrong."""
PATIENCE = 40
"""So many reports in a row without anything new, and nothing will come of it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The result of a run. `stream`: its trace, `steps` records after the initial one. `converged`: the run came to
    rest. `missing`: lost records (partition, offset). `repeated`: records (partition, offset) with the number of
    results that a reader got. The other fields count: results that a reader got once, transactions, and faults on the
    way."""

    stream: bytes
    steps: int
    converged: bool
    missing: list[tuple[int, int]]
    repeated: list[tuple[int, int, int]]
    once: int
    counts: Mapping[str, int]


class Demonstration(ExactlyOnceEvents[BatchingCluster]):
    """One run. `inputs`: how many records each input partition has; `outputs`: so many partitions of the results;
    `crashes`, `rebalances`: so many; every third instance is static. Raises ValueError for a header of another
    specification."""

    def __init__(
        self,
        header: Mapping[str, Any],
        inputs: list[int],
        outputs: int,
        instances: int,
        seed: int,
        rules: Rules,
        crashes: int,
        rebalances: int,
    ) -> None:
        self.profile = DEMONSTRATION
        self._instances, self._partitions = instances, len(inputs)
        statics = [number % 3 == 2 for number in range(instances)]
        self._random = Random(seed)
        draw = partial(self._random.getrandbits, 24)
        self.cluster = cluster = BatchingCluster(inputs, statics, rules, outputs, BATCHES, draw)
        self._delivery = cluster.recorder = DeliveryRecorder(DeliveryPlan(header), cluster)
        total = sum(inputs)
        self._due = sorted(
            [(total * (number + 1) // (crashes + 1), "crash") for number in range(crashes)]
            + [(total * (number + 1) // (rebalances + 1), "rebalance") for number in range(rebalances)],
            reverse=True,
        )

    def _partition(self, i: int, word: int) -> int:
        """One that the instance owns, with records that it has not read if there is one."""
        instance, inputs = self.cluster.instances[i], self.cluster.inputs
        owned = sorted(instance.owned)
        left = [p for p in owned if instance.positions[p] < inputs[p]]
        choice = left or owned
        return choice[word % len(choice)] if choice else 0

    def _may_send(self, i: int, p: int) -> bool:
        instance = self.cluster.instances[i]
        return p in instance.owned and 0 <= instance.positions[p] < self.cluster.inputs[p]

    def stall(self, word: int) -> bool:
        """A process stands still."""
        return self.cluster.stall(word % self._instances)

    def refuse(self, word: int) -> bool:
        """A leader refuses a batch."""
        return self.cluster.refuse(word % self._instances)

    # --- the run ----------------------------------------------------------------------------------------------------

    def run(self, told: Callable[[int], None]) -> Counted:
        """Everything. `told` hears now and then how many results a reader has got."""
        cluster, bits, recorder = self.cluster, self._random.getrandbits, self._delivery
        events, mishaps = (
            [getattr(self, kind) for kind in weight_table(weights)] for weights in (self.profile.weights, MISHAPS)
        )
        recorder.begin()
        idle, before, logs = 0, (-1, 0), [output.log for output in cluster.outputs]
        while (self._due or not self._processed()) and idle < PATIENCE:
            for _ in range(TOLD_EVERY // MISHAP_EVERY):
                for word in map(bits, repeat(WORD, MISHAP_EVERY)):
                    events[word & 255](word >> 8)
                mishap = bits(WORD)
                mishaps[mishap & 255](mishap >> 8)
                self._strike_when_due()
            told(recorder.returned)
            written, read = sum(map(len, logs)), sum(one.position for one in cluster.readers)
            now = written + read, len(self._due)
            idle, before = (0, now) if now != before else (idle + 1, before)
        converged = heal(cluster)
        told(recorder.returned)
        return self._count(converged)

    def _processed(self) -> bool:
        """Whether everything is committed as read."""
        group = self.cluster.group
        return all(
            group.offset(topic) >= count for topic, count in zip(group.partitions, self.cluster.inputs, strict=True)
        )

    def _strike_when_due(self) -> None:
        """A crash or a rebalance at its time: when so many records are committed as read. One at a time, and again if
        it befalls nobody: a process that has done nothing yet, a group without members."""
        group, cluster = self.cluster.group, self.cluster
        if not self._due or self._due[-1][0] > sum(map(group.offset, group.partitions)):
            return
        i = self._random.randrange(self._instances)
        members = list(group.members)
        if self._due[-1][1] == "crash":
            happened = cluster.crash(i)
        else:
            happened = bool(members) and cluster.remove_member(members[i % len(members)])
        if happened:
            self._due.pop()

    def _count(self, converged: bool) -> Counted:
        times, counts = self.cluster.times_returned(), self._delivery.counts
        stopped = sum(one.producer.state is ProducerState.FATAL_ERROR for one in self.cluster.instances)
        return Counted(
            stream=self._delivery.end(converged, False),
            steps=self._delivery.records - 1,
            converged=converged,
            missing=sorted(record for record, number in times.items() if not number),
            repeated=sorted((*record, number) for record, number in times.items() if number > 1),
            once=sum(number == 1 for number in times.values()),
            counts={
                "transactions committed": counts["committed"],
                "transactions aborted": counts["aborted"],
                "crashes": counts["Crash"],
                "rebalances": counts["CompleteJoin"],
                "members thought gone": counts["RemoveMember"],
                "commits refused by the group": counts["RejectTxnOffsetCommit"],
                "producers fenced": counts["FenceProducer"] + stopped,
                "batches of results": counts["AppendResult"],
                "connections lost": counts["Disconnect"],
                "processes that stood still": counts["Stall"],
                "batches refused for now": counts["RefuseResult"],
                "requests sent again": counts["RepeatRequest"] + counts["GiveUpRequest"],
                "duplicates recognised": counts["AnswerDuplicate"],
                "late requests refused": counts["RejectResult"] + counts["AnswerEndTxn"],
            },
        )
