"""A laboratory of released Kafka: nodes, clients and schedules on this machine (docs/reproduce.md)."""
