"""Reads a stream's end without decoding the stream: its count of records, and whether it declares that faults have
stopped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tidemark_conformance.tla.kernels.stream import QUIESCENT

CHECKSUM = 4
"""Bytes of the checksum at a stream's end."""
LONGEST = 10
"""No varint of 64 bits has more bytes."""


def _counts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each stream's count of records begins, and whether it lies within the stream; its flags stand before it."""
    starts = offsets[:-1]
    at = offsets[1:] - CHECKSUM - 1
    for _ in range(LONGEST):
        more = at - 1 > starts
        at = at - (more & (data[np.where(more, at - 1, 0)] >= 0x80) if len(data) else more)
    return at, at > starts


def claimed_records(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The count of records in each stream's end, the initial record included. Stream i is `data[offsets[i]:offsets[i +
    1]]`.

    The answer means something only for a stream that could be decided.
    """
    at, within = _counts(data, offsets)
    result = np.where(within, 0, -1)
    going = within
    for shift in range(0, 7 * LONGEST, 7):
        going = going & (at < offsets[1:] - CHECKSUM)
        if not going.any():
            break
        byte = data[np.where(going, at, 0)].astype(np.int64)
        result |= np.where(going, byte & 0x7F, 0) << min(shift, 63)
        going = going & (byte >= 0x80)
        at = at + 1
    return result


def at_rest(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """True for each stream that ends with faults stopped and no capacity reached. Stream i is
    `data[offsets[i]:offsets[i + 1]]`.

    The answer means something only for a stream that could be decided.
    """
    at, _ = _counts(data, offsets)
    within = at - 1 > offsets[:-1]
    if not within.any():
        return within
    rest: NDArray[np.bool_] = within & (data[np.where(within, at - 1, 0)] == QUIESCENT)
    return rest
