"""Java's hash codes and order of strings, where Kafka's behaviour depends on them.

Java sees UTF-16 code units. A character outside the Basic Multilingual Plane is two of them: it hashes as two and sorts
before U+E000 to U+FFFF. Python sees code points.
"""

from __future__ import annotations

import struct
from functools import lru_cache

INT_MIN = -(2**31)


def _utf16(text: str) -> bytes:
    """`text` in UTF-16, big endian, so that bytes sort as code units do; a lone surrogate is let through as in Java."""
    return text.encode("utf-16-be", "surrogatepass")


def hash_code(text: str) -> int:
    """String.hashCode: a 32-bit signed integer."""
    units = _utf16(text)
    result = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        result = (31 * result + unit) & 0xFFFFFFFF
    return result - 2**32 if result >= 2**31 else result


@lru_cache(maxsize=4096)
def string_order(text: str) -> bytes:
    """A sort key that sorts strings as String.compareTo does."""
    return _utf16(text)
