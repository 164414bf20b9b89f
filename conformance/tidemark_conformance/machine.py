"""The part of the machine that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """Processors that this process may use, as far as the system says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
