"""Tidemark's conformance side: the specification compiler, the TLC runner, the trace formats and the Spark audit."""
