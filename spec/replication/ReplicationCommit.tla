------------------------- MODULE ReplicationCommit -------------------------
(***************************************************************************)
(* The lemmas about committed records: who has them, and what a deposed    *)
(* leader may still commit.                                                *)
(***************************************************************************)
EXTENDS ReplicationCoverage

\* A member of change n that may lead after it with the records that it has.
Eligible(n, m) ==
    /\ Member(n, m) /\ status[m] # "lossy"
    /\ n = Len(metadata) \/ (Running(m) /\ registered[m].since <= n /\ view[m].partitionEpoch <= n)

\* Some other member of leader z's view, or of change i, is past its epoch.
MemberBeyond(z)  == \E r \in Brokers : r # z /\ Member(view[z].partitionEpoch, r) /\ Passed(r, view[z].leaderEpoch)
PendingBeyond(z) == \E r \in Brokers : r # z /\ r \in pendingIsr[z].isr /\ Passed(r, view[z].leaderEpoch)
Beyond(i)        == \E r \in Brokers : Member(i, r) /\ Passed(r, metadata[i].leaderEpoch)

-----------------------------------------------------------------------------
(* Committed records *)

\* A leader only appends, so its epoch's history goes on from where it began.
StartInHistory == \A e \in Epochs : claimed[e] => startOf[e] <= Len(hist[e])

\* A leader remembers where it began.
LeaderKnowsStart == \A b \in Brokers : Leads(b) => epochStart[b] = startOf[view[b].leaderEpoch]

\* A record is committed in an epoch whose leader has it.
CommittedInHistory ==
    \A o \in 1..Len(committed) :
        LET e == committedAt[o] IN claimed[e] /\ o <= Len(hist[e]) /\ hist[e][o] = committed[o]

\* Every later leader began with it.
CommittedInLaterEpochs ==
    \A o \in 1..Len(committed) : \A e \in Epochs :
        claimed[e] /\ e > committedAt[o] => o <= startOf[e] /\ o <= Len(hist[e]) /\ hist[e][o] = committed[o]

\* A high watermark, and its checkpoint, come from a leader of an epoch that the broker has reached.
HwIsCommitted ==
    \A b \in Brokers :
        /\ highWatermark[b] <= Len(committed) /\ checkpoint[b] <= Len(committed)
        /\ \A o \in 1..Len(committed) : o <= highWatermark[b] \/ o <= checkpoint[b] => Reach(b, committedAt[o])

\* So does the high watermark of a response.
ResponseHwIsCommitted ==
    \A f, l \in Brokers :
        fetch[f][l].type \in {"records", "diverging", "reading", "truncated"} =>
            /\ fetch[f][l].hw <= Len(committed)
            /\ \A o \in 1..Len(committed) : o <= fetch[f][l].hw => committedAt[o] <= fetch[f][l].epoch

\* What is below a leader's high watermark is what was committed there.
LeaderHwAgrees ==
    \A b \in Brokers : Leads(b) => \A o \in 1..highWatermark[b] : o <= Len(committed) /\ log[b][o] = committed[o]

\* A leader's high watermark does not fall.
CommitterKnows ==
    \A b \in Brokers : Leads(b) => \A o \in 1..Len(committed) :
        committedAt[o] = view[b].leaderEpoch => o <= highWatermark[b]

\* The members that may lead next have what was committed before: the claim of StrongIsr, of all later changes.
MembersHaveCommitted ==
    \A n \in 1..Len(metadata), o \in 1..Len(committed) : \A m \in Brokers :
        Eligible(n, m) /\ (n = Len(metadata) \/ committedAt[o] < metadata[n].leaderEpoch) =>
            Reach(m, committedAt[o]) /\ o <= Leo(m) /\ log[m][o] = committed[o]

-----------------------------------------------------------------------------
(* Members that are past an epoch *)

\* As LaterMembersCovered, by one member that is past the epoch.
LaterMembersBeyond ==
    \A i \in 1..Len(metadata) : \A n \in i..Len(metadata) : \A m \in Brokers :
        Unapplied(i) /\ Member(n, m) => Member(i, m) \/ Beyond(i)

\* As MaximalIsrCoversMembers.
MaximalIsrOrBeyond ==
    \A b \in Brokers : Leads(b) => \A n \in view[b].partitionEpoch..Len(metadata) : \A m \in Brokers :
        Member(n, m) =>
            Member(view[b].partitionEpoch, m) \/ m \in pendingIsr[b].isr \/ MemberBeyond(b) \/ PendingBeyond(b)

\* As RevertedIsNowhere.
RevertedOrBeyond ==
    \A b \in Brokers : CurrentReply(b, "INELIGIBLE_REPLICA") =>
        \A n \in view[b].partitionEpoch..Len(metadata) : \A m \in Brokers :
            Member(n, m) => Member(view[b].partitionEpoch, m) \/ MemberBeyond(b)

\* A later leader was a member that is past the epoch.
DeposedByMember ==
    \A b \in Brokers : Leads(b) => \A e \in Epochs :
        claimed[e] /\ e > view[b].leaderEpoch => MemberBeyond(b) \/ PendingBeyond(b)

\* Without the pending member, while its proposal is being reverted.
DeposedWhileReverting ==
    \A b \in Brokers : CurrentReply(b, "INELIGIBLE_REPLICA") => \A e \in Epochs :
        claimed[e] /\ e > view[b].leaderEpoch => MemberBeyond(b)

