---- MODULE Deep ----
EXTENDS Naturals, Integers, Sequences, FiniteSets
CONSTANTS Max
VARIABLES f, x
vars == <<f, x>>

TypeOK == f \in [1..Max -> 0..Max] /\ x \in 0..Max
Init == f = [i \in 1..Max |-> i] /\ x \in 51..55
A == UNCHANGED vars
Next == A
Spec == Init /\ [][Next]_vars

\* because
Inv == Cardinality({j \in 1..(IF x = 1 THEN 1 ELSE (IF x = 2 THEN 2 ELSE (IF x = 3 THEN 3 ELSE (IF x = 4 THEN 4 ELSE (IF x = 5 THEN 5 ELSE (IF x = 6 THEN 6 ELSE (IF x = 7 THEN 7 ELSE (IF x = 8 THEN 8 ELSE (IF x = 9 THEN 9 ELSE (IF x = 10 THEN 10 ELSE (IF x = 11 THEN 11 ELSE (IF x = 12 THEN 12 ELSE (IF x = 13 THEN 13 ELSE (IF x = 14 THEN 14 ELSE (IF x = 15 THEN 15 ELSE (IF x = 16 THEN 16 ELSE (IF x = 17 THEN 17 ELSE (IF x = 18 THEN 18 ELSE (IF x = 19 THEN 19 ELSE (IF x = 20 THEN 20 ELSE (IF x = 21 THEN 21 ELSE (IF x = 22 THEN 22 ELSE (IF x = 23 THEN 23 ELSE (IF x = 24 THEN 24 ELSE (IF x = 25 THEN 25 ELSE (IF x = 26 THEN 26 ELSE (IF x = 27 THEN 27 ELSE (IF x = 28 THEN 28 ELSE (IF x = 29 THEN 29 ELSE (IF x = 30 THEN 30 ELSE (IF x = 31 THEN 31 ELSE (IF x = 32 THEN 32 ELSE (IF x = 33 THEN 33 ELSE (IF x = 34 THEN 34 ELSE (IF x = 35 THEN 35 ELSE (IF x = 36 THEN 36 ELSE (IF x = 37 THEN 37 ELSE (IF x = 38 THEN 38 ELSE (IF x = 39 THEN 39 ELSE (IF x = 40 THEN 40 ELSE (x + 1))))))))))))))))))))))))))))))))))))))))) : f[j] > 0}) = Cardinality({j \in 1..(IF x = 1 THEN 1 ELSE (IF x = 2 THEN 2 ELSE (IF x = 3 THEN 3 ELSE (IF x = 4 THEN 4 ELSE (IF x = 5 THEN 5 ELSE (IF x = 6 THEN 6 ELSE (IF x = 7 THEN 7 ELSE (IF x = 8 THEN 8 ELSE (IF x = 9 THEN 9 ELSE (IF x = 10 THEN 10 ELSE (IF x = 11 THEN 11 ELSE (IF x = 12 THEN 12 ELSE (IF x = 13 THEN 13 ELSE (IF x = 14 THEN 14 ELSE (IF x = 15 THEN 15 ELSE (IF x = 16 THEN 16 ELSE (IF x = 17 THEN 17 ELSE (IF x = 18 THEN 18 ELSE (IF x = 19 THEN 19 ELSE (IF x = 20 THEN 20 ELSE (IF x = 21 THEN 21 ELSE (IF x = 22 THEN 22 ELSE (IF x = 23 THEN 23 ELSE (IF x = 24 THEN 24 ELSE (IF x = 25 THEN 25 ELSE (IF x = 26 THEN 26 ELSE (IF x = 27 THEN 27 ELSE (IF x = 28 THEN 28 ELSE (IF x = 29 THEN 29 ELSE (IF x = 30 THEN 30 ELSE (IF x = 31 THEN 31 ELSE (IF x = 32 THEN 32 ELSE (IF x = 33 THEN 33 ELSE (IF x = 34 THEN 34 ELSE (IF x = 35 THEN 35 ELSE (IF x = 36 THEN 36 ELSE (IF x = 37 THEN 37 ELSE (IF x = 38 THEN 38 ELSE (IF x = 39 THEN 39 ELSE (IF x = 40 THEN 40 ELSE (x + 2))))))))))))))))))))))))))))))))))))))))) : f[j] > 0})
Inductive == /\ TypeOK
  /\ Inv
====
