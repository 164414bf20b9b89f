------------------------ MODULE ExactlyOnceProperties ------------------------
(***************************************************************************)
(* What exactly once means: state properties (INVARIANT), step properties  *)
(* (PROPERTY [][...]_vars), and what holds once faults have stopped and    *)
(* everything has settled (Quiescent...), which stands in for liveness on  *)
(* traces. ExactlyOnceProperties.cfg is the audit's.                       *)
(***************************************************************************)
EXTENDS ExactlyOnce

-----------------------------------------------------------------------------
(* What counts *)

IsResult(n, p, offset) ==
    IF output[n].type = "data" THEN output[n].partition = p /\ output[n].offset = offset ELSE FALSE

\* The result at place n of the output is committed, or it is decided that it will be.
Counts(n) ==
    \/ Decision(n) = "COMMIT"
    \/ Decision(n) = "none" /\ txn[output[n].instance].state = "PrepareCommit"

\* The instances with a decided offset of p that has no marker yet.
Materialising(p) == {i \in Instances : txn[i].state = "PrepareCommit" /\ staged[i][p] >= 0}
MaxOf(S) == CHOOSE x \in S : \A y \in S : y <= x

\* The committed offset of p, or the one that it is decided to be.
Done(p) ==
    IF Materialising(p) = {} THEN committed[p] ELSE MaxOf({staged[i][p] : i \in Materialising(p)})

-----------------------------------------------------------------------------
(* States *)

\* A reader of the output gets the result of a record at most once.
ReturnedOnce == \A a, b \in 1..Len(returned) : a < b => returned[a] # returned[b]

\* A reader gets what counts: nothing of a transaction that is open, or aborted. (Which copy it was is not kept; that both are
\* returned is ReturnedOnce.)
ReturnedCounts ==
    \A a \in 1..Len(returned) :
        \E n \in 1..Len(output) : IsResult(n, returned[a].partition, returned[a].offset) /\ Decision(n) = "COMMIT"

\* No loss: what is committed as read has a result that counts.
CommittedHasResult ==
    \A p \in Partitions : \A offset \in 0..(Done(p) - 1) : \E n \in 1..Len(output) : IsResult(n, p, offset) /\ Counts(n)

\* No duplicate: a result that counts is of a record that is committed as read, and is the only one.
ResultIsCommitted ==
    \A n \in 1..Len(output) :
        output[n].type = "data" /\ Counts(n) =>
            IF output[n].type = "data"
            THEN /\ output[n].offset < Done(output[n].partition)
                 /\ \A m \in 1..Len(output) : m # n /\ IsResult(m, output[n].partition, output[n].offset) => ~Counts(m)
            ELSE TRUE

\* An instance goes on where it was committed: a member of the generation, outside a transaction, as soon as it knows.
PositionIsCommitted ==
    \A i \in Instances :
        LET me == instance[i] IN
        me.state \in {"READY", "UNINITIALIZED"} /\ me.member \in group.members /\ me.generation = group.generation =>
            \A p \in me.owned : me.position[p] >= 0 => me.position[p] = Done(p)

\* Two members of the generation do not own the same partition.
OneOwner ==
    \A i, j \in Instances :
        /\ i # j
        /\ instance[i].member \in group.members /\ instance[i].generation = group.generation
        /\ instance[j].member \in group.members /\ instance[j].generation = group.generation
        => instance[i].owned \cap instance[j].owned = {}

\* The transaction coordinator knows every open transaction of a partition, in its epoch, and will end
\* it there. A decision takes the next epoch, so a transaction that is open then has the epoch before.
OpenIsKnown ==
    \A i \in Instances :
        /\ entry[i].first >= 0 =>
            /\ txn[i].state \in {"Ongoing"} \cup Prepared /\ "output" \in txn[i].partitions
            /\ entry[i].epoch = IF txn[i].state = "Ongoing" THEN txn[i].epoch ELSE txn[i].epoch - 1
        /\ HasStaged(i) =>
            /\ txn[i].state \in {"Ongoing"} \cup Prepared /\ "offsets" \in txn[i].partitions
            /\ known[i] = IF txn[i].state = "Ongoing" THEN txn[i].epoch ELSE txn[i].epoch - 1

\* Per producer and epoch the sequences of the output begin with 0 and have no gap.
SequencesContiguous ==
    \A n \in 1..Len(output) :
        output[n].type = "data" =>
            LET before == {m \in 1..(n - 1) : output[m].instance = output[n].instance /\ output[m].epoch = output[n].epoch
                                              /\ output[m].type = "data"} IN
            IF output[n].type = "data" THEN output[n].sequence = Cardinality(before) ELSE TRUE

\* The leader of the output knows what its log says. (But for the reader's place, by construction: WriteResult and Mark write both. It is
\* for traces.)
OutputWellFormed ==
    /\ read <= LastStableOffset
    /\ \A i \in Instances :
        LET mine    == {n \in 1..Len(output) : output[n].instance = i}
            markers == {n \in mine : output[n].type = "marker"}
            open    == {n \in mine : \A m \in markers : m < n} IN
        /\ entry[i].first = (IF open = {} THEN -1 ELSE MinOf(open) - 1)
        /\ entry[i].epoch = (IF mine = {} THEN -1 ELSE output[MaxOf(mine)].epoch)

-----------------------------------------------------------------------------
(* Steps *)

\* Committed offsets do not go back, and those of a transaction count when its marker is there.
CommittedAdvancesStep == \A p \in Partitions : committed'[p] >= committed[p]
CommittedAdvances == [][CommittedAdvancesStep]_vars

\* Offsets are staged for a member of the group, in its generation.
StagedForMemberStep ==
    \A i \in Instances :
        staged'[i] # staged[i] /\ staged'[i] # NoOffsets =>
            LET r == IF late'[i] # late[i] THEN late[i] ELSE rpc[i] IN
            IF r.type = "commit"
            THEN /\ r.member \in group.members /\ r.generation = group.generation
                 /\ i \in Static => r.member = group.instance[i]
            ELSE FALSE
StagedForMember == [][StagedForMemberStep]_vars

\* The producer epoch of a transactional id does not go back, and a decision stands until it is complete.
DecisionStandsStep ==
    \A i \in Instances :
        /\ txn'[i].epoch >= txn[i].epoch
        /\ txn[i].state \in Prepared => txn'[i].state \in {txn[i].state, CompleteOf(txn[i].state)} /\ txn'[i].epoch = txn[i].epoch
DecisionStands == [][DecisionStandsStep]_vars

\* A marker ends the transaction whose decision it is: in its epoch, in a partition of it, and as it was decided.
MarkerOfDecisionStep ==
    \A i \in Instances :
        /\ entry[i].first >= 0 /\ entry'[i].first = -1 =>
            LET record == output'[Len(output')] IN
            /\ txn[i].state \in Prepared /\ "output" \in txn[i].partitions
            /\ record.epoch = txn[i].epoch
            /\ (record.type = "marker" => record.result = ResultOf(txn[i].state))
        /\ HasStaged(i) /\ staged'[i] = NoOffsets =>
            /\ txn[i].state \in Prepared /\ "offsets" \in txn[i].partitions
            /\ known'[i] = txn[i].epoch
            /\ ResultOf(txn[i].state) = "ABORT" => committed' = committed
