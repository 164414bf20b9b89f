---- MODULE Count ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS N
VARIABLES f, g
vars == <<f, g>>
\* a
Same == \E c \in 0..N : \A i \in 1..N : g[i] = (c > 0)
TypeOK == f \in [1..N -> 0..N] /\ g \in [1..N -> BOOLEAN]
Init == f = [i \in 1..N |-> i] /\ g = [i \in 1..N |-> FALSE]
A == g' = [i \in 1..N |-> Cardinality({j \in 1..f[i] : f[j] <= i}) > 3] /\ UNCHANGED f
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == \A i \in 1..N, k \in 1..N : g[i] = g[k]
Inductive == /\ TypeOK
  /\ Same
====
