"""Idempotent producers and the leaders that they write to: rules, messages, the leader of a partition, abstraction."""
