"""Which action a record claims to be, found by skipping through its stream (compiled; only failing traces need it)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray


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
def _action_at(data, at, end, record, arities):  # type: ignore[no-untyped-def]
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
        count += 1
    return -1


@njit(cache=True, nogil=True)
def _actions_at(data, starts, ends, steps, arities):  # type: ignore[no-untyped-def]
    result = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        result[i] = _action_at(data, starts[i], ends[i], steps[i], arities)
    return result


def actions_at(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    steps: NDArray[np.int64],
    arities: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The action (index in Next) of record `steps[i]` of the stream `data[starts[i]:ends[i]]`; -1 where it names none.

    `arities`: how many parameters each action has.
    """
    found: NDArray[np.int64] = _actions_at(data, starts, ends, steps, arities)
    return found
