"""Log directories of Kafka's brokers: their files as rows, and rows as lines."""
