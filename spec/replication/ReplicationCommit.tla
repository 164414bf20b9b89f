------------------------- MODULE ReplicationCommit -------------------------
(***************************************************************************)
(* The lemmas about committed records: who has them, and what a deposed    *)
(* leader may still commit.                                                *)
(***************************************************************************)
EXTENDS ReplicationCoverage

\* Many lemmas begin with RegisteredAtChange: under it every term that they read has a value, and the solver need not ask.

\* A member of change n that may lead after it with the records that it has.
Eligible(n, m) ==
    /\ Member(n, m) /\ status[m] # "lossy"
    /\ n = Len(metadata) \/ (Running(m) /\ registered[m].since <= n /\ view[m].partitionEpoch <= n)

Applied(z) == view[z].partitionEpoch \in 1..Len(metadata)

\* Some other member of leader z's view, or of change i, is past its epoch.
MemberBeyond(z)  == \E r \in Brokers : r # z /\ Member(view[z].partitionEpoch, r) /\ Passed(r, view[z].leaderEpoch)
PendingBeyond(z) == \E r \in Brokers : r # z /\ r \in pendingIsr[z].isr /\ Passed(r, view[z].leaderEpoch)
Beyond(i)        == \E r \in Brokers : Member(i, r) /\ Passed(r, metadata[i].leaderEpoch)

\* The log of b has another record at o, or none. A lemma says ~Lacks, so that it is one hypothesis for the solver.
Lacks(b, o, record) == o > Leo(b) \/ log[b][o] # record

\* The leader of epoch e began without this record at o.
BeganWithout(e, o, record) == o > startOf[e] \/ o > Len(hist[e]) \/ hist[e][o] # record

\* This record is not what was committed at o.
Uncommitted(o, record) == o > Len(committed) \/ committed[o] # record

-----------------------------------------------------------------------------
(* Committed records *)

\* A leader only appends, so its epoch's history goes on from where it began.
StartInHistory == \A e \in Epochs : claimed[e] => startOf[e] <= Len(hist[e])

\* A leader remembers where it began.
LeaderKnowsStart == \A b \in Brokers : Leads(b) => epochStart[b] = startOf[view[b].leaderEpoch]

