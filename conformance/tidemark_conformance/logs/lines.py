"""Rows as lines for people: one a row, a heading a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from tidemark_conformance.logs.rows import Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def line(row: Row) -> str:
    """A row that is no problem, as a line without its file."""
    return _LINES.get(row["kind"], _other)(row)


def time(milliseconds: int) -> str:
    """A timestamp in UTC; the number where it says that there is none, and where no calendar has such a day."""
    if milliseconds < 0:
        return str(milliseconds)
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return str(milliseconds)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _batch(row: Row) -> str:
    parts = [
        f"{_range(row['baseOffset'], row['lastOffset'])}",
        f"at {row['at']}",
        f"epoch {row['partitionLeaderEpoch']}",
        f"{row['count']} records" if row["count"] != 1 else "1 record",
        f"{row['size']} bytes",
        row["compressType"],
    ]
    if row["maxTimestamp"] >= 0:
        parts.append(f"{row['timestampType']} {time(row['maxTimestamp'])}")
    if row["producerId"] != -1:
        sequence = _range(row["baseSequence"], row["lastSequence"]) if row["baseSequence"] != -1 else "none"
        parts.append(f"producer {row['producerId']} epoch {row['producerEpoch']} sequence {sequence}")
    parts += [word for word, field in (("transactional", "isTransactional"), ("control", "isControl")) if row[field]]
    if row["deleteHorizonMs"] is not None:
        parts.append(f"horizon {time(row['deleteHorizonMs'])}")
    return "  " + "  ".join(parts)


def _record(row: Row) -> str:
    parts = [f"| {row['offset']}"]
    if "control" in row:
        kind, _, *rest = row["control"].items()
        parts += [kind[1], *(f"{name} {_json(value)}" for name, value in rest)]
    elif "message" in row:
        message = row["message"]
        version = "" if message["version"] is None else f" v{message['version']}"
        parts.append(f"{message['name']}{version}")
        parts += [_json(message[one]) for one in ("key", "value") if one == "value" or message[one] is not None]
    else:
        parts += [time(row["timestamp"]), f"{_json(row['key'])}: {_json(row['value'])}"]
    parts += [f"{_json(header['key'])}={_json(header['value'])}" for header in row["headers"]]
    return "    " + "  ".join(parts)


def _json(value: Any) -> str:
    """JSON without characters that move a terminal's cursor."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return text if text.isprintable() else json.dumps(value)


def _other(row: Row) -> str:
    fields = {key: value for key, value in row.items() if key not in ("at", "kind", "file")}
    for inner in ("properties", "json"):
        if inner in fields:
            fields = fields[inner]
    if "timestamp" in fields and isinstance(fields["timestamp"], int):
        fields["timestamp"] = time(fields["timestamp"])
    words = (f"{key} {_word(value)}" for key, value in fields.items())
    return "  " + "  ".join(words)


def _word(value: Any) -> str:
    return value if isinstance(value, str) and value.isprintable() else _json(value)


_LINES: dict[str, Callable[[Row], str]] = {"batch": _batch, "record": _record}
