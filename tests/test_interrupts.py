"""A command that is interrupted or terminated leaves nothing behind: no process, no folder, no traceback."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import EXAMPLES
from tidemark_conformance.commands import agree
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.verify import clean

PATIENCE_S = 120
MODELS = ("TwoPhase", "TwoPhaseFlawed", "TwoPhaseForgets")
"""One more than there are processes on two cores."""
pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


def _marked(mark: str, text: str) -> list[int]:
    """The processes whose environment has the mark and whose command line has the text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() and text in (folder / "cmdline").read_text():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def _until(condition: Any) -> bool:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


BEGUN = {"audit": "pyspark-shell", "prove": "spawn_main"}
"""A word of the process by which a command has begun."""


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "MCElections", "--no-cache"],
        ["agree", *(f"--model={name}" for name in MODELS), "--backend", "python"],
        ["audit", str(EXAMPLES / "two_phase" / "good.ndjson"), "--spark"],
        ["prove", "ReplicationInductive"],
    ],
    ids=["check", "agree", "audit", "prove"],
)
def test_nothing_is_left(arguments: list[str], number: signal.Signals, tmp_path: Path) -> None:
    """The signal comes when the command's Java has just started, or some seconds after its
    provers have. The provers may end by themselves meanwhile: the test says only that nothing is left."""
    mark = f"MARK={uuid.uuid4().hex}"
    environment = {**os.environ, "MARK": mark.partition("=")[2], "TMPDIR": str(tmp_path)}
    if arguments[0] == "agree":
        environment["TIDEMARK_CACHE"] = str(tmp_path / "cache")
    command = [sys.executable, "-m", "tidemark_conformance.cli", *arguments]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert _until(lambda: _marked(mark, BEGUN.get(arguments[0], "tlc2.TLC")))
        time.sleep(5 if arguments[0] == "prove" else 0)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] in (f"tidemark {arguments[0]}: terminated", f"tidemark {arguments[0]}: interrupted")
    assert ("starting Spark" in said.splitlines()) is (arguments[0] == "audit")
    assert "Traceback" not in said
    assert _until(lambda: not _marked(mark, ""))
    assert list(tmp_path.glob("tidemark-*")) == []
    assert not (tmp_path / "cache" / "verdicts").exists(), "a comparison went on to its end"


ENDING = """
import os, signal
from tidemark_conformance.processes import raise_on_sigterm
raise_on_sigterm(SystemExit)
try:
    os.kill(os.getpid(), signal.SIGTERM)
    print("goes on")
finally:
    os.kill(os.getpid(), signal.SIGTERM)
    print("cleaned up")
"""


def test_a_second_signal_does_not_interrupt_the_cleaning_up() -> None:
    """The pool of tidemark agree terminates its processes again when one of them is gone."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "cleaned up\n", "")


BEGINNING = """
import os, signal, subprocess, sys, tempfile
from pathlib import Path
from tidemark_conformance.commands import agree
from tidemark_conformance.paths import temporary_folder
from tidemark_conformance.processes import raise_on_sigterm, started

def signalled(make):
    def made(*arguments, **options):
        found = make(*arguments, **options)
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
        print("made", flush=True)
        return found
    return made

raise_on_sigterm(SystemExit)
try:
    if sys.argv[1] == "folder":
        tempfile.mkdtemp = signalled(tempfile.mkdtemp)
        with temporary_folder("tidemark-test-"):
            print("goes on")
    else:
        subprocess.Popen = signalled(subprocess.Popen)
        with started(["sleep", "60"], start_new_session=True):
            print("goes on")
except KeyboardInterrupt:
    pass
"""


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize("thing", ["folder", "process"])
def test_a_signal_while_a_thing_is_made(thing: str, number: str, tmp_path: Path) -> None:
    """It waits until the maker of the folder, or the process, can remove it."""
    mark = uuid.uuid4().hex
    ended = subprocess.run(
        [sys.executable, "-c", BEGINNING, thing, number],
        env={**os.environ, "TMPDIR": str(tmp_path), "MARK": mark},
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "made\n", "")
    assert list(tmp_path.iterdir()) == []
    assert not _marked(f"MARK={mark}", "sleep")


def test_a_signal_when_a_block_is_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller does not know it yet: the frames of the exception have the blocks that are to be ended."""

    def once(*_: object) -> None:
        context = temporary_folder("tidemark-test-", tmp_path)
        context.__enter__()
        raise SystemExit

    class Ended(Exception):
        pass

    def end(_: int) -> None:
        assert list(tmp_path.iterdir()) == []
        raise Ended

    monkeypatch.setattr(agree, "_once", once)
    monkeypatch.setattr(os, "_exit", end)
    arguments: Any = None
    with pytest.raises(Ended):
        agree._elsewhere(arguments, "", arguments)


def test_a_signal_while_a_folder_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    remove = shutil.rmtree

    def interrupted(folder: Path, **_: Any) -> None:
        monkeypatch.setattr(shutil, "rmtree", remove)
        (folder / "first").rmdir()
        raise SystemExit

    context = temporary_folder("tidemark-test-")
    folder = context.__enter__()
    for name in ("first", "second"):
        (folder / name).mkdir()
    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(SystemExit):
        context.__exit__(None, None, None)
    assert not folder.exists()


def test_only_old_runs_of_the_same_protocol_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    specification: Any = SimpleNamespace(constants={}, hash="0")
    used = clean._folder("replication", {"traces": 1}, specification)
    others = [f"replication-1-{'1' * 16}", f"replication-again-1-{'0' * 16}", f"replication-12-{'0' * 16}"]
    names = [f"replication-1-{'0' * 16}", *others, used.name]
    for name in names:
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / clean.MANIFEST).write_text("{}")
        if name != names[1]:  # somebody else's, in use
            os.utime(tmp_path / "runs" / name, (0, 0))
    assert clean._folder("replication", {"traces": 1}, specification) == used
    assert sorted(folder.name for folder in (tmp_path / "runs").iterdir()) == sorted(names[1:])
    assert time.time() - used.stat().st_mtime < PATIENCE_S
