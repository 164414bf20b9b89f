---- MODULE FoldError ----
EXTENDS Integers, Sequences, FiniteSets, Bounded, Folds
CONSTANTS Max
VARIABLES s, t, x
vars == <<s, t, x>>
Capacities == {"Max"}
TypeOK == s \in BoundedSeq(0..2, Max) /\ t \in BoundedSeq(0..2, Max) /\ x \in 0..Max
Heads(q) == FoldSeq(LAMBDA v, a : IF v = 2 THEN Tail(a) ELSE Append(a, v), <<>>, q)
Act == x' = Len(Heads(s)) /\ UNCHANGED <<s, t>>
Init == s = <<>> /\ t = <<>> /\ x = 0
More == Len(s) < Max /\ (\E v \in 0..2 : s' = Append(s, v)) /\ UNCHANGED <<t, x>>
Swap == t' = s /\ s' = t /\ UNCHANGED x
Next == More \/ Swap \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x <= Max
Inductive == /\ TypeOK
  /\ Inv
====
