------------------------------ MODULE EtcdRaft ------------------------------
(***************************************************************************)
(* Raft as the library go.etcd.io/raft runs it, for traces that show of a  *)
(* node its term, vote, role, commit index, the length of its log, and     *)
(* the terms of the entries on its disk.                                   *)
(*                                                                         *)
(* Modelled: elections, replication, commits, heartbeats, what is on disk, *)
(* crashes, and a network that loses, repeats and reorders.                *)
(* Left out: snapshots, changes of the group, pre-vote, the check of the   *)
(* quorum, reads, writing to disk beside the node (AsyncStorageWrites). An *)
(* entry is its term: what a client wrote does not count.                  *)
(*                                                                         *)
(* Every choice is a parameter: the slot of a message, whether a vote is   *)
(* granted, which entries a leader sends. So the rest can be computed.     *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, Bounded

CONSTANTS
    Node,
    None,      \* in place of a node that was voted for
    Slots,     \* how many messages can be under way: a message is in one of 1..Slots
    MaxTerm, MaxLog, MaxBatch,   \* capacities: of terms, of a log, of a message's entries
    Without    \* the safety rules that are not in force

VARIABLES
    term,      \* per node: its term
    vote,      \* per node: whom it has voted for in its term
    role,      \* per node
    commit,    \* per node: how much of its log it knows to be committed
    log,       \* per node: its entries' terms
    granted,   \* per candidate: who has voted for it
    match,     \* per leader and node: up to where that node has the leader's log, as far as the leader knows
    disk,      \* per node: what it gets back after a crash
    wire,      \* per slot: the message that is under way
    held,      \* the slots whose message waits until its sender has written its disk
    elected,   \* history: per term, who led in it
    chosen     \* history: the longest committed log of any node

vars == <<term, vote, role, commit, log, granted, match, disk, wire, held, elected, chosen>>

Hidden == <<term, vote, role, commit, log, granted, match, disk, wire, held>>
Ghosts == <<elected, chosen>>

\* What the library's trace logger tells of a node, and what the harness reads from its disk.
Observed(n) == [term |-> term[n], vote |-> vote[n], role |-> role[n], commit |-> commit[n], len |-> Len(log[n]),
                disk |-> disk[n].log]

Observers == Node

-----------------------------------------------------------------------------
(* Types *)

Roles  == {"follower", "candidate", "leader"}
Terms  == 0..MaxTerm
Index  == 0..MaxLog
Log    == BoundedSeq(Terms, MaxLog)
Slot   == 1..Slots
Place  == 0..Slots    \* where a new message goes; 0: it is lost at once

Message ==
    [type : {"nothing"}]
        \cup [type : {"vote"}, from : Node, to : Node, term : Terms, index : Index, logTerm : Terms]
        \cup [type : {"voteResp"}, from : Node, to : Node, term : Terms, reject : BOOLEAN]
        \cup [type : {"app"}, from : Node, to : Node, term : Terms, index : Index, logTerm : Terms, commit : Index,
              entries : BoundedSeq(Terms, MaxBatch)]
        \cup [type : {"appResp"}, from : Node, to : Node, term : Terms, index : Index, reject : BOOLEAN]
        \cup [type : {"heartbeat"}, from : Node, to : Node, term : Terms, commit : Index]
        \cup [type : {"heartbeatResp"}, from : Node, to : Node, term : Terms]

TypeOK ==
    /\ term \in [Node -> Terms]
    /\ vote \in [Node -> Node \cup {None}]
    /\ role \in [Node -> Roles]
    /\ commit \in [Node -> Index]
    /\ log \in [Node -> Log]
    /\ granted \in [Node -> SUBSET Node]
    /\ match \in [Node -> [Node -> Index]]
    /\ disk \in [Node -> [term : Terms, vote : Node \cup {None}, commit : Index, log : Log]]
    /\ wire \in [Slot -> Message]
    /\ held \in SUBSET Slot
    /\ elected \in [Terms -> SUBSET Node]
    /\ chosen \in Log

-----------------------------------------------------------------------------
(* Words *)

Nothing == [type |-> "nothing"]
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b
Majority(S) == 2 * Cardinality(S) > Cardinality(Node)
TermAt(n, i) == IF i = 0 \/ i > Len(log[n]) THEN 0 ELSE log[n][i]

\* Message s is there for n to read.
Arrives(n, s, type) == s \notin held /\ wire[s].type = type /\ wire[s].to = n

\* Messages of earlier terms are not for these actions (see Ignore).
Current(n, s) == wire[s].term >= term[n]

\* n is in the message's term from now on: what it knew of an earlier term is gone.
Newer(n, s) == wire[s].term > term[n]

\* The wire after message s was read and the answer m was put into slot t.
Answered(s, t, m) == [i \in Slot |-> IF i = t THEN m ELSE IF i = s THEN Nothing ELSE wire[i]]

Put(t, m) == IF t = 0 THEN wire ELSE [wire EXCEPT ![t] = m]

\* Slot t can take a message, when that of slot s has just been read (0: none has).
Free(t, s) == IF t = 0 THEN TRUE ELSE t = s \/ wire[t].type = "nothing"

Holding(t) == held \cup ({t} \ {0})

-----------------------------------------------------------------------------
(* The safety rules *)

Has(rule) == rule \notin Without

\* Without it a node votes for two candidates in one term.
OneVoteATerm(n, s) == Newer(n, s) \/ vote[n] \in {None, wire[s].from}

\* Without it a candidate can win whose log lacks committed entries.
VoteForComplete(n, s) ==
    LET last == TermAt(n, Len(log[n]))
    IN  \/ wire[s].logTerm > last
        \/ wire[s].logTerm = last /\ wire[s].index >= Len(log[n])

\* Without it few can elect a leader.
LeadByMajority(n) == Majority(granted[n])

\* Without it an entry counts as committed that a majority may lose.
CommitByMajority(n, i) == Majority({m \in Node : match[n][m] >= i})

\* Without it an entry of an earlier term is committed by counting, and a later leader overwrites it.
CommitOwnTerm(n, i) == TermAt(n, i) = term[n]

\* Without it a node that comes back has forgotten its vote.
VoteFromDisk(n) == disk[n].vote # None

-----------------------------------------------------------------------------
Init ==
    /\ term = [n \in Node |-> 0]
    /\ vote = [n \in Node |-> None]
    /\ role = [n \in Node |-> "follower"]
    /\ commit = [n \in Node |-> 0]
    /\ log = [n \in Node |-> <<>>]
    /\ granted = [n \in Node |-> {}]
    /\ match = [n \in Node |-> [m \in Node |-> 0]]
    /\ disk = [n \in Node |-> [term |-> 0, vote |-> None, commit |-> 0, log |-> <<>>]]
    /\ wire = [s \in Slot |-> Nothing]
    /\ held = {}
    /\ elected = [t \in Terms |-> {}]
    /\ chosen = <<>>

NextElected == [t \in Terms |-> elected[t] \cup {n \in Node : role'[n] = "leader" /\ term'[n] = t}]

\* n may have committed more than anybody before.
NextChosen(n) == IF commit'[n] > Len(chosen) THEN SubSeq(log'[n], 1, commit'[n]) ELSE chosen

-----------------------------------------------------------------------------
(* Elections *)

\* Campaign   who: node n
\* It has heard of no leader for too long, and stands in the next term. Its own vote counts when it is on disk.
Campaign(n) ==
    \* enabled when
    /\ role[n] # "leader"
    \* effect
    /\ term' = [term EXCEPT ![n] = @ + 1]
    /\ vote' = [vote EXCEPT ![n] = n]
    /\ role' = [role EXCEPT ![n] = "candidate"]
    /\ granted' = [granted EXCEPT ![n] = {}]
    /\ UNCHANGED <<commit, log, match, disk, wire, held, elected, chosen>>

\* RequestVote   who: node n, a candidate
\* It asks `to` for its vote, and says how its log ends.
RequestVote(n, to, index, logTerm, t) ==
    \* enabled when
    /\ role[n] = "candidate"
    /\ to # n
    /\ index = Len(log[n]) /\ logTerm = TermAt(n, index)
    /\ Free(t, 0)
    \* effect
    /\ wire' = Put(t, [type |-> "vote", from |-> n, to |-> to, term |-> term[n], index |-> index, logTerm |-> logTerm])
    /\ held' = Holding(t)
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, elected, chosen>>

\* AnswerVote   who: node n
\* It reads a request and grants its vote, or does not (which it always may).
AnswerVote(n, s, grant, t) ==
    \* enabled when
    /\ Arrives(n, s, "vote")
    /\ Current(n, s)
    /\ Free(t, s)
    /\ grant => (Has("OneVoteATerm") => OneVoteATerm(n, s))
    /\ grant => (Has("VoteForComplete") => VoteForComplete(n, s))
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = IF Newer(n, s) THEN "follower" ELSE @]
    /\ vote' = [vote EXCEPT ![n] = IF grant THEN wire[s].from ELSE IF Newer(n, s) THEN None ELSE @]
    /\ wire' = Answered(s, t, [type |-> "voteResp", from |-> n, to |-> wire[s].from, term |-> wire[s].term,
                               reject |-> ~grant])
    /\ held' = Holding(t)
    /\ UNCHANGED <<commit, log, granted, match, disk, elected, chosen>>

