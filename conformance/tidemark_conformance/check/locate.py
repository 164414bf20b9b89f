"""What a stream says of itself, found without decoding it: the action that a record claims to be, how many records its
end counts, and whether it declares that faults have stopped (compiled)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from tidemark_conformance.tla.kernels.stream import QUIESCENT

CHECKSUM = 4
"""Bytes of the checksum at a stream's end."""


@njit(cache=True, nogil=True)
def _varint(data, at, end):  # type: ignore[no-untyped-def]
    value = np.int64(0)
    shift = 0
    while at < end:
        byte = np.int64(data[at])
        at += 1
        if shift < 63:
            value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at
    return -1, end + 1


@njit(cache=True, nogil=True)
def _action_at(data, at, end, record, arities, observed):  # type: ignore[no-untyped-def]
    count = 0
    while at < end:
        head, at = _varint(data, at, end)
        action = (head >> 2) - 1
        if head < 0 or head & 3 == 3 or action >= len(arities):
            return -1
        if count == record:
            return action
        _, at = _varint(data, at, end)
        if action >= 0:
            for _ in range(arities[action]):
                _, at = _varint(data, at, end)
        changed, at = _varint(data, at, end)
        if changed < 0:
            return -1
        for _ in range(2 * changed):
            if at > end:
                return -1
            _, at = _varint(data, at, end)
        if observed:
            told, at = _varint(data, at, end)
            if told < 0:
                return -1
            at += told
        count += 1
    return -1


@njit(cache=True, nogil=True)
def _actions_at(data, starts, ends, steps, arities, observed):  # type: ignore[no-untyped-def]
    result = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        result[i] = _action_at(data, starts[i], ends[i], steps[i], arities, observed)
    return result


def actions_at(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    steps: NDArray[np.int64],
    arities: NDArray[np.int64],
    observed: bool = False,
) -> NDArray[np.int64]:
    """The action (index in Next) of record `steps[i]` of the stream `data[starts[i]:ends[i]]`; -1 where it names none.

    `arities`: how many parameters each action has; `observed`: records end with what was observed.
    """
    found: NDArray[np.int64] = _actions_at(data, starts, ends, steps, arities, observed)
    return found


@njit(cache=True, nogil=True)
def _count_at(data, start, end):  # type: ignore[no-untyped-def]
    at = end - CHECKSUM - 1  # the last byte of the count of records; the flags stand before its first
    while at - 1 > start and data[at - 1] >= 0x80:
        at -= 1
    return at


@njit(cache=True, nogil=True)
def _claimed_records(data, starts, ends):  # type: ignore[no-untyped-def]
    result = np.full(len(starts), -1, np.int64)
    for i in range(len(starts)):
        at = _count_at(data, starts[i], ends[i])
        if at > starts[i]:
            result[i] = _varint(data, at, ends[i] - CHECKSUM)[0]
    return result


def claimed_records(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many records, the initial one included, each stream's end counts (stream i: `data[offsets[i]:offsets[i +
    1]]`).

    Only of a stream that could be decided does the answer mean something.
    """
    found: NDArray[np.int64] = _claimed_records(data, offsets[:-1], offsets[1:])
    return found


@njit(cache=True, nogil=True)
def _at_rest(data, starts, ends):  # type: ignore[no-untyped-def]
    result = np.zeros(len(starts), np.bool_)
    for i in range(len(starts)):
        at = _count_at(data, starts[i], ends[i])
        result[i] = at - 1 > starts[i] and data[at - 1] == QUIESCENT
    return result


def at_rest(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which streams (i is `data[offsets[i]:offsets[i + 1]]`) end with faults stopped and no capacity reached.

    Only of a stream that could be decided does the answer mean something.
    """
    found: NDArray[np.bool_] = _at_rest(data, offsets[:-1], offsets[1:])
    return found
