"""ISR replication of one partition: leader, follower, fetcher, purgatory, and the rules that make it safe."""
