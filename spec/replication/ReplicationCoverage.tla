------------------------ MODULE ReplicationCoverage ------------------------
(***************************************************************************)
(* The lemmas about proposals, the members that an ISR covers, followers   *)
(* that a leader has counted, and points of truncation.                    *)
(***************************************************************************)
EXTENDS ReplicationHistory

Member(n, b) == b \in metadata[n].isr \cup metadata[n].elr

\* A broker is past an epoch: it has applied a later one, or it will not come back in this one.
Passed(b, e) ==
    IF Running(b)
    THEN (IF view[b].partitionEpoch > 0 THEN view[b].leaderEpoch > e ELSE metadata[registered[b].since].leaderEpoch > e)
    ELSE Partition.leaderEpoch > e

-----------------------------------------------------------------------------
(* The controller's changes *)

\* The controller derives the ELR from the ISR, and puts a leader into the ISR.
ChangesWellFormed ==
    \A i \in 1..Len(metadata) :
        /\ metadata[i].isr \cap metadata[i].elr = {}
        /\ Cardinality(metadata[i].isr) >= EffectiveMinIsr => metadata[i].elr = {}
        /\ metadata[i].leader # None => metadata[i].leader \in metadata[i].isr

\* A broker leaves the ISR when it is fenced or stops, and only active ones join (IsrMembersActive).
MembersAreActive == \A b \in Partition.isr : registered[b].state = "active"

\* A broker's ISR is that of the change that it has applied.
ViewHasChangesIsr ==
    \A b \in Brokers :
        /\ view[b].partitionEpoch > 0 => view[b].isr = metadata[view[b].partitionEpoch].isr
        /\ view[b].partitionEpoch = 0 => view[b].isr = {}

\* A broker runs under the epoch of its last registration.
RunsAsRegistered ==
    \A b \in Brokers : registered[b].epoch >= 1 /\ (Running(b) => brokerEpoch[b] = registered[b].epoch)

\* A leader makes an entry for its epoch when it begins (CacheEpochAtElection).
LeaderHasEntry ==
    \A b \in Brokers : Leads(b) => epochCache[b] # <<>> /\ LatestEpoch(epochCache[b]) = view[b].leaderEpoch

-----------------------------------------------------------------------------
(* Proposals *)

\* A leader adds or removes members, never both, and adds those whose broker epoch it knows.
PendingIsProposal ==
    \A b \in Brokers :
        /\ pendingIsr[b].active =>
            /\ Leads(b) /\ b \in pendingIsr[b].isr
            /\ pendingIsr[b].isr \subseteq view[b].isr \/ view[b].isr \subseteq pendingIsr[b].isr
            /\ \A r \in pendingIsr[b].isr : r \notin view[b].isr => pendingIsr[b].memberEpochs[r] >= 1
        /\ ~pendingIsr[b].active => pendingIsr[b].isr = {}

\* A request names the change that its leader had applied; while that is still so, it is the pending proposal
\* (KeepProposalAtKnownEpoch).
RequestIsProposal ==
    \A b \in Brokers :
        alter[b].type = "request" =>
            /\ 1 <= alter[b].partitionEpoch /\ alter[b].partitionEpoch <= Len(metadata)
            /\ metadata[alter[b].partitionEpoch].leader = b
            /\ metadata[alter[b].partitionEpoch].leaderEpoch = alter[b].leaderEpoch
            /\ b \in alter[b].isr /\ claimed[alter[b].leaderEpoch] /\ alter[b].brokerEpoch <= registered[b].epoch
            /\ \A r \in alter[b].isr :
                r \notin metadata[alter[b].partitionEpoch].isr => alter[b].memberEpochs[r] >= 1
            /\ Running(b) /\ alter[b].brokerEpoch = registered[b].epoch =>
                /\ view[b].partitionEpoch > 0 /\ alter[b].partitionEpoch <= view[b].partitionEpoch
                /\ alter[b].partitionEpoch = view[b].partitionEpoch =>
                    /\ pendingIsr[b].active
                    /\ alter[b].isr = pendingIsr[b].isr /\ alter[b].memberEpochs = pendingIsr[b].memberEpochs

\* A new member of a request was counted in its epoch.
RequestKnowsMembers ==
    \A b, r \in Brokers :
        alter[b].type = "request" =>
            (b # r /\ r \in alter[b].isr /\ r \notin metadata[alter[b].partitionEpoch].isr =>
                /\ alter[b].memberEpochs[r] <= registered[r].epoch
                /\ alter[b].memberEpochs[r] = registered[r].epoch /\ Running(r) =>
                    view[r].partitionEpoch > 0 /\ view[r].leaderEpoch >= alter[b].leaderEpoch)

CurrentReply(b, error) ==
    /\ Leads(b) /\ pendingIsr[b].active
    /\ alter[b].type = "reply" /\ alter[b].error = error /\ alter[b].leaderEpoch = view[b].leaderEpoch

\* A reply NONE that the leader still waits for is about its pending proposal.
AcceptedIsPending ==
    \A b \in Brokers : CurrentReply(b, "NONE") => metadata[alter[b].partitionEpoch].isr = pendingIsr[b].isr

-----------------------------------------------------------------------------
(* What covers the members of later changes *)

\* The epoch of change i has no leader yet, or one that has not applied change i.
Unapplied(i) ==
    \/ ~claimed[metadata[i].leaderEpoch]
    \/ \E z \in Brokers :
        /\ metadata[i].leader = z /\ Leads(z)
        /\ view[z].leaderEpoch = metadata[i].leaderEpoch /\ view[z].partitionEpoch < i

\* Only its leader's proposals add members within an epoch (AlterOfLeaderEpoch, AlterOfPartitionEpoch, ElectFromIsr).
LaterMembersCovered ==
    \A i \in 1..Len(metadata) : \A n \in i..Len(metadata) : \A m \in Brokers :
        Unapplied(i) /\ Member(n, m) => Member(i, m) \/ Passed(m, metadata[i].leaderEpoch)

\* The leader knows which members it has proposed to add.
MaximalIsrCoversMembers ==
    \A b \in Brokers : Leads(b) => \A n \in view[b].partitionEpoch..Len(metadata) : \A m \in Brokers :
        Member(n, m) => Member(view[b].partitionEpoch, m) \/ m \in pendingIsr[b].isr \/ Passed(m, view[b].leaderEpoch)

\* An ineligible proposal was not taken before either: INVALID_UPDATE_VERSION is checked first.
RevertedIsNowhere ==
    \A b \in Brokers : CurrentReply(b, "INELIGIBLE_REPLICA") =>
        \A n \in view[b].partitionEpoch..Len(metadata) : \A m \in Brokers :
            Member(n, m) => Member(view[b].partitionEpoch, m) \/ Passed(m, view[b].leaderEpoch)

-----------------------------------------------------------------------------
(* Followers that a leader has counted *)

\* A leader counts fetches of its epoch (FetchEpochNotOlder, FetchEpochNotNewer, ResetRemoteLeoOnNewLeaderEpoch).
RemoteIsOfEpoch ==
    \A z, r \in Brokers :
        z # r /\ Leads(z) /\ (remoteLeo[z][r] >= 0 \/ remoteEpoch[z][r] >= 0) =>
            /\ remoteLeo[z][r] <= Leo(z) /\ 1 <= remoteEpoch[z][r] /\ remoteEpoch[z][r] <= registered[r].epoch
            /\ Running(r) /\ remoteEpoch[z][r] = registered[r].epoch =>
                view[r].partitionEpoch > 0 /\ view[r].leaderEpoch >= view[z].leaderEpoch

\* A broker's fetches are lost when it goes down.
RequestIsOfIncarnation ==
    \A f, l \in Brokers : fetch[f][l].type = "request" => fetch[f][l].brokerEpoch = registered[f].epoch

\* A leader proposes a member that has reached the start of its epoch and its high watermark (ReachedEpochStart).
ProposedHasReached ==
    \A z, r \in Brokers :
        z # r /\ pendingIsr[z].active /\ r \in pendingIsr[z].isr /\ r \notin view[z].isr =>
            /\ pendingIsr[z].memberEpochs[r] <= remoteEpoch[z][r]
            /\ pendingIsr[z].memberEpochs[r] = remoteEpoch[z][r] =>
                remoteLeo[z][r] >= highWatermark[z] /\ remoteLeo[z][r] >= epochStart[z]

\* A follower does not fetch from an earlier offset in the same incarnation and epoch.
RequestsAdvance ==
    \A z, r \in Brokers :
        Leads(z) /\ fetch[r][z].type = "request" =>
            (fetch[r][z].epoch = view[z].leaderEpoch /\ remoteEpoch[z][r] = fetch[r][z].brokerEpoch =>
                fetch[r][z].offset >= remoteLeo[z][r])

\* z has counted the incarnation of r that has its records, and r has not passed z's epoch.
Counted(z, r) ==
    /\ Leads(z) /\ z # r /\ remoteLeo[z][r] >= 0 /\ remoteEpoch[z][r] = registered[r].epoch /\ status[r] # "lossy"
    /\ Running(r) => view[r].leaderEpoch = view[z].leaderEpoch
    /\ ~Running(r) => Partition.leaderEpoch = view[z].leaderEpoch

\* A counted follower is a prefix of the leader: its divergence checks are over (FetchDoesNotDiverge).
CountedIsPrefix ==
    \A z, r \in Brokers : Counted(z, r) =>
        /\ Leo(r) >= remoteLeo[z][r] /\ Leo(r) <= Leo(z)
        /\ \A p \in 1..Leo(r) : log[r][p] = log[z][p]

\* Its last entry has records, or its log is empty and the entry is older than all of the leader's.
CountedHasNoEmptyEpoch ==
    \A z, r \in Brokers : Counted(z, r) =>
        (epochCache[r] # <<>> =>
            \/ epochCache[r][Len(epochCache[r])].start < Leo(r)
            \/ Leo(r) = 0 /\ epochCache[z] # <<>> /\ (epochCache[z] # <<>> => epochCache[z][1].epoch > LatestEpoch(epochCache[r])))

\* So no answer to it diverges.
CountedDoesNotDiverge ==
    \A z, r \in Brokers : Counted(z, r) /\ Running(r) /\ fetch[r][z].type # "idle" =>
        (fetch[r][z].epoch = view[r].leaderEpoch =>
            /\ fetch[r][z].type \notin {"diverging", "checked"}
            /\ fetch[r][z].type # "error" => fetch[r][z].offset >= remoteLeo[z][r])

-----------------------------------------------------------------------------
(* Responses in the follower's epoch *)

\* The leader of the epoch answers them.
AnsweredByLeader ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type \in {"records", "diverging", "checked", "reading"} =>
            claimed[view[f].leaderEpoch] /\ electedAs[view[f].leaderEpoch] = l

\* Records, and the follower's log before them, are those of the epoch's history.
RecordsAreOfEpoch ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type = "records" =>
            (Len(fetch[f][l].batch) > 0 =>
                LET e == view[f].leaderEpoch IN
                /\ fetch[f][l].offset + Len(fetch[f][l].batch) <= Len(hist[e])
                /\ \A k \in 1..Len(fetch[f][l].batch) : hist[e][fetch[f][l].offset + k] = fetch[f][l].batch[k]
                /\ \A p \in 1..Leo(f) : hist[e][p] = log[f][p])

\* So are those of a slice that is still to be read.
SliceIsOfEpoch ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type = "reading" =>
            LET e == view[f].leaderEpoch IN
            /\ fetch[f][l].offset + fetch[f][l].count <= Len(hist[e])
            /\ \A p \in 1..Leo(l) : p <= fetch[f][l].offset + fetch[f][l].count => hist[e][p] = log[l][p]
            /\ \A p \in 1..Leo(f) : hist[e][p] = log[f][p]

\* A leader has the epochs of its followers (CacheEpochAtElection), and nothing is out of range.
NothingOutOfRange ==
    \A f, l \in Brokers : Live(f, l) /\ fetch[f][l].type = "error" => fetch[f][l].error # "OFFSET_OUT_OF_RANGE"

\* A point of truncation is above all that the follower shares with the history of its epoch.
PointKeepsShared ==
    \A f, l \in Brokers :
        Live(f, l) /\ fetch[f][l].type \in {"diverging", "checked"} =>
            LET e == view[f].leaderEpoch IN
            \A p \in 1..Leo(f) :
                (p <= Len(hist[e]) => hist[e][p].epoch = log[f][p].epoch) /\ p <= Len(hist[e]) =>
                    p <= fetch[f][l].endOffset /\ log[f][p].epoch <= fetch[f][l].divergingEpoch

-----------------------------------------------------------------------------

CoverageLemmas ==
    /\ ChangesWellFormed
    /\ MembersAreActive
    /\ ViewHasChangesIsr
    /\ RunsAsRegistered
    /\ LeaderHasEntry
    /\ PendingIsProposal
    /\ RequestIsProposal
    /\ RequestKnowsMembers
    /\ AcceptedIsPending
    /\ LaterMembersCovered
    /\ MaximalIsrCoversMembers
    /\ RevertedIsNowhere
    /\ RemoteIsOfEpoch
    /\ RequestIsOfIncarnation
    /\ ProposedHasReached
    /\ RequestsAdvance
    /\ CountedIsPrefix
    /\ CountedHasNoEmptyEpoch
    /\ CountedDoesNotDiverge
    /\ AnsweredByLeader
    /\ RecordsAreOfEpoch
    /\ SliceIsOfEpoch
    /\ NothingOutOfRange
    /\ PointKeepsShared
=============================================================================
