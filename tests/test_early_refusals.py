"""Errors in an input's names and headers are reported before a compiler, a JVM or Spark starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import TwoPhase
from tidemark_conformance.trace.convert import convert
from trace_lines import header_of, signed, traces_of, write

WATCHED = """
import subprocess, sys
def refuse(*_, **__):
    raise AssertionError("a process is started")
subprocess.Popen.__init__ = refuse
from tidemark_conformance.cli import main
code = main(sys.argv[1:])
print([name for name in ("pyspark", "py4j", "llvmlite") if name in sys.modules])
sys.exit(code)
"""
"""No process at all is started: no JVM, and none of SANY; llvmlite, which compiles, is not even loaded."""

CASES: list[tuple[str, dict[str, Any], list[str], str]] = [
    ("hash", {"spec_hash": "0" * 64}, [], "written for another text of TwoPhase"),
    ("version", {"version": 9}, [], "trace format version 9"),
    ("name", {"spec": "Elsewhere"}, [], "which is not in"),
    ("variable", {"variables": {}}, [], "has variable rmState = nothing"),
    ("action", {"actions": [{"name": "Explode", "params": {}}]}, [], "lists other actions"),
    ("constant", {"constants": {"RM": ["r1"]}}, [], 'has constant RM = ["r1"]'),
    ("no header", {"tidemark": "log"}, [], "does not start with a trace header"),
    ("--spec", {}, ["--spec", "/nowhere/F.tla", "--config", "/nowhere/F.cfg"], "/nowhere/F.tla does not exist"),
    ("--without", {}, ["--without", "NoSuchRule"], "is no rule of TwoPhase"),
    ("--max-undecided", {}, ["--max-undecided", "some"], "is no number of traces"),
]


def _refused(arguments: list[str], folder: Path, said: str, cache: Path | None = None) -> None:
    environment = {**os.environ, **({"TIDEMARK_CACHE": str(cache)} if cache else {})}
    command = [sys.executable, "-c", WATCHED, "audit", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "[]\n"), done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.deep
@pytest.mark.parametrize(("name", "change", "arguments", "said"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("engine", [[], ["--spark"]], ids=["default", "spark"])
def test_a_mistake_in_a_header_starts_nothing(
    engine: list[str],
    name: str,
    change: dict[str, Any],
    arguments: list[str],
    said: str,
    two_phase: TwoPhase,
    tmp_path: Path,
) -> None:
    """With the specification in the cache, in the second of two files."""
    header = header_of(two_phase.good)
    write(tmp_path / "in" / "a.ndjson", header, traces_of(two_phase.good)[:1])
    write(tmp_path / "in" / "b.ndjson", {**header, **change}, traces_of(two_phase.good)[1:2])
    if name in ("name", "no header"):
        (tmp_path / "in" / "a.ndjson").unlink()
    _refused([str(tmp_path / "in"), *arguments, *engine], tmp_path, said)


def test_paths_and_forms_start_nothing(two_phase: TwoPhase, tmp_path: Path) -> None:
    """With nothing in the cache: no specification is parsed."""
    cache = tmp_path / "cache"
    for path in ("nonexistent", "a" * 300, "nowhere/a.ndjson"):
        _refused([path], tmp_path, f"{path} does not exist", cache)
        _refused([path, "--local"], tmp_path, f"{path} does not exist", cache)
    folder = tmp_path / "in"
    folder.mkdir()
    shutil.copy(two_phase.good, folder / "a.ndjson")
    convert([two_phase.good], folder / "b.parquet", two_phase.schema)
    _refused([str(folder)], tmp_path, "mixes forms", cache)
    (tmp_path / "empty").mkdir()
    _refused(["empty"], tmp_path, "holds no trace file", cache)
    (tmp_path / "b.csv").write_text("")
    _refused(["b.csv"], tmp_path, "is no trace file by its name", cache)


def test_what_needs_no_parser_is_said_before_it_starts(two_phase: TwoPhase, tmp_path: Path) -> None:
    """With nothing in the cache SANY would run, which is a JVM's start: names and constants are compared before."""
    cache = tmp_path / "cache"
    for file in (two_phase.specification.path, two_phase.specification.cfg):
        shutil.copy(file, tmp_path / file.name)
    spec, config = tmp_path / "TwoPhase.tla", tmp_path / "TwoPhase.cfg"
    header = header_of(two_phase.good)
    path = write(tmp_path / "a.ndjson", {**header, "spec": "Elsewhere"}, [])
    given = ["--spec", str(spec), "--config", str(config)]
    _refused([str(path), *given], tmp_path, "neither is nor extends that module", cache)
    path = write(tmp_path / "a.ndjson", {**header, "constants": {"RM": ["r1"]}}, [])
    _refused([str(path), *given], tmp_path, 'the traces have constant RM = ["r1"]', cache)
    _refused([str(path), "--spec", "no.tla"], tmp_path, "no.tla does not exist", cache)
    _refused([str(path), *given[:2], "--config", "no.cfg"], tmp_path, "no.cfg does not exist", cache)


# --- other ways to start it ---------------------------------------------------------------------------------------


def test_the_package_is_a_program(two_phase: TwoPhase) -> None:
    command = [sys.executable, "-m", "tidemark_conformance", "audit", "--local", str(two_phase.hasty), "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (done.returncode, json.loads(done.stdout)["traces"]) == (1, 30), done.stderr


@pytest.mark.deep
def test_spark_submit_runs_an_audit(two_phase: TwoPhase, tmp_path: Path) -> None:
    """By the file that the wheel has for it: a program without `.py` is none to spark-submit."""
    where = subprocess.run(
        [sys.executable, "-m", "tidemark_conformance.submit", "--where"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert Path(where).name == "submit.py"
    submit = Path(sys.executable).with_name("spark-submit")
    target = tmp_path / "audit.json"
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [str(submit), "--master", "local[1]", "--conf", "spark.ui.enabled=false", where]
    command += ["audit", str(two_phase.hasty), "--json", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment, cwd=tmp_path)
    assert done.returncode == 1, done.stderr[-2000:]
    document = json.loads(target.read_text())
    assert (document["traces"], document["ok"]) == (30, False)


def test_a_wrong_value_in_the_first_trace_starts_nothing(two_phase: TwoPhase, tmp_path: Path) -> None:
    first, *rest = traces_of(two_phase.good)
    start = {**first[0], "state": {**first[0]["state"], "rmState": [["r1", "working"]]}}
    path = write(tmp_path / "t.ndjson", header_of(two_phase.good), [signed([start, *first[1:]]), *rest])
    said = 't.ndjson:2: step 0 of trace tx-0: variable rmState: [["r1","working"]] where a function (an object) is'
    _refused([str(path)], tmp_path, said)
