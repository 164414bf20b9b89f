"""A partition on one broker (Partition, Replica): leader and follower side, driven by metadata, fetches and produces.

    made by                 the role                     its state
    make_leader             leader of an epoch           remote replicas, the start of its epoch, a pending ISR proposal
    make_follower           follower, or waits for one   the fetch state: offset and epoch of its next fetch

Every handler runs to its end without waiting and returns the messages to send. Times are milliseconds of the broker's
own clock; offsets count records.
"""

from __future__ import annotations

from tidemark.common.errors import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    NONE,
    NOT_ENOUGH_REPLICAS,
    NOT_LEADER_OR_FOLLOWER,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_LEADER_EPOCH,
    BrokenInvariant,
)
from tidemark.common.structs import value
from tidemark.log.epoch_cache import NO_EPOCH, EpochEndOffset
from tidemark.log.log import Log
from tidemark.log.storage import RecordBatch
from tidemark.replication.messages import (
    REFUSED,
    UNKNOWN_BROKER_EPOCH,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerId,
    FetchRequest,
    FetchResponse,
    MemberState,
    PendingRead,
    ProduceRequest,
    ProduceResponse,
    ReadRequest,
    ReadResponse,
    Refused,
)
from tidemark.replication.rules import Rules

UNKNOWN_OFFSET = -1


@value
class ReplicationConfig:
    """The settings that replication reads. `min_insync_replicas` counts the leader; times are milliseconds, and the
    simulator's: Kafka's defaults are 1, 30,000 and 30,000."""

    min_insync_replicas: int = 2
    replica_lag_time_max_ms: int = 60
    request_timeout_ms: int = 200


@value
class PartitionState:
    """The partition as the metadata log has it after some change; `leader` None: leaderless."""

    leader: BrokerId | None
    leader_epoch: int
    partition_epoch: int
    isr: frozenset[BrokerId]


@value
class PendingIsr:
    """An ISR proposal on its way to the controller; until it is decided the leader counts old and new members."""

    isr: frozenset[BrokerId]
    members: tuple[MemberState, ...]


class Replica:
    """A leader's state of a follower, from the fetches that it counted in its epoch."""

    __slots__ = ("broker_epoch", "broker_id", "last_caught_up_ms", "log_end_offset")

    def __init__(self, broker_id: BrokerId) -> None:
        self.broker_id = broker_id
        self.log_end_offset = UNKNOWN_OFFSET
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self.last_caught_up_ms = 0


@value
class UncountedFetch:
    """A fetch that was validated and read, and is not counted yet."""

    request: FetchRequest
    response: FetchResponse


