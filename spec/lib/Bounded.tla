------------------------------ MODULE Bounded ------------------------------
\* Sets of bounded structures, for TypeOK.
EXTENDS Naturals

\* Sequences over S of at most n elements.
BoundedSeq(S, n) == UNION {[1..m -> S] : m \in 0..n}
=============================================================================