\* A record is committed in an epoch whose leader has it.
CommittedInHistory ==
    \A o \in 1..Len(committed) :
        LET e == committedAt[o] IN claimed[e] /\ ~(o > Len(hist[e]) \/ hist[e][o] # committed[o])

\* Every later leader began with it.
CommittedInLaterEpochs ==
    \A o \in 1..Len(committed) : \A e \in Epochs :
        claimed[e] /\ e > committedAt[o] => ~BeganWithout(e, o, committed[o])

\* A high watermark, and its checkpoint, come from a leader, whose records below it are committed.
HwBelowCommitted == \A b \in Brokers : highWatermark[b] <= Len(committed) /\ checkpoint[b] <= Len(committed)

\* That leader was one of an epoch that the broker has reached.
HwIsReached ==
    \A b \in Brokers : \A o \in 1..Len(committed) :
        o <= highWatermark[b] \/ o <= checkpoint[b] => Reach(b, committedAt[o])

\* A response brings the high watermark of its leader.
ResponseHwBelowCommitted ==
    \A f, l \in Brokers :
        fetch[f][l].type \in {"records", "diverging", "checked", "reading", "truncated"} => fetch[f][l].hw <= Len(committed)

\* The leader that answers has the fetch's epoch.
ResponseHwIsReached ==
    \A f, l \in Brokers :
        fetch[f][l].type \in {"records", "diverging", "checked", "reading", "truncated"} =>
            \A o \in 1..Len(committed) : o <= fetch[f][l].hw => committedAt[o] <= fetch[f][l].epoch

\* What is below a leader's high watermark is what was committed there.
LeaderHwAgrees ==
    \A b \in Brokers : Leads(b) => \A o \in 1..highWatermark[b] : o <= Leo(b) /\ ~Uncommitted(o, log[b][o])

\* A leader's high watermark does not fall.
CommitterKnows ==
    \A b \in Brokers : Leads(b) => \A o \in 1..Len(committed) :
        committedAt[o] = view[b].leaderEpoch => o <= highWatermark[b]

\* A member that may lead next has reached the epochs of the commits before it: it was counted for them, or joined later.
MembersReachCommitted == RegisteredAtChange =>
    \A n \in 1..Len(metadata), o \in 1..Len(committed) : \A m \in Brokers :
        Eligible(n, m) /\ (n = Len(metadata) \/ committedAt[o] < metadata[n].leaderEpoch) => Reach(m, committedAt[o])

\* It has what was committed: the claim of StrongIsr, of all later changes.
MembersHaveCommitted == RegisteredAtChange =>
    \A n \in 1..Len(metadata), o \in 1..Len(committed) : \A m \in Brokers :
        Eligible(n, m) /\ (n = Len(metadata) \/ committedAt[o] < metadata[n].leaderEpoch) =>
            ~Lacks(m, o, committed[o])

-----------------------------------------------------------------------------
(* Members that are past an epoch *)

\* As LaterMembersCovered, by one member that is past the epoch.
LaterMembersBeyond == RegisteredAtChange =>
    \A i \in 1..Len(metadata), n \in 1..Len(metadata) : i <= n /\ metadata[i].leaderEpoch >= 0 => \A m \in Brokers :
        Unapplied(i) /\ Member(n, m) => Member(i, m) \/ Beyond(i)

\* As MaximalIsrCoversMembers.
MaximalIsrOrBeyond == RegisteredAtChange =>
    \A b \in Brokers : Leads(b) /\ Applied(b) => \A n \in 1..Len(metadata) : \A m \in Brokers :
        view[b].partitionEpoch <= n /\ Member(n, m) =>
            Member(view[b].partitionEpoch, m) \/ m \in pendingIsr[b].isr \/ MemberBeyond(b) \/ PendingBeyond(b)

\* As RevertedIsNowhere.
RevertedOrBeyond == RegisteredAtChange =>
    \A b \in Brokers : CurrentReply(b, "INELIGIBLE_REPLICA") /\ Applied(b) => \A n \in 1..Len(metadata) : \A m \in Brokers :
        view[b].partitionEpoch <= n /\ Member(n, m) => Member(view[b].partitionEpoch, m) \/ MemberBeyond(b)

\* A later leader was a member that is past the epoch.
DeposedByMember == RegisteredAtChange =>
    \A b \in Brokers : Leads(b) /\ Applied(b) => \A e \in Epochs :
        claimed[e] /\ e > view[b].leaderEpoch => MemberBeyond(b) \/ PendingBeyond(b)

\* Without the pending member, while its proposal is being reverted.
DeposedWhileReverting == RegisteredAtChange =>
    \A b \in Brokers : CurrentReply(b, "INELIGIBLE_REPLICA") /\ Applied(b) => \A e \in Epochs :
        claimed[e] /\ e > view[b].leaderEpoch => MemberBeyond(b)

\* The same before the leader of a change has applied it.
DeposedBeforeApplying == RegisteredAtChange =>
    \A i \in 1..Len(metadata) : \A e \in Epochs :
        metadata[i].leader # None /\ metadata[i].leaderEpoch >= 0 /\ Unapplied(i) /\ claimed[e] /\ e > metadata[i].leaderEpoch =>
            Beyond(i)

-----------------------------------------------------------------------------
(* What a leader may still commit *)

\* A fetch of r under way, that z will count.
Countable(z, r) ==
    /\ fetch[r][z].type = "request" /\ fetch[r][z].epoch = view[z].leaderEpoch /\ fetch[r][z].offset <= Leo(z)
    /\ fetch[r][z].offset > 0 => log[z][fetch[r][z].offset].epoch = fetch[r][z].lastEpoch

\* z has counted r at o, or will.
HasShown(z, r, o) == remoteLeo[z][r] >= o \/ (Countable(z, r) /\ fetch[r][z].offset >= o)

HasOrWill(z, r, o) == ~Passed(r, view[z].leaderEpoch) \/ HasShown(z, r, o)

\* z may come to commit offset o with these members, of which `isr` is the committed part.
Potential(z, o, members, isr) ==
    /\ Leads(z) /\ Cardinality(isr) >= EffectiveMinIsr
    /\ \A r \in members : r # z => HasOrWill(z, r, o)

MayCommit(z, o)          == Potential(z, o, view[z].isr \cup pendingIsr[z].isr, view[z].isr)
MayCommitReverting(z, o) == CurrentReply(z, "INELIGIBLE_REPLICA") /\ Potential(z, o, view[z].isr, view[z].isr)
MayCommitAt(i, z, o)     ==
    /\ view[z].partitionEpoch < i /\ metadata[i].leaderEpoch = view[z].leaderEpoch
    /\ Potential(z, o, metadata[i].isr, metadata[i].isr)

Later(n, z) == n = Len(metadata) \/ metadata[n].leaderEpoch > view[z].leaderEpoch

\* What a deposed leader may still commit, the members that are past its epoch have.
PotentialOnMembers == RegisteredAtChange =>
    \A z, m \in Brokers : z # m /\ Leads(z) => \A n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommit(z, o) =>
            ~Lacks(m, o, log[z][o])

\* The same while a proposal is being reverted,
PotentialOnMembersReverting == RegisteredAtChange =>
    \A z, m \in Brokers : z # m /\ Leads(z) => \A n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommitReverting(z, o) =>
            ~Lacks(m, o, log[z][o])

\* and with the ISR of a later change of its epoch.
PotentialOnMembersLater == RegisteredAtChange =>
    \A z, m \in Brokers : z # m /\ Leads(z) => \A i \in 1..Len(metadata), n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommitAt(i, z, o) =>
            ~Lacks(m, o, log[z][o])

\* Leaders of later epochs began with it.
PotentialInLaterEpochs == RegisteredAtChange =>
    \A z \in Brokers : Leads(z) => \A e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommit(z, o) =>
            ~BeganWithout(e, o, log[z][o])

\* The same while a proposal is being reverted,
PotentialInLaterEpochsReverting == RegisteredAtChange =>
    \A z \in Brokers : Leads(z) => \A e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommitReverting(z, o) =>
            ~BeganWithout(e, o, log[z][o])

\* and with the ISR of a later change of its epoch.
PotentialInLaterEpochsLater == RegisteredAtChange =>
    \A z \in Brokers : Leads(z) => \A i \in 1..Len(metadata), e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommitAt(i, z, o) =>
            ~BeganWithout(e, o, log[z][o])

-----------------------------------------------------------------------------
(* What a leader that begins late may commit                              *)

\* A follower may fetch in an epoch before the leader of that epoch has applied it. It may go on to later epochs while its request
\* waits. The leader counts that request when it begins.

\* A request of r waits for leader z of change i, and shows the record at o.
Awaits(i, z, r, o) ==
    /\ fetch[r][z].type = "request" /\ fetch[r][z].epoch = metadata[i].leaderEpoch /\ o <= fetch[r][z].offset
    /\ fetch[r][z].lastEpoch >= 0 /\ o <= Len(hist[fetch[r][z].lastEpoch])

\* z may yet begin to lead the epoch of change i, and then commit at o: all members past that epoch have shown the record of q.
MayCommitOnceClaimed(i, z, q, o) ==
    LET e == metadata[i].leaderEpoch IN
    /\ metadata[i].leader = z /\ e >= 0 /\ ~claimed[e] /\ ~Passed(z, e) /\ Cardinality(metadata[i].isr) >= EffectiveMinIsr
    /\ q # z /\ q \in metadata[i].isr /\ Passed(q, e) /\ Awaits(i, z, q, o)
    /\ \A r \in Brokers : r # z /\ r # q /\ r \in metadata[i].isr /\ Passed(r, e) =>
        /\ Awaits(i, z, r, o)
        /\ hist[fetch[r][z].lastEpoch][o] = hist[fetch[q][z].lastEpoch][o]

\* That record is on the members of later changes: each was a member of change i, or joined a later leader that has it.
UnclaimedOnMembers == RegisteredAtChange =>
    \A z, q, m \in Brokers : z # q /\ z # m =>
        \A i \in 1..Len(metadata), n \in 1..Len(metadata), o \in Offsets :
            /\ o >= 1 /\ MayCommitOnceClaimed(i, z, q, o)
            /\ Eligible(n, m) /\ Passed(m, metadata[i].leaderEpoch)
            /\ n = Len(metadata) \/ metadata[n].leaderEpoch > metadata[i].leaderEpoch
            => ~Lacks(m, o, hist[fetch[q][z].lastEpoch][o])

\* Leaders of later epochs began with it.
UnclaimedInLaterEpochs == RegisteredAtChange =>
    \A z, q \in Brokers : z # q =>
        \A i \in 1..Len(metadata), e \in Epochs, o \in Offsets :
            o >= 1 /\ MayCommitOnceClaimed(i, z, q, o) /\ claimed[e] /\ e > metadata[i].leaderEpoch =>
                ~BeganWithout(e, o, hist[fetch[q][z].lastEpoch][o])

-----------------------------------------------------------------------------
(* Counted followers, requests, acknowledgements *)

\* z has the last record that it counted of r; r has it, too.
HasLastCounted(z, r) ==
    LET o == remoteLeo[z][r] IN ~(o > Leo(r) \/ o > Leo(z) \/ (o > 0 /\ log[r][o] # log[z][o]))

\* A follower that was counted and is not past the epoch has reached it, and has as many records.
CountedReach == RegisteredAtChange =>
    \A z, r \in Brokers : z # r /\ Leads(z) /\ remoteLeo[z][r] >= 0 =>
        \A n \in 1..Len(metadata) :
            view[z].partitionEpoch <= n /\ Eligible(n, r) /\ ~Passed(r, view[z].leaderEpoch) =>
                Reach(r, view[z].leaderEpoch) /\ HasLastCounted(z, r)

\* They are the leader's.
CountedHave == RegisteredAtChange =>
    \A z, r \in Brokers : z # r /\ Leads(z) /\ remoteLeo[z][r] >= 0 =>
        \A n \in 1..Len(metadata), p \in 1..remoteLeo[z][r] :
            view[z].partitionEpoch <= n /\ Eligible(n, r) /\ ~Passed(r, view[z].leaderEpoch) =>
                ~(p > Leo(z) \/ Lacks(r, p, log[z][p]))

\* A request shows a place in the history of its last epoch: a record of it, or the election of the follower itself.
RequestShowsHistory ==
    \A f, l \in Brokers : fetch[f][l].type = "request" =>
        /\ electedAs[fetch[f][l].epoch] = l
        /\ -1 <= fetch[f][l].lastEpoch /\ fetch[f][l].lastEpoch <= fetch[f][l].epoch
        /\ fetch[f][l].lastEpoch = -1 => fetch[f][l].offset = 0
        /\ fetch[f][l].lastEpoch >= 0 =>
            LET e == fetch[f][l].lastEpoch
                o == fetch[f][l].offset IN
            /\ claimed[e] /\ o <= Len(hist[e])
            /\ o > 0 =>
                \/ hist[e][o].epoch = e
                \/ electedAs[e] = f /\ Len(hist[e]) = o /\ hist[e][o].epoch < e

\* The controller would take r as a new member.
Takeable(b, r) ==
    /\ alter[b].type = "request" /\ alter[b].leaderEpoch = Partition.leaderEpoch /\ alter[b].partitionEpoch = Len(metadata)
    /\ alter[b].brokerEpoch = registered[b].epoch
    /\ Partition.leaderEpoch >= 0 /\ r \in alter[b].isr /\ r \notin Partition.isr
    /\ alter[b].memberEpochs[r] = registered[r].epoch /\ status[r] # "lossy"

\* r has the record with which the last epoch began.
HasStart(r) ==
    LET e == Partition.leaderEpoch
        o == startOf[e] IN
    ~(o > Leo(r) \/ o > Len(hist[e]) \/ (o > 0 /\ log[r][o] # hist[e][o]))

\* Such a member has the leader's records up to its start (ReachedEpochStart),
NewMembersReachStart == RegisteredAtChange =>
    \A b, r \in Brokers : b # r /\ Takeable(b, r) => HasStart(r)

\* as they are in the history of the epoch,
NewMembersHaveStart == RegisteredAtChange =>
    \A b, r \in Brokers : b # r /\ Takeable(b, r) =>
        \A p \in 1..startOf[Partition.leaderEpoch] :
            ~(p > Len(hist[Partition.leaderEpoch]) \/ Lacks(r, p, hist[Partition.leaderEpoch][p]))

\* and all that was committed: the leader has counted it since it was proposed (BrokerEpochPerIsrMember).
NewMembersHaveCommitted == RegisteredAtChange =>
    \A b, r \in Brokers : b # r /\ Takeable(b, r) => \A o \in 1..Len(committed) : ~Lacks(r, o, committed[o])

\* What waits is a value of AppendRecord. To a proof Values have no end, and ApplyMetadata asks of those up to MaxValue whether they wait.
WaitingIsValue == \A b \in Brokers, v \in Values : waiting[b][v] > 0 => v <= MaxValue

\* A produce waits from its append on: nobody is in LateWaiting.
WaitsAtOnce == \A b \in Brokers, v \in Values : waiting[b][v] >= 0

\* A produce waits at the place of its record.
WaitingIsAppended ==
    \A b \in Brokers : Leads(b) => \A v \in Values :
        waiting[b][v] > 0 => waiting[b][v] <= Leo(b) /\ log[b][waiting[b][v]].value = v

\* An acknowledged record is committed (AckAllOnlyBelowHw).
AckedIsCommitted ==
    \A v \in Values : acked[v] > 0 => acked[v] <= Len(committed) /\ committed[acked[v]].value = v

-----------------------------------------------------------------------------
(* What follows from the lemmas in the same state *)

\* Views and registrations stand at changes, and no change has a later epoch than the last.
ViewsAreNotAhead ==
    \A b \in Brokers :
        /\ view[b].leaderEpoch <= Partition.leaderEpoch
        /\ metadata[registered[b].since].leaderEpoch <= Partition.leaderEpoch
        /\ view[b].partitionEpoch > 0 => metadata[registered[b].since].leaderEpoch <= view[b].leaderEpoch

\* A request that its leader does not find to diverge shows a record of the leader (EndOfAnotherEpoch).
ServedIsCountable ==
    \A z, r \in Brokers :
        /\ Leads(z) /\ fetch[r][z].type = "request" /\ fetch[r][z].epoch = view[z].leaderEpoch
        /\ ~OutOfRange(z, fetch[r][z]) /\ ~Diverges(z, fetch[r][z])
        => Countable(z, r)

\* The request of a follower's epoch shows its log.
RequestShowsLog ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type = "request" =>
            \A p \in 1..Leo(f) :
                /\ fetch[f][l].lastEpoch >= 0 /\ p <= fetch[f][l].offset
                /\ ~(p > Len(hist[fetch[f][l].lastEpoch]) \/ log[f][p] # hist[fetch[f][l].lastEpoch][p])

\* A counted request shows the leader's log.
CountableShowsLog ==
    \A z, r \in Brokers :
        Leads(z) /\ Countable(z, r) =>
            \A p \in 1..fetch[r][z].offset :
                /\ fetch[r][z].lastEpoch >= 0
                /\ ~(p > Len(hist[fetch[r][z].lastEpoch]) \/ log[z][p] # hist[fetch[r][z].lastEpoch][p])

\* z has counted all of these members at o, or is about to: its next high watermark may be o.
Commits(z, o, members, isr) ==
    /\ Leads(z) /\ Cardinality(isr) >= EffectiveMinIsr
    /\ \A r \in members : r # z => HasShown(z, r, o)

CommitsNow(z, o) == Commits(z, o, view[z].isr \cup pendingIsr[z].isr, view[z].isr)
CommitsAt(i, z, o) ==
    /\ view[z].partitionEpoch < i /\ metadata[i].leaderEpoch = view[z].leaderEpoch
    /\ Commits(z, o, metadata[i].isr, metadata[i].isr)

\* The members that may lead next have it: those past the epoch by PotentialOnMembers, the others were counted.
CommitsOnMembers == RegisteredAtChange =>
    \A z, m \in Brokers : z # m /\ Leads(z) => \A n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Later(n, z) /\ CommitsNow(z, o) =>
            Reach(m, view[z].leaderEpoch) /\ ~Lacks(m, o, log[z][o])

\* The same with the ISR of a later change.
CommitsOnMembersLater == RegisteredAtChange =>
    \A z, m \in Brokers : z # m /\ Leads(z) => \A i \in 1..Len(metadata), n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Later(n, z) /\ CommitsAt(i, z, o) =>
            Reach(m, view[z].leaderEpoch) /\ ~Lacks(m, o, log[z][o])

\* What was committed at o already is the same record.
CommitsAgree == RegisteredAtChange =>
    \A z \in Brokers : Leads(z) => \A o \in 1..Leo(z) :
        o <= Len(committed) /\ CommitsNow(z, o) => committed[o] = log[z][o]

\* The same with the ISR of a later change.
CommitsAgreeLater == RegisteredAtChange =>
    \A z \in Brokers : Leads(z) => \A i \in 1..Len(metadata), o \in 1..Leo(z) :
        o <= Len(committed) /\ CommitsAt(i, z, o) => committed[o] = log[z][o]

\* A member that the controller would take has it: it was counted, or joins a later leader that began with it.
CommitsOnNewMembers == RegisteredAtChange =>
    \A z, b, r \in Brokers : z # r /\ b # r /\ Leads(z) /\ Takeable(b, r) => \A o \in 1..Leo(z) :
        CommitsNow(z, o) => ~Lacks(r, o, log[z][o])

\* The same with the ISR of a later change.
CommitsOnNewMembersLater == RegisteredAtChange =>
    \A z, b, r \in Brokers : z # r /\ b # r /\ Leads(z) /\ Takeable(b, r) => \A i \in 1..Len(metadata), o \in 1..Leo(z) :
        CommitsAt(i, z, o) => ~Lacks(r, o, log[z][o])

CommitCorollaryLemmas ==
    /\ ViewsAreNotAhead
    /\ RequestShowsLog
    /\ CountableShowsLog
    /\ ServedIsCountable
    /\ CommitsOnMembers
    /\ CommitsOnMembersLater
    /\ CommitsAgree
    /\ CommitsAgreeLater
    /\ CommitsOnNewMembers
    /\ CommitsOnNewMembersLater

-----------------------------------------------------------------------------

CommitLemmas ==
    /\ StartInHistory
    /\ LeaderKnowsStart
    /\ CommittedInHistory
    /\ CommittedInLaterEpochs
    /\ HwBelowCommitted
    /\ HwIsReached
    /\ ResponseHwBelowCommitted
    /\ ResponseHwIsReached
    /\ LeaderHwAgrees
    /\ CommitterKnows
    /\ MembersReachCommitted
    /\ MembersHaveCommitted
    /\ LaterMembersBeyond
    /\ MaximalIsrOrBeyond
    /\ RevertedOrBeyond
    /\ DeposedByMember
    /\ DeposedWhileReverting
    /\ DeposedBeforeApplying
    /\ PotentialOnMembers
    /\ PotentialOnMembersReverting
    /\ PotentialOnMembersLater
    /\ PotentialInLaterEpochs
    /\ PotentialInLaterEpochsReverting
    /\ PotentialInLaterEpochsLater
    /\ UnclaimedOnMembers
    /\ UnclaimedInLaterEpochs
    /\ CountedReach
    /\ CountedHave
    /\ RequestShowsHistory
    /\ NewMembersReachStart
    /\ NewMembersHaveStart
    /\ NewMembersHaveCommitted
    /\ WaitingIsValue
    /\ WaitsAtOnce
    /\ WaitingIsAppended
    /\ AckedIsCommitted
=============================================================================
