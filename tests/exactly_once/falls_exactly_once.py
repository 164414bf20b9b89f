"""Exactly once: per property a state or a step in which exactly that is wrong.

The good state: the instance i1 is the one member, of generation 1, and owns all four partitions. 0 has two records. The
first is done with, in epoch 0: its result is committed in the output and was returned. The second is decided to be
committed, in epoch 1 (the coordinator is in epoch 2). Its result is written, its offset staged, and no marker is there.
"""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table, record, sequence


def data(epoch: int, sequence: int, offset: int) -> str:
    """A result of i1, of partition 0."""
    fields = {"epoch": epoch, "sequence": sequence, "partition": 0, "offset": offset}
    return record(type='"data"', instance="i1", **{name: str(value) for name, value in fields.items()})


def marker(epoch: int, result: str) -> str:
    """A marker of i1's transaction."""
    return record(type='"marker"', instance="i1", epoch=str(epoch), result=f'"{result}"')


def result(offset: int) -> str:
    """The result of a record of partition 0, as the reader gets it."""
    return record(partition="0", offset=str(offset))


ENTRY = {"epoch": "1", "sequence": "0", "first": "2"}
FIRST = (data(0, 0, 0), marker(1, "COMMIT"))
OUTPUT = (*FIRST, data(1, 0, 1))
OFFSETS = "(0 :> {} @@ 1 :> -1 @@ 2 :> -1 @@ 3 :> -1)"
POSITION = "(0 :> {} @@ 1 :> 0 @@ 2 :> 0 @@ 3 :> 0)"
PROCESS = {
    "state": '"READY"',
    "epoch": "2",
    "next": "0",
    "member": "1",
    "generation": "1",
    "owned": "{0, 1, 2, 3}",
    "position": POSITION.format(2),
    "processed": "{}",
    "resent": "FALSE",
    "sent": "FALSE",
}
OWNER = "(0 :> 1 @@ 1 :> 1 @@ 2 :> 1 @@ 3 :> 1)"
NO_INSTANCE = "(i1 :> 0 @@ i2 :> 0 @@ i3 :> 0)"
GROUP = {"generation": "1", "members": "{1}", "joined": "{}", "instance": NO_INSTANCE, "owner": OWNER}

GOOD = {
    "input[0]": "2",
    "txn[i1]": record(state='"PrepareCommit"', epoch="2", partitions='{"output", "offsets"}'),
    "group": record(GROUP),
    "issued": "2",
    "committed[0]": "1",
    "staged[i1][0]": "2",
    "known[i1]": "1",
    "output": sequence(*OUTPUT),
    "entry[i1]": record(ENTRY),
    "read": "2",
    "returned": sequence(result(0)),
    "instance[i1]": record(PROCESS),
}
COMMIT_REQUEST = record(type='"commit"', epoch="1", member="1", generation="1", offsets=OFFSETS.format(2))
PROCESSING = record(PROCESS, state='"IN_TRANSACTION"', epoch="1", processed="{0}")
ONGOING = {
    **GOOD,
    "txn[i1]": record(state='"Ongoing"', epoch="1", partitions='{"output"}'),
    "staged[i1][0]": "-1",
    "instance[i1]": PROCESSING,
    "rpc[i1]": COMMIT_REQUEST,
}
STAGED = {
    "txn[i1].partitions": '{"output", "offsets"}',
    "staged[i1][0]": "2",
    "rpc[i1]": record(type='"reply"', kind='"commit"', error='"NONE"', epoch="-1"),
}
MARKED = {
    **GOOD,
    "txn[i1]": record(state='"CompleteCommit"', epoch="2", partitions="{}"),
    "committed[0]": "2",
    "staged[i1][0]": "-1",
    "known[i1]": "2",
    "output": sequence(*OUTPUT, marker(2, "COMMIT")),
    "entry[i1]": record(epoch="2", sequence="-1", first="-1"),
    "read": "4",
    "returned": sequence(result(0), result(1)),
}
OFFSETS_MARKED = {"txn[i1].partitions": '{"output"}', "committed[0]": "2", "staged[i1][0]": "-1", "known[i1]": "2"}
ABORTED = {**GOOD, "txn[i1].state": '"PrepareAbort"', "instance[i1].position": POSITION.format(1)}
OFFSETS_ABORTED = {**OFFSETS_MARKED, "committed[0]": "1"}
OUTPUT_MARKED = {
    "txn[i1].partitions": '{"offsets"}',
    "output": sequence(*OUTPUT, marker(2, "COMMIT")),
    "entry[i1]": record(epoch="2", sequence="-1", first="-1"),
}
BETWEEN = {
    **GOOD,
    "txn[i1]": record(state='"CompleteCommit"', epoch="1", partitions="{}"),
    "staged[i1][0]": "-1",
    "output": sequence(*FIRST),
    "entry[i1]": record(epoch="1", sequence="-1", first="-1"),
    "instance[i1].position": POSITION.format(1),
}
"""The second record is still to be read."""

