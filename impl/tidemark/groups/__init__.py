"""Code for every kind of group: messages, partitions, assignors, the consumer's side."""
