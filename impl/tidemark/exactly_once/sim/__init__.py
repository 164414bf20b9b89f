"""The simulator of consume-transform-produce: instances of a group, their transactions, the group's coordinator, a
reader of the results, and faults by profile; traces in the terms of ExactlyOnce."""
