"""The simulator of idempotent producers: partitions and their leaders, processes, connections, faults by profile,
traces in the terms of IdempotentProducer."""
