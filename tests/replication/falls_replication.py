"""Replication: per property a state or a step in which exactly that is wrong. A, B, C of the runs are b1, b2, b3."""

from __future__ import annotations

from pathlib import Path

from falls import Fall, Table

REPLICATED = """
leader A
produce A r acks=all
fetch B from=A
fetch C from=A
fetch B from=A
fetch C from=A
complete A r
fetch B from=A
fetch C from=A
"""
"""Everybody has r, it is committed, and its client knows."""

READ = REPLICATED + "consume A\n"
"""A consumer has it, too."""

TWO_ISR = (
    REPLICATED
    + """
produce A s acks=1
shrink A C
decide A
reply A
apply A
apply B
apply C
"""
)
"""C lags behind s and is out of the ISR, and all know."""

B_LEADS = (
    REPLICATED
    + """
produce A s acks=1
fetch B from=A
produce A t acks=1
elect B
apply B
apply A
"""
)
"""B leads the next epoch; it has r and s, A has t, too."""

R = "[epoch |-> 0, value |-> 1]"
OTHER = "<<[epoch |-> 1, value |-> 2]>>"
OTHER_CACHE = "<<[epoch |-> 1, start |-> 0]>>"
UNCOUNTED = {"remoteLeo[b1][b2]": "-1", "remoteLeo[b1][b3]": "-1"}
"""The leader has counted nobody in its epoch, so nobody need be a prefix of it."""

LATER_EPOCH = {"log[b2][2].epoch": "1"}
"""B's second record is of epoch 1."""

DECIDED = REPLICATED + "produce A s acks=1\nshrink A C\ndecide A\n"
ALTER = (
    '[type |-> "request", brokerEpoch |-> 1, leaderEpoch |-> 0, partitionEpoch |-> 1, isr |-> {b1, b2}, '
    "memberEpochs |-> (b1 :> 1 @@ b2 :> 1 @@ b3 :> -1)]"
)
ALTERED = '[type |-> "reply", leaderEpoch |-> 0, partitionEpoch |-> 2, error |-> "NONE"]'
IDLE = '[type |-> "idle"]'

