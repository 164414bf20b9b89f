"""The specification compiler: SANY's XML -> typed, closed IR -> Python source and numba kernels."""
