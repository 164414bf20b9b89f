"""Every event that can happen to a classic group under simulation and not to every group: joining, assigning,
heartbeats, timers.

Which event comes next is somebody else's choice (run.py). A method returns whether the event happened; the handler's
end tells the recorder its action of the specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tidemark.classic_group.consumer import Consumer, ConsumerConfig
from tidemark.classic_group.coordinator import GroupCoordinator, JoinVerdict
from tidemark.classic_group.flaws import consumer_of, coordinator_of
from tidemark.classic_group.rebalance import GroupConfig
from tidemark.classic_group.rules import Rules
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.groups.assignors import COOPERATIVE_STICKY, RANGE
from tidemark.groups.assignors.claims import AllClaimRules
from tidemark.groups.assignors.sticky import assign_cooperative_sticky
from tidemark.groups.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tidemark.groups.partitions import Assignment
from tidemark.groups.purgatory import Timer, TimerKind
from tidemark.groups.sim.events import GroupEvents
from tidemark.groups.sim.network import Broker, Client, Exchange, OffsetsPartition
from tidemark.groups.sim.state import INSTANCE, new_member_id
from tidemark.groups.table import Timeouts

ASSIGNORS = ((COOPERATIVE_STICKY,), (RANGE,), (COOPERATIVE_STICKY, RANGE))
"""The assignors that a consumer may be configured with: cooperative; eager; both, as in the first bounce of an
upgrade."""

EXPIRES = {
    TimerKind.SESSION: "ExpireSession",
    TimerKind.PENDING_MEMBER: "ExpirePendingMember",
    TimerKind.JOIN: "ExpireJoin",
    TimerKind.SYNC: "ExpireSync",
}


class GroupCluster(GroupEvents[GroupCoordinator, Consumer, OffsetsPartition]):
    """A classic group's brokers and consumers; `timeouts`: per consumer."""

    __slots__ = ("rules", "timeouts")

    def __init__(
        self,
        brokers: int,
        static: Sequence[bool],
        timeouts: Sequence[Timeouts],
        counts: dict[str, int],
        first: Broker,
        rules: Rules,
        config: GroupConfig,
    ) -> None:
        super().__init__(static, counts, OffsetsPartition(brokers, first))
        self.rules = rules
        self.timeouts = timeouts
        issue = partial(new_member_id, self.numbers)
        self.coordinators = [coordinator_of(rules, config, issue) for _ in range(brokers)]
        self.coordinators[first].become_coordinator(1, (), 0)

    # --- a consumer's process ---------------------------------------------------------------------------------------

    def start_consumer(self, client: Client, mode: int) -> bool:
        """A process starts, with the assignors of that number, and subscribes to everything."""
        if self.consumers[client] is not None:
            return False
        instance = INSTANCE if self.static[client] else None
        config = ConsumerConfig(ASSIGNORS[mode], instance, *self.timeouts[client])
        self.consumers[client] = consumer_of(config, self.counts, self.rules)
        self.recorder.did("StartConsumer", client, mode)
        return True

    def notice_partitions(self, client: Client) -> bool:
        """A consumer looks at the partitions that there are."""
        consumer = self.consumers[client]
        if consumer is None or not consumer.notice_partitions(self.counts):
            return False
        self.recorder.did("NoticePartitions", client)
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
            if response.protocol_name == COOPERATIVE_STICKY and self._withholds(response, given):
                aimed = self._given(self._aimed_at(response))
                if aimed != given:
                    self.recorder.blocked("JoinAsLeader", client, aimed)
            self.recorder.did("JoinAsLeader", client, given)

    def _withholds(self, response: JoinGroupResponse, given: tuple[int, ...]) -> bool:
        """Whether a partition that somebody wants is given to nobody."""
        wanted: set[str] = set()
        for member in response.members:
            wanted |= member.metadata.topics
        return any(
            not to and count and topic in wanted for to, (topic, count) in zip(given, self.counts.items(), strict=True)
        )

    def _aimed_at(self, response: JoinGroupResponse) -> Assignment:
        """The assignment that the leader's cooperative assignor would make if no partition had to be revoked first."""
        rules = self.rules
        hasty = AllClaimRules(highest_claim_wins=rules.highest_claim_wins, count_older_claim=rules.count_older_claim)
        hasty.owned_by_no_other = lambda owners, member: True
        subscriptions = {member.member_id: member.metadata for member in response.members}
        there = {topic: count for topic, count in self.counts.items() if count}
        return assign_cooperative_sticky(there, subscriptions, hasty)

    def _given(self, assignment: Assignment) -> tuple[int, ...]:
        """Per topic the number of the member that gets it, 0 for nobody."""
        to = {one.topic: self.numbers[member] for member, partitions in assignment.items() for one in partitions}
        return tuple(to.get(topic, 0) for topic in self.counts)

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
                self.settle(broker, coordinator.reject_sync(exchange.token, error))
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

    # --- the network ------------------------------------------------------------------------------------------------

    def repeat_member_request(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup will arrive twice."""
        exchange = self.network.member[client]
        return self._repeat(client, exchange, "RepeatMemberRequest")

    def lose_member_rpc(self, client: Client) -> bool:
        """A JoinGroup or SyncGroup, or its reply, is lost or given up."""
        return self._lose(client, self.network.member, "LoseMemberRpc")
