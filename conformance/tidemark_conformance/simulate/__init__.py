"""Traces made by simulators, on Spark or in this process."""
