--------------------- MODULE IdempotentProducerHistory ---------------------
(***************************************************************************)
(* The history of idempotent producers, and the lemmas from which it       *)
(* follows that a partition holds each batch at most once and in order, in *)
(* runs of any length (IdempotentProducerInductive).                       *)
(*                                                                         *)
(* The key is given[pid][p][e]: the batches that got the sequences 0, 1,   *)
(* ... of an epoch. Their numbers ascend, and whatever names a sequence of *)
(* that epoch means that batch.                                            *)
(***************************************************************************)
EXTENDS IdempotentProducerProperties

VARIABLE
    given   \* per producer id, partition and epoch: the numbers of the batches that got its sequences, from 0 on

History == <<given>>

\* HistoryNext takes numbers from senders, where they have this type.
HistoryTypeOK == given \in [Pids -> [Partitions -> [Epochs -> BoundedSeq(Numbers, MaxNumber)]]]

HistoryInit == given = [pid \in Pids |-> [p \in Partitions |-> [e \in Epochs |-> <<>>]]]

Sends(c, p)    == sender'[c][p].created > sender[c][p].created
Restarts(c, p) == ~Sends(c, p) /\ sender'[c][p].epoch > sender[c][p].epoch

HistoryNext ==
    given' = [pid \in Pids |-> [p \in Partitions |-> [e \in Epochs |->
        FoldSet(LAMBDA c, g :
                    IF producer[c].pid # pid \/ sender'[c][p].epoch # e THEN g
                    ELSE IF Sends(c, p) THEN Append(g, sender'[c][p].created)
                    ELSE IF Restarts(c, p)
                    THEN [i \in 1..Len(sender'[c][p].batches) |-> sender'[c][p].batches[i].number]
                    ELSE g,
                given[pid][p][e], Producers)]]]

InductiveSpec == Init /\ HistoryInit /\ [][Next /\ HistoryNext]_<<vars, History>>

\* What is assumed: no process sends so many batches to a partition that their sequences wrap around.
SequencesDoNotWrap == \A c \in Producers, p \in Partitions : sender[c][p].created < MaxSequence

-----------------------------------------------------------------------------
(* Vocabulary *)

\* The batch with this number got this sequence of the epoch.
Got(pid, p, e, sequence, number) ==
    /\ 0 <= sequence /\ sequence < Len(given[pid][p][e])
    /\ 0 <= sequence /\ sequence < Len(given[pid][p][e]) => given[pid][p][e][sequence + 1] = number

\* The number comes before all batches of later epochs.
IsBeforeEpochs(pid, p, e, number) ==
    \A later \in Epochs : later > e /\ Len(given[pid][p][later]) > 0 => number < given[pid][p][later][1]

InFlight(s, number) == \E k \in 1..Len(s.batches) : s.batches[k].number = number
IsCommitted(pid, p, number) ==
    \E i \in 1..Len(log[p]) : i <= highWatermark[p] /\ log[p][i].pid = pid /\ log[p][i].number = number

Refusals == {"NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH"}

-----------------------------------------------------------------------------
(* Ids and senders *)

\* Ids are handed out once, and all that carries one comes from a producer that has it.
IdsAreIssued ==
    /\ \A c \in Producers : producer[c].pid <= issued
    /\ \A c, d \in Producers : c # d /\ producer[c].pid # 0 => producer[c].pid # producer[d].pid
    /\ \A p \in Partitions : \A i \in 1..Len(log[p]) : log[p][i].pid <= issued
    /\ \A c \in Producers, p \in Partitions : \A i \in 1..Len(late[c][p]) : late[c][p][i].pid <= issued
    /\ \A pid \in Pids, p \in Partitions, e \in Epochs : pid > issued => Len(given[pid][p][e]) = 0

\* A process begins with nothing, and takes all that is on its connections with it.
IdleWithoutId ==
    \A c \in Producers :
        producer[c].pid = 0 =>
            /\ producer[c].epoch = 0
            /\ \A p \in Partitions : /\ Len(wire[c][p]) = 0 /\ Len(sender[c][p].batches) = 0
                                     /\ sender[c][p].epoch = 0 /\ sender[c][p].next = 0 /\ sender[c][p].created = 0
                                     /\ ~sender[c][p].rewrite /\ sender[c][p].unresolved = -1

