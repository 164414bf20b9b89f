"""Idempotent producers: per property a state or a step in which exactly that is wrong.

The good state: c1 has producer id 1 and has bumped its epoch once. Its first batch is in p1, committed and
acknowledged. The second, of the new epoch, is in p1 and in flight; the third is in flight.
"""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table, record, sequence


def batch(epoch: int, sequence: int, number: int) -> str:
    """A batch of producer id 1 in a log."""
    return record(pid="1", epoch=str(epoch), sequence=str(sequence), number=str(number))


def in_flight(sequence: int, number: int, sent: str = "TRUE") -> str:
    """A batch in flight, in epoch 1."""
    return record(epoch="1", sequence=str(sequence), number=str(number), sent=sent, doubt="FALSE")


SENDER = {
    "epoch": "1",
    "next": "2",
    "lastAcked": "-1",
    "unresolved": "-1",
    "rewrite": "FALSE",
    "created": "3",
    "batches": sequence(in_flight(0, 2), in_flight(1, 3)),
}
NEW_EPOCH = {**SENDER, "epoch": "2", "next": "0", "batches": "<<>>"}
FORGOTTEN = record(epoch="-1", batches="<<>>")
LOG = (batch(0, 0, 1), batch(1, 0, 2))

GOOD = {
    "issued": "1",
    "producer[c1]": record(pid="1", epoch="1"),
    "log[p1]": sequence(*LOG),
    "highWatermark[p1]": "1",
    "entry[p1][1]": record(epoch="1", batches="<<[sequence |-> 0, offset |-> 1]>>"),
    "sender[c1][p1]": record(SENDER),
    "acked[1][p1][1]": "1",
}
QUIET = {**GOOD, "highWatermark[p1]": "2", "sender[c1][p1]": record(SENDER, batches=sequence())}

ITEM = {"broker": "b1", "number": "2", "epoch": "1", "sequence": "0"}
REQUEST = record(ITEM, type='"request"', pid="1")
REPLY = record(ITEM, type='"reply"', offset="1", error='"NONE"')
REFUSED = record(ITEM, type='"reply"', offset="0", error='"OUT_OF_ORDER_SEQUENCE_NUMBER"')

