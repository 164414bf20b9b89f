"""Python's search for cyclic garbage, which is seldom worth its time here."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

COLLECT_AFTER = 20_000
"""Objects made and not yet deleted, after which the garbage collector looks at them."""


@contextlib.contextmanager
def seldom_collecting() -> Iterator[None]:
    """Python looks for cyclic garbage seldom within the block. A simulated run leaves some dozens of small cycles, a
    proof makes millions of objects, and by default Python looks for cycles after every 700."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