TABLE = Table(
    "replication",
    Path("replication/ReplicationProperties.tla"),
    Path("replication/ReplicationProperties.cfg"),
    [
        Fall(
            "StrongIsr",
            "a member of the ISR lacks a committed record",
            {
                "log[b3]": "<<>>",
                "flushed[b3]": "0",
                "epochCache[b3]": "<<>>",
                "highWatermark[b3]": "0",
                "lastFetchedEpoch[b3]": "-1",
            },
            REPLICATED,
        ),
        Fall(
            "StrongIsr",
            "a member of the ISR has another record than the committed one",
            {
                "log[b3]": OTHER,
                "epochCache[b3]": OTHER_CACHE,
                "highWatermark[b3]": "0",
                "lastFetchedEpoch[b3]": "1",
                "remoteLeo[b1][b3]": "-1",
            },
            REPLICATED,
        ),
        Fall("CommittedIsOne", "the leader's high watermark is past all commits", {"committed": "<<>>"}, REPLICATED),
        Fall(
            "CommittedIsOne",
            "a deposed leader has another record below its high watermark",
            {"log[b1]": OTHER, "epochCache[b1]": OTHER_CACHE},
            REPLICATED + "elect B\n",
            good={"metadata[2].isr": "{b2, b3}", "highWatermark[b2]": "0", "highWatermark[b3]": "0", **UNCOUNTED},
        ),
        Fall(
            "HwAgreement",
            "a replica outside the ISR has another record below its high watermark",
            {
                "log[b3]": OTHER,
                "epochCache[b3]": OTHER_CACHE,
                "lastFetchedEpoch[b3]": "1",
                "remoteLeo[b1][b3]": "-1",
            },
            TWO_ISR,
        ),
        Fall(
            "FollowerPrefix",
            "a follower that was counted has a record that its leader lacks",
            {"log[b3]": f"<<{R}, [epoch |-> 0, value |-> 2]>>"},
            REPLICATED,
        ),
        Fall(
            "FollowerPrefix",
            "a follower that was counted has another record than its leader",
            {"log[b3]": OTHER, "epochCache[b3]": OTHER_CACHE, "highWatermark[b3]": "0", "lastFetchedEpoch[b3]": "1"},
            TWO_ISR,
        ),
        Fall(
            "RecordIdentity",
            "two records of one offset and epoch",
            {"log[b3]": f"<<{R}, [epoch |-> 0, value |-> 3]>>"},
            REPLICATED,
            good={"log[b2]": f"<<{R}, [epoch |-> 0, value |-> 2]>>", **UNCOUNTED},
        ),
        Fall(
            "LogMatching",
            "the same epoch at offset 2, other epochs at offset 1",
            {
                "log[b3]": f"<<{R}, [epoch |-> 1, value |-> 3], [epoch |-> 2, value |-> 4]>>",
                "epochCache[b3]": (
                    "<<[epoch |-> 0, start |-> 0], [epoch |-> 1, start |-> 1], [epoch |-> 2, start |-> 2]>>"
                ),
                "lastFetchedEpoch[b3]": "2",
            },
            REPLICATED,
            good={
                "log[b2]": f"<<{R}, [epoch |-> 0, value |-> 2], [epoch |-> 2, value |-> 4]>>",
                "epochCache[b2]": "<<[epoch |-> 0, start |-> 0], [epoch |-> 2, start |-> 2]>>",
                "lastFetchedEpoch[b2]": "2",
                **UNCOUNTED,
            },
        ),
        Fall(
            "OneLeaderPerEpoch",
            "B was elected without a new epoch",
            {"metadata[2].leaderEpoch": "0", "view[b2].leaderEpoch": "0"},
            REPLICATED + "elect B\napply B\n",
        ),
        Fall(
            "EpochCacheConsistent",
            "the cache names another epoch than the record has",
            {"epochCache[b1]": "<<[epoch |-> 1, start |-> 0]>>"},
            REPLICATED,
        ),
        Fall(
            "EpochCacheConsistent",
            "two entries of the cache start at one offset",
            {"epochCache[b2]": "<<[epoch |-> 0, start |-> 0], [epoch |-> 1, start |-> 0]>>"},
            "leader A\nelect B\napply B\n",
        ),
        Fall(
            "EpochCacheConsistent",
            "two entries of the cache are of one epoch",
            {"epochCache[b1]": "<<[epoch |-> 0, start |-> 0], [epoch |-> 0, start |-> 1]>>"},
            REPLICATED,
        ),
        Fall(
            "EpochCacheConsistent",
            "an entry of the cache starts past the log",
            {"epochCache[b1]": "<<[epoch |-> 0, start |-> 0], [epoch |-> 1, start |-> 2]>>"},
            REPLICATED,
        ),
        Fall("EpochCacheConsistent", "a record is of no entry", {"epochCache[b1]": "<<>>"}, REPLICATED),
        Fall("AckedOnLeader", "a client was told of an offset past the leader's log", {"acked[1]": "2"}, REPLICATED),
        Fall("AckedOnLeader", "another value than the acknowledged one is there", {"acked[2]": "1"}, REPLICATED),
        Fall("FetchStateIsTail", "the next fetch carries no epoch", {"lastFetchedEpoch[b2]": "-1"}, REPLICATED),
        Fall(
            "FetchStateIsTail",
            "the fetch under way asks from an older offset",
            {"fetch[b2][b1].offset": "0"},
            REPLICATED + "send B from=A\n",
        ),
        Fall(
            "FetchStateIsTail",
            "the fetch under way carries no epoch",
            {"fetch[b2][b1].lastEpoch": "-1"},
            REPLICATED + "send B from=A\n",
        ),
        Fall("HwWithinLog", "the disk has more than the log", {"flushed[b3]": "2"}, REPLICATED),
        Fall("HwWithinLog", "the high watermark is past the log", {"highWatermark[b3]": "2"}, REPLICATED + "crash C\n"),
        Fall("IsrWellFormed", "a fenced broker is in the ISR", {"registered[b3].state": '"fenced"'}, REPLICATED),
        Fall("IsrWellFormed", "a broker is in ISR and ELR", {"metadata[1].elr": "{b3}"}, REPLICATED),
        Fall(
            "IsrWellFormed",
            "the only member of the ISR is in the ELR, too",
            {"metadata[1].elr": "{b1}"},
            REPLICATED,
            good={
                "metadata[1].isr": "{b1}",
                "metadata[1].elr": "{b2}",
                **{f"view[b{n}].isr": "{b1}" for n in (1, 2, 3)},
            },
        ),
        Fall(
            "IsrWellFormed",
            "the ELR is kept although the ISR is large enough",
            {"metadata[2].elr": "{b3}"},
            REPLICATED + "elect B\n",
            good={"metadata[2].isr": "{b1, b2}"},
        ),
        Fall("IsrWellFormed", "the leader is outside", {"metadata[2].isr": "{b1, b3}"}, REPLICATED + "elect B\n"),
        Fall(
            "MaximalIsrCovers",
            "the leader has forgotten the expansion that the controller has decided",
            {"pendingIsr[b1].active": "FALSE", "pendingIsr[b1].isr": "{}"},
            TWO_ISR + "fetch C from=A\nexpand A C\ndecide A\n",
        ),
        Fall("ViewIsDecided", "a broker believes in an epoch of its own", {"view[b3].leaderEpoch": "1"}, REPLICATED),
        Fall("ViewIsDecided", "a broker believes in a leader of its own", {"view[b3].leader": "b2"}, REPLICATED),
        Fall("ViewIsDecided", "a broker believes in an ISR of its own", {"view[b3].isr": "{b1}"}, REPLICATED),
        Fall(
            "EpochsMonotone",
            "a new leader in the old epoch",
            {"metadata[2].leaderEpoch": "0"},
            REPLICATED + "elect B\n",
        ),
        Fall("EpochsMonotone", "a broker forgets its incarnation", {"brokerEpoch[b2]": "0"}, REPLICATED + "flush A\n"),
        Fall(
            "EpochsMonotone",
            "the controller forgets a change",
            {"metadata": "<<[leader |-> b1, leaderEpoch |-> 0, isr |-> {b1, b2, b3}, elr |-> {}]>>"},
            TWO_ISR + "flush A\n",
        ),
        Fall("EpochsMonotone", "the controller rewrites a change", {"metadata[1].isr": "{b1}"}, TWO_ISR + "flush A\n"),
        Fall("EpochsMonotone", "an epoch is left out", {"metadata[2].leaderEpoch": "2"}, DECIDED),
        Fall(
            "EpochsMonotone",
            "the controller forgets an incarnation",
            {"registered[b2].epoch": "0"},
            REPLICATED + "flush A\n",
        ),
        Fall(
            "EpochsMonotone",
            "a broker forgets the leader epoch",
            {"view[b3].leaderEpoch": "-1"},
            REPLICATED + "flush A\n",
        ),
        Fall("EpochsMonotone", "a broker forgets a change", {"view[b3].partitionEpoch": "0"}, REPLICATED + "flush A\n"),
        Fall(
            "LeaderHwMonotone",
            "the leader's high watermark goes back",
            {"highWatermark[b1]": "0"},
            REPLICATED + "flush A\n",
        ),
        Fall(
            "LeaderNeverTruncates",
            "the leader drops a record that is not committed",
            {"log[b1]": f"<<{R}>>"},
            REPLICATED + "produce A s acks=1\nflush A\n",
        ),
        Fall(
            "LeaderNeverTruncates",
            "the leader replaces a record that is not committed",
            {"log[b1][2].value": "4"},
            REPLICATED + "produce A s acks=1\nflush A\n",
        ),
        Fall(
            "NoCommittedTruncated",
            "a member of the ISR cuts off what is committed",
            {"log[b3]": "<<>>"},
            REPLICATED + "elect B\napply C\ncheckpoint C\n",
        ),
        Fall(
            "IsrChangesByEpoch",
            "the controller takes a proposal made on an older ISR",
            before={"alter[b1].partitionEpoch": "0"},
            run=DECIDED,
        ),
        Fall(
            "IsrChangesByEpoch",
            "the controller takes a proposal of another leader epoch",
            before={"alter[b1].leaderEpoch": "1"},
            run=DECIDED,
        ),
        Fall(
            "IsrChangesByEpoch",
            "the controller takes a proposal of a broker that does not lead",
            {"alter[b1]": IDLE, "alter[b2]": ALTERED},
            before={"alter[b1]": IDLE, "alter[b2]": ALTER},
            run=DECIDED,
        ),
        Fall(
            "IsrChangesByEpoch",
            "the controller takes a proposal of an earlier incarnation",
            before={"alter[b1].brokerEpoch": "0"},
            run=DECIDED,
        ),
        Fall(
            "IsrChangesByEpoch",
            "the controller takes an earlier incarnation into the ISR",
            before={"alter[b1].memberEpochs[b2]": "0"},
            run=DECIDED,
        ),
        Fall(
            "HwNeverUnderMinIsr",
            "the high watermark advances with one replica in the ISR",
            {"view[b1].isr": "{b1}"},
            REPLICATED
            + "produce A s acks=1\nfetch B from=A\nfetch C from=A\nfetch B from=A\nsend C from=A\nanswer C from=A\n",
        ),
        Fall(
            "DivergingPointIsExact",
            "the reply names an offset below the divergence",
            {"fetch[b1][b2].endOffset": "1"},
            B_LEADS + "send A from=B\nanswer A from=B\n",
        ),
        Fall(
            "DivergingPointIsExact",
            "the reply names an offset past the leader's log",
            {"fetch[b1][b2].endOffset": "3"},
            B_LEADS + "send A from=B\nanswer A from=B\n",
        ),
        Fall(
            "DivergingPointIsExact",
            "the reply names a later epoch than the follower's",
            {"fetch[b1][b2].divergingEpoch": "1"},
            B_LEADS + "send A from=B\nanswer A from=B\n",
        ),
        Fall(
            "DivergingPointIsExact",
            "the reply names the end of the epoch before the follower's last, which the leader has",
            {**LATER_EPOCH, "fetch[b1][b2].endOffset": "1"},
            before={**LATER_EPOCH, "fetch[b1][b2].lastEpoch": "1"},
            run=B_LEADS + "send A from=B\nanswer A from=B\n",
        ),
        Fall(
            "DivergingPointIsExact",
            "the reply names an offset past its epoch's end",
            LATER_EPOCH,
            before={**LATER_EPOCH, "fetch[b1][b2].lastEpoch": "1"},
            run=B_LEADS + "send A from=B\nanswer A from=B\n",
        ),
        Fall(
            "TruncatesOnlyDivergence",
            "a follower cuts off a record that its leader has",
            {"log[b1]": f"<<{R}>>"},
            B_LEADS + "fetch A from=B\n",
        ),
        Fall(
            "NoFutureRecord",
            "a follower appends a record of a later epoch than its own",
            {"log[b2][2].epoch": "3"},
            REPLICATED + "produce A s acks=1\nfetch B from=A\n",
        ),
        Fall(
            "NoFutureRecord",
            "a follower that has heard of a later epoch since its fetch appends a record of that epoch",
            {"log[b2][2].epoch": "1", "view[b2].leaderEpoch": "1"},
            before={"view[b2].leaderEpoch": "1"},
            run=REPLICATED + "produce A s acks=1\nfetch B from=A\n",
        ),
        Fall(
            "NoFutureRecord",
            "a follower appends what a response brings, and the response is still to be read",
            {
                "fetch[b2][b1]": '[type |-> "records", epoch |-> 0, offset |-> 1, hw |-> 1, '
                "batch |-> <<[epoch |-> 0, value |-> 2]>>]"
            },
            REPLICATED + "produce A s acks=1\nfetch B from=A\n",
        ),
        Fall(
            "NoFutureRecord",
            "a follower has one more record, and no response has brought it",
            {"log[b2]": f"<<{R}, {R}>>"},
            REPLICATED + "produce A s acks=1\n",
        ),
        Fall(
            "DivergingPointNeverIncreases",
            "in this epoch the follower has truncated further down before",
            before={"reconciled[b1]": "1"},
            run=B_LEADS + "fetch A from=B\n",
        ),
        Fall(
            "ConsumersReadCommitted",
            "a consumer is past all commits",
            {"consumer[k1].offset": "1"},
            "produce A r acks=1\n",
        ),
        Fall(
            "ConsumersReadCommitted",
            "a consumer is given a record that is not committed",
            {"consumer[k1]": f'[type |-> "records", offset |-> 1, batch |-> <<{R}>>]'},
            READ,
        ),
        Fall(
            "ConsumersReadCommitted",
            "a consumer is given another record than the committed one",
            {"consumer[k1]": f'[type |-> "records", offset |-> 0, batch |-> {OTHER}]'},
            REPLICATED,
        ),
        Fall(
            "ConsumersSkipNothing",
            "a consumer goes on by more than the response has brought",
            before={"consumer[k1].batch": "<<>>"},
            run=READ,
        ),
        Fall(
            "ConsumersSkipNothing",
            "a consumer goes on, and no response has brought anything",
            before={"consumer[k1]": '[type |-> "idle", offset |-> 0]'},
            run=READ,
        ),
        Fall("QuiescentIsrIsFull", "a broker is on its way out", {"registered[b3].state": '"stopping"'}, READ),
        Fall("QuiescentIsrIsFull", "a broker does not know the last change", {"view[b3].partitionEpoch": "0"}, READ),
        Fall(
            "QuiescentIsrIsFull",
            "a broker is outside the ISR",
            {"metadata[1].isr": "{b1, b2}", **{f"view[b{n}].isr": "{b1, b2}" for n in (1, 2, 3)}},
            READ,
        ),
        Fall("QuiescentIsrIsFull", "a broker is down", {"status[b3]": '"crashed"'}, READ),
        Fall("QuiescentLogsEqual", "a follower has not heard of the commit", {"highWatermark[b3]": "0"}, READ),
        Fall(
            "QuiescentLogsEqual",
            "a follower has a record that its leader lacks",
            {"log[b3]": f"<<{R}, {R}>>", "highWatermark[b3]": "2"},
            READ,
        ),
        Fall(
            "QuiescentLogsEqual",
            "a leader that waits for nobody has a record that is not committed",
            {
                "stalled[b1]": "TRUE",
                "stalled[b2]": "TRUE",
                "stalled[b3]": "TRUE",
                "log[b1]": f"<<{R}, [epoch |-> 0, value |-> 2]>>",
            },
            READ,
        ),
        Fall("QuiescentStopsGranted", "a broker still wants to stop", {"asked[b3]": "TRUE"}, READ),
        Fall(
            "QuiescentConsumersAtEnd", "a consumer has not read what is committed", {"consumer[k1].offset": "0"}, READ
        ),
        Fall("QuiescentAnswered", "a produce still waits", {"waiting[b1][1]": "1"}, READ),
        Fall("QuiescentAnswered", "a proposal is pending", {"pendingIsr[b1].active": "TRUE"}, READ),
    ],
)
