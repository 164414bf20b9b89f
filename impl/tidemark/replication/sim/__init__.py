"""The deterministic simulator: a cluster, faults by profile, traces in the specification's terms."""