\* A request on a connection is of the process that has the connection.
WireIsOfProducer ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        wire[c][p][i].type = "request" => wire[c][p][i].pid = producer[c].pid

\* Batches in flight stand in the order of sending, with the sender's epoch.
BatchesInOrder ==
    \A c \in Producers, p \in Partitions :
        LET s == sender[c][p] IN
        /\ s.epoch <= producer[c].epoch /\ s.next <= s.created
        /\ \A k \in 1..Len(s.batches) : /\ s.batches[k].epoch = s.epoch /\ s.batches[k].number <= s.created
                                        /\ s.batches[k].sequence < s.next
        /\ \A k, m \in 1..Len(s.batches) :
            k < m => s.batches[k].number < s.batches[m].number /\ s.batches[k].sequence < s.batches[m].sequence

\* Sequences are given in the order of sending, at a bump too (ResequenceInOrder).
GivenAscends ==
    \A pid \in Pids, p \in Partitions, e \in Epochs : \A i, j \in 1..Len(given[pid][p][e]) :
        i < j => given[pid][p][e][i] < given[pid][p][e][j]

\* The sender's next sequence is the first that nobody got.
SenderCounts ==
    \A c \in Producers, p \in Partitions :
        producer[c].pid # 0 =>
            /\ Len(given[producer[c].pid][p][sender[c][p].epoch]) = sender[c][p].next
            /\ \A k \in 1..Len(sender[c][p].batches) :
                Got(producer[c].pid, p, sender[c][p].epoch, sender[c][p].batches[k].sequence, sender[c][p].batches[k].number)

\* A sender has given nothing in later epochs, and no number that it has not created.
GivenIsCreated ==
    \A c \in Producers, p \in Partitions, e \in Epochs :
        producer[c].pid # 0 =>
            /\ e > sender[c][p].epoch => Len(given[producer[c].pid][p][e]) = 0
            /\ \A i \in 1..Len(given[producer[c].pid][p][e]) : given[producer[c].pid][p][e][i] <= sender[c][p].created

\* As it is assumed, no sequence follows the last before 0 (SequencesDoNotWrap).
GivenDoesNotWrap == \A pid \in Pids, p \in Partitions, e \in Epochs : Len(given[pid][p][e]) <= MaxSequence

-----------------------------------------------------------------------------
(* What names a sequence means the batch that got it. Epochs follow each other in the order of sending. *)

\* A leader writes a batch as its request has it.
LogIsGiven ==
    \A p \in Partitions : \A i \in 1..Len(log[p]) :
        LET r == log[p][i] IN Got(r.pid, p, r.epoch, r.sequence, r.number) /\ IsBeforeEpochs(r.pid, p, r.epoch, r.number)

\* A request carries the sequence that its batch has got, and a reply repeats it.
WireIsGiven ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        LET r == wire[c][p][i] IN
        /\ Got(producer[c].pid, p, r.epoch, r.sequence, r.number)
        /\ IsBeforeEpochs(producer[c].pid, p, r.epoch, r.number)

\* So does a request that outlives its connection.
LateIsGiven ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(late[c][p]) :
        LET r == late[c][p][i] IN Got(r.pid, p, r.epoch, r.sequence, r.number) /\ IsBeforeEpochs(r.pid, p, r.epoch, r.number)

-----------------------------------------------------------------------------
(* Logs and what leaders remember *)

\* A leader takes a batch only behind those with lower sequences, and a later epoch only from 0 on.
LogNumbersAscend ==
    \A p \in Partitions : \A i, j \in 1..Len(log[p]) :
        i < j /\ log[p][i].pid = log[p][j].pid => log[p][i].number < log[p][j].number

\* It takes none of an older epoch (EpochNotOlder).
LogEpochsAscend ==
    \A p \in Partitions : \A i, j \in 1..Len(log[p]) :
        i < j /\ log[p][i].pid = log[p][j].pid => log[p][i].epoch <= log[p][j].epoch

\* A leader remembers batches that it has (StateFollowsAppend, StateFollowsTruncation).
EntryIsLog ==
    \A p \in Partitions, pid \in Pids :
        LET e == entry[p][pid] IN
        /\ e.epoch = -1 <=> Len(e.batches) = 0
        /\ \A k \in 1..Len(e.batches) :
            /\ e.batches[k].offset < Len(log[p])
            /\ e.batches[k].offset < Len(log[p]) =>
                LET r == log[p][e.batches[k].offset + 1] IN
                r.pid = pid /\ r.epoch = e.epoch /\ r.sequence = e.batches[k].sequence

