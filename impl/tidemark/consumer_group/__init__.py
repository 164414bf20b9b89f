"""The consumer group of KIP-848, at its coordinator (Kafka's package org.apache.kafka.coordinator.group.modern)."""
