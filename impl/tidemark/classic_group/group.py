"""A classic group and its members, as a coordinator holds them in memory (ClassicGroup, ClassicGroupMember).

This file has the group's state; rebalance.py and coordinator.py change it as requests come and timers run out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from tidemark.classic_group.rules import Rules
from tidemark.classic_group.states import GroupEvent, GroupState, next_state
from tidemark.common.errors import BrokenInvariant, Errors
from tidemark.groups.messages import (
    GroupMetadataRecord,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponseMember,
    MemberMetadata,
    Partitions,
    Protocols,
)
from tidemark.groups.partitions import MemberId, Subscription


class Awaiting(Enum):
    """The reply that a member waits for."""

    __hash__ = object.__hash__  # by identity: Enum's own is slow

    NOTHING = "nothing"
    JOIN = "join"
    """Its JoinGroup is parked: the join phase has to end, or its record to commit."""
    SYNC = "sync"
    """Its SyncGroup is parked: the assignment has to commit."""


@dataclass(slots=True)
class ClassicGroupMember:
    """A member; times are in milliseconds. `is_new`: it has not been through a join phase."""

    member_id: MemberId
    group_instance_id: str | None
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    is_new: bool = False
    awaiting: Awaiting = Awaiting.NOTHING
    assignment: Partitions = ()

    @classmethod
    def joining(cls, member_id: MemberId, request: JoinGroupRequest) -> ClassicGroupMember:
        """A member that comes with its first JoinGroup."""
        return cls(
            member_id,
            request.group_instance_id,
            request.protocols,
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
            is_new=True,
            awaiting=Awaiting.JOIN,
        )

    @property
    def is_static(self) -> bool:
        """Whether it is a process of an instance (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """A member with a parked request counts as alive. A new member does not: its client may have abandoned the
        JoinGroup."""
        return not self.is_new and self.awaiting is not Awaiting.NOTHING

    @property
    def topics(self) -> frozenset[str]:
        """The topics that the member subscribes to. The member sends the same topics for every assignor."""
        return self.protocols[0].metadata.topics

    def update(self, request: JoinGroupRequest) -> None:
        """It joins again, perhaps with other metadata."""
        self.protocols = request.protocols
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = request.rebalance_timeout_ms
        self.awaiting = Awaiting.JOIN

    def supports(self, protocol: str) -> bool:
        """Whether it has this assignor."""
        return any(mine.name == protocol for mine in self.protocols)

    def metadata(self, protocol: str | None) -> Subscription:
        """The member's subscription for that assignor. For an assignor that the member lacks, its first one; a
        rebalance that chooses another assignor is then due."""
        for mine in self.protocols:
            if mine.name == protocol:
                return mine.metadata
        return self.protocols[0].metadata

    def vote(self, candidates: Iterable[str]) -> str:
        """Its first choice; raises BrokenInvariant if it has none of them."""
        for mine in self.protocols:
            if mine.name in candidates:
                return mine.name
        raise BrokenInvariant(f"member {self.member_id} has none of the assignors {sorted(candidates)}")


class ClassicGroup:
    """The group. `state` changes through `transition` alone, and `members` by add, remove, replace."""

    __slots__ = (
        "generation",
        "initial",
        "leader",
        "members",
        "pending",
        "pending_sync",
        "protocol",
        "state",
        "static_members",
    )

    def __init__(self) -> None:
        self.state = GroupState.DEAD
        self.generation = 0
        self.protocol: str | None = None
        """The assignor that the members voted for."""
        self.leader: MemberId | None = None
        """The member that assigns, or will; there is one whenever there are members."""
        self.initial = False
        """The join phase began in an empty group: it lasts until its time-out, for others to join."""
        self.members: dict[MemberId, ClassicGroupMember] = {}
        self.static_members: dict[str, MemberId] = {}
        """Instance -> its member."""
        self.pending: set[MemberId] = set()
        """Member ids that were issued and have not joined yet."""
        self.pending_sync: set[MemberId] = set()
        """Members whose SyncGroup is expected. The id of a static member that was replaced stays, as in Kafka."""

    @classmethod
    def load(cls, record: GroupMetadataRecord | None) -> ClassicGroup:
        """The group that the log's last record of it amounts to; None: there is no record."""
        group = cls()
        if record is not None:
            group.generation = record.generation
            group.protocol = record.protocol
            group.leader = record.leader
            for stored in record.members:
                group.add(_loaded(stored, record.protocol))
        group.transition(GroupEvent.LOADED if group.members else GroupEvent.LOADED_EMPTY)
        return group

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def all_joined(self) -> bool:
        """Whether the join phase waits for nobody."""
        return not self.pending and all(member.awaiting is Awaiting.JOIN for member in self.members.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long the group waits for its members: as long as the slowest of them asks for."""
        longest = 0
        for member in self.members.values():
            longest = max(longest, member.rebalance_timeout_ms)
        return longest

    def supports_protocols(self, protocols: Protocols) -> bool:
        """Whether one of these assignors is one of every member's."""
        return any(all(member.supports(one.name) for member in self.members.values()) for one in protocols)

    def select_protocol(self) -> str:
        """The vote: each member's first choice among what all support; the first by name, if two have as many."""
        members = list(self.members.values())
        if not members:
            raise BrokenInvariant("a group without members chooses no assignor")
        candidates = [one.name for one in members[0].protocols if all(member.supports(one.name) for member in members)]
        votes = [member.vote(candidates) for member in members]
        return min(set(votes), key=lambda name: (-votes.count(name), name))

    def member_error(self, member_id: MemberId, group_instance_id: str | None, rules: Rules) -> Errors:
        """The error for a request in this member's name. A static member's instance id is checked first."""
        if group_instance_id is not None:
            mapped = self.static_members.get(group_instance_id)
            if mapped is None:
                return Errors.UNKNOWN_MEMBER_ID
            if not rules.member_of_instance(member_id, mapped):
                return Errors.FENCED_INSTANCE_ID
        return Errors.NONE if member_id in self.members else Errors.UNKNOWN_MEMBER_ID

    def roster(self) -> tuple[JoinGroupResponseMember, ...]:
        """The members, as their leader hears of them."""
        return tuple(
            JoinGroupResponseMember(member.member_id, member.group_instance_id, member.metadata(self.protocol))
            for member in self.members.values()
        )

    def record(self, assignments: Mapping[MemberId, Partitions] | None = None) -> GroupMetadataRecord:
        """The group, written down with these assignments (None: those that it has); a member that is not named gets
        nothing."""
        return GroupMetadataRecord(
            self.generation,
            self.protocol,
            self.leader,
            tuple(
                MemberMetadata(
                    member.member_id,
                    member.group_instance_id,
                    member.metadata(self.protocol),
                    member.assignment if assignments is None else assignments.get(member.member_id, ()),
                    member.session_timeout_ms,
                    member.rebalance_timeout_ms,
                )
                for member in self.members.values()
            ),
        )

    # --- changing -----------------------------------------------------------------------------------------------

    def transition(self, event: GroupEvent) -> None:
        """`state` becomes what the table says."""
        self.state = next_state(self.state, event)

    def add(self, member: ClassicGroupMember) -> None:
        """A member comes; the first one leads."""
        self.members[member.member_id] = member
        self.pending.discard(member.member_id)
        if self.leader is None:
            self.leader = member.member_id
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id

    def remove(self, member_id: MemberId) -> None:
        """A member or a pending id goes. A leader that goes is followed by the member with the lowest id."""
        self.pending.discard(member_id)
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        instance = member.group_instance_id
        if instance is not None and self.static_members.get(instance) == member_id:
            del self.static_members[instance]
        if self.leader == member_id:
            self.leader = min(self.members, default=None)

    def replace_static(self, old_id: MemberId, new_id: MemberId, request: JoinGroupRequest) -> ClassicGroupMember:
        """Another process of the instance goes on as `new_id`, with what the old one was assigned."""
        member = self.members.pop(old_id)
        member.member_id = new_id
        member.is_new = False
        member.update(request)
        self.members[new_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        return member

    def elect_joined_leader(self) -> bool:
        """The leader must have joined. If it has not, the joined member with the lowest id becomes leader. If no member
        has joined, the leader stays and the result is False."""
        joined = [member_id for member_id, member in self.members.items() if member.awaiting is Awaiting.JOIN]
        if not joined:
            return False
        if self.leader not in joined:
            self.leader = min(joined)
        return True


def _loaded(stored: MemberMetadata, protocol: str | None) -> ClassicGroupMember:
    """A member as the log knows it: of its assignors only the chosen one."""
    if protocol is None:
        raise BrokenInvariant(f"the log has a member {stored.member_id} in a group without an assignor")
    return ClassicGroupMember(
        stored.member_id,
        stored.group_instance_id,
        (JoinGroupRequestProtocol(protocol, stored.subscription),),
        stored.session_timeout_ms,
        stored.rebalance_timeout_ms,
        assignment=stored.assignment,
    )