\* ReadVote   who: node n
\* It reads an answer to its request. One that is of a later term makes it a follower.
ReadVote(n, s) ==
    \* enabled when
    /\ Arrives(n, s, "voteResp")
    /\ Current(n, s)
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = IF Newer(n, s) THEN "follower" ELSE @]
    /\ vote' = [vote EXCEPT ![n] = IF Newer(n, s) THEN None ELSE @]
    /\ granted' = [granted EXCEPT ![n] = IF Newer(n, s) \/ wire[s].reject THEN @ ELSE @ \cup {wire[s].from}]
    /\ wire' = [wire EXCEPT ![s] = Nothing]
    /\ UNCHANGED <<commit, log, match, disk, held, elected, chosen>>

\* Lead   who: node n, a candidate
\* It leads, and starts its term with an entry of its own.
Lead(n) ==
    \* enabled when
    /\ role[n] = "candidate"
    /\ Has("LeadByMajority") => LeadByMajority(n)
    \* effect
    /\ role' = [role EXCEPT ![n] = "leader"]
    /\ log' = [log EXCEPT ![n] = Append(@, term[n])]
    /\ match' = [match EXCEPT ![n] = [m \in Node |-> IF m = n THEN Len(log[n]) ELSE 0]]
    /\ UNCHANGED <<term, vote, commit, granted, disk, wire, held>>
    /\ elected' = NextElected
    /\ UNCHANGED chosen