\* The last that it remembers of a producer is the last that it has.
EntryIsLast ==
    \A p \in Partitions, pid \in Pids :
        LET e == entry[p][pid] IN
        Len(e.batches) > 0 =>
            \A i \in 1..Len(log[p]) : i > e.batches[Len(e.batches)].offset + 1 => log[p][i].pid # pid

\* It forgets a producer when all that may still come is later (StateOutlivesRetries).
NoEntryIsLater ==
    \A p \in Partitions, pid \in Pids :
        entry[p][pid].epoch = -1 =>
            \A i \in 1..Len(log[p]) : log[p][i].pid = pid =>
                \A c \in Producers :
                    /\ producer[c].pid = pid =>
                        /\ \A k \in 1..Len(sender[c][p].batches) : log[p][i].number < sender[c][p].batches[k].number
                        /\ \A m \in 1..Len(wire[c][p]) :
                            wire[c][p][m].type = "request" => log[p][i].number < wire[c][p][m].number
                    /\ \A m \in 1..Len(late[c][p]) : late[c][p][m].pid = pid => log[p][i].number < late[c][p][m].number

-----------------------------------------------------------------------------
(* Batches in flight, and what is under way of them *)

\* A batch is sent again only when nothing of it is on the connection.
OneOnWire ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        /\ \A j \in 1..Len(wire[c][p]) : i < j => wire[c][p][i].number # wire[c][p][j].number
        /\ \A k \in 1..Len(sender[c][p].batches) :
            ~sender[c][p].batches[k].sent => wire[c][p][i].number # sender[c][p].batches[k].number

\* The producer doubts a batch whose connection it has given up.
LateIsDoubted ==
    \A c \in Producers, p \in Partitions : \A d \in Producers : \A i \in 1..Len(late[d][p]) :
        \A k \in 1..Len(sender[c][p].batches) :
            late[d][p][i].pid = producer[c].pid /\ late[d][p][i].number = sender[c][p].batches[k].number =>
                sender[c][p].batches[k].doubt

\* A batch that it does not doubt is not in the log while it is not sent, or before its request is handled, or if that is refused.
UndoubtedIsUnwritten ==
    \A c \in Producers, p \in Partitions : \A k \in 1..Len(sender[c][p].batches) :
        LET batch == sender[c][p].batches[k] IN
        ~batch.doubt =>
            /\ ~batch.sent => ~IsWritten(producer[c].pid, p, batch.number)
            /\ \A i \in 1..Len(wire[c][p]) :
                /\ wire[c][p][i].number = batch.number
                /\ wire[c][p][i].type # "waiting"
                /\ wire[c][p][i].type = "reply" => wire[c][p][i].error \in Refusals
                => ~IsWritten(producer[c].pid, p, batch.number)

\* A leader refuses an older epoch only once it has a later one, which the sender is in.
FencedIsOlder ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        wire[c][p][i].type = "reply" =>
            (wire[c][p][i].error = "INVALID_PRODUCER_EPOCH" => wire[c][p][i].epoch < sender[c][p].epoch)

\* What is under way is of a batch in flight, or one that expired before these were sent, or one that is committed.
WireIsKnown ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) : \A k \in 1..Len(sender[c][p].batches) :
        \/ wire[c][p][i].number < sender[c][p].batches[k].number
        \/ InFlight(sender[c][p], wire[c][p][i].number)
        \/ IsCommitted(producer[c].pid, p, wire[c][p][i].number)

\* So is what outlives its connection.
LateIsKnown ==
    \A c \in Producers, p \in Partitions : \A d \in Producers : \A i \in 1..Len(late[d][p]) :
        \A k \in 1..Len(sender[c][p].batches) :
            late[d][p][i].pid = producer[c].pid =>
                \/ late[d][p][i].number < sender[c][p].batches[k].number
                \/ InFlight(sender[c][p], late[d][p][i].number)
                \/ IsCommitted(producer[c].pid, p, late[d][p][i].number)

