"""Committed offsets: per property a state or a step in which exactly that is wrong.

The good state: b1 is the coordinator, the offset 3 of p1 is committed, and t1 has staged the offset 4 of p2.
"""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table, record, sequence


def entry(kind: str, position: int, **fields: str) -> str:
    """A record of the log."""
    return record(type=f'"{kind}"', position=str(position), **fields)


def committed(offset: int, position: int) -> str:
    """A committed or staged offset."""
    return record(offset=str(offset), position=str(position), time="0")


COMMIT = entry("commit", 0, partition="p1", offset="3", time="0")
STAGED = entry("staged", 1, producer="t1", epoch="0", partition="p2", offset="4", time="0")
LATER = entry("commit", 2, partition="p1", offset="6", time="0")
ABORT = entry("marker", 2, producer="t1", epoch="1", result='"ABORT"')
COMMIT_MARKER = entry("marker", 2, producer="t1", epoch="1", result='"COMMIT"')
NONE = record(offset="-1", position="-1", time="0")


def tombstone(position: int, cause: str, partitions: str) -> str:
    """A tombstone."""
    return entry("tombstone", position, cause=f'"{cause}"', partitions=partitions, group="FALSE")


GOOD = {
    "leaderAndEpoch": record(broker="b1", epoch="1"),
    "epoch[b1]": "1",
    "epoch[b2]": "0",
    "log": sequence(COMMIT, STAGED),
    "end[b1]": "2",
    "group[b1].state": '"Simple"',
    "offsets[b1][p1]": committed(3, 0),
    "staged[b1][t1][p2]": committed(4, 1),
    "producers[b1][t1].first": "1",
    "transaction[t1].phase": '"ongoing"',
    "transaction[t1].added": "TRUE",
}
QUIET = {
    **{
        place: GOOD[place]
        for place in ("leaderAndEpoch", "epoch[b1]", "epoch[b2]", "group[b1].state", "offsets[b1][p1]")
    },
    "log": sequence(COMMIT),
    "end[b1]": "1",
}
ENDING = {**GOOD, "transaction[t1].phase": '"ending"', "transaction[t1].epoch": "1"}
COMMITTING = {**ENDING, "transaction[t1].result": '"COMMIT"'}
MARKED = {
    "log": sequence(COMMIT, STAGED, ABORT),
    "end[b1]": "3",
    "staged[b1][t1][p2]": NONE,
    "producers[b1][t1]": record(epoch="1", first="-1"),
}
COUNTED = {**MARKED, "log": sequence(COMMIT, STAGED, COMMIT_MARKER), "offsets[b1][p2]": committed(4, 1)}
COMMITTED = {"log": sequence(COMMIT, STAGED, LATER), "end[b1]": "3", "offsets[b1][p1]": committed(6, 2)}
REMOVED = {"log": sequence(COMMIT, STAGED, tombstone(2, "topic", "{p1}")), "end[b1]": "3", "offsets[b1][p1]": NONE}
EXPIRED = {"appended[b1]": sequence(tombstone(2, "expiry", "{p1}"))}
MEMBERS = {"group[b1].state": '"Stable"', "group[b1].generation": "1", "group[b1].subscribed": "{p1}"}
VERIFIED = record(type='"verified"', broker="b1", epoch="0", generation="1", partition="p2", offset="5")
STAGES = {
    "appended[b1]": sequence(entry("staged", 2, producer="t1", epoch="0", partition="p2", offset="5", time="0")),
    "txnRpc[t1]": record(type='"committing"', broker="b1", remaining="1"),
}
FETCHED = record(
    type='"fetched"',
    broker="b1",
    error='"NONE"',
    stable="TRUE",
    offsets="(p1 :> 3 @@ p2 :> -1)",
    unstable="{p2}",
)
WAITING = record(type='"waiting"', broker="b1", remaining="1", offsets="(p1 :> 3 @@ p2 :> -1)", unstable="{}")
MARKER = record(type='"marker"', broker="b1", epoch="1", result='"COMMIT"')


