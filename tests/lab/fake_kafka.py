"""A `java` that plays Kafka's nodes and clients, for tests of the lab without Kafka.

A node says that it serves, and then sleeps. Nothing is done to format folders. A client answers each call with
what ANSWERS (JSON: call -> answer) has for it, else with "done"; one that ANSWERS names with null is not answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab.runtime import Runtime


def main(words: list[str]) -> None:
    """Play the class that a command line of Java names."""
    if "-version" in words:
        print('openjdk version "17.0.1" 2021-10-19', file=sys.stderr)
    elif "kafka.Kafka" in words:
        print("[2026-01-01 00:00:00,000] INFO Kafka Server started (kafka.server.KafkaRaftServer)", flush=True)
        time.sleep(600)
    elif "Driver" in words and "format" not in words:
        answers: dict[str, Any] = json.loads(os.environ.get("ANSWERS", "{}"))
        for line in sys.stdin:
            call = json.loads(line)
            answer = answers.get(call["do"], {"ok": ["done"]})
            if answer is not None:
                print(json.dumps({"id": call["id"], **answer}), flush=True)


def marked(mark: str) -> list[int]:
    """The processes that a process with MARK in its environment has started, but for that one."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"MARK={mark}".encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def jdk(folder: Path) -> Path:
    """A JAVA_HOME whose `java` is this file, and whose `javac` makes a class."""
    home = folder / "jdk" / "bin"
    home.mkdir(parents=True)
    java = f'#!/bin/sh\nexec {sys.executable} {__file__} "$@"\n'
    javac = '#!/bin/sh\nwhile [ "$1" != -d ]; do shift; done\ntouch "$2/Driver.class"\n'
    for name, text in (("java", java), ("javac", javac)):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    return home.parent


def runtime(folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> Runtime:
    """A runtime of that `java`, whose clients answer so."""
    monkeypatch.setenv("ANSWERS", json.dumps(answers))
    toolchain.archived.cache_clear()
    return Runtime("4.3.1", jdk(folder) / "bin" / "java", (), folder / "no.jsa")


if __name__ == "__main__":
    main(sys.argv[1:])
