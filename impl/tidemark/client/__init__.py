"""Kafka's clients, without sockets and without a clock."""
