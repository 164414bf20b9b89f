"""An audit without Spark: the same document, from the same parts, by processes that leave nothing behind."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import TwoPhase
from pyspark.sql import SparkSession
from tidemark_conformance.audit import audit as audits
from tidemark_conformance.audit import local, parts
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.audit.inputs import open_here
from tidemark_conformance.audit.judge import judge_for
from tidemark_conformance.audit.options import Options
from tidemark_conformance.audit.parts import Job
from tidemark_conformance.audit.tally import Tally
from tidemark_conformance.cli import main
from tidemark_conformance.console.progress import Silent
from tidemark_conformance.errors import Unusable
from tidemark_conformance.trace import ranges as ranges_module
from tidemark_conformance.trace.convert import convert
from tidemark_conformance.trace.ranges import Range, ranges
from trace_lines import header_of, signed, traces_of, write

Make = Callable[[TwoPhase, Path], list[Path]]


def _good(two_phase: TwoPhase, _: Path) -> list[Path]:
    return [two_phase.good]


def _failing(two_phase: TwoPhase, folder: Path) -> list[Path]:
    """Two files, one of them packed, whose ids are their own."""
    text = two_phase.good.read_text().replace('"tx-', '"good-')
    (folder / "good.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "hasty.ndjson").write_bytes(two_phase.hasty.read_bytes())
    return [folder]


def _damaged(two_phase: TwoPhase, folder: Path) -> list[Path]:
    first, second, third, fourth, *rest = traces_of(two_phase.hasty)
    start = {**fourth[0], "state": {**fourth[0]["state"], "tmState": "aborted"}}
    spoilt = [first[:-1], signed(second[:2] + second[3:]), third, signed([start, *fourth[1:]]), *map(signed, rest)]
    path = write(folder / "a.ndjson", header_of(two_phase.hasty), spoilt)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:40], b"\x00{\n", *lines[40:]]))
    return [path]


def _packed(two_phase: TwoPhase, folder: Path) -> list[Path]:
    """Two Parquet files of several row groups."""
    for source in (two_phase.good, two_phase.hasty):
        convert([source], folder / "whole.parquet", two_phase.schema)
        table = pq.read_table(folder / "whole.parquet")
        names = [f"{source.stem}-{one}" for one in table["trace"].to_pylist()]
        table = table.set_column(0, "trace", [names])
        pq.write_table(table, folder / f"{source.stem}.parquet", row_group_size=7)
        (folder / "whole.parquet").unlink()
    return [folder]


INPUTS: list[Make] = [_good, _failing, _damaged, _packed]


def _document(
    session: SparkSession | None, paths: list[Path], two_phase: TwoPhase, options: Options | None = None
) -> dict[str, Any]:
    return {**audit(session, list(map(str, paths)), two_phase.specification, options).document(), "seconds": 0}


@pytest.mark.deep
@pytest.mark.parametrize("make", INPUTS, ids=[one.__name__[1:] for one in INPUTS])
@pytest.mark.parametrize("processes", [1, 2])
def test_both_engines_say_the_same(
    processes: int,
    make: Make,
    two_phase: TwoPhase,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one process and in a pool, of files in several ranges and row groups."""
    monkeypatch.setattr(ranges_module, "RANGE_BYTES", 3000)
    monkeypatch.setattr(local, "POOL_BYTES", dict.fromkeys(local.POOL_BYTES, 0 if processes == 2 else 1 << 40))
    monkeypatch.setattr(local, "cores", lambda: 2)
    paths = make(two_phase, tmp_path)
    here = _document(None, paths, two_phase)
    assert here == _document(spark, paths, two_phase)
    assert here["traces"] >= 30
    assert len({*here["verdicts"].values()}) > 1


