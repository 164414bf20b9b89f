"""The part of the machine that this process may use, and that it uses."""

from __future__ import annotations

import os
import resource
from pathlib import Path


def cores() -> int:
    """Processors that this process may use, as far as the system says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resident() -> int:
    """This process's resident memory in KiB: now, or where the system does not say, the greatest so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * resource.getpagesize() // 1024
