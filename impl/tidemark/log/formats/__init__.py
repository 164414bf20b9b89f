"""A broker's log directories as Kafka stores them: bytes to values and back, without I/O.

`batch`, `records`, `compression` and `control` read and write a segment. `indexes`, `producer_snapshot` and `texts` are
the files beside it. `names` tells files apart. `schema` reads the notation of `schemas/`, the records of internal
topics; `internal` finds the schema of a record.
"""
