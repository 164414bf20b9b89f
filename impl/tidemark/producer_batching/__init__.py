"""A producer's batches: accumulator, sizes, partitioners, sender."""
