---- MODULE InductLater ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Sum(q) == FoldSeq(LAMBDA v, a : a + v, 0, q)
Act == UNCHANGED vars
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x = 0
\* because
Same == x >= 0
Inductive == /\ TypeOK
  /\ Inv
\* because
Few == \A n \in 0..Len(s) : Sum(SubSeq(s, 1, n)) <= 2
Corollaries == /\ Few
  /\ Same
====
