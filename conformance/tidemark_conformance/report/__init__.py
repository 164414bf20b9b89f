"""Rendering of results for people: tables in a terminal, plain lines elsewhere."""
