----------------------------- MODULE AtomicWrite -----------------------------
(***************************************************************************)
(* What a transaction is promised, and nothing of how: it is one write to  *)
(* several partitions, which counts in all of them or in none. Who is told *)
(* how it ended is told the truth, and what counts in a partition is that  *)
(* outcome (what a reader gets of it: Transactions' ReadsCommitted).       *)
(*                                                                         *)
(* Transactions refines it (models: AtomicWriteRefined).                   *)
(***************************************************************************)
CONSTANTS
    Writes,       \* the transactions
    Topics        \* the partitions

VARIABLES
    outcome,      \* per write: "open" until it is known to somebody, then "COMMIT" or "ABORT"
    part          \* per write and partition: "none", written and "open", and then what counts: "COMMIT" or "ABORT"

vars == <<outcome, part>>

Outcomes == {"COMMIT", "ABORT"}

Init ==
    /\ outcome = [w \in Writes |-> "open"]
    /\ part = [w \in Writes |-> [p \in Topics |-> "none"]]

\* A part is written; not of a write that counts, nor where it has been decided.
Write(w, p) ==
    /\ outcome[w] # "COMMIT" /\ part[w][p] = "none"
    /\ part' = [part EXCEPT ![w][p] = "open"]
    /\ UNCHANGED outcome

\* A partition learns what becomes of writes: of each the one outcome that it has or gets.
Settle(p) ==
    \E settled \in [Writes -> {"not"} \cup Outcomes] :
        /\ \A w \in Writes : settled[w] # "not" => part[w][p] = "open" /\ outcome[w] \in {"open", settled[w]}
        /\ outcome' = [w \in Writes |-> IF settled[w] = "not" THEN outcome[w] ELSE settled[w]]
        /\ part' = [w \in Writes |-> [part[w] EXCEPT ![p] = IF settled[w] = "not" THEN @ ELSE settled[w]]]

\* The writer is told.
Tell(w) ==
    /\ \E result \in Outcomes :
        /\ outcome[w] \in {"open", result}
        /\ outcome' = [outcome EXCEPT ![w] = result]
    /\ UNCHANGED part

\* A partition loses records that are not replicated.
Lose(p) ==
    /\ \E lost \in SUBSET {w \in Writes : part[w][p] = "open" /\ outcome[w] # "COMMIT"} :
            part' = [w \in Writes |-> [part[w] EXCEPT ![p] = IF w \in lost THEN "none" ELSE @]]
    /\ UNCHANGED outcome

Next ==
    \/ \E w \in Writes, p \in Topics : Write(w, p)
    \/ \E p \in Topics : Settle(p) \/ Lose(p)
    \/ \E w \in Writes : Tell(w)

Spec == Init /\ [][Next]_vars
=============================================================================
