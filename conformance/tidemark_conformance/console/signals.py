"""SIGTERM as an exception, so that work under way is cleaned up."""

from __future__ import annotations

import signal
from typing import Any


def raise_on_sigterm(exception: type[BaseException]) -> Any:
    """From now on the first SIGTERM raises this, and further ones do nothing: cleaning up is not to be interrupted.
    Returns the handler of before. Only for the main thread, in which it is raised."""

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise exception

    return signal.signal(signal.SIGTERM, end)