def test_a_job_of_spark_is_as_many_tasks_as_there_are_ranges(
    two_phase: TwoPhase, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file was one task, so one core."""
    seen: list[int] = []

    def told(session: SparkSession, job: Job) -> Any:
        frame = original(session, job)
        seen.append(frame.rdd.getNumPartitions())
        return frame

    original = audits._numbers
    monkeypatch.setattr(audits, "_numbers", told)
    monkeypatch.setattr(ranges_module, "RANGE_BYTES", 3000)
    wanted = len(ranges([str(two_phase.good)]))
    assert audit(spark, [str(two_phase.good)], two_phase.specification).passed == 30
    assert seen == [wanted]
    assert wanted > 4


# --- ranges -------------------------------------------------------------------------------------------------------


def _tally(two_phase: TwoPhase, pieces: list[Range]) -> Tally:
    header = two_phase.schema.header
    job = Job(two_phase.specification, header, (), False, 0)
    judge = judge_for(two_phase.specification)
    whole = judge.tally()
    for piece in pieces:
        one = judge.tally()
        parts.judge_range(job, judge, one, piece)
        whole.merge(one)
    return whole


def _told(tally: Tally) -> tuple[object, ...]:
    ids = sorted(int(one) for array in tally.ids for one in array)
    groups = {key: (one.traces, one.examples) for key, one in [*tally.failures.items(), *tally.undecided.items()]}
    return tally.traces, tally.steps, tally.verdicts.tolist(), tally.actions.tolist(), ids, groups, tally.refused


def test_a_file_may_be_parted_at_every_byte(two_phase: TwoPhase, tmp_path: Path) -> None:
    """The byte may lie in damage, in lines that are none, in a trace without end, or in one whose lines are apart."""
    (path,) = _damaged(two_phase, tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)[:60]
    path.write_bytes(b"".join([lines[0], b"\n", *lines[1:45], b'"end"\n', *lines[45:]]).removesuffix(b"\n"))
    size = path.stat().st_size
    wanted = _told(_tally(two_phase, [Range(str(path))]))
    seen: dict[tuple[Range, ...], int] = {}
    for at in range(1, size + 2):
        pieces = ranges([str(path)], at)
        assert [piece.start for piece in pieces] == [0, *(piece.end for piece in pieces[:-1])]
        assert pieces[-1].end is None
        seen.setdefault(tuple(pieces), at)
    assert len(seen) > 5
    for pieces in map(list, seen):
        assert _told(_tally(two_phase, pieces)) == wanted


def test_a_message_has_the_line_of_the_file(two_phase: TwoPhase, tmp_path: Path) -> None:
    traces = traces_of(two_phase.good)[:6]
    wrong = [traces[4][0], {**traces[4][1], "action": "RMExplode"}, *traces[4][2:]]
    path = write(tmp_path / "a.ndjson", header_of(two_phase.good), [*map(signed, traces[:4]), signed(wrong)])
    (line,) = [number for number, text in enumerate(path.read_text().splitlines(), 1) if "RMExplode" in text]
    for size in (1, 2000, 1 << 20):
        (said,) = _tally(two_phase, ranges([str(path)], size)).refused
        assert said.startswith(f"{path}:{line}: step 1 of trace tx-4")


def test_a_packed_file_is_one_range(two_phase: TwoPhase, tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson.gz"
    path.write_bytes(gzip.compress(two_phase.good.read_bytes()))
    assert ranges([str(path)], 100) == [Range(str(path))]


# --- ids ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("remembered", [0, 1 << 30])
@pytest.mark.parametrize("form", ["ndjson", "parquet"])
def test_an_id_that_stands_twice_is_found_in_other_parts(
    form: str, remembered: int, two_phase: TwoPhase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audits, "REMEMBERED_IDS", remembered)
    monkeypatch.setattr(ranges_module, "RANGE_BYTES", 2000)
    for name in ("a", "b"):
        path = write(tmp_path / f"{name}.ndjson", header_of(two_phase.good), traces_of(two_phase.good)[:3])
        if form == "parquet":
            convert([path], tmp_path / f"{name}.parquet", two_phase.schema)
            path.unlink()
    with pytest.raises(Unusable, match="trace tx-0 stands twice"):
        audit(None, [str(tmp_path)], two_phase.specification)


# --- the pool -----------------------------------------------------------------------------------------------------


def test_a_process_that_dies_is_one_sentence(
    two_phase: TwoPhase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And none of the others is left."""
    monkeypatch.setattr(ranges_module, "RANGE_BYTES", 2000)
    source = open_here([str(two_phase.good)])
    assert source is not None
    started: list[Any] = []
    original = local._taken

    def killed(pipe: Any, process: Any) -> Tally:
        tally = original(pipe, process)
        started.append(process)
        os.kill(process.pid, signal.SIGKILL)  # it has answered, and is given more work
        process.join()
        return tally

    monkeypatch.setattr(local, "_taken", killed)
    job = Job(two_phase.specification, two_phase.schema.header, (), False, 0)
    judge = judge_for(two_phase.specification)
    with pytest.raises(Unusable, match=r"ended before its time \(SIGKILL\)"):
        local.run(source, job, judge, Silent(), 2)
    assert all(not process.is_alive() for process in started)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_no_process_outlives_an_audit(number: int, code: int, two_phase: TwoPhase, tmp_path: Path) -> None:
    """However it is ended: the processes of its pool know by their pipes."""
    text = two_phase.good.read_text()
    head, body = text.split("\n", 1)
    with (tmp_path / "a.ndjson").open("w") as file:
        file.write(head + "\n")
        for copy in range(300):
            file.write(body.replace('"tx-', f'"{copy}-'))
    program = (
        "from tidemark_conformance.audit import local\n"
        "from tidemark_conformance.cli import main\n"
        "import sys\n"
        "local.POOL_BYTES = dict.fromkeys(local.POOL_BYTES, 0)\n"
        "local.cores = lambda: 2\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    command = [sys.executable, "-c", program, "audit", "--local", str(tmp_path / "a.ndjson")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        children: list[int] = []
        while len(children) < 2 or (number == signal.SIGKILL and not all(map(_judges, children))):
            assert process.poll() is None
            children = _children(process.pid)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in said
    deadline = time.monotonic() + 60
    while any(_alive(child) for child in children):
        assert time.monotonic() < deadline


def _judges(child: int) -> bool:
    """Whether a process of the pool has been told its job: it ignores interrupts then."""
    status = Path(f"/proc/{child}/status").read_text()
    (ignored,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:")]
    return bool(int(ignored, 16) >> (signal.SIGINT - 1) & 1)


def _children(parent: int) -> list[int]:
    """The processes that judge, of a process: but that which keeps count of shared things."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[1]) == parent and b"spawn_main" in line:
            found.append(int(entry.name))
    return found


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# --- its needs ----------------------------------------------------------------------------------------------------

WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError("no module " + name, name=name)
sys.meta_path.insert(0, Refuse())
from tidemark_conformance.cli import main
code = main(sys.argv[1:])
print(sorted(name for name in ("pyspark", "py4j", "pyarrow") if name in sys.modules))
sys.exit(code)
"""


def _without(hidden: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT.format(hidden=hidden), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_neither_spark_nor_pyarrow_is_needed(two_phase: TwoPhase, tmp_path: Path) -> None:
    """It is the default for a small input, and no JVM starts; of Parquet a sentence names the missing package."""
    done = _without(("pyspark", "py4j", "pyarrow", "pandas"), "audit", str(two_phase.hasty), "--json", "-")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
    assert json.loads("\n".join(done.stdout.splitlines()[:-1]))["verdicts"]["fail"] > 0
    convert([two_phase.good], tmp_path / "a.parquet", two_phase.schema)
    done = _without(("pyspark", "py4j", "pyarrow", "pandas"), "audit", str(tmp_path / "a.parquet"))
    assert (done.returncode, "pyarrow" in done.stderr, "Traceback" in done.stderr) == (2, True, False)
    done = _without(("pyspark", "py4j"), "audit", str(tmp_path / "a.parquet"))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "['pyarrow']")


# --- undecided traces that are allowed ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "code"), [("", 3), ("0", 3), ("1", 3), ("2", 0), ("9", 0), ("6%", 3), ("6.7%", 0), ("100%", 0)]
)
def test_some_traces_may_be_undecided(
    allowed: str, code: int, two_phase: TwoPhase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = traces_of(two_phase.good)
    path = write(
        tmp_path / "a.ndjson", header_of(two_phase.good), [traces[0][:-1], traces[1][:-1], *map(signed, traces[2:])]
    )
    arguments = ["audit", "--local", str(path), "--json", str(tmp_path / "a.json")]
    assert main([*arguments, *(["--max-undecided", allowed] if allowed else [])]) == code
    document = json.loads((tmp_path / "a.json").read_text())
    assert (document["max_undecided"], document["ok"], document["verdicts"]["undecided"]) == (allowed, code == 0, 2)
    said = capsys.readouterr().out
    assert (f"(--max-undecided {allowed})" in said) == bool(allowed)
    assert ("more than allowed" in said) == (bool(allowed) and code == 3)


@pytest.mark.parametrize("allowed", ["200%", "-1", "x", "1.5", "%", "1000%", "1e3"])
def test_what_is_no_number_of_traces_is_refused(
    allowed: str, two_phase: TwoPhase, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--local", str(two_phase.good), f"--max-undecided={allowed}"]) == 2
    assert "is no number of traces" in capsys.readouterr().err


def test_failing_traces_are_never_allowed(two_phase: TwoPhase) -> None:
    assert main(["audit", "--local", str(two_phase.hasty), "--max-undecided", "100%"]) == 1