class Partition:
    """One replica of the partition.

    `leader_id` None: no leader known. `leader_epoch` is -1 and `partition_epoch` 0 before any metadata. `isr` is the
    committed ISR as this broker knows it. `last_fetched_epoch` is the epoch of its tail that a follower's next fetch
    states.
    """

    __slots__ = (
        "_config",
        "_counted",
        "_effective_min_isr",
        "_hw_may_advance",
        "_rules",
        "broker_id",
        "epoch_start_offset",
        "is_leader",
        "isr",
        "last_fetched_epoch",
        "leader_epoch",
        "leader_id",
        "log",
        "partition_epoch",
        "pending",
        "remote",
    )

    def __init__(
        self,
        broker_id: BrokerId,
        replicas: tuple[BrokerId, ...],
        log: Log,
        config: ReplicationConfig,
        rules: Rules,
    ) -> None:
        self.broker_id = broker_id
        self.log = log
        self.remote = {replica: Replica(replica) for replica in replicas if replica != broker_id}
        self.is_leader = False
        self.leader_id: BrokerId | None = None
        self.leader_epoch = -1
        self.partition_epoch = 0
        self.isr: frozenset[BrokerId] = frozenset()
        self.pending: PendingIsr | None = None
        self.epoch_start_offset = 0
        self.last_fetched_epoch = NO_EPOCH
        self._config = config
        self._effective_min_isr = min(config.min_insync_replicas, len(replicas))
        self._rules = rules
        self._counted: tuple[Replica, ...] = ()
        self._hw_may_advance = False

    # --- metadata -------------------------------------------------------------------------------------------------

    def apply_metadata(self, state: PartitionState, now: int) -> bool:
        """Take a newer state of the partition, the last of those that one delta carries; False if it is an older one.

        An AlterPartition reply may have told the leader of that very state: then nothing is left to take.
        """
        if state.partition_epoch < self.partition_epoch:
            return False
        if self._rules.keep_proposal_at_known_epoch(state.partition_epoch, self.partition_epoch):
            return True
        if state.leader == self.broker_id:
            self.make_leader(state, now)
        else:
            self.make_follower(state)
        return True

    def make_leader(self, state: PartitionState, now: int) -> None:
        """Lead from `state` on: in a new epoch, or in the same one with another ISR, which settles a pending
        proposal."""
        rules, log = self._rules, self.log
        new_epoch = state.leader_epoch != self.leader_epoch
        forgets = not self.is_leader or rules.reset_remote_leo_on_new_leader_epoch(
            self.leader_epoch, state.leader_epoch
        )
        if rules.cache_epoch_at_election(state.leader_epoch, log.epoch_cache.latest_epoch):
            log.epoch_cache.assign(state.leader_epoch, log.end_offset)
        if new_epoch:
            self.epoch_start_offset = log.end_offset
        if forgets:
            for replica in self.remote.values():
                replica.log_end_offset = UNKNOWN_OFFSET
                replica.broker_epoch = UNKNOWN_BROKER_EPOCH
                replica.last_caught_up_ms = now
        self._take(state, True)
        self._install_isr(state.isr, None)
        self._maybe_advance_high_watermark()

    def make_follower(self, state: PartitionState) -> None:
        """Follow the leader of `state`, or wait until there is one. It keeps the ISR of `state`; Kafka's follower has
        an empty one."""
        rules, log = self._rules, self.log
        new_epoch = state.leader_epoch != self.leader_epoch
        if new_epoch:  # a new fetch state: it states an epoch once the logs are to be compared
            self.last_fetched_epoch = NO_EPOCH
        if not rules.truncate_by_epoch(log.epoch_cache):
            if new_epoch:
                log.truncate_to(log.high_watermark)
            self.last_fetched_epoch = NO_EPOCH
        elif state.leader != self.leader_id or rules.truncate_on_every_epoch_change(
            self.leader_epoch, state.leader_epoch
        ):
            self.last_fetched_epoch = log.epoch_cache.latest_epoch
        self._take(state, False)
        self.isr = state.isr
        self.pending = None

    def _take(self, state: PartitionState, leads: bool) -> None:
        self.is_leader = leads
        self.leader_id = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch

    # --- the high watermark ---------------------------------------------------------------------------------------

    def _install_isr(self, isr: frozenset[BrokerId], pending: PendingIsr | None) -> None:
        """Take a committed and a pending ISR, and decide which followers count for the high watermark from now on."""
        self.isr = isr
        self.pending = pending
        counted = isr
        if pending is not None:
            rules, proposed = self._rules, pending.isr
            counted = isr & proposed
            if rules.count_members_being_removed(isr, proposed):
                counted = counted | isr
            if rules.count_members_being_added(isr, proposed):
                counted = counted | proposed
        self._counted = tuple([replica for replica in self.remote.values() if replica.broker_id in counted])
        self._hw_may_advance = self._rules.hw_only_at_min_isr(len(isr), self._effective_min_isr)

    def _maybe_advance_high_watermark(self) -> None:
        """The least log end of those that count; it never goes down on a leader."""
        log = self.log
        least = log.end_offset
        if least == log.high_watermark or not self._hw_may_advance:
            return
        for replica in self._counted:
            if replica.log_end_offset < least:
                least = replica.log_end_offset
        if least > log.high_watermark:
            log.set_high_watermark(least)

    @property
    def maximal_isr(self) -> frozenset[BrokerId]:
        """The committed ISR and, while a proposal is undecided, its members."""
        return self.isr if self.pending is None else self.isr | self.pending.isr

    def has_enough_replicas(self) -> bool:
        """Whether the maximal ISR reaches min.insync.replicas, so that acks=all can be answered with success."""
        return len(self.maximal_isr) >= self._effective_min_isr

    # --- produce --------------------------------------------------------------------------------------------------

    def append_record(self, request: ProduceRequest) -> ProduceResponse | Refused:
        """Append a produce attempt in the leader's epoch. REFUSED: acks=all and too few ISR members (to be answered
        with NOT_ENOUGH_REPLICAS). With acks=all the success returned here is not yet the client's: the purgatory
        answers."""
        if not self.is_leader:
            return ProduceResponse(request.payload, NOT_LEADER_OR_FOLLOWER)
        if request.acks == "all" and not self._rules.min_isr_on_append(len(self.isr), self._effective_min_isr):
            return REFUSED
        offset = self.log.append_as_leader((request.payload,), self.leader_epoch)
        self._maybe_advance_high_watermark()
        return ProduceResponse(request.payload, NONE, offset)

    def refusal(self, request: ProduceRequest) -> ProduceResponse:
        """The response to a client's produce that was REFUSED."""
        return ProduceResponse(request.payload, NOT_ENOUGH_REPLICAS)

    # --- fetch, the leader's side ---------------------------------------------------------------------------------

    def receive_fetch(self, request: FetchRequest, now: int) -> FetchResponse | None:
        """A follower's fetch arrives. Returns the answer that refuses it or says where the logs part, or None: it is
        valid, and is handled by `handle_fetch`, `validate_fetch` or `fetch_records`.

        In Kafka's order: epochs, leadership, divergence (Partition.readRecords), range (UnifiedLog.read). The range
        decides only for a fetch without a last fetched epoch. Any other that is past the log's end diverges.
        """
        epoch, last_fetched = request.current_leader_epoch, request.last_fetched_epoch
        if not self._rules.fetch_epoch_not_older(epoch, self.leader_epoch):
            return self.reject_fetch(FENCED_LEADER_EPOCH)
        if not self._rules.fetch_epoch_not_newer(epoch, self.leader_epoch):
            return self.reject_fetch(UNKNOWN_LEADER_EPOCH)
        if not self.is_leader:
            return self.reject_fetch(NOT_LEADER_OR_FOLLOWER)
        log = self.log
        if last_fetched == NO_EPOCH:
            if request.fetch_offset > log.end_offset:
                return self.reject_fetch(OFFSET_OUT_OF_RANGE)
        elif last_fetched != log.epoch_cache.latest_epoch or request.fetch_offset > log.end_offset:
            end = log.end_offset_for_epoch(last_fetched)
            if end.epoch == NO_EPOCH:
                return self.reject_fetch(OFFSET_OUT_OF_RANGE)
            if self._rules.end_of_another_epoch(end, last_fetched) or end.end_offset < request.fetch_offset:
                return self.answer_diverging(request, end, now)
        return None

    def handle_fetch(self, request: FetchRequest, limit: int, now: int) -> FetchResponse:
        """Count the fetch; answer with `limit` records at most and the high watermark that held on arrival."""
        return self._answer(request, self._read(request, limit), now)

    def _read(self, request: FetchRequest, limit: int) -> FetchResponse:
        log, offset = self.log, request.fetch_offset
        return FetchResponse(NONE, log.high_watermark, log.read(offset, limit) if offset < log.end_offset else ())

    def fetch_records(self, request: FetchRequest, limit: int) -> UncountedFetch:
        """The first half of `handle_fetch`: read, and let the lock go."""
        return UncountedFetch(request, self._read(request, limit))

    def update_follower_fetch_state(self, uncounted: UncountedFetch, now: int) -> FetchResponse:
        """The second half: count the fetch, and answer. A leader that was deposed meanwhile has nothing to count in."""
        request = uncounted.request
        if self.is_leader and self._rules.count_in_fetch_epoch(request.current_leader_epoch, self.leader_epoch):
            self._count(request, now)
        return uncounted.response

    def validate_fetch(self, request: FetchRequest, limit: int, now: int) -> PendingRead:
        """Like `handle_fetch`, but the bytes are read when the socket takes them. There must be some."""
        log, offset = self.log, request.fetch_offset
        count = min(limit, log.end_offset - offset)
        read = PendingRead(offset, count, log.high_watermark, log.segment_of(offset + count - 1))
        self._count(request, now)
        return read

    def read_fetch(self, read: PendingRead) -> FetchResponse | Refused:
        """Send a validated range as the log is now. REFUSED: a truncation has reached it, and the connection closes."""
        if not self._rules.slice_not_truncated(read.truncated):
            return REFUSED
        return FetchResponse(NONE, read.high_watermark, self.log.read(read.fetch_offset, read.limit))

    def answer_diverging(self, request: FetchRequest, end: EpochEndOffset, now: int) -> FetchResponse:
        """The follower's log parts from the leader's: where the leader's last epoch not above the follower's ends."""
        return self._answer(request, FetchResponse(NONE, self.log.high_watermark, (), end), now)

    def reject_fetch(self, error: str) -> FetchResponse:
        """An error; the log's end tells a follower out of range where to go on."""
        return FetchResponse(error, -1, (), None, self.log.end_offset)

    # --- fetch, for a consumer ------------------------------------------------------------------------------------

    def receive_read(self, request: ReadRequest, limit: int) -> ReadResponse:
        """Answer a consumer's fetch, in Kafka's order: epochs, leadership, range."""
        epoch = request.current_leader_epoch
        if not self._rules.fetch_epoch_not_older(epoch, self.leader_epoch):
            return self.reject_read(FENCED_LEADER_EPOCH)
        if not self._rules.fetch_epoch_not_newer(epoch, self.leader_epoch):
            return self.reject_read(UNKNOWN_LEADER_EPOCH)
        if not self.is_leader:
            return self.reject_read(NOT_LEADER_OR_FOLLOWER)
        if request.fetch_offset > self.log.end_offset:
            return self.reject_read(OFFSET_OUT_OF_RANGE)
        return self.answer_read(request.fetch_offset, limit)

    def answer_read(self, offset: int, limit: int) -> ReadResponse:
        """Records from `offset`, `limit` at most, as far as consumers may read."""
        log = self.log
        end = log.end_offset
        if not self._rules.read_below_hw(end, log.high_watermark):
            end = log.high_watermark
        return ReadResponse(NONE, log.read(offset, min(limit, end - offset)) if offset < end else ())

    def reject_read(self, error: str) -> ReadResponse:
        """An error."""
        return ReadResponse(error)

    def read_committed(self, offset: int, limit: int) -> tuple[RecordBatch, ...]:
        """The batches that a consumer reads at the leader: from `offset`, below the high watermark, `limit` records at
        most."""
        if not self.is_leader:
            return ()
        return self.log.read(offset, min(limit, self.log.high_watermark - offset))

    def _answer(self, request: FetchRequest, response: FetchResponse, now: int) -> FetchResponse:
        """Answer with `response`, and count the fetch unless the logs part."""
        if self._rules.fetch_does_not_diverge(response):
            self._count(request, now)
        return response

    def _count(self, request: FetchRequest, now: int) -> None:
        """Update the leader's state of the fetching follower (updateFollowerFetchState); the high watermark may
        advance."""
        replica, offset = self.remote[request.replica_id], request.fetch_offset
        if offset >= self.log.end_offset:
            replica.last_caught_up_ms = now
        replica.broker_epoch = request.broker_epoch
        replica.log_end_offset = offset
        self._maybe_advance_high_watermark()

    # --- the ISR --------------------------------------------------------------------------------------------------

    def lagging_member(self, now: int) -> BrokerId | None:
        """An ISR member that has not been at the log's end for replica.lag.time.max.ms, the longest behind first."""
        worst: Replica | None = None
        for replica in self.remote.values():
            if (
                replica.broker_id in self.isr
                and replica.log_end_offset < self.log.end_offset
                and now - replica.last_caught_up_ms > self._config.replica_lag_time_max_ms
                and (worst is None or replica.last_caught_up_ms < worst.last_caught_up_ms)
            ):
                worst = replica
        return None if worst is None else worst.broker_id

    def shrink_isr(self, member: BrokerId, broker_epoch: int) -> AlterPartitionRequest | None:
        """Propose the ISR without a member that lags; None while another proposal is undecided."""
        if not self.is_leader or self.pending is not None or member not in self.isr:
            return None
        return self._propose(self.isr - {member}, broker_epoch)

    def expand_isr(self, follower: BrokerId, broker_epoch: int) -> AlterPartitionRequest | Refused | None:
        """Propose the ISR with a follower that has caught up with the high watermark. None if it may not be proposed
        now, REFUSED if it lacks records from before this epoch."""
        if not self.is_leader or self.pending is not None or follower in self.isr:
            return None
        end_offset = self.remote[follower].log_end_offset
        if end_offset < self.log.high_watermark:
            return None
        if not self._rules.reached_epoch_start(end_offset, self.epoch_start_offset):
            return REFUSED
        return self._propose(self.isr | {follower}, broker_epoch)

    def _propose(self, isr: frozenset[BrokerId], broker_epoch: int) -> AlterPartitionRequest:
        members = [
            MemberState(member, broker_epoch if member == self.broker_id else self.remote[member].broker_epoch)
            for member in sorted(isr)
        ]
        self._install_isr(self.isr, PendingIsr(isr, tuple(members)))
        return self._proposal(broker_epoch)

    def _proposal(self, broker_epoch: int) -> AlterPartitionRequest:
        if self.pending is None:
            raise BrokenInvariant("a proposal is sent that nobody made")
        return AlterPartitionRequest(
            self.broker_id, broker_epoch, self.leader_epoch, self.partition_epoch, self.pending.members
        )

    def resend_alter_partition(self, broker_epoch: int) -> AlterPartitionRequest | None:
        """The undecided proposal once more, as it was, its members' epochs included; None if there is none."""
        if not self.is_leader or self.pending is None:
            return None
        return self._proposal(broker_epoch)

    def handle_alter_partition_reply(self, reply: AlterPartitionResponse) -> None:
        """Success commits the proposal and tries the high watermark again. An ineligible member takes it back. Any
        other error leaves it pending until metadata settles it. A reply of another epoch, or to no proposal, changes
        nothing."""
        if not self.is_leader or self.pending is None or reply.leader_epoch != self.leader_epoch:
            return
        if reply.error is NONE:
            if reply.partition_epoch >= self.partition_epoch:
                self.partition_epoch = reply.partition_epoch
                self._install_isr(self.pending.isr, None)
                self._maybe_advance_high_watermark()
        elif reply.error == INELIGIBLE_REPLICA:
            self._install_isr(self.isr, None)