\* The same before the leader of a change has applied it.
DeposedBeforeApplying ==
    \A i \in 1..Len(metadata) : \A e \in Epochs :
        metadata[i].leader # None /\ Unapplied(i) /\ claimed[e] /\ e > metadata[i].leaderEpoch => Beyond(i)

-----------------------------------------------------------------------------
(* What a leader may still commit *)

\* A fetch of r under way, that z will count.
Countable(z, r) ==
    /\ fetch[r][z].type = "request" /\ fetch[r][z].epoch = view[z].leaderEpoch /\ fetch[r][z].offset <= Leo(z)
    /\ fetch[r][z].offset > 0 => log[z][fetch[r][z].offset].epoch = fetch[r][z].lastEpoch

HasOrWill(z, r, o) ==
    \/ ~Passed(r, view[z].leaderEpoch)
    \/ remoteLeo[z][r] >= o
    \/ Countable(z, r) /\ fetch[r][z].offset >= o

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
PotentialOnMembers ==
    \A z, m \in Brokers : z # m /\ Leads(z) => \A n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommit(z, o) =>
            o <= Leo(m) /\ log[m][o] = log[z][o]

\* The same while a proposal is being reverted,
PotentialOnMembersReverting ==
    \A z, m \in Brokers : z # m /\ Leads(z) => \A n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommitReverting(z, o) =>
            o <= Leo(m) /\ log[m][o] = log[z][o]

\* and with the ISR of a later change of its epoch.
PotentialOnMembersLater ==
    \A z, m \in Brokers : z # m /\ Leads(z) => \A i \in 1..Len(metadata), n \in 1..Len(metadata), o \in 1..Leo(z) :
        Eligible(n, m) /\ Passed(m, view[z].leaderEpoch) /\ Later(n, z) /\ MayCommitAt(i, z, o) =>
            o <= Leo(m) /\ log[m][o] = log[z][o]

\* Leaders of later epochs began with it.
PotentialInLaterEpochs ==
    \A z \in Brokers : Leads(z) => \A e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommit(z, o) =>
            o <= startOf[e] /\ o <= Len(hist[e]) /\ hist[e][o] = log[z][o]

\* The same while a proposal is being reverted,
PotentialInLaterEpochsReverting ==
    \A z \in Brokers : Leads(z) => \A e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommitReverting(z, o) =>
            o <= startOf[e] /\ o <= Len(hist[e]) /\ hist[e][o] = log[z][o]

\* and with the ISR of a later change of its epoch.
PotentialInLaterEpochsLater ==
    \A z \in Brokers : Leads(z) => \A i \in 1..Len(metadata), e \in Epochs, o \in 1..Leo(z) :
        claimed[e] /\ e > view[z].leaderEpoch /\ MayCommitAt(i, z, o) =>
            o <= startOf[e] /\ o <= Len(hist[e]) /\ hist[e][o] = log[z][o]

-----------------------------------------------------------------------------
(* Counted followers, requests, acknowledgements *)

\* A follower that was counted and is not past the epoch has what was counted.
CountedHave ==
    \A z, r \in Brokers : z # r /\ Leads(z) /\ remoteLeo[z][r] >= 0 =>
        \A n \in view[z].partitionEpoch..Len(metadata) :
            Eligible(n, r) /\ ~Passed(r, view[z].leaderEpoch) =>
                /\ Reach(r, view[z].leaderEpoch) /\ Leo(r) >= remoteLeo[z][r]
                /\ \A p \in 1..remoteLeo[z][r] : log[r][p] = log[z][p]

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
    /\ r \in alter[b].isr /\ r \notin Partition.isr
    /\ alter[b].memberEpochs[r] = registered[r].epoch /\ status[r] # "lossy"

\* Such a member has all that was committed, and the leader's records up to its start (ReachedEpochStart,
\* BrokerEpochPerIsrMember).
NewMembersHaveCommitted ==
    \A b, r \in Brokers : b # r /\ Takeable(b, r) =>
        /\ \A o \in 1..Len(committed) : o <= Leo(r) /\ log[r][o] = committed[o]
        /\ startOf[Partition.leaderEpoch] <= Leo(r)
        /\ \A p \in 1..startOf[Partition.leaderEpoch] :
            p <= Len(hist[Partition.leaderEpoch]) /\ log[r][p] = hist[Partition.leaderEpoch][p]

\* A produce waits at the place of its record.
WaitingIsAppended ==
    \A b \in Brokers : Leads(b) => \A v \in Values :
        waiting[b][v] > 0 => waiting[b][v] <= Leo(b) /\ log[b][waiting[b][v]].value = v

\* An acknowledged record is committed (AckAllOnlyBelowHw).
AckedIsCommitted ==
    \A v \in Values : acked[v] > 0 => acked[v] <= Len(committed) /\ committed[acked[v]].value = v

-----------------------------------------------------------------------------

CommitLemmas ==
    /\ StartInHistory
    /\ LeaderKnowsStart
    /\ CommittedInHistory
    /\ CommittedInLaterEpochs
    /\ HwIsCommitted
    /\ ResponseHwIsCommitted
    /\ LeaderHwAgrees
    /\ CommitterKnows
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
    /\ CountedHave
    /\ RequestShowsHistory
    /\ NewMembersHaveCommitted
    /\ WaitingIsAppended
    /\ AckedIsCommitted
=============================================================================
