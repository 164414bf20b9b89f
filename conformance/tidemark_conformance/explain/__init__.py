"""Explanations: why a trace fails, as one record (`record.py`) that `report` renders as text, HTML and JSON."""
