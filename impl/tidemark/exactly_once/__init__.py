"""Consume, transform, produce, each record exactly once: a group and its transactions together (KIP-447)."""
