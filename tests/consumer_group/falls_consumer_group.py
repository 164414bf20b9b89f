"""The KIP-848 group: per property a state or a step in which exactly that is wrong.

The good state is a group of epoch 2 at b1. Member 1 is c1 and has p1. Member 2 is s1, which is static and has p2 and
p3. Faults of a coordinator's group alone are shown at b2, a deposed one that holds the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from falls import Fall, Table, first_of, record, sequence

MEMBERS = 12
ALL = "{p1, p2, p3}"


def epochs(p1: int = -1, p2: int = -1, p3: int = -1) -> str:
    """An epoch, or an offset, per partition."""
    return f"(p1 :> {p1} @@ p2 :> {p2} @@ p3 :> {p3})"


NOTHING = epochs()
NO_MEMBER = {
    "present": "FALSE",
    "static": "FALSE",
    "subscription": "{}",
    "rebalance": "0",
    "memberEpoch": "0",
    "previousMemberEpoch": "-1",
    "state": '"STABLE"',
    "assigned": NOTHING,
    "revoking": NOTHING,
}
SETTLED = {
    **NO_MEMBER,
    "present": "TRUE",
    "subscription": ALL,
    "rebalance": "1",
    "memberEpoch": "2",
    "previousMemberEpoch": "1",
}
M1 = record({**SETTLED, "assigned": epochs(p1=2)})
M2 = record({**SETTLED, "static": "TRUE", "assigned": epochs(p2=2, p3=2)})
ABSENT = record(NO_MEMBER)
NO_TARGET = first_of(MEMBERS, "{}")
EMPTY = {
    "groupEpoch": "0",
    "assignmentEpoch": "0",
    "metadata": "{}",
    "target": NO_TARGET,
    "members": first_of(MEMBERS, ABSENT),
}
EPOCHS = {
    "groupEpoch": "2",
    "assignmentEpoch": "2",
    "metadata": ALL,
    "target": first_of(MEMBERS, "{}", "{p1}", "{p2, p3}"),
}
GROUP = {**EPOCHS, "members": first_of(MEMBERS, ABSENT, M1, M2)}
NO_TIMER, SESSION = record(session="0", rebalance="0"), record(session="3", rebalance="0")
TIMERS = first_of(MEMBERS, NO_TIMER, SESSION, SESSION)


def stable(member: int, owned: str) -> str:
    """A consumer in epoch 2."""
    return record(
        {
            "running": "TRUE",
            "state": '"STABLE"',
            "member": str(member),
            "memberEpoch": "2",
            "subscription": ALL,
            "told": ALL,
            "full": "FALSE",
            "unreported": "FALSE",
            "owned": owned,
            "target": owned,
            "reconciling": "FALSE",
            "resolved": "{}",
        }
    )


GOOD = {
    "leaderAndEpoch": record({"broker": "b1", "epoch": "1"}),
    "epoch[b1]": "1",
    "epoch[b2]": "0",
    "group[b1]": record(GROUP),
    "group[b2]": record(EMPTY),
    "partitionEpoch[b1]": epochs(2, 2, 2),
    "timers[b1]": TIMERS,
    "storedGroup": record(GROUP),
    "issued": "2",
    "consumer[c1]": stable(1, "{p1}"),
    "consumer[s1]": stable(2, "{p2, p3}"),
    "partitions": ALL,
}
DEPOSED = {
    **GOOD,
    "leaderAndEpoch": record({"broker": "b1", "epoch": "2"}),
    "epoch[b1]": "2",
    "epoch[b2]": "1",
    "group[b2]": record(
        {**GROUP, "members": first_of(MEMBERS, ABSENT, M1.replace("STABLE", "UNRELEASED_PARTITIONS"), M2)}
    ),
    "partitionEpoch[b2]": epochs(2, 2, 2),
    "timers[b2]": TIMERS,
}
"""b2 was the coordinator; member 1 waits for something there, so that what it has need not be its target."""

AHEAD = {
    "group[b2].members[1].memberEpoch": "3",
    "partitionEpoch[b2][p1]": "3",
}
BOTH = {
    "group[b2].members[1].state": '"UNREVOKED_PARTITIONS"',
    "group[b2].members[1].revoking[p1]": "2",
    "timers[b2][1].rebalance": "1",
}
GIVES_UP = {"group[b2].members[1].assigned[p1]": "-1", "group[b2].members[1].revoking[p1]": "2"}
"""Of member 1 at b2."""

WRITES_M1 = record({"type": '"group"', **EPOCHS, "removed": "0", "member": "1", "value": M1})
OFFSETS = record({"type": '"offsets"', "offsets": epochs(p1=1)})
HEARTBEAT = record(
    {
        "type": '"heartbeat"',
        "broker": "b1",
        "member": "1",
        "memberEpoch": "2",
        "full": "FALSE",
        "tells": "FALSE",
        "subscription": "{}",
        "reports": "FALSE",
        "owned": "{}",
    }
)
ANSWERED = record({"type": '"answered"', "error": '"NONE"', "memberEpoch": "2", "gives": "FALSE", "assignment": "{}"})
COMMIT = record({"type": '"commit"', "broker": "b1", "member": "1", "memberEpoch": "2", "offsets": epochs(p1=1)})
COMMITTING = record({"type": '"committing"', "broker": "b1", "remaining": "1", "error": '"NONE"'})
FETCH = record({"type": '"fetch"', "broker": "b1", "member": "1", "memberEpoch": "2", "asked": "{p1}"})
FETCHED = record({"type": '"fetched"', "error": '"NONE"', "offsets": epochs(), "asked": "{p1}"})
COMMITS = {"offsetRpc[c1]": COMMITTING, "appended[b1]": sequence(OFFSETS)}
HEARTBEAT_OF_S1 = HEARTBEAT.replace("member |-> 1", "member |-> 2")
REPORT = HEARTBEAT.replace("reports |-> FALSE", "reports |-> TRUE")
IDLE = record({"type": '"idle"'})
WRITES = {"appended[b1]": sequence(WRITES_M1)}
QUIET_WITHOUT_P3 = {
    "group[b1].members[2].assigned[p3]": "-1",
    "consumer[s1].owned": "{p2}",
}
EXTRA = record({**SETTLED, "static": "FALSE"})
READS = {"position[c1][p1]": "1"}

MEMBER_EPOCH, MEMBER_STATE, MEMBER_HAS_P1 = (
    f"group[b1].members[1].{field}" for field in ("memberEpoch", "state", "assigned[p1]")
)
TOLD = {MEMBER_STATE: '"UNREVOKED_PARTITIONS"'}
WAITS = {MEMBER_STATE: '"UNRELEASED_PARTITIONS"', MEMBER_EPOCH: "2", MEMBER_HAS_P1: "-1"}
ARRIVED = {MEMBER_STATE: '"STABLE"', MEMBER_EPOCH: "2"}


def edge(why: str, start: Mapping[str, str], step: Mapping[str, str], wrong: Mapping[str, str]) -> Fall:
    """Of the states of member 1 at b1, which begins as `start` says: it may go on as `step` says, and not as `wrong`
    does."""
    return Fall("LegalStateEdges", why, wrong, good={**GOOD, **start}, step=step)


def deposed(name: str, why: str, wrong: Mapping[str, str]) -> Fall:
    """A fault in the group that b2 holds."""
    return Fall(name, why, wrong, good=DEPOSED)


def refused(why: str, client: str, request: str, wrong: Mapping[str, str], late: bool = False) -> Fall:
    """A heartbeat that the coordinator takes; `wrong` values, of its fields mostly, should have had it refused."""
    slot = f"{'stray' if late else 'heartbeatRpc'}[{client}]"
    return Fall(
        "AcceptedIsCurrent",
        why,
        good={**GOOD, slot: request},
        step={slot: IDLE, **WRITES} if late else {slot: ANSWERED, f"{slot}.gives": "TRUE"},
        before={place if "[" in place else f"{slot}.{place}": value for place, value in wrong.items()},
    )


def both(why: str, client: str, request: str, wrong: Mapping[str, str]) -> list[Fall]:
    """The same of a prompt heartbeat and of a late one."""
    return [refused(why, client, request, wrong), refused(f"{why}, and late", client, request, wrong, late=True)]


TABLE = Table(
    "consumer-group",
    Path("consumer_group/ConsumerGroup848Properties.tla"),
    Path("consumer_group/ConsumerGroup848Properties.cfg"),
    [
        Fall("OneActiveOwner", "s2 acts as the member that s1 is", {"consumer[s2]": stable(2, "{p2}")}, good=GOOD),
        Fall(
            "OwnedIsHeld",
            "c1 reads what it is not assigned",
            {"consumer[c1].owned": "{p1, p2}"},
            good={**GOOD, "consumer[s1].owned": "{p3}"},
        ),
        deposed("PartitionHeldOnce", "p2 is assigned twice", {"group[b2].members[1].assigned[p2]": "2"}),
        Fall(
            "PartitionHeldOnce",
            "the log has p2 assigned twice",
            {"storedGroup.members[1].assigned[p2]": "2"},
            good={**GOOD, **WRITES},
        ),
        deposed("PartitionEpochsMatch", "p1 is held and has no epoch", {"partitionEpoch[b2][p1]": "-1"}),
        deposed(
            "PartitionEpochsMatch",
            "p1 is not held and has an epoch",
            {"group[b2].members[1].assigned[p1]": "-1"},
        ),
        deposed("PartitionEpochsMatch", "p1 has an epoch that is not its member's", {"partitionEpoch[b2][p1]": "1"}),
        deposed(
            "PartitionEpochsMatch",
            "p1 is held by a member that leaves, and has no epoch",
            {"group[b2].members[1].memberEpoch": "-1", "partitionEpoch[b2][p1]": "-1"},
        ),
        deposed("EpochsInOrder", "the assignment is of an epoch to come", {"group[b2].assignmentEpoch": "3"}),
        deposed("EpochsInOrder", "a member is in an epoch to come", AHEAD),
        Fall(
            "EmptyGroupIsSettled",
            "everybody has left, and that was assigned to nobody",
            {"group[b2].groupEpoch": "3"},
            good={
                **DEPOSED,
                "group[b2]": record({**EMPTY, "groupEpoch": "2", "assignmentEpoch": "2"}),
                "partitionEpoch[b2]": NOTHING,
                "timers[b2]": first_of(MEMBERS, NO_TIMER),
            },
        ),
        deposed("TargetIsValid", "two are to have p2", {"group[b2].target[1]": "{p1, p2}"}),
        deposed(
            "TargetIsValid",
            "a member that is gone is to have p1",
            {"group[b2].target[1]": "{}", "group[b2].target[3]": "{p1}"},
        ),
        deposed("TargetIsValid", "nobody is to have p1", {"group[b2].target[1]": "{}"}),
        deposed(
            "AssignedIsSubscribed",
            "a member may read what it does not subscribe to",
            {"group[b2].members[1].subscription": "{p2}"},
        ),
        deposed("OneMemberPerInstance", "the instance is two members", {"group[b2].members[1].static": "TRUE"}),
        Fall("LeaderServes", "b1 leads, and its load has failed", {"epoch[b1]": "0"}),
        Fall("LiveIsReplay", "an offset is served that the log has not", {"offsets[b1][p1]": "1"}, good=GOOD),
        Fall("LiveIsReplay", "the log knows of fewer partitions", {"storedGroup.metadata": "{p1}"}, good=GOOD),
        Fall(
            "ToldIsCommitted",
            "c1 has heard of an epoch that has not committed",
            {"storedGroup.members[1].memberEpoch": "1"},
            good={**GOOD, "appended[b1]": sequence(WRITES_M1)},
        ),
        deposed(
            "GroupWellFormed",
            "a member subscribes to nothing",
            {
                "group[b2].members[1].subscription": "{}",
                "group[b2].members[1].assigned[p1]": "-1",
                "partitionEpoch[b2][p1]": "-1",
            },
        ),
        Fall(
            "GroupWellFormed",
            "who is no coordinator has a group",
            {"group[b2].groupEpoch": "1", "group[b2].assignmentEpoch": "1"},
            good=GOOD,
        ),
        deposed("GroupWellFormed", "a member has an id that was not issued", {"issued": "1"}),
        deposed("GroupWellFormed", "a member is to give up what it is assigned", BOTH),
        deposed("GroupWellFormed", "a member that has nothing to give up gives p1 up", GIVES_UP),
        deposed(
            "GroupWellFormed",
            "a member that has to give something up has nothing",
            {"group[b2].members[1].state": '"UNREVOKED_PARTITIONS"', "timers[b2][1].rebalance": "1"},
        ),
        deposed(
            "GroupWellFormed",
            "a member has not what it should",
            {"group[b2].members[2].assigned[p3]": "-1", "partitionEpoch[b2][p3]": "-1"},
        ),
        Fall(
            "GroupWellFormed",
            "a member has what it should not, while the next assignment waits",
            {"group[b2].members[2].assigned[p1]": "2", "partitionEpoch[b2][p1]": "2"},
            good={
                **DEPOSED,
                "group[b2].groupEpoch": "3",
                "group[b2].members[1].assigned[p1]": "-1",
                "partitionEpoch[b2][p1]": "-1",
            },
        ),
        deposed("TimersRun", "member 1 never expires", {"timers[b2][1].session": "0"}),
        deposed("TimersRun", "a member that is gone will expire", {"timers[b2][3].session": "3"}),
        deposed("TimersRun", "member 1 has nothing to give up and a time for it", {"timers[b2][1].rebalance": "1"}),
        Fall(
            "TimersRun",
            "member 1 has another's time to give something up",
            {"timers[b2][1].rebalance": "2"},
            good={**DEPOSED, **BOTH, "group[b2].members[1].assigned[p1]": "-1"},
        ),
        Fall("EpochsMonotone", "the log goes back", {"storedGroup.groupEpoch": "1"}, good=GOOD, step=READS),
        Fall("EpochsMonotone", "a member goes back", {"group[b1].members[1].memberEpoch": "1"}, good=GOOD, step=READS),
        Fall("EpochsMonotone", "a coordinator epoch comes again", {"leaderAndEpoch.epoch": "0"}, good=GOOD, step=READS),
        Fall(
            "EpochsMonotone",
            "the log's assignment goes back",
            {"storedGroup.assignmentEpoch": "1"},
            good=GOOD,
            step=READS,
        ),
        Fall("EpochsMonotone", "a group goes back", {"group[b1].groupEpoch": "1"}, good=GOOD, step=READS),
        Fall(
            "EpochsMonotone",
            "a group's assignment goes back",
            {"group[b1].assignmentEpoch": "1"},
            good=GOOD,
            step=READS,
        ),
        Fall(
            "AcceptedIsCurrent",
            "a heartbeat of the previous epoch that does not say what is owned",
            good={**GOOD, "heartbeatRpc[c1]": HEARTBEAT},
            step={"heartbeatRpc[c1]": ANSWERED},
            before={"heartbeatRpc[c1].memberEpoch": "1"},
        ),
        Fall(
            "AcceptedIsCurrent",
            "a late heartbeat of the previous epoch that does not say what is owned",
            good={**GOOD, "stray[c1]": HEARTBEAT},
            step={"stray[c1]": record({"type": '"idle"'}), "appended[b1]": sequence(WRITES_M1)},
            before={"stray[c1].memberEpoch": "1"},
        ),
        *both("a heartbeat of a member that is gone", "c1", HEARTBEAT, {"group[b1].members[1].present": "FALSE"}),
        *both("a heartbeat of s1 as c1", "s1", HEARTBEAT_OF_S1, {"member": "1"}),
        *both("a heartbeat of an epoch to come", "c1", REPORT, {"memberEpoch": "3"}),
        *both(
            "a heartbeat of the previous epoch that says too much is owned",
            "c1",
            REPORT,
            {"memberEpoch": "1", "owned": "{p2}"},
        ),
        Fall(
            "AnswersTell",
            "c1 is to give p1 up, and is told nothing",
            {"heartbeatRpc[c1].gives": "FALSE"},
            good={**GOOD, "heartbeatRpc[c1]": HEARTBEAT, "consumer[c1].target": "{}"},
            step={"heartbeatRpc[c1]": ANSWERED, "heartbeatRpc[c1].gives": "TRUE"},
        ),
        Fall(
            "AnswersTell",
            "c1 is told nothing, and says that it owns other partitions",
            {"heartbeatRpc[c1].gives": "FALSE"},
            good={**GOOD, "heartbeatRpc[c1]": REPORT, "consumer[c1].target": "{}"},
            step={"heartbeatRpc[c1]": ANSWERED, "heartbeatRpc[c1].gives": "TRUE"},
        ),
        Fall(
            "AnswersTell",
            "c1 is told nothing, and does not say what it owns",
            {"heartbeatRpc[c1].gives": "FALSE"},
            good={**GOOD, "heartbeatRpc[c1]": HEARTBEAT, "heartbeatRpc[c1].owned": "{p1}", "consumer[c1].target": "{}"},
            step={"heartbeatRpc[c1]": ANSWERED, "heartbeatRpc[c1].gives": "TRUE"},
        ),
        Fall(
            "JoiningIsNotFenced",
            "who joins is fenced",
            {"heartbeatRpc[c1].error": '"FENCED_MEMBER_EPOCH"'},
            good={**GOOD, "heartbeatRpc[c1]": HEARTBEAT, "heartbeatRpc[c1].memberEpoch": "0"},
            step={"heartbeatRpc[c1]": ANSWERED},
        ),
        Fall(
            "JoiningIsNotFenced",
            "who joins again is told that its own instance is taken",
            {"heartbeatRpc[s1].error": '"UNRELEASED_INSTANCE_ID"'},
            good={**GOOD, "heartbeatRpc[s1]": HEARTBEAT_OF_S1, "heartbeatRpc[s1].memberEpoch": "0"},
            step={"heartbeatRpc[s1]": ANSWERED, "heartbeatRpc[s1].gives": "TRUE"},
        ),
        Fall(
            "InstanceNotStolen",
            "another process takes the instance of a member that goes on",
            good={**GOOD, "group[b1].members[2].memberEpoch": "-2"},
            step={
                "group[b1].members[2]": ABSENT,
                "group[b1].members[3]": record({**SETTLED, "static": "TRUE"}),
            },
            before={"group[b1].members[2].memberEpoch": "2"},
        ),
        Fall(
            "CommitOfHolder",
            "a commit of the epoch before p1 was assigned",
            good={**GOOD, "offsetRpc[c1]": COMMIT},
            step=COMMITS,
            before={"offsetRpc[c1].memberEpoch": "1"},
        ),
        Fall(
            "CommitOfHolder",
            "a commit for p2 of who never had it",
            {"appended[b1][1].offsets[p2]": "1"},
            good={**GOOD, "offsetRpc[c1]": COMMIT, "consumer[s1].owned": "{p3}"},
            step=COMMITS,
        ),
        Fall(
            "CommitOfOwner",
            "c2 reads what c1 commits",
            good={**GOOD, "offsetRpc[c1]": COMMIT},
            step=COMMITS,
            before={"consumer[c2]": stable(1, "{p1}")},
        ),
        edge("a member is in a new epoch before it has given up what it should", {}, TOLD, {MEMBER_EPOCH: "3"}),
        edge("a member waits in its old epoch", {MEMBER_EPOCH: "1"}, WAITS, {MEMBER_EPOCH: "1"}),
        edge("a member waits, and has all of its target", {MEMBER_EPOCH: "1"}, WAITS, {MEMBER_HAS_P1: "2"}),
        edge(
            "a member that waits leaves for a while as if it had something to give up",
            {MEMBER_STATE: '"UNRELEASED_PARTITIONS"', MEMBER_EPOCH: "1"},
            ARRIVED,
            {MEMBER_EPOCH: "-2"},
        ),
        edge("a member has arrived in its old epoch", {**TOLD, MEMBER_EPOCH: "1"}, ARRIVED, {MEMBER_EPOCH: "1"}),
        Fall(
            "AssignmentFollowsRelease",
            "member 2 was still giving p1 up",
            good={**GOOD, "group[b1].members[1].assigned[p1]": "-1"},
            step={"group[b1].members[1].assigned[p1]": "2"},
            before={"group[b1].members[2].revoking[p1]": "1"},
        ),
        Fall(
            "AssignmentFollowsRelease",
            "member 2 has left, and kept it",
            good={**GOOD, "group[b1].members[1].assigned[p1]": "-1", "group[b1].members[2].memberEpoch": "-2"},
            step={"group[b1].members[1].assigned[p1]": "2"},
            before={"group[b1].members[2].revoking[p1]": "1"},
        ),
        Fall(
            "AssignmentFollowsRelease",
            "member 2 is removed that was giving it up",
            good={**GOOD, "group[b1].members[1].assigned[p1]": "-1"},
            step={"group[b1].members[1].assigned[p1]": "2", "group[b1].members[2]": ABSENT},
            before={"group[b1].members[2].revoking[p1]": "1"},
        ),
        Fall(
            "AssignmentFollowsRevocation",
            "c1 takes what s1 has not given up",
            {"consumer[c1].owned": "{p1, p2}"},
            good={**GOOD, "consumer[s1].owned": "{p2}"},
            step={"consumer[c1].owned": "{p1, p3}"},
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
            before={"appended[b1]": sequence(WRITES_M1, OFFSETS)},
        ),
        Fall(
            "CommittedByAccepted",
            "another offset than the record's, behind a group's, at the next coordinator",
            {"storedOffsets[p1]": "2"},
            good={**GOOD, "appended[b1]": sequence(WRITES_M1, OFFSETS)},
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
        Fall("QuiescentGroupSettled", "an epoch is not assigned", {"group[b1].groupEpoch": "3"}, good=GOOD),
        Fall("QuiescentGroupSettled", "a partition is not known", {"group[b1].metadata": "{p1, p2}"}, good=GOOD),
        Fall("QuiescentGroupSettled", "a member is no consumer", {"group[b1].members[3]": EXTRA}, good=GOOD),
        Fall(
            "QuiescentGroupSettled",
            "a member waits",
            {"group[b1].members[1].state": '"UNRELEASED_PARTITIONS"'},
            good=GOOD,
        ),
        Fall(
            "QuiescentGroupSettled",
            "a member is in the epoch before",
            {"group[b1].members[1].memberEpoch": "1", "group[b1].members[1].previousMemberEpoch": "2"},
            good=GOOD,
        ),
        Fall("QuiescentAllOwned", "nobody reads p3", {"consumer[s1].owned": "{p2}"}, good=GOOD),
        Fall(
            "QuiescentAllOwned",
            "c1 is in the epoch before the first",
            {"consumer[c1].memberEpoch": "0", "group[b1].members[1].previousMemberEpoch": "0"},
            good=GOOD,
        ),
        Fall("QuiescentAllOwned", "c1 is in an epoch to come", {"consumer[c1].memberEpoch": "3"}, good=GOOD),
        Fall("QuiescentAllOwned", "c1 is about to join", {"consumer[c1].state": '"JOINING"'}, good=GOOD),
        Fall("QuiescentAllOwned", "c1 reads what it was not given", {"consumer[c1].owned": "{p1, p2}"}, good=GOOD),
        Fall("QuiescentAllOwned", "nobody was given p3", QUIET_WITHOUT_P3, good=GOOD),
        Fall(
            "QuiescentAllOwned",
            "nobody was given p3, and c2 was about to read it when it stopped",
            {**QUIET_WITHOUT_P3, "consumer[c2].owned": "{p3}"},
            good=GOOD,
        ),
        Fall("QuiescentAllCommitted", "a record waits", {"appended[b1]": sequence(OFFSETS)}, good=GOOD),
        Fall("QuiescentCoordinatorServes", "who leads has not loaded the log", {"epoch[b1]": "0"}, good=GOOD),
        Fall("QuiescentCoordinatorServes", "a deposed coordinator serves beside it", {"epoch[b2]": "1"}, good=GOOD),
        Fall(
            "QuiescentCoordinatorServes", "a deposed one's record waits", {"appended[b2]": sequence(OFFSETS)}, good=GOOD
        ),
        Fall("QuiescentNothingInFlight", "a heartbeat is on its way", {"heartbeatRpc[c1]": HEARTBEAT}, good=GOOD),
        Fall("QuiescentNothingInFlight", "a commit is on its way", {"offsetRpc[c1]": COMMIT}, good=GOOD),
        Fall("QuiescentNothingInFlight", "a late commit may still arrive", {"stray[c2]": COMMIT}, good=GOOD),
        Fall("QuiescentNothingInFlight", "c1 is to say all again", {"consumer[c1].full": "TRUE"}, good=GOOD),
        Fall(
            "QuiescentNothingInFlight", "c1 has not said what it owns", {"consumer[c1].unreported": "TRUE"}, good=GOOD
        ),
        Fall("QuiescentNothingInFlight", "c1's listener is at work", {"consumer[c1].reconciling": "TRUE"}, good=GOOD),
        Fall("QuiescentNothingInFlight", "c1 has subscribed to more", {"consumer[c1].told": "{p1}"}, good=GOOD),
    ],
)
