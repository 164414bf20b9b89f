"""The protocols, their zoo and their specifications, as they stand beside the TLA+ text."""
