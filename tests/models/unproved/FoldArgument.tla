---- MODULE FoldArgument ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Count(q, y) == FoldSeq(LAMBDA v, a : IF v = y THEN a + 1 ELSE a, 0, q)
Act == (\E y \in 0..2 : x' = (IF Count(s, y) = Count(s, 1) THEN 0 ELSE 1)) /\ UNCHANGED <<s, t>>
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
