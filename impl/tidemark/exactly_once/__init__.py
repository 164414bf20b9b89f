"""Consume, transform, produce, each record exactly once: what holds a group and transactions together (KIP-447)."""
