---- MODULE FoldLazy ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Act == x' = (LET h == Head(s) IN FoldSeq(LAMBDA v, a : IF v = h THEN 1 ELSE a, 0, t) + (h - h)) /\ UNCHANGED <<s, t>>
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x <= 1
Inductive == /\ TypeOK
  /\ Inv
====