ANY_STEP = {"issued": "3"}

TABLE = Table(
    "exactly-once",
    Path("exactly_once/ExactlyOnceProperties.tla"),
    Path("exactly_once/ExactlyOnceProperties.cfg"),
    [
        Fall("ReturnedOnce", "a result was returned twice", {"returned": sequence(result(0), result(0))}, good=GOOD),
        Fall("ReturnedCounts", "an undecided result was returned", {"returned": sequence(result(1))}, good=GOOD),
        Fall(
            "ReturnedCounts",
            "what was returned is a result of another partition's record",
            {"returned": sequence(record(partition="1", offset="0"))},
            good=GOOD,
        ),
        Fall(
            "CommittedHasResult",
            "there are no results of what is committed",
            {"committed[1]": "1", "instance[i1].position": "(0 :> 2 @@ 1 :> 1 @@ 2 :> 0 @@ 3 :> 0)"},
            good=GOOD,
        ),
        Fall(
            "CommittedHasResult",
            "the last one that is committed has no result",
            {"committed[0]": "2", "instance[i1].position": POSITION.format(2)},
            good=BETWEEN,
        ),
        Fall(
            "CommittedHasResult",
            "the result of a committed record was aborted",
            {"output[2].result": '"ABORT"', "returned": "<<>>"},
            good=GOOD,
        ),
        Fall(
            "CommittedHasResult", "the result of a committed record is not decided", {"committed[0]": "2"}, good=ONGOING
        ),
        Fall(
            "ResultIsCommitted",
            "the result of a record counts that is to be read again",
            {"committed[0]": "1", "instance[i1].position": POSITION.format(1)},
            good=MARKED,
        ),
        Fall(
            "ResultIsCommitted",
            "two results of a record count",
            {"output": sequence(data(0, 0, 0), marker(1, "COMMIT"), data(1, 0, 0), data(1, 1, 1))},
            good=GOOD,
        ),
        Fall("PositionIsCommitted", "a record is read again", {"instance[i1].position": POSITION.format(0)}, good=GOOD),
        Fall(
            "OneOwner",
            "i2 owns a partition of i1",
            {
                "group.members": "{1, 2}",
                "instance[i2]": record(PROCESS, member="2", owned="{3}", state='"READY"'),
            },
            good=GOOD,
        ),
        Fall("OpenIsKnown", "no marker is to come to the output", {"txn[i1].partitions": '{"offsets"}'}, good=GOOD),
        Fall("OpenIsKnown", "no marker is to come to the offsets", {"txn[i1].partitions": '{"output"}'}, good=GOOD),
        Fall(
            "OpenIsKnown",
            "the decided results are of an older epoch",
            {"txn[i1].epoch": "3", "known[i1]": "2"},
            good=GOOD,
        ),
        Fall("OpenIsKnown", "the decided offsets are of an older epoch", {"known[i1]": "0"}, good=GOOD),
        Fall(
            "OpenIsKnown",
            "a transaction that is open in the output is complete",
            {"txn[i1].state": '"CompleteAbort"'},
            good={**ABORTED, "staged[i1][0]": "-1"},
        ),
        Fall(
            "OpenIsKnown",
            "a transaction that has staged offsets is complete",
            {"txn[i1].state": '"CompleteAbort"'},
            good={**ABORTED, **OUTPUT_MARKED, "output": sequence(*OUTPUT, marker(2, "ABORT"))},
        ),
        Fall("SequencesContiguous", "an epoch begins with 1", {"output[3].sequence": "1"}, good=GOOD),
        Fall("OutputWellFormed", "the open transaction is not remembered", {"entry[i1].first": "-1"}, good=GOOD),
        Fall("OutputWellFormed", "an open result is read", {"read": "3"}, good=GOOD),
        Fall("OutputWellFormed", "the last epoch is not remembered", {"entry[i1].epoch": "1"}, good=MARKED),
        Fall("CommittedAdvances", "an offset goes back", {"committed[0]": "0"}, good=GOOD, step=ANY_STEP),
        Fall(
            "StagedForMember",
            "the member was removed",
            good=ONGOING,
            step=STAGED,
            before={"group.members": "{}"},
        ),
        Fall(
            "StagedForMember",
            "it is of an older generation",
            good=ONGOING,
            step=STAGED,
            before={"rpc[i1].generation": "0"},
        ),
        Fall(
            "StagedForMember",
            "the instance is another member by now",
            good={**GOOD, "rpc[i3]": COMMIT_REQUEST, "group.instance[i3]": "1"},
            step={"staged[i3][0]": "2", "rpc[i3]": STAGED["rpc[i1]"]},
            before={"group.instance[i3]": "2"},
        ),
        Fall("DecisionStands", "the commit is an abort", {"txn[i1].state": '"PrepareAbort"'}, good=GOOD, step=ANY_STEP),
        Fall("DecisionStands", "the producer epoch goes back", {"txn[i1].epoch": "1"}, good=MARKED, step=ANY_STEP),
        Fall(
            "DecisionStands",
            "a decided transaction gets another epoch",
            {"txn[i1].epoch": "3"},
            good=GOOD,
            step=ANY_STEP,
        ),
        Fall(
            "MarkerOfDecision",
            "a transaction ends before it is decided",
            good=GOOD,
            step=OUTPUT_MARKED,
            before={"txn[i1].state": '"Ongoing"'},
        ),
        Fall(
            "MarkerOfDecision",
            "the output's marker says otherwise",
            {"output[4].result": '"ABORT"'},
            good=GOOD,
            step=OUTPUT_MARKED,
        ),
        Fall(
            "MarkerOfDecision",
            "the output's marker is of the transaction before",
            {"output[4].epoch": "1", "entry[i1].epoch": "1"},
            good=GOOD,
            step=OUTPUT_MARKED,
        ),
        Fall(
            "MarkerOfDecision",
            "the output is not of the transaction",
            good=GOOD,
            step=OUTPUT_MARKED,
            before={"txn[i1].partitions": '{"offsets"}'},
        ),
        Fall(
            "MarkerOfDecision",
            "the offsets end in the epoch before",
            {"known[i1]": "1"},
            good=GOOD,
            step=OFFSETS_MARKED,
        ),
        Fall(
            "MarkerOfDecision",
            "aborted offsets are committed",
            {"committed[0]": "2"},
            good=ABORTED,
            step=OFFSETS_ABORTED,
        ),
        Fall(
            "MarkerOfDecision",
            "a transaction is aborted in the output before it is decided",
            {"output[4].result": '"ABORT"'},
            good=GOOD,
            step=OUTPUT_MARKED,
            before={"txn[i1].state": '"Ongoing"'},
        ),
        Fall(
            "MarkerOfDecision",
            "staged offsets are dropped before it is decided",
            good=ABORTED,
            step=OFFSETS_ABORTED,
            before={"txn[i1].state": '"Ongoing"'},
        ),
        Fall(
            "MarkerOfDecision",
            "the offsets are not of the transaction",
            good=GOOD,
            step=OFFSETS_MARKED,
            before={"txn[i1].partitions": '{"output"}'},
        ),
        Fall(
            "NoAppendAfterFencing",
            "a result is of an older epoch",
            {"output[4].epoch": "0"},
            good={**ONGOING, "input[0]": "3"},
            step={"output": sequence(*OUTPUT, data(1, 1, 2)), "entry[i1].sequence": "1"},
        ),
        Fall(
            "NoAppendAfterFencing",
            "the offsets' epoch goes back",
            {"known[i1]": "0"},
            good=GOOD,
            step=ANY_STEP,
        ),
        Fall("ReturnedStays", "what was returned is not", {"returned": "<<>>"}, good=GOOD, step=ANY_STEP),
        Fall(
            "ReturnedStays", "another result was returned", {"returned": sequence(result(1))}, good=GOOD, step=ANY_STEP
        ),
        Fall("ReturnedStays", "the output is shorter", {"output": sequence(*FIRST)}, good=GOOD, step=ANY_STEP),
        Fall("ReturnedStays", "a result is another record's", {"output[3].offset": "0"}, good=GOOD, step=ANY_STEP),
        Fall("QuiescentAllReturned", "a result was not returned", {"returned": sequence(result(0))}, good=MARKED),
        Fall(
            "QuiescentAllReturned",
            "no result of a partition was returned",
            {"input[1]": "1", "committed[1]": "1"},
            good=MARKED,
        ),
        Fall("QuiescentNothingOpen", "an offset is staged", {"staged[i1][0]": "2"}, good=MARKED),
        Fall("QuiescentNothingOpen", "a transaction is not decided", {"txn[i1].state": '"Ongoing"'}, good=MARKED),
        Fall("QuiescentNothingOpen", "a marker is to come", {"entry[i1].first": "2"}, good=MARKED),
        Fall("QuiescentNothingOpen", "an offset is not committed", {"committed[0]": "1"}, good=MARKED),
        Fall(
            "QuiescentNothingOpen",
            "an instance has begun a transaction of which nobody has heard",
            {"instance[i1].state": '"IN_TRANSACTION"'},
            good=MARKED,
        ),
        Fall("QuiescentNothingInFlight", "a request is on its way", {"rpc[i1]": COMMIT_REQUEST}, good=MARKED),
        Fall("QuiescentNothingInFlight", "a late request may still arrive", {"late[i1]": COMMIT_REQUEST}, good=MARKED),
        Fall(
            "QuiescentNothingInFlight",
            "a copy of a marker may still arrive",
            {"lateMarker[i1]": record(type='"marker"', target='"output"', epoch="2", result='"COMMIT"')},
            good=MARKED,
        ),
    ],
)
