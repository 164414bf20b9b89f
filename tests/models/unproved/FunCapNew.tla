---- MODULE FunCapNew ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f
vars == <<f>>

TypeOK == f \in [0..Max -> 0..1]
Init == f = [i \in 0..Max |-> 0]
A(k) == f' = [i \in 0..Max |-> IF i < k THEN 1 ELSE f[i]]
Z == FALSE /\ UNCHANGED vars
Next == (\E k \in 0..Max : A(k)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == f[1] = 0
Inductive == TypeOK /\ Inv
====