TABLE = Table(
    "offsets",
    Path("offsets/OffsetsProperties.tla"),
    Path("offsets/OffsetsProperties.cfg"),
    [
        Fall("LiveIsReplay", "another offset than the log's", {"offsets[b1][p1].offset": "5"}, good=GOOD),
        Fall("LiveIsReplay", "what is staged is not known", {"staged[b1][t1][p2]": NONE}, good=GOOD),
        Fall(
            "LogWellFormed",
            "a position is left out",
            {"appended[b1][1].position": "3"},
            good={**GOOD, "appended[b1]": sequence(LATER)},
        ),
        Fall("LogWellFormed", "a record is past the log's end", {"end[b1]": "1"}, good=GOOD),
        Fall(
            "LogWellFormed",
            "the second record has the first position",
            {
                "log[1].position": "1",
                "log[2].position": "0",
                "offsets[b1][p1].position": "1",
                "staged[b1][t1][p2].position": "0",
                "producers[b1][t1].first": "0",
            },
            good=GOOD,
        ),
        Fall("OpenIsUndecided", "the transaction is complete", {"transaction[t1].phase": '"idle"'}, good=GOOD),
        Fall("OpenIsUndecided", "it is another transaction's", {"producers[b1][t1].epoch": "1"}, good=GOOD),
        Fall(
            "OpenIsUndecided",
            "the transaction is complete, and the next epoch has begun",
            {"transaction[t1].phase": '"idle"', "transaction[t1].epoch": "1"},
            good=GOOD,
        ),
        Fall("StagedIsOpen", "the partition knows of no transaction", {"producers[b1][t1].first": "-1"}, good=GOOD),
        Fall(
            "OffsetsHaveGroup",
            "the group was removed, its offset was not",
            {"log[2].group": "TRUE", "group[b1].state": '"None"'},
            good={**QUIET, "log": sequence(COMMIT, tombstone(1, "delete", "{p2}")), "end[b1]": "2"},
        ),
        Fall(
            "StagedUntilDecided",
            "it expires",
            {"log[3]": tombstone(2, "expiry", "{p2}")},
            good=ENDING,
            step=MARKED,
        ),
        Fall("StagedUntilDecided", "the marker is an old one", {"log[3].position": "1"}, good=ENDING, step=MARKED),
        Fall(
            "StagedUntilDecided",
            "somebody deletes another partition's offset",
            {"log[3]": tombstone(2, "delete", "{p1}")},
            good=ENDING,
            step=MARKED,
        ),
        Fall(
            "DecidedByItsMarker",
            "the transaction was to commit",
            good=ENDING,
            step=MARKED,
            before={"transaction[t1].result": '"COMMIT"'},
        ),
        Fall(
            "DecidedByItsMarker",
            "the transaction was not decided",
            good=ENDING,
            step=MARKED,
            before={"transaction[t1].phase": '"ongoing"', "transaction[t1].epoch": "0"},
        ),
        Fall(
            "ChangedByAccepted",
            "the record is of another partition",
            {"log[3].partition": "p2"},
            good=GOOD,
            step=COMMITTED,
        ),
        Fall(
            "ChangedByAccepted",
            "the marker lets another offset count than was staged",
            {"offsets[b1][p2].offset": "5"},
            good=COMMITTING,
            step=COUNTED,
        ),
        Fall(
            "ChangedByAccepted",
            "the record is an old one",
            {"log[3].position": "1", "offsets[b1][p1].position": "1"},
            good=GOOD,
            step=COMMITTED,
        ),
        Fall(
            "ChangedByAccepted",
            "the record is at another position",
            {"log[3].position": "3"},
            good=GOOD,
            step=COMMITTED,
        ),
        Fall(
            "ChangedByAccepted",
            "what is staged counts although its transaction aborts",
            {"offsets[b1][p2]": committed(4, 1)},
            good=ENDING,
            step=MARKED,
        ),
        Fall(
            "ChangedByAccepted",
            "the marker removes an offset",
            {"offsets[b1][p1]": NONE},
            good=COMMITTING,
            step=COUNTED,
        ),
        Fall("ChangedByAccepted", "the tombstone is another's", {"log[3].partitions": "{p2}"}, good=GOOD, step=REMOVED),
        Fall(
            "ChangedByAccepted",
            "the tombstone makes another offset count",
            {"offsets[b1][p1]": committed(6, 2)},
            good=GOOD,
            step=REMOVED,
        ),
        Fall(
            "MaterialisedOnCommit",
            "the transaction commits and its offset does not count",
            {"offsets[b1][p2]": NONE},
            good=COMMITTING,
            step=COUNTED,
        ),
        Fall(
            "LaterCounts",
            "a later one was committed before",
            good=GOOD,
            step=COMMITTED,
            before={"offsets[b1][p1].position": "5"},
        ),
        Fall(
            "MembersKeepOffsets",
            "somebody deletes it",
            {"log[3].cause": '"delete"'},
            good={**GOOD, **MEMBERS},
            step=REMOVED,
        ),
        Fall(
            "MembersKeepOffsets",
            "somebody deletes it, and the topic went once before",
            {"log": sequence(COMMIT, STAGED, tombstone(1, "topic", "{p1}"), tombstone(2, "delete", "{p1}"))},
            good={**GOOD, **MEMBERS},
            step=REMOVED,
        ),
        Fall(
            "MembersKeepOffsets",
            "somebody deletes it, and another topic goes",
            {"log": sequence(COMMIT, STAGED, tombstone(2, "topic", "{p2}"), tombstone(3, "delete", "{p1}"))},
            good={**GOOD, **MEMBERS},
            step=REMOVED,
        ),
        Fall(
            "RetainedAfterCommit",
            "it was committed two ticks ago",
            good={**GOOD, "now": "3"},
            step=EXPIRED,
            before={"now": "2"},
        ),
        Fall(
            "RetainedAfterEmpty",
            "the members have gone two ticks ago",
            good={**GOOD, "now": "3", "group[b1].state": '"Empty"'},
            step=EXPIRED,
            before={"group[b1].since": "1"},
        ),
        Fall(
            "AcceptedIsCurrent",
            "a commit of generation 2 is taken in generation 1",
            good={**GOOD, **MEMBERS, "txnRpc[t1]": VERIFIED},
            step=STAGES,
            before={"txnRpc[t1].generation": "2"},
        ),
        Fall(
            "AcceptedIsCurrent",
            "a late commit of generation 2 is taken in generation 1",
            good={**GOOD, **MEMBERS, "late[t1]": VERIFIED},
            step={"appended[b1]": STAGES["appended[b1]"], "late[t1]": record(type='"idle"')},
            before={"late[t1].generation": "2"},
        ),
        Fall(
            "ProducerEpochMonotone",
            "the partition has seen a later epoch",
            good=GOOD,
            step={"now": "1"},
            before={"producers[b1][t1].epoch": "3"},
        ),
        Fall(
            "FetchedIsDecided", "p2 is said to be stable", {"fetch.unstable": "{}"}, good=GOOD, step={"fetch": FETCHED}
        ),
        Fall(
            "FetchedIsCommitted",
            "another offset than the committed one",
            {"fetch.offsets[p1]": "5"},
            good=GOOD,
            step={"fetch": FETCHED},
        ),
        Fall("QuiescentAllCommitted", "a record waits", {"appended[b1]": sequence(LATER)}, good=QUIET),
        Fall("QuiescentAllDecided", "a marker is to come", {"transaction[t1].phase": '"ending"'}, good=QUIET),
        Fall("QuiescentAllDecided", "an offset is staged", {"staged[b1][t1][p2]": committed(4, 1)}, good=QUIET),
        Fall("QuiescentAllDecided", "the partition has not ended it", {"producers[b1][t1].first": "1"}, good=QUIET),
        Fall("QuiescentCoordinatorServes", "who leads has not loaded the log", {"epoch[b1]": "0"}, good=QUIET),
        Fall("QuiescentCoordinatorServes", "a deposed coordinator serves beside it", {"epoch[b2]": "1"}, good=QUIET),
        Fall(
            "QuiescentCoordinatorServes", "a deposed one's record waits", {"appended[b2]": sequence(LATER)}, good=QUIET
        ),
        Fall(
            "QuiescentNothingDue",
            "an offset has outlived its retention",
            {"now": "4"},
            good={**QUIET, "now": "2", "offsets[b1][p2]": record(offset="4", position="1", time="2")},
        ),
        Fall("QuiescentNothingDue", "a group without offsets is kept", {"offsets[b1][p1]": NONE}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a commit is on its way", {"txnRpc[t1]": VERIFIED}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a late commit may still arrive", {"late[t1]": VERIFIED}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a marker is on its way", {"marker[t1]": MARKER}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a copy of a marker is", {"lateMarker[t1]": MARKER}, good=QUIET),
        Fall(
            "QuiescentNothingInFlight",
            "a fetch waits for a commit",
            {"fetch": WAITING},
            good={**QUIET, "fetch": FETCHED},
        ),
    ],
)
