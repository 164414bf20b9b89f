"""Spark: its session, and how the code reaches the workers."""
