"""Symbolic search: runs to a violation, by the terms of proofs."""
