------------------------- MODULE ReplicationHistory -------------------------
(***************************************************************************)
(* The history of a replicated partition, and the lemmas about logs, their *)
(* epochs and fetches, from which LogMatching follows in runs of any       *)
(* length (ReplicationInductive).                                          *)
(*                                                                         *)
(* The key is hist[e], the log of the leader of epoch e as it last was: up *)
(* to its record of epoch e, every log is equal to hist[e].                *)
(***************************************************************************)
EXTENDS ReplicationProperties

VARIABLES
    hist,         \* per epoch: the log of its leader, as it last was while it led
    claimed,      \* per epoch: has its leader begun to lead
    electedAs,    \* per epoch: the leader that the controller chose
    startOf,      \* per epoch: the log end offset of its leader when it began
    committedAt   \* per offset: the lowest epoch in which a leader had it below its high watermark

History == <<hist, claimed, electedAs, startOf, committedAt>>

\* HistoryNext takes epochs, leaders and ends from the state, where they have these types.
HistoryTypeOK ==
    /\ hist \in [Epochs -> Log]
    /\ claimed \in [Epochs -> BOOLEAN]
    /\ electedAs \in [Epochs -> Leaders]
    /\ startOf \in [Epochs -> Offsets]
    /\ committedAt \in [Offsets -> Epochs]

HistoryInit ==
    /\ hist = [e \in Epochs |-> <<>>]
    /\ claimed = [e \in Epochs |-> e = 0]
    /\ electedAs = [e \in Epochs |-> IF e = 0 THEN metadata[1].leader ELSE None]
    /\ startOf = [e \in Epochs |-> 0]
    /\ committedAt = [o \in Offsets |-> 0]

