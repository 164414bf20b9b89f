"""The simulator of a group's committed offsets: brokers, producers, the log, faults by profile, traces in the terms of
Offsets."""