\* A batch in flight goes before those behind it: they are refused until it is written.
InFlightIsNotOvertaken ==
    \A c \in Producers, p \in Partitions : \A k \in 1..Len(sender[c][p].batches) : \A i \in 1..Len(log[p]) :
        \/ IsWritten(producer[c].pid, p, sender[c][p].batches[k].number)
        \/ log[p][i].pid = producer[c].pid => log[p][i].number < sender[c][p].batches[k].number

\* Only what is in the log is committed.
CommittedIsWritten == \A p \in Partitions : highWatermark[p] <= Len(log[p])

\* An answer waits for a batch that is in the log, and comes when that is committed (DuplicateWaitsForCommit).
AnswersAreThere ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        LET r == wire[c][p][i]
            IsThere == /\ r.offset < Len(log[p])
                       /\ r.offset < Len(log[p]) =>
                            log[p][r.offset + 1].pid = producer[c].pid /\ log[p][r.offset + 1].number = r.number IN
        /\ r.type = "waiting" => IsThere
        /\ r.type = "reply" => (r.error = "NONE" => IsThere /\ r.offset < highWatermark[p])

-----------------------------------------------------------------------------
ProducerLemmas ==
    /\ TypeOK
    /\ HistoryTypeOK
    /\ IdsAreIssued
    /\ IdleWithoutId
    /\ WireIsOfProducer
    /\ BatchesInOrder
    /\ GivenAscends
    /\ SenderCounts
    /\ GivenIsCreated
    /\ GivenDoesNotWrap
    /\ LogIsGiven
    /\ WireIsGiven
    /\ LateIsGiven
    /\ LogNumbersAscend
    /\ LogEpochsAscend
    /\ EntryIsLog
    /\ EntryIsLast
    /\ NoEntryIsLater
    /\ OneOnWire
    /\ LateIsDoubted
    /\ UndoubtedIsUnwritten
    /\ FencedIsOlder
    /\ WireIsKnown
    /\ LateIsKnown
    /\ InFlightIsNotOvertaken
    /\ CommittedIsWritten
    /\ AnswersAreThere
    /\ AckedIsThere

-----------------------------------------------------------------------------
(* What follows in the same state *)

\* The last batch that a leader remembers of a producer is the latest of all that it has.
RememberedIsLatest ==
    \A p \in Partitions, pid \in Pids :
        LET e == entry[p][pid]
            last == e.batches[Len(e.batches)] IN
        Len(e.batches) > 0 =>
            /\ last.sequence < Len(given[pid][p][e.epoch])
            /\ \A i \in 1..Len(log[p]) :
                log[p][i].pid = pid =>
                    log[p][i].epoch <= e.epoch /\ log[p][i].number <= given[pid][p][e.epoch][last.sequence + 1]

\* A request that the leader would take is later than all that it has of the producer.
AcceptedIsLater ==
    \A c \in Producers, p \in Partitions : \A m \in 1..Len(wire[c][p]) :
        wire[c][p][m].type = "request" =>
            (Verdict(p, wire[c][p][m]) = "NONE" =>
                \A i \in 1..Len(log[p]) : log[p][i].pid = wire[c][p][m].pid => log[p][i].number < wire[c][p][m].number)

\* So is one that outlives its connection.
AcceptedLateIsLater ==
    \A c \in Producers, p \in Partitions : \A m \in 1..Len(late[c][p]) :
        Verdict(p, late[c][p][m]) = "NONE" =>
            \A i \in 1..Len(log[p]) : log[p][i].pid = late[c][p][m].pid => log[p][i].number < late[c][p][m].number

\* By induction: the batches of the latest epoch of a producer among the first n of a log are of one epoch, the last of the
\* producer's among them.
LatestIsLast ==
    \A p \in Partitions : \A n \in 0..Len(log[p]), pid \in Pids :
        LET latest == Latest(pid, SubSeq(log[p], 1, n)) IN
        /\ 0 <= Len(latest)
        /\ \A k \in 1..Len(latest) :
            /\ 1 <= latest[k] /\ latest[k] <= n
            /\ 1 <= latest[k] /\ latest[k] <= n =>
                log[p][latest[k]].pid = pid /\ log[p][latest[k]].epoch = log[p][latest[1]].epoch
        /\ \A j \in 1..n : Len(latest) = 0 => log[p][j].pid # pid
        /\ \A j \in 1..n : Len(latest) > 0 => (j > latest[Len(latest)] => log[p][j].pid # pid)
=============================================================================
