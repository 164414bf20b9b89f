---- MODULE CardBound ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, g
vars == <<f, g>>

TypeOK == f \in [1..Max -> 0..Max] /\ g \in [1..Max -> 0..Max]
Init == f = [i \in 1..Max |-> i] /\ g = [i \in 1..Max |-> 0]
A == g' = [i \in 1..Max |-> Cardinality({j \in 1..i : f[j] <= i})] /\ f' = f
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == \A i \in 1..Max, k \in 1..Max : g[i] = g[k]
Inductive == TypeOK /\ Inv
====
