"""Every event that can happen to a group under simulation: consumers' first, then the coordinators', the log's and the
network's.

Which event comes next is somebody else's choice (run.py). A method says whether something happened; what happened is an
action of the specification, told to the recorder at the handler's end.
"""

from __future__ import annotations

from tidemark.client.consumer import Consumer, ConsumerConfig
from tidemark.errors import BrokenInvariant, Errors
from tidemark.group.assignors import COOPERATIVE_STICKY, RANGE
from tidemark.group.assignors.claims import AllClaimRules
from tidemark.group.assignors.sticky import assign_cooperative_sticky
from tidemark.group.coordinator import JoinVerdict
from tidemark.group.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tidemark.group.partitions import Assignment, TopicPartition
from tidemark.group.purgatory import Timer, TimerKind
from tidemark.sim.group.network import Broker, Client, Exchange
from tidemark.sim.group.state import INSTANCE, GroupState

ASSIGNORS = ((COOPERATIVE_STICKY,), (RANGE,), (COOPERATIVE_STICKY, RANGE))
"""What a consumer may be configured with: cooperative; eager; both, as in the first bounce of an upgrade."""

EXPIRES = {
    TimerKind.SESSION: "ExpireSession",
    TimerKind.PENDING_MEMBER: "ExpirePendingMember",
    TimerKind.JOIN: "ExpireJoin",
    TimerKind.SYNC: "ExpireSync",
}