LeadsNext(b)  == status'[b] = "running" /\ view'[b].leader = b
Claims(b)     == LeadsNext(b) /\ view'[b].leaderEpoch # view[b].leaderEpoch
Lengthens(b)  == LeadsNext(b) /\ Len(log'[b]) > Len(log[b])
Advances(b)   == LeadsNext(b) /\ highWatermark'[b] # highWatermark[b]

HistoryNext ==
    /\ hist' = FoldSet(LAMBDA b, h : IF Claims(b) \/ Lengthens(b) THEN [h EXCEPT ![view'[b].leaderEpoch] = log'[b]] ELSE h,
                       hist, Brokers)
    /\ claimed' = FoldSet(LAMBDA b, c : IF Claims(b) THEN [c EXCEPT ![view'[b].leaderEpoch] = TRUE] ELSE c, claimed, Brokers)
    /\ electedAs' = IF Len(metadata') > Len(metadata) /\ Partition'.leaderEpoch > Partition.leaderEpoch
                    THEN [electedAs EXCEPT ![Partition'.leaderEpoch] = Partition'.leader] ELSE electedAs
    /\ startOf' = FoldSet(LAMBDA b, s : IF Claims(b) THEN [s EXCEPT ![view'[b].leaderEpoch] = Len(log'[b])] ELSE s,
                          startOf, Brokers)
    /\ committedAt' = FoldSet(LAMBDA b, c :
            IF Advances(b)
            THEN [o \in Offsets |->
                    IF o <= highWatermark'[b]
                       /\ (o > Len(committed) \/ (o > highWatermark[b] /\ view'[b].leaderEpoch < c[o]))
                    THEN view'[b].leaderEpoch ELSE c[o]]
            ELSE c, committedAt, Brokers)

InductiveSpec == Init /\ HistoryInit /\ [][Next /\ HistoryNext]_<<vars, History>>

\* A response has at most two records in these proofs.
KeptBounds == {"MaxFetch"}

-----------------------------------------------------------------------------
(* The controller and the views *)

\* The epoch up to which a broker may have records: that of its view, or of its registration while it has none.
Reach(b, e) ==
    /\ e <= Partition.leaderEpoch
    /\ Running(b) => e <= (IF view[b].partitionEpoch > 0 THEN view[b].leaderEpoch ELSE metadata[registered[b].since].leaderEpoch)

\* The first change is there from the start, and a registration stands at a change.
RegisteredAtChange == Len(metadata) >= 1 /\ \A b \in Brokers : registered[b].since \in 1..Len(metadata)

\* A change of leader raises the epoch by one, and no change lowers it.
MetadataEpochsSorted ==
    \A i \in 1..Len(metadata) : \A j \in i..Len(metadata) : metadata[i].leaderEpoch <= metadata[j].leaderEpoch

\* The leader changes only with the epoch.
EpochNamesLeader == \A i \in 1..Len(metadata) : metadata[i].leader = electedAs[metadata[i].leaderEpoch]

\* The controller moves the leadership away from a broker that it fences or lets stop.
LeaderIsActive == \A b \in Brokers : Partition.leader = b => registered[b].state = "active"

\* A broker takes its view from a change at or after its registration, and forgets it when it goes down.
ViewIsChange ==
    \A b \in Brokers :
        /\ ~Running(b) => view[b].partitionEpoch = 0
        /\ view[b].partitionEpoch = 0 => view[b].leader = None /\ view[b].leaderEpoch = -1
        /\ view[b].partitionEpoch > 0 =>
            /\ registered[b].since <= view[b].partitionEpoch /\ view[b].partitionEpoch <= Len(metadata)
            /\ view[b].leader = metadata[view[b].partitionEpoch].leader
            /\ view[b].leaderEpoch = metadata[view[b].partitionEpoch].leaderEpoch

\* Every step in which a leader's high watermark rises, or a broker comes to lead, extends the committed records so far.
LeaderHwCommitted == \A b \in Brokers : Leads(b) => highWatermark[b] <= Len(committed)

\* The controller answers NONE to the leader of the epoch that the request names, and tells of the change that it has made.
ReplyIsChange ==
    \A b \in Brokers :
        alter[b].type = "reply" /\ alter[b].error = "NONE" =>
            /\ 1 <= alter[b].partitionEpoch /\ alter[b].partitionEpoch <= Len(metadata)
            /\ metadata[alter[b].partitionEpoch].leader = b
            /\ metadata[alter[b].partitionEpoch].leaderEpoch = alter[b].leaderEpoch

-----------------------------------------------------------------------------
(* Logs and leader-epoch caches *)

\* Appends bring the leader's epoch or, from a response, epochs that do not fall (TailEpochMonotone is not needed for that).
LogEpochsSorted == \A b \in Brokers : \A i \in 1..Leo(b) : \A j \in i..Leo(b) : log[b][i].epoch <= log[b][j].epoch

\* A follower fetches from the leader of its epoch, which has no record of a later one.
LogEpochsReached == \A b \in Brokers : \A i \in 1..Leo(b) : Reach(b, log[b][i].epoch)

\* Entries are made with records, or at an election.
CacheEpochsReached ==
    \A b \in Brokers : \A i \in 1..Len(epochCache[b]) : Reach(b, epochCache[b][i].epoch) /\ epochCache[b][i].start <= Leo(b)

\* A new entry removes those that it overtakes.
CacheSorted ==
    \A b \in Brokers : \A i \in 1..Len(epochCache[b]), j \in 1..Len(epochCache[b]) :
        i < j => epochCache[b][i].epoch < epochCache[b][j].epoch /\ epochCache[b][i].start < epochCache[b][j].start

\* The first record makes the first entry, and truncation keeps an entry below its point.
CacheBegins ==
    \A b \in Brokers :
        /\ epochCache[b] # <<>> => epochCache[b][1].start = 0
        /\ log[b] # <<>> => epochCache[b] # <<>>

\* An entry stands for the records from its start to the next entry's.
CacheCovers ==
    \A b \in Brokers : \A i \in 1..Len(epochCache[b]), o \in 1..Leo(b) :
        LET e == epochCache[b][i].epoch
            s == epochCache[b][i].start IN
        /\ o > s /\ (i = Len(epochCache[b]) \/ (i < Len(epochCache[b]) => o <= epochCache[b][i + 1].start)) => log[b][o].epoch = e
        /\ o <= s => log[b][o].epoch < e
        /\ o > s => log[b][o].epoch >= e

\* So the record at an entry's start has its epoch,
CacheStarts ==
    \A b \in Brokers : \A i \in 1..Len(epochCache[b]) :
        epochCache[b][i].start < Leo(b) => log[b][epochCache[b][i].start + 1].epoch = epochCache[b][i].epoch

\* and so has the last record, unless the last entry was made at an election.
CacheEnds ==
    \A b \in Brokers :
        Leo(b) > 0 => (epochCache[b][Len(epochCache[b])].start < Leo(b) =>
            log[b][Leo(b)].epoch = epochCache[b][Len(epochCache[b])].epoch)

\* An entry without records was made at an election of this broker, which has appended nothing since.
EmptyEpochIsOwn ==
    \A b \in Brokers : \A i \in 1..Len(epochCache[b]) :
        epochCache[b][i].start = Leo(b) =>
            LET e == epochCache[b][i].epoch IN
            /\ claimed[e] /\ electedAs[e] = b /\ Len(hist[e]) = Leo(b)
            /\ \A o \in 1..Leo(b) : hist[e][o] = log[b][o]

-----------------------------------------------------------------------------
(* The history of epochs *)

\* The key: a record of epoch e was appended by its leader, and reaches others with all that was before it.
LogIsHistory ==
    \A b \in Brokers : \A i \in 1..Leo(b) :
        LET e == log[b][i].epoch IN
        /\ claimed[e] /\ i <= Len(hist[e])
        /\ \A p \in 1..i : hist[e][p] = log[b][p]

\* The same of the leaders' logs as they last were.
HistoryIsHistory ==
    \A e \in Epochs : claimed[e] => \A i \in 1..Len(hist[e]) :
        LET d == hist[e][i].epoch IN
        /\ d <= e /\ claimed[d] /\ i <= Len(hist[d])
        /\ \A p \in 1..i : hist[e][p].epoch <= d /\ hist[d][p] = hist[e][p]

\* A leader's log is its epoch's history.
LeaderIsHistory ==
    \A b \in Brokers : Leads(b) =>
        LET e == view[b].leaderEpoch IN
        /\ claimed[e] /\ Len(hist[e]) = Leo(b)
        /\ \A i \in 1..Leo(b) : hist[e][i] = log[b][i]

\* A broker leads an epoch for which it was elected, and does not come back to it: after a restart it begins at a later one.
ClaimedByElected ==
    \A e \in Epochs : claimed[e] =>
        /\ e <= Partition.leaderEpoch /\ electedAs[e] # None
        /\ \A l \in Brokers : electedAs[e] = l /\ Running(l) =>
            IF view[l].partitionEpoch > 0 THEN view[l].leaderEpoch >= e ELSE metadata[registered[l].since].leaderEpoch > e

-----------------------------------------------------------------------------
(* Fetches *)

\* The fetch of the follower's current epoch.
Live(f, l) == fetch[f][l].type # "idle" /\ Follows(f, l) /\ fetch[f][l].epoch = view[f].leaderEpoch

\* A broker fetches from others, in its epoch or an earlier one, and loses its fetches when it goes down.
FetchIsOfItsTime ==
    \A f, l \in Brokers :
        fetch[f][l].type # "idle" => f # l /\ Running(f) /\ fetch[f][l].epoch <= view[f].leaderEpoch

\* A follower goes on from its last entry (TruncateByEpoch, TruncateOnEveryEpochChange).
FetchesFromTail ==
    \A f \in Brokers :
        Running(f) /\ view[f].partitionEpoch > 0 /\ view[f].leader # f => lastFetchedEpoch[f] = LatestEpoch(epochCache[f])

\* While its fetch is under way a follower neither appends nor truncates (MatchFetchEpoch).
FetchIsAtTail ==
    \A f, l \in Brokers :
        Live(f, l) =>
            /\ fetch[f][l].offset = Leo(f)
            /\ fetch[f][l].type = "request" => fetch[f][l].lastEpoch = lastFetchedEpoch[f]

\* The records of a response continue the follower's log in the history of their epoch (EndOfAnotherEpoch, FetchEpochNotOlder).
RecordsContinueLog ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type = "records" =>
            \A j \in 1..Len(fetch[f][l].batch) :
                LET e == fetch[f][l].batch[j].epoch IN
                /\ e <= fetch[f][l].epoch /\ claimed[e] /\ LatestEpoch(epochCache[f]) <= e
                /\ fetch[f][l].offset + j <= Len(hist[e])
                /\ \A k \in 1..j :
                    fetch[f][l].batch[k].epoch <= e /\ hist[e][fetch[f][l].offset + k] = fetch[f][l].batch[k]
                /\ \A p \in 1..fetch[f][l].offset : hist[e][p] = log[f][p]

\* A slice that is still to be read is in the log, as a truncation would have reached it (SliceNotTruncated).
SliceIsHeld ==
    \A f, l \in Brokers :
        fetch[f][l].type = "reading" =>
            Running(l) /\ fetch[f][l].count >= 1 /\ fetch[f][l].offset + fetch[f][l].count <= Leo(l)

\* So are the records before it, which the follower has, and none of a later epoch than the fetch's.
SliceContinuesLog ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type = "reading" =>
            /\ fetch[f][l].offset < Leo(l) /\ fetch[f][l].offset <= Leo(f)
            /\ LatestEpoch(epochCache[f]) <= log[l][fetch[f][l].offset + 1].epoch
            /\ \A j \in (fetch[f][l].offset + 1)..Leo(l) :
                j <= fetch[f][l].offset + fetch[f][l].count => log[l][j].epoch <= fetch[f][l].epoch
            /\ \A p \in 1..fetch[f][l].offset : log[l][p] = log[f][p]

-----------------------------------------------------------------------------

\* Validate and count are one step: nobody is in LateCounting.
CountsAtOnce == \A f, l \in Brokers : fetch[f][l].type # "uncounted"

LogLemmas ==
    /\ TypeOK
    /\ HistoryTypeOK
    /\ CountsAtOnce
    /\ RegisteredAtChange
    /\ MetadataEpochsSorted
    /\ EpochNamesLeader
    /\ LeaderIsActive
    /\ ViewIsChange
    /\ ReplyIsChange
    /\ HwWithinLog
    /\ LeaderHwCommitted
    /\ LogEpochsSorted
    /\ LogEpochsReached
    /\ CacheEpochsReached
    /\ CacheSorted
    /\ CacheBegins
    /\ CacheCovers
    /\ CacheStarts
    /\ CacheEnds
    /\ EmptyEpochIsOwn
    /\ LogIsHistory
    /\ HistoryIsHistory
    /\ LeaderIsHistory
    /\ ClaimedByElected
    /\ FetchIsOfItsTime
    /\ FetchesFromTail
    /\ FetchIsAtTail
    /\ RecordsContinueLog
    /\ SliceIsHeld
    /\ SliceContinuesLog
=============================================================================
