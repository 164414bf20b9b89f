------------------------------- MODULE Erring -------------------------------
(***************************************************************************)
(* Expressions without a value in some states: outside a function's domain, *)
(* of an empty sequence, in a record's field that nobody reads. TLC         *)
(* evaluates every field, so a check that has one is false there.           *)
(***************************************************************************)
EXTENDS Integers, Sequences, Bounded

VARIABLES f, k, r, s

vars == <<f, k, r, s>>

TypeOK ==
    /\ f \in [1..2 -> 0..2]
    /\ k \in 0..3
    /\ r \in [a : 0..2, b : 0..2]
    /\ s \in BoundedSeq(0..2, 2)

Init == f = [i \in 1..2 |-> 0] /\ k = 0 /\ r = [a |-> 0, b |-> 0] /\ s = <<>>

\* A value that is there only inside a domain, in one branch, or of a sequence with elements
OutsideDomain == [f EXCEPT ![k] = 1][k] = 1
NoSuchField   == (IF k = 0 THEN [a |-> 1].b ELSE r.b) = 0

\* The field that is read has a value, the other may have none
FieldUnread    == [a |-> s[1], b |-> k].b < 2
RecordsCompare == [a |-> k, b |-> s[1]] # [a |-> 3, b |-> 0]
BranchUnread   == (IF k > 1 THEN [a |-> s[1], b |-> 1] ELSE r).b = 1
ExceptUnread   == [[a |-> s[1], b |-> 1] EXCEPT !.b = 2].b = 2
LetUnread      ==
    LET reply == IF k < 2 THEN [value |-> Head(s), count |-> k] ELSE [value |-> 0, count |-> k]
    IN  reply.count < 3
NestedUnread   == [a |-> [c |-> s[1], d |-> k], b |-> 0].a.d < 3
InASet         == \E x \in {[a |-> s[1], b |-> k]} : x.b < 3

Count == NoSuchField /\ k' = (k + 1) % 4 /\ UNCHANGED <<f, r, s>>
Set   == OutsideDomain /\ k' = (k + 1) % 4 /\ UNCHANGED <<f, r, s>>
Get   ==
    LET reply == IF k < 2 THEN [value |-> Head(s), count |-> k] ELSE [value |-> 0, count |-> k]
    IN  k' = (reply.count + 1) % 4 /\ UNCHANGED <<f, r, s>>
Next  == Count \/ Set \/ Get
=============================================================================
