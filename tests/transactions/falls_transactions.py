"""Transactions: per property a state or a step in which exactly that is wrong.

The good state, of version 2: the first transaction of producer id 1 was aborted in p1, in epoch 0. The second, in
epoch 1, is written to p1 and p2; its commit is decided, in epoch 2, and no marker is written yet.
"""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table, record, sequence


def data(epoch: int, sequence: int, transaction: int) -> str:
    """A record of producer id 1."""
    return record(type='"data"', pid="1", epoch=str(epoch), sequence=str(sequence), transaction=str(transaction))


def marker(epoch: int, result: str) -> str:
    """A marker for producer id 1, of the first coordinator."""
    return record(type='"marker"', pid="1", epoch=str(epoch), result=f'"{result}"', coordinatorEpoch="1")


DECIDED = {
    "state": '"PrepareCommit"',
    "pid": "1",
    "previousPid": "1",
    "nextPid": "0",
    "epoch": "2",
    "lastEpoch": "1",
    "partitions": "{p1, p2}",
}
ENTRY = {"epoch": "1", "sequence": "0", "coordinatorEpoch": "1", "first": "2", "guard": "-1"}
ABORTED = record(pid="1", first="0", last="1")
LOG = (data(0, 0, 1), marker(1, "ABORT"), data(1, 0, 2))

GOOD = {
    "stored": record(DECIDED),
    "metadata[b1]": record(DECIDED),
    "sending[b1]": "1",
    "begun": "2",
    "log[p1]": sequence(*LOG),
    "log[p2]": sequence(data(1, 0, 2)),
    "highWatermark[p1]": "3",
    "highWatermark[p2]": "1",
    "lastStableOffset[p1]": "2",
    "lastStableOffset[p2]": "0",
    "entry[p1][1]": record(ENTRY),
    "entry[p2][1]": record(ENTRY, coordinatorEpoch="-1", first="0"),
    "abortedIndex[p1]": sequence(ABORTED),
    "offsets[p1]": record(type='"data"'),
    "offsets[p2]": record(type='"data"'),
    "told[1]": '"ABORT"',
}
BOTH_ABORTED = {
    **GOOD,
    "stored": record(DECIDED, partitions="{p1}"),
    "log[p2]": sequence(data(0, 0, 1), marker(1, "ABORT")),
    "highWatermark[p2]": "2",
    "entry[p2][1]": record(ENTRY, sequence="-1", first="-1"),
    "abortedIndex[p2]": sequence(ABORTED),
    "told[1]": '"none"',
}
ONGOING = {**GOOD, "stored": record(DECIDED, state='"Ongoing"', epoch="1", lastEpoch="0")}
MARKED = {
    **GOOD,
    "log[p1]": sequence(*LOG, marker(2, "COMMIT")),
    "log[p2]": sequence(data(1, 0, 2), marker(2, "COMMIT")),
    "highWatermark[p1]": "4",
    "highWatermark[p2]": "2",
    "lastStableOffset[p1]": "4",
    "lastStableOffset[p2]": "2",
    "entry[p1][1]": record(ENTRY, epoch="2", sequence="-1", first="-1"),
    "entry[p2][1]": record(ENTRY, epoch="2", sequence="-1", first="-1"),
}
OFFSETS = {**MARKED, "offsets[p2]": record(type='"offsets"', committed="2")}
COMPLETE = {"stored.state": '"CompleteCommit"', "stored.partitions": "{}"}
WRITTEN = {"log[p1]": sequence(*LOG, marker(2, "COMMIT"))}
TWO_COORDINATORS = {
    **MARKED,
    "log[p1]": sequence(
        data(0, 0, 1),
        record(type='"marker"', pid="1", epoch="1", result='"ABORT"', coordinatorEpoch="2"),
        data(1, 0, 2),
        record(type='"marker"', pid="1", epoch="2", result='"COMMIT"', coordinatorEpoch="2"),
    ),
    "entry[p1][1]": record(ENTRY, epoch="2", sequence="-1", first="-1", coordinatorEpoch="-1"),
}
BATCH = {"pid": "1", "epoch": "1", "sequence": "1", "transaction": "2"}
REFUSED = {"type": '"reply"', **BATCH, "error": '"INVALID_PRODUCER_EPOCH"'}
MARKER = marker(2, "COMMIT")
ANSWER = record(type='"reply"', kind='"end"', error='"NONE"', pid="1", epoch="2", partitions="{}")
ROTATES = {
    **GOOD,
    "stored.nextPid": "2",
    "produce[c1][p1]": record({"type": '"verifying"', **BATCH, "guard": "TRUE"}, pid="2"),
}
TIMED_OUT = {
    **GOOD,
    "stored.state": '"PrepareAbort"',
    "client[c1].state": '"IN_TRANSACTION"',
    "client[c1].pid": "1",
    "client[c1].epoch": "1",
    "produce[c1][p1]": record(REFUSED),
}
EMPTY = {**MARKED, "stored.state": '"Ongoing"'}
READ = {
    **MARKED,
    'position["read_committed"][p1]': "4",
    'position["read_committed"][p2]': "2",
    'returned["read_committed"][p1]': "{2}",
    'returned["read_committed"][p2]': "{0}",
    'position["read_uncommitted"][p1]': "3",
    'returned["read_uncommitted"][p1]': "{0, 2}",
}
MORE = {"highWatermark[p1]": "5", "lastStableOffset[p1]": "5"}
TWO_RECORDS = {**MORE, "log[p1]": sequence(*LOG, data(1, 1, 2), marker(2, "COMMIT"))}
TWO_PRODUCERS = {
    **MORE,
    "log[p1]": sequence(*LOG, marker(0, "COMMIT").replace("pid |-> 1", "pid |-> 2"), marker(2, "COMMIT")),
}
"""Between the second transaction's record in p1 and its marker: a record, a marker of another producer."""

