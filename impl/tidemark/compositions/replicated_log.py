"""A really replicated partition, as seen by a coordinator or client on its leader.

    a serving broker appends its broker produces the entry with acks=all to its replica of the partition
    an entry commits         the high watermark of the elected broker passes it
    another is elected       it leads in a newer leader epoch, and brings its own replica
    it hears that it has     its process has ended, or its replica follows: it forgets; one that has not heard of it
    was deposed              goes on
    entries are lost         with the suffix that a replica truncates, or loses in a crash

The committed entries of a new leader are compared with those that its predecessors have seen commit. An entry
is one record of the replicated log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Generic, TypeVar

from tidemark.common.errors import BrokenInvariant
from tidemark.log.storage import Payload, RecordBatch
from tidemark.replication.broker import Broker as Process
from tidemark.replication.messages import BrokerId
from tidemark.replication.sim.cluster import Cluster
from tidemark.replication.sim.healing import fair_round

MOST_ROUNDS = 10
"""So many fair rounds are enough for a record to commit."""
FIRST_PAYLOAD = 2
"""Payloads are numbered from here on, as the replication simulator numbers its own."""

Entry = TypeVar("Entry")


class LostRecordsReturnedError(Exception):
    """A broker leads whose log holds records that an earlier fail-over had lost: the specifications whose logs are
    logical have no step for that."""


class ReplicatedLog(Generic[Entry]):
    """`replicated` is the partition's cluster.

    `entries`: the contents of each payload. `pending`: per broker the entries that it appended, or found, and that have
    not committed, as payload and offset, oldest first. `committed`: the payloads that elected brokers have seen
    commit, in order. `leader`: the elected broker; `leader_epoch`: its leader epoch. `serves`: per broker the process
    and the leader epoch in which it serves, None where it does not or has forgotten. `room`: records that a log may
    get; `payloads`: how many may be appended in all. `heals`: the caller that waits for an entry to commit runs the
    partition fairly. `fail_overs`: how often another broker has been elected. `kept`, `dropped`: entries uncommitted at
    that time that its log had, had not. `orphaned`: entries appended by a broker that was deposed.
    """

    __slots__ = (
        "committed",
        "dropped",
        "entries",
        "fail_overs",
        "gone",
        "heals",
        "kept",
        "leader",
        "leader_epoch",
        "orphaned",
        "payloads",
        "pending",
        "replicated",
        "room",
        "serves",
    )

    def __init__(self, replicated: Cluster, first: BrokerId) -> None:
        self.replicated = replicated
        self.entries: dict[Payload, Entry] = {}
        self.pending: list[deque[tuple[Payload, int]]] = [deque() for _ in range(replicated.count)]
        self.committed: list[Payload] = []
        self.leader = first
        self.leader_epoch = 0
        self.serves: list[tuple[Process, int] | None] = [None] * replicated.count
        self.room = self.payloads = 0
        self.heals = False
        self.fail_overs = self.kept = self.dropped = self.orphaned = 0
        self.gone: set[Payload] = set()
        process = replicated.hosts[first].up
        if process is not None:
            self._note_leader(first, process)

    def _note_leader(self, broker: BrokerId, process: Process) -> None:
        self.leader = broker
        self.leader_epoch = process.partition.leader_epoch
        self.serves[broker] = process, self.leader_epoch

    # --- serving ------------------------------------------------------------------------------------------------------

    def observe(self) -> None:
        """After an event of replication: a serving broker forgets when its process has ended or its replica follows.
        One that was elected again meanwhile goes on, if nobody else has served."""
        for broker, served in enumerate(self.serves):
            if served is None:
                continue
            process, epoch = served
            partition = process.partition
            if self.replicated.hosts[broker].broker is not process or not partition.is_leader:
                self.serves[broker] = None
            elif partition.leader_epoch != epoch:
                self.serves[broker] = None
                if self.leader == broker:
                    self._note_leader(broker, process)

    def handles(self, broker: BrokerId) -> bool:
        """Whether a broker handles a request as the serving one: it is up, has not forgotten, and there is room for its
        appends."""
        host = self.replicated.hosts[broker]
        return (
            host.up is not None
            and self.serves[broker] is not None
            and host.up.partition.log.end_offset < self.room
            and len(self.entries) < self.payloads
        )

    def in_sync(self, broker: BrokerId) -> bool:
        """Whether the ISR that a broker knows of is large enough for it to take a record."""
        process, config = self.replicated.hosts[broker].up, self.replicated.config
        return process is not None and len(process.partition.isr) >= min(
            config.min_insync_replicas, self.replicated.count
        )

    @property
    def knows_leader(self) -> bool:
        """Whether `leader` is the newest leader of all, so that nobody leads anew."""
        return self.replicated.control.partition.leader_epoch == self.leader_epoch

    def leads_anew(self, broker: BrokerId) -> bool:
        """Whether a broker leads in an epoch in which nobody has served."""
        process = self.replicated.hosts[broker].up
        partition = None if process is None else process.partition
        return partition is not None and partition.is_leader and partition.leader_epoch > self.leader_epoch

    def uncommitted(self, broker: BrokerId) -> int:
        """How many of the records of a broker that is up are above its high watermark."""
        process = self.replicated.hosts[broker].up
        return 0 if process is None else process.log.end_offset - process.log.high_watermark

    def may_load(self, broker: BrokerId) -> bool:
        """Whether a broker leads in an epoch in which nobody has served, and all that it has is committed."""
        return self.leads_anew(broker) and not self.uncommitted(broker)

    def become_leader(self, broker: BrokerId) -> int:
        """A broker that leads takes over: how many of the entries that its predecessor has not seen commit it has.

        If its log has lost entries that were seen to commit, that is 0, and its own log then counts as committed.
        Raises LostRecordsReturnedError, and BrokenInvariant for records that were never gone.
        """
        process = self.replicated.hosts[broker].up
        if process is None:
            raise BrokenInvariant(f"broker {broker} leads and is not up")
        found, known = payloads(process.log.storage.batches), len(self.committed)
        before = [payload for payload, _ in self.pending[self.leader]]
        keep = max(len(found) - known, 0)
        if found[:known] != self.committed:
            self.gone.update({*self.committed} - {*found})
            keep, self.committed = 0, found
        elif found[known:] != before[:keep]:
            back = {*found[known:]} - {*before}
            if not back or not back <= self.gone:
                raise BrokenInvariant(f"broker {broker} leads with {found[known:]} uncommitted, after {before}")
            raise LostRecordsReturnedError
        self.kept += keep
        self.dropped += len(before) - keep
        self.gone.update(before[keep:])
        self.fail_overs += 1
        self._note_leader(broker, process)
        known = len(self.committed)
        self.pending[broker] = deque(zip(found[known:], range(known, len(found)), strict=True))
        return keep

    def count_as_committed(self) -> None:
        """Every entry that the current leader has taken over counts as committed from now on."""
        pending = self.pending[self.leader]
        self.committed += [payload for payload, _ in pending]
        pending.clear()

    def found(self) -> list[Entry]:
        """The entries in the log of the current leader's replica."""
        return [self.entries[one] for one in payloads(self.replicated.hosts[self.leader].storage.batches)]

    # --- appending and committing -----------------------------------------------------------------------------------

    def append(self, broker: BrokerId, entry: Entry) -> bool:
        """The coordinator produces an entry with acks=all. False if the ISR is too small for it."""
        payload, process = FIRST_PAYLOAD + len(self.entries), self.replicated.hosts[broker].up
        if process is None or not process.partition.is_leader:
            raise BrokenInvariant(f"broker {broker} serves and does not lead the partition")
        offset = process.log.end_offset
        self.replicated.append_record(broker, payload, "all")
        if process.log.end_offset == offset:
            return False
        self.entries[payload] = entry
        self.pending[broker].append((payload, offset))
        if broker != self.leader:
            self.orphaned += 1
            self.gone.add(payload)
        return True

    def commit(self) -> Payload | None:
        """The high watermark of the current leader has passed its oldest pending entry: it counts as committed."""
        broker = self.leader
        served, pending = self.serves[broker], self.pending[broker]
        if served is None or not pending:
            return None
        process, (payload, offset) = served[0], pending[0]
        if self.heals and process.log.high_watermark <= offset:
            self._replicate(process, offset)
        if self.replicated.hosts[broker].up is not process or process.log.high_watermark <= offset:
            return None
        pending.popleft()
        self.committed.append(payload)
        return payload

    def _replicate(self, process: Process, offset: int) -> None:
        """Everybody fetches until the high watermark has passed an offset."""
        for _ in range(MOST_ROUNDS):
            fair_round(self.replicated)
            self.observe()
            if process.log.high_watermark > offset:
                break

    def acknowledge(self, payload: Payload) -> None:
        """The producer of a committed entry receives the acknowledgement."""
        self.replicated.complete_produce(self.leader, payload)

    # --- reading back -----------------------------------------------------------------------------------------------

    def read_back(self) -> list[Entry]:
        """The committed entries, read without knowing the elected broker: from the partition's leader, below its high
        watermark."""
        leader = self.replicated.control.partition.leader
        process = None if leader is None else self.replicated.up(leader)
        if process is None:
            return []
        found = payloads(process.partition.read_committed(0, process.log.end_offset))
        return [self.entries[payload] for payload in found]


def payloads(batches: Iterable[RecordBatch]) -> list[Payload]:
    """Record by record."""
    return [payload for batch in batches for payload in batch.records]
