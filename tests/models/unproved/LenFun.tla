---- MODULE LenFun ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, y
vars == <<f, y>>

TypeOK == f \in [1..Max -> 0..1] /\ y \in BOOLEAN
Init == f = [i \in 1..Max |-> 0] /\ y = FALSE
A == Len(f) = 3 /\ y' = TRUE /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