\* GiveUp   who: node n, a candidate
\* It cannot win any more.
GiveUp(n) ==
    \* enabled when
    /\ role[n] = "candidate"
    \* effect
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ UNCHANGED <<term, vote, commit, log, granted, match, disk, wire, held, elected, chosen>>

-----------------------------------------------------------------------------
(* Replication *)

\* Propose   who: node n, the leader
\* A client's entry.
Propose(n) ==
    \* enabled when
    /\ role[n] = "leader"
    \* effect
    /\ log' = [log EXCEPT ![n] = Append(@, term[n])]
    /\ UNCHANGED <<term, vote, role, commit, granted, match, disk, wire, held, elected, chosen>>

\* SendAppend   who: node n, the leader
\* It sends the `count` entries after the first `index` ones, the last of which is of `logTerm`.
SendAppend(n, to, index, logTerm, count, t) ==
    \* enabled when
    /\ role[n] = "leader"
    /\ to # n
    /\ index + count <= Len(log[n]) /\ logTerm = TermAt(n, index)
    /\ Free(t, 0)
    \* effect
    /\ wire' = Put(t, [type |-> "app", from |-> n, to |-> to, term |-> term[n], index |-> index,
                       logTerm |-> logTerm, commit |-> commit[n],
                       entries |-> SubSeq(log[n], index + 1, index + count)])
    /\ held' = Holding(t)
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, elected, chosen>>

