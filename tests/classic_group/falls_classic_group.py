"""The classic group: per property a state or a step in which exactly that is wrong.

The good state is a stable group of generation 1 at b1. Member 1 is c1, which leads and has p1; member 2 is s1, which is
static and has p2 and p3.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from falls import Fall, Table, first_of, record, sequence

MEMBERS = 12
ALL = "{p1, p2, p3}"
NOWHERE = "(p1 :> -1 @@ p2 :> -1 @@ p3 :> -1)"


def members(absent: Mapping[str, str], *there: Mapping[str, str]) -> str:
    """The function from member ids, of which the first are there."""
    return first_of(MEMBERS, record(absent), *(record(absent, **one) for one in there))


NO_STORED = {
    "present": "FALSE",
    "static": "FALSE",
    "subscription": "{}",
    "owned": "{}",
    "ownedGeneration": "-1",
    "assignment": "{}",
    "session": "0",
    "rebalance": "0",
}
NO_MEMBER = {**NO_STORED, "isNew": "FALSE", "awaiting": '"nothing"', "mode": '"eager"'}
HASTY = {"session": "1", "rebalance": "3"}
PATIENT = {"session": "2", "rebalance": "4"}
C1 = {"present": "TRUE", "subscription": ALL, "assignment": "{p1}", **HASTY}
S1 = {"present": "TRUE", "static": "TRUE", "subscription": ALL, "assignment": "{p2, p3}", **HASTY}
STORED = {"generation": "1", "protocol": '"range"', "leader": "1"}
STORED_GROUP = record({**STORED, "members": members(NO_STORED, C1, S1)})

ABSENT = {
    "state": '"Dead"',
    "generation": "0",
    "protocol": '"none"',
    "leader": "0",
    "initial": "FALSE",
    "members": members(NO_MEMBER),
    "pending": "{}",
    "pendingSync": "{}",
    "timers": first_of(MEMBERS, "0"),
    "joinTimer": "0",
    "syncTimer": "0",
}
TIMERS = first_of(MEMBERS, "0", "1", "1")
GROUP = {**ABSENT, **STORED, "state": '"Stable"', "members": members(NO_MEMBER, C1, S1), "timers": TIMERS}

RUNNING = {
    "running": "TRUE",
    "state": '"UNJOINED"',
    "member": "0",
    "generation": "-1",
    "protocol": '"none"',
    "mode": '"eager"',
    "subscription": ALL,
    "joined": "{}",
    "rejoin": "TRUE",
    "owned": "{}",
    "assigned": "{}",
    "ownedGeneration": "-1",
    "missed": "FALSE",
    "leads": "FALSE",
    "snapshot": "{}",
}


def stable(member: int, owned: str, **more: str) -> str:
    """A consumer in generation 1."""
    settled = {
        "state": '"STABLE"',
        "member": str(member),
        "generation": "1",
        "protocol": '"range"',
        "joined": ALL,
        "rejoin": "FALSE",
        "owned": owned,
        "assigned": owned,
        "ownedGeneration": "1",
    }
    return record({**RUNNING, **settled, **more})


GOOD = {
    "leaderAndEpoch": record({"broker": "b1", "epoch": "1"}),
    "epoch[b1]": "1",
    "epoch[b2]": "0",
    "group[b1]": record(GROUP),
    "group[b2]": record(ABSENT),
    "storedGroup": STORED_GROUP,
    "issued": "2",
    "consumer[c1]": stable(1, "{p1}", leads="TRUE", snapshot=ALL),
    "consumer[s1]": stable(2, "{p2, p3}"),
    "partitions": ALL,
    "rosters[1]": "{1, 2}",
    "known": "{1, 2}",
    "settled": "{2}",
}

WITHHOLDING = {**S1, "owned": "{p2, p3}", "ownedGeneration": "0", "assignment": "{p2}"}
COOPERATIVE = record(GROUP, protocol='"cooperative-sticky"', members=members(NO_MEMBER, C1, WITHHOLDING))
STORED_COOPERATIVE = record(STORED, protocol='"cooperative-sticky"', members=members(NO_STORED, C1, WITHHOLDING))
WAITS = record({"type": '"group"', "cause": '"sync"', "member": "0", "group": STORED_GROUP})
OFFSETS = record({"type": '"offsets"', "offsets": "(p1 :> 1 @@ p2 :> -1 @@ p3 :> -1)"})
REQUEST = {"broker": "b1", "member": "1", "generation": "1"}
HEARTBEAT = record({"type": '"heartbeat"', **REQUEST})
ANSWERED = record({"type": '"answered"', "member": "1", "generation": "1", "error": '"NONE"'})
COMMIT = record({"type": '"commit"', **REQUEST, "offsets": "(p1 :> 1 @@ p2 :> -1 @@ p3 :> -1)"})
COMMITTING = record({"type": '"committing"', **REQUEST, "remaining": "1"})
FETCH = record({"type": '"fetch"', "broker": "b1", "current": "TRUE"})
FETCHED = record({"type": '"fetched"', "error": '"NONE"', "offsets": NOWHERE, "current": "TRUE"})
SYNC = record({"type": '"sync"', **REQUEST, "assignments": first_of(MEMBERS, "{}")})
SYNCING = record({"type": '"syncing"', "broker": "b1", "member": "1"})
IDLE = record({"type": '"idle"'})
JOINING = record({"type": '"joining"', "broker": "b1", "member": "3"})
COMMIT_OF_S1, SYNC_OF_S1, HEARTBEAT_OF_S1 = (
    request.replace("member |-> 1", "member |-> 2") for request in (COMMIT, SYNC, HEARTBEAT)
)
STATE, GENERATION = "group[b1].state", "group[b1].generation"
PREPARING, COMPLETING, STABLE = '"PreparingRebalance"', '"CompletingRebalance"', '"Stable"'
ENDED = {STATE: COMPLETING, GENERATION: "2", "group[b1].syncTimer": "4"}
FIRST = {STATE: PREPARING, "group[b1].initial": "TRUE"}
WAITING = {STATE: PREPARING, "group[b1].joinTimer": "4"}
SLOW = {"group[b1].members[2].rebalance": "4"}
NO_METADATA = {
    "present": "FALSE",
    "static": "FALSE",
    "subscription": "{}",
    "owned": "{}",
    "ownedGeneration": "-1",
}
ROSTER = members(NO_METADATA, {"present": "TRUE"}, {"present": "TRUE", "static": "TRUE"})
JOINED = {"type": '"joined"', **{name: value for name, value in STORED.items() if name != "leader"}}
LOADED = {STATE: STABLE, "epoch[b1]": "1"}
STAYS = {"position[c1][p1]": "1"}
READS_ON = {"state": '"PREPARING_REBALANCE"', "mode": '"cooperative"'}
EMPTY = record(ABSENT, state='"Empty"', generation="1")
STORED_EMPTY = record(generation="1", protocol='"none"', leader="0", members=members(NO_STORED))
UNKNOWN = record({"type": '"failed"', "member": "0", "error": '"UNKNOWN_MEMBER_ID"'})


def wrong_state(name: str, why: str, wrong: Mapping[str, str], **good: str) -> Fall:
    """Of an invariant or a quiescence predicate; `good` has "__" for the brackets of a place: appended__b1."""
    return Fall(name, why, wrong, good={**GOOD, **{_place(key): value for key, value in good.items()}})


def deposed(why: str, wrong: Mapping[str, str], **group: str) -> Fall:
    """Of the group that b2 holds, which was the coordinator: it is not well-formed."""
    return wrong_state("GroupWellFormed", why, wrong, group__b2=record(GROUP, **group), epoch__b2="1")


def refused(why: str, client: str, slot: str, request: str, reply: str, wrong: Mapping[str, str]) -> Fall:
    """A request that the coordinator takes; `wrong` fields of it should have had it refused."""
    place = f"{slot}[{client}]"
    return Fall(
        "AcceptedIsCurrent",
        why,
        good={**GOOD, place: request, "group[b1].pendingSync": "{1}"},
        step={place: reply, "group[b1].pendingSync": "{}"},
        before={f"{place}.{field}": value for field, value in wrong.items()},
    )


def edge(why: str, start: str, step: Mapping[str, str], wrong: Mapping[str, str], epoch: str = "1") -> Fall:
    """Of the states of b1's group: it may go from `start` as `step` says, and not as `wrong` does."""
    return Fall("LegalStateEdges", why, wrong, good={**GOOD, STATE: start, "epoch[b1]": epoch}, step=step)