TABLE = Table(
    "idempotence",
    Path("idempotence/IdempotentProducerProperties.tla"),
    Path("idempotence/IdempotentProducerProperties.cfg"),
    [
        Fall("NoDuplicate", "the first batch is in the log twice", {"log[p1][2].number": "1"}, good=GOOD),
        Fall(
            "SentOrder",
            "the second batch is before the first",
            {"log[p1][1].number": "2", "log[p1][2].number": "1", "acked[1][p1][1]": "0"},
            good=GOOD,
        ),
        Fall("NothingOvertaken", "the third is written, the second is not", {"log[p1][2].number": "3"}, good=GOOD),
        Fall(
            "NothingOvertaken",
            "the third is written, and the second is another producer's",
            {
                "log[p1]": sequence(batch(0, 0, 1), batch(0, 0, 2).replace("pid |-> 1", "pid |-> 2"), batch(1, 0, 3)),
                "entry[p1][1].batches[1].offset": "2",
            },
            good=GOOD,
        ),
        Fall(
            "SequencesContiguous",
            "an epoch begins with sequence 1",
            {"log[p1][2].sequence": "1", "entry[p1][1].batches[1].sequence": "1"},
            good=GOOD,
        ),
        Fall(
            "SequencesContiguous",
            "a sequence comes twice in an epoch",
            {"log[p1][1].epoch": "1", "entry[p1][1]": FORGOTTEN},
            good=GOOD,
        ),
        Fall("AckedIsThere", "what is not committed was acknowledged", {"acked[1][p1][1]": "2"}, good=GOOD),
        Fall("AckedIsThere", "another batch is at the offset", {"acked[1][p1][3]": "1"}, good=GOOD),
        Fall("AckedIsThere", "a batch was acknowledged before it is committed", {"acked[1][p1][2]": "2"}, good=GOOD),
        Fall("AckedIsThere", "another producer's batch is at the offset", {"acked[2][p1][1]": "1"}, good=GOOD),
        Fall(
            "StateIsReplay", "the leader remembers another offset", {"entry[p1][1].batches[1].offset": "0"}, good=GOOD
        ),
        Fall("StateIsReplay", "the leader remembers the epoch before", {"entry[p1][1].epoch": "0"}, good=GOOD),
        Fall(
            "StateIsReplay",
            "the leader remembers an epoch without batches",
            {"entry[p1][1].batches": "<<>>"},
            good=GOOD,
        ),
        Fall("SenderWellFormed", "a sequence in flight is the next one, too", {"sender[c1][p1].next": "1"}, good=GOOD),
        Fall(
            "SenderWellFormed",
            "the third batch is to be sent before the second",
            {"sender[c1][p1].batches[1].number": "3", "sender[c1][p1].batches[2].number": "2"},
            good=GOOD,
        ),
        Fall(
            "SenderWellFormed",
            "two batches in flight have one sequence",
            {"sender[c1][p1].batches[2].sequence": "0"},
            good=GOOD,
        ),
        Fall(
            "SenderWellFormed",
            "a batch in flight has the epoch before",
            {"sender[c1][p1].batches[1].epoch": "0"},
            good=GOOD,
        ),
        Fall("SenderWellFormed", "the sender is ahead of its producer's epoch", {"producer[c1].epoch": "0"}, good=GOOD),
        Fall("SenderWellFormed", "the high watermark is past the log", {"highWatermark[p1]": "3"}, good=GOOD),
        Fall(
            "WrittenIsAnswered",
            "a batch that is in the log is refused",
            {"wire[c1][p1][1].error": '"OUT_OF_ORDER_SEQUENCE_NUMBER"'},
            good={**GOOD, "wire[c1][p1]": sequence(REQUEST)},
            step={"wire[c1][p1]": sequence(REPLY)},
        ),
        Fall(
            "CommittedStays",
            "the high watermark goes back",
            {"highWatermark[p1]": "0"},
            good=GOOD,
            step={"highWatermark[p1]": "2"},
        ),
        Fall("CommittedStays", "a committed batch is lost", {"log[p1]": "<<>>"}, good=GOOD, step={"issued": "2"}),
        Fall(
            "CommittedStays",
            "another batch stands for a committed one",
            {"log[p1][1].number": "4"},
            good=GOOD,
            step={"issued": "2"},
        ),
        Fall(
            "ProducerEpochMonotone",
            "an epoch goes back",
            {"producer[c1].epoch": "0"},
            good=GOOD,
            step={"producer[c1].epoch": "2"},
        ),
        Fall("ProducerEpochMonotone", "an id may be issued again", {"issued": "0"}, good=GOOD, step={"issued": "2"}),
        Fall(
            "ProducerEpochMonotone",
            "an id is issued again",
            good=GOOD,
            step={"producer[c1]": record(pid="2", epoch="0"), "issued": "2"},
            before={"issued": "2"},
        ),
        Fall(
            "NewEpochRestarts",
            "a partition goes on counting in a new epoch",
            {"sender[c1][p1].next": "2"},
            good=GOOD,
            step={"sender[c1][p1]": record(NEW_EPOCH)},
        ),
        Fall(
            "NewEpochRestarts",
            "a batch keeps its sequence in a new epoch",
            {"sender[c1][p1].next": "1", "sender[c1][p1].batches": sequence(in_flight(1, 3))},
            good=GOOD,
            step={"sender[c1][p1]": record(NEW_EPOCH)},
        ),
        Fall(
            "GapIsNoticed",
            "the producer waits for what was acknowledged",
            {"sender[c1][p1].rewrite": "FALSE"},
            good={**GOOD, "wire[c1][p1]": sequence(REFUSED)},
            step={
                "wire[c1][p1]": sequence(),
                "sender[c1][p1]": record(
                    SENDER, rewrite="TRUE", batches=sequence(in_flight(0, 2, sent="FALSE"), in_flight(1, 3))
                ),
            },
        ),
        Fall(
            "NoAppendAfterFencing",
            "a batch of the old epoch is written behind the new one",
            {"log[p1][3].epoch": "0"},
            good=GOOD,
            step={"log[p1]": sequence(*LOG, batch(1, 1, 3))},
        ),
        Fall("QuiescentNothingInFlight", "sequences are unresolved", {"sender[c1][p1].unresolved": "1"}, good=QUIET),
        Fall(
            "QuiescentNothingInFlight",
            "a batch was not acknowledged",
            {"sender[c1][p1].batches": sequence(in_flight(1, 3))},
            good=QUIET,
        ),
        Fall(
            "QuiescentNothingInFlight", "sequences are to be rewritten", {"sender[c1][p1].rewrite": "TRUE"}, good=QUIET
        ),
        Fall("QuiescentNothingInFlight", "a request is on the way", {"wire[c1][p1]": sequence(REQUEST)}, good=QUIET),
        Fall(
            "QuiescentNothingInFlight",
            "a late request is on the way",
            {"late[c1][p1]": sequence(record(ITEM, pid="1"))},
            good=QUIET,
        ),
        Fall("QuiescentAllCommitted", "the log's end is not committed", {"highWatermark[p1]": "1"}, good=QUIET),
    ],
)