ASKED = {"type": '"request"', "kind": '"init"', "broker": "b1", "pid": "1", "epoch": "1", "partitions": "{}"}
TRY_AGAIN = record(
    type='"reply"', kind='"init"', error='"CONCURRENT_TRANSACTIONS"', pid="0", epoch="-1", partitions="{}"
)
BEGUN = {
    **MARKED,
    "stored": record(DECIDED, state='"Empty"', partitions="{}"),
    "sending[b1]": "0",
    "rpc[c1]": record(ASKED, result='"ABORT"'),
}
"""Epoch 2 was given to the producer of epoch 1, which asks again."""

ENDS = {
    "type": '"request"',
    "kind": '"end"',
    "broker": "b1",
    "pid": "1",
    "epoch": "2",
    "partitions": "{}",
    "result": '"ABORT"',
}
ABORTS = {**GOOD, "rpc[c1]": record(ENDS)}
"""The second transaction's decision has given epoch 2 to the producer, which aborts the next one."""
WAIT = {
    "type": '"reply"',
    "kind": '"end"',
    "error": '"CONCURRENT_TRANSACTIONS"',
    "pid": "0",
    "epoch": "-1",
    "partitions": "{}",
}

QUIET = {**READ, **COMPLETE, "sending[b1]": "0"}
TWICE = {**GOOD, "log[p1]": sequence(*LOG, data(1, 1, 2)), "entry[p1][1].sequence": "1"}

