"""The Spark session of a command: quiet, on loopback when it is local, and bounded in memory.

Under spark-submit the running context is used as it is. Spark's standard error goes to `lasting_root()/spark.log`.
Nothing of it reaches the user; one sentence does instead (`readable_errors`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlparse

from tidemark_conformance.console.progress import say
from tidemark_conformance.errors import DefectError, Unusable
from tidemark_conformance.extras import needs
from tidemark_conformance.java import toolchain
from tidemark_conformance.paths import lasting_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidemark_conformance.console.progress import Progress

T = TypeVar("T")

DRIVER_MEMORY = "640m"
JVM_START_S = 60
"""Seconds that an interrupt waits for a JVM that is just starting, to end it."""
ROWS_PER_BATCH = 8192
"""Traces per Arrow batch: about a megabyte of delta streams, so that a worker's memory does not depend on the input's
size."""
SPLIT_BYTES = 8 << 20
"""Bytes of Parquet per task: small enough for progress to move and for a lost worker to cost little."""


def settings(master: str, driver_memory: str = DRIVER_MEMORY) -> dict[str, str]:
    """Spark's settings for `master`; workers on this machine use this Python, others their own `PYSPARK_PYTHON`."""
    log4j = Path(__file__).with_name("log4j2.properties")
    conf = {
        "spark.master": master,
        "spark.app.name": "tidemark",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={log4j.as_uri()} -XX:+UseSerialGC -XX:MaxDirectMemorySize=256m "
            "-XX:ReservedCodeCacheSize=128m"
        ),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
    }
    if on_this_machine(master):
        conf |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "512m",
        }
    return conf


SESSION_SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(ROWS_PER_BATCH),
    "spark.sql.files.maxPartitionBytes": str(SPLIT_BYTES),
    "spark.sql.files.openCostInBytes": str(256 << 10),
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}
"""The settings that the audit needs in a session, also in one that a caller has started."""


def on_this_machine(master: str) -> bool:
    """Whether a master URL is `local[...]` or a standalone master on loopback."""
    return master.startswith("local") or urlparse(master).hostname in ("127.0.0.1", "localhost")


@contextlib.contextmanager
def spark_session(master: str | None = None, *, driver_memory: str = DRIVER_MEMORY) -> Iterator[SparkSession]:
    """A session, ended on exit unless it was there before (spark-submit, a surrounding `with`, a test's fixture).

    `master` None means: the running context, spark-submit's choice, or `local[2]`.
    Raises Unusable when Spark cannot be started, or a context with another master is running.
    """
    needs("pyspark", "pyarrow", "pandas", what="Spark")
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\.")
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    logging.getLogger("DataFrameQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_no_interrupts)
    running = SparkContext._active_spark_context
    if running is not None:
        if master is not None and running.master != master:
            raise Unusable(f"Spark already runs here with master {running.master}, not {master}; leave --master out")
        yield _prepared(SparkSession(running))
        return
    context = _start(master, driver_memory)
    try:
        try:
            session = _prepared(SparkSession(context))
        except Exception as problem:  # a context whose master has not answered by then has stopped itself
            raise _unstarted(master, problem) from None
        yield session
    finally:
        _stop(context)


def _no_interrupts(record: logging.LogRecord) -> bool:
    """Py4J logs the traceback of every interrupt that it passes on."""
    return "KeyboardInterrupt while sending command" not in str(record.msg)


def _prepared(session: SparkSession) -> SparkSession:
    for key, value in SESSION_SETTINGS.items():
        session.conf.set(key, value)
    return session


def _start(master: str | None, driver_memory: str) -> Any:
    from pyspark import SparkConf, SparkContext

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    conf = SparkConf()
    if submitted:
        if master is not None:
            conf.set("spark.master", master)
    else:
        for key, value in settings(master or "local[2]", driver_memory).items():
            conf.set(key, value)
        home = toolchain.java_home_for_spark()
        if home is not None:
            os.environ["JAVA_HOME"] = str(home)
        if on_this_machine(master or "local[2]"):
            os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    say("starting Spark")
    log = _log()
    log.parent.mkdir(parents=True, exist_ok=True)
    gateway = None
    try:
        gateway = _gateway(conf, log)
        return SparkContext(conf=conf, gateway=gateway)
    except BaseException as problem:
        said = _unstarted(master, problem)  # before its JVM ends, which alone knows the message
        if gateway is not None:
            _end(gateway)
        if not isinstance(problem, Exception):
            raise
        raise said from problem


def _unstarted(master: str | None, problem: BaseException) -> Unusable:
    words = "\n".join(_java_messages(problem)).strip() or first_line(problem)
    if "stopped SparkContext" in words:
        words = "no master answers there, or none takes the application"
    return Unusable(
        f"Spark does not start with master {master or 'local[2]'} ({words.splitlines()[0].rstrip('.')[:300]}); "
        f"run `tidemark doctor`, and see {_log()} for Spark's own words"
    )


def _log() -> Path:
    return lasting_root() / "spark.log"


def _gateway(conf: Any, log: Path) -> Any:
    """A JVM's gateway, started in a thread of its own. An interrupt meets only the main thread, which then still learns
    of the JVM and ends it. (`launch_gateway` forgets it, and it ignores the terminal's interrupts.)"""
    from pyspark.java_gateway import launch_gateway

    started: list[Any] = []
    problems: list[BaseException] = []
    done = threading.Event()  # not the thread's join, which an interrupt makes believe that the thread has ended

    def work() -> None:
        try:
            with log.open("wb") as errors:
                started.append(launch_gateway(conf, popen_kwargs={"stdout": errors, "stderr": errors}))
        except BaseException as problem:
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=work, daemon=True).start()
    try:
        done.wait()
    except BaseException:
        done.wait(JVM_START_S)
        for gateway in started:
            _end(gateway)
        raise
    if problems:
        raise problems[0]
    return started[0]


