"""What all groups share: messages, partitions, assignors, the consumer's side."""
