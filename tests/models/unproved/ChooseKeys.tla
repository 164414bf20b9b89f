---- MODULE ChooseKeys ----
EXTENDS Integers, Sequences, Bounded
CONSTANTS Max
VARIABLES f, x
vars == <<f, x>>
Capacities == {"Max"}
Keys == {"a!1", "a!2"}
TypeOK == f \in [Keys -> BoundedSeq(0..1, Max)] /\ x \in 0..Max
Init == f = [k \in Keys |-> <<>>] /\ x = 0
Least(S) == CHOOSE i \in S : \A j \in S : i <= j
First(k) == IF \A i \in 1..Len(f[k]) : f[k][i] # 1 THEN 0 ELSE Least({i \in 1..Len(f[k]) : f[k][i] = 1})
More(k, v) == Len(f[k]) < Max /\ f' = [f EXCEPT ![k] = Append(@, v)] /\ UNCHANGED x
Act == x' = (IF First("a!1") # 0 /\ First("a!2") # 0 /\ First("a!1") # First("a!2") THEN 1 ELSE 0) /\ UNCHANGED f
Next == (\E k \in Keys, v \in 0..1 : More(k, v)) \/ Act
Spec == Init /\ [][Next]_vars

\* because
Inv == x = 0
Inductive == /\ TypeOK
  /\ Inv
====
