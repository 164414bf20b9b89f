"""The archive of the classes that nodes and clients load: made once for a release, from a small cluster that runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import replace
from pathlib import Path

from tidemark_conformance import cache, paths
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab import play
from tidemark_conformance.lab.runtime import LEAN, Runtime
from tidemark_conformance.lab.schedule import read

SCHEDULE = Path(__file__).with_name("training.toml")
BUDGET_S = 300.0
PROXY_WORDS, INVOKER_WORDS = 9, (2, 4)
"""Of a line of a list of classes, behind its kind; the line of a class has its name alone."""


def train(runtime: Runtime) -> bool:
    """Make the archive, if it is not there; whether it is there now. Without it everything takes longer."""
    if toolchain.archived(runtime.archive):
        return True
    with paths.temporary_folder("tidemark-lab-") as room:
        lists = room / "lists"
        lists.mkdir()
        play.play(read(SCHEDULE), replace(runtime, learning=lists), room / "run", lambda *_: None)
        lines = dict.fromkeys(line for file in sorted(lists.iterdir()) for line in _whole(file))
        (room / "classes").write_text("".join(lines), encoding="utf-8")
        draft = runtime.archive.with_name(f".{runtime.archive.name}.{os.getpid()}")
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={room / 'classes'}", f"-XX:SharedArchiveFile={draft}"]
        path = os.pathsep.join(map(str, runtime.jars))
        quiet = subprocess.DEVNULL
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            command = [str(runtime.java), LEAN[0], *dump, "-cp", path]
            subprocess.run(command, stdin=quiet, stdout=quiet, stderr=quiet, timeout=BUDGET_S, check=False)
        if draft.is_file():
            os.replace(draft, runtime.archive)
            cache.seal(runtime.archive)
            toolchain.archived.cache_clear()
    return toolchain.archived(runtime.archive)


def _whole(file: Path) -> list[str]:
    """The lines of a list. Left out are one that a killed process has not ended, and those that two threads have
    written into one another: Java makes no archive from such a list."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n") and _is_entry(line.split())]


def _is_entry(words: list[str]) -> bool:
    match words:
        case ["@lambda-proxy", *rest]:
            return len(rest) == PROXY_WORDS
        case ["@lambda-form-invoker", *rest]:
            return len(rest) in INVOKER_WORDS
        case _:
            return len(words) == 1
