"""The simulator of a KIP-848 group: brokers, consumers, the log, faults by profile, traces in ConsumerGroup848's
terms."""