def _place(name: str) -> str:
    variable, _, key = name.partition("__")
    return f"{variable}[{key}]" if key else variable


TABLE = Table(
    "classic-group",
    Path("classic_group/ClassicGroupProperties.tla"),
    Path("classic_group/ClassicGroupProperties.cfg"),
    [
        wrong_state("OneActiveOwner", "c1 reads what s1 reads", {"consumer[c1].owned": "{p1, p2}"}),
        wrong_state(
            "OneReader",
            "c1, which joins, reads on what s1 reads",
            {"consumer[c1].owned": "{p1, p2}"},
            consumer__c1=stable(1, "{p1}", **READS_ON),
        ),
        wrong_state(
            "OneReader",
            "both join, and both read on",
            {"consumer[c1].owned": "{p1, p2}"},
            consumer__c1=stable(1, "{p1}", **READS_ON),
            consumer__s1=stable(2, "{p2, p3}", **READS_ON),
        ),
        wrong_state(
            "OneAssigneePerGeneration",
            "the leader has given p2 twice",
            {"group[b1].members[1].assignment": "{p1, p2}", "storedGroup.members[1].assignment": "{p1, p2}"},
        ),
        wrong_state(
            "OneAssigneePerGeneration",
            "a deposed coordinator holds another assignment, which gives p2 twice",
            {"group[b2].members[1].assignment": "{p2}", "group[b2].members[2].assignment": "{p2}"},
            group__b2=record(GROUP),
            epoch__b2="1",
        ),
        wrong_state(
            "OneAssigneePerGeneration",
            "the log gives p2 twice",
            {"storedGroup.members[1].assignment": "{p1, p2}"},
            group__b1=record(GROUP, state='"PreparingRebalance"'),
        ),
        wrong_state("GenerationNamesMembership", "generation 1 was given to others, too", {"reissued": "{1}"}),
        wrong_state(
            "StableIsPersisted",
            "the log has the generation before",
            {"storedGroup.generation": "0"},
            appended__b1=sequence(WAITS),
        ),
        wrong_state(
            "StableIsPersisted",
            "the log has assigned nothing to c1",
            {"storedGroup.members[1].assignment": "{}"},
            appended__b1=sequence(WAITS),
        ),
        wrong_state(
            "StableIsPersisted",
            "the log has assigned less to the instance",
            {"storedGroup.members[2].assignment": "{p2}"},
            appended__b1=sequence(WAITS),
        ),
        wrong_state(
            "StableIsPersisted",
            "the log has given the instance what c1 has",
            {
                "storedGroup.members[1].assignment": "{}",
                "storedGroup.members[2].assignment": "{p1}",
                "storedGroup.members[3]": record(NO_STORED, present="TRUE", static="TRUE", assignment="{p2, p3}"),
            },
            appended__b1=sequence(WAITS),
        ),
        wrong_state(
            "StableIsPersisted",
            "the log has given another what the instance has",
            {
                "storedGroup.members[2].assignment": "{}",
                "storedGroup.members[3]": record(NO_STORED, present="TRUE", assignment="{p2, p3}"),
            },
            appended__b1=sequence(WAITS),
        ),
        wrong_state("LiveIsReplay", "an offset is served that the log has not", {"offsets[b1][p1]": "1"}),
        wrong_state("LiveIsReplay", "the log names another leader", {"storedGroup.leader": "2"}),
        wrong_state(
            "LiveIsReplay",
            "the log has another generation of the empty group",
            {"storedGroup.generation": "0"},
            group__b1=EMPTY,
            storedGroup=STORED_EMPTY,
        ),
        wrong_state(
            "LiveIsReplay",
            "the log has a member of the empty group",
            {"storedGroup.members[1].present": "TRUE"},
            group__b1=EMPTY,
            storedGroup=STORED_EMPTY,
        ),
        wrong_state(
            "OneMemberPerInstance",
            "the instance is two members",
            {"group[b1].members[1].static": "TRUE", "storedGroup.members[1].static": "TRUE"},
        ),
        wrong_state(
            "OneProcessPerMember",
            "s2 has the id of s1",
            {"consumer[s2].member": "2"},
            consumer__s2=record(RUNNING),
        ),
        wrong_state("NoPhantomMember", "nobody was told the id 1", {"known": "{2}"}),
        wrong_state("ReplacedStaysFenced", "a later process had an assignment", {"settled": "{2, 3}"}),
        wrong_state("SessionTimersRun", "c1's session ends by another's time-out", {"group[b1].timers[1]": "2"}),
        wrong_state("SessionTimersRun", "c1 has still a new member's time", {"group[b1].timers[1]": "5"}),
        wrong_state("SessionTimersRun", "s1 has still a new member's time", {"group[b1].timers[2]": "5"}),
        wrong_state(
            "SessionTimersRun",
            "c1 is new, and its session ends by another's time-out",
            {"group[b1].timers[1]": "2"},
            group__b1=record(GROUP, members=members(NO_MEMBER, {**C1, "isNew": "TRUE"}, S1)),
        ),
        wrong_state(
            "SessionTimersRun",
            "an id that was issued is kept for ever",
            {"group[b1].timers[3]": "0"},
            group__b1=record(GROUP, pending="{3}", timers=first_of(MEMBERS, "0", "1", "1", "2")),
        ),
        wrong_state("SessionTimersRun", "a member that is gone will expire", {"group[b1].timers[3]": "1"}),
        wrong_state("GroupTimersRun", "the time to join is not over in a stable group", {"group[b1].joinTimer": "4"}),
        wrong_state(
            "GroupTimersRun",
            "the initial delay is a member's time-out",
            {"group[b1].joinTimer": "3"},
            group__b1=record(GROUP, state=PREPARING, initial="TRUE", joinTimer="5"),
        ),
        wrong_state("GroupTimersRun", "no SyncGroup is expected until its time is over", {"group[b1].syncTimer": "4"}),
        wrong_state(
            "GroupTimersRun",
            "a SyncGroup is expected for ever",
            {"group[b1].syncTimer": "0"},
            group__b1=record(GROUP, pendingSync="{1}", syncTimer="4"),
        ),
        wrong_state("GroupWellFormed", "a member is pending", {"group[b1].pending": "{1}"}),
        deposed("a group with members has no leader", {"group[b2].leader": "0"}),
        deposed("the leader is no member", {"group[b2].leader": "3"}),
        deposed("a coordinator has no group", {"group[b2]": record(ABSENT)}),
        wrong_state("GroupWellFormed", "who is no coordinator has a group", {"group[b2].state": '"Empty"'}),
        deposed("there are members in an empty group", {"group[b2].state": '"Empty"'}),
        deposed("there are no members in a stable group", {"group[b2]": record(ABSENT, state='"Stable"')}),
        deposed(
            "a member waits for its assignment before the group has a generation",
            {"group[b2].members[1].awaiting": '"sync"'},
            state='"PreparingRebalance"',
        ),
        deposed(
            "a member has an id that was not issued",
            {
                "group[b2].members": members(NO_MEMBER, C1, {}, S1),
                "group[b2].timers": first_of(MEMBERS, "0", "1", "0", "1"),
            },
        ),
        wrong_state("WaitingIsAwaited", "c1 waits for an assignment that was handed out", {"memberRpc[c1]": SYNCING}),
        wrong_state("WaitingIsAwaited", "c2 joins as a member that is gone", {"memberRpc[c2]": JOINING}),
        wrong_state(
            "EagerAssignmentIsComplete",
            "nobody is given p3",
            {"group[b1].members[2].assignment": "{p2}", "storedGroup.members[2].assignment": "{p2}"},
        ),
        wrong_state(
            "WithheldIsOwed",
            "nobody is given p3, and nobody has to give it up",
            {"group[b1].members[2].owned": "{p2}", "storedGroup.members[2].owned": "{p2}"},
            group__b1=COOPERATIVE,
            storedGroup=STORED_COOPERATIVE,
        ),
        Fall(
            "GenerationMonotone",
            "the log goes back",
            {"storedGroup.generation": "0"},
            good=GOOD,
            step={"position[c1][p1]": "1"},
        ),
        Fall(
            "GenerationMonotone",
            "a coordinator counts back",
            {GENERATION: "0"},
            good={**GOOD, STATE: PREPARING},
            step=ENDED,
        ),
        Fall(
            "GenerationMonotone",
            "a coordinator epoch comes again",
            {"leaderAndEpoch.epoch": "0"},
            good=GOOD,
            step=STAYS,
        ),
        Fall(
            "AcceptedIsCurrent",
            "a heartbeat of generation 0 is taken for one of generation 1",
            good={**GOOD, "heartbeatRpc[c1]": HEARTBEAT},
            step={"heartbeatRpc[c1]": ANSWERED},
            before={"heartbeatRpc[c1].generation": "0"},
        ),
        Fall(
            "AcceptedIsCurrent",
            "a commit of a member that is none",
            good={**GOOD, "offsetRpc[c1]": COMMIT},
            step={"offsetRpc[c1]": COMMITTING},
            before={"offsetRpc[c1].member": "3"},
        ),
        Fall(
            "AcceptedIsCurrent",
            "a late SyncGroup of generation 0 is taken for one of generation 1",
            good={**GOOD, "stray[c1]": SYNC, "group[b1].pendingSync": "{1}"},
            step={"stray[c1]": IDLE, "group[b1].pendingSync": "{}"},
            before={"stray[c1].generation": "0"},
        ),
        refused("a commit of generation 0", "c1", "offsetRpc", COMMIT, COMMITTING, {"generation": "0"}),
        refused("a commit of s1 as c1", "s1", "offsetRpc", COMMIT_OF_S1, COMMITTING, {"member": "1"}),
        refused("a SyncGroup of a member that is none", "c1", "memberRpc", SYNC, SYNCING, {"member": "3"}),
        refused("a SyncGroup of generation 0", "c1", "memberRpc", SYNC, SYNCING, {"generation": "0"}),
        refused("a SyncGroup of s1 as c1", "s1", "memberRpc", SYNC_OF_S1, SYNCING, {"member": "1"}),
        refused("a heartbeat of a member that is none", "c1", "heartbeatRpc", HEARTBEAT, ANSWERED, {"member": "3"}),
        refused("a heartbeat of s1 as c1", "s1", "heartbeatRpc", HEARTBEAT_OF_S1, ANSWERED, {"member": "1"}),
        refused("a late SyncGroup of a member that is none", "c1", "stray", SYNC, IDLE, {"member": "3"}),
        refused("a late SyncGroup of s1 as c1", "s1", "stray", SYNC_OF_S1, IDLE, {"member": "1"}),
        Fall(
            "CommitOfOwner",
            "c1 commits what s1 reads",
            good={**GOOD, "offsetRpc[c1]": COMMIT},
            step={"offsetRpc[c1]": COMMITTING, "appended[b1]": sequence(OFFSETS)},
            before={"offsetRpc[c1].offsets[p2]": "1"},
        ),
        Fall(
            "CommitOfOwner",
            "a late commit of c1 is of what s1 reads",
            good={**GOOD, "stray[c1]": COMMIT},
            step={"stray[c1]": IDLE, "appended[b1]": sequence(OFFSETS)},
            before={"stray[c1].offsets[p2]": "1"},
        ),
        edge("the group is stable before its leader assigned", PREPARING, ENDED, {STATE: STABLE}),
        edge("the join phase ends without a new generation", PREPARING, ENDED, {GENERATION: "1"}),
        edge("the leader assigns once more", STABLE, WAITING, {STATE: COMPLETING}),
        edge("a join phase begins with a new generation", COMPLETING, WAITING, {GENERATION: "2"}),
        edge("an empty group has a generation before anybody joined", '"Empty"', FIRST, ENDED),
        edge("a group is loaded that waits for its leader", '"Dead"', LOADED, {STATE: COMPLETING}, epoch="0"),
        edge("a group is loaded that waits for its members", '"Dead"', LOADED, WAITING, epoch="0"),
        Fall(
            "AssignmentFollowsRevocation",
            "c1 takes what s1 has not given up",
            {"consumer[c1].owned": "{p1, p2}"},
            good={**GOOD, "consumer[s1].owned": "{p2}"},
            step={"consumer[c1].owned": "{p1, p3}"},
        ),
        Fall(
            "RebalanceWaitsForSlowest",
            "the time to join is the shortest of the members'",
            {"group[b1].joinTimer": "3"},
            good={**GOOD, **SLOW},
            step={STATE: PREPARING, "group[b1].joinTimer": "4"},
        ),
        Fall(
            "RebalanceWaitsForSlowest",
            "the time for SyncGroup is the shortest of the members'",
            {"group[b1].syncTimer": "3"},
            good={**GOOD, **SLOW, STATE: PREPARING},
            step=ENDED,
        ),
        Fall(
            "RosterNamesInstances",
            "the leader hears of s1 as of a member without an instance",
            {"memberRpc[c1].roster[2].static": "FALSE"},
            good={**GOOD, "memberRpc[c1]": JOINING.replace("member |-> 3", "member |-> 1")},
            step={"memberRpc[c1]": record(JOINED, broker="b1", member="1", role='"leader"', roster=ROSTER)},
        ),
        Fall(
            "AssignmentNamesMembers",
            "the leader gives p1 to a member that is gone",
            good={**GOOD, "group[b1].state": '"CompletingRebalance"', "memberRpc[c1]": SYNC},
            step={"memberRpc[c1]": SYNCING, "appended[b1]": sequence(WAITS)},
            before={"memberRpc[c1].assignments[3]": "{p1}"},
        ),
        Fall(
            "AssignmentNamesMembers",
            "a late SyncGroup of the leader gives p1 to a member that is gone",
            good={**GOOD, "group[b1].state": '"CompletingRebalance"', "stray[c1]": SYNC},
            step={"stray[c1]": IDLE, "appended[b1]": sequence(WAITS)},
            before={"stray[c1].assignments[3]": "{p1}"},
        ),
        Fall(
            "CommittedByAccepted",
            "another offset than the record's",
            {"storedOffsets[p1]": "2"},
            good={**GOOD, "appended[b1]": sequence(OFFSETS)},
            step={"storedOffsets[p1]": "1", "appended[b1]": "<<>>"},
        ),
        Fall(
            "CommittedByAccepted",
            "an older record waits still",
            good={**GOOD, "appended[b1]": sequence(OFFSETS)},
            step={"storedOffsets[p1]": "1", "appended[b1]": "<<>>"},
            before={"appended[b1]": sequence(WAITS, OFFSETS)},
        ),
        Fall(
            "CommittedByAccepted",
            "another offset than the record's, behind a group's, at the next coordinator",
            {"storedOffsets[p1]": "2"},
            good={**GOOD, "appended[b1]": sequence(WAITS, OFFSETS)},
            step={"storedOffsets[p1]": "1", "appended[b1]": "<<>>", "leaderAndEpoch": record(broker="b2", epoch="2")},
        ),
        Fall(
            "FetchedIsCommitted",
            "c1 is told an offset that waits to commit",
            {"offsetRpc[c1].offsets[p1]": "1"},
            good={**GOOD, "offsetRpc[c1]": FETCH, "appended[b1]": sequence(OFFSETS)},
            step={"offsetRpc[c1]": FETCHED},
        ),
        Fall(
            "FetchedIsCommitted",
            "a deposed coordinator tells c1 of no offset, and its successor has committed one",
            {"storedOffsets[p1]": "1", "offsets[b1][p1]": "1"},
            good={**GOOD, "offsetRpc[c1]": FETCH.replace("b1", "b2")},
            step={"offsetRpc[c1]": FETCHED},
            before={"storedOffsets[p1]": "1", "offsets[b1][p1]": "1"},
        ),
        Fall(
            "ParkedMemberStays",
            "a member of generation 1 expires while it waits",
            good={**GOOD, "memberRpc[c1]": JOINING},
            step={"memberRpc[c1]": UNKNOWN},
            before={"memberRpc[c1].member": "1"},
        ),
        wrong_state("QuiescentGroupSettled", "an id is pending", {"group[b1].pending": "{3}"}),
        wrong_state("QuiescentGroupSettled", "the group rebalances", {"group[b1].state": '"PreparingRebalance"'}),
        wrong_state("QuiescentGroupSettled", "a member did not fetch its assignment", {"group[b1].pendingSync": "{1}"}),
        wrong_state("QuiescentGroupSettled", "a member is no consumer", {"group[b1].members[3].present": "TRUE"}),
        wrong_state("QuiescentAllOwned", "nobody reads p3", {"consumer[s1].owned": "{p2}"}),
        wrong_state("QuiescentAllOwned", "c1 is in generation 0", {"consumer[c1].generation": "0"}),
        wrong_state("QuiescentAllOwned", "c1 is about to join", {"consumer[c1].state": '"UNJOINED"'}),
        wrong_state("QuiescentAllOwned", "c1 reads what it was not given", {"consumer[c1].owned": "{p1, p2}"}),
        wrong_state(
            "QuiescentAllOwned",
            "nobody was given p3",
            {"group[b1].members[2].assignment": "{p2}", "consumer[s1].owned": "{p2}"},
        ),
        wrong_state(
            "QuiescentAllOwned",
            "nobody was given p3, and c2 was about to read it when it stopped",
            {
                "group[b1].members[2].assignment": "{p2}",
                "consumer[s1].owned": "{p2}",
                "consumer[c2].owned": "{p3}",
            },
        ),
        wrong_state("QuiescentAllCommitted", "a record waits", {"appended[b1]": sequence(OFFSETS)}),
        wrong_state("QuiescentCoordinatorServes", "who leads has not loaded the log", {"epoch[b1]": "0"}),
        wrong_state("QuiescentCoordinatorServes", "a deposed coordinator serves beside it", {"epoch[b2]": "1"}),
        wrong_state("QuiescentCoordinatorServes", "a deposed one's record waits", {"appended[b2]": sequence(OFFSETS)}),
        wrong_state("QuiescentNothingInFlight", "a consumer waits for its SyncGroup", {"memberRpc[c1]": SYNCING}),
        wrong_state("QuiescentNothingInFlight", "a heartbeat is on its way", {"heartbeatRpc[c1]": HEARTBEAT}),
        wrong_state("QuiescentNothingInFlight", "a commit is on its way", {"offsetRpc[c1]": COMMIT}),
        wrong_state("QuiescentNothingInFlight", "a late commit may still arrive", {"stray[c2]": COMMIT}),
        wrong_state("QuiescentNothingInFlight", "c1 is about to join again", {"consumer[c1].rejoin": "TRUE"}),
    ],
)