def _end(gateway: Any) -> None:
    """End a gateway's JVM, unless it was there before us (spark-submit's)."""
    from pyspark import SparkContext

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process = getattr(gateway, "proc", None)
    if process is not None:
        with contextlib.suppress(Exception):
            process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
    SparkContext._gateway = None
    SparkContext._jvm = None


def _stop(context: Any) -> None:
    """Stop the context and its JVM, so that a later session in this process may choose another master."""
    gateway = context._gateway
    with contextlib.suppress(Exception):
        context.stop()
    _end(gateway)


def run_with_progress(session: SparkSession, job: Callable[[], T], progress: Progress) -> T:
    """Run `job` (one Spark action) in a thread and report finished tasks to `progress` until it returns.

    An interrupt cancels the job. Exceptions of the job are raised here.
    """
    from pyspark import InheritableThread

    results: list[T] = []
    problems: list[BaseException] = []

    def work() -> None:
        try:
            results.append(job())
        except BaseException as problem:
            problems.append(problem)

    context = session.sparkContext
    thread = InheritableThread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.25)
            progress.update(*_tasks(context))
    except KeyboardInterrupt:
        context.cancelAllJobs()
        raise
    if problems:
        raise problems[0]
    return results[0]


def _tasks(context: Any) -> tuple[int, int]:
    tracker = context.statusTracker()
    done = total = 0
    for stage in tracker.getActiveStageIds():
        info = tracker.getStageInfo(stage)
        if info is not None:
            done += info.numCompletedTasks
            total += info.numTasks
    return done, total


def first_line(problem: BaseException) -> str:
    """The first line of an exception's message, shortened to fit a sentence."""
    lines = _text(problem).strip().splitlines() or [type(problem).__name__]
    return lines[0].strip().rstrip(".")[:300]


def _text(problem: BaseException) -> str:
    """The exception's message; PySpark's exceptions cannot say theirs once the JVM is gone."""
    try:
        return str(problem)
    except Exception:
        return type(problem).__name__


_CAUSE = re.compile(r"^(?:Caused by: )?[\w.$]+(?:Exception|Error): (?P<text>.+)$")


@contextlib.contextmanager
def readable_errors(what: str) -> Iterator[None]:
    """Turn Spark's exceptions into Unusable: one sentence that names the file when Spark does; `what` names the
    input. A worker's DefectError stays one."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException, PythonException

    try:
        yield
    except PythonException as problem:
        lines = [line.strip() for line in _text(problem).splitlines() if line.strip()]
        cause = next((line for line in reversed(lines) if _CAUSE.match(line)), lines[-1] if lines else "no message")
        kind, _, said = cause.partition(": ")
        if kind.endswith(f"{DefectError.__module__}.{DefectError.__name__}"):
            raise DefectError(said) from problem
        raise Unusable(f"a worker of the Spark job over {what} failed with {cause[:300]}") from problem
    except PySparkException as problem:
        raise Unusable(_sentence(f"[{problem.getCondition()}] {_text(problem)}", what)) from problem
    except Py4JError as problem:
        raise Unusable(_sentence("\n".join(_java_messages(problem)) or _text(problem), what)) from problem


def _java_messages(problem: Any) -> list[str]:
    """The messages of a Java exception and of its causes, outermost first."""
    messages: list[str] = []
    with contextlib.suppress(Exception):
        cause = getattr(problem, "java_exception", None)
        while cause is not None and len(messages) < 10:
            messages.append(str(cause.getMessage()))
            cause = cause.getCause()
    return messages


_FILE = re.compile(
    r"(?:reading file|Path does not exist:|path) [`'\"]?(?:file:(?://)?)?(?P<path>[^\s`'\"]+?)[.`'\"]*(?:\s|$)"
)


def _sentence(text: str, what: str) -> str:
    found = _FILE.search(text)
    path = found["path"] if found else what
    if "PATH_NOT_FOUND" in text:
        return f"{path} does not exist; give a trace file or a folder of them"
    if "FAILED_READ_FILE" in text or "CANNOT_READ_FILE" in text:
        return f"{path} cannot be read as a trace file of its kind: it is damaged or truncated; write it again"
    return f"Spark cannot read {what}: {text.strip().splitlines()[0][:300]}"
