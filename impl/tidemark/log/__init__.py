"""A replica's log: record batches, the leader-epoch cache, storage behind an interface."""
