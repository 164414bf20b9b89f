---- MODULE FoldTwice ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Sum(q) == FoldSeq(LAMBDA v, a : a + v, 0, q)
Act == x' = (IF Sum(s) = Sum(t) THEN 0 ELSE 1) /\ UNCHANGED <<s, t>>
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x = 0
Inductive == /\ TypeOK
  /\ Inv
====
