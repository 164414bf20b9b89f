---- MODULE SeqProduct ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
VARIABLES p
vars == <<p>>

TypeOK == p \in {1,2} \X {1,2}
Init == p = <<1, 1>>
A == p' = <<p[2], 2>>
Z == FALSE /\ UNCHANGED vars
Next == A \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == p # <<2, 2>>
Inductive == TypeOK /\ Inv
====
