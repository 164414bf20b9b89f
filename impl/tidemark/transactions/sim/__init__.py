"""The simulator of transactions: processes that share a transactional id, coordinators and their log, partitions, and
faults by profile; traces in the terms of Transactions."""