MarkerOfDecision == [][MarkerOfDecisionStep]_vars

\* Nothing of an epoch is written behind a later epoch of the same producer.
NoAppendAfterFencingStep ==
    /\ Len(output') > Len(output) =>
        output'[Len(output')].epoch >= entry[output'[Len(output')].instance].epoch
    /\ \A i \in Instances : known'[i] >= known[i]
NoAppendAfterFencing == [][NoAppendAfterFencingStep]_vars

\* Written results stay, and so do returned ones. (By construction: both are only appended to. It is for traces.)
ReturnedStaysStep ==
    /\ Len(output') >= Len(output) /\ SubSeq(output', 1, Len(output)) = output
    /\ Len(returned') >= Len(returned) /\ SubSeq(returned', 1, Len(returned)) = returned
ReturnedStays == [][ReturnedStaysStep]_vars

-----------------------------------------------------------------------------
(* At the end of a run whose faults have stopped and that had time to settle: the finite stand-in for liveness *)

\* The result of every record was returned.
QuiescentAllReturned ==
    \A p \in Partitions : \A offset \in 0..(input[p] - 1) : \E a \in 1..Len(returned) :
        returned[a].partition = p /\ returned[a].offset = offset

\* No transaction is open or undecided, no process has begun one, or is to end one, and every offset is committed.
QuiescentNothingOpen ==
    /\ \A i \in Instances : instance[i].state \in {"UNINITIALIZED", "READY", "FATAL_ERROR"}
    /\ \A i \in Instances : txn[i].state \notin {"Ongoing"} \cup Prepared /\ entry[i].first = -1 /\ ~HasStaged(i)
    /\ \A p \in Partitions : committed[p] = input[p]

\* Nobody waits, and nothing is on its way.
QuiescentNothingInFlight ==
    \A i \in Instances : rpc[i].type = "idle" /\ late[i].type = "idle" /\ lateMarker[i].type = "idle"
=============================================================================