class GroupCluster(GroupState):
    """Brokers that may be the group's coordinator, and its consumers; both are numbered from 0."""

    __slots__ = ()

    # --- a consumer's process ---------------------------------------------------------------------------------------

    def start_consumer(self, client: Client, mode: int) -> bool:
        """A process starts, with the assignors of that number, and subscribes to everything."""
        if self.consumers[client] is not None:
            return False
        instance = INSTANCE if self.static[client] else None
        config = ConsumerConfig(ASSIGNORS[mode], instance)
        self.consumers[client] = Consumer(config, self.counts, self.rules)
        self.recorder.did("StartConsumer", client, mode)
        return True

    def crash_consumer(self, client: Client) -> bool:
        """A process ends without a word."""
        if self.consumers[client] is None:
            return False
        self._stop(client)
        self.recorder.did("CrashConsumer", client)
        return True

    def _stop(self, client: Client) -> None:
        self.consumers[client] = None
        self.network.hang_up(client)

    def leave_group(self, client: Client, broker: Broker) -> bool:
        """A consumer closes; a dynamic one tells its coordinator."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.stray[client] is not None:
            return False
        request = consumer.leave_group()
        self._stop(client)
        if request is not None:
            network.stray[client] = network.exchange(broker, request)
        self.recorder.did("LeaveGroup", client, broker)
        return True

    def change_subscription(self, client: Client, topics: frozenset[str], mask: int) -> bool:
        """The application subscribes to other topics."""
        consumer = self.consumers[client]
        if consumer is None or consumer.subscriptions.topics == topics:
            return False
        consumer.change_subscription(topics)
        self.recorder.did("ChangeSubscription", client, mask)
        return True

    def add_partition(self, number: int, topic: str) -> bool:
        """An operator creates a topic."""
        if self.counts[topic]:
            return False
        self.counts[topic] = 1
        self.recorder.did("AddPartition", number)
        return True

    def notice_partitions(self, client: Client) -> bool:
        """A consumer looks at the partitions that there are."""
        consumer = self.consumers[client]
        if consumer is None or not consumer.notice_partitions(self.counts):
            return False
        self.recorder.did("NoticePartitions", client)
        return True

    def poll(self, client: Client, number: int, partition: TopicPartition) -> bool:
        """The application reads one record."""
        consumer = self.consumers[client]
        offset = None if consumer is None else consumer.poll(partition)
        if offset is None:
            return False
        self.recorder.did("Poll", client, number, offset)
        return True

    def finish_revocation(self, client: Client) -> bool:
        """A rebalance listener returns."""
        consumer = self.consumers[client]
        if consumer is None or not consumer.finish_revocation():
            return False
        self.recorder.did("FinishRevocation", client)
        return True

    # --- a consumer's requests --------------------------------------------------------------------------------------

    def send_join(self, client: Client, broker: Broker) -> bool:
        """A consumer joins, if it wants to and nothing else of that kind is outstanding."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.member[client] is not None:
            return False
        request = consumer.send_join(self.now)
        if request is None:
            return False
        network.member[client] = network.exchange(broker, request)
        self.recorder.did("SendJoin", client, broker)
        return True

    def receive_member(self, client: Client) -> bool:
        """The reply to a JoinGroup or SyncGroup arrives."""
        exchange = self.network.member[client]
        if exchange is None or exchange.response is None:
            return False
        if isinstance(exchange.response, JoinGroupResponse):
            self._receive_join(client, exchange, exchange.response)
        elif isinstance(exchange.response, SyncGroupResponse):
            waited = self.consumer(client).receive_assignment(exchange.response, self.now)
            self.network.member[client] = None
            self._end_if_fatal(client)
            self.recorder.did("ReceiveAssignment" if waited else "ReceiveMemberError", client)
        return True

    def _receive_join(self, client: Client, exchange: Exchange, response: JoinGroupResponse) -> None:
        network = self.network
        request = self.consumer(client).receive_join(response, self.counts)
        network.member[client] = None if request is None else network.exchange(exchange.broker, request)
        self._end_if_fatal(client)
        if request is None:
            self.recorder.did("ReceiveMemberError", client)
        elif request.assignments is None:
            self.recorder.did("JoinAsFollower", client)
        else:
            given = self._given(dict(request.assignments))
            if response.protocol_name == COOPERATIVE_STICKY:
                aimed = self._given(self._aimed_at(response))
                if aimed != given:
                    self.recorder.blocked("JoinAsLeader", client, aimed)
            self.recorder.did("JoinAsLeader", client, given)

    def _aimed_at(self, response: JoinGroupResponse) -> Assignment:
        """What the leader's cooperative assignor would hand out if nothing had to be revoked first."""
        rules = self.rules
        hasty = AllClaimRules(highest_claim_wins=rules.highest_claim_wins, older_claim_counts=rules.older_claim_counts)
        hasty.withhold_until_revoked = lambda owners, member: True
        subscriptions = {member.member_id: member.metadata for member in response.members}
        there = {topic: count for topic, count in self.counts.items() if count}
        return assign_cooperative_sticky(there, subscriptions, hasty)

    def _given(self, assignment: Assignment) -> tuple[int, ...]:
        """Per topic the number of the member that gets it, 0 for nobody."""
        to = {one.topic: self.numbers[member] for member, partitions in assignment.items() for one in partitions}
        return tuple(to.get(topic, 0) for topic in self.counts)

    def _end_if_fatal(self, client: Client) -> None:
        """An error that the application cannot go on after."""
        if self.consumer(client).fatal is not None:
            self._stop(client)

    def send_heartbeat(self, client: Client, broker: Broker) -> bool:
        """A consumer says that it is there."""
        consumer, network = self.consumers[client], self.network
        request = None if consumer is None or network.heartbeat[client] is not None else consumer.send_heartbeat()
        if request is None:
            return False
        network.heartbeat[client] = network.exchange(broker, request)
        self.recorder.did("SendHeartbeat", client, broker)
        return True

    def receive_heartbeat(self, client: Client) -> bool:
        """The reply to a heartbeat arrives."""
        exchange = self.network.heartbeat[client]
        if exchange is None or not isinstance(exchange.response, HeartbeatResponse):
            return False
        if isinstance(exchange.request, HeartbeatRequest):
            self.consumer(client).receive_heartbeat(exchange.request, exchange.response)
        self.network.heartbeat[client] = None
        self._end_if_fatal(client)
        self.recorder.did("ReceiveHeartbeat", client)
        return True

    def send_commit(self, client: Client, broker: Broker) -> bool:
        """A consumer commits its positions."""
        consumer, network = self.consumers[client], self.network
        request = None if consumer is None or network.offset[client] is not None else consumer.send_commit()
        if request is None:
            return False
        network.offset[client] = network.exchange(broker, request)
        self.recorder.did("SendCommit", client, broker)
        return True

    def send_offset_fetch(self, client: Client, broker: Broker) -> bool:
        """A consumer asks where to go on."""
        consumer, network = self.consumers[client], self.network
        if consumer is None or network.offset[client] is not None:
            return False
        request = consumer.send_offset_fetch()
        if request is None:
            return False
        network.offset[client] = network.exchange(broker, request, consumer.subscriptions.assignment_id)
        self.recorder.did("SendOffsetFetch", client, broker)
        return True

    def receive_offset(self, client: Client) -> bool:
        """The reply to an OffsetCommit or OffsetFetch arrives. One that comes after another assignment is thrown away,
        as if it were lost."""
        exchange, network = self.network.offset[client], self.network
        if exchange is None or exchange.response is None:
            return False
        consumer, request, response = self.consumer(client), exchange.request, exchange.response
        network.offset[client] = None
        if isinstance(response, OffsetFetchResponse):
            used = consumer.receive_offsets(response, exchange.assignment_id)
            self.recorder.did("ReceiveOffsets" if used else "LoseOffsetRpc", client)
        elif isinstance(response, OffsetCommitResponse) and isinstance(request, OffsetCommitRequest):
            consumer.receive_commit(request, response)
            self._end_if_fatal(client)
            self.recorder.did("ReceiveCommit", client)
        return True

    # --- requests arrive --------------------------------------------------------------------------------------------

    def deliver_member(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup arrives."""
        exchange = self.network.member[client]
        return exchange is not None and not exchange.arrived and self._deliver(client, exchange, False)

    def deliver_stray(self, client: Client) -> bool:
        """A request arrives for whose reply nobody waits."""
        exchange = self.network.stray[client]
        if exchange is None:
            return False
        self.network.stray[client] = None
        return self._deliver(client, exchange, True)

    def _deliver(self, client: Client, exchange: Exchange, late: bool) -> bool:
        request, broker = exchange.request, exchange.broker
        if not late:
            self.network.arrive(exchange)
        if isinstance(request, JoinGroupRequest):
            self._join(client, broker, exchange.token, request, late)
        elif isinstance(request, SyncGroupRequest):
            coordinator = self.coordinators[broker]
            error = coordinator.sync_error(request)
            if error is Errors.NONE:
                self.settle(broker, coordinator.handle_sync(request, exchange.token, self.now))
                self.recorder.did("HandleSync", broker, client, late)
            else:
                self.settle(broker, coordinator.reject_sync(request, exchange.token, error))
                self.recorder.did("RejectSync", broker, client, late)
        elif isinstance(request, OffsetCommitRequest):
            self._commit(client, broker, exchange.token, request, late)
        elif isinstance(request, LeaveGroupRequest):
            self.settle(broker, self.coordinators[broker].handle_leave(request, exchange.token, self.now))
            self.recorder.did("HandleLeave", broker, client)
        else:
            raise BrokenInvariant(f"a {type(request).__name__} arrives by another way")
        return True

    def _join(self, client: Client, broker: Broker, token: int, request: JoinGroupRequest, late: bool) -> None:
        coordinator = self.coordinators[broker]
        verdict = coordinator.join_verdict(request)
        if verdict is JoinVerdict.ISSUE_MEMBER_ID:
            self.recorder.blocked("AddMember", broker, client, late, len(self.numbers) + 1)
        before = len(self.numbers)
        mapped = coordinator.group.static_members.get(INSTANCE)
        self.settle(broker, coordinator.handle_join(verdict, request, token, self.now))
        issued = len(self.numbers)
        if verdict is JoinVerdict.REJECT:
            self.recorder.did("RejectJoin", broker, client, late)
        elif verdict is JoinVerdict.ISSUE_MEMBER_ID:
            self.recorder.did("IssueMemberId", broker, client, late, issued)
        elif verdict is JoinVerdict.ADD_MEMBER:
            number = issued if issued > before else self.numbers[request.member_id]
            self.recorder.did("AddMember", broker, client, late, number)
        elif verdict is JoinVerdict.JOIN_STATIC:
            number = issued if issued > before else self.numbers[mapped or ""]
            self.recorder.did("JoinStaticMember", broker, client, late, number)
        else:
            self.recorder.did("RejoinMember", broker, client, late)

    def deliver_heartbeat(self, client: Client) -> bool:
        """A heartbeat arrives."""
        exchange = self.network.heartbeat[client]
        if exchange is None or exchange.arrived or not isinstance(exchange.request, HeartbeatRequest):
            return False
        self.network.arrive(exchange)
        broker = exchange.broker
        self.settle(broker, self.coordinators[broker].handle_heartbeat(exchange.request, exchange.token, self.now))
        self.recorder.did("HandleHeartbeat", broker, client)
        return True

    def deliver_offset(self, client: Client) -> bool:
        """An OffsetCommit or OffsetFetch arrives."""
        exchange = self.network.offset[client]
        if exchange is None or exchange.arrived:
            return False
        self.network.arrive(exchange)
        request, broker = exchange.request, exchange.broker
        if isinstance(request, OffsetFetchRequest):
            self.settle(broker, self.coordinators[broker].handle_offset_fetch(request, exchange.token))
            self.recorder.did("HandleOffsetFetch", broker, client)
        elif isinstance(request, OffsetCommitRequest):
            self._commit(client, broker, exchange.token, request, False)
        return True

    def _commit(self, client: Client, broker: Broker, token: int, request: OffsetCommitRequest, late: bool) -> None:
        coordinator = self.coordinators[broker]
        error = coordinator.commit_error(request)
        if error is Errors.NONE:
            self.commits.sent(dict(request.offsets))
            self.settle(broker, coordinator.handle_commit(request, token))
            self.recorder.did("HandleCommit", broker, client, late)
        else:
            self.settle(broker, coordinator.reject_commit(request, token, error))
            self.recorder.did("RejectCommit", broker, client, late)

    # --- coordinators -----------------------------------------------------------------------------------------------

    def expire(self, broker: Broker, timer: Timer) -> bool:
        """A timer runs out at a coordinator."""
        outcome = self.coordinators[broker].expire(timer, self.now)
        if outcome is None:
            return False
        self.settle(broker, outcome)
        member = (self.numbers[timer.member_id],) if timer.member_id else ()
        self.recorder.did(EXPIRES[timer.kind], broker, *member)
        return True

    def acting(self, broker: Broker) -> bool:
        """Whether what the broker appends may commit."""
        return self.log.leader == broker and self.coordinators[broker].epoch == self.log.epoch

    def commit_entry(self) -> bool:
        """The oldest batch of the partition's leader is replicated."""
        log = self.log
        broker = log.leader
        if not log.appended[broker] or not self.acting(broker):
            return False
        log.commit()
        outcome = self.coordinators[broker].commit_entry(self.now)
        for reply in outcome.replies:
            if isinstance(reply.response, OffsetCommitResponse):
                exchange = self.network.waiting.get(reply.token)  # type: ignore[call-overload]
                if exchange is not None and isinstance(exchange.request, OffsetCommitRequest):
                    self.commits.acknowledged(dict(exchange.request.offsets))
        self.settle(broker, outcome)
        self.recorder.did("CommitEntry", broker)
        return True

    def become_coordinator(self, broker: Broker, keep: int) -> bool:
        """Another broker is elected; it has `keep` of the old leader's batches."""
        if self.coordinators[broker].serving or keep > len(self.log.appended[self.log.leader]):
            return False
        records = self.log.elect(broker, keep)
        self.coordinators[broker].become_coordinator(self.log.epoch, records, self.now)
        self.recorder.did("BecomeCoordinator", broker, keep)
        return True

    def resign(self, broker: Broker) -> bool:
        """A deposed coordinator hears of it."""
        if not self.coordinators[broker].serving or self.acting(broker):
            return False
        outcome = self.coordinators[broker].resign()
        self.log.appended[broker].clear()
        self.settle(broker, outcome)
        self.recorder.did("Resign", broker)
        return True

    # --- the network ------------------------------------------------------------------------------------------------

    def repeat_member_request(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup will arrive twice."""
        exchange = self.network.member[client]
        return self._repeat(client, exchange, "RepeatMemberRequest")

    def repeat_commit_request(self, client: Client) -> bool:
        """An OffsetCommit will arrive twice."""
        exchange = self.network.offset[client]
        if exchange is None or not isinstance(exchange.request, OffsetCommitRequest):
            return False
        return self._repeat(client, exchange, "RepeatCommitRequest")

    def _repeat(self, client: Client, exchange: Exchange | None, action: str) -> bool:
        network = self.network
        if exchange is None or exchange.arrived or network.stray[client] is not None:
            return False
        network.stray[client] = network.exchange(exchange.broker, exchange.request)
        self.recorder.did(action, client)
        return True

    def lose_member_rpc(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup, or its reply, is lost or given up."""
        return self._lose(client, self.network.member, "LoseMemberRpc")

    def lose_heartbeat(self, client: Client) -> bool:
        """A heartbeat or its reply is lost."""
        return self._lose(client, self.network.heartbeat, "LoseHeartbeat")

    def lose_offset_rpc(self, client: Client) -> bool:
        """An OffsetCommit or OffsetFetch, or its reply, is lost."""
        return self._lose(client, self.network.offset, "LoseOffsetRpc")

    def lose_stray(self, client: Client) -> bool:
        """A stray request never arrives."""
        return self._lose(client, self.network.stray, "LoseStray")

    def _lose(self, client: Client, slots: list[Exchange | None], action: str) -> bool:
        if slots[client] is None:
            return False
        slots[client] = None
        consumer = self.consumers[client]
        if consumer is not None:
            consumer.coordinator = None
        self.recorder.did(action, client)
        return True
