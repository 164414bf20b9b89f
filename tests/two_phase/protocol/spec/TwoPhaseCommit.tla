--------------------------- MODULE TwoPhaseCommit ---------------------------
(***************************************************************************)
(* Two-phase commit after Lamport's TwoPhase module: the smallest protocol *)
(* of Tidemark. It has all that a protocol brings, and nothing of Kafka.   *)
(*                                                                         *)
(* Modelled: resource managers that prepare, decide and give up; a         *)
(* transaction manager that collects, decides and restarts; messages that  *)
(* are never lost and may be read any number of times.                     *)
(* Left out: a resource manager's restart, and what a transaction does.    *)
(*                                                                         *)
(* Read in this order: VARIABLES, the rules, the actions, the properties.  *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
    RM,       \* the resource managers
    Without   \* the safety rules that are not in force

VARIABLES
    rmState,     \* per resource manager: how far it is
    tmState,     \* the transaction manager's decision, "init" while there is none
    tmPrepared,  \* the resource managers whose "prepared" the transaction manager has read since it started
    messages,    \* all that was ever sent
    decided      \* history: per resource manager, the outcomes that it ever reached

vars == <<rmState, tmState, tmPrepared, messages, decided>>

Ghosts == <<decided>>

-----------------------------------------------------------------------------
(* Types *)

Outcomes == {"committed", "aborted"}
Message  == [type : {"prepared"}, rm : RM] \cup [type : {"decision"}, outcome : Outcomes]

TypeOK ==
    /\ rmState \in [RM -> {"working", "prepared"} \cup Outcomes]
    /\ tmState \in {"init"} \cup Outcomes
    /\ tmPrepared \in SUBSET RM
    /\ messages \in SUBSET Message
    /\ decided \in [RM -> SUBSET Outcomes]

-----------------------------------------------------------------------------
(* The safety rules *)

Has(rule) == rule \notin Without

\* A guard answers "may this go ahead", and without its rule everything may. A case answers "does this case arise", and without
\* its rule it never does.
Guard(rule, may)   == Has(rule) => may
Case(rule, arises) == Has(rule) /\ arises

\* Without it the transaction commits while a resource manager may still abort alone.
CommitOnlyIfAllPrepared == Guard("CommitOnlyIfAllPrepared", tmPrepared = RM)

\* Without it a resource manager that has promised to commit changes its mind.
PreparedWaits(r) == Guard("PreparedWaits", rmState[r] = "working")

\* The decision is on disk before it is sent. Without it a restarted manager forgets that it committed, and aborts.
KeepDecision == Case("KeepDecision", tmState # "init")

Rules == {"CommitOnlyIfAllPrepared", "PreparedWaits", "KeepDecision"}

\* Actions that only a flaw takes: none.
FlawActions == {}

-----------------------------------------------------------------------------
Init ==
    /\ rmState = [r \in RM |-> "working"]
    /\ tmState = "init"
    /\ tmPrepared = {}
    /\ messages = {}
    /\ decided = [r \in RM |-> {}]

\* The outcomes that each resource manager ever reached.
NextDecided == [r \in RM |-> decided[r] \cup ({rmState'[r]} \cap Outcomes)]

\* RMPrepare   who: resource manager r   code: two_phase_commit/resource_manager.py (prepare)
\* It can commit from now on, and tells so.
RMPrepare(r) ==
    \* enabled when
    /\ rmState[r] = "working"
    \* effect
    /\ rmState' = [rmState EXCEPT ![r] = "prepared"]
    /\ messages' = messages \cup {[type |-> "prepared", rm |-> r]}
    /\ UNCHANGED <<tmState, tmPrepared>>
    /\ decided' = NextDecided

\* RMAbort   who: resource manager r   code: two_phase_commit/resource_manager.py (abort)
\* It gives up alone, which it may do until it has prepared.
RMAbort(r) ==
    \* enabled when
    /\ rmState[r] \notin Outcomes
    /\ PreparedWaits(r)
    \* effect
    /\ rmState' = [rmState EXCEPT ![r] = "aborted"]
    /\ UNCHANGED <<tmState, tmPrepared, messages>>
    /\ decided' = NextDecided

\* TMReceivePrepared   who: transaction manager   code: two_phase_commit/transaction_manager.py (receive_prepared)
\* It learns that r has prepared.
TMReceivePrepared(r) ==
    \* enabled when
    /\ tmState = "init"
    /\ [type |-> "prepared", rm |-> r] \in messages
    \* effect
    /\ tmPrepared' = tmPrepared \cup {r}
    /\ UNCHANGED <<rmState, tmState, messages, decided>>

\* TMDecide   who: transaction manager   code: two_phase_commit/transaction_manager.py (decide)
\* It decides for all: to commit if it may, to abort whenever it likes.
TMDecide(outcome) ==
    \* enabled when
    /\ tmState = "init"
    /\ outcome = "committed" => CommitOnlyIfAllPrepared
    \* effect
    /\ tmState' = outcome
    /\ messages' = messages \cup {[type |-> "decision", outcome |-> outcome]}
    /\ UNCHANGED <<rmState, tmPrepared, decided>>

\* TMRestart   who: transaction manager   code: two_phase_commit/transaction_manager.py (restart)
\* It comes back with what is on its disk: the decision, if it had made one.
TMRestart ==
    /\ tmState' = IF KeepDecision THEN tmState ELSE "init"
    /\ tmPrepared' = {}
    /\ UNCHANGED <<rmState, messages, decided>>

\* RMReceiveDecision   who: resource manager r   code: two_phase_commit/resource_manager.py (receive_decision)
\* It does what the transaction manager says.
RMReceiveDecision(r, outcome) ==
    \* enabled when
    /\ [type |-> "decision", outcome |-> outcome] \in messages
    /\ rmState[r] \notin Outcomes
    \* effect
    /\ rmState' = [rmState EXCEPT ![r] = outcome]
    /\ UNCHANGED <<tmState, tmPrepared, messages>>
    /\ decided' = NextDecided

Next ==
    \/ \E r \in RM : RMPrepare(r)
    \/ \E r \in RM : RMAbort(r)
    \/ \E r \in RM : TMReceivePrepared(r)
    \/ \E outcome \in Outcomes : TMDecide(outcome)
    \/ TMRestart
    \/ \E r \in RM, outcome \in Outcomes : RMReceiveDecision(r, outcome)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* Properties *)

\* No two resource managers reach different outcomes.
Consistency == \A r, s \in RM : ~(rmState[r] = "committed" /\ rmState[s] = "aborted")

\* The transaction manager never says both.
OneDecision == Cardinality({m \in messages : m.type = "decision"}) <= 1

\* No resource manager ever reaches two outcomes.
DecidedOnce == \A r \in RM : Cardinality(decided[r]) <= 1

\* An outcome is final.
OutcomeIsFinal == [][\A r \in RM : rmState[r] \in Outcomes => rmState'[r] = rmState[r]]_vars

\* Once the faults have stopped: a decision is carried out by all.
QuiescentAllDecided == tmState # "init" => \A r \in RM : rmState[r] \in Outcomes
=============================================================================
