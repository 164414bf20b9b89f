---- MODULE SubCap ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded
CONSTANTS Max
VARIABLES s, n, bad
vars == <<s, n, bad>>
\* a
Cut == n <= Len(s) => Len(SubSeq(s, 1, n)) >= 0
TypeOK == s \in BoundedSeq(0..1, 2) /\ n \in 0..Max /\ bad \in BOOLEAN
Init == s = <<0, 1>> /\ n = 0 /\ bad = FALSE
A == n < Max /\ n' = n + 1 /\ UNCHANGED <<s, bad>>
C == n <= Len(s) /\ s' = SubSeq(s, 1, n) /\ UNCHANGED <<n, bad>>
B == (\E i \in 1..(IF 1 <= n THEN n ELSE 0) : i > 2) /\ bad' = TRUE /\ UNCHANGED <<s, n>>
Next == A \/ B \/ C
Spec == Init /\ [][Next]_vars

\* because
Inv == ~bad
Inductive == /\ TypeOK
  /\ Cut
  /\ Inv
====
