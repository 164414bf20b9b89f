-------------------- MODULE IdempotentProducerProperties --------------------
(***************************************************************************)
(* What idempotent producers and their leaders must never do: state        *)
(* properties (INVARIANT), step properties (PROPERTY [][...]_vars), and    *)
(* what holds once faults have stopped and everything has settled          *)
(* (Quiescent...), which stands in for liveness on traces.                 *)
(* IdempotentProducerProperties.cfg is the audit's.                        *)
(***************************************************************************)
EXTENDS IdempotentProducer

-----------------------------------------------------------------------------
(* States *)

\* A partition holds no batch twice, whatever sequence it was given.
NoDuplicate ==
    \A p \in Partitions : \A i, j \in 1..Len(log[p]) :
        log[p][i].pid = log[p][j].pid /\ log[p][i].number = log[p][j].number => i = j

\* The batches of a process stand in the order in which it sent them.
SentOrder ==
    \A p \in Partitions : \A i, j \in 1..Len(log[p]) :
        i < j /\ log[p][i].pid = log[p][j].pid => log[p][i].number <= log[p][j].number

\* No batch that is in flight is overtaken: none that was sent behind it is in the log before it is.
NothingOvertaken ==
    \A c \in Producers, p \in Partitions : \A k \in 1..Len(sender[c][p].batches) :
        LET batch == sender[c][p].batches[k] IN
        \/ IsWritten(producer[c].pid, p, batch.number)
        \/ \A i \in 1..Len(log[p]) : log[p][i].pid = producer[c].pid => log[p][i].number < batch.number

\* Per producer id and epoch the sequences of a log begin with 0 and have no gap, and epochs ascend.
SequencesContiguous ==
    \A p \in Partitions : \A j \in 1..Len(log[p]) :
        LET before == {i \in 1..(j - 1) : log[p][i].pid = log[p][j].pid}
            behind == {i \in before : \A k \in before : k <= i}
        IN  \/ \E i \in behind : /\ log[p][i].epoch = log[p][j].epoch
                                 /\ log[p][j].sequence = Successor(log[p][i].sequence)
            \/ log[p][j].sequence = 0 /\ \A i \in behind : log[p][i].epoch < log[p][j].epoch

\* An acknowledged batch is at its offset, and stays there.
AckedIsThere ==
    \A pid \in Pids, p \in Partitions, n \in Numbers :
        LET offset == acked[pid][p][n] IN
        offset > 0 => /\ offset <= highWatermark[p]
                      /\ offset <= Len(log[p])
                      /\ offset <= Len(log[p]) => log[p][offset].pid = pid /\ log[p][offset].number = n

\* A leader's state of a producer is empty, or has the epoch and the last batches of the log.
StateIsReplay ==
    \A p \in Partitions, pid \in Pids :
        LET e == entry[p][pid]
            r == Replay(pid, log[p])
        IN  \/ e = NoEntry
            \/ e.epoch = r.epoch /\ e.batches = Last(r.batches, Len(e.batches)) /\ e.batches # <<>>

\* The parts of a sender and of a partition fit together. Batches in flight stand in the order of sending. Their sequences are
\* of the sender's epoch, all different, and none is the next one.
SenderWellFormed ==
    /\ \A c \in Producers, p \in Partitions :
        LET s == sender[c][p] IN
        /\ \A i \in 1..(Len(s.batches) - 1) : s.batches[i].number < s.batches[i + 1].number
        /\ \A i, j \in 1..Len(s.batches) : s.batches[i].sequence = s.batches[j].sequence => i = j
        /\ \A i \in 1..Len(s.batches) : s.batches[i].epoch = s.epoch /\ s.batches[i].sequence # s.next
        /\ s.epoch <= producer[c].epoch
    /\ \A p \in Partitions : highWatermark[p] <= Len(log[p])

-----------------------------------------------------------------------------
(* What is assumed *)

\* No request is so old that its sequence has come round again: Kafka has 2^31 sequences, a trace few.
EnvironmentRequestsAreRecent ==
    \A c \in Producers, p \in Partitions :
        /\ \A i \in 1..Len(late[c][p]) :
            late[c][p][i].pid = producer[c].pid => sender[c][p].created - late[c][p][i].number < MaxSequence
        /\ \A i \in 1..Len(wire[c][p]) : sender[c][p].created - wire[c][p][i].number < MaxSequence

-----------------------------------------------------------------------------
(* Steps *)

\* A batch that is in the log is never refused to a producer that retries it, by its leader.
WrittenIsAnsweredStep ==
    \A c \in Producers, p \in Partitions : \A i \in 1..Len(wire[c][p]) :
        (Len(wire'[c][p]) = Len(wire[c][p]) /\ wire[c][p][i].type = "request") =>
            (wire'[c][p][i].type = "reply" =>
                \/ wire'[c][p][i].error \notin {"OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH"}
                \/ PlaceOf(sender[c][p], wire[c][p][i].number) = 0
                \/ ~IsWritten(producer[c].pid, p, wire[c][p][i].number))
WrittenIsAnswered == [][WrittenIsAnsweredStep]_vars

\* The high watermark never goes back, and a log loses nothing below it. (By construction: an election keeps what is below it. It is for
\* traces.)
CommittedStaysStep ==
    \A p \in Partitions :
        /\ highWatermark'[p] >= highWatermark[p]
        /\ Len(log'[p]) >= highWatermark[p]
        /\ \A i \in 1..highWatermark[p] : Len(log'[p]) >= i => log'[p][i] = log[p][i]
CommittedStays == [][CommittedStaysStep]_vars

\* The epoch of a producer id only goes up, and ids are issued once. (By construction: GetProducerId and BumpEpoch take the next. It is for
\* traces.)
ProducerEpochMonotoneStep ==
    /\ issued' >= issued
    /\ \A c \in Producers :
        /\ producer'[c].pid = producer[c].pid => producer'[c].epoch >= producer[c].epoch
        /\ producer'[c].pid # producer[c].pid /\ producer'[c].pid # 0 => producer'[c].pid > issued
ProducerEpochMonotone == [][ProducerEpochMonotoneStep]_vars

\* A partition that follows its producer into a new epoch numbers its batches from 0.
NewEpochRestartsStep ==
    \A c \in Producers, p \in Partitions :
        producer'[c].pid = producer[c].pid /\ sender'[c][p].epoch # sender[c][p].epoch =>
            /\ sender'[c][p].next = Len(sender'[c][p].batches)
            /\ \A i \in 1..Len(sender'[c][p].batches) : sender'[c][p].batches[i].sequence = i - 1
NewEpochRestarts == [][NewEpochRestartsStep]_vars

\* Nothing of an epoch is written behind a later epoch of the same producer.
NoAppendAfterFencingStep ==
    \A p \in Partitions :
        Len(log'[p]) > Len(log[p]) =>
            \A i \in 1..Len(log[p]) :
                log[p][i].pid = log'[p][Len(log'[p])].pid => log[p][i].epoch <= log'[p][Len(log'[p])].epoch
NoAppendAfterFencing == [][NoAppendAfterFencingStep]_vars

\* A producer that hears of a gap asks for a new epoch. There is a gap if the leader misses a batch before the first in flight,
\* though all of those were acknowledged, and nothing behind it. (A connection that is lost with such a reply leaves a doubt.)
GapIsNoticedStep ==
    \A b \in Brokers, c \in Producers, p \in Partitions :
        LET s == sender[c][p]
            t == sender'[c][p] IN
        IF ~Hears(b, c, p) \/ s.batches = <<>> \/ t.batches = <<>> THEN TRUE
        ELSE LET reply == Heard(b, c, p)
                 batch == s.batches[1] IN
             (/\ reply.error = "OUT_OF_ORDER_SEQUENCE_NUMBER"
              /\ reply.number = batch.number /\ reply.epoch = batch.epoch /\ reply.sequence = batch.sequence
              /\ \A n \in Numbers \ {batch.number} : n < batch.number <=> acked[producer[c].pid][p][n] > 0
              /\ wire'[c][p] = RemoveAt(wire[c][p], NextFrom(b, c, p))
              /\ t.batches[1].number = batch.number /\ batch.sent /\ ~t.batches[1].sent /\ ~t.batches[1].doubt
              /\ s.unresolved = -1)
             => t.rewrite
GapIsNoticed == [][GapIsNoticedStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* Every batch was acknowledged or has expired, and nothing is on the way.
QuiescentNothingInFlight ==
    \A c \in Producers, p \in Partitions :
        /\ sender[c][p].batches = <<>> /\ ~sender[c][p].rewrite /\ sender[c][p].unresolved = -1
        /\ wire[c][p] = <<>> /\ late[c][p] = <<>>

\* All that was written is committed.
QuiescentAllCommitted == \A p \in Partitions : highWatermark[p] = Len(log[p])
=============================================================================
