"""Signals as exceptions, so that work under way is cleaned up, and processes that never outlive who started them."""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

from tidemark_conformance import machine


def raise_on_sigterm(exception: type[BaseException]) -> Any:
    """From now on the first SIGTERM raises this, and further ones do nothing: cleaning up is not to be interrupted.
    Returns the handler of before. Only for the main thread, in which it is raised."""

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise exception

    return signal.signal(signal.SIGTERM, end)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, SIGTERM and SIGINT wait for the end of the block. So a thing that is made there always gets its name, by
    which a `finally` around the block finds it. In other threads, where no signal is raised, it does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        for number in before:
            signal.signal(number, lambda sent, _: waiting.append(sent))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for sent in waiting:
            signal.raise_signal(sent)


@contextlib.contextmanager
def side_by_side() -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Fresh processes, as many as there are cores, for tasks that leave nothing to clean up: an exception kills them.

    An exception raised in them would be taken for the result of a task.
    """
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(machine.cores(), mp_context=context) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.kill()
            raise


PATIENCE_S = 60.0
"""Seconds that a terminated process has for its cleaning up."""


@contextlib.contextmanager
def started(command: list[str], gently: bool = False, **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process, with its group if it has one of its own; it never outlives the block. `gently`: it is terminated and
    cleans up; only one that takes longer than PATIENCE_S is killed. `options`: of Popen."""
    process: subprocess.Popen[Any] | None = None
    try:
        with held():
            process = subprocess.Popen(command, **options)
        yield process
    finally:
        if process is not None:
            with process:  # waits, and closes its streams
                group = options.get("start_new_session", False)
                if process.poll() is None:
                    _end(process, signal.SIGTERM if gently else signal.SIGKILL, group)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(PATIENCE_S)
                if process.poll() is None:
                    _end(process, signal.SIGKILL, group)


def _end(process: subprocess.Popen[Any], number: signal.Signals, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number) if group else process.send_signal(number)
