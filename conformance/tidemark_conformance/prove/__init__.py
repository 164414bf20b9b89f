"""The third backend of the compiler: IR -> Z3 terms, and inductive proofs of a specification's properties."""
