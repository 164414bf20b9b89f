"""Traces: the header, NDJSON for interchange, Parquet for scale, and conversions between them
(docs/trace-format.md)."""
