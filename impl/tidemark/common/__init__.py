"""Errors, names, values and rules for every part of the implementation."""
