"""The simulator of a classic group: brokers, consumers, the log, faults by profile, traces in ClassicGroup's terms."""
