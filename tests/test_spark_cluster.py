"""A real cluster: a standalone master and two workers, each a process on loopback, one of them killed half-way through
the audit. The simulation and the kill matrix go the same way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cluster_audit
import pyspark
import pytest
from conftest import TwoPhase
from tidemark_conformance.audit.audit import audit
from tidemark_conformance.java import toolchain
from trace_lines import header_of, signed, traces_of, write

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
FILES = 24
COPIES = 6


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A master and workers; every process leads a group of its own, so that it can be killed with its children."""

    def __init__(self, folder: Path) -> None:
        self.master = f"spark://127.0.0.1:{_free_port()}"
        self.folder = folder
        self.environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            # Nothing of this checkout's cache: the workers' files have come with the job.
            "TIDEMARK_CACHE": str(folder / "cache-of-the-workers"),
            "TMPDIR": str(folder),
        }
        home = toolchain.java_home_for_spark()
        if home is not None:
            self.environment["JAVA_HOME"] = str(home)
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the master, then the workers; `stop` ends all started processes, also when one does not come up."""
        port = self.master.rsplit(":", 1)[1]
        self._start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", port)
        self._await("master.log", "I have been elected leader")
        for number in (1, 2):
            arguments = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--work-dir",
                str(self.folder / f"work{number}"),
            ]
            self._start(f"worker{number}", "org.apache.spark.deploy.worker.Worker", *arguments, self.master)
        for number in (1, 2):
            self._await(f"worker{number}.log", "Successfully registered with master")

    def _start(self, name: str, main: str, *arguments: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [str(SPARK_CLASS), main, "--webui-port", "0", *arguments]
            process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )
        self.processes.append(process)

    def _await(self, log: str, words: str, seconds: float = 90) -> None:
        limit = time.monotonic() + seconds
        while words not in (self.folder / log).read_text(errors="replace"):
            if time.monotonic() > limit:
                pytest.fail(f"{log} never said {words!r}:\n{(self.folder / log).read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def kill_worker(self) -> None:
        """Kill the second worker and its executor, without a chance to say goodbye."""
        self._kill(self.processes[2])

    def _kill(self, process: subprocess.Popen[bytes]) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait(30)

    def stop(self) -> None:
        """Kill the processes that are left."""
        for process in self.processes:
            self._kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A running cluster."""
    started = Cluster(tmp_path)
    try:
        started.start()
        yield started
    finally:
        started.stop()


def _many_files(two_phase: TwoPhase, folder: Path) -> None:
    """Enough work that a worker can be killed in the middle of it: one task per file."""
    header, traces = header_of(two_phase.hasty), traces_of(two_phase.hasty)
    for part in range(FILES):
        named = [
            signed([{**event, "trace": f"{part}-{copy}-{event['trace']}"} for event in trace])
            for copy in range(COPIES)
            for trace in traces
        ]
        write(folder / f"part-{part:02}.ndjson", header, named)


@pytest.mark.deep
def test_a_worker_dies_half_way_and_the_verdicts_are_the_same(
    spark: Any, two_phase: TwoPhase, cluster: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "traces"
    _many_files(two_phase, folder)
    expected = audit(spark, [str(folder)], two_phase.specification).document()
    script = Path(__file__).with_name("cluster_audit.py")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK", "SPARK"))}
    driver = subprocess.Popen(
        [sys.executable, str(script), cluster.master, str(folder), str(tmp_path / "there")],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    killed_at = None
    said: dict[str, Any] = {}
    assert driver.stdout is not None
    for line in driver.stdout:
        said |= json.loads(line)
        if killed_at is None and "audit" not in said and said.get("done", 0) >= FILES // 4:
            killed_at = said["done"]
            cluster.kill_worker()
    assert driver.wait(60) == 0
    document = said["audit"]
    assert killed_at is not None
    assert killed_at < FILES, "the audit was over before the worker was killed"
    for document_of_one in (expected, document):
        document_of_one.pop("seconds")
    assert document == expected
    assert document["traces"] == FILES * COPIES * 30
    assert said["simulated"] == cluster_audit.simulated(spark, tmp_path / "here")
    assert said["killed"] == cluster_audit.killed(spark) == {"simulated": 300, "no step": 300, "conforms": True}
    shipped = list(tmp_path.glob("tidemark-*-*/cache/kernels"))
    assert shipped, "the kernels did not come with the job"
    assert list(tmp_path.glob("tidemark-*-*/package/two_phase_simulator.py")), "the simulator did not come with its job"
    assert not (tmp_path / "cache-of-the-workers").exists()
