"""The specification compiler: SANY's XML -> typed, closed IR -> Python source and kernels in machine code."""
