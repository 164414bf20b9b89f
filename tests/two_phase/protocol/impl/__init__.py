"""Two-phase commit: rules, messages, the managers of a transaction and of resources, abstraction."""
