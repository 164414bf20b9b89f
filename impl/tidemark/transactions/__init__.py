"""Transactions: the coordinator of a transactional id, the partitions that it writes to, and their messages."""
