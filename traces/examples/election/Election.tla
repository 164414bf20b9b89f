------------------------------ MODULE Election ------------------------------
(***************************************************************************)
(* The election of a leader as Raft has it, for a system that logs little: *)
(* its trace shows a node's term, role and vote, and the rest is computed. *)
(*                                                                         *)
(* Modelled: terms, requests for votes, votes, crashes that keep the disk. *)
(* Left out: logs, heartbeats. Messages may be lost and be read repeatedly *)
(* (nobody has to read one), so `requests` and `votes` only grow.          *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    Server,
    Nobody,    \* in place of a server that was voted for
    MaxTerm,   \* no trace has a later term
    Without    \* the safety rules that are not in force

VARIABLES
    term,       \* per server: its term, on disk
    role,       \* per server: follower, candidate or leader, in memory
    votedFor,   \* per server: whom it has voted for in its term, on disk
    granted,    \* per server: who has voted for it in its term, in memory
    requests,   \* the requests for votes that were ever sent
    votes       \* the votes that were ever sent

vars == <<term, role, votedFor, granted, requests, votes>>

-----------------------------------------------------------------------------
(* What a trace shows *)

\* No trace carries a variable: all are computed from Init by the actions.
Hidden == <<term, role, votedFor, granted, requests, votes>>

\* What a server logs of itself.
Observed(n) == [term |-> term[n], role |-> role[n], vote |-> votedFor[n], backers |-> Cardinality(granted[n])]

Observers == Server

-----------------------------------------------------------------------------
(* Types *)

Roles   == {"follower", "candidate", "leader"}
Request == [term : 1..MaxTerm, from : Server]
Vote    == [term : 1..MaxTerm, from : Server, to : Server]

TypeOK ==
    /\ term \in [Server -> 0..MaxTerm]
    /\ role \in [Server -> Roles]
    /\ votedFor \in [Server -> Server \cup {Nobody}]
    /\ granted \in [Server -> SUBSET Server]
    /\ requests \in SUBSET Request
    /\ votes \in SUBSET Vote

-----------------------------------------------------------------------------
(* The safety rules *)

Has(rule) == rule \notin Without

\* Without it a server votes for two candidates in one term.
OneVote(n, c, t) == t > term[n] \/ votedFor[n] \in {Nobody, c}

\* Without it a candidate leads with the votes of a few.
Majority(n) == 2 * Cardinality(granted[n]) > Cardinality(Server)

-----------------------------------------------------------------------------
Init ==
    /\ term = [n \in Server |-> 0]
    /\ role = [n \in Server |-> "follower"]
    /\ votedFor = [n \in Server |-> Nobody]
    /\ granted = [n \in Server |-> {}]
    /\ requests = {}
    /\ votes = {}

\* Stand   who: server n
\* It has heard of no leader for too long, and asks for votes in the next term.
Stand(n) ==
    \* enabled when
    /\ role[n] # "leader"
    \* effect
    /\ term' = [term EXCEPT ![n] = @ + 1]
    /\ role' = [role EXCEPT ![n] = "candidate"]
    /\ votedFor' = [votedFor EXCEPT ![n] = n]
    /\ granted' = [granted EXCEPT ![n] = {n}]
    /\ requests' = requests \cup {[term |-> term'[n], from |-> n]}
    /\ UNCHANGED votes

\* Grant   who: server n
\* It reads c's request of term t, follows it into that term, and votes for c.
Grant(n, c, t) ==
    \* enabled when
    /\ [term |-> t, from |-> c] \in requests
    /\ c # n
    /\ t >= term[n]
    /\ Has("OneVote") => OneVote(n, c, t)
    \* effect
    /\ IF t > term[n]
       THEN /\ role' = [role EXCEPT ![n] = "follower"]
            /\ granted' = [granted EXCEPT ![n] = {}]
       ELSE UNCHANGED <<role, granted>>
    /\ term' = [term EXCEPT ![n] = t]
    /\ votedFor' = [votedFor EXCEPT ![n] = c]
    /\ votes' = votes \cup {[term |-> t, from |-> n, to |-> c]}
    /\ UNCHANGED requests

\* Count   who: server n, a candidate
\* It reads v's vote.
Count(n, v) ==
    \* enabled when
    /\ role[n] = "candidate"
    /\ [term |-> term[n], from |-> v, to |-> n] \in votes
    \* effect
    /\ granted' = [granted EXCEPT ![n] = @ \cup {v}]
    /\ UNCHANGED <<term, role, votedFor, requests, votes>>

\* Lead   who: server n, a candidate
\* It has the votes of more than half of all servers.
Lead(n) ==
    \* enabled when
    /\ role[n] = "candidate"
    /\ Has("Majority") => Majority(n)
    \* effect
    /\ role' = [role EXCEPT ![n] = "leader"]
    /\ UNCHANGED <<term, votedFor, granted, requests, votes>>

\* Restart   who: server n
\* It crashes and comes back with its disk.
Restart(n) ==
    /\ role' = [role EXCEPT ![n] = "follower"]
    /\ granted' = [granted EXCEPT ![n] = {}]
    /\ UNCHANGED <<term, votedFor, requests, votes>>

Next ==
    \/ \E n \in Server : Stand(n)
    \/ \E n \in Server, c \in Server, t \in 1..MaxTerm : Grant(n, c, t)
    \/ \E n \in Server, v \in Server : Count(n, v)
    \/ \E n \in Server : Lead(n)
    \/ \E n \in Server : Restart(n)

Spec == Init /\ [][Next]_vars

\* A bound for TLC: a state on the edge has no next one.
Small == \A n \in Server : term[n] < MaxTerm

-----------------------------------------------------------------------------
(* Properties *)

\* No term has two leaders.
OneLeader == \A n, m \in Server : (n # m /\ role[n] = "leader" /\ role[m] = "leader") => term[n] # term[m]

\* A term never falls.
TermsGrow == [][\A n \in Server : term'[n] >= term[n]]_vars
=============================================================================
