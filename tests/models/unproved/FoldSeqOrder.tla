---- MODULE FoldSeqOrder ----
EXTENDS Naturals, Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS K
VARIABLES s, x
vars == <<s, x>>

TypeOK == s \in BoundedSeq({1, 2}, 2) /\ x \in 0..30
Init == s = <<>> /\ x = 0
Add(v) == Len(s) < 2 /\ s' = Append(s, v) /\ x' = FoldSeq(LAMBDA e, a : 10 * a + e, 0, s)
Again == s' = s /\ x' = FoldSeq(LAMBDA e, a : 10 * a + e, 0, s)
Z == FALSE /\ UNCHANGED vars
Next == (\E v \in {1,2} : Add(v)) \/ Again \/ Z
Spec == Init /\ [][Next]_vars
\* The claim.
Inv == x # 21
Inductive == TypeOK /\ Inv
====