\* Message s continues n's log.
Continues(n, s) == wire[s].index <= Len(log[n]) /\ TermAt(n, wire[s].index) = wire[s].logTerm

\* n's log with the entries of message s, which overwrite others only from the first on that differs.
Extended(n, s) ==
    IF \E i \in 1..Len(wire[s].entries) : TermAt(n, wire[s].index + i) # wire[s].entries[i]
    THEN SubSeq(log[n], 1, wire[s].index) \o wire[s].entries
    ELSE log[n]

\* n has this already and more.
Known(n, s) == wire[s].index < commit[n]

\* AnswerAppend   who: node n
\* It takes the entries into its log if they continue it, and says up to where it has the leader's log.
AnswerAppend(n, s, t) ==
    \* enabled when
    /\ Arrives(n, s, "app")
    /\ Current(n, s)
    /\ Newer(n, s) \/ role[n] # "leader"
    /\ Free(t, s)
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ vote' = [vote EXCEPT ![n] = IF Newer(n, s) THEN None ELSE @]
    /\ log' = IF ~Known(n, s) /\ Continues(n, s) THEN [log EXCEPT ![n] = Extended(n, s)] ELSE log
    /\ commit' = IF ~Known(n, s) /\ Continues(n, s)
                 THEN [commit EXCEPT ![n] = Max(@, Min(wire[s].commit, wire[s].index + Len(wire[s].entries)))]
                 ELSE commit
    /\ wire' = Answered(s, t,
                        [type |-> "appResp", from |-> n, to |-> wire[s].from, term |-> wire[s].term,
                         index |-> IF Known(n, s) THEN commit[n]
                                   ELSE IF Continues(n, s) THEN wire[s].index + Len(wire[s].entries)
                                   ELSE wire[s].index,
                         reject |-> ~Known(n, s) /\ ~Continues(n, s)])
    /\ held' = Holding(t)
    /\ UNCHANGED <<granted, match, disk, elected>>
    /\ chosen' = NextChosen(n)

\* ReadAppend   who: node n
\* It learns, if it leads, up to where a node has its log.
ReadAppend(n, s) ==
    \* enabled when
    /\ Arrives(n, s, "appResp")
    /\ Current(n, s)
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = IF Newer(n, s) THEN "follower" ELSE @]
    /\ vote' = [vote EXCEPT ![n] = IF Newer(n, s) THEN None ELSE @]
    /\ match' = [match EXCEPT ![n][wire[s].from] =
                    IF Newer(n, s) \/ wire[s].reject \/ role[n] # "leader" THEN @ ELSE Max(@, wire[s].index)]
    /\ wire' = [wire EXCEPT ![s] = Nothing]
    /\ UNCHANGED <<commit, log, granted, disk, held, elected, chosen>>

\* Commit   who: node n, the leader
\* Its first i entries are committed.
Commit(n, i) ==
    \* enabled when
    /\ role[n] = "leader"
    /\ i > commit[n]
    /\ i <= Len(log[n])
    /\ Has("CommitByMajority") => CommitByMajority(n, i)
    /\ Has("CommitOwnTerm") => CommitOwnTerm(n, i)
    \* effect
    /\ commit' = [commit EXCEPT ![n] = i]
    /\ UNCHANGED <<term, vote, role, log, granted, match, disk, wire, held, elected>>
    /\ chosen' = NextChosen(n)

\* SendHeartbeat   who: node n, the leader
\* It tells how much is committed of what `to` is known to have.
SendHeartbeat(n, to, t) ==
    \* enabled when
    /\ role[n] = "leader"
    /\ to # n
    /\ Free(t, 0)
    \* effect
    /\ wire' = Put(t, [type |-> "heartbeat", from |-> n, to |-> to, term |-> term[n],
                       commit |-> Min(match[n][to], commit[n])])
    /\ held' = Holding(t)
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, elected, chosen>>