TABLE = Table(
    "transactions",
    Path("transactions/TransactionsProperties.tla"),
    Path("transactions/TransactionsProperties.cfg"),
    [
        Fall(
            "OneOutcome",
            "the first transaction is aborted in p1 and committed in p2",
            {"log[p2][2].result": '"COMMIT"', "abortedIndex[p2]": "<<>>"},
            good=BOTH_ABORTED,
        ),
        Fall("ToldIsSo", "the client of the aborted one was told COMMIT", {"told[1]": '"COMMIT"'}, good=GOOD),
        Fall("ReadsCommitted", "an undecided record is read", {"lastStableOffset[p1]": "3"}, good=GOOD),
        Fall("ReadsCommitted", "an aborted record is read", {"abortedIndex[p1]": "<<>>"}, good=GOOD),
        Fall(
            "ReadsCommitted",
            "a record is read whose marker may be lost",
            {"highWatermark[p1]": "3", "lastStableOffset[p1]": "3"},
            good=MARKED,
        ),
        Fall(
            "ReadsCommitted",
            "a committed record counts as aborted",
            {"abortedIndex[p2]": sequence(ABORTED)},
            good=MARKED,
        ),
        Fall(
            "ReadsCommitted",
            "a record is read behind which there is another, whose marker may be lost",
            {"highWatermark[p1]": "4", "lastStableOffset[p1]": "3"},
            good={**MARKED, **TWO_RECORDS},
        ),
        Fall(
            "ReadsCommitted",
            "a record is read behind which there is another producer's marker, while its own may be lost",
            {"highWatermark[p1]": "4", "lastStableOffset[p1]": "3"},
            good={**MARKED, **TWO_PRODUCERS},
        ),
        Fall(
            "ReturnedIsCommitted",
            "an aborted record is returned",
            {'returned["read_committed"][p1]': "{0, 2}"},
            good=READ,
        ),
        Fall(
            "ReturnedIsCommitted",
            "a record was returned whose marker may be lost",
            {"highWatermark[p1]": "3", "lastStableOffset[p1]": "2"},
            good={**READ, 'position["read_committed"][p1]': "3"},
        ),
        Fall(
            "ReturnedIsCommitted",
            "a committed record is passed over",
            {'returned["read_committed"][p2]': "{}"},
            good=READ,
        ),
        Fall(
            "ReturnedIsCommitted",
            "a record was returned behind which there is another, whose marker may be lost",
            {"highWatermark[p1]": "4", "lastStableOffset[p1]": "2"},
            good={**READ, **TWO_RECORDS, 'position["read_committed"][p1]': "3"},
        ),
        Fall(
            "ReturnedIsCommitted",
            "a record was returned behind which there is another producer's marker, while its own may be lost",
            {"highWatermark[p1]": "4", "lastStableOffset[p1]": "2"},
            good={**READ, **TWO_PRODUCERS, 'position["read_committed"][p1]': "3"},
        ),
        Fall(
            "ReturnedIsReplicated",
            "a record is returned that may be lost",
            {"highWatermark[p1]": "2"},
            good={**GOOD, 'position["read_uncommitted"][p1]': "3", 'returned["read_uncommitted"][p1]': "{0, 2}"},
        ),
        Fall("ReturnedIsReplicated", "a record is passed over", {'returned["read_uncommitted"][p1]': "{0}"}, good=READ),
        Fall(
            "ReturnedIsReplicated",
            "the consumer has not come to a record that it has returned",
            {'position["read_uncommitted"][p1]': "2"},
            good=READ,
        ),
        Fall("OpenIsKnown", "the transaction is not to end in p2", {"stored.partitions": "{p1}"}, good=GOOD),
        Fall("OpenIsKnown", "it is complete", {"stored.state": '"CompleteCommit"'}, good=GOOD),
        Fall("OpenIsKnown", "the coordinator has another producer id", {"stored.pid": "2"}, good=GOOD),
        Fall(
            "OpenIsKnown",
            "the open transaction is of an older epoch",
            {"stored.epoch": "2"},
            good=ONGOING,
        ),
        Fall("OpenIsKnown", "the decided transaction is of an older epoch", {"stored.epoch": "3"}, good=GOOD),
        Fall(
            "SequencesContiguous",
            "an epoch begins with sequence 1",
            {"log[p1][3].sequence": "1", "entry[p1][1].sequence": "1"},
            good=GOOD,
        ),
        Fall(
            "SequencesContiguous",
            "a producer begins with sequence 1",
            {"log[p2][1].sequence": "1", "entry[p2][1].sequence": "1"},
            good=GOOD,
        ),
        Fall(
            "SequencesContiguous",
            "sequence 1 is missing",
            {"log[p1][4].sequence": "2", "entry[p1][1].sequence": "2"},
            good=TWICE,
        ),
        Fall("SequencesContiguous", "epoch 1 is behind epoch 2", {"log[p1][1].epoch": "2"}, good=GOOD),
        Fall("OneTransactionPerEpoch", "epoch 1 is of two transactions", {"log[p2][1].transaction": "3"}, good=GOOD),
        Fall(
            "OffsetsFollowMarkers",
            "other offsets count than were committed",
            {"offsets[p2].committed": "1"},
            good=OFFSETS,
        ),
        Fall(
            "OffsetsFollowMarkers",
            "offsets count that are undecided",
            {"offsets[p2].committed": "2"},
            good={**GOOD, "offsets[p2]": record(type='"offsets"', committed="0")},
        ),
        Fall("LastEpochIsForMarkers", "a client has the last epoch", {"client[c1].epoch": "6"}, good=GOOD),
        Fall("LastEpochIsForMarkers", "a transaction is open in the last epoch", {"stored.epoch": "6"}, good=EMPTY),
        Fall("DecidedIsSent", "nobody sends the markers", {"sending[b1]": "0"}, good=GOOD),
        Fall("PendingIsWritten", "a transition without a record is pending", {"pending[b1]": '"Ongoing"'}, good=GOOD),
        Fall(
            "PendingIsWritten",
            "another transition than the record's is pending",
            {"pending[b1]": '"Ongoing"'},
            good={**GOOD, "unreplicated[b1]": sequence(record(DECIDED)), "pending[b1]": '"PrepareCommit"'},
        ),
        Fall("AtMostOneEpochAhead", "two epochs could not be written", {"metadata[b1].epoch": "4"}, good=GOOD),
        Fall(
            "CoordinatorEpochsAscend",
            "a marker of an older coordinator is behind a newer one's",
            {"log[p1][4].coordinatorEpoch": "1"},
            good=TWO_COORDINATORS,
        ),
        Fall("PartitionWellFormed", "what is not there is committed", {"highWatermark[p2]": "2"}, good=GOOD),
        Fall("PartitionWellFormed", "another sequence is remembered", {"entry[p1][1].sequence": "1"}, good=GOOD),
        Fall(
            "PartitionWellFormed",
            "the sequence of what is open is forgotten",
            {"entry[p1][1].sequence": "-1"},
            good=GOOD,
        ),
        Fall("PartitionWellFormed", "what is not committed is stable", {"lastStableOffset[p1]": "5"}, good=MARKED),
        Fall(
            "PartitionWellFormed", "the transaction is open from its marker on", {"entry[p1][1].first": "1"}, good=GOOD
        ),
        Fall("PartitionWellFormed", "an older epoch is remembered", {"entry[p1][1].epoch": "1"}, good=MARKED),
        Fall(
            "PartitionWellFormed",
            "another coordinator is remembered",
            {"entry[p1][1].coordinatorEpoch": "2"},
            good=GOOD,
        ),
        Fall(
            "PartitionWellFormed",
            "the epoch of what is open is forgotten",
            {
                "stored.epoch": "0",
                "metadata[b1].epoch": "0",
                "entry[p1][1].epoch": "-1",
                "entry[p2][1].epoch": "-1",
            },
            good=GOOD,
        ),
        Fall(
            "PartitionWellFormed",
            "another sequence is remembered, and nothing is open",
            {"entry[p1][1].sequence": "1"},
            good=MARKED,
        ),
        Fall(
            "ProducerEpochAdvances",
            "the epoch goes back",
            {"stored.epoch": "0"},
            good=ONGOING,
            step={"stored.epoch": "2", "stored.state": '"PrepareCommit"'},
        ),
        Fall(
            "ProducerEpochAdvances",
            "the producer id goes back",
            {"stored.pid": "1"},
            good={**ONGOING, "stored.pid": "2"},
            step={"stored.epoch": "2", "stored.state": '"PrepareCommit"'},
        ),
        Fall(
            "NextIdIsKnown",
            "the next producer id is said to be none",
            {"produce[c1][p1].error": '"INVALID_PRODUCER_ID_MAPPING"'},
            good=ROTATES,
            step={"produce[c1][p1]": record(REFUSED, pid="2", error='"CONCURRENT_TRANSACTIONS"')},
        ),
        Fall(
            "RetryIsNotFenced",
            "who asks again is told that it is replaced",
            {"rpc[c1].error": '"PRODUCER_FENCED"'},
            good=BEGUN,
            step={"rpc[c1]": TRY_AGAIN},
        ),
        Fall(
            "RetryIsNotFenced",
            "who asks again for another producer id is told that it is replaced",
            {"rpc[c1].error": '"PRODUCER_FENCED"'},
            good={**BEGUN, "stored.pid": "2", "stored.epoch": "0"},
            step={"rpc[c1]": TRY_AGAIN},
        ),
        Fall(
            "TimedOutGoesOn",
            "the process ends",
            {"client[c1].state": '"FATAL_ERROR"'},
            good=TIMED_OUT,
            step={"client[c1].state": '"ABORTABLE_ERROR"', "produce[c1][p1]": record(type='"idle"')},
        ),
        Fall(
            "FencedIsReplaced",
            "who aborts its next transaction is told that it is replaced",
            {"rpc[c1].error": '"PRODUCER_FENCED"'},
            good=ABORTS,
            step={"rpc[c1]": record(WAIT)},
        ),
        Fall(
            "FencedIsReplaced",
            "who commits is told that there is nothing to commit",
            {"rpc[c1].error": '"INVALID_TXN_STATE"'},
            good={**ONGOING, "rpc[c1]": record(ENDS, epoch="1", result='"COMMIT"')},
            step={"rpc[c1]": record(WAIT, error='"NOT_COORDINATOR"')},
        ),
        Fall(
            "FencedIsReplaced",
            "who has the next producer id is told that it is replaced",
            {"rpc[c1].error": '"PRODUCER_FENCED"'},
            good={**GOOD, "stored.nextPid": "2", "rpc[c1]": record(ENDS, pid="2", epoch="0")},
            step={"rpc[c1]": record(WAIT)},
        ),
        Fall(
            "FencedIsReplaced",
            "a batch of the current epoch is refused for its epoch",
            {"produce[c1][p1].error": '"INVALID_PRODUCER_EPOCH"'},
            good={**ONGOING, "produce[c1][p1]": record({"type": '"verifying"', **BATCH, "guard": "TRUE"})},
            step={"produce[c1][p1]": record(REFUSED, error='"NOT_COORDINATOR"')},
        ),
        Fall(
            "DecisionStands",
            "the commit ends as an abort",
            {"stored.state": '"CompleteAbort"'},
            good=MARKED,
            step=COMPLETE,
        ),
        Fall(
            "CompleteFollowsMarkers",
            "the transaction is open in p1",
            good=MARKED,
            step=COMPLETE,
            before={"entry[p1][1].first": "2"},
        ),
        Fall(
            "CompleteFollowsMarkers",
            "the marker in p2 may be lost",
            good=MARKED,
            step=COMPLETE,
            before={"highWatermark[p2]": "1"},
        ),
        Fall(
            "CompleteFollowsMarkers",
            "there is another producer's marker in p1, and the marker may be lost",
            good={**MARKED, **TWO_PRODUCERS},
            step=COMPLETE,
            before={"highWatermark[p1]": "4"},
        ),
        Fall(
            "MarkerOfDecision",
            "a marker says otherwise",
            {"log[p1][4].result": '"ABORT"'},
            good=GOOD,
            step=WRITTEN,
        ),
        Fall(
            "MarkerOfDecision",
            "a transaction is aborted that is not decided",
            {"stored.state": '"Ongoing"', "log[p1][4].result": '"ABORT"'},
            good=GOOD,
            step=WRITTEN,
            before={"stored.state": '"Ongoing"'},
        ),
        Fall(
            "MarkerOfDecision",
            "the decision is another producer id's",
            {"stored.pid": "2"},
            good=GOOD,
            step=WRITTEN,
            before={"stored.pid": "2"},
        ),
        Fall(
            "MarkerOfDecision",
            "the decision is another transaction's of the same producer id",
            {"stored.epoch": "1"},
            good=GOOD,
            step=WRITTEN,
            before={"stored.epoch": "1"},
        ),
        Fall(
            "MarkerOfDecision",
            "the partition is not the transaction's",
            {"stored.partitions": "{p2}"},
            good=GOOD,
            step=WRITTEN,
            before={"stored.partitions": "{p2}"},
        ),
        Fall(
            "NoAppendAfterFencing",
            "a record of epoch 0 is written behind epoch 1",
            {"log[p1][4].epoch": "0"},
            good=GOOD,
            step={"log[p1]": sequence(*LOG, data(1, 1, 2))},
        ),
        Fall(
            "NoAppendAfterFencing",
            "so is one though the leader has forgotten the producer",
            {"log[p1][4].epoch": "0"},
            good=GOOD,
            step={"log[p1]": sequence(*LOG, data(1, 1, 2))},
            before={"entry[p1][1].epoch": "-1"},
        ),
        Fall(
            "CoordinatorEpochMonotone",
            "the coordinator epoch goes back",
            {"entry[p1][1].coordinatorEpoch": "0"},
            good=GOOD,
            step=WRITTEN,
        ),
        Fall("StableStays", "a high watermark goes back", {"highWatermark[p2]": "0"}, good=GOOD, step={"issued": "2"}),
        Fall("StableStays", "a committed record is lost", {"log[p1]": "<<>>"}, good=GOOD, step={"issued": "2"}),
        Fall(
            "StableStays",
            "a committed record is another one",
            {"log[p1][1].transaction": "3"},
            good=GOOD,
            step={"issued": "2"},
        ),
        Fall(
            "StableStays",
            "a reader has read what is not stable any more",
            {"lastStableOffset[p1]": "1"},
            good=GOOD,
            step={"issued": "2"},
        ),
        Fall(
            "ReturnedStays",
            "a consumer goes back",
            {'position["read_committed"][p1]': "3"},
            good=READ,
            step={"issued": "2"},
        ),
        Fall(
            "ReturnedStays",
            "what was returned is forgotten",
            {'returned["read_committed"][p1]': "{}"},
            good=READ,
            step={"issued": "2"},
        ),
        Fall(
            "QuiescentConsumersAtEnd",
            "a consumer has not come to the end",
            {'position["read_committed"][p2]': "1"},
            good=QUIET,
        ),
        Fall(
            "QuiescentConsumersAtEnd",
            "a consumer waits for a response",
            {'fetch["read_committed"][p1]': record(type='"request"')},
            good={**QUIET, 'fetch["read_committed"][p1]': record(type='"delayed"')},
        ),
        Fall(
            "QuiescentCoordinatorServes",
            "a record of the coordinator is not committed",
            {"unreplicated[b1]": sequence(record(DECIDED))},
            good=QUIET,
        ),
        Fall("QuiescentCoordinatorServes", "who leads has not loaded the log", {"epoch[b1]": "0"}, good=QUIET),
        Fall("QuiescentCoordinatorServes", "a deposed coordinator serves beside it", {"epoch[b2]": "1"}, good=QUIET),
        Fall("QuiescentNothingOpen", "a transaction is open in p1", {"entry[p1][1].first": "2"}, good=QUIET),
        Fall("QuiescentNothingOpen", "a transaction is not decided", {"stored.state": '"Ongoing"'}, good=QUIET),
        Fall("QuiescentAllStable", "a reader does not get to the end", {"lastStableOffset[p2]": "0"}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a transition is pending", {"pending[b1]": '"Ongoing"'}, good=QUIET),
        Fall("QuiescentNothingInFlight", "markers are being sent", {"sending[b1]": "1"}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a marker is on its way", {"marker[b1][p1]": MARKER}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a copy of a marker is", {"lateMarker[b1][p1]": MARKER}, good=QUIET),
        Fall("QuiescentNothingInFlight", "a client waits for the coordinator", {"rpc[c1]": ANSWER}, good=QUIET),
        Fall(
            "QuiescentNothingInFlight",
            "a request to the coordinator may still arrive",
            {"lateRpc[c1]": record(ASKED, result='"ABORT"')},
            good=QUIET,
        ),
        Fall("QuiescentNothingInFlight", "a batch is on its way", {"produce[c1][p1]": record(REFUSED)}, good=QUIET),
        Fall(
            "QuiescentNothingInFlight",
            "a batch that was given up may still arrive",
            {"lateProduce[c1][p1]": record({"type": '"request"', **BATCH})},
            good=QUIET,
        ),
        Fall(
            "QuiescentNothingOpen",
            "a process has begun a transaction of which nobody has heard",
            {"client[c1].state": '"IN_TRANSACTION"'},
            good={**QUIET, "client[c1].state": '"READY"', "client[c1].pid": "1", "client[c1].epoch": "2"},
        ),
    ],
)
