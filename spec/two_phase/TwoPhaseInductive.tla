------------------------- MODULE TwoPhaseInductive -------------------------
(***************************************************************************)
(* Why two-phase commit is consistent in runs of any length: `Inductive`   *)
(* holds at first, every action keeps it, and it implies the properties    *)
(* that TwoPhaseInductive.cfg names. `tidemark prove` checks that.         *)
(***************************************************************************)
EXTENDS TwoPhase

Promise(r)        == [type |-> "prepared", rm |-> r]
Decision(outcome) == [type |-> "decision", outcome |-> outcome]

\* The transaction manager reads messages, and none is ever lost.
ReadIsSent == \A r \in tmPrepared : Promise(r) \in messages

\* A resource manager sends its promise when it prepares, and from then on only a decision moves it (PreparedWaits).
PromiseBinds ==
    \A r \in RM : Promise(r) \in messages =>
        /\ rmState[r] # "working"
        /\ rmState[r] = "aborted" => Decision("aborted") \in messages

\* A resource manager prepares once, and says so.
PreparedIsSent == \A r \in RM : rmState[r] = "prepared" => Promise(r) \in messages

\* Only a decision makes a resource manager commit.
CommittedIsDecided == \A r \in RM : rmState[r] = "committed" => Decision("committed") \in messages

\* The transaction manager sends a decision when it makes it, and keeps it (KeepDecision).
DecisionIsKept == \A outcome \in Outcomes : Decision(outcome) \in messages => tmState = outcome

\* It decides to commit when all have promised (CommitOnlyIfAllPrepared).
CommitNeedsPromises == Decision("committed") \in messages => \A r \in RM : Promise(r) \in messages

\* A resource manager that has decided stays so.
DecidedIsNow == \A r \in RM : decided[r] = {rmState[r]} \cap Outcomes

Inductive ==
    /\ TypeOK
    /\ ReadIsSent
    /\ PromiseBinds
    /\ PreparedIsSent
    /\ CommittedIsDecided
    /\ DecisionIsKept
    /\ CommitNeedsPromises
    /\ DecidedIsNow
=============================================================================
