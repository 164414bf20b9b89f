"""All that `make check` does."""
