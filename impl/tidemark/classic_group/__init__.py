"""Classic consumer groups: each partition of the subscribed topics has one owner in the group."""
