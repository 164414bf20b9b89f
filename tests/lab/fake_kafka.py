"""A JDK whose `java` plays Kafka's nodes and clients, for tests of the lab without Kafka.

A node says that it serves, and then sleeps. Nothing is done to format folders. A client is `fake_driver.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance.java import toolchain
from tidemark_conformance.lab.runtime import Runtime

JAVA = f"""#!/bin/sh
case "$*" in
  *-version*) echo 'openjdk version "17.0.1" 2021-10-19' >&2;;
  *" format "*) ;;
  *kafka.Kafka*) echo "[2026-01-01 00:00:00,000] INFO Kafka Server started (kafka.server.Server)"; exec sleep 600;;
  *) exec {sys.executable} -I -S {Path(__file__).with_name("fake_driver.py")};;
esac
"""
JAVAC = '#!/bin/sh\nwhile [ "$1" != -d ]; do shift; done\ntouch "$2/Driver.class"\n'


def jdk(folder: Path) -> Path:
    """A JAVA_HOME whose `java` plays Kafka, and whose `javac` makes a class."""
    home = folder / "jdk" / "bin"
    home.mkdir(parents=True)
    for name, text in (("java", JAVA), ("javac", JAVAC)):
        (home / name).write_text(text)
        (home / name).chmod(0o755)
    return home.parent


def runtime(folder: Path, monkeypatch: pytest.MonkeyPatch, **answers: Any) -> Runtime:
    """A runtime of that `java`, whose clients answer so."""
    monkeypatch.setenv("ANSWERS", json.dumps(answers))
    toolchain.archived.cache_clear()
    return Runtime("4.3.1", jdk(folder) / "bin" / "java", (), folder / "no.jsa")


def marked(mark: str) -> list[int]:
    """The processes with this MARK in their environment, but for our own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"MARK={mark}".encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found
