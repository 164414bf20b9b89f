"""Numba kernels: a specification's checks over cell vectors, and the replay of delta streams."""