\* AnswerHeartbeat   who: node n
\* It learns what is committed.
AnswerHeartbeat(n, s, t) ==
    \* enabled when
    /\ Arrives(n, s, "heartbeat")
    /\ Current(n, s)
    /\ Newer(n, s) \/ role[n] # "leader"
    /\ wire[s].commit <= Len(log[n])
    /\ Free(t, s)
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ vote' = [vote EXCEPT ![n] = IF Newer(n, s) THEN None ELSE @]
    /\ commit' = [commit EXCEPT ![n] = Max(@, wire[s].commit)]
    /\ wire' = Answered(s, t, [type |-> "heartbeatResp", from |-> n, to |-> wire[s].from, term |-> wire[s].term])
    /\ held' = Holding(t)
    /\ UNCHANGED <<log, granted, match, disk, elected>>
    /\ chosen' = NextChosen(n)

\* ReadHeartbeat   who: node n
\* The answer tells a leader that the node is there.
ReadHeartbeat(n, s) ==
    \* enabled when
    /\ Arrives(n, s, "heartbeatResp")
    /\ Current(n, s)
    \* effect
    /\ term' = [term EXCEPT ![n] = wire[s].term]
    /\ role' = [role EXCEPT ![n] = IF Newer(n, s) THEN "follower" ELSE @]
    /\ vote' = [vote EXCEPT ![n] = IF Newer(n, s) THEN None ELSE @]
    /\ wire' = [wire EXCEPT ![s] = Nothing]
    /\ UNCHANGED <<commit, log, granted, match, disk, held, elected, chosen>>

-----------------------------------------------------------------------------
(* Disk and crashes *)

\* Persist   who: node n
\* Term, vote, commit index and log are on disk. Its messages go, its own vote and its own entries count.
Persist(n) ==
    /\ disk' = [disk EXCEPT ![n] = [term |-> term[n], vote |-> vote[n], commit |-> commit[n], log |-> log[n]]]
    /\ held' = {s \in held : wire[s].from # n}
    /\ granted' = [granted EXCEPT ![n] = IF role[n] = "candidate" THEN @ \cup {n} ELSE @]
    /\ match' = [match EXCEPT ![n][n] = IF role[n] = "leader" THEN Len(log[n]) ELSE @]
    /\ UNCHANGED <<term, vote, role, commit, log, wire, elected, chosen>>

\* Restart   who: node n
\* It crashes and comes back with its disk. What it had not sent yet is gone.
Restart(n) ==
    /\ term' = [term EXCEPT ![n] = disk[n].term]
    /\ vote' = [vote EXCEPT ![n] = IF Has("VoteFromDisk") /\ VoteFromDisk(n) THEN disk[n].vote ELSE None]
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ commit' = [commit EXCEPT ![n] = disk[n].commit]
    /\ log' = [log EXCEPT ![n] = disk[n].log]
    /\ granted' = [granted EXCEPT ![n] = {}]
    /\ match' = [match EXCEPT ![n] = [m \in Node |-> 0]]
    /\ wire' = [s \in Slot |-> IF s \in held /\ wire[s].from = n THEN Nothing ELSE wire[s]]
    /\ held' = {s \in held : wire[s].from # n}
    /\ UNCHANGED <<disk, elected, chosen>>

-----------------------------------------------------------------------------
(* The network *)

\* Ignore   who: node n
\* A message of an earlier term is read and says nothing.
Ignore(n, s) ==
    \* enabled when
    /\ s \notin held
    /\ wire[s].type # "nothing"
    /\ wire[s].to = n
    /\ ~Current(n, s)
    \* effect
    /\ wire' = [wire EXCEPT ![s] = Nothing]
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, held, elected, chosen>>

