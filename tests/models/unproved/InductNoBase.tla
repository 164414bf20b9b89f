---- MODULE InductNoBase ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Act == x' = 1 /\ UNCHANGED <<s, t>>
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x <= 1
\* because
Same == x >= 0
Inductive == /\ TypeOK
  /\ Inv
\* because
Zero == \A n \in (0 - Max)..5 : x = 0
Corollaries == /\ Zero
  /\ Same
====
