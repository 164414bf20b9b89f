---- MODULE FunCap ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f
vars == <<f>>

TypeOK == f \in [0..Max -> 0..Max]
Init == f = [i \in 0..Max |-> i]
A(i) == f' = [f EXCEPT ![i] = 0]
Z == FALSE /\ UNCHANGED vars
Next == (\E i \in 0..Max : A(i)) \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == \A i \in 0..Max : f[i] = i
Inductive == TypeOK /\ Inv
====
