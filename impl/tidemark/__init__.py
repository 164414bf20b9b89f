"""Tidemark's implementation of Kafka's core protocols: sans-IO state machines and a deterministic simulator."""