\* Lose   who: the network
Lose(s) ==
    \* enabled when
    /\ s \notin held
    /\ wire[s].type # "nothing"
    \* effect
    /\ wire' = [wire EXCEPT ![s] = Nothing]
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, held, elected, chosen>>

\* Duplicate   who: the network
Duplicate(s, t) ==
    \* enabled when
    /\ s \notin held
    /\ wire[s].type # "nothing"
    /\ wire[t].type = "nothing"
    \* effect
    /\ wire' = [wire EXCEPT ![t] = wire[s]]
    /\ UNCHANGED <<term, vote, role, commit, log, granted, match, disk, held, elected, chosen>>

Next ==
    \/ \E n \in Node : Campaign(n)
    \/ \E n \in Node, to \in Node, index \in Index, logTerm \in Terms, t \in Place : RequestVote(n, to, index, logTerm, t)
    \/ \E n \in Node, s \in Slot, grant \in BOOLEAN, t \in Place : AnswerVote(n, s, grant, t)
    \/ \E n \in Node, s \in Slot : ReadVote(n, s)
    \/ \E n \in Node : Lead(n)
    \/ \E n \in Node : GiveUp(n)
    \/ \E n \in Node : Propose(n)
    \/ \E n \in Node, to \in Node, index \in Index, logTerm \in Terms, count \in 0..MaxBatch, t \in Place :
           SendAppend(n, to, index, logTerm, count, t)
    \/ \E n \in Node, s \in Slot, t \in Place : AnswerAppend(n, s, t)
    \/ \E n \in Node, s \in Slot : ReadAppend(n, s)
    \/ \E n \in Node, i \in Index : Commit(n, i)
    \/ \E n \in Node, to \in Node, t \in Place : SendHeartbeat(n, to, t)
    \/ \E n \in Node, s \in Slot, t \in Place : AnswerHeartbeat(n, s, t)
    \/ \E n \in Node, s \in Slot : ReadHeartbeat(n, s)
    \/ \E n \in Node : Persist(n)
    \/ \E n \in Node : Restart(n)
    \/ \E n \in Node, s \in Slot : Ignore(n, s)
    \/ \E s \in Slot : Lose(s)
    \/ \E s \in Slot, t \in Slot : Duplicate(s, t)

Spec == Init /\ [][Next]_vars

\* A bound for TLC.
Small == \A n \in Node : term[n] < MaxTerm /\ Len(log[n]) < MaxLog

-----------------------------------------------------------------------------
(* Properties *)

\* No term has two leaders.
OneLeaderATerm == \A t \in Terms : Cardinality(elected[t]) <= 1

\* Two logs that have the same entry at an index are the same up to there.
LogsMatch ==
    \A n, m \in Node : \A i \in Index :
        (i > 0 /\ i <= Len(log[n]) /\ i <= Len(log[m]) /\ TermAt(n, i) = TermAt(m, i))
            => SubSeq(log[n], 1, i) = SubSeq(log[m], 1, i)

\* What a node knows to be committed is what was committed.
CommittedAgree == \A n \in Node : SubSeq(log[n], 1, commit[n]) = SubSeq(chosen, 1, commit[n])

\* The latest leader has all that was ever committed.
LeaderIsComplete ==
    \A n \in Node : (role[n] = "leader" /\ \A m \in Node : term[m] <= term[n])
        => Len(chosen) <= Len(log[n]) /\ SubSeq(log[n], 1, Len(chosen)) = chosen

\* What is committed stays so.
CommittedIsFinal == [][SubSeq(chosen', 1, Len(chosen)) = chosen]_vars

\* A vote on disk is not taken back within its term.
DiskKeepsVote ==
    [][\A n \in Node : (disk'[n].term = disk[n].term /\ disk[n].vote # None) => disk'[n].vote = disk[n].vote]_vars

\* Once the faults have stopped, all have the same log, and know that it is committed.
QuiescentAllAgree == \A n, m \in Node : log[n] = log[m] /\ commit[n] = Len(log[n])
=============================================================================
