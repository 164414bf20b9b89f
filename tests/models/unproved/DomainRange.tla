---- MODULE DomainRange ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, y
vars == <<f, y>>

TypeOK == f \in [1..Max -> 0..1] /\ y \in BOOLEAN
Init == f = [i \in 1..Max |-> 0] /\ y = FALSE
Set(i) == f' = [f EXCEPT ![i] = 1] /\ y' = y
All == (\A i \in DOMAIN f : f[i] = 1) /\ y' = TRUE /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == (\E i \in 1..Max : Set(i)) \/ All \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == ~y
Inductive == TypeOK /\ Inv
====
