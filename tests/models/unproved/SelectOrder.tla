---- MODULE SelectOrder ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Act == UNCHANGED vars
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == LET k == SelectSeq(s, LAMBDA v : v > 0) IN Len(k) < 2 \/ k[1] <= k[2]
Inductive == /\ TypeOK
  /\ Inv
====
