"""The implementation as mypyc compiles it: the traces of the modules as they are, never those of older modules."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tidemark_conformance import cache
from tidemark_conformance.cli import main
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled, packages
from tidemark_conformance.verify import prepare

HERE = Path(__file__).parent
THERE = compiled.hindrance() == ""
needs_a_compiler = pytest.mark.skipif(not THERE, reason=compiled.hindrance())
MODULES = {
    "__init__.py": "",
    "common/__init__.py": "",
    "common/errors.py": "class Wrong(Exception):\n    pass\n",
    "common/structs.py": (
        "from dataclasses import dataclass\n\n\ndef value(cls):\n    return dataclass(slots=True)(cls)\n"
    ),
    "common/marks.py": (
        "from typing import Any\n\n_MARKED: set[Any] = set()\n\n\n"
        "def mark(one: Any) -> None:\n    _MARKED.add(one)\n\n\n"
        "def marked(one: Any) -> bool:\n    return one in _MARKED\n"
    ),
    "sums.py": "def total(n: int, more: int) -> int:\n    return n + more\n",
    "counter.py": (
        "from tidemark.common.errors import Wrong\nfrom tidemark.common.marks import mark\n"
        "from tidemark.common.structs import value\n"
        "from tidemark.sums import total\n\n\n"
        "@value\nclass Counter:\n    n: int = 0\n\n    def add(self, more: int) -> int:\n"
        "        if more < 0:\n            raise Wrong\n        return total(self.n, more)\n"
        "\n\nmark(Counter)\n"
    ),
}
ASKED = (
    "from tidemark_conformance.implementation import compiled; used = compiled.use(); "
    "from tidemark.counter import Counter; import tidemark.counter as at; "
    "print(used, Counter(1).add(1), at.__file__.rpartition('.')[2])"
)
MARKED = (
    "import tidemark.common.errors; from tidemark_conformance.implementation import compiled; compiled.use(); "
    "import tidemark.common.marks as marks; from tidemark.counter import Counter; "
    "print(marks.__file__.rpartition('.')[2], marks.marked(Counter))"
)
"""A module of `common` is asked for the names that have marked themselves there. Another one of `common` had been
loaded before."""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A little implementation in a folder of its own; asks a new process for its counts and its modules."""
    for name, text in MODULES.items():
        file = tmp_path / "tidemark" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "sources", lambda _: [tmp_path / "tidemark"])
    monkeypatch.setattr(compiled, "sources", lambda _: [tmp_path / "tidemark"])

    def ask(program: str = ASKED, **more: str) -> str:
        unset = (compiled.INTERPRETED, "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if name not in unset}
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        environment |= {"PYTHONPATH": path, **more}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    return ask


@pytest.mark.deep
@needs_a_compiler
def test_what_is_compiled_writes_the_same_traces() -> None:
    compiled.build()
    program = [sys.executable, str(HERE / "digests.py")]
    plain = {name: value for name, value in os.environ.items() if name != compiled.INTERPRETED}
    asked = [(compiled.INTERPRETED, "1")], []
    slow, fast = (
        json.loads(subprocess.run(program, env=plain | dict(more), capture_output=True, text=True, check=True).stdout)
        for more in asked
    )
    assert (slow["compiled"], fast["compiled"]) == (False, True)
    assert len(slow["digests"]) > 150
    assert fast["digests"] == slow["digests"]


UNDECLARED = """
import sys
from tidemark_conformance.implementation import compiled
used = compiled.use()
from tidemark.classic_group import abstraction
abstraction.TOUCHES["SendHeartbeat"] = "position.c"
from tidemark_conformance.cli import main
sys.exit(10 * main(["simulate", "classic-group", "--traces", "1", "-o", sys.argv[1]]) + used)
"""


@pytest.mark.deep
@needs_a_compiler
def test_what_is_compiled_is_watched_as_well(tmp_path: Path) -> None:
    """Exit code 1 of the command, and the modules are compiled ones."""
    compiled.build()
    plain = {name: value for name, value in os.environ.items() if name != compiled.INTERPRETED}
    command = [sys.executable, "-c", UNDECLARED, str(tmp_path / "out")]
    done = subprocess.run(command, env=plain, capture_output=True, text=True)
    assert done.returncode == 11, done.stderr
    assert "seed 0, step " in done.stderr
    assert "heartbeatRpc[" in done.stderr


@pytest.mark.parametrize("command", ["bench", "demo", "explain", "golden", "hunt", "simulate", "verify"])
def test_a_command_that_simulates_loads_no_module_that_is_compiled_too_early(command: str) -> None:
    """A process that has loaded one as it is runs all of them so: several times slower, with the same results."""
    apart = {"tidemark.common", *(f"tidemark.common.{name}" for name in compiled.AS_THEY_ARE)}
    asked = f"import sys, tidemark_conformance.commands.{command}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("tidemark.")}
    assert f"tidemark_conformance.commands.{command}" in done.stdout.split()
    assert loaded <= apart


@pytest.mark.deep
@needs_a_compiler
def test_a_module_that_has_changed_is_not_run_as_it_was(small: Callable[..., str], tmp_path: Path) -> None:
    assert small() == "False 2 py"
    home = compiled.build()
    assert small() == "True 2 so"
    assert small(**{compiled.INTERPRETED: "1"}) == "False 2 py"
    assert small("import tidemark.counter; " + ASKED) == "False 2 py"
    assert small("import tidemark.common.errors; " + ASKED) == "True 2 so"
    assert small(MARKED) == "so True"
    file = tmp_path / "tidemark" / "counter.py"
    file.write_text(file.read_text().replace("self.n, more", "self.n, 2 * more"))
    assert small() == "False 3 py"
    assert compiled.build() != home
    assert small() == "True 3 so"


@pytest.mark.deep
@needs_a_compiler
def test_what_is_compiled_is_used_by_one_process_after_the_other(small: Callable[..., str]) -> None:
    """An import from the folder leaves it as it was sealed, however Python was started."""
    home = compiled.build()
    for level in ("0", "1", "2", "0"):
        assert small(PYTHONOPTIMIZE=level) == "True 2 so", level
        assert cache.sealed(home)


@pytest.mark.deep
@needs_a_compiler
def test_what_is_compiled_is_kept(small: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    home = compiled.build()
    assert small() == "True 2 so"
    monkeypatch.setattr(compiled, "hindrance", lambda: "nothing can be compiled any more")
    assert compiled.build() == home
    assert main(["compile"]) == 0


@pytest.mark.deep
@needs_a_compiler
def test_what_was_compiled_of_other_sources_goes_when_nobody_uses_it(small: Callable[..., str], tmp_path: Path) -> None:
    old, used = (tmp_path / "cache" / "compiled" / name for name in ("old", "used"))
    for folder in (old, used):
        folder.mkdir(parents=True)
    before = time.time() - compiled.UNUSED_S - 60
    os.utime(old, (before, before))
    home = compiled.build()
    assert sorted(home.parent.iterdir()) == sorted([home, used])
    os.utime(home, (before, before))
    small()
    assert home.stat().st_mtime > before + compiled.UNUSED_S


@needs_a_compiler
def test_what_cannot_be_compiled_says_why_and_leaves_nothing(
    small: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "tidemark" / "counter.py"
    file.write_text(file.read_text().replace("return total(self.n, more)", "return 'many'"))
    assert main(["compile"]) == 2
    said = capsys.readouterr().err
    assert "could not be compiled" in said
    assert "counter.py" in said
    log = tmp_path / "cache" / "compiled.log"
    assert str(log) in said
    assert "counter.py" in log.read_text()
    assert list((tmp_path / "cache" / "compiled").iterdir()) == []
    assert small("from tidemark.counter import Counter; print(Counter(1).add(1))") == "many"


@pytest.mark.parametrize("tool", ["mypy", "setuptools"])
def test_what_another_version_of_a_tool_compiled_is_not_used(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home, version = compiled.folder(), compiled.version
    monkeypatch.setattr(compiled, "version", lambda one: "0.1" if one == tool else version(one))
    assert compiled.folder() != home
    monkeypatch.setattr(compiled, "version", version)
    assert compiled.folder() == home


def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O")


def _no_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/nowhere")


def _no_mypyc(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "mypyc" else find(name))


@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        (_no_compiler, "there is no C compiler (no-such-compiler) here; install one"),
        (_no_headers, "Python's headers are not here (/nowhere/Python.h)"),
        (_no_mypyc, "compiling needs mypyc, which is not installed; run `pip install 'tidemark[compile]'`"),
    ],
)
def test_what_compiling_needs(
    lacking: Callable[[pytest.MonkeyPatch], None],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if lacking is not _no_compiler and not THERE:
        pytest.skip(compiled.hindrance())
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    lacking(monkeypatch)
    assert main(["compile"]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "compiled").exists()


@needs_a_compiler
def test_compiling_that_is_ended_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEMARK_CACHE", str(tmp_path))
    root = tmp_path / "compiled"

    def begun() -> bool:
        return any(root.glob("draft-*/tidemark/replication/sim/run.py"))

    def interrupted() -> None:
        end = time.monotonic() + 60
        while not begun() and time.monotonic() < end:
            time.sleep(0.05)
        assert begun()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), prepare.compiling(True):
        interrupted()
    assert list(root.iterdir()) == []


def test_two_who_compile_at_a_time_compile_once(small: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    del small
    home, calls = compiled.folder(), []

    def compile_(draft: Path) -> None:
        calls.append(draft)
        (draft / "ours").touch()
        time.sleep(0.2)  # long enough for the others to look

    monkeypatch.setattr(compiled, "hindrance", lambda: "")
    monkeypatch.setattr(compiled, "_compile", compile_)
    with ThreadPoolExecutor(4) as pool:
        assert {one.result() for one in [pool.submit(compiled.build) for _ in range(4)]} == {home}
    assert len(calls) == 1
    assert [one.name for one in home.parent.iterdir()] == [home.name]


def test_what_goes_wrong_with_the_folder_is_no_success(
    small: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    del small

    def compile_(draft: Path) -> Any:
        raise Unusable("no")

    monkeypatch.setattr(compiled, "hindrance", lambda: "")
    monkeypatch.setattr(compiled, "_compile", compile_)
    with pytest.raises(Unusable):
        compiled.build()
    assert not compiled.folder().exists()
