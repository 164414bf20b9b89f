"""The wheel as strangers have it, outside a checkout, with and without extras. Every command works, or refuses in one
sentence that names the extra, and leaves nothing behind.

Nothing is downloaded. An environment is a new one that has the wheel, with links to distributions installed here: those
that the wheel, or its extra, asks for.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tidemark_conformance.cli import COMMANDS
from tidemark_conformance.extras import EXTRA_OF
from tidemark_conformance.paths import cache_root

ROOT = Path(__file__).parents[1]
Run = Callable[..., "subprocess.CompletedProcess[str]"]

AUDIT, SPARK = "pip install 'tidemark[audit]'", "pip install 'tidemark[spark]'"
PROVE = "pip install 'tidemark[prove]'"
TWO_PHASE = "--spec {spec} --config {config}"
REFUSED = [
    ("simulate replication --traces 2 -o out", AUDIT),
    ("simulate replication --traces 2 --format ndjson -o out", AUDIT),
    ("simulate composed --traces 2 -o out", AUDIT),
    ("hunt replication --steps 10", AUDIT),
    ("prove TwoPhaseInductive", PROVE),
    ("demo exactly-once --records 50 -o out", SPARK),
    (f"audit good.ndjson {TWO_PHASE}", AUDIT),
    (f"audit --local good.ndjson {TWO_PHASE}", AUDIT),
    (f"audit --master local[1] good.ndjson {TWO_PHASE}", SPARK),
    ("zoo CAND-1", SPARK),
    ("agree TwoPhase", AUDIT),
    ("bench --steps 1000", SPARK),
    ("verify", SPARK),
    ("logs dump --records codecs-0/00000000000000000000.log", "pip install 'tidemark[logs]'"),
    ("compile", "pip install 'tidemark[compile]'"),
    ("convert good.ndjson -o out.parquet", AUDIT),
    ("golden", "run this in a checkout of Tidemark"),
    ("docs", "is no checkout"),
]
"""Commands that the wheel alone refuses, and the words in its sentence."""
WORKING = [
    ("check TwoPhase", 0, "1 of 1 models as expected"),
    ("lint good.ndjson", 0, "1 file, 1 trace, 11 steps: clean"),
    (f"schema {TWO_PHASE}", 0, '"spec":"TwoPhase"'),
    ("explain bad.ndjson", 1, "trace tx-59 (bad.ndjson): FAIL at step 5 of 8"),
    ("rule ReachedEpochStart --no-run", 0, "ReachedEpochStart(b, f) == Guard("),
    ("logs dump 00000000000000000000.log", 0, "1 record  77 bytes  none  LogAppendTime"),
    ("reproduce", 0, "commitTransaction() returns"),
    ("doctor", 2, "needed things are missing"),
]
"""Commands that the wheel alone can run: the exit code, and a part of the output."""


def test_every_command_is_tried() -> None:
    assert {command.split()[0] for command, *_ in [*REFUSED, *WORKING]} == set(COMMANDS)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=300, cwd=folder)
    (found,) = folder.glob("tidemark-*.whl")
    return found


def installed(folder: Path, wheel: Path, *extras: str) -> Path:
    """Python of a new environment with the wheel and its requirements, these extras included."""
    venv.create(folder)
    python = folder / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, timeout=300)
    (packages,) = folder.glob("lib/python*/site-packages")
    (ours,) = importlib.metadata.distributions(name="tidemark", path=[str(packages)])
    for name in needed(ours, extras):
        for file in importlib.metadata.distribution(name).files or ():
            there = Path(str(importlib.metadata.distribution(name).locate_file(file.parts[0])))
            if file.parts[0] != ".." and there.exists() and not (packages / file.parts[0]).is_symlink():
                (packages / file.parts[0]).symlink_to(there)
    return python


def needed(distribution: importlib.metadata.Distribution, extras: tuple[str, ...]) -> set[str]:
    """The names of the distributions that one asks for, and those that these ask for."""
    found: set[str] = set()
    for requirement in distribution.requires or ():
        text, _, marker = requirement.partition(";")
        wanted = re.findall(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
        other = re.match(r"[\w.-]+", text)
        if other and (not wanted or set(wanted) & set(extras)) and _here(other[0]):
            found |= {other[0]} | needed(importlib.metadata.distribution(other[0]), ())
    return found


def _here(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False  # a marker asks for it on another Python or platform
    return True


def run(python: Path, here: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command in a folder that is no checkout, with the example's traces in it."""
    names = ("PYTHON", "TIDEMARK", "VIRTUAL", "SPARK")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    spec = next(python.parents[1].glob("lib/python*/site-packages/tidemark_conformance/_spec"))
    two_phase = {"spec": spec / "two_phase" / "TwoPhase.tla", "config": spec / "two_phase" / "TwoPhase.cfg"}
    given = [part.format(**two_phase) for part in command.split()]
    return subprocess.run(
        [str(python), "-m", "tidemark_conformance", *given],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=here,
        env={**environment, "TIDEMARK_CACHE": str(cache_root()), "COLUMNS": "200"},
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the foreign example's traces, and with segments of two logs: plain batches, and all codecs."""
    for name in ("good", "bad"):
        (tmp_path / f"{name}.ndjson").write_bytes((ROOT / f"traces/examples/two_phase/{name}.ndjson").read_bytes())
    segment = Path("00000000000000000000.log")
    (tmp_path / segment).write_bytes((ROOT / "tests/real_logs/broker/stamped-0" / segment).read_bytes())
    (tmp_path / "codecs-0").mkdir()
    (tmp_path / "codecs-0" / segment).write_bytes((ROOT / "tests/real_logs/broker/codecs-0" / segment).read_bytes())
    return tmp_path


@pytest.fixture(scope="session")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Without any extra."""
    return installed(tmp_path_factory.mktemp("bare"), wheel)


@pytest.mark.deep
@pytest.mark.parametrize(("command", "said"), REFUSED, ids=[command for command, _ in REFUSED])
def test_without_its_extra_a_command_refuses_and_leaves_nothing(
    bare: Path, here: Path, command: str, said: str
) -> None:
    before = sorted(here.iterdir())
    done = run(bare, here, command)
    assert done.returncode == 2, (done.stdout, done.stderr)
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"tidemark {command.split()[0]}: ")
    assert said in sentence
    assert sorted(here.iterdir()) == before


@pytest.mark.deep
@pytest.mark.parametrize(("command", "code", "said"), WORKING, ids=[command for command, *_ in WORKING])
def test_without_extras_a_command_works(bare: Path, here: Path, command: str, code: int, said: str) -> None:
    done = run(bare, here, command)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert said in done.stdout


@pytest.mark.deep
def test_with_the_audit_s_extra_traces_are_simulated_and_audited(
    wheel: Path, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """And commands that need Spark say so; with it too, golden scenarios are a checkout's."""
    python = installed(tmp_path_factory.mktemp("audit"), wheel, "audit")
    does = partial(run, python, here)
    for command, said in (
        ("simulate replication --traces 3 -o out", "3 traces"),
        ("lint out", "3 traces"),
        ("audit --local out", "PASS 3"),
        ("convert good.ndjson -o good.parquet", "1 trace"),
    ):
        done = does(command)
        assert done.returncode == 0, (command, done.stderr)
        assert said in done.stdout, command
    for command, code, said in (
        ("audit --master local[1] out", 2, SPARK),
        ("verify", 2, SPARK),
        ("golden", 2, "run this in a checkout of Tidemark"),
    ):
        done = does(command)
        assert done.returncode == code, command
        assert said in done.stderr, command
        assert "Traceback" not in done.stderr, command


def test_extras_are_those_of_the_project() -> None:
    """The extra that brings a package is in pyproject.toml, and the package, or the one that brings it, is in the
    extra."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(EXTRA_OF.values()) <= set(extras)
    brings = {"py4j": "pyspark", "mypyc": "mypy[mypyc]", "z3": "z3-solver", "mypy": "mypy[mypyc]"}
    for package, extra in EXTRA_OF.items():
        names = {re.split(r"[<>=]", requirement)[0] for requirement in extras[extra]}
        assert brings.get(package, package) in names, package
