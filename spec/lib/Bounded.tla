------------------------------ MODULE Bounded ------------------------------
\* Sets of bounded structures, for TypeOK.
EXTENDS Naturals, Sequences

\* Sequences over S of at most n elements. (UNION {[1..m -> S] : m \in 0..n} is the same set, but TLC enumerates it.)
BoundedSeq(S, n) == {s \in Seq(S) : Len(s) <= n}
=============================================================================
