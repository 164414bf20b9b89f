"""Consumer groups: who owns which partition of the topics that a group subscribes to."""
