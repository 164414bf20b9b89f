"""TLC: the toolchain, runs of models, state graphs, and the replay of traces. It knows TLA+, and no protocol."""
