-------------------------- MODULE CounterHistory ---------------------------
(* A counter with history, and the lemmas of its theorems. *)
EXTENDS Naturals

CONSTANT Max

VARIABLES count, limit, highest

TypeOK == count \in 0..Max /\ limit \in 0..Max

Init == count = 0 /\ limit \in 0..Max

Up == count < limit /\ count' = count + 1 /\ UNCHANGED limit
Down == count > 0 /\ count' = count - 1 /\ UNCHANGED limit

Next == Up \/ Down

History == <<highest>>
\* A count is within its type.
HistoryTypeOK == highest \in 0..Max
HistoryInit == highest = 0
HistoryNext == highest' = IF count' > highest THEN count' ELSE highest

CounterSpec == Init /\ HistoryInit /\ [][Next /\ HistoryNext]_<<count, limit, highest>>

\* Up stops at the limit.
BelowLimit == count <= limit

\* It is the greatest count so far.
HighestIsHighest == count <= highest /\ highest <= limit

CounterLemmas == TypeOK /\ HistoryTypeOK /\ BelowLimit
=============================================================================
