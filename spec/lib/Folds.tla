------------------------------- MODULE Folds -------------------------------
\* The only recursion of our specifications.
EXTENDS Naturals, Sequences, FiniteSets

\* op(e, acc) over the elements of S, in an order that must not matter.
RECURSIVE FoldSet(_, _, _)
FoldSet(op(_, _), start, S) ==
    IF S = {} THEN start
    ELSE LET e == CHOOSE x \in S : TRUE IN FoldSet(op, op(e, start), S \ {e})

\* op(e, acc) over the elements of s, from the first to the last.
RECURSIVE FoldSeq(_, _, _)
FoldSeq(op(_, _), start, s) ==
    IF s = <<>> THEN start ELSE FoldSeq(op, op(Head(s), start), Tail(s))
=============================================================================
